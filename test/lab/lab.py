"""Starts a virt-lab for a test: a free port, a directory of its own, and its end checked."""
import json
import pathlib
import signal
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request

ANY_CERTIFICATE = ssl._create_unverified_context()  # with --tls it makes its own


class Lab:
    def __init__(self, program, *flags):
        self.directory = tempfile.TemporaryDirectory(prefix="virt-lab-")
        self.root = pathlib.Path(self.directory.name)
        self.kubeconfig = str(self.root / "kubeconfig")
        self.audit = self.root / "audit.log"
        self.process = subprocess.Popen(
            [program, "--port", "0", "--write-kubeconfig", self.kubeconfig, "--audit-log", str(self.audit), *flags],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        prefix = "virt-lab: serving on "
        if not line.startswith(prefix):
            raise SystemExit(f"virt-lab said {line!r}")
        self.url = line[len(prefix):].strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """SIGTERM must end it at once and cleanly."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(20)
        self.directory.cleanup()
        if status:
            raise SystemExit(f"virt-lab ended with status {status}")

    def request(self, method, path, body=None, content_type="application/json", token="admin-token", accept="application/json"):
        """(status, JSON or text) of one request."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": content_type, "Accept": accept}, method=method)
        if token:
            request.add_header("Authorization", "Bearer " + token)
        try:
            with urllib.request.urlopen(request, timeout=20, context=ANY_CERTIFICATE) as answer:
                return answer.status, decoded(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, decoded(error.read())

    def watch(self, path, timeout=20):
        """The lines of a watch, as JSON, until the server ends it."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": "Bearer admin-token"})
        with urllib.request.urlopen(request, timeout=timeout, context=ANY_CERTIFICATE) as answer:
            for line in answer:
                yield json.loads(line)


def decoded(body):
    try:
        return json.loads(body)
    except ValueError:
        return body.decode()
