#!/usr/bin/env python3
"""Tests of virt-lab over HTTP. Usage: test_http.py PROGRAM"""
import http.client
import json
import os
import pathlib
import sys
import threading
import time
import unittest

from lab import Lab

PODS = "/api/v1/namespaces/default/pods"
VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(PROGRAM, "--no-sim", "scheduler")
        cls.n = 0

    @classmethod
    def tearDownClass(cls):
        cls.lab.__exit__()

    def setUp(self):
        """A namespace for each test."""
        Http.n += 1
        self.ns = f"t{Http.n}"
        self.maps = f"/api/v1/namespaces/{self.ns}/configmaps"
        self.ok(201, "POST", "/api/v1/namespaces", {"metadata": {"name": self.ns}})

    def ok(self, status, *request, **more):
        got, body = self.lab.request(*request, **more)
        self.assertEqual(got, status, body)
        return body

    def test_it_is_ready_and_says_its_version(self):
        self.assertEqual(self.ok(200, "GET", "/readyz"), "ok")
        self.assertEqual(self.ok(200, "GET", "/version")["major"], "1")

    def test_an_object_is_created_read_changed_and_deleted(self):
        made = self.ok(201, "POST", self.maps, config_map("a", x="1"))
        self.assertEqual(self.ok(200, "GET", self.maps + "/a"), made)
        made["data"]["x"] = "2"
        changed = self.ok(200, "PUT", self.maps + "/a", made)
        self.assertEqual(changed["data"], {"x": "2"})
        self.assertEqual(self.ok(409, "PUT", self.maps + "/a", made)["reason"], "Conflict")
        status = self.ok(200, "DELETE", self.maps + "/a")
        self.assertEqual((status["status"], status["details"]["uid"]), ("Success", made["metadata"]["uid"]))
        self.assertEqual(self.ok(404, "GET", self.maps + "/a")["message"], 'configmaps "a" not found')

    def test_a_kind_is_served_in_all_its_versions(self):
        self.ok(201, "POST", VMS, {"metadata": {"name": "two"}, "spec": {}})
        old = self.ok(200, "GET", VMS.replace("/v1/", "/v1alpha3/") + "/two")
        self.assertEqual(old["apiVersion"], "kubevirt.io/v1alpha3")
        self.assertEqual(self.ok(200, "GET", VMS + "/two")["apiVersion"], "kubevirt.io/v1")

    def test_lists_come_in_pages(self):
        for name in "edcba":
            self.ok(201, "POST", self.maps, config_map(name))
        names, more, versions = [], "", set()
        while True:
            page = self.ok(200, "GET", f"{self.maps}?limit=2" + (f"&continue={more}" if more else ""))
            names += [item["metadata"]["name"] for item in page["items"]]
            versions.add(page["metadata"]["resourceVersion"])
            more = page["metadata"].get("continue")
            if not more:
                break
        self.assertEqual(("".join(names), len(versions)), ("abcde", 1))

    def test_a_watch_sees_what_follows_its_version(self):
        start = self.ok(201, "POST", self.maps, config_map("a"))["metadata"]["resourceVersion"]
        self.ok(201, "POST", self.maps, config_map("b"))
        self.ok(200, "DELETE", self.maps + "/a")
        events = list(self.lab.watch(f"{self.maps}?watch=1&resourceVersion={start}&timeoutSeconds=1"))
        self.assertEqual([(e["type"], e["object"]["metadata"]["name"]) for e in events], [("ADDED", "b"), ("DELETED", "a")])
        versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
        self.assertEqual(versions, sorted(versions))

    def test_a_watch_is_told_of_changes_while_it_waits(self):
        seen = []
        start = self.ok(200, "GET", self.maps)["metadata"]["resourceVersion"]

        def follow():
            for event in self.lab.watch(f"{self.maps}?watch=1&resourceVersion={start}&timeoutSeconds=30"):
                seen.append(event["object"]["metadata"]["name"])
                if seen[-1] == "last":
                    return

        thread = threading.Thread(target=follow)
        thread.start()
        for i in range(200):
            self.ok(201, "POST", self.maps, config_map(f"m{i:03}", text="x" * 2000))
        self.ok(201, "POST", self.maps, config_map("last"))
        thread.join(20)
        self.assertEqual(seen, [f"m{i:03}" for i in range(200)] + ["last"])

    def test_an_abandoned_watch_is_given_up(self):
        before = self.sockets()
        for _ in range(5):
            connection = http.client.HTTPConnection(self.lab.url.split("//")[1])
            connection.request("GET", self.maps + "?watch=1")
            connection.getresponse()
            connection.close()
        for _ in range(100):  # the server looks every second
            if self.sockets() <= before:
                return
            self.ok(200, "GET", "/readyz")
            time.sleep(0.1)
        self.fail(f"{self.sockets()} sockets are open, {before} were before")

    def sockets(self):
        descriptors = pathlib.Path(f"/proc/{self.lab.process.pid}/fd")
        return sum(1 for d in descriptors.iterdir() if "socket" in os.readlink(d))

    def test_initial_events_end_with_a_bookmark(self):
        self.ok(201, "POST", self.maps, config_map("a"))
        query = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
        events = list(self.lab.watch(self.maps + query))
        self.assertEqual([e["type"] for e in events], ["ADDED", "BOOKMARK"])
        self.assertEqual(events[1]["object"]["metadata"]["annotations"], {"k8s.io/initial-events-end": "true"})

    def test_patches_come_in_four_forms(self):
        self.ok(201, "POST", self.maps, config_map("a", x="1"))
        patch = [{"op": "test", "path": "/data/x", "value": "1"}, {"op": "add", "path": "/data/y", "value": "2"}]
        for body, form, want in (
                (patch, "json-patch+json", {"x": "1", "y": "2"}),
                ({"data": {"x": None}}, "merge-patch+json", {"y": "2"}),
                ({"data": {"z": "3"}}, "strategic-merge-patch+json", {"y": "2", "z": "3"}),
                ({"apiVersion": "v1", "kind": "ConfigMap", "data": {"w": "4"}}, "apply-patch+yaml", {"y": "2", "z": "3", "w": "4"})):
            got = self.ok(200, "PATCH", self.maps + "/a?fieldManager=test", body, "application/" + form)
            self.assertEqual(got["data"], want)
        refused = self.ok(422, "PATCH", self.maps + "/a", patch, "application/json-patch+json")
        self.assertEqual(refused["message"], "the server rejected our request due to an error in our request")
        self.ok(415, "PATCH", self.maps + "/a", patch, "application/json")

    def test_bodies_may_be_yaml(self):
        yaml = b"# a comment\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: 'yes'\n"
        self.assertEqual(self.ok(201, "POST", self.maps, yaml, "application/yaml")["data"], {"x": "yes"})
        apply = self.maps + "/a?fieldManager=test"
        self.assertEqual(self.ok(200, "PATCH", apply, yaml.replace(b"x:", b"z:"), "application/apply-patch+yaml")["data"], {"x": "yes", "z": "yes"})
        for bad in (b"", b"# nothing\n", b"a: [", b"a: b\n---\na: b\n", b"[" * 5000):
            self.ok(400, "POST", self.maps, bad, "application/yaml")
            self.ok(400, "PATCH", apply, bad, "application/apply-patch+yaml")

    def test_what_is_nested_too_deep_is_refused(self):
        for deep in (b"[" * 100000 + b"]" * 100000, b'{"a":' * 2000 + b"1" + b"}" * 2000):
            refused = self.ok(400, "POST", self.maps, b'{"metadata":{"name":"deep"},"x":' + deep + b"}")
            self.assertIn("exceeded max depth", refused["message"])

    def test_a_strict_client_hears_of_unknown_fields(self):
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
        self.ok(201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}})
        widgets = f"/apis/example.com/v1/namespaces/{self.ns}/widgets"
        widget = {"metadata": {"name": "w"}, "spec": {"size": 1, "sise": 2}}
        refused = self.ok(400, "POST", widgets + "?fieldValidation=Strict", widget)
        self.assertIn('strict decoding error: unknown field "spec.sise"', refused["message"])
        self.assertEqual(self.ok(201, "POST", widgets, widget)["spec"], {"size": 1})

    def test_unknown_things_are_not_found(self):
        self.assertEqual(self.ok(404, "GET", "/apis/none/v1/things"), "404 page not found\n")
        self.ok(404, "GET", "/apis/kubevirt.io/v1/things")
        self.assertEqual(self.ok(404, "POST", "/api/v1/namespaces/none/configmaps", config_map("a"))["message"], 'namespaces "none" not found')
        self.ok(405, "POST", self.maps + "/a", {})
        self.ok(400, "POST", self.maps, b"{")

    def test_an_unknown_token_is_refused(self):
        self.assertEqual(self.ok(401, "GET", PODS, token="wrong")["reason"], "Unauthorized")
        self.ok(200, "GET", PODS, token=None)

    def test_writes_are_audited(self):
        self.ok(201, "POST", self.maps, config_map("audited"), token="controller-token")
        self.ok(200, "GET", self.maps + "/audited", token="controller-token")
        lines = [json.loads(line) for line in self.lab.audit.read_text().splitlines()]
        mine = [e for e in lines if e["objectRef"].get("name") == "audited"]
        self.assertEqual([(e["verb"], e["user"]["username"], e["objectRef"]["resource"], e["responseStatus"]["code"]) for e in mine],
                         [("create", "controller", "configmaps", 201)])

    def test_tables_are_for_printing(self):
        self.ok(201, "POST", f"/api/v1/namespaces/{self.ns}/pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}})
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
        table = self.ok(200, "GET", f"/api/v1/namespaces/{self.ns}/pods", accept=accept)
        self.assertEqual([c["name"] for c in table["columnDefinitions"]][:4], ["Name", "Ready", "Status", "Restarts"])
        self.assertEqual(table["rows"][0]["cells"][:4], ["p", "0/1", "Pending", "0"])

    def test_many_requests_at_once_lose_no_update(self):
        self.ok(201, "POST", self.maps, config_map("counter", n="0"))

        def count():
            for _ in range(20):
                while True:
                    now = self.ok(200, "GET", self.maps + "/counter")
                    now["data"]["n"] = str(int(now["data"]["n"]) + 1)
                    if self.lab.request("PUT", self.maps + "/counter", now)[0] == 200:
                        break

        threads = [threading.Thread(target=count) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(self.ok(200, "GET", self.maps + "/counter")["data"], {"n": "80"})


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
