#!/usr/bin/env python3
"""Compares the latest `cargo bench` with bench/baseline.json, as ratios of medians.

    cargo bench -p thalweg-sim --bench air
    cargo bench -p thalweg-simnet --bench transfer
    cargo bench -p thalweg-protocols --features std --bench sink
    bench/compare.py [--target-dir DIR] [--limit RATIO] [--write]

With --limit, exit status 1 where a benchmark takes longer than RATIO times its baseline.
With --write, the baseline is written anew from the latest run instead.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

BASELINE = Path(__file__).with_name("baseline.json")


def latest(target):
    """What criterion left of the latest run: id -> (median in ns, elements)."""
    found = {}
    for path in sorted(target.glob("criterion/**/new/estimates.json")):
        about = json.loads(path.with_name("benchmark.json").read_text())
        median = json.loads(path.read_text())["median"]["point_estimate"]
        elements = (about.get("throughput") or {}).get("Elements", 1)
        found[about["full_id"]] = (median, elements)
    return found


def machine():
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "rustc": rustc.stdout.split(" (")[0].strip(),
    }


def write(found):
    benchmarks = {
        name: {
            "median_ms": round(median / 1e6, 4),
            "elements": elements,
            "per_second": round(elements * 1e9 / median),
        }
        for name, (median, elements) in found.items()
    }
    baseline = {"clock": "processor time", "machine": machine(), "benchmarks": benchmarks}
    BASELINE.write_text(json.dumps(baseline, indent=2) + "\n")
    print(f"{BASELINE}: {len(benchmarks)} benchmarks")


def compare(found, limit):
    baseline = json.loads(BASELINE.read_text())
    print("baseline:", ", ".join(str(value) for value in baseline["machine"].values()))
    print("here:    ", ", ".join(str(value) for value in machine().values()))
    print(f"{'benchmark':32} {'baseline ms':>12} {'now ms':>12} {'ratio':>7} {'per second':>12}")
    over = []
    for name, then in baseline["benchmarks"].items():
        if name not in found:
            print(f"{name:32} {then['median_ms']:12.4g} {'not run':>12}")
            continue
        median, elements = found[name]
        ratio = median / 1e6 / then["median_ms"]
        # Another amount of simulated traffic is another benchmark: it wants a new baseline.
        other = "" if elements == then["elements"] else "  (other traffic than the baseline's)"
        # Measured later than the others, elsewhere.
        if "machine" in then:
            other += f"  (baseline on {then['machine']})"
        rate = elements * 1e9 / median
        print(f"{name:32} {then['median_ms']:12.4g} {median / 1e6:12.4g} {ratio:7.2f} {rate:12.4g}{other}")
        if limit and ratio > limit:
            over.append(name)
    for name in found.keys() - baseline["benchmarks"].keys():
        print(f"{name:32} {'no baseline':>12} {found[name][0] / 1e6:12.4g}")
    if over:
        sys.exit(f"slower than {limit} times the baseline: {', '.join(over)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    target = os.environ.get("CARGO_TARGET_DIR", Path(__file__).parent.parent / "target")
    parser.add_argument("--target-dir", type=Path, default=Path(target))
    parser.add_argument("--limit", type=float, metavar="RATIO")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    found = latest(args.target_dir)
    if not found:
        sys.exit(f"{args.target_dir}/criterion: no benchmark has run; try cargo bench first")
    write(found) if args.write else compare(found, args.limit)


if __name__ == "__main__":
    main()
