#!/usr/bin/env python3
"""Tests that kubectl can use virt-lab; skipped (77) where there is no kubectl. Usage: test_kubectl.py PROGRAM"""
import json
import os
import shutil
import subprocess
import sys
import unittest

from lab import Lab

MANIFEST = """
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm1, labels: {app: x}}
spec:
  runStrategy: Halted
  template:
    spec:
      domain: {devices: {}}
---
apiVersion: v1
kind: Pod
metadata: {name: p1}
spec:
  containers: [{name: c, image: x}]
"""


class Kubectl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(PROGRAM, "--tls", "--no-sim", "kubelet,scheduler")
        cls.manifest = cls.lab.root / "manifest.yaml"

    @classmethod
    def tearDownClass(cls):
        cls.lab.__exit__()

    def kubectl(self, *words, status=0, **more):
        environment = {**os.environ, "KUBECONFIG": self.lab.kubeconfig, "HOME": str(self.lab.root), **more}
        got = subprocess.run(["kubectl", *words], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(got.returncode, status, got.stdout + got.stderr)
        return got.stdout if status == 0 else got.stderr

    def test_1_apply_says_what_it_did(self):
        self.manifest.write_text(MANIFEST)
        apply = ("apply", "-f", str(self.manifest))
        self.assertEqual(self.kubectl(*apply), "virtualmachine.kubevirt.io/vm1 created\npod/p1 created\n")
        self.assertEqual(self.kubectl(*apply), "virtualmachine.kubevirt.io/vm1 unchanged\npod/p1 unchanged\n")
        self.manifest.write_text(MANIFEST.replace("Halted", "Always"))
        self.assertEqual(self.kubectl(*apply), "virtualmachine.kubevirt.io/vm1 configured\npod/p1 unchanged\n")
        self.assertEqual(self.kubectl("get", "vm", "vm1", "-o", "jsonpath={.spec.runStrategy}"), "Always")

    def test_2_get_knows_short_names_and_columns(self):
        lines = self.kubectl("get", "vm").splitlines()
        self.assertEqual([lines[0].split(), lines[1].split()[0]], [["NAME", "AGE", "STATUS", "READY"], "vm1"])
        self.assertIn("pod/p1", self.kubectl("get", "vm,vmi,po"))
        self.assertIn("virtualmachine.kubevirt.io/vm1", self.kubectl("get", "all"))
        self.assertIn("Run Strategy:  Always", self.kubectl("describe", "vm", "vm1"))
        self.assertIn("Status:       Pending", self.kubectl("describe", "pod", "p1"))
        self.assertIn("VirtualMachine", self.kubectl("explain", "vm"))

    def test_3_objects_are_labelled_patched_and_edited(self):
        self.kubectl("label", "vm", "vm1", "a=b")
        self.kubectl("patch", "vm", "vm1", "--type", "merge", "-p", '{"spec":{"runStrategy":"Manual"}}')
        self.kubectl("edit", "vm", "vm1", EDITOR="sed -i s/Manual/Halted/")
        got = self.kubectl("get", "vm", "vm1", "-o", "jsonpath={.metadata.labels.a} {.spec.runStrategy}")
        self.assertEqual(got, "b Halted")
        self.kubectl("wait", "vm/vm1", "--for=jsonpath={.spec.runStrategy}=Halted", "--timeout=20s")

    def test_4_server_side_apply_guards_fields(self):
        self.manifest.write_text(MANIFEST.split("---")[0].replace("vm1", "vm2"))
        apply = ("apply", "--server-side", "-f", str(self.manifest))
        self.assertEqual(self.kubectl(*apply), "virtualmachine.kubevirt.io/vm2 serverside-applied\n")
        self.manifest.write_text(self.manifest.read_text().replace("Halted", "Always"))
        refused = self.kubectl(*apply, "--field-manager=other", status=1)
        self.assertIn('conflict with "kubectl": .spec.runStrategy', refused)
        self.kubectl(*apply, "--field-manager=other", "--force-conflicts")
        self.assertEqual(self.kubectl("get", "vm", "vm2", "-o", "jsonpath={.spec.runStrategy}"), "Always")

    def test_5_typed_clients_send_protobuf(self):
        self.assertEqual(self.kubectl("create", "namespace", "space"), "namespace/space created\n")
        self.assertEqual(self.kubectl("create", "configmap", "c", "--from-literal=a=b", "-n", "space"), "configmap/c created\n")
        self.assertEqual(self.kubectl("get", "configmap", "c", "-n", "space", "-o", "jsonpath={.data.a}"), "b")
        self.assertEqual(self.kubectl("auth", "can-i", "create", "pods"), "yes\n")
        self.kubectl("delete", "namespace", "space", "--timeout=30s")

    def test_6_a_list_is_created_and_applied_item_by_item(self):
        names = ["l1", "l2"]
        items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in names]
        self.manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        self.assertEqual(self.kubectl("create", "-f", str(self.manifest)), "configmap/l1 created\nconfigmap/l2 created\n")
        self.manifest.write_text(self.kubectl("get", "configmap", *names, "-o", "yaml"))
        self.kubectl("apply", "-f", str(self.manifest))
        self.kubectl("delete", "configmap", *names, "--timeout=30s")

    def test_7_delete_waits_until_it_is_gone(self):
        self.kubectl("delete", "pod", "p1", "--timeout=30s")
        self.kubectl("delete", "vm", "vm1", "vm2", "--timeout=30s")
        self.assertIn("NotFound", self.kubectl("get", "vm", "vm1", status=1))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if not shutil.which("kubectl"):
        sys.exit(77)
    unittest.main()
