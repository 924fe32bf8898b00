#!/usr/bin/env python3
"""What a gateway must hold over a base station's line: objects of many nodes byte for byte, on a good line and on
one that loses, flips, delays and splits bytes; nothing lost and nothing twice when either side is killed; and what
it takes. In short as a check; --full as it was promised. With images also over a base station and twenty motes that
run them on emulated chips. Prints what was measured.

    .ci/trials.py target/release/thalweg
    .ci/trials.py target/release/thalweg --full --only kills
    .ci/trials.py target/release/thalweg --emulated firmware/images
"""

import argparse
import hashlib
import os
import random
import shutil
import tempfile
import threading
import time
from http.client import HTTPException

from processes import EMULATED_BYTES, EmulatedStation, Gateway, Harm, Line, Station, Trial, Watchers, check, until


class Bench:
    """A base station, a line and a gateway on it, in a folder of their own."""

    def __init__(self, program, testbed, size, speed, harm=None, images=None):
        self.work = tempfile.mkdtemp(prefix="thalweg-")
        self.testbed, self.harm = testbed, harm or Harm(0)
        if images:
            self.station = EmulatedStation(images, program, self.work)
        else:
            self.station = Station(program, self.work, testbed, size, speed)
        port = os.path.join(self.work, "port")
        self.line = Line(port, self.station.link, self.harm)
        self.data = os.path.join(self.work, "data")
        options = ["--testbed", testbed, "--bytes", str(size), "--port", port]
        self.gateway = Gateway(program, self.data, *options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gateway.kill()
        self.line.stop()
        self.station.kill()
        shutil.rmtree(self.work, ignore_errors=True)

    def ended(self, ids, patience):
        """The jobs `ids`, once all have ended."""

        def all_ended():
            jobs = self.gateway.jobs()
            check(all(id in jobs for id in ids), "every job that was accepted is known")
            return jobs if all(jobs[id]["ended_at"] for id in ids) else None

        jobs = until(all_ended, f"the end of {len(ids)} jobs", patience)
        return [jobs[id] for id in ids]

    def whole(self, jobs):
        """Whether each job brought one object, which is what its node has; how many bytes that is."""
        total = 0
        for job in jobs:
            check(job["state"] == "done", f"job {job['id']} is done: {job['state']}, {job['error']}")
            sent = self.station.object(job["from"])
            content = self.gateway.get(f"/api/objects/{job['object']}/content")
            check(content == sent, f"the object of node {job['from']} is byte for byte what was sent")
            total += len(sent)
        brought = [job["object"] for job in jobs]
        check(len(set(brought)) == len(brought), "no object is that of two jobs")
        stored = self.gateway.json("/api/objects?limit=1000")["objects"]
        check(sorted(o["id"] for o in stored) == sorted(brought), "each object is there once, and no other")
        digests = {job["from"]: hashlib.sha256(self.station.object(job["from"])).hexdigest() for job in jobs}
        files = sorted(os.listdir(os.path.join(self.data, "objects")))
        check(len(files) == len(digests), f"a file for each node's object, and none by half: {files}")
        for name in files:
            with open(os.path.join(self.data, "objects", name), "rb") as file:
                check(hashlib.sha256(file.read()).hexdigest() in digests.values(), f"{name} is whole")
        return total


def every_node(program, full, images=None, harm=None, what="line"):
    """An object of each node, over a line that may do harm."""
    testbed, size, nodes = ("building100", 65_536, 99) if full else ("floor21", 16_384, 5)
    if images:
        testbed, size, nodes = "motes20", EMULATED_BYTES, 19 if full else 5
    with Bench(program, testbed, size, 20, harm, images) as bench:
        begun = time.monotonic()
        sources = bench.station.nodes()
        check(len(sources) >= nodes, f"{testbed} has {nodes} nodes beside its base station: {len(sources)}")
        step = len(sources) // nodes
        ids = bench.gateway.fetch(sources[::step][:nodes])
        jobs = bench.ended(ids, 3_600 if full else 300)
        total, took = bench.whole(jobs), time.monotonic() - begun
        cpu = bench.gateway.cpu_s()
        rates = sorted(job["outcome"]["goodput_kbps"] for job in jobs)
        print(
            f"{what}: {len(jobs)} objects of {size} bytes from {testbed}, {total} bytes, byte for byte, in {took:.0f} s;"
            f" goodput {rates[0]:.0f} to {rates[-1]:.0f} kbit/s, median {rates[len(rates) // 2]:.0f};"
            f" the gateway took {cpu:.1f} s of processor time; {bench.line.events} events;"
            f" {bench.harm.count} bytes lost or flipped",
            flush=True,
        )


def flaky(program, full, images=None):
    """The same over a line that drops, flips, delays and splits."""
    harm = Harm(17, lost=2e-4, flipped=2e-4, late=0.01)
    every_node(program, full, images, harm, "flaky line")
    check(harm.count > 10, f"bytes were lost or flipped: {harm.count}")


def kills(program, full, images=None):
    """The daemon or the base station is killed at random instants, under jobs that are asked for all the while."""
    count, drawn = (50, random.Random(50)) if full else (6, random.Random(6))
    testbed, size = ("motes20", EMULATED_BYTES) if images else ("floor21", 12_000)
    with Bench(program, testbed, size, 20, images=images) as bench:
        sources = bench.station.nodes()
        accepted, stop = [], threading.Event()

        def ask():
            """Asks for one object after the other; what is not answered with 201 was not accepted."""
            turn = 0
            while not stop.is_set():
                waiting = len(accepted) - len(done)
                if waiting < 4:
                    try:
                        accepted.extend(bench.gateway.fetch(sources[turn % len(sources)]))
                        turn += 1
                    except (OSError, HTTPException, ValueError, Trial):
                        # It is dead, or not back yet.
                        pass
                stop.wait(0.1)

        done, lost = set(), {}
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        killed = {"gateway": 0, "station": 0}
        begun = time.monotonic()

        def running():
            jobs = bench.gateway.jobs()
            done.update(id for id, job in jobs.items() if job["ended_at"])
            return next((id for id, job in jobs.items() if job["state"] == "running"), None)

        while sum(killed.values()) < count:
            job = until(running, "a job that runs", 300)
            time.sleep(drawn.uniform(0.0, 3.0))
            victim = drawn.choice(["gateway", "station"])
            # A job that loses its base station four times fails, and says so.
            lost[job] = lost.get(job, 0) + (victim == "station")
            if lost[job] > 2:
                victim = "gateway"
                lost[job] = 0
            killed[victim] += 1
            part = bench.gateway if victim == "gateway" else bench.station
            part.kill()
            time.sleep(drawn.uniform(0.0, 0.3))
            part.begin()
        stop.set()
        asking.join(120)
        jobs = bench.ended(list(accepted), 1_200)
        # One whose answer was lost with the gateway may be there as well.
        unasked = [job for id, job in bench.gateway.jobs().items() if id not in set(accepted)]
        check(len(unasked) <= killed["gateway"], f"jobs that nobody asked for: {len(unasked)}")
        bench.ended([job["id"] for job in unasked], 300)
        everything = [job for job in bench.gateway.jobs().values()]
        total = bench.whole(everything)
        check(len(jobs) >= 2, "jobs were asked for meanwhile")
        print(
            f"kills: the gateway {killed['gateway']} times, the base station {killed['station']} times, under"
            f" {len(everything)} jobs of {testbed}, all done, {total} bytes, one object each, in {time.monotonic() - begun:.0f} s",
            flush=True,
        )


def parts(program, full):
    """A large object comes in parts, and the base station is killed under it, then the gateway."""
    size, testbed = (20_000_000, "building100") if full else (4_500_000, "floor21")
    with Bench(program, testbed, size, 40) as bench:
        begun = time.monotonic()
        ids = bench.gateway.fetch(bench.station.nodes()[-1])
        until(lambda: b"part 2 of" in bench.gateway.get("/api/log"), "the second part", 300)
        bench.station.kill()
        bench.station.begin()
        bench.gateway.kill()
        bench.gateway.begin()
        bench.whole(bench.ended(ids, 900))
        log = bench.gateway.get("/api/log")
        check(log.count(b"part 1 of") == 1, "the first part came once")
        print(
            f"parts: {size} bytes from {testbed}, byte for byte, over a base station that was killed under the second"
            f" part, as was the gateway, in {time.monotonic() - begun:.0f} s; the gateway takes {bench.gateway.resident_mb():.0f} MB",
            flush=True,
        )


def sessions(program, full):
    """A session goes on over kills of either side, and what a node forgot is there."""
    count, drawn = (30, random.Random(30)) if full else (4, random.Random(4))
    with Bench(program, "floor21", 1_000_000, 20) as bench:
        begun, killed = time.monotonic(), {"gateway": 0, "station": 0}
        nodes = bench.station.nodes()[::2]
        job = bench.gateway.session(nodes)

        def packets():
            samples = bench.gateway.json(f"/api/jobs/{job}/rates")["samples"]
            return sum(source["packets"] for source in samples[-1]["sources"]) if samples else 0

        safe, lost = 0, 0
        for _ in range(count):
            before = packets()
            safe = max(until(lambda: packets() if packets() > before + 50 else 0, "packets", 300), safe)
            # A job that loses its base station four times fails, and says so.
            victim = drawn.choice(["gateway", "station"]) if lost < 3 else "gateway"
            lost = lost + 1 if victim == "station" else 0
            killed[victim] += 1
            part = bench.gateway if victim == "gateway" else bench.station
            part.kill()
            time.sleep(drawn.uniform(0.0, 0.3))
            part.begin()
        before = packets()
        until(lambda: packets() > before + 50, "packets after the last kill", 300)
        bench.gateway.ask("DELETE", f"/api/jobs/{job}")
        bench.ended([job], 60)
        total, ends = 0, {}
        for told in reversed(bench.gateway.json("/api/objects?limit=1000")["objects"]):
            piece = bench.gateway.get(f"/api/objects/{told['id']}/content")
            has, end = bench.station.object(told["from"]), ends.get(told["from"], 0)
            at = next((at for at in (end, 0) if has[at : at + len(piece)] == piece), None)
            check(at is not None, f"object {told['id']} is its node's, from its beginning or where the last ended")
            ends[told["from"]] = at + len(piece)
            total += len(piece)
        check(total >= 64 * safe, f"{total} bytes of {safe} packets that were counted")
        print(
            f"sessions: one of {len(nodes)} nodes of floor21, the gateway killed {killed['gateway']} times, the base"
            f" station {killed['station']} times, {total} bytes, in order, without a gap, in {time.monotonic() - begun:.0f} s",
            flush=True,
        )


def load(program, full):
    """What the daemon takes: idle, and with events of nodes, watched by 50 browsers."""
    with Bench(program, "building100", 16_384, 20) as bench:
        gateway = bench.gateway
        watchers = Watchers(gateway, 50)
        until(lambda: gateway.json("/healthz")["status"] == "ok" and gateway.json("/healthz")["line"] == "up", "the line")
        idle_s = 60 if full else 5
        cpu, since = gateway.cpu_s(), time.monotonic()
        time.sleep(idle_s)
        idle = (gateway.cpu_s() - cpu) / (time.monotonic() - since)
        cpu, since, events = gateway.cpu_s(), time.monotonic(), bench.line.events
        ids = gateway.fetch(bench.station.nodes()[: 40 if full else 4])
        jobs = bench.ended(ids, 1_200)
        took = time.monotonic() - since
        spent, events = gateway.cpu_s() - cpu, bench.line.events - events
        bench.whole(jobs)
        last = f'"id":{ids[-1]},'.encode()

        def all_saw():
            return all(seen.find(b'"state":"done"', seen.rfind(last)) > 0 for seen in watchers.seen)

        until(all_saw, "50 browsers see the last job done", 60)
        watchers.stop()
        for seen in watchers.seen:
            for id in ids:
                told = [line for line in seen.split(b"\n") if line.startswith(b"data:") and f'"id":{id},'.encode() in line]
                check(told and b'"state":"done"' in told[-1], f"every browser sees job {id} done")
        resident = gateway.resident_mb()
        print(
            f"load: idle {100 * idle:.2f} % of a core with 50 browsers; {events} events of nodes in {took:.0f} s"
            f" ({events / took:.0f} a second) took {spent:.2f} s of processor time: {events / max(spent, 0.01):.0f} events for"
            f" a second of one core; {resident:.0f} MB; 50 browsers saw all {len(ids)} jobs end",
            flush=True,
        )
        check(resident < 60, f"it takes {resident:.0f} MB")
        check(idle < (0.01 if full else 0.05), f"idle it takes {100 * idle:.1f} % of a core")
        check(events / max(spent, 0.01) >= 200, "a second of one core is enough for 200 events")


# Those that images are tried in come first.
ON_CHIPS = {"line": every_node, "flaky": flaky, "kills": kills}
TRIALS = {**ON_CHIPS, "parts": parts, "sessions": sessions, "load": load}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--full", action="store_true", help="all nodes, all kills; takes many minutes")
    parser.add_argument("--only", choices=TRIALS, help="one of the trials")
    parser.add_argument("--emulated", metavar="IMAGES", help="over emulated chips that run the images in this folder")
    args = parser.parse_args()
    trials = ON_CHIPS if args.emulated else TRIALS
    if args.only and args.only not in trials:
        parser.error(f"--only {args.only} is not tried with images")
    for name, trial in trials.items():
        if args.only in (None, name):
            trial(args.program, args.full, **({"images": args.emulated} if args.emulated else {}))


main()
