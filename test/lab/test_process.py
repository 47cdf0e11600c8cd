"""virt-controller as a process, against virt-lab: end points, live configuration, kinds that come and go, its end.

usage: test_process.py VIRT_LAB VIRT_CONTROLLER
"""
import base64
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.request

from controller import TIMEOUT_S, Controller, configure, free_port, install_kubevirt, make_certificate
from lab import Lab
from test_handover import vm

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def end_points_answer_as_the_reference(lab, controller):
    status, text, headers = controller.get("/healthz")
    answer = json.loads(text)
    assert status == 200 and headers["Content-Type"] == "application/json", (status, headers)
    assert text == json.dumps(answer, indent=1, sort_keys=True), text
    assert answer["apiserver"]["connectivity"] == "ok", text
    assert answer["apiserver"]["version"] == lab.request("GET", "/version")[1], text
    assert answer["config-resource-version"], text
    status, text, _ = controller.get("/leader")
    assert (status, text) == (200, '{\n "apiserver": {\n  "leader": "true"\n }\n}'), text
    assert "process_resident_memory_bytes" in controller.get("/metrics")[1]
    assert controller.get("/nowhere")[:2] == (404, "404: Page Not Found")
    assert controller.get("/healthz", headers={"Accept": "text/html"})[0] == 406


def the_profiler_is_off_until_the_cr_switches_it_on(lab, controller):
    for path, what in (("start", "start profiler"), ("stop", "stop profiler"), ("dump", "retrieve profiler data")):
        status, text, _ = controller.get(f"/{path}-profiler")
        assert (status, text) == (403, f'Unable to {what}. "ClusterProfiler" feature gate must be enabled'), text
    since = len(controller.lines)
    configure(lab, {"developerConfiguration": {"clusterProfiler": True}})
    controller.await_log("developerConfiguration.clusterProfiler changes from absent to true", since)
    assert controller.get("/stop-profiler")[:2] == (500, "could not stop internal profiling: it was not started")
    assert controller.get("/start-profiler")[:2] == (200, "")
    assert controller.get("/stop-profiler")[:2] == (200, "")
    status, text, _ = controller.get("/dump-profiler")
    files = json.loads(text)["pprofData"]
    assert status == 200 and {"cpu.txt", "malloc.xml", "threads.txt", "caches.txt"} <= files.keys(), text
    assert b"vmi " in base64.b64decode(files["caches.txt"])


def configuration_is_followed_and_logged_with_old_and_new(lab, controller):
    since = len(controller.lines)
    configure(lab, {"developerConfiguration": {"logVerbosity": {"virtController": 5}}})
    controller.await_log("developerConfiguration.logVerbosity.virtController changes from 2 to 5", since)
    controller.await_log("the log's verbosity changes from 2 to 5", since)
    bucket = {"tokenBucketRateLimiter": {"qps": 50, "burst": 60}}
    configure(lab, {"controllerConfiguration": {"restClient": {"rateLimiter": bucket}}})
    controller.await_log("the client's limit changes from 200 QPS and burst 400 to 50 QPS and burst 60", since)
    configure(lab, {"developerConfiguration": {"featureGates": ["Sidecar"], "logVerbosity": {"virtController": 2}}})
    controller.await_log("gate Sidecar changes from off to on", since)
    version = configure(lab, {"imagePullPolicy": "Sometimes"})
    controller.await_log("Invalid cluster config", since)
    assert json.loads(controller.get("/healthz")[1])["config-resource-version"] != version
    version = configure(lab, {"imagePullPolicy": None})
    await_config(controller, version)


def each_level_of_the_log_tells_more(lab, controller):
    """What a level adds is there from it on and not below."""
    added = {3: "POST /api/v1/namespaces/default/pods: 201 in ", 4: "reconciled in ", 5: "informer kubevirt-pod: added",
             6: "GET /apis/kubevirt.io/v1/", 7: " bytes sent, ", 8: " is queued in virt-controller-vmi"}
    since = len(controller.lines)
    for level in range(2, 9):
        start = since
        if level > 2:
            configure(lab, {"developerConfiguration": {"logVerbosity": {"virtController": level}}})
            start = controller.await_log(f"verbosity changes from {level - 1} to {level}", since)
            below = [line["msg"] for line in controller.lines[since:start]]
            assert not any(text in message for at, text in added.items() if at >= level for message in below), below
        since = start
        assert lab.request("POST", "/apis/kubevirt.io/v1/namespaces/default/virtualmachines", vm(f"level-{level}"))[0] == 201
        if level >= 6:
            lab.request("POST", "/debug/cut-watches")  # each of them is a request that ends
        for at, text in added.items():
            if at <= level:
                controller.await_log(text, since)
    configure(lab, {"developerConfiguration": {"logVerbosity": {"virtController": 2}}})
    controller.await_log("verbosity changes from 8 to 2", since)


def await_config(controller, version):
    """The configuration is in force once a later line of its log or /healthz says so; asking goes on until then."""
    for _ in range(1000):
        if json.loads(controller.get("/healthz")[1])["config-resource-version"] == version:
            return
    raise AssertionError(f"the configuration of version {version} was never taken")


def context_of(minimum, maximum, ciphers=None):
    context = ssl._create_unverified_context()
    context.minimum_version, context.maximum_version = minimum, maximum
    if ciphers:
        context.set_ciphers(ciphers)
    return context


def is_refused(controller, context):
    try:
        controller.get("/leader", context)
        return False
    except (ssl.SSLError, ConnectionError):
        return True


def tls_follows_the_cr(lab, controller):
    v12, v13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
    assert not is_refused(controller, context_of(v12, v12))
    await_config(controller, configure(lab, {"tlsConfiguration": {"minTLSVersion": "VersionTLS13"}}))
    assert is_refused(controller, context_of(v12, v12))
    assert not is_refused(controller, context_of(v13, v13))
    await_config(controller, configure(lab, {"tlsConfiguration": {
        "minTLSVersion": "VersionTLS12", "ciphers": ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"]}}))
    assert is_refused(controller, context_of(v12, v12, "ECDHE-ECDSA-AES128-GCM-SHA256"))
    assert not is_refused(controller, context_of(v12, v12, "ECDHE-ECDSA-AES256-GCM-SHA384"))
    await_config(controller, configure(lab, {"tlsConfiguration": None}))
    context = context_of(v12, v13)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", controller.port)) as raw, context.wrap_socket(raw) as s:
        assert s.selected_alpn_protocol() != "h2"


def certificates_rotate_without_a_lost_scrape(lab, controller):
    def common_name():
        pem = ssl.get_server_certificate(("127.0.0.1", controller.port))
        return subprocess.run(["openssl", "x509", "-noout", "-subject"], input=pem, capture_output=True, text=True).stdout

    since = len(controller.lines)
    with tempfile.TemporaryDirectory() as directory:
        fresh = pathlib.Path(directory)
        make_certificate(fresh, "rotated")
        (controller.root / "tls.key").write_text("half a k")
        controller.await_log("can not be loaded", since)
        assert controller.get("/metrics")[0] == 200 and "virt-controller" in common_name()
        for name in ("tls.key", "tls.crt"):
            (fresh / name).rename(controller.root / name)
            assert controller.get("/metrics")[0] == 200
    controller.await_log("loaded", controller.await_log("can not be loaded", since))
    while "rotated" not in common_name():
        assert controller.get("/metrics")[0] == 200


def neighbours_that_are_there_are_watched(lab, controller):
    for name in ("datavolumes.cdi.kubevirt.io", "volumesnapshots.snapshot.storage.k8s.io"):
        controller.await_log(f"{name} is served: its informer starts")


def snapshot_crd(served):
    version = {"name": "v1", "served": served, "storage": True,
               "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    return {"metadata": {"name": "volumesnapshots.snapshot.storage.k8s.io"}, "spec": {
        "group": "snapshot.storage.k8s.io", "scope": "Namespaced", "versions": [version],
        "names": {"plural": "volumesnapshots", "singular": "volumesnapshot", "kind": "VolumeSnapshot", "listKind": "VolumeSnapshotList"}}}


def kinds_come_and_go_in_place(lab, controller):
    crd = snapshot_crd(served=True)
    name = crd["metadata"]["name"]
    since = len(controller.lines)
    assert lab.request("DELETE", f"{CRDS}/{name}")[0] == 200
    controller.await_log(f"{name} is not served any more: its informer stops", since)
    for _ in range(2):
        since = len(controller.lines)
        status, answer = lab.request("POST", CRDS, crd)
        assert status == 201, answer
        controller.await_log(f"{name} is served: its informer starts", since)
        assert lab.request("DELETE", f"{CRDS}/{name}")[0] == 200
        controller.await_log(f"{name} is not served any more: its informer stops", since)
    assert controller.process.poll() is None


def the_diagnostics_page_shows_the_same_as_html_and_json(lab, controller):
    def get(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{controller.debug_port}{path}", timeout=TIMEOUT_S) as answer:
            return answer.read().decode()

    facts = json.loads(get("/debug.json"))
    assert {"process", "controllers", "watches", "events", "recent", "vms"} <= facts.keys()
    assert {"name": "role", "value": "leader"} in facts["process"]
    assert {row["watch"] for row in facts["watches"]} <= {"watching", "off", "listing", "interrupted"}
    html = get("/debug")
    assert all(row["controller"] in html for row in facts["controllers"]) and "<script" not in html
    assert json.loads(get("/debug/vm.json?name=default/nobody")) == {"timeline": []}
    with open("/proc/net/tcp") as table:
        listening = [line.split()[1] for line in table if line.split()[3] == "0A"]
    assert f"0100007F:{controller.debug_port:04X}" in listening and f"00000000:{controller.debug_port:04X}" not in listening


def the_end_is_clean_and_releases_the_lease(lab, controller):
    lease = "/apis/coordination.k8s.io/v1/namespaces/kubevirt/leases/virt-controller"
    spec = lab.request("GET", lease)[1]["spec"]
    assert spec["holderIdentity"].startswith(socket.gethostname() + "_") and spec["leaseDurationSeconds"] == 15, spec
    assert controller.end() == 0
    assert not lab.request("GET", lease)[1]["spec"].get("holderIdentity"), "the lease was not released"
    assert all(line["level"] != "not JSON" for line in controller.lines if line), controller.log()


def it_ends_while_it_waits_for_the_api_server(program, root):
    class Nowhere:
        def __init__(self):
            self.root, self.kubeconfig = root, str(root / "nowhere")
            cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{free_port()}"}}
            context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
            pathlib.Path(self.kubeconfig).write_text(json.dumps({
                "apiVersion": "v1", "kind": "Config", "clusters": [cluster], "users": [{"name": "u", "user": {}}],
                "contexts": [context], "current-context": "c"}))

    with Controller(program, Nowhere(), "waiting") as controller:
        controller.await_log("informer crd: ")


def no_secret_is_ever_told(virt_lab, program):
    """At the highest verbosity, with a token that is accepted and with one that is refused: log, page and end points."""
    token, key, password = "token-hunter2", "key-hunter2", "password-hunter2"
    with Lab(virt_lab, "--require-token", "--token", token + "=replica,system:masters") as lab:
        install_kubevirt(lab)
        kubeconfig = pathlib.Path(lab.kubeconfig).read_text()
        assert "admin-token" in kubeconfig
        lab.kubeconfig = str(lab.root / "accepted")
        pathlib.Path(lab.kubeconfig).write_text(kubeconfig.replace("admin-token", token))
        secret = base64.b64encode(key.encode()).decode()
        lab.request("POST", "/api/v1/namespaces/kubevirt/secrets", {"metadata": {"name": "tls"}, "data": {"tls.key": secret}})
        machine = vm("secretive")
        machine["spec"]["template"]["spec"]["volumes"] = [{"name": "c", "cloudInitNoCloud": {"userData": password}}]
        machine["spec"]["template"]["spec"]["domain"]["devices"] = {"disks": [{"name": "c", "disk": {"bus": "virtio"}}]}
        debug_port = free_port()
        with Controller(program, lab, "accepted-replica", "-v", "9", "--debug-port", str(debug_port)) as controller:
            controller.await_log("Started leading")
            configure(lab, {"developerConfiguration": {"clusterProfiler": True, "logVerbosity": {"virtController": 9}}})
            status, answer = lab.request("POST", "/apis/kubevirt.io/v1/namespaces/default/virtualmachines", machine)
            assert status == 201, answer
            for event in lab.watch("/api/v1/namespaces/default/pods?watch=true"):
                if event["type"] == "ADDED":
                    break
            told = [controller.get(path)[1] for path in ("/healthz", "/metrics", "/dump-profiler")]
            with urllib.request.urlopen(f"http://127.0.0.1:{debug_port}/debug/vm?name=default/secretive", timeout=TIMEOUT_S) as page:
                told.append(page.read().decode())
        lab.kubeconfig = str(lab.root / "refused")
        pathlib.Path(lab.kubeconfig).write_text(kubeconfig.replace("admin-token", token + "-wrong"))
        with Controller(program, lab, "refused-replica", "-v", "9") as refused:
            refused.await_log("informer crd: ")
        told += [json.dumps(line) for line in controller.lines + refused.lines]
        for text in told:
            assert not any(word in text for word in ("hunter2", secret)), text


def main(virt_lab, program):
    with Lab(virt_lab, "--no-sim", "all") as lab:
        install_kubevirt(lab)
        debug_port = free_port()
        with Controller(program, lab, "controller", "--debug-port", str(debug_port)) as controller:
            controller.debug_port = debug_port
            controller.await_log("Started leading")
            while '"true"' not in controller.get("/leader")[1]:
                pass
            for test in (end_points_answer_as_the_reference, the_profiler_is_off_until_the_cr_switches_it_on,
                         configuration_is_followed_and_logged_with_old_and_new, each_level_of_the_log_tells_more, tls_follows_the_cr,
                         certificates_rotate_without_a_lost_scrape, neighbours_that_are_there_are_watched, kinds_come_and_go_in_place,
                         the_diagnostics_page_shows_the_same_as_html_and_json,
                         the_end_is_clean_and_releases_the_lease):
                print(test.__name__.replace("_", " "), flush=True)
                test(lab, controller)
    with tempfile.TemporaryDirectory() as directory:
        it_ends_while_it_waits_for_the_api_server(program, pathlib.Path(directory))
    no_secret_is_ever_told(virt_lab, program)


if __name__ == "__main__":
    main(*sys.argv[1:])
