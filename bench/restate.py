#!/usr/bin/env python3
"""Writes the values that exceptions excuse anew, from measured results.

    thalweg reproduce --json > full.json               bench/restate.py full.json
    thalweg reproduce --quick --json > quick.json      bench/restate.py --quick quick.json

Only windows that are there are changed, in papers/*.toml, and only of results outside their bands. Each is printed with its
reason, which whoever runs this has to read again: a reason that no longer holds excuses nothing. Exceptions of results
that are back in their bands are named, to be taken out by hand. What has no exception yet, `reproduce` prints.
"""

import argparse
import json
import math
import re
import tomllib
from pathlib import Path

PAPERS = Path(__file__).parent.parent / "papers"


def window(result):
    """As `Window::around` in crates/lab/src/results/verdict.rs."""
    value = result["value"]
    low, high = result["ci95"] or (value, value)
    within = max((high - low) / 2, 0.05 * abs(value))
    if within > 0:
        unit = 10 ** (math.floor(math.log10(within)) - 1)
        within = float(f"{math.ceil(round(within / unit, 6)) * unit:.2g}")
    return f"value = {float(f'{value:.3g}')!r}, within = {within!r}"


def place(claim):
    return claim["id"], claim["metric"], json.dumps(claim.get("at", {}), sort_keys=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the results are those of `reproduce --quick`")
    parser.add_argument("results", nargs="+", type=Path)
    args = parser.parse_args()
    lines = [line for file in args.results for line in file.read_text().splitlines()]
    results = {place(result): result for result in map(json.loads, lines)}
    numbers = r"value = [^,]+, within = [^, }]+"
    pattern = re.compile(rf"(quick = \{{ ){numbers}" if args.quick else rf"(exception = \{{ ){numbers}")
    for file in sorted(PAPERS.glob("*.toml")):
        head, *blocks = re.split(r"(?m)^(?=\[\[claim\]\])", file.read_text())
        for at, block in enumerate(blocks):
            claim = tomllib.loads(block)["claim"][0]
            result = results.get(place(claim))
            if not pattern.search(block) or result is None:
                continue
            label = " ".join(place(claim))
            if result["within"]:
                print(f"{label}: within its band again")
                continue
            blocks[at], count = pattern.subn(lambda found: found.group(1) + window(result), block, count=1)
            if count and blocks[at] != block:
                print(f"{label}: {window(result)}\n    {' '.join(claim['exception']['why'].split())}")
        file.write_text(head + "".join(blocks))


if __name__ == "__main__":
    main()
