#!/usr/bin/env python3
"""Twenty motes and a base station run the images that were just built, on emulated chips; objects come by their line.

    .ci/emulated.py THALWEG IMAGES
"""
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


# What a mote may take, a few percent above what it takes: bytes of stack, and microseconds until a start is armed after a
# frame received, at the median and at most, and after one sent.
MOST = {"stack": 3_700, "received": 36, "received, most": 53, "sent": 48, "sent, most": 66}


def judge(told):
    """What the base station told of the motes when it was stopped."""
    number = r"(\d+)"
    armed = rf"{number} us, {number} at most \(\d+\)"
    line = rf"motes: \d+ B of RAM and {number} of stack; starts armed {armed} after a frame received, {armed} after"
    found = re.search(line, told)
    assert found, told
    taken = dict(zip(MOST, map(int, found.groups())))
    print(taken)
    over = {what: taken[what] for what in MOST if taken[what] > MOST[what]}
    assert not over, over


def collect(thalweg, line, folder, *options):
    command = [thalweg, "collect", "--port", line, "--testbed", "motes20", "--json", "--out", folder / "store", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["verified"] and report["stored"]["digest"] == OBJECT, report
    print(
        f"node {report['source']}: {report['hops']} hops, {report['paths']} paths, {report['protocol']}, "
        f"{report['goodput_kbps']:.1f} kbit/s, {report['rounds']} rounds"
    )
    return report


def main(thalweg, images):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        line = folder / "station"
        command = [thalweg, "basestation", "--testbed", "motes20", "--emulated", images, "--link", line]
        station = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            until(line.exists, "the base station is there")
            far = collect(thalweg, line, folder)
            assert far["hops"] >= 4, far
            # .7 s where every report comes by its flood; what is asked for hop by hop takes half a second a node.
            assert far["survey"]["collecting_s"] < 2, far
            # Of 213 that the simulated network brings; a pair of nodes may have one path in a bad moment.
            # After ten idle seconds the motes sleep, and the next order wakes them.
            time.sleep(14)
            near = collect(thalweg, line, folder, "--from", "8")
            assert near["survey"]["collecting_s"] < 2, near
            assert max(far["goodput_kbps"], near["goodput_kbps"]) >= 190, (far, near)
            station.send_signal(signal.SIGINT)
            judge(station.communicate(timeout=60)[1])
        finally:
            station.kill()
            station.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
