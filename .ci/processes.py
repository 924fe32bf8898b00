"""Programs that trials begin, kill and ask: a gateway, a base station, and a line that harms bytes between them.

Every wait has an end. Needs Python alone.
"""

import http.client
import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import threading
import time
import tty

PATIENCE = 120.0
# What a mote's image records where it finds nothing recorded.
EMULATED_BYTES = 59_000


class Trial(SystemExit):
    """Something does not hold."""


def check(holds, what):
    if not holds:
        raise Trial(f"does not hold: {what}")


def until(holds, what, patience=PATIENCE):
    """What `holds` gives, once that is something."""
    end = time.monotonic() + patience
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise Trial(f"not within {patience:.0f} s: {what}")
        time.sleep(0.05)


def cost(gateway, path):
    """What a page costs a gateway that packs it as for a browser, in seconds of processor time."""
    before, times = gateway.cpu_s(), 20
    for _ in range(times):
        status, body = gateway.ask("GET", path, packed=True)
        check(status == 200, f"GET {path}: {status} {body[:200]}")
    return (gateway.cpu_s() - before) / times


class Broker:
    """mosquitto, on one port and one folder over restarts. Each of `users` has the password "secret of USER"; without any, anybody may come."""

    def __init__(self, folder, users=()):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.folder = folder
        os.mkdir(folder)
        passwords = os.path.join(folder, "passwords")
        open(passwords, "w").close()
        for user in users:
            subprocess.run(["mosquitto_passwd", "-b", passwords, user, f"secret of {user}"], check=True)
        who = f"allow_anonymous false\npassword_file {passwords}\n" if users else "allow_anonymous true\n"
        with open(os.path.join(folder, "conf"), "w") as conf:
            conf.write(
                f"listener {self.port} 127.0.0.1\n{who}persistence true\npersistence_location {folder}/\n"
                "autosave_on_changes true\nautosave_interval 1\nmax_queued_messages 0\n"
            )
            if os.geteuid() == 0:
                conf.write("user root\n")
        self.begin()

    def begin(self):
        self.log = open(os.path.join(self.folder, "log"), "a")
        command = ["mosquitto", "-c", os.path.join(self.folder, "conf")]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        until(self.answers, "a broker that listens")

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def hang(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """It writes down what it has."""
        self.process.terminate()
        self.process.wait()


class Gateway:
    """The daemon, on one port and one folder over restarts."""

    def __init__(self, program, data, *options):
        self.command = [program, "gateway", "--data", data, *options]
        self.port, self.spent = 0, 0.0
        self.begin()

    def begin(self):
        command = [*self.command, "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
            if found:
                self.port = int(found[1])
                break
        else:
            raise Trial("the gateway did not begin")
        # It goes on when nobody reads what it tells.
        self.process.stderr.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None, packed=False):
        """Status and bytes of an answer, which may be packed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            headers = {"Content-Type": "application/json"} if body else {}
            if packed:
                headers["Accept-Encoding"] = "gzip"
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path):
        status, body = self.ask("GET", path)
        check(status == 200, f"GET {path}: {status} {body[:200]}")
        return body

    def json(self, path):
        return json.loads(self.get(path))

    def fetch(self, nodes):
        """Jobs that fetch from `nodes`, by their numbers."""
        status, body = self.ask("POST", "/api/jobs", {"kind": "fetch", "from": nodes})
        check(status == 201, f"a fetch is accepted: {status} {body[:200]}")
        told = json.loads(body)
        return [job["id"] for job in told.get("jobs", [told])]

    def session(self, sources):
        """The job of a session of `sources` that lasts until it is cancelled, by its number."""
        wish = {"kind": "session", "sources": sources, "demand": 4}
        status, body = self.ask("POST", "/api/jobs", wish)
        check(status == 201, f"a session is accepted: {status} {body[:200]}")
        return json.loads(body)["id"]

    def jobs(self):
        """All jobs by their numbers."""
        return {job["id"]: job for job in self.json("/api/jobs?limit=1000")["jobs"]}

    def cpu_s(self):
        """Processor time that the process has taken so far, in seconds."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1024


class Station:
    """A simulated base station at a pseudo-terminal, and what its nodes have."""

    def __init__(self, program, folder, testbed, size, speed):
        self.link, self.saved = os.path.join(folder, "station"), os.path.join(folder, "saved")
        self.command = [program, "basestation", "--quiet", "--link", self.link, "--testbed", testbed]
        self.command += self.options(size, speed)
        self.begin()

    def options(self, size, speed):
        return ["--save", self.saved, "--bytes", str(size), "--speed", str(speed)]

    def begin(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        check(self.process.stdout.readline().strip() == self.link, "the base station begins")
        self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def nodes(self):
        return sorted(int(name.split(".")[0]) for name in os.listdir(self.saved))

    def object(self, node):
        with open(os.path.join(self.saved, f"{node}.bin"), "rb") as file:
            return file.read()


class EmulatedStation(Station):
    """The testbed motes20 on emulated chips, twice as fast as the clock; each node made the same recording at its first start."""

    def __init__(self, images, program, folder):
        self.images = images
        super().__init__(program, folder, "motes20", EMULATED_BYTES, 1)

    def options(self, _size, _speed):
        return ["--emulated", self.images, "--speed", "2"]

    def nodes(self):
        return list(range(2, 21))

    def object(self, node):
        return bytes(7 * n % 256 for n in range(EMULATED_BYTES))


class Harm:
    """What a line does to bytes, as a seed has it: per byte a chance to be lost or flipped, per piece one to be
    late, and pieces of any length."""

    def __init__(self, seed, lost=0.0, flipped=0.0, late=0.0):
        self.random, self.lost, self.flipped, self.late = random.Random(seed), lost, flipped, late
        self.count = 0

    def pieces(self, data):
        """Pieces of `data` as they come out, each with a pause before it."""
        harm = self.lost + self.flipped
        out = bytearray()
        for byte in data:
            drawn = self.random.random() if harm else 1.0
            self.count += drawn < harm
            if drawn >= harm:
                out.append(byte)
            elif drawn >= self.lost:
                out.append(byte ^ 1 << self.random.randrange(8))
        while out and harm:
            size = self.random.randint(1, 200)
            late = self.random.random() < self.late
            yield self.random.uniform(0.0, 0.03) if late else 0.0, bytes(out[:size])
            del out[:size]
        if out:
            yield 0.0, bytes(out)


class Line(threading.Thread):
    """A pseudo-terminal at `link`, joined to the base station's by a line that harms what goes over it. Counts the
    events of nodes that come through whole."""

    def __init__(self, link, station, harm):
        super().__init__(daemon=True)
        self.station, self.harm, self.ends = station, harm, False
        self.near, keep = os.openpty()
        # As long as this end is open, the other may come and go.
        self.keep = keep
        tty.setraw(keep)
        os.symlink(os.ttyname(keep), link)
        self.events, self.rest, self.far = 0, b"", None
        self.start()

    def stop(self):
        self.ends = True
        self.join(PATIENCE)
        for end in (self.near, self.keep, self.far):
            if end is not None:
                os.close(end)

    def run(self):
        while not self.ends:
            if self.far is None:
                try:
                    self.far = os.open(self.station, os.O_RDWR | os.O_NOCTTY)
                    tty.setraw(self.far)
                except OSError:
                    time.sleep(0.05)
                    continue
            ready, _, _ = select.select([self.near, self.far], [], [], 0.1)
            for end in ready:
                other = self.far if end == self.near else self.near
                try:
                    data = os.read(end, 4096)
                    if not data:
                        raise OSError("the other end is gone")
                    if end == self.far:
                        self.note(data)
                    for pause, piece in self.harm.pieces(data):
                        time.sleep(pause)
                        self.write(other, piece)
                except OSError:
                    if self.far is not None:
                        os.close(self.far)
                        self.far = None
                    break

    def write(self, end, data):
        """Writes all of `data`; where nobody reads for long, it is lost."""
        while data:
            _, ready, _ = select.select([], [end], [], 1.0)
            if not ready:
                return
            data = data[os.write(end, data) :]

    def note(self, data):
        """Counts the events in what the base station says (docs/line.md)."""
        *frames, self.rest = (self.rest + data).split(b"\0")
        for frame in frames:
            plain = unstuffed(frame)
            # Data from the station, whose message is an event.
            if len(plain) < 20 or plain[0] != 0x82 or plain[7] != 3:
                continue
            at = 16
            while at < len(plain) - 4:
                at += 1 + plain[at]
                self.events += 1


def unstuffed(frame):
    """`frame` without its stuffing (COBS)."""
    out, at = bytearray(), 0
    while at < len(frame):
        code = frame[at]
        out += frame[at + 1 : at + code]
        at += code
        if code < 255 and at < len(frame):
            out.append(0)
    return bytes(out)


class Watchers(threading.Thread):
    """So many who watch a gateway's events, as browsers do, and the events of jobs that each has seen."""

    def __init__(self, gateway, count):
        super().__init__(daemon=True)
        self.ends, self.open = False, []
        for _ in range(count):
            connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE)
            connection.request("GET", "/api/events")
            answer = connection.getresponse()
            check(answer.status == 200, f"a watcher is let in: {answer.status}")
            self.open.append((connection, connection.sock or answer.fp.raw._sock, answer))
        self.seen = [b""] * count
        self.start()

    def run(self):
        places = {sock.fileno(): (place, sock) for place, (_, sock, _) in enumerate(self.open)}
        while not self.ends:
            ready, _, _ = select.select(list(places), [], [], 0.1)
            for fd in ready:
                place, sock = places[fd]
                data = sock.recv(1 << 16)
                if not data:
                    del places[fd]
                self.seen[place] += data

    def stop(self):
        self.ends = True
        self.join(PATIENCE)
        for connection, _, _ in self.open:
            connection.close()
