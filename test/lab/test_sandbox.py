"""virt-controller as a container runtime confines it: under deploy/seccomp.json, and in the image's root file system.

usage: test_sandbox.py DEPLOY VIRT_LAB VIRT_CONTROLLER

Each confinement goes through a life: start, lead, VMs up and down, certificates that rotate, scrapes, the profiler, the
diagnostics page, hand-over, end; and `render`. Skipped are: the profile where libseccomp is missing, the file system where
bwrap is missing or may not make namespaces, and all for a program with sanitizers.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.request

import seccomp
from controller import TIMEOUT_S, Controller, configure, free_port, install_kubevirt
from lab import Lab
from test_handover import FAST, create_vms, vm
from test_process import certificates_rotate_without_a_lost_scrape

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"


def await_vms(lab, done):
    listed = lab.request("GET", VMS)[1]
    if done(listed["items"]):
        return
    for _ in lab.watch(f"{VMS}?watch=true&resourceVersion={listed['metadata']['resourceVersion']}", TIMEOUT_S):
        if done(lab.request("GET", VMS)[1]["items"]):
            return
    raise AssertionError("the watch ended")


def vms_come_up_and_go(lab, first):
    create_vms(lab, first, 5, None)
    await_vms(lab, lambda items: len(items) == 5 and all(i.get("status", {}).get("printableStatus") == "Running" for i in items))
    for i in range(5):
        lab.request("DELETE", f"{VMS}/vm-{first + i}")
    await_vms(lab, lambda items: not items)


def the_end_points_answer(controller, debug_port):
    for path in ("/healthz", "/leader", "/metrics", "/start-profiler", "/stop-profiler", "/dump-profiler"):
        status, text, _ = controller.get(path)
        assert status == 200, (path, status, text)
    for path in ("/debug", "/debug.json", "/debug/vm?name=default/vm-0", "/debug/vm.json?name=default/vm-0"):
        with urllib.request.urlopen(f"http://127.0.0.1:{debug_port}{path}", timeout=TIMEOUT_S) as answer:
            assert answer.status == 200 and answer.read(), path


def a_life(command, virt_lab):
    """With HTTPS to the API server, found by name."""
    with Lab(virt_lab, "--tls", "--nodes", "1") as lab:
        install_kubevirt(lab, {"developerConfiguration": {"clusterProfiler": True}})
        text = pathlib.Path(lab.kubeconfig).read_text()
        assert "https://127.0.0.1" in text
        debug_port = free_port()
        with Controller(command, lab, "first", *FAST, "-v", "9", "--debug-port", str(debug_port)) as first:
            first.await_log("Started leading")
            vms_come_up_and_go(lab, 0)
            certificates_rotate_without_a_lost_scrape(lab, first)
            the_end_points_answer(first, debug_port)
            configure(lab, {"tlsConfiguration": {"minTLSVersion": "VersionTLS13"}, "developerConfiguration": {"featureGates": ["Sidecar"]}})
            first.await_log("gate Sidecar changes from off to on")
            with Controller(command, lab, "second", *FAST) as second:
                second.await_log("this replica stands by")
                assert first.end() == 0, first.log()
                second.await_log("Started leading")
                vms_come_up_and_go(lab, 10)
                lab.request("POST", "/debug/cut-watches")
                vms_come_up_and_go(lab, 20)


def renders(command, manifest="/dev/stdin"):
    run = subprocess.run([*command, "render", "-f", manifest], input=json.dumps(vm("rendered")), capture_output=True, text=True)
    assert run.returncode == 0 and "virt-launcher-rendered" in run.stdout, run


def the_seccomp_profile_allows_all_that_it_needs(deploy, virt_lab, program):
    if not seccomp.library():
        return "libseccomp is missing"
    command = [sys.executable, str(HERE / "seccomp.py"), str(deploy / "seccomp.json")]
    denied = subprocess.run([*command, "/bin/mkdir", "/tmp/never-made"], capture_output=True)
    assert denied.returncode == -31, f"mkdir under the profile should end by SIGSYS: {denied}"
    renders([*command, program])
    a_life([*command, program], virt_lab)
    return None


def the_image_runs_as_nobody_on_a_file_system_that_it_can_not_change(deploy, virt_lab, program):
    bwrap = shutil.which("bwrap")
    if not bwrap:
        return "bwrap is missing"
    with tempfile.TemporaryDirectory(prefix="virt-image-") as directory:
        root = pathlib.Path(directory) / "root"
        subprocess.run([str(deploy / "make-root"), program, str(root)], check=True)
        os.chmod(directory, 0o755)
        confined = [bwrap, "--unshare-all", "--share-net", "--as-pid-1", "--uid", "1001", "--gid", "1001", "--cap-drop", "ALL", "--die-with-parent",
                    "--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev"]
        try_it = subprocess.run([*confined, "/usr/bin/virt-controller", "--version"], capture_output=True, text=True)
        if "namespace" in try_it.stderr or "Operation not permitted" in try_it.stderr:
            return "bwrap: " + try_it.stderr.strip()
        assert try_it.returncode == 0 and try_it.stdout.startswith("virt-controller v"), try_it
        renders([*confined, "/usr/bin/virt-controller"])
        # What the kubelet mounts: the kubeconfig and the certificates, which the test keeps in its temporary folders.
        a_life([*confined, "--ro-bind", tempfile.gettempdir(), "/tmp", "/usr/bin/virt-controller"], virt_lab)
    return None


def main(deploy, virt_lab, program):
    if "san.so" in subprocess.run(["ldd", program], capture_output=True, text=True).stdout:
        print("SKIPPED: sanitizers need more than the program does; ./check runs this on the release build")
        return SKIPPED
    skipped = 0
    tests = (the_seccomp_profile_allows_all_that_it_needs, the_image_runs_as_nobody_on_a_file_system_that_it_can_not_change)
    for test in tests:
        reason = test(pathlib.Path(deploy), virt_lab, program)
        print(test.__name__.replace("_", " ") + (f": SKIPPED, {reason}" if reason else ""), flush=True)
        skipped += reason is not None
    return SKIPPED if skipped == len(tests) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
