"""Tests of tools/schema2c.py: names of members, order of types, and what it refuses."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import schema2c  # noqa: E402

META = """
type ObjectMeta meta_object_meta
    name string omitempty
"""


def generate(text, **others):
    return schema2c.generate({"meta": META, "x": text, **others})


class Names(unittest.TestCase):
    def test_members_are_snake_case_of_the_json_name(self):
        for json, want in {
            "nodeName": "node_name", "clusterIP": "cluster_ip", "podIPs": "pod_ips", "podIP": "pod_ip",
            "clusterIPs": "cluster_ips", "apiVersion": "api_version", "hostPID": "host_pid",
            "userDataBase64": "user_data_base64", "serverAddressByClientCIDRs": "server_address_by_client_cidrs",
            "dedicatedCpuPlacement": "dedicated_cpu_placement", "pci-address": "pci_address", "s390x": "s390x",
            "ppc64le": "ppc64le", "IPs": "ips", "targetWWNs": "target_wwns", "iscsi": "iscsi", "vTPM": "v_tpm",
        }.items():
            self.assertEqual(schema2c.member_name(json), want, json)

    def test_words_of_c_get_an_underscore(self):
        for json in ("default", "static", "register", "switch", "linux", "bool"):
            self.assertEqual(schema2c.member_name(json), json + "_")
        self.assertEqual(schema2c.member_name("namespace"), "namespace")

    def test_a_name_that_c_does_not_have_is_refused(self):
        with self.assertRaises(schema2c.SchemaError):
            schema2c.member_name("1st")


class Structs(unittest.TestCase):
    def test_each_shape_has_its_c_type(self):
        header = generate("""
type Inner x_inner
    name string
type Outer x_outer
    text string
    maybe *string omitempty
    flag *bool
    count *int64 omitempty
    texts []string
    labels {}string
    limits {}quantity
    numbers []int32
    port *int_or_string
    inPlace x_inner
    pointed *x_inner
    listed []x_inner key=name
    mapped {}x_inner
""")["x.h"]
        for member in ("const char *text;", "const char *maybe;", "const bool *flag;", "const int64_t *count;",
                       "struct api_strings texts;", "struct api_string_map labels;", "struct api_string_map limits;",
                       "struct api_int32s numbers;", "const struct api_int_or_string *port;",
                       "struct x_inner in_place;", "struct x_inner *pointed;", "struct x_inner_list listed;",
                       "struct x_inner_map mapped;"):
            self.assertIn(f"    {member}\n", header)
        self.assertIn("struct x_inner_list {\n    size_t n;\n    struct x_inner *items;\n};", header)
        self.assertIn("struct x_inner_entry {\n    const char *key;\n    struct x_inner value;\n};", header)

    def test_a_struct_follows_those_that_it_holds_by_value(self):
        header = generate("type A x_a\n    b x_b\ntype B x_b\n    name string\n")["x.h"]
        self.assertLess(header.index("struct x_b {"), header.index("struct x_a {"))

    def test_recursion_goes_through_pointers_and_lists(self):
        header = generate("type A x_a\n    next *x_a\n    all []x_a\n")["x.h"]
        self.assertIn("    struct x_a *next;\n", header)
        with self.assertRaisesRegex(schema2c.SchemaError, "holds itself"):
            generate("type A x_a\n    b x_b\ntype B x_b\n    a x_a\n")

    def test_a_header_includes_those_of_the_types_that_it_uses(self):
        header = generate("type A x_a\n    meta meta_object_meta\n")["x.h"]
        self.assertIn('#include "api/types/meta.h"', header)

    def test_the_list_of_a_type_avoids_the_name_of_another_type(self):
        header = generate("type G x_g\n    name string\ntype GList x_g_list\n    items []x_g\n")["x.h"]
        self.assertIn("struct x_g_items items;", header)


class Tables(unittest.TestCase):
    KIND = """
type Thing x_thing
resource x.io/v1 Thing things namespaced status
resource x.io/v1beta1 Thing things namespaced status
    kind string omitempty intern
    apiVersion string omitempty intern
    metadata meta_object_meta omitempty
    finalizers []string omitempty set
"""

    def test_a_row_tells_the_rules_of_its_field(self):
        source = generate(self.KIND)["x.c"]
        self.assertIn('{"finalizers", NULL, NULL, offsetof(struct x_thing, finalizers), 10, '
                      "API_STRING, API_LIST, API_OMIT_EMPTY, API_FIELD_SET},", source)
        self.assertIn('{"metadata", &meta_object_meta_type, NULL, offsetof(struct x_thing, metadata), 8, '
                      "API_STRUCT, API_VALUE, API_OMIT_EMPTY, 0},", source)

    def test_fields_keep_their_order_and_are_indexed_by_name(self):
        source = generate(self.KIND)["x.c"]
        self.assertLess(source.index('{"kind"'), source.index('{"apiVersion"'))
        self.assertIn("x_thing_sorted[] = {1, 3, 0, 2};", source)

    def test_each_version_of_a_resource_has_a_table(self):
        files = generate(self.KIND)
        self.assertIn('"x.io", "v1", "Thing", "things", true, true}', files["x.c"])
        self.assertIn("&x_thing_type,\n    &x_thing_v1beta1_type,\n    NULL,", files["types.c"])

    def test_the_core_group_has_no_name(self):
        resource = schema2c.parse_resource("resource v1 Node nodes cluster")
        self.assertEqual((resource.group, resource.version, resource.namespaced, resource.has_status),
                         ("", "v1", False, False))

    def test_a_resource_starts_as_every_object_does(self):
        with self.assertRaisesRegex(schema2c.SchemaError, "starts with kind"):
            generate("type T x_t\nresource v1 T ts cluster\n    name string\n")


class Refusals(unittest.TestCase):
    def test_a_mistake_is_told_with_its_line(self):
        for text, message in {
            "type A x_a\n    name text nonsense\n": "x.schema:2: unknown rule",
            "type A x_a\n    name\n": "x.schema:2: not a field",
            "    name string\n": "x.schema:1: before the first type",
            "type A x_a\nresource v1 A as galaxy\n": "x.schema:2: not a resource",
            "type A x_a\n    b x_b\n": "x_a.b: no type is called x_b",
            "type A x_a\n    podIP string\n    pod-ip string\n": "a second member is called pod_ip",
            "type A x_a\n    b []x_a key=no\n": "x_a has no no",
            "type A x_a\n    b {}float64\n": "no list or map of float64",
            "type A x_a\n    b string set\n": "only a list of scalars",
            "type A x_a\ntype B x_a\n": "two types are called x_a",
        }.items():
            with self.assertRaisesRegex(schema2c.SchemaError, message, msg=text):
                generate(text)


if __name__ == "__main__":
    unittest.main()
