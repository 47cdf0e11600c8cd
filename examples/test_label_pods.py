"""Runs label-pods against virt-lab: it must label a Pod that is there before it, one that comes later, and end on SIGTERM.

usage: test_label_pods.py VIRT_LAB LABEL_PODS
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request

LABEL = "example.com/node"
PODS = "/api/v1/namespaces/default/pods"
TIMEOUT_S = 60


def create(server, name, node):
    pod = {
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    }
    request = urllib.request.Request(
        server + PODS, json.dumps(pod).encode(), {"Content-Type": "application/json"}
    )
    urllib.request.urlopen(request, timeout=TIMEOUT_S).read()


def wait_for_labels(server, expected):
    """Reads a watch until every Pod has its label; a read that takes too long fails."""
    left = dict(expected)
    with urllib.request.urlopen(f"{server}{PODS}?watch=true", timeout=TIMEOUT_S) as events:
        for line in events:
            pod = json.loads(line)["object"]["metadata"]
            name, labels = pod["name"], pod.get("labels", {})
            if LABEL not in labels:
                continue
            assert labels[LABEL] == expected[name], f"{name}: {labels[LABEL]}"
            left.pop(name, None)
            if not left:
                return
    raise AssertionError(f"the watch ended before these had labels: {left}")


def main(virt_lab, label_pods):
    with tempfile.TemporaryDirectory() as directory:
        kubeconfig = os.path.join(directory, "kubeconfig")
        lab = subprocess.Popen(
            [virt_lab, "--no-sim", "all", "--write-kubeconfig", kubeconfig],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        controller = None
        try:
            server = lab.stdout.readline().split()[-1]
            create(server, "before", "node-1")
            controller = subprocess.Popen([label_pods, kubeconfig])
            wait_for_labels(server, {"before": "node-1"})
            create(server, "after", "node-2")
            wait_for_labels(server, {"before": "node-1", "after": "node-2"})
            controller.send_signal(signal.SIGTERM)
            assert controller.wait(TIMEOUT_S) == 0, "label-pods did not end well"
        finally:
            if controller and controller.poll() is None:
                controller.kill()
            lab.terminate()
            lab.wait(TIMEOUT_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
