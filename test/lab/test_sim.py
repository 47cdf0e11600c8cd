#!/usr/bin/env python3
"""Tests of virt-lab's simulated parts and of servers that it hands requests to, over HTTP. Usage: test_sim.py PROGRAM"""
import http.server
import ssl
import subprocess
import sys
import threading
import time
import unittest

from lab import Lab

PODS = "/api/v1/namespaces/default/pods"


def pod(name):
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "x"}]}}


def phase_after(lab, name, wanted):
    """The Pod's phase once it is the wanted one, or after some seconds."""
    end = time.monotonic() + 10
    while True:
        phase = lab.request("GET", f"{PODS}/{name}")[1]["status"]["phase"]
        if phase == wanted or time.monotonic() > end:
            return phase
        time.sleep(0.01)


class Parts(unittest.TestCase):
    def test_pods_run_on_the_nodes_that_were_asked_for(self):
        with Lab(PROGRAM, "--nodes", "2") as lab:
            nodes = lab.request("GET", "/api/v1/nodes")[1]["items"]
            self.assertEqual([n["metadata"]["name"] for n in nodes], ["node01", "node02"])
            lab.request("POST", PODS, pod("p"))
            self.assertEqual(phase_after(lab, "p", "Running"), "Running")

    def test_parts_are_slowed_down(self):
        with Lab(PROGRAM, "--delay", "kubelet=1h") as lab:
            for name in ("first", "second"):
                lab.request("POST", PODS, pod(name))
            bound = threading.Event()
            for event in lab.watch(PODS + "?watch=1&timeoutSeconds=10"):
                if event["object"]["metadata"]["name"] == "second" and event["object"]["spec"].get("nodeName"):
                    bound.set()
                    break
            self.assertTrue(bound.is_set())
            self.assertEqual(lab.request("GET", PODS + "/first")[1]["status"]["phase"], "Pending")

    def test_flags_that_make_no_sense_are_refused(self):
        for flags in (["--no-sim", "cook"], ["--delay", "kubelet"], ["--delay", "kubelet=soon"], ["--delay", "cook=1s"], ["--nodes", "-1"]):
            r = subprocess.run([PROGRAM, *flags], capture_output=True, text=True, timeout=20)
            self.assertEqual((r.returncode, r.stdout), (2, ""), flags)
            self.assertIn(flags[0], r.stderr)

    def test_watches_are_cut_on_demand(self):
        with Lab(PROGRAM, "--no-sim", "all") as lab:
            version = lab.request("POST", PODS, pod("p"))[1]["metadata"]["resourceVersion"]
            seen = []

            def follow():
                for event in lab.watch(f"{PODS}?watch=1&timeoutSeconds=30&resourceVersion=0"):
                    seen.append(event["object"].get("code", event["type"]))
                    first.set()

            first = threading.Event()
            thread = threading.Thread(target=follow)
            thread.start()
            self.assertTrue(first.wait(10))
            self.assertEqual(lab.request("POST", "/debug/cut-watches"), (200, "ok"))
            thread.join(10)
            self.assertEqual(seen, ["ADDED", 410])
            status, answer = lab.request("GET", f"{PODS}?watch=1&timeoutSeconds=1&resourceVersion={int(version) - 1}")
            self.assertEqual((status, answer["reason"]), (410, "Expired"))


class Other(http.server.BaseHTTPRequestHandler):
    """A server that asks the lab something before it answers."""

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        asked = self.server.lab.request("GET", "/api/v1/namespaces/default")[0]
        answer = f"{self.path} {body} {asked}".encode()
        self.send_response(202)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def serve_https(lab):
    certificate, key = lab.root / "other.crt", lab.root / "other.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.lab, server.daemon_threads = lab, True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def delegate(lab, port):
    lab.request("POST", "/api/v1/namespaces/default/services",
                {"metadata": {"name": "other"}, "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}})
    return lab.request("POST", "/apis/apiregistration.k8s.io/v1/apiservices", {
        "metadata": {"name": "v1.other.example.com"}, "spec": {"group": "other.example.com", "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10,
                                                               "insecureSkipTLSVerify": True, "service": {"name": "other", "namespace": "default", "port": port}}})[0]


class Aggregation(unittest.TestCase):
    PATH = "/apis/other.example.com/v1/things/a/do?x=y%20z"

    def test_an_api_service_is_asked_while_it_asks_the_lab(self):
        with Lab(PROGRAM, "--threads", "1") as lab:
            server = serve_https(lab)
            self.assertEqual(lab.request("PUT", self.PATH, {})[0], 404)
            self.assertEqual(delegate(lab, server.server_address[1]), 201)
            for _ in range(3):
                self.assertEqual(lab.request("PUT", self.PATH, b"hello"), (202, self.PATH + " hello 200"))
            server.shutdown()
            server.server_close()

    def test_an_api_service_that_is_not_there_is_unavailable(self):
        with Lab(PROGRAM) as lab:
            self.assertEqual(delegate(lab, 1), 201)
            status, text = lab.request("PUT", self.PATH, {})
            self.assertEqual(status, 503)
            self.assertTrue(text.startswith("error trying to reach service: "), text)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
