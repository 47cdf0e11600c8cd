"""The manual page and the completion know the flags that --help knows, with their defaults.

usage: test_manual.py MANUAL COMPLETION VIRT_CONTROLLER
"""
import re
import subprocess
import sys


def offered(completion, program, *words):
    """What bash offers for the last of the words."""
    before = words[-2] if len(words) > 1 else program
    script = (f"source {completion}; COMP_WORDS=({program} {' '.join(words)}); COMP_CWORD={len(words)};"
              f"_virt_controller virt-controller {words[-1]} {before};" 'printf "%s\\n" "${COMPREPLY[@]}"')
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()


def main(manual, completion, program):
    usage = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    flags = re.findall(r"^ {2,6}(?:-\w, )?--([a-z0-9-]+)", usage, re.M)
    assert len(flags) > 40, usage
    page = open(manual).read().replace("\\-", "-")
    documented = re.findall(r"^\.It (?:Fl \w , )?Fl -([a-z0-9-]+)", page, re.M)
    assert documented == flags, f"differs: {sorted(set(documented) ^ set(flags))}, or in order"
    for default in re.findall(r"\(default (\S+)\)$", usage, re.M):
        assert f".Li {default} )" in page, f"default {default}"
    assert offered(completion, program, "--") == ["--" + flag for flag in flags]
    assert offered(completion, program, "--vmi-c") == ["--vmi-controller-threads"]
    assert offered(completion, program, "ren") == ["render"]
    usage = subprocess.run([program, "render", "--help"], capture_output=True, text=True, check=True).stdout
    of_render = re.findall(r"^ {2,6}(?:-\w, )?(--[a-z0-9-]+)", usage, re.M)
    assert len(of_render) > 8 and offered(completion, program, "render", "--") == of_render, usage
    assert offered(completion, program, "render", "-o", "y") == ["yaml"]


if __name__ == "__main__":
    main(*sys.argv[1:])
