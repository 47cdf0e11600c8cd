#!/usr/bin/env python3
"""Turns the schemas of the API objects (api/*.schema) into C.

For each schema NAME.schema: NAME.h with the structs, and NAME.c with a table (struct api_type) for each of them; all
resources together in types.c (api_types). The rules are in src/api/object.h; the format of a schema is told at the head
of each. The schema gives the C names of types; the names of members are made here from the JSON names.

Usage: schema2c.py --out DIRECTORY SCHEMA...    every schema at once, since they refer to each other
"""
import argparse
import dataclasses
import pathlib
import re
import sys

# Words that can't be a member: keywords of C and of GNU C, and macros that gcc predefines or that stdbool.h defines.
RESERVED = set("""
    alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern extra_
    false float for goto i386 if inline int linux long NULL nullptr register restrict return short signed sizeof static
    static_assert struct switch thread_local true typedef typeof typeof_unqual union unix unsigned void volatile while
""".split())

# Scalar kind of the schema -> kind in the table, C type in place, C type behind a pointer.
TEXT = "const char *"
SCALARS = {
    "string": ("API_STRING", TEXT, TEXT),
    "bool": ("API_BOOL", "bool ", "const bool *"),
    "int32": ("API_INT32", "int32_t ", "const int32_t *"),
    "int64": ("API_INT64", "int64_t ", "const int64_t *"),
    "float64": ("API_FLOAT64", "double ", "const double *"),
    "bytes": ("API_BYTES", TEXT, TEXT),
    "quantity": ("API_QUANTITY", TEXT, TEXT),
    "time": ("API_TIME", TEXT, TEXT),
    "micro_time": ("API_MICRO_TIME", TEXT, TEXT),
    "duration": ("API_DURATION", TEXT, TEXT),
    "int_or_string": ("API_INT_OR_STRING", "struct api_int_or_string ", "const struct api_int_or_string *"),
    "raw": ("API_RAW", TEXT, TEXT),
}
# Lists and maps of scalars, by the C type of the element: those of object.h.
SCALAR_LISTS = {TEXT: "struct api_strings ", "int32_t ": "struct api_int32s ", "int64_t ": "struct api_int64s "}
SCALAR_MAPS = {TEXT: "struct api_string_map ", "int64_t ": "struct api_int64_map ", "bool ": "struct api_bool_map "}

SHAPES = {"*": "API_POINTER", "[]": "API_LIST", "{}": "API_MAP", "": "API_VALUE"}
OMITS = {"": "API_OMIT_NEVER", "omitempty": "API_OMIT_EMPTY", "omitzero": "API_OMIT_ZERO"}


class SchemaError(Exception):
    pass


@dataclasses.dataclass
class Field:
    json: str
    shape: str
    kind: str
    omit: str = ""
    key: str = ""
    flags: tuple = ()

    @property
    def member(self):
        return member_name(self.json)

    @property
    def is_struct(self):
        return self.kind not in SCALARS


@dataclasses.dataclass
class Resource:
    api_version: str
    kind: str
    plural: str
    namespaced: bool
    has_status: bool

    @property
    def group(self):
        return self.api_version.rpartition("/")[0]

    @property
    def version(self):
        return self.api_version.rpartition("/")[2]


@dataclasses.dataclass
class Type:
    name: str
    group: str
    resources: list = dataclasses.field(default_factory=list)
    fields: list = dataclasses.field(default_factory=list)


def snake(name):
    """CamelCase to snake_case; a run of capitals is a word, with a plural "s" if there is one: podIPs -> pod_ips."""
    word = r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9a-z]*|[0-9]+"
    return "_".join(part.lower() for part in re.findall(word, name))


def member_name(json):
    name = snake(json)
    if name in RESERVED:
        name += "_"
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        raise SchemaError(f"no C name for the member {json!r}")
    return name


# ---- reading ----

def parse_field(line):
    words = line.split()
    match = re.fullmatch(r"(\*|\[\]|\{\}|)([a-z][a-z0-9_]*)", words[1]) if len(words) > 1 else None
    if not match:
        raise SchemaError(f"not a field: {line.strip()!r}")
    field = Field(words[0], match[1], match[2])
    for rule in words[2:]:
        if rule in OMITS:
            field.omit = rule
        elif rule.startswith("key="):
            field.key = rule[4:]
        elif rule in ("set", "intern"):
            field.flags += (rule,)
        else:
            raise SchemaError(f"unknown rule {rule!r}: {line.strip()!r}")
    return field


def parse_resource(line):
    words = line.split()
    if len(words) not in (5, 6) or words[4] not in ("namespaced", "cluster") or words[5:] not in ([], ["status"]):
        raise SchemaError(f"not a resource: {line.strip()!r}")
    return Resource(words[1], words[2], words[3], words[4] == "namespaced", words[5:] == ["status"])


def parse(text, group):
    """The types of one schema, in its order."""
    types = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        try:
            if not words or words[0].startswith("#"):
                continue
            if line[0] != " " and words[0] == "type" and len(words) == 3:
                types.append(Type(words[2], group))
            elif not types:
                raise SchemaError(f"before the first type: {line!r}")
            elif line[0] != " " and words[0] == "resource":
                types[-1].resources.append(parse_resource(line))
            elif line[0] == " ":
                types[-1].fields.append(parse_field(line))
            else:
                raise SchemaError(f"not understood: {line!r}")
        except SchemaError as error:
            raise SchemaError(f"{group}.schema:{number}: {error}") from None
    return types


class Model:
    """All types by C name, and what follows from all of them together: which lists and maps are used."""

    def __init__(self, types):
        self.types = {}
        for t in types:
            if t.name in self.types:
                raise SchemaError(f"two types are called {t.name}")
            self.types[t.name] = t
        used = [f for t in types for f in t.fields if f.is_struct]
        self.listed = {f.kind for f in used if f.shape == "[]"}
        self.mapped = {f.kind for f in used if f.shape == "{}"}
        for t in types:
            self.check(t)

    def check(self, t):
        members = {"extra_"}
        for field in t.fields:
            where = f"{t.name}.{field.json}"
            if field.is_struct and field.kind not in self.types:
                raise SchemaError(f"{where}: no type is called {field.kind}")
            if field.member in members:
                raise SchemaError(f"{where}: a second member is called {field.member}")
            members.add(field.member)
            if field.key and field.key not in [f.json for f in self.types[field.kind].fields]:
                raise SchemaError(f"{where}: {field.kind} has no {field.key}")
            if "set" in field.flags and (field.shape, field.is_struct) != ("[]", False):
                raise SchemaError(f"{where}: only a list of scalars can be a set")
        if len(t.fields) > 255:
            raise SchemaError(f"{t.name}: more than 255 fields")
        head = [(f.json, f.kind) for f in t.fields[:3]]
        if t.resources and head != [("kind", "string"), ("apiVersion", "string"), ("metadata", "meta_object_meta")]:
            raise SchemaError(f"{t.name}: a resource starts with kind, apiVersion and metadata")

    def list_name(self, name):
        """Of the list of a type; LIST kinds of Kubernetes may have taken the usual name."""
        return name + ("_items" if name + "_list" in self.types else "_list")

    def c_type(self, field):
        """With the blank or asterisk before the name of the member."""
        if field.is_struct:
            return {
                "": f"struct {field.kind} ",
                "*": f"struct {field.kind} *",
                "[]": f"struct {self.list_name(field.kind)} ",
                "{}": f"struct {field.kind}_map ",
            }[field.shape]
        _, in_place, behind_pointer = SCALARS[field.kind]
        try:
            if field.shape == "[]":
                return SCALAR_LISTS[in_place]
            if field.shape == "{}":
                return SCALAR_MAPS[in_place]
        except KeyError:
            raise SchemaError(f"{field.json}: object.h has no list or map of {field.kind}") from None
        return behind_pointer if field.shape == "*" else in_place

    def by_value(self, t):
        """The types that must be complete before t."""
        return [self.types[f.kind] for f in t.fields if f.is_struct and f.shape == ""]

    def in_order(self, group):
        """The types of a group, each after those that it holds by value."""
        done, open_, order = set(), [], []

        def visit(t):
            if t.name in open_:
                raise SchemaError(f"{t.name} holds itself by value")
            if t.name in done or t.group != group:
                return
            open_.append(t.name)
            for inner in self.by_value(t):
                visit(inner)
            open_.pop()
            done.add(t.name)
            order.append(t)

        for t in self.types.values():
            visit(t)
        return order


# ---- writing ----

def mark(group):
    return f"/* Generated by tools/schema2c.py from api/{group}.schema. */\n"


def struct_text(model, t):
    lines = [f"struct {t.name} {{", "    const char *extra_;"]
    lines += [f"    {model.c_type(f)}{f.member};" for f in t.fields]
    lines.append("};")
    if t.name in model.mapped:
        lines += [f"struct {t.name}_entry {{", "    const char *key;", f"    struct {t.name} value;", "};"]
    return "\n".join(lines)


def header_text(model, group):
    types = model.in_order(group)
    others = {model.types[f.kind].group for t in types for f in t.fields if f.is_struct} - {group}
    guard = f"API_TYPES_{group.upper()}_H"
    out = [mark(group) + f"#ifndef {guard}\n#define {guard}\n", '#include "api/object.h"']
    out += [f'#include "api/types/{other}.h"' for other in sorted(others)]
    out.append("")
    for t in types:
        if t.name in model.listed:
            out.append(f"struct {model.list_name(t.name)} {{\n    size_t n;\n    struct {t.name} *items;\n}};")
        if t.name in model.mapped:
            out.append(f"struct {t.name}_map {{\n    size_t n;\n    struct {t.name}_entry *items;\n}};")
    out.append("")
    out += [struct_text(model, t) + "\n" for t in types]
    out += [f"extern const struct api_type {name}_type;" for t in types for name in type_tables(t)]
    out.append("\n#endif")
    return "\n".join(out) + "\n"


def type_tables(t):
    """The names of a type's tables: one, and one more for each further version of the resource."""
    return [t.name] + [f"{t.name}_{resource.version}" for resource in t.resources[1:]]


def field_row(t, f):
    kind = "API_STRUCT" if f.is_struct else SCALARS[f.kind][0]
    flags = " | ".join({"intern": "API_FIELD_INTERN", "set": "API_FIELD_SET"}[flag] for flag in f.flags) or "0"
    return "    {%s, %s, %s, offsetof(struct %s, %s), %d, %s, %s, %s, %s}," % (
        f'"{f.json}"', f"&{f.kind}_type" if f.is_struct else "NULL", f'"{f.key}"' if f.key else "NULL",
        t.name, f.member, len(f.json), kind, SHAPES[f.shape], OMITS[f.omit], flags)


def bool_text(value):
    return "true" if value else "false"


def table_text(t):
    out = []
    fields, order = "NULL", "NULL"
    if t.fields:
        fields, order = f"{t.name}_fields", f"{t.name}_sorted"
        by_name = sorted(range(len(t.fields)), key=lambda i: t.fields[i].json.encode())
        out += [f"static const struct api_field {fields}[] = {{"] + [field_row(t, f) for f in t.fields] + ["};"]
        out.append(f"static const uint8_t {order}[] = {{{', '.join(map(str, by_name))}}};")
    for name, r in zip(type_tables(t), t.resources or [None]):
        if r:
            out.append(f"static const struct api_resource {name}_resource = {{")
            out.append(f'    "{r.group}", "{r.version}", "{r.kind}", "{r.plural}", '
                       f"{bool_text(r.namespaced)}, {bool_text(r.has_status)}}};")
        out.append(f"const struct api_type {name}_type = {{")
        out.append(f'    "{t.name}", {fields}, {order}, {len(t.fields)}, sizeof(struct {t.name}), '
                   + (f"&{name}_resource" if r else "NULL") + "};")
    if t.resources:
        out += [f"_Static_assert(offsetof(struct {t.name}, {m}) == offsetof(struct api_any, {m}), \"{t.name}.{m}\");"
                for m in ("extra_", "kind", "api_version", "metadata")]
    return "\n".join(out)


def source_text(model, group):
    types = model.in_order(group)
    out = [mark(group) + '#include "api/meta.h"', f'#include "api/types/{group}.h"', "#include <stddef.h>\n"]
    return "\n".join(out + [table_text(t) + "\n" for t in types])


def registry_text(model, groups):
    out = ["/* Generated by tools/schema2c.py: the table of all resources. */", '#include "api/codec.h"']
    out += [f'#include "api/types/{group}.h"' for group in groups]
    out.append("\nconst struct api_type *const api_types[] = {")
    for t in model.types.values():
        out += [f"    &{name}_type," for name in type_tables(t) if t.resources]
    return "\n".join(out + ["    NULL,", "};"]) + "\n"


def generate(schemas):
    """{group: text of its schema} -> {file name: text}"""
    model = Model([t for group, text in schemas.items() for t in parse(text, group)])
    files = {"types.c": registry_text(model, schemas)}
    for group in schemas:
        files[f"{group}.h"] = header_text(model, group)
        files[f"{group}.c"] = source_text(model, group)
    return files


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("schemas", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        files = generate({path.stem: path.read_text() for path in arguments.schemas})
    except SchemaError as error:
        sys.exit(f"schema2c: {error}")
    for name, text in files.items():
        (arguments.out / name).write_text(text)


if __name__ == "__main__":
    main()
