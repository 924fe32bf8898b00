#!/usr/bin/env python3
"""The gateway as a service that strangers reach: its unit, what it tells systemd, its token, its folder, a disk that turns read-only,
nonsense, half-open sockets, and connections that nobody uses.

    .ci/service.py target/release/thalweg

Needs Python; systemd-analyze for the unit, and root for a disk of its own; says what it went without.
"""

import http.client
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

from processes import Gateway, check, until

UNIT = os.path.join(os.path.dirname(__file__), "..", "docs", "examples", "thalweg-gateway.service")
# What systemd-analyze makes of the unit, in tenths: from 0, the safest, to 100.
MOST_EXPOSED = 30
MOST_GROWTH_MB = 10.0
TOKEN = "0123456789abcdef0123456789abcdef"


class Service(Gateway):
    """A gateway in an environment of its own."""

    def __init__(self, program, data, environment, *options):
        self.environment = environment
        super().__init__(program, data, *options)

    def begin(self):
        before = dict(os.environ)
        os.environ.update(self.environment)
        try:
            super().begin()
        finally:
            os.environ.clear()
            os.environ.update(before)


def unit():
    analyze = ["systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED}", UNIT]
    if not shutil.which(analyze[0]):
        return "no systemd-analyze here"
    done = subprocess.run(analyze, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    told = done.stdout.strip().splitlines()[-1]
    check(done.returncode == 0, f"the unit is exposed by less than {MOST_EXPOSED / 10}: {told}")
    return told.strip("→ ").split(": ")[-1].split()[0]


def as_a_service(program, work):
    """It says when it serves, that it lives, and that it ends; its folder is its own; its token is a credential."""
    credentials = os.path.join(work, "credentials")
    os.mkdir(credentials, 0o700)
    token = os.path.join(credentials, "token")
    with open(token, "w") as file:
        file.write(TOKEN + "\n")
    os.chmod(token, 0o440)
    config = os.path.join(work, "gateway.toml")
    with open(config, "w") as file:
        file.write('token_file = "token"\n[network]\ntestbed = "floor21"\n')
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(os.path.join(work, "notify"))
    told.settimeout(20)
    environment = {"NOTIFY_SOCKET": told.getsockname(), "WATCHDOG_USEC": "1000000", "CREDENTIALS_DIRECTORY": credentials}
    data = os.path.join(work, "own")
    gateway = Service(program, data, environment, "--config", config)
    try:
        check(told.recv(100).strip() == b"READY=1", "it says that it serves")
        for _ in range(3):
            check(told.recv(100).strip() == b"WATCHDOG=1", "it says that it lives")
        mode = stat.S_IMODE(os.stat(data).st_mode)
        check(mode == 0o700, f"its folder is its own: {mode:o}")
        check(gateway.ask("GET", "/api/jobs")[0] == 401, "without the token nothing is told")
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=10)
        connection.request("GET", "/api/jobs", headers={"Authorization": f"Bearer {TOKEN}"})
        check(connection.getresponse().status == 200, "the credential is the token")
        connection.close()
        gateway.process.terminate()
        check(gateway.process.wait(15) == 0, "it ends when it is told to")
        last = told.recv(100).strip()
        while last == b"WATCHDOG=1":
            last = told.recv(100).strip()
        check(last == b"STOPPING=1", f"and says so: {last}")
    finally:
        gateway.kill()
    os.chmod(token, 0o444)
    command = [program, "gateway", "--config", config, "--data", data, "--listen", "127.0.0.1:0"]
    refused = subprocess.run(command, env=dict(os.environ, **environment), stderr=subprocess.PIPE, text=True, timeout=30)
    check(refused.returncode == 2 and "everybody" in refused.stderr, f"a token for all is refused: {refused}")


def connect(gateway):
    stream = socket.create_connection(("127.0.0.1", gateway.port), 10)
    stream.settimeout(20)
    return stream


def answer(gateway, said):
    """The first line of what `said` is answered with; empty where the connection is closed."""
    with connect(gateway) as stream:
        try:
            stream.sendall(said)
            return stream.recv(100).split(b"\r\n")[0].decode(errors="replace")
        except OSError:
            return ""


def strangers(gateway):
    """Nonsense and half a request do no harm, and leave nothing behind."""
    head = b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    sayings = {
        b"\0" * 5_000: ("", "400"),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 600: ("", "400"),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": ("", "400", "505"),
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n": ("", "400", "414", "431"),
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 500_000 + b"\r\n\r\n": ("", "400", "431"),
        head + b"Content-Length: 1000000000\r\n\r\n": ("413",),
        head + b"Content-Length: -1\r\n\r\n": ("", "400"),
        head + b"Transfer-Encoding: chunked\r\n\r\n" + b"8000\r\n" + b"x" * 0x8000 + b"\r\n": ("413",),
        head + b'Content-Length: 60000\r\n\r\n{"kind"' + b"[" * 59_993: ("413",),
        head + b"Content-Length: 12000\r\n\r\n" + b"[" * 12_000: ("422",),
        b"GET /api/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n": ("404",),
        b"GET /api/objects/%2e%2e%2fthalweg.db HTTP/1.1\r\nHost: localhost\r\n\r\n": ("400", "404"),
    }
    for said, statuses in sayings.items():
        told = answer(gateway, said)
        status = told.split(" ")[1] if " " in told else told
        check(status in statuses, f"{said[:60]}: {told!r}, not one of {statuses}")
    before = gateway.resident_mb()
    for _ in range(3):
        half_open = [connect(gateway) for _ in range(200)]
        for stream in half_open:
            stream.sendall(b"GET / HTTP/1.1\r\nHost: loc")
        check(json.loads(gateway.get("/healthz"))["status"] == "ok", "beside 200 half requests it answers")
        for stream in half_open:
            stream.close()
    growth = gateway.resident_mb() - before
    check(growth <= MOST_GROWTH_MB, f"nothing is left of them: {growth:.1f} MB")


def idle(gateway):
    """A connection that nobody uses is closed, in seconds."""
    with connect(gateway) as stream:
        stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        begun = time.monotonic()
        while stream.recv(4_096):
            pass
        return time.monotonic() - begun


def far_line(program, work):
    """A line to another machine takes leave, and is warned of. The address is one that nobody has (RFC 5737)."""
    config = os.path.join(work, "far.toml")
    command = [program, "gateway", "--config", config, "--data", os.path.join(work, "far"), "--listen", "127.0.0.1:0"]
    network = '[network]\ntestbed = "floor21"\nport = "tcp:192.0.2.7:4000"\n'
    with open(config, "w") as file:
        file.write(network)
    refused = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=30)
    check(refused.returncode == 2 and "allow = true" in refused.stderr, f"a far line takes leave: {refused}")
    with open(config, "w") as file:
        file.write("[line]\nallow = true\n" + network)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as gateway:
        late = threading.Timer(30, gateway.kill)
        late.start()
        # It says where its page is once it has said the rest.
        told = ""
        for line in gateway.stderr:
            told += line
            if "the page is at" in line:
                break
        late.cancel()
        gateway.kill()
    check("WARN" in told and "anyone on that network can read" in told, f"with leave it is warned of: {told}")


def read_only(program, work):
    """A disk that turned read-only is no start, and one line says so."""
    disk = os.path.join(work, "disk")
    os.mkdir(disk)

    def mount(*options):
        return subprocess.call(["mount", *options, disk], stderr=subprocess.DEVNULL) == 0

    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=128m", "tmpfs"):
        return "no disk of its own"
    data = os.path.join(disk, "data")
    gateway = None
    try:
        gateway = Gateway(program, data, "--testbed", "floor21", "--speed", "500", "--bytes", "2000")
        [job] = gateway.fetch([4])
        until(lambda: gateway.jobs()[job]["state"] == "done", "an object")
        gateway.kill()
        # What is open for writing keeps a disk from turning; a daemon that begins on such a disk says why it cannot.
        check(mount("-o", "remount,ro"), "the disk turns read-only")
        command = [*gateway.command, "--listen", "127.0.0.1:0"]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=30)
        lines = done.stderr.strip().splitlines()
        check(done.returncode != 0 and len(lines) == 1 and "ead-only" in lines[0], f"one line says so: {done}")
        check(mount("-o", "remount,rw"), "the disk can be written again")
        gateway.begin()
        check(gateway.jobs()[job]["state"] == "done", "all is there")
        return "read-only disk refused in one line"
    finally:
        if gateway:
            gateway.kill()
        subprocess.call(["umount", "-l", disk])


def main(program):
    work = tempfile.mkdtemp(prefix="thalweg-service-")
    gateway = None
    try:
        exposed = unit()
        as_a_service(program, work)
        gateway = Gateway(program, os.path.join(work, "data"), "--testbed", "floor21", "--speed", "500")
        strangers(gateway)
        closed = idle(gateway)
        check(closed < 9, f"a connection that nobody uses is closed: after {closed:.1f} s")
        [job] = gateway.fetch([17])
        until(lambda: gateway.jobs()[job]["state"] == "done", "and it works as before")
        far_line(program, work)
        disk = read_only(program, work)
        print(f"service: exposure {exposed}; idle connections end after {closed:.1f} s; {disk}")
    finally:
        if gateway:
            gateway.kill()
        shutil.rmtree(work, ignore_errors=True)


main(*sys.argv[1:])
