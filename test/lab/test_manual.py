"""The manual page and the completion know the flags that --help knows, with their defaults.

usage: test_manual.py MANUAL COMPLETION VIRT_CONTROLLER
"""
import re
import subprocess
import sys


def main(manual, completion, program):
    usage = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    flags = re.findall(r"^ {2,6}(?:-\w, )?--([a-z0-9-]+)", usage, re.M)
    assert len(flags) > 40, usage
    page = open(manual).read().replace("\\-", "-")
    documented = re.findall(r"^\.It (?:Fl \w , )?Fl -([a-z0-9-]+)", page, re.M)
    assert documented == flags, f"differs: {sorted(set(documented) ^ set(flags))}, or in order"
    for default in re.findall(r"\(default (\S+)\)$", usage, re.M):
        assert f".Li {default} )" in page, f"default {default}"
    script = (f"source {completion}; COMP_WORDS=({program} --); COMP_CWORD=1; _virt_controller virt-controller -- {program};"
              'printf "%s\\n" "${COMPREPLY[@]}"')
    offered = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert offered == ["--" + flag for flag in flags], offered


if __name__ == "__main__":
    main(*sys.argv[1:])
