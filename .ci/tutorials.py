#!/usr/bin/env python3
"""The tutorials of the site, as a reader would go through them: each `sh` block runs, and a `text` block's lines are in what the block before printed.

    .ci/tutorials.py target/release/thalweg [PAGE]...
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["first-network", "first-experiment", "first-mote"]
# Seconds that one block may take.
LIMIT = 600
GATEWAY = "http://127.0.0.1:8654/healthz"


def blocks(page):
    """Language and text of each block of `page`."""
    return re.findall(r"^```(sh|text)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)


def begin(command, folder, env):
    """Starts the gateway, and waits until it answers."""
    started = subprocess.Popen(["bash", "-c", "exec " + command], cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        time.sleep(0.1)
        try:
            urllib.request.urlopen(GATEWAY, timeout=5).close()
            return started
        except OSError:
            assert started.poll() is None, f"{command} ended"
    raise AssertionError(f"{command}: nothing answers at {GATEWAY}")


def walk(name, thalweg):
    page = (ROOT / "docs/site" / f"{name}.md").read_text()
    env = os.environ | {"PATH": f"{thalweg.parent}:{os.environ['PATH']}"}
    printed, started = "", []
    with tempfile.TemporaryDirectory() as folder:
        # A reader begins in a checkout, and leaves nothing in ours.
        shutil.copytree(ROOT / "docs/examples", Path(folder) / "docs/examples")
        try:
            for language, text in blocks(page):
                if language == "text":
                    # Lines that are left out are `...`.
                    missing = [line for line in text.splitlines() if line not in printed and line != "..."]
                    assert not missing, f"{name}: not printed: {missing}, but\n{printed}"
                elif text.startswith("thalweg gateway"):
                    started.append(begin(text.strip(), folder, env))
                else:
                    where = ROOT if text.startswith("cargo") else folder
                    run = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=where, env=env, capture_output=True, text=True, timeout=LIMIT)
                    assert run.returncode == 0, f"{name}: exit {run.returncode} of\n{text}\n{run.stdout}\n{run.stderr}"
                    printed = run.stdout
        finally:
            for process in started:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=30)


def main():
    thalweg = Path(sys.argv[1]).resolve()
    for name in sys.argv[2:] or PAGES:
        begun = time.monotonic()
        walk(name, thalweg)
        print(f"{name}: {time.monotonic() - begun:.0f} s")


main()
