#!/usr/bin/env python3
"""Twenty motes and a base station run the images that were just built, on emulated chips; objects come by their line.

    .ci/emulated.py THALWEG IMAGES
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


@contextlib.contextmanager
def station(thalweg, images, folder, cable):
    line = folder / cable
    command = [thalweg, "basestation", "--testbed", "motes20", "--emulated", images, "--line", cable, "--link", line]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        until(line.exists, "the base station is there")
        yield line
        running.send_signal(signal.SIGINT)
        told = running.communicate(timeout=60)[1].splitlines()[-1]
        print(told)
        # Half of the time they rest, at a tenth of a milliwatt, and the receiver takes 14 mW.
        power = float(re.search(r"a mote drew ([0-9.]+) mW", told)[1])
        assert 1 < power < 14, told
    finally:
        running.kill()
        running.wait()


def main(thalweg, images):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with station(thalweg, images, folder, "uart") as line:
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
        with station(thalweg, images, folder, "usb") as line:
            # Of 216 by either line.
            by_usb = collect(thalweg, line, folder, "--from", "8")
            assert by_usb["goodput_kbps"] >= 160, by_usb


if __name__ == "__main__":
    main(*sys.argv[1:])
