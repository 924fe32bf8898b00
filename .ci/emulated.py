#!/usr/bin/env python3
"""Motes and a base station run the images that were just built, on emulated chips; objects come by their line: twenty of
them by pipelines, ten in a session of RCRT.

    .ci/emulated.py THALWEG IMAGES [pipelines|session|secured|starts]...
"""
import contextlib
import hashlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from processes import until

# Of a node that made its own recording: byte n is 7 n.
OBJECT = hashlib.sha256(bytes(7 * n % 256 for n in range(59_000))).hexdigest()


EXAMPLES = pathlib.Path(__file__).parent.parent / "docs/examples"
TEN, DESK = EXAMPLES / "motes10.toml", EXAMPLES / "desk.toml"


# What a mote may take: bytes of RAM with its stack; and, a few percent above what it takes, microseconds until a start is
# armed after a frame received, at the median and at most, and after one sent.
MOST = {"RAM": 25_200, "received": 36, "received, most": 55, "sent": 52, "sent, most": 68}


def judge(told, *what):
    """What the base station told of the motes when it was stopped: all of it, or what is named."""
    number = r"(\d+)"
    armed = rf"{number} us, {number} at most \(\d+\)"
    line = rf"motes: {number} B of RAM and {number} of stack; starts armed {armed} after a frame received, {armed} after"
    found = re.search(line, told)
    assert found, told
    statics, stack, *times = map(int, found.groups())
    taken = dict(zip(MOST, [statics + stack, *times]))
    print(taken)
    over = {name: taken[name] for name in what or MOST if taken[name] > MOST[name]}
    assert not over, over


# How many times as fast as the clock motes run: goodput counts what the host takes as many times as long.
SPEED = 2


@contextlib.contextmanager
def station(thalweg, images, testbed, line, *options, speed=SPEED):
    """A base station and its motes, until it is stopped and says what they drew."""
    command = [thalweg, "basestation", "--testbed", testbed, "--emulated", images, "--link", line, "--speed", str(speed), *options]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        until(line.exists, "the base station is there")
        said = []
        yield said
        running.send_signal(signal.SIGINT)
        told = running.communicate(timeout=60)[1]
        said.append(told)
        # They rest at a tenth of a milliwatt, and their receiver takes 14 mW.
        power = float(re.search(r"a mote drew ([0-9.]+) mW", told)[1])
        print(f"a mote drew {power} mW")
        assert 1 < power < 20, told
    finally:
        running.kill()
        running.wait()


def ask(thalweg, line, testbed, folder, *options):
    command = [thalweg, "collect", "--port", line, "--testbed", testbed, "--json", "--out", folder / "store", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def collect(*args):
    report = ask(*args)
    assert report["verified"] and report["stored"]["digest"] == OBJECT, report
    print(
        f"node {report['source']}: {report['hops']} hops, {report['paths']} paths, {report['protocol']}, "
        f"{report['goodput_kbps']:.1f} kbit/s, {report['rounds']} rounds"
    )
    return report


def gather(*args):
    report = ask(*args, "--protocol", "rcrt")
    assert [kept["digest"] for kept in report["stored"]] == [OBJECT] * report["objects"], report
    print(f"{report['whole']} objects by rcrt: {report['rate']:.2f} packets/s in the mean, {report['repaired_share']:.1%} repaired")
    return report


def pipelines(thalweg, images, folder):
    line = folder / "station"
    with station(thalweg, images, "motes20", line) as said:
        far = collect(thalweg, line, "motes20", folder)
        assert far["hops"] >= 4, far
        # .7 s where every report comes by its flood; what is asked for hop by hop takes half a second a node.
        assert far["survey"]["collecting_s"] < 2, far
        # Of 212 that the simulated network brings. It brings 165 as well where bursts fill a second of the first round, as
        # they do this air's tenth; so one of two transfers has to be fast.
        # After ten idle seconds the motes sleep, and the next order wakes them.
        time.sleep(14 / SPEED)
        near = collect(thalweg, line, "motes20", folder, "--from", "8")
        assert near["survey"]["collecting_s"] < 2, near
        assert max(far["goodput_kbps"], near["goodput_kbps"]) >= 190, (far, near)
    judge(said[0])
    line = folder / "usb"
    with station(thalweg, images, "motes20", line, "--line", "usb"):
        # Of 216 by either line.
        by_usb = collect(thalweg, line, "motes20", folder, "--from", "8")
        assert by_usb["goodput_kbps"] >= 160, by_usb


def session(thalweg, images, folder):
    line = folder / "ten"
    with station(thalweg, images, TEN, line, speed=4) as said:
        report = gather(thalweg, line, TEN, folder, "--from", "5,10", "--demand", "15")
        # Of 28 in the simulator.
        assert report["whole"] == 2 and report["rate"] >= 15, report
        # They are motes again.
        collect(thalweg, line, TEN, folder, "--from", "10")
    judge(said[0], "RAM")


def starts(thalweg, images, folder):
    line = folder / "station"
    with station(thalweg, images, DESK, line, speed=4):
        collect(thalweg, line, DESK, folder, "--from", "7")


def secured(thalweg, images, folder):
    """Each mote and the base station has its page of keys; the host has the key file."""
    key = folder / "network.key"
    subprocess.run([thalweg, "keys", "new", key], check=True, stdout=subprocess.DEVNULL)
    twenty = pathlib.Path(__file__).parent.parent / "testbeds/motes20.toml"
    named = 'name = "motes20"\n'
    assert named in twenty.read_text()
    site, stranger = folder / "secured.toml", folder / "open.toml"
    site.write_text(twenty.read_text().replace(named, f'{named}security = "require"\nkeys = "network.key"\n'))
    stranger.write_text(twenty.read_text())
    line = folder / "secured"
    with station(thalweg, images, site, line) as said:
        for options in [], ["--from", "8"]:
            report = collect(thalweg, line, site, folder, *options)
            assert report["sealed"], report
            # Of the 190 to 212 of motes without keys; or what came in bursts.
            assert report["protocol"] == "thalweg" and report["goodput_kbps"] >= 130, report
        # Sessions have no seals; who has no key finds nobody, as motes obey nobody else.
        for asked, why in (site, "not sealed yet"), (stranger, ""):
            options = ["--protocol", "rcrt", "--all-nodes"] if why else ["--from", "8", "--patience", "1s"]
            command = [thalweg, "collect", "--port", line, "--testbed", asked, "--out", folder / "none", *options]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert done.returncode != 0 and why in done.stderr, done
            print(done.stderr.splitlines()[-1])
    judge(said[0], "RAM")


PARTS = {"pipelines": pipelines, "session": session, "secured": secured, "starts": starts}


def main(thalweg, images, *parts):
    with tempfile.TemporaryDirectory() as folder:
        for part in parts or ["pipelines", "session", "secured"]:
            PARTS[part](thalweg, images, pathlib.Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
