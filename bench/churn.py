#!/usr/bin/env python3
"""Lets VMs come and go in virt-lab for a long time, and fails when virt-controller grows: memory, threads or descriptors.

usage: bench/churn.py [--build DIR] [--cycles N] [--vms N] [--json FILE]

One cycle: create the VMs, wait until all run, delete them, wait until nothing is left. Twelve hours in which a VM comes
and goes every six seconds are 7,200 VMs: 72 cycles of 100. The first quarter warms up; after it the largest values of the
second and of the last quarter are compared.
"""
import argparse
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "lab"))
sys.dont_write_bytecode = True

from controller import Controller, install_kubevirt  # noqa: E402
from lab import Lab  # noqa: E402
from test_handover import vm  # noqa: E402

VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
# Growth that counts as none: threads and connections come and go with the load.
LIMIT = {"anonymous_kib": 256, "threads": 4, "descriptors": 8}


def watch_until(lab, path, done):
    """Follows a resource from its present state until `done` says yes to the objects by name."""
    objects = {}
    query = "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    for event in lab.watch(path + query, timeout=300):
        if event["type"] in ("ADDED", "MODIFIED"):
            objects[event["object"]["metadata"]["name"]] = event["object"]
        elif event["type"] == "DELETED":
            objects.pop(event["object"]["metadata"]["name"], None)
        if event["type"] != "ADDED" and done(objects):
            return


def cycle(lab, number, n):
    for i in range(n):
        status, answer = lab.request("POST", VMS, vm(f"churn-{number}-{i}"))
        assert status == 201, answer
    watch_until(lab, VMS, lambda vms: len(vms) == n and all(
        o.get("status", {}).get("printableStatus") == "Running" for o in vms.values()))
    for i in range(n):
        lab.request("DELETE", f"{VMS}/churn-{number}-{i}")
    watch_until(lab, VMS, lambda vms: not vms)
    watch_until(lab, "/api/v1/namespaces/default/pods", lambda pods: not pods)


def sample(pid):
    status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status") if ":" in line)
    return {"anonymous_kib": int(status["RssAnon"].split()[0]), "threads": int(status["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd"))}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=str(ROOT / "build"), metavar="DIR")
    p.add_argument("--cycles", type=int, default=72)
    p.add_argument("--vms", type=int, default=100)
    p.add_argument("--json", metavar="FILE")
    a = p.parse_args()
    samples, start = [], time.monotonic()
    with Lab(a.build + "/cmd/virt-lab/virt-lab") as lab:
        install_kubevirt(lab)
        with Controller(a.build + "/cmd/virt-controller/virt-controller", lab, "controller") as controller:
            controller.await_log("Started leading")
            for number in range(a.cycles):
                cycle(lab, number, a.vms)
                samples.append(sample(controller.process.pid))
                print(f"{time.monotonic() - start:7.1f} s  cycle {number + 1}: {samples[-1]}", flush=True)
    quarter = max(1, len(samples) // 4)
    early, late = samples[quarter:2 * quarter], samples[-quarter:]
    growth = {name: max(s[name] for s in late) - max(s[name] for s in early) for name in LIMIT}
    print(f"{a.cycles * a.vms} VMs; growth from the second to the last quarter: {growth}")
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(samples))
    return any(growth[name] > limit for name, limit in LIMIT.items())


if __name__ == "__main__":
    sys.exit(main())
