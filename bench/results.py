#!/usr/bin/env python3
"""Writes the tables of docs/results.md of what is judged and what is missed, from measured results.

    thalweg reproduce --json > full.json      bench/results.py full.json      [--print]

What stands between `<!-- judged -->` and `<!-- /judged -->` is replaced: how many results lie in their bands, each kind of judgement apart,
and every result that does not, with the paper's value and the band.
"""

import argparse
import json
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
BEGIN, END = "<!-- judged -->", "<!-- /judged -->"
KINDS = ["paper", "own", "fitted"]


def short(x):
    if x is None:
        return ""
    if 0 < abs(x) < 0.001:
        return f"{x:.3g}"
    digits = 1 if abs(x) >= 100 else 2 if abs(x) >= 10 else 3
    return f"{x:.{digits}f}".rstrip("0").rstrip(".")


def span(band):
    low, high = band
    if low is None or high is None:
        return f"at least {short(low)}" if high is None else f"at most {short(high)}"
    return short(low) if low == high else f"{short(low)} to {short(high)}"


def label(result):
    at = ", ".join(f"{column} {value}" for column, value in result["at"].items())
    return f"{result['metric']} ({at})" if at else result["metric"]


def tables(results):
    judged = [r for r in results if r["within"] is not None]
    seeds = {}
    for result in judged:
        seeds[result["paper"]] = max(seeds.get(result["paper"], 0), result["n"])
    text = "| paper | most seeds | judged by the paper | by requirements of our own | fitted |\n|---|---|---|---|---|\n"
    for paper, most in seeds.items():
        cells = []
        for kind in KINDS:
            of_it = [r["within"] for r in judged if r["paper"] == paper and r["judged"] == kind]
            cells.append(f"{sum(of_it)} of {len(of_it)}" if of_it else "")
        text += f"| `{paper}` | {most} | {' | '.join(cells)} |\n"
    text += "\nOutside their bands:\n\n| result | | ours | paper | band |\n|---|---|---|---|---|\n"
    for r in judged:
        if not r["within"]:
            kind = {"paper": "", "own": " [own]", "fitted": " [F]"}[r["judged"]]
            unit = f" {r['unit']}" if r["unit"] else ""
            ours, paper = short(r["value"]) + unit, short(r["reference"])
            text += f"| `{r['id']}`{kind} | {label(r)} | {ours} | {paper} | {span(r['band'])} |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="print the tables, and leave the page as it is")
    parser.add_argument("results", nargs="+", type=Path)
    args = parser.parse_args()
    text = tables([json.loads(line) for file in args.results for line in file.read_text().splitlines()])
    if args.print:
        print(text, end="")
        return
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}{rest[rest.index(END):]}")


if __name__ == "__main__":
    main()
