"""Fails when tools/apigen would write other schemas or samples than those that are committed, or when its tests fail.

Skipped (77) where Go or the modules are missing.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
ROOT = pathlib.Path(__file__).resolve().parents[3]
APIGEN = ROOT / "tools" / "apigen"
BY_HAND = {"template.schema"}


def go(*arguments, **options):
    return subprocess.run(["go", *arguments], cwd=APIGEN, text=True, capture_output=True, timeout=600, **options)


def stale_files(made, committed):
    """Names of files that differ, are missing or have no source any more."""
    names = {path.name for directory in (made, committed) for path in directory.iterdir()} - BY_HAND
    return sorted(name for name in names if read(made / name) != read(committed / name))


def read(path):
    return path.read_bytes() if path.exists() else None


def main():
    if not shutil.which("go"):
        print("no go")
        return SKIP
    if go("list", "-deps", ".").returncode != 0:
        print("the modules can't be downloaded")
        return SKIP
    tests = go("test", ".")
    if tests.returncode != 0:
        print(tests.stdout + tests.stderr)
        return 1
    with tempfile.TemporaryDirectory() as directory:
        run = go("run", ".", "-root", directory)
        if run.returncode != 0:
            print(run.stderr)
            return 1
        stale = [f"{place}/{name}" for place in ("api", "test/unit/api/samples")
                 for name in stale_files(pathlib.Path(directory, place), ROOT / place)]
    if stale:
        print("Not as tools/apigen writes them (see tools/apigen/README.md):", *stale, sep="\n    ")
        return 1
    return 0


sys.exit(main())
