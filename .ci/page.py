#!/usr/bin/env python3
"""Drives the gateway's page in headless Chromium: whether all is well, a fetch that moves, a reload in the middle, one that
is cancelled, a daemon that is killed and begins again under the open page, a plan, a session whose rates move, a group of jobs, a
download, and what a phone, a keyboard, a night and another time zone find. Speaks the DevTools protocol over a pipe; needs
Chromium and Python alone. With a folder it leaves pictures of every page there.

    .ci/page.py target/release/thalweg [FOLDER]
"""

import base64
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from processes import Gateway

PATIENCE = 60.0


class Page:
    """A page of a headless browser."""

    def __init__(self, folder):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        (to_child, self.out), (self.into, from_child) = os.pipe(), os.pipe()
        # The browser reads at 3 and writes at 4.
        high = [os.dup(fd) for fd in (to_child, from_child)]

        def place():
            os.dup2(high[0], 100)
            os.dup2(high[1], 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run"]
        self.process = subprocess.Popen(
            [program, *options, f"--user-data-dir={folder}"],
            preexec_fn=place,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self.number, self.rest, self.session = 0, b"", None
        self.requests, self.errors = [], []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        # They would hide the right edge of pictures.
        self.ask("Emulation.setScrollbarsHidden", hidden=True)

    def ask(self, method, unless=None, **params):
        """What the browser answers; none where it answers with the error `unless`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            told = self.read()
            if told.get("id") == self.number:
                if "error" in told:
                    if unless and unless in told["error"]["message"]:
                        return None
                    raise SystemExit(f"{method}: {told['error']}")
                return told["result"]

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 20)
            if not more:
                raise SystemExit("the browser ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        told = json.loads(message)
        method, params = told.get("method"), told.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        if method == "Log.entryAdded" and params["entry"]["source"] in ("security", "javascript"):
            self.errors.append(params["entry"]["text"])
        return told

    def run(self, script):
        """What `script` gives; none while a page is on its way."""
        left = "navigated or closed"
        result = self.ask("Runtime.evaluate", left, expression=script, returnByValue=True, awaitPromise=True)
        return result and result["result"].get("value")

    def until(self, script, what):
        end = time.monotonic() + PATIENCE
        while True:
            if self.run(f"Boolean({script})"):
                return
            if time.monotonic() > end:
                raise SystemExit(f"page: {what}: not seen; the page says\n{self.run('document.body.innerText')}")
            time.sleep(0.05)

    def open(self, url):
        self.ask("Page.navigate", url=url)
        self.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'", url)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            code = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27}[key]
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def media(self, scheme):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def size(self, width, height=900):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)

    def picture(self, file):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        with open(file, "wb") as to:
            to.write(base64.b64decode(shot["data"]))

    def end(self):
        self.process.kill()
        self.process.wait()


def check(holds, what):
    if not holds:
        raise SystemExit(f"page: {what}")


def fetch(page, node):
    """Asks for a node's object as a person does, and says how long it took until something moved, in seconds; the page has a
    mark that goes when it is loaded again."""
    begun = time.monotonic()
    page.run(f"document.querySelector('select[name=what]').value = '{node}'")
    page.run("document.querySelector('select[name=what]').form.requestSubmit()")
    page.until("location.pathname.startsWith('/jobs/') && document.readyState === 'complete'", "the job's page")
    page.run("window.mark = true")
    page.until("document.querySelector('#job progress, #job .state')", "what the job is at")
    return time.monotonic() - begun


def state_of(job):
    row = f"[...document.querySelectorAll('#jobs tbody tr')].find((row) => row.cells[0].innerText === '{job}')"
    return f"({row}?.cells[2].innerText ?? '')"


STATE = "(document.querySelector('#job .state')?.innerText ?? '')"


def moves(page, gateway):
    """Fetches that move, are loaded again, cancelled, and outlive their daemon; a plan, and a session."""
    here = f"http://127.0.0.1:{gateway.port}"
    took = [fetch(page, 17)]
    seen = set()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and "done" not in page.run(STATE):
        seen.add(page.run("document.querySelector('#job progress')?.value ?? null"))
        time.sleep(0.05)
    check("done" in page.run(STATE), "the first job is done")
    check(len(seen - {None}) >= 5, f"its bar moves: {sorted(seen - {None})}")
    check(page.run("window.mark"), "and nobody loaded the page again")
    page.until("document.querySelector('#job .charts svg polyline')", "its goodput over time")
    job = page.run("document.getElementById('job').textContent")
    for part in ("has the object", "Tries", "whole", "kbit/s, from 0", "links measured"):
        check(part in job, f"the job's page has {part!r}")
    check("of 1.0" not in job, "rounds are whole numbers")

    # A reload in the middle.
    page.open(here + "/")
    took.append(fetch(page, 6))
    page.until("document.querySelector('#job progress')?.value > 0", "the second job moves")
    page.ask("Page.reload")
    page.until("!window.mark && document.readyState === 'complete'", "the page anew")
    page.until(f"{STATE}.includes('done')", "the second job is done")

    # One that nobody wants any more.
    page.open(here + "/")
    took.append(fetch(page, 8))
    page.until("document.querySelector('#job form[action$=cancel] button')", "a button to cancel")
    page.run("document.querySelector('#job form[action$=cancel] button').click()")
    page.until(f"{state_of(3)}.includes('cancelled')", "the third job is cancelled")

    # The daemon dies and comes back under the open page.
    fetch(page, 4)
    page.until("document.querySelector('#job progress')", "the fourth job")
    gateway.kill()
    page.until("document.getElementById('link').innerText.includes('does not answer')", "that it is gone")
    gateway.begin()
    page.until("document.getElementById('link').innerText === ''", "that it is back")
    page.until(f"{STATE}.includes('done')", "the fourth job is done")
    check(page.run("window.mark"), "all that without loading the page again")

    # A plan is on the map.
    page.open(here + "/")
    page.run("document.querySelector('select[name=what]').value = '17'")
    page.run("document.querySelector('button[value=plan]').click()")
    page.until("location.pathname === '/jobs/5' && document.readyState === 'complete'", "the plan's page")
    page.until("document.getElementById('job').innerText.includes('Backup relays')", "the plan's stages")
    check("has the object" in page.run("document.querySelector('.map').textContent"), "its route is drawn")
    check(min(took) <= 1.0, f"who asks sees within a second that something moves: {took}")
    return took[0], len(seen)


def session(page, gateway):
    """A session's rates move by themselves. Finding routes takes a minute of the network's time."""
    here = f"http://127.0.0.1:{gateway.port}"
    page.open(here + "/transfers")
    page.run("document.querySelector('summary').click()")
    page.run("document.querySelector('input[name=what]').value = '4 6 17'")
    page.run("document.querySelector('input[name=what]').form.requestSubmit()")
    page.until("location.pathname === '/jobs/6' && document.readyState === 'complete'", "the session's page")
    page.run("window.mark = true")
    page.until("document.querySelector('#job .charts svg polyline')", "a line of rates")
    course = "document.querySelector('#job .charts svg polyline')?.getAttribute('points')"
    before = page.run(course)
    page.until(f"{course} && {course} !== {json.dumps(before)}", "the line goes on")
    check(page.run("window.mark"), "and nobody loaded the page again")
    page.run("document.querySelector('#job form[action$=cancel] button').click()")
    page.until("location.pathname === '/transfers' && document.readyState === 'complete'", "the list of transfers")
    page.until(f"{state_of(6)}.includes('cancelled')", "the session is cancelled")
    check(len(gateway.json("/api/objects")["objects"]) >= 5, "what came is kept")

    # Who clicks into the list, or stands on a link of it, still sees it move, and stays where they were.
    for place in ("#jobs .scroll", "#jobs tbody a"):
        page.run(f"document.querySelector({json.dumps(place)}).focus()")
        held = "document.activeElement.className + document.activeElement.getAttribute('href')"
        before = page.run(held)
        rows = page.run("document.querySelectorAll('#jobs tbody tr').length")
        check(gateway.ask("POST", "/api/jobs", {"kind": "plan", "from": 6})[0] == 201, "a plan is accepted")
        page.until(f"document.querySelectorAll('#jobs tbody tr').length > {rows}", f"a new row, with the focus at {place}")
        check(page.run(held) == before, f"the focus stays at {place}")
    page.run("document.activeElement.blur()")


def group(page, gateway):
    """All nodes are one thing with its progress, and with one way to end it."""
    page.open(f"http://127.0.0.1:{gateway.port}/transfers")
    page.run("document.querySelector('select[name=what]').value = 'all'")
    page.run("document.querySelector('select[name=what]').form.requestSubmit()")
    page.until("document.querySelector('[id^=group-] progress')?.value >= 1", "the first of a group has ended")
    check("20 objects" in page.run("document.querySelector('[id^=group-] h2').innerText"), "the group says what it is of")
    check(page.run("document.querySelectorAll('.queue li').length") == 0, "its jobs are not listed one by one")
    page.run("document.querySelector('[id^=group-] button').click()")
    page.until("document.readyState === 'complete' && !document.querySelector('[id^=group-]')", "the group has ended")
    states = [job["state"] for job in gateway.json("/api/jobs")["jobs"][:20]]
    check("cancelled" in states and "queued" not in states, f"one cancel ends all of them: {states}")

    # Who stands on the list while what is above it comes and goes stays there, and is led to no other button.
    status, told = gateway.ask("POST", "/api/jobs", {"kind": "fetch", "from": "all"})
    check(status == 201, f"another group: {status}")
    page.until("document.querySelector('[id^=group-] progress')?.value >= 1", "its progress")
    page.run("document.querySelector('#jobs .scroll').focus()")
    check(gateway.ask("DELETE", f"/api/groups/{json.loads(told)['group']}")[0] == 200, "it is cancelled elsewhere")
    page.until("!document.querySelector('[id^=group-], #jobs .card')", "nothing is above the list")
    held = page.run("document.activeElement.className")
    check(held == "scroll", f"the focus stays on the list: {held!r}")


def crowded(page, gateway):
    """Beside 64 others a page is told that it is one too many; it looks now and then, and joins when others leave."""
    page.open("about:blank")
    others = [socket.create_connection(("127.0.0.1", gateway.port)) for _ in range(64)]
    for stream in others:
        stream.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        check(b" 200 " in stream.recv(15), "64 are told what happens")
    page.open(f"http://127.0.0.1:{gateway.port}/transfers")
    page.until("document.getElementById('link').innerText.includes('Many pages are open')", "that it is one too many")
    rows = page.run("document.querySelectorAll('#jobs tbody tr').length")
    check(gateway.ask("POST", "/api/jobs", {"kind": "plan", "from": 8})[0] == 201, "a plan is accepted")
    page.until(f"document.querySelectorAll('#jobs tbody tr').length > {rows}", "a new row all the same")
    for stream in others:
        stream.close()
    page.until("document.getElementById('link').innerText === ''", "that it is told again")


CALLS = "document.querySelectorAll('.bad, .notice, .troubles').length"


def is_well(page, program, here, work):
    """Whether all is well is the first thing that is said, and a colour calls only where it is not."""
    page.open(here + "/")
    check("All is well" in page.run("document.querySelector('h1').innerText"), "all is well, and the page says so")
    check(page.run(CALLS) == 0, "where all is well nothing has the colour that calls somebody")
    tiles = page.run("document.querySelector('.tiles').innerText")
    for part in ("20 of 20", "Oldest object", "Jobs, last 24 h", "Disk", "Base station", "MQTT"):
        check(part in tiles, f"the overview has {part}: {tiles}")
    away = Gateway(program, os.path.join(work, "away"), "--testbed", "floor21", "--port", os.path.join(work, "none"))
    try:
        page.open(f"http://127.0.0.1:{away.port}/")
        page.until("document.querySelector('h1').innerText.includes('1 thing needs you')", "that somebody must act")
        check("out of reach" in page.run("document.querySelector('.troubles').innerText"), "and why")
        page.open(f"http://127.0.0.1:{away.port}/nodes")
        check("needs you" in page.run("document.getElementById('well').innerText"), "other pages say so, too")
    finally:
        away.kill()


def map_and_nodes(page, here):
    """The map is one stop, has a search, and links when asked; nodes are sorted and filtered."""
    page.open(here + "/map")
    stops = "[...document.querySelectorAll('.map, .map *')].filter((e) => e.tabIndex >= 0).length"
    check(page.run(stops) == 1, f"the map is one stop for the keyboard, not {page.run(stops)}")
    page.run("document.querySelector('.map').focus()")
    page.press("ArrowRight")
    first = page.run("document.activeElement.getAttribute('aria-label')")
    check(first and first.startswith("node "), f"an arrow leads to a node: {first}")
    page.press("ArrowRight")
    second = page.run("document.activeElement.getAttribute('aria-label')")
    check(second != first, f"and another to the next: {second}")
    page.press("Enter")
    page.until("location.pathname.startsWith('/nodes/') && document.readyState === 'complete'", "Enter opens the node")
    page.open(here + "/map")
    lines = "document.querySelectorAll('.broad svg line').length"
    few = page.run(lines)
    page.run("document.querySelector('input[name=links]').click()")
    page.until(f"location.search.includes('links=on') && {lines} > {few} + 20", "links, once asked for")
    page.open(here + "/map")
    page.run("document.querySelector('input[name=find]').value = '17'")
    page.run("document.querySelector('input[name=find]').dispatchEvent(new Event('input', { bubbles: true }))")
    found = page.run("[...document.querySelectorAll('.map a.found')].map((a) => a.getAttribute('href')).join()")
    check(found == "/nodes/17,/nodes/17", f"a search rings the node: {found}")
    page.open(here + "/map?find=17")
    check("1 node found" in page.run("document.querySelector('main').innerText"), "it does so without scripts as well")

    page.open(here + "/nodes?sort=hops")
    hops = page.run("[...document.querySelectorAll('#nodes tbody tr')].map((row) => Number(row.cells[1].innerText) || 0)")
    check(len(hops) == 21 and hops == sorted(hops, reverse=True), f"nodes by hops: {hops}")
    page.run("[...document.querySelectorAll('#nodes th a')].find((a) => a.innerText.includes('Hops')).click()")
    page.until("location.search.includes('order=up')", "the other way round")
    page.open(here + "/nodes?show=old")
    old = page.run("document.querySelectorAll('#nodes tbody tr').length")
    check(old < 20, f"those without an object for a day are fewer: {old}")
    page.size(400)
    page.open(here + "/nodes")
    high = page.run("Math.max(...[...document.querySelectorAll('#nodes tbody tr')].map((row) => row.offsetHeight))")
    check(high <= 60, f"a node has two lines on a phone: {high} px")


def screens(page, gateway, folder):
    """A phone, a tablet, a screen, by day and by night: no page is wider than it."""
    here = f"http://127.0.0.1:{gateway.port}"
    paths = ["/", "/map", "/map?links=on", "/nodes", "/transfers", "/objects", "/log", "/nodes/17", "/jobs/1", "/jobs/5", "/jobs/6"]
    paths += [f"/objects/{o['id']}" for o in gateway.json("/api/objects")["objects"]]
    for scheme in ("light", "dark"):
        page.media(scheme)
        for width in (400, 900, 1600):
            page.size(width)
            for path in paths:
                page.open(here + path)
                wide = page.run("document.documentElement.scrollWidth")
                check(wide <= width, f"{path} is {wide} px wide on {width} px")
                cut = page.run("[...document.querySelectorAll('.lines > *')].filter((e) => e.scrollWidth > e.clientWidth).length")
                check(cut == 0, f"{path}: {cut} lists are cut off on {width} px")
                low = page.run(
                    "[...document.querySelectorAll('button, select, nav a')].filter((e) => e.offsetHeight < 36).length"
                )
                check(low == 0, f"{path}: {low} controls are too low for a finger")
                if folder:
                    name = path.strip("/").replace("/", "-").replace("?", "-") or "overview"
                    page.picture(os.path.join(folder, f"{name}-{width}-{scheme}.png"))
        page.open(here + "/map")
        colours = "[document.body, document.querySelector('.map svg > rect')].map((e) => getComputedStyle(e)[e === document.body ? 'backgroundColor' : 'fill'])"
        light = [sum(map(int, c[4:-1].split(", "))) > 600 for c in page.run(colours)]
        check(light == [scheme == "light"] * 2, f"{scheme}: page and picture are light: {light}")
    page.media("light")


def main(program, folder=None):
    work = tempfile.mkdtemp()
    options = ["--testbed", "floor21", "--bytes", "20000", "--speed", "0.5"]
    gateway = Gateway(program, os.path.join(work, "data"), *options)
    page = Page(os.path.join(work, "browser"))
    here = f"http://127.0.0.1:{gateway.port}"
    try:
        page.size(1200)
        page.open(here + "/")
        check("Nobody has measured" in page.run("document.body.innerText"), "a network that nobody knows says so")
        page.open(here + "/nodes")
        check("Nothing is measured yet" in page.run("document.getElementById('well').innerText"), "so does every page")
        page.open(here + "/")
        took, seen = moves(page, gateway)
        gateway.kill()
        gateway.command[-1] = "20"
        gateway.begin()
        session(page, gateway)
        group(page, gateway)
        crowded(page, gateway)
        is_well(page, program, here, work)
        map_and_nodes(page, here)

        # What is downloaded is what was sent.
        told = gateway.json("/api/objects")["objects"][0]
        page.open(here + "/objects")
        script = f"""fetch('/api/objects/{told['id']}/content').then((a) => a.arrayBuffer())
            .then((bytes) => [...new Uint8Array(bytes)])"""
        content = bytes(page.run(script))
        check(hashlib.sha256(content).hexdigest() == told["sha256"], "the download has the digest")
        check(content == gateway.get(f"/api/objects/{told['id']}/content"), "and the bytes")

        screens(page, gateway, folder)

        # Times are the reader's.
        page.ask("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")
        page.open(here + "/objects")
        pair = "(() => { const e = document.querySelector('time'); return [e.getAttribute('datetime'), e.textContent]; })()"
        utc, shown = page.run(pair)
        hours = (int(shown[11:13]) - int(utc[11:13])) % 24
        check(hours == 9 and "UTC" not in shown, f"times are the reader's: {utc} as {shown}")

        # A keyboard: the first stop skips to the content, and whatever has the focus can be seen.
        page.open(here + "/")
        page.press("Tab")
        check(page.run("document.activeElement.className") == "skip", "Tab leads to the skip link")
        outline = page.run("getComputedStyle(document.activeElement).outlineStyle")
        check(outline == "solid", f"the focus is seen: {outline}")

        elsewhere = [url for url in page.requests if not url.startswith(("http://127.0.0.1:", "data:", "about:"))]
        check(not elsewhere, f"requests to elsewhere: {elsewhere}")
        check(not page.errors, f"errors: {page.errors}")
        print(f"page: a first fetch was seen after {took:.1f} s and moved {seen} times, {len(page.requests)} requests, all of them here")
    finally:
        page.end()
        gateway.kill()
        shutil.rmtree(work, ignore_errors=True)


main(*sys.argv[1:])
