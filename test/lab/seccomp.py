"""Runs a program under a seccomp profile of an OCI runtime, strictly: what the profile denies ends the process by SIGSYS.

usage: seccomp.py PROFILE PROGRAM [ARGUMENT]...

Needs no privileges, only libseccomp. A container runtime makes a denied call fail instead, which a program may overlook.
With `--bpf FILE` in place of the program the filter is written there, as the profile says it, for bwrap --seccomp.
"""
import ctypes
import ctypes.util
import json
import os
import sys

KILL_PROCESS, ALLOW, ERRNO = 0x80000000, 0x7fff0000, 0x00050000
NO_SUCH_CALL = -1


def library():
    name = ctypes.util.find_library("seccomp")
    if not name:
        return None
    lib = ctypes.CDLL(name, use_errno=True)
    lib.seccomp_init.restype = ctypes.c_void_p
    lib.seccomp_init.argtypes = [ctypes.c_uint32]
    lib.seccomp_load.argtypes = [ctypes.c_void_p]
    lib.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    lib.seccomp_rule_add_array.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
    return lib


def compiled(lib, path, default=None):
    """The filter of a profile whose rules all allow whole calls."""
    with open(path) as file:
        profile = json.load(file)
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO", profile["defaultAction"]
    context = lib.seccomp_init(ERRNO | profile["defaultErrnoRet"] if default is None else default)
    for rule in profile["syscalls"]:
        assert rule["action"] == "SCMP_ACT_ALLOW" and not rule.get("args"), rule
        for name in rule["names"]:
            number = lib.seccomp_syscall_resolve_name(name.encode())
            if number == NO_SUCH_CALL:
                continue  # newer than this libseccomp, or of another architecture
            status = lib.seccomp_rule_add_array(context, ALLOW, number, 0, None)
            assert status in (0, -17), (name, status)  # EEXIST
    return context


def main(profile, program, *arguments):
    lib = library()
    if program == "--bpf":
        with open(arguments[0], "wb") as file:
            sys.exit(-lib.seccomp_export_bpf(compiled(lib, profile), file.fileno()))
    status = lib.seccomp_load(compiled(lib, profile, KILL_PROCESS))
    if status:
        sys.exit(f"seccomp_load: {os.strerror(-status)}")
    os.execv(program, [program, *arguments])


if __name__ == "__main__":
    main(*sys.argv[1:])
