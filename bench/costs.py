#!/usr/bin/env python3
"""Measures what experiments cost, and writes it into their files as `cpu_s`: processor time of one seed on one core.

    cargo build --release
    bench/costs.py [--program FILE] [ID ...]     [default: all, some ten minutes]

The machine that the committed numbers are of is named in experiments/README.md.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def processor_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(program, name):
    """Processor time of the experiment called `name` with seed 1."""
    before = processor_s()
    command = [program, "run", name, "--seeds", "1", "--jobs", "1", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return processor_s() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/thalweg")
    parser.add_argument("ids", nargs="*")
    args = parser.parse_args()
    program = args.program.resolve()
    known = json.loads(subprocess.check_output([program, "experiment", "list", "--json"]))
    files = {}
    for path in (ROOT / "experiments").glob("*/*.toml"):
        files[re.search(r'^id = "(.*)"', path.read_text(), re.M)[1]] = path
    wanted = args.ids or [entry["id"] for entry in known]
    unknown = [name for name in wanted if name not in files]
    if unknown:
        sys.exit(f"no experiment is called {unknown[0]}")
    for name in wanted:
        cost = f"cpu_s = {float(f'{measured(program, name):.2g}')}\n"
        text = files[name].read_text()
        text = re.sub(r"^cpu_s = .*\n", "", text, flags=re.M)
        files[name].write_text(re.sub(r"^(title = .*\n)", lambda title: title[1] + cost, text, count=1, flags=re.M))
        print(name, cost, end="", flush=True)


if __name__ == "__main__":
    main()
