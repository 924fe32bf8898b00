#!/usr/bin/env python3
"""What a sweep must hold: killed at random moments it loses and doubles nothing; three shards and three processes on one
folder make what one process makes; another build takes nothing; a hundred thousand runs in two hundred parts are done in two
minutes on two cores, and done again in the time of a listing. Prints what was measured. Needs Python alone.

    .ci/sweep.py target/release/thalweg
"""

import csv
import hashlib
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from processes import check

SEED = 51
# The cheapest experiment: closed forms. So many points are a part of five seconds.
EXPERIMENT = """
id = "cheap"
title = "Bounds"
cpu_s = {cost}
[run]
kind = "forwarding"
testbed = "ring12"
board = "ideal"
hops = [1]
channels = ["one"]
forwarding = ["conditional"]
measure = "bounds"
"""
HOPS = ",".join(str(n) for n in range(1, 6))
PAYLOADS = ",".join(str(n) for n in range(1, 101))


def digest(folder):
    """Of all files in `folder`, names and bytes; but for a manifest that a kill broke off, which stays a day."""
    of = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        if name.startswith("manifest.json.") and name.endswith(".part"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            of.update(f"{name} {hashlib.sha256(file.read()).hexdigest()}\n".encode())
    return of.hexdigest()


def runs(folder):
    """Point and seed of every run in `folder`, once for each part that has it."""
    found = []
    for name in os.listdir(folder):
        if name.endswith(".csv"):
            with open(os.path.join(folder, name), newline="") as file:
                found += {(row["point"], row["seed"]) for row in csv.DictReader(file)}
    return found


def timed(command, **how):
    """Wall clock and processor time of `command`, which must succeed."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **how)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sweep(program, experiment, seeds, out, *options):
    over = ["--over", f"run.payload={PAYLOADS}", "--over", f"run.hops={HOPS}"]
    return [program, "sweep", experiment, *over, "--seeds", seeds, "--out", out, "-q", *options]


def kills(program, work):
    """Ten kills, each at a random moment of what a run took that nobody killed."""
    experiment = os.path.join(work, "short.toml")
    with open(experiment, "w") as file:
        file.write(EXPERIMENT.format(cost=0.1))
    whole, killed = os.path.join(work, "whole"), os.path.join(work, "killed")
    seeds = "1..20"
    wall, _ = timed(sweep(program, experiment, seeds, whole))
    chance, left = random.Random(SEED), []
    for _ in range(10):
        process = subprocess.Popen(sweep(program, experiment, seeds, killed), stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.0, wall / 5))
        process.kill()
        process.wait()
        names = os.listdir(killed) if os.path.isdir(killed) else []
        left.append(sum(name.endswith(".csv") for name in names))
    check(left[-1] < 200, f"a part was missing after the last kill: {left}")
    timed(sweep(program, experiment, seeds, killed))
    check(digest(killed) == digest(whole), "after ten kills all files are those of one run")
    found = runs(killed)
    check(len(found) == len(set(found)) == 500 * 20, f"{len(found)} runs, none twice")
    print(f"killed ten times (seed {SEED}), with so many of 200 parts there each time: {left}; then as in one go")
    return experiment, seeds, whole


def together(program, work, experiment, seeds, whole):
    for name, options in ("shards", ["--shard"]), ("processes", []):
        out = os.path.join(work, name)
        each = [[*options, f"{n}/3"] if options else [] for n in (1, 2, 3)]
        all_of_them = [subprocess.Popen(sweep(program, experiment, seeds, out, "--jobs", "1", *more), stdout=subprocess.DEVNULL)
                       for more in each]
        check(all(process.wait() == 0 for process in all_of_them), f"three {name} at once end well")
        check(digest(out) == digest(whole), f"three {name} at once make what one process makes")
    print("three shards and three processes at once make the same files")


def other_build(program, work, experiment, seeds, whole):
    other = os.path.join(work, "other-build")
    shutil.copy(program, other)
    with open(other, "ab") as file:
        file.write(b"\0")
    before = digest(whole)
    done = subprocess.run(sweep(other, experiment, seeds, whole), capture_output=True, text=True)
    check(done.returncode == 2 and "another build" in done.stderr, f"another build is refused: {done.stderr}")
    check(digest(whole) == before, "another build changes nothing")


def many(program, work):
    experiment, out = os.path.join(work, "many.toml"), os.path.join(work, "many")
    with open(experiment, "w") as file:
        file.write(EXPERIMENT.format(cost=0.01))
    wall, processor = timed(sweep(program, experiment, "1..200", out))
    parts = [name for name in os.listdir(out) if name.endswith(".csv")]
    check(len(parts) == 200, f"{len(parts)} parts, 200 wanted")
    again, processor_again = timed(sweep(program, experiment, "1..200", out))
    size = sum(os.path.getsize(os.path.join(out, name)) for name in parts) / 1e6
    print(f"100,000 runs in 200 parts: {wall:.1f} s, {processor:.1f} s of processor; {size:.0f} MB")
    print(f"again: {again:.2f} s, {processor_again:.2f} s of processor")
    check(wall < 120, "two minutes are enough")
    check(processor_again < processor / 20, "a second run costs a listing")


def main():
    program = os.path.abspath(sys.argv[1])
    work = tempfile.mkdtemp(prefix="thalweg-sweep-")
    try:
        short = kills(program, work)
        together(program, work, *short)
        other_build(program, work, *short)
        many(program, work)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
