"""Starts a virt-controller for a test: a certificate and free ports of its own, its log as objects, its end checked."""
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import threading

TIMEOUT_S = 60
KUBEVIRTS = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def make_certificate(directory, name="virt-controller"):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", str(directory / "tls.key"), "-out", str(directory / "tls.crt"), "-days", "2",
                    "-subj", "/CN=" + name], check=True, capture_output=True)


def install_kubevirt(lab, configuration=None):
    """The namespace and CR that virt-operator would have made."""
    lab.request("POST", "/api/v1/namespaces", {"metadata": {"name": "kubevirt"}})
    lab.request("POST", KUBEVIRTS, {"metadata": {"name": "kubevirt"}, "spec": {"configuration": configuration or {}}})
    lab.request("PATCH", KUBEVIRTS + "/kubevirt/status", {"status": {"phase": "Deployed"}}, "application/merge-patch+json")


def configure(lab, configuration):
    status, answer = lab.request("PATCH", KUBEVIRTS + "/kubevirt", {"spec": {"configuration": configuration}},
                                 "application/merge-patch+json")
    assert status == 200, answer
    return answer["metadata"]["resourceVersion"]


def innermost(pid):
    """The program itself where others started it and wait for it."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return innermost(children[0]) if children else int(pid)


class Controller:
    def __init__(self, program, lab, name, *flags):
        self.root = lab.root / name
        self.root.mkdir()
        make_certificate(self.root)
        self.port = free_port()
        self.lines, self.changed = [], threading.Condition()
        command = [program] if isinstance(program, str) else program
        self.process = subprocess.Popen(
            [*command, "--kubeconfig", lab.kubeconfig, "--listen", "127.0.0.1", "--port", str(self.port),
             "--prom-cert-file", str(self.root / "tls.crt"), "--prom-key-file", str(self.root / "tls.key"), *flags],
            stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self.changed:
                try:
                    self.lines.append(json.loads(line))
                except ValueError:
                    self.lines.append({"msg": line, "level": "not JSON"})
                self.changed.notify_all()
        with self.changed:
            self.lines.append(None)
            self.changed.notify_all()

    def await_log(self, text, since=0):
        """Waits for a line with this text in it; returns its index."""
        with self.changed:
            at = since
            while True:
                while at < len(self.lines):
                    if self.lines[at] is None:
                        raise AssertionError(f"it ended without logging {text!r}:\n" + self.log())
                    if text in self.lines[at]["msg"]:
                        return at
                    at += 1
                if not self.changed.wait(TIMEOUT_S):
                    raise AssertionError(f"waited in vain for {text!r} in the log:\n" + self.log())

    def log(self):
        return "\n".join(json.dumps(line) for line in self.lines[-40:])

    def get(self, path, context=None, headers=None):
        """(status, text, headers) over a connection of its own."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=TIMEOUT_S,
                                                 context=context or ssl._create_unverified_context())
        try:
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers
        finally:
            connection.close()

    def end(self, number=signal.SIGTERM):
        os.kill(innermost(self.process.pid), number)
        status = self.process.wait(TIMEOUT_S)
        self.reader.join(TIMEOUT_S)
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            if kind is None:
                status = self.end()
                assert status == 0, f"ended with status {status}:\n" + self.log()
            else:
                self.process.kill()
                self.process.wait(TIMEOUT_S)
        if kind:
            print(self.log())
