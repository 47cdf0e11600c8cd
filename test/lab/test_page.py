"""The diagnostics page in a real browser: what a person sees there is what the same page says as JSON.

usage: test_page.py VIRT_LAB VIRT_CONTROLLER

Skipped where there is no chromium.
"""
import html.parser
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request

from controller import TIMEOUT_S, Controller, free_port, install_kubevirt
from lab import Lab
from test_handover import create_vms
from test_sandbox import VMS, await_vms

SKIPPED = 77


class Tables(html.parser.HTMLParser):
    """The rows of each table, by the heading above it."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.links, self.heading, self.cell, self.in_heading = {}, [], "", None, False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "h2":
            self.heading, self.in_heading = "", True
        elif tag == "tr":
            self.rows.setdefault(self.heading, []).append([])
        elif tag in ("td", "th"):
            self.cell = ""
        elif tag == "a":
            self.links.append(dict(attributes)["href"])

    def handle_endtag(self, tag):
        if tag == "h2":
            self.in_heading = False
        elif tag in ("td", "th"):
            self.rows[self.heading][-1].append(self.cell.strip())
            self.cell = None

    def handle_data(self, data):
        if self.in_heading:
            self.heading += data
        elif self.cell is not None:
            self.cell += data


def shown(browser, url):
    """The page as the browser has it after loading."""
    with tempfile.TemporaryDirectory(prefix="browser-") as profile:
        run = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile, "--dump-dom", url],
                             capture_output=True, text=True, timeout=2 * TIMEOUT_S)
    assert run.returncode == 0 and "<h2" in run.stdout, run
    return Tables(run.stdout)


def facts(url):
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
        return json.loads(answer.read())


def main(virt_lab, program):
    browser = shutil.which("chromium")
    if not browser:
        print("SKIPPED: chromium is missing")
        return SKIPPED
    with Lab(virt_lab) as lab:
        install_kubevirt(lab)
        port = free_port()
        root = f"http://127.0.0.1:{port}"
        with Controller(program, lab, "controller", "--debug-port", str(port)) as controller:
            controller.await_log("Started leading")
            create_vms(lab, 0, 3, None)
            await_vms(lab, lambda items: all(i.get("status", {}).get("printableStatus") == "Running" for i in items))
            page, told = shown(browser, root + "/debug"), facts(root + "/debug.json")
            assert ["role", "leader"] in page.rows["Process"], page.rows["Process"]
            assert [row["controller"] for row in told["controllers"]] == [row[0] for row in page.rows["Controllers"][1:]]
            assert {row["cache"]: row["watch"] for row in told["watches"]} == {row[0]: row[1] for row in page.rows["Watches and caches"][1:]}
            link = next(link for link in page.links if link.endswith("vm-1"))
            timeline = shown(browser, root + link)
            assert any("Running" in " ".join(row) for rows in timeline.rows.values() for row in rows), timeline.rows
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
