"""Two virt-controllers and one lease, against virt-lab: planned hand-over, crash, and a lease that is taken away.

usage: test_handover.py VIRT_LAB VIRT_CONTROLLER [--pace VMS_PER_SECOND]

Checked are facts: each VM gets one launcher Pod, whoever leads when; who has lost the lease writes nothing more. The
figures are printed; with --pace the VMs come evenly, which is what docs/performance.md quotes.
"""
import json
import pathlib
import signal
import sys
import threading
import time

from controller import TIMEOUT_S, Controller, install_kubevirt
from lab import Lab

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kubevirt/leases/virt-controller"
FAST = ("--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s", "--leader-elect-retry-period", "500ms")


def vm(name):
    template = {"spec": {"domain": {"devices": {}, "resources": {"requests": {"memory": "64Mi"}}}}}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name, "namespace": "default"},
            "spec": {"runStrategy": "Always", "template": template}}


class Pods:
    """The launcher Pods as a watch tells of them: by VM, and when each came."""

    def __init__(self, lab):
        self.changed, self.times, self.of = threading.Condition(), [], {}
        self.opened = threading.Event()
        threading.Thread(target=self._watch, args=(lab,), daemon=True).start()

    def _watch(self, lab):
        for event in lab.watch("/api/v1/namespaces/default/pods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                               "&resourceVersionMatch=NotOlderThan", timeout=3 * TIMEOUT_S):
            self.opened.set()
            if event["type"] != "ADDED":
                continue
            annotations = event["object"]["metadata"].get("annotations", {})
            with self.changed:
                self.times.append(time.monotonic())
                self.of.setdefault(annotations.get("kubevirt.io/domain"), []).append(event["object"]["metadata"]["name"])
                self.changed.notify_all()

    def await_count(self, n):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.of) >= n, TIMEOUT_S):
                raise AssertionError(f"{len(self.of)} of {n} VMs have a launcher Pod")

    def longest_gap(self, since=0):
        return max(b - a for a, b in zip(self.times[since:], self.times[since + 1:]))


def create_vms(lab, first, n, pace):
    """At `pace` VMs a second, or as fast as they are taken."""
    start = time.monotonic()
    for i in range(n):
        if pace and (wait := start + i / pace - time.monotonic()) > 0:
            time.sleep(wait)
        status, answer = lab.request("POST", "/apis/kubevirt.io/v1/namespaces/default/virtualmachines", vm(f"vm-{first + i}"))
        assert status == 201, answer


def writers(lab, since):
    """Users in the order of their writes, without those of the lease and events."""
    found = []
    for line in lab.audit.read_text().splitlines()[since:]:
        entry = json.loads(line)
        if entry["objectRef"]["resource"] not in ("leases", "events") and entry["user"]["username"].startswith("replica-"):
            found.append((entry["user"]["username"], entry["responseStatus"]["code"]))
    return found


class As:
    """The lab as one replica sees it: a kubeconfig with a token of its own."""

    def __init__(self, lab, user):
        self.root, self.kubeconfig = lab.root, str(lab.root / (user + ".kubeconfig"))
        text = pathlib.Path(lab.kubeconfig).read_text()
        assert "admin-token" in text
        pathlib.Path(self.kubeconfig).write_text(text.replace("admin-token", user + "-token"))


def start(program, lab, name, *flags):
    return Controller(program, As(lab, name), name, *flags)


def hand_over_while_vms_are_created(lab, a, b, pods, pace):
    n, first = (60, 20) if pace else (200, 40)
    creator = threading.Thread(target=create_vms, args=(lab, 0, n, pace))
    creator.start()
    pods.await_count(first)
    begin = time.monotonic()
    a.process.send_signal(signal.SIGTERM)
    b.await_log("Started leading")
    led = time.monotonic()
    assert a.process.wait(TIMEOUT_S) == 0, a.log()
    creator.join()
    pods.await_count(n)
    print(f"planned hand-over: {led - begin:.3f} s from SIGTERM to the next leader; "
          f"longest gap between launcher Pods {pods.longest_gap(first // 2):.3f} s")
    order = [user for user, _ in writers(lab, 0)]
    last = len(order) - order[::-1].index("replica-a") - 1
    assert "replica-b" in order and last < order.index("replica-b"), "both wrote at the same time"


def crash(lab, b, c, pods):
    begin = time.monotonic()
    b.process.kill()
    b.process.wait(TIMEOUT_S)
    c.await_log("Started leading")
    print(f"crash: {time.monotonic() - begin:.3f} s from SIGKILL to the next leader, the lease lasts 3 s")
    n = len(pods.of)
    create_vms(lab, 1000, 5, None)
    pods.await_count(n + 5)


def a_lost_lease_stops_all_writes(lab, c):
    lines = len(lab.audit.read_text().splitlines())
    create_vms(lab, 2000, 40, None)
    patch = {"spec": {"holderIdentity": "thief", "renewTime": "2100-01-01T00:00:00.000000Z", "leaseDurationSeconds": 60}}
    status, answer = lab.request("PATCH", LEASE, patch, "application/merge-patch+json")
    assert status == 200, answer
    assert c.process.wait(TIMEOUT_S) == 1, c.log()
    c.await_log("leaderelection lost")
    stolen = next(i for i, line in enumerate(lab.audit.read_text().splitlines()[lines:])
                  if json.loads(line)["objectRef"]["resource"] == "leases" and json.loads(line)["user"]["username"] == "admin")
    print(f"lost lease: {len(writers(lab, lines + stolen))} writes between the theft and the end of the process")
    before = len(lab.audit.read_text().splitlines())
    create_vms(lab, 3000, 1, None)
    assert not writers(lab, before), "writes after the end"


def main(virt_lab, program, *options):
    pace = float(options[1]) if options[:1] == ("--pace",) else None
    tokens = [argument for name in "abc" for argument in ("--token", f"replica-{name}-token=replica-{name},system:masters")]
    with Lab(virt_lab, "--no-sim", "all", *tokens) as lab:
        install_kubevirt(lab)
        pods = Pods(lab)
        with start(program, lab, "replica-a", *FAST) as a:
            a.await_log("Started leading")
            with start(program, lab, "replica-b", *FAST) as b:
                b.await_log("this replica stands by")
                assert '"false"' in b.get("/leader")[1]
                pods.opened.wait(TIMEOUT_S)
                hand_over_while_vms_are_created(lab, a, b, pods, pace)
                with start(program, lab, "replica-c", *FAST) as c:
                    c.await_log("this replica stands by")
                    crash(lab, b, c, pods)
                    a_lost_lease_stops_all_writes(lab, c)
        twice = {name: found for name, found in pods.of.items() if len(found) > 1}
        assert not twice, f"more than one launcher Pod: {twice}"


if __name__ == "__main__":
    main(*sys.argv[1:])
