"""The files in deploy/: the image's root file system runs the program, and manifests are what they say.

usage: test_deploy.py DEPLOY VIRT_CONTROLLER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import yaml


def documents(path):
    return [d for d in yaml.safe_load_all(path.read_text()) if d]


def the_image_holds_all_that_the_program_needs(deploy, program):
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory) / "root"
        subprocess.run([str(deploy / "make-root"), program, str(root)], check=True)
        for name in ("etc/virt-controller/certificates", "profile-data", "etc/passwd", "tmp"):
            assert (root / name).exists(), name
        libraries = {p.name for p in root.rglob("*.so*")}
        needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        assert "libcurl-gnutls.so.4" in libraries and "not found" not in needed, needed
        if os.geteuid() == 0 and "libasan" not in needed:
            out = subprocess.run(["chroot", "--userspec=1001:1001", str(root), "/usr/bin/virt-controller", "--version"],
                                 capture_output=True, text=True)
            assert out.returncode == 0 and out.stdout.startswith("virt-controller v"), out


def the_patch_swaps_the_image_of_the_one_container(deploy):
    (document,) = documents(deploy / "kubevirt-patch.yaml")
    (patch,) = document["spec"]["customizeComponents"]["patches"]
    assert (patch["resourceType"], patch["resourceName"], patch["type"]) == ("Deployment", "virt-controller", "strategic")
    (container,) = json.loads(patch["patch"])["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "virt-controller" and container["image"] and container["securityContext"]["readOnlyRootFilesystem"]


def roles_have_no_wildcards(deploy):
    rules = [r for d in documents(deploy / "rbac.yaml") for r in d.get("rules", ())]
    assert rules and not any("*" in values for rule in rules for values in rule.values())
    writes = {"create", "update", "patch", "delete"}
    secrets = [r for r in rules if "secrets" in r["resources"]]
    assert [writes & set(r["verbs"]) for r in secrets] == [{"create"}, set()], secrets


def the_seccomp_profile_denies_by_default(deploy):
    profile = json.loads((deploy / "seccomp.json").read_text())
    allowed = {name for rule in profile["syscalls"] for name in rule["names"]}
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert not allowed & {"ptrace", "mount", "bpf", "keyctl", "init_module", "unshare", "setns", "perf_event_open", "chmod", "unlink"}


def main(deploy, program):
    deploy = pathlib.Path(deploy)
    the_image_holds_all_that_the_program_needs(deploy, program)
    the_patch_swaps_the_image_of_the_one_container(deploy)
    roles_have_no_wildcards(deploy)
    the_seccomp_profile_denies_by_default(deploy)
    assert {d["kind"] for name in ("network-policy", "priority-class") for d in documents(deploy / (name + ".yaml"))} == {
        "NetworkPolicy", "PriorityClass"}


if __name__ == "__main__":
    main(*sys.argv[1:])
