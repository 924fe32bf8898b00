#!/usr/bin/env python3
"""A gateway that runs for a year, in short: every six hours an object of each node, over a base station's line. Meanwhile the wall
clock goes on by six hours a round and jumps, the line is cut, either side is killed, the broker is away for days, and the disk
fills once. Nothing is lost, nothing comes twice, memory and database stay within bounds, and pages stay cheap.

    .ci/soak.py target/release/thalweg                    three days
    .ci/soak.py target/release/thalweg --days 365 --simulated                              a year of 20 nodes, without a line: a quarter of an hour
    .ci/soak.py target/release/thalweg --days 365 --simulated --testbed building100        of 99 nodes: nearly three hours of a core
    .ci/soak.py target/release/thalweg --days 365 --simulated --stations 5                 of 100 nodes in five buildings: some 80 minutes of a core
    .ci/soak.py target/release/thalweg --days 365 --simulated --minutes 15                 as far as that goes

Behind a line pauses between transfers last as long as ever, however fast the base station is. So the long forms have the network within
the gateway: nothing there flaps, and what a node sends changes only when the gateway begins again.

Needs mosquitto and its clients, libfaketime for the clock, and root for a small disk; says what it went without.
"""

import argparse
import glob
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

from processes import Broker, Gateway, Station, check, cost, until

ROUNDS_A_DAY = 4
# Bytes of an object, and how many times as fast as real time nodes are.
BYTES, SPEED = 1_500, 1_000
# What a gateway may take, and what its database may have beside surveys: at first, and for each job and each transfer that it keeps.
MOST_GROWTH_MB = 20.0
MOST_DATABASE = 500_000, 3_000
MOST_PAGE_S = 0.050
# Kills of the gateway in a year, by chance: memory is compared within one process, and some of them last for weeks.
KILLS_A_YEAR = 210
# What the configuration keeps, in days.
KEEP_DAYS, HISTORY_DAYS = 2, 2
DISK_MB = 96


class Clock:
    """The wall clock of a program, as libfaketime shows it: so many seconds ahead."""

    def __init__(self, folder):
        here = [path for path in os.environ.get("LIBFAKETIME", "").split(":") if path]
        found = here or glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        self.file, self.ahead = os.path.join(folder, "ahead"), 0
        self.library = found[0] if found else None
        self.set(0)

    def set(self, seconds):
        self.ahead = seconds
        # The file is read at any time: it is there whole.
        with open(self.file + ".new", "w") as file:
            file.write(f"{seconds:+d}\n")
        os.replace(self.file + ".new", self.file)

    def environment(self):
        if not self.library:
            return dict(os.environ)
        return dict(
            os.environ,
            LD_PRELOAD=self.library,
            FAKETIME_TIMESTAMP_FILE=self.file,
            FAKETIME_NO_CACHE="1",
            FAKETIME_DONT_FAKE_MONOTONIC="1",
            DONT_FAKE_MONOTONIC="1",
        )


class Told(Broker):
    """A broker with a subscriber that never ends and writes down what it is told."""

    def __init__(self, folder):
        super().__init__(folder)
        self.told_in = os.path.join(folder, "told")
        command = ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(self.port), "-i", "reader", "-c", "-q", "1", "-F", "%p"]
        self.told_file = open(self.told_in, "w")
        self.reader = subprocess.Popen([*command, "-t", "thalweg/+/objects/#"], stdout=self.told_file, stderr=subprocess.DEVNULL)

    def end(self):
        self.reader.kill()
        self.reader.wait()
        self.stop()

    def told(self):
        """How often each object was told."""
        found = {}
        with open(self.told_in) as lines:
            for line in lines:
                if line.endswith("}\n"):
                    id = json.loads(line)["id"]
                    found[id] = found.get(id, 0) + 1
        return found


class Soaked(Gateway):
    """A gateway whose clock somebody else sets."""

    def __init__(self, clock, *arguments):
        self.clock = clock
        super().__init__(*arguments)

    def begin(self):
        before = dict(os.environ)
        os.environ.update(self.clock.environment())
        try:
            super().begin()
        finally:
            os.environ.clear()
            os.environ.update(before)


class Soak:
    def __init__(self, arguments):
        self.random = random.Random(arguments.seed)
        self.rounds = arguments.days * ROUNDS_A_DAY
        # Of the gateway, in a round after the first ones.
        self.kill_rate = arguments.kills_a_year / (365 * ROUNDS_A_DAY)
        self.testbed, self.program, self.is_simulated = arguments.testbed, arguments.program, arguments.simulated
        self.protocol = arguments.protocol
        # Names of base stations; of one alone, which has none, nothing is said.
        self.stations = [f"station{nth}" for nth in range(arguments.stations)] if arguments.stations > 1 else [None]
        # What each simulated node sends, by its digest.
        self.sent = {}
        self.work = tempfile.mkdtemp(prefix="thalweg-soak-")
        self.clock = Clock(self.work)
        self.disk = os.path.join(self.work, "disk")
        os.mkdir(self.disk)
        self.is_small = os.geteuid() == 0 and not subprocess.call(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", self.disk], stderr=subprocess.DEVNULL
        )
        self.broker = self.station = self.gateway = None
        self.data = os.path.join(self.disk, "data")
        # Of this process: megabytes after its first rounds, and the most since.
        self.memory, self.growth, self.kills, self.spent_before = [], 0.0, 0, 0.0
        # The most rounds of one process, after which nodes within the gateway send something else.
        self.longest = 0
        self.objects = {}
        self.says, self.begun = arguments.verbose, time.monotonic()
        self.end = self.begun + 60 * arguments.minutes if arguments.minutes else None
        # Clients that ask for news and never read them.
        self.deaf = []

    def begin(self):
        self.broker = Told(os.path.join(self.work, "broker")) if shutil.which("mosquitto") else None
        self.station = None if self.is_simulated else Station(self.program, self.work, self.testbed, BYTES, SPEED)
        self.config = os.path.join(self.work, "gateway.toml")
        self.configure(BYTES)
        self.gateway = Soaked(self.clock, self.program, self.data, "--config", self.config)

    def configure(self, size):
        """Nodes within the gateway send so many bytes from its next start on."""
        network = f'port = "{self.station.link}"' if self.station else f"speed = {SPEED}.0\nbytes = {size}"
        network = f'testbed = "{self.testbed}"\n{network}\n'
        heads = [f'[[station]]\nname = "{name}"\nbuilding = "{name}"\n' if name else "[network]\n" for name in self.stations]
        with open(self.config, "w") as file:
            file.write(
                f"[store]\nkeep_days = {KEEP_DAYS}\nhistory_days = {HISTORY_DAYS}\nreserve_bytes = 16000000\n"
                f'[transfers]\nprotocol = "{self.protocol}"\n' + "".join(head + network for head in heads)
            )
            if self.broker:
                file.write(f'[mqtt]\nhost = "127.0.0.1"\nport = {self.broker.port}\n')

    def close(self):
        if self.gateway:
            self.gateway.kill()
        if self.station:
            self.station.kill()
        if self.broker:
            self.broker.end()
        if self.is_small:
            subprocess.call(["umount", "-l", self.disk])
        shutil.rmtree(self.work, ignore_errors=True)

    def spent(self):
        """Processor time of all gateways so far, in seconds."""
        return self.spent_before + self.gateway.cpu_s()

    # What happens meanwhile.

    def kill_gateway(self):
        self.spent_before = self.spent()
        self.gateway.kill()
        self.memory, self.sent = [], None
        self.kills += 1
        # By enough that pictures, too, are others.
        self.configure(BYTES + 200 * self.kills)
        self.gateway.begin()

    def kill_station(self):
        if not self.station:
            return
        self.station.kill()
        self.kills += 1
        self.station.begin()

    def flap(self):
        """The line goes away and comes back, at once."""
        for _ in range(2):
            self.kill_station()

    def fill(self):
        """No room for half a second; then it is as it was."""
        filler = os.path.join(self.disk, "filler")
        with open(filler, "wb") as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
                    file.flush()
            except OSError:
                pass
        try:
            until(self.is_full, "a full disk is told")
            check(self.gateway.ask("POST", "/api/jobs", self.wish("survey", self.stations[0]))[0] == 507, "no job is taken on a full disk")
        finally:
            os.remove(filler)

    def listen_and_hear_nothing(self):
        """Eight clients watch the news and read none; those of ten rounds ago leave."""
        for stream in self.deaf:
            stream.close()
        self.deaf = [socket.create_connection(("127.0.0.1", self.gateway.port)) for _ in range(8)]
        for stream in self.deaf:
            stream.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")

    def cancel_twice_asked(self):
        """A second group behind the first is cancelled as a whole."""
        status, answer = self.gateway.ask("POST", "/api/jobs", self.wish("fetch", self.stations[0], priority=-9))
        check(status in (201, 429), f"another group waits or does not fit: {status} {answer[:200]}")
        if status == 201:
            group = json.loads(answer)["group"]
            check(self.gateway.ask("DELETE", f"/api/groups/{group}")[0] == 200, "it is cancelled")
            states = self.gateway.json(f"/api/groups/{group}")["states"]
            check(not states["queued"] + states["done"], f"nothing of it is left: {states}")

    def is_full(self):
        health = self.gateway.json("/healthz")
        return health["store"]["free_bytes"] < health["store"]["reserve_bytes"] and health["status"] == "degraded"

    def disturb(self, nth):
        """What happens in round `nth`, by its number and by chance."""
        for _ in range(nth % 5 == 2 if nth < 20 else int(self.kill_rate + self.random.random())):
            time.sleep(self.random.uniform(0.1, 1.5))
            self.kill_gateway()
        if nth % 7 == 3:
            time.sleep(self.random.uniform(0.1, 1.5))
            self.flap()
        if self.is_small and nth == 5:
            time.sleep(0.5)
            self.fill()
        if self.broker and nth % 40 == 4:
            self.broker.stop()
        if self.broker and nth % 40 == 11:
            self.broker.begin()
        if nth % 10 == 1:
            self.listen_and_hear_nothing()
        if nth % 13 == 9:
            self.cancel_twice_asked()

    # A round.

    def round(self, nth):
        jump = {6: 400 * 86_400, 8: -86_400}.get(nth, 0)
        self.clock.set(nth * 86_400 // ROUNDS_A_DAY + jump)
        if self.station:
            # Other objects each time, by their length.
            self.station.command[self.station.command.index("--bytes") + 1] = str(BYTES + nth)
        self.kill_station()
        groups = [self.fetch_all(station) for station in self.stations]
        self.disturb(nth)
        jobs = [job for group, size in groups for job in self.ended(nth, group, size)]
        for job in jobs:
            check(job["object"] not in self.objects, f"object {job['object']} is of one job")
            told = self.patient(f"/api/objects/{job['object']}")["sha256"]
            sent = self.station and hashlib.sha256(self.station.object(job["from"])).hexdigest()
            # In the round of a kill nodes within the gateway send this or that.
            sent = sent or (told if self.sent is None else self.sent.setdefault((job["station"], job["from"]), told))
            check(told == sent, f"the object of node {job['from']} is what was sent")
            self.objects[job["object"]] = nth
        self.sent = self.sent or {}
        some = self.random.choice(jobs)["object"]
        content = hashlib.sha256(self.gateway.get(f"/api/objects/{some}/content")).hexdigest()
        check(content == self.patient(f"/api/objects/{some}")["sha256"], f"object {some} has its digest")
        self.measure()
        if self.says:
            print(f"round {nth}: {time.monotonic() - self.begun:.0f} s, {self.memory[-1]:.1f} MB", file=sys.stderr, flush=True)

    def wish(self, kind, station, **more):
        """A job of a station; `fetch` is of all nodes."""
        of = {"station": station} if station else {}
        return {"kind": kind, **({"from": "all"} if kind == "fetch" else {}), **of, **more}

    def fetch_all(self, station):
        """The group that fetches from all nodes of a station, and how many they are."""
        status, answer = self.ask_until_taken(self.wish("fetch", station))
        check(status == 201, f"a fetch of all is taken: {status} {answer}")
        asked = json.loads(answer)
        return asked["group"], len(asked["jobs"])

    def ended(self, nth, group, size):
        """The jobs of a group, once all have ended."""

        def counted():
            states = self.patient(f"/api/groups/{group}")["states"]
            return states if not states["queued"] + states["running"] else None

        states = until(counted, f"the end of round {nth}", 600)
        jobs = self.patient(f"/api/jobs?group={group}")["jobs"]
        failed = [(job["from"], job["error"]) for job in jobs if job["state"] != "done"]
        check(states["done"] == size, f"round {nth}: all are done: {states} {failed[:3]}")
        return jobs

    def ask_until_taken(self, wish):
        """A full disk may have been noticed a moment ago."""
        return until(lambda: self.taken(wish), "a job is taken")

    def taken(self, wish):
        status, answer = self.gateway.ask("POST", "/api/jobs", wish)
        return None if status == 507 else (status, answer)

    def patient(self, path):
        return self.gateway.json(path)

    def measure(self):
        self.memory.append(self.gateway.resident_mb())
        self.longest = max(self.longest, len(self.memory))
        if len(self.memory) > 2:
            self.growth = max(self.growth, self.memory[-1] - self.memory[1])
        check(self.growth <= MOST_GROWTH_MB, f"memory stays within {MOST_GROWTH_MB} MB: {self.memory}")

    # At the end.

    def pages(self):
        """The processor time of each page and probe, in seconds."""
        last = max(self.objects)
        of = f"?station={self.stations[0]}" if self.stations[0] else ""
        node = self.nodes(self.stations[0])[-1]["id"]
        paths = ["/", "/transfers", "/objects", "/log", f"/nodes/{node}{of}", f"/objects/{last}"]
        paths += ["/healthz", "/metrics", f"/api/nodes{of}", "/api/jobs", "/api/objects"]
        spent = {path: cost(self.gateway, path) for path in paths}
        worst = max(spent, key=spent.get)
        check(spent[worst] <= MOST_PAGE_S, f"{worst} takes {spent[worst] * 1000:.0f} ms of processor time")
        return worst, spent[worst]

    def nodes(self, station):
        return self.gateway.json("/api/nodes" + (f"?station={station}" if station else ""))["nodes"]

    def database(self):
        """Bytes of the database in use, how many jobs and transfers it has, and bytes of its surveys."""
        path = os.path.join(self.data, "thalweg.db")
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            pages, free, size = (db.execute(f"PRAGMA {of}").fetchone()[0] for of in ("page_count", "freelist_count", "page_size"))
            # What was deleted leaves room for what comes.
            used = (pages - free) * size
            rows = sum(db.execute(f"SELECT count(*) FROM {of}").fetchone()[0] for of in ("jobs", "transfers"))
            surveys = db.execute("SELECT sum(length(links)) FROM surveys").fetchone()[0]
            counted = dict(db.execute("SELECT name, value FROM totals"))
            objects = db.execute("SELECT count(*), sum(bytes) FROM transfers WHERE object IS NOT NULL").fetchone()
            check((counted["objects"], counted["bytes"]) == objects, f"what is counted is there: {counted} {objects}")
            check(db.execute("PRAGMA integrity_check").fetchone()[0] == "ok", "the database is whole")
        base, each = MOST_DATABASE
        # Pages have room left.
        most = base + each * rows + surveys * 5 // 4
        check(used <= most, f"the database has at most {most} bytes for {rows} jobs and transfers: {used}")
        return used, rows, surveys

    def stored(self):
        """Nothing is lost and nothing there twice, of what the configuration keeps."""
        all, files, before = [], set(), ""
        while True:
            part = self.gateway.json(f"/api/objects?limit=1000{before}")["objects"]
            if not part:
                break
            all += [told["id"] for told in part]
            files |= {(told["network"], told["from"], told["sha256"]) for told in part}
            before = f"&before={all[-1]}"
        check(set(all) <= set(self.objects), "no object came without a job of ours")
        # The day to which the clock jumped counts as one.
        days = KEEP_DAYS - 1
        youngest = {id for id, nth in self.objects.items() if nth >= self.rounds - days * ROUNDS_A_DAY}
        check(youngest <= set(all), f"objects of the last {days} days are there: {len(youngest - set(all))} are not")
        # What is sent again is as young as its last time.
        again = 0 if self.station else self.longest
        most = min((KEEP_DAYS + 2) * ROUNDS_A_DAY + again, self.rounds - 1 + again) * sum(len(self.nodes(name)) - 1 for name in self.stations)
        check(self.rounds <= KEEP_DAYS * ROUNDS_A_DAY or len(all) <= most, f"what is older is gone: {len(all)} objects, at most {most}")
        there = len(os.listdir(os.path.join(self.data, "objects")))
        check(there == len(files), f"a file for each object: {there} and {len(files)}")
        return len(all)

    def told(self):
        if not self.broker:
            return "no broker here"
        until(lambda: self.gateway.json("/healthz")["mqtt"] == {"broker": "connected", "waiting": 0}, "all is told")
        until(lambda: len(self.broker.told()) >= len(self.objects), "the reader has been told all")
        told = self.broker.told()
        check(set(told) == set(self.objects), "what was told is what came")
        return f"{sum(told.values())} told for {len(told)}"

    def run(self):
        for nth in range(self.rounds):
            if self.end and time.monotonic() > self.end:
                self.rounds = nth
                break
            self.round(nth)
        if self.broker and self.broker.process.poll() is not None:
            self.broker.begin()
        told, kept = self.told(), self.stored()
        worst, spent = self.pages()
        size, rows, surveys = self.database()
        print(
            f"soak: {self.rounds} rounds, {self.rounds / ROUNDS_A_DAY:.1f} days, in {time.monotonic() - self.begun:.0f} s, {len(self.objects)} objects, {kept} kept, {told}; "
            f"{self.kills} kills, at most {self.longest} rounds apart; {self.spent():.0f} s of processor time; memory +{self.growth:.1f} MB of {self.memory[-1]:.0f}; database {size / 1e6:.1f} MB for {rows} jobs and transfers and {surveys / 1e6:.1f} MB of surveys; "
            f"{worst} takes {spent * 1000:.1f} ms"
        )
        for there, what in ((self.clock.library, "libfaketime"), (self.is_small, "a small disk"), (self.broker, "mosquitto")):
            if not there:
                print(f"soak: went without {what}")


def main():
    of = argparse.ArgumentParser()
    of.add_argument("program")
    of.add_argument("--days", type=int, default=3)
    of.add_argument("--minutes", type=float, help="end after the round in which they are over")
    of.add_argument("--kills-a-year", type=float, default=KILLS_A_YEAR, help="of the gateway; beyond 1460 several in a round")
    of.add_argument("--seed", type=int, default=1)
    of.add_argument("--verbose", action="store_true")
    of.add_argument("--testbed", default="floor21")
    of.add_argument("--stations", type=int, default=1, help="so many base stations in one gateway, each with a simulated network of its own")
    of.add_argument("--protocol", default="thalweg", help="p3-best plans in half of the time")
    of.add_argument("--simulated", action="store_true", help="the network within the gateway, instead of a line")
    arguments = of.parse_args()
    # An end from outside is an end, too: what was begun goes with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    soak = Soak(arguments)
    try:
        soak.begin()
        soak.run()
    except BaseException:
        path = os.path.join(soak.data, "thalweg.db")
        try:
            print(soak.gateway.get("/healthz").decode(), file=sys.stderr)
            for line in soak.gateway.json("/api/log?limit=15")["lines"]:
                print("log:", line["at"], line["times"], line["text"], file=sys.stderr)
        except Exception as why:
            print(f"no log: {why} ({path})", file=sys.stderr)
        raise
    finally:
        soak.close()


main()
