#!/usr/bin/env python3
"""Holds what a subscriber of a real mosquitto is told against what the gateway's store has, over ends of either:
a broker that is away while objects come, one that hangs with a message in hand and dies, a daemon that is killed
with rows that wait and in the middle of transfers. Needs mosquitto, its clients, and Python.

    .ci/mqtt.py target/release/thalweg
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from processes import Broker

PATIENCE = 100.0
NETWORK = "floor/+#21"
PREFIX = "site/thalweg"
TOPIC = PREFIX + "/floor%2f%2b%2321"


def check(holds, what):
    if not holds:
        raise SystemExit(f"mqtt: {what}")


def until(holds, what):
    """`what` is what is missing, or tells it."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() >= end:
            check(False, f"{what() if callable(what) else what}: not seen")
        time.sleep(0.05)


class Subscriber:
    """What a program is told that asked for everything below the network's topic."""

    def __init__(self, broker, folder):
        self.broker, self.folder, self.parts = broker, folder, 0
        self.begin()

    def begin(self):
        self.parts += 1
        self.file = open(os.path.join(self.folder, f"told{self.parts}"), "w")
        command = ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(self.broker.port), "-u", "reader"]
        command += ["-P", "secret of reader", "-i", "reader", "-c", "-q", "1", "-F", "%r %t %p"]
        command += ["-t", f"{PREFIX}/#", "-t", "homeassistant/#"]
        self.process = subprocess.Popen(command, stdout=self.file, stderr=subprocess.DEVNULL)

    def end(self):
        self.process.kill()
        self.process.wait()

    def told(self, topic):
        """Payloads below `topic`, in their order."""
        found = []
        for part in range(1, self.parts + 1):
            with open(os.path.join(self.folder, f"told{part}")) as lines:
                for line in lines.read().split("\n")[:-1]:
                    _, of, payload = line.split(" ", 2)
                    if of.startswith(topic):
                        found.append((of, payload))
        return found

    def objects(self):
        return {json.loads(payload)["id"] for _, payload in self.told(f"{TOPIC}/objects/")}


class Gateway:
    """The daemon, on one port and one folder over restarts."""

    def __init__(self, program, folder, broker):
        self.program, self.folder, self.port = program, folder, 0
        self.config = os.path.join(folder, "gateway.toml")
        # The floor under a name that topics have to be careful with.
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "../testbeds/floor21.toml")) as floor:
            text = floor.read().replace('name = "floor21"', f'name = "{NETWORK}"')
        with open(os.path.join(folder, "floor.toml"), "w") as floor:
            floor.write(text)
        with open(self.config, "w") as config:
            config.write(
                'listen = "127.0.0.1:0"\ndata = "data"\n'
                f'[network]\ntestbed = "{folder}/floor.toml"\nbytes = 6000\nspeed = 1000.0\n'
                f'[mqtt]\nhost = "127.0.0.1"\nport = {broker.port}\nprefix = "{PREFIX}"\ndiscovery = true\n'
                'user = "gateway"\npassword_file = "password"\n'
            )
        with open(os.path.join(folder, "password"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as password:
            password.write("secret of gateway\n")
        self.begin()

    def begin(self):
        self.log = os.path.join(self.folder, "gateway.log")
        start = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        with open(self.log, "a") as log:
            command = [self.program, "gateway", "--config", self.config, "--listen", f"127.0.0.1:{self.port}"]
            self.process = subprocess.Popen(command, stderr=log)

        def listens():
            check(self.process.poll() is None, "the gateway did not begin")
            with open(self.log) as log:
                log.seek(start)
                found = re.search(r"http://127\.0\.0\.1:(\d+)/", log.read())
            if found:
                self.port = int(found[1])
            return found

        until(listens, "the gateway's address")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def get(self, path):
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def fetch(self, nodes):
        body = json.dumps({"kind": "fetch", "from": nodes}).encode()
        url = f"http://127.0.0.1:{self.port}/api/jobs"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            answer.read()

    def objects(self):
        """The rows, each exactly as the API tells it."""
        ids = [told["id"] for told in json.loads(self.get("/api/objects?limit=1000"))["objects"]]
        return {id: self.get(f"/api/objects/{id}") for id in ids}

    def mqtt(self):
        return json.loads(self.get("/healthz"))["mqtt"]


def differences(gateway, subscriber):
    """What the last states that the subscriber was told lack of what the gateway shows."""
    last = dict(subscriber.told(PREFIX))
    found = []
    for node in json.loads(gateway.get("/api/nodes"))["nodes"]:
        # How it is at present is for those who ask.
        node.pop("health")
        state = json.loads(last[f"{TOPIC}/nodes/{node['id']}"])
        shown = json.loads(gateway.get(f"/api/nodes/{node['id']}"))
        same = {
            "it is told as it is": state["node"] == shown["node"] == node,
            "its links": state["links"] == shown["links"] and state["links"],
            "its last object": (state["last_object"] or {}).get("id") == node["object"],
            "when it was seen": node["is_sink"] or (state["seen_at"] or "") >= (node["delivered_at"] or ""),
        }
        found += [f"node {node['id']}, {what}: {state} {shown}" for what, holds in same.items() if not holds]
    if json.loads(last[f"{TOPIC}/line"])["line"] != "up":
        found.append("the line is told")
    if last[f"{PREFIX}/status"] != "online":
        found.append(f"the gateway is told to be there: {last[f'{PREFIX}/status']}")
    return found


def main(program):
    work = tempfile.mkdtemp()
    broker = Broker(os.path.join(work, "broker"), ("gateway", "reader"))
    subscriber = Subscriber(broker, work)
    gateway = Gateway(program, work, broker)

    def all_done():
        jobs = json.loads(gateway.get("/api/jobs"))["jobs"]
        check(not [job for job in jobs if job["state"] == "failed"], f"no job failed: {jobs}")
        return all(job["state"] == "done" for job in jobs)

    def all_told():
        return gateway.mqtt() == {"broker": "connected", "waiting": 0}

    def is_away():
        return "away" in gateway.mqtt()["broker"]

    def has(count):
        return lambda: len(gateway.objects()) >= count

    try:
        until(all_told, "a broker that is told")
        gateway.fetch([17, 4])
        until(lambda: all_done() and all_told(), "the first objects, told")
        until(lambda: len(subscriber.objects()) == 2, "the subscriber has them")
        # The broker's file has the subscription by now, so that it holds for one who is not there.
        saved = os.path.join(broker.folder, "mosquitto.db")
        until(lambda: os.path.exists(saved) and b"reader" in open(saved, "rb").read(), "a session on the disk")

        # The broker is away. Rows wait, also those that a gateway left which was killed.
        broker.kill()
        until(is_away, "that the broker is gone")
        gateway.fetch([6, 8])
        until(has(4), "objects without a broker")
        check(gateway.mqtt()["waiting"] >= 2, "their rows wait")
        gateway.kill()
        gateway.begin()
        gateway.fetch(12)
        until(has(5), "another one")
        check(gateway.mqtt()["waiting"] >= 3, "the rows outlive the gateway")
        broker.begin()
        until(all_told, "what waited is told")
        until(lambda: len(subscriber.objects()) == 5, "all five are there")

        # A broker that hangs acknowledges nothing; then both die.
        broker.hang()
        gateway.fetch(3)
        until(has(6), "an object under a broker that hangs")
        check(gateway.mqtt()["waiting"] >= 1, "what is not acknowledged waits")
        broker.kill()
        gateway.kill()
        broker.begin()
        gateway.begin()
        until(lambda: all_told() and len(subscriber.objects()) == 6, "the sixth is told after all")

        # Ends at any time: of the gateway in the middle of transfers, of the subscriber, of the broker.
        gateway.fetch("all")
        for number in range(4):
            until(has(8 + 3 * number), f"{8 + 3 * number} objects")
            if number % 2:
                broker.stop()
                broker.begin()
            gateway.kill()
            if number == 2:
                subscriber.end()
                subscriber.begin()
            gateway.begin()
        until(lambda: all_done() and all_told(), "everything is done and told")
        rows = gateway.objects()
        until(lambda: len(subscriber.objects()) >= len(rows), "the subscriber has all of it")

        told = subscriber.told(f"{TOPIC}/objects/")
        by_id = {}
        for topic, payload in told:
            row = json.loads(payload)
            check(topic == f"{TOPIC}/objects/{row['from']}", f"{topic} is of node {row['from']}")
            check(by_id.setdefault(row["id"], payload) == payload, f"object {row['id']} is told in one way")
        check(by_id == rows, f"what was told is what is stored: {by_id} {rows}")
        check(list(by_id) == sorted(by_id), "in their order")

        # States: the last one that was told is how it is. The broker has them; the subscriber may be a moment behind.
        until(lambda: not differences(gateway, subscriber), lambda: "; ".join(differences(gateway, subscriber)))
        last = dict(subscriber.told(PREFIX))
        devices = dict(subscriber.told("homeassistant/"))
        check(len(devices) == 21, f"a device for each source and one for the base station: {len(devices)}")
        for text in devices.values():
            device = json.loads(text)
            check(device["state_topic"] in last and device["availability_topic"] in last, f"topics that are: {device}")

        gateway.kill()
        until(lambda: dict(subscriber.told(PREFIX))[f"{PREFIX}/status"] == "offline", "the broker tells of the end")
        with open(gateway.log) as log:
            text = log.read()
        check("secret" not in text, "the password is not in the log")
        print(f"mqtt: {len(rows)} objects told {len(told)} times, each as it is stored and in their order")
    finally:
        subscriber.end()
        gateway.kill()
        broker.kill()
        shutil.rmtree(work, ignore_errors=True)


main(*sys.argv[1:])
