#!/usr/bin/env python3
"""Drives the gateway's page in headless Chromium: a fetch that moves, a reload in the middle, one that is
cancelled, a daemon that is killed and begins again under the open page, a plan, a session whose rates move, a
download, and what a phone and a keyboard find. Speaks the DevTools protocol over a pipe; needs Chromium and Python alone.

    .ci/page.py target/release/thalweg
"""

import hashlib
import json
import os
import shutil
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

    def end(self):
        self.process.kill()
        self.process.wait()


def check(holds, what):
    if not holds:
        raise SystemExit(f"page: {what}")


def fetch(page, node):
    """Asks for a node's object as a person does; the page has a mark that goes when it is loaded anew."""
    page.run(f"document.querySelector('select[name=what]').value = '{node}'")
    page.run("document.querySelector('select[name=what]').form.requestSubmit()")
    page.until("location.pathname === '/transfers' && document.readyState === 'complete'", "the list of transfers")
    page.run("window.mark = true")


def state_of(job):
    row = f"[...document.querySelectorAll('#jobs tbody tr')].find((row) => row.cells[0].innerText === '{job}')"
    return f"({row}?.cells[2].innerText ?? '')"


def main(program):
    work = tempfile.mkdtemp()
    options = ["--testbed", "floor21", "--bytes", "20000", "--speed", "0.5"]
    gateway = Gateway(program, os.path.join(work, "data"), *options)
    page = Page(os.path.join(work, "browser"))
    here = f"http://127.0.0.1:{gateway.port}"
    try:
        page.open(here + "/")
        check("Nobody has measured" in page.run("document.body.innerText"), "a network that nobody knows says so")

        # A fetch moves by itself.
        fetch(page, 17)
        page.until("document.querySelector('#jobs progress')", "a bar")
        seen = set()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and "done" not in page.run(state_of(1)):
            seen.add(page.run("document.querySelector('#jobs progress')?.value ?? null"))
            time.sleep(0.05)
        check("done" in page.run(state_of(1)), "the first job is done")
        check(len(seen - {None}) >= 5, f"its bar moves: {sorted(seen - {None})}")
        check(page.run("window.mark"), "and nobody loaded the page again")

        # A reload in the middle.
        fetch(page, 6)
        page.until("document.querySelector('#jobs progress')?.value > 0", "the second job moves")
        page.ask("Page.reload")
        page.until("!window.mark && document.readyState === 'complete'", "the page anew")
        page.until("document.querySelector('#jobs progress, #jobs tbody tr')", "what it was about")
        page.until(f"{state_of(2)}.includes('done')", "the second job is done")

        # One that nobody wants any more.
        fetch(page, 8)
        page.until("document.querySelector('#jobs form[action$=cancel] button')", "a button to cancel")
        page.run("document.querySelector('#jobs form[action$=cancel] button').click()")
        page.until(f"{state_of(3)}.includes('cancelled')", "the third job is cancelled")

        # The daemon dies and comes back under the open page.
        fetch(page, 4)
        page.until("document.querySelector('#jobs progress')", "the fourth job")
        gateway.kill()
        page.until("document.getElementById('link').innerText.includes('does not answer')", "that it is gone")
        gateway.begin()
        page.until("document.getElementById('link').innerText === ''", "that it is back")
        page.until(f"{state_of(4)}.includes('done')", "the fourth job is done")
        check(page.run("window.mark"), "all that without loading the page again")

        # A plan is on the map.
        page.open(here + "/")
        page.run("document.querySelector('select[name=what]').value = '17'")
        page.run("document.querySelector('button[value=plan]').click()")
        page.until("location.pathname === '/jobs/5' && document.readyState === 'complete'", "the plan's page")
        page.until("document.getElementById('job').innerText.includes('Backup relays')", "the plan's stages")
        check("has the object" in page.run("document.querySelector('.map').textContent"), "its route is drawn")

        # A session's rates move by themselves. Finding routes takes a minute of the network's time.
        gateway.kill()
        gateway.command[-1] = "20"
        gateway.begin()
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
        check(len(json.loads(gateway.get("/api/objects"))["objects"]) >= 5, "what came is kept")

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

        # What is downloaded is what was sent.
        told = json.loads(gateway.get("/api/objects"))["objects"][0]
        script = f"""fetch('/api/objects/{told['id']}/content').then((a) => a.arrayBuffer())
            .then((bytes) => [...new Uint8Array(bytes)])"""
        content = bytes(page.run(script))
        check(hashlib.sha256(content).hexdigest() == told["sha256"], "the download has the digest")
        check(content == gateway.get(f"/api/objects/{told['id']}/content"), "and the bytes")

        # A phone, a tablet, a screen: no page is wider than it.
        paths = ["/", "/transfers", "/objects", "/log", "/nodes/17", "/jobs/5", "/jobs/6"]
        paths += [f"/objects/{o['id']}" for o in json.loads(gateway.get("/api/objects"))["objects"]]
        for width in (400, 900, 1600):
            page.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
            for path in paths:
                page.open(here + path)
                wide = page.run("document.documentElement.scrollWidth")
                check(wide <= width, f"{path} is {wide} px wide on {width} px")
                low = page.run(
                    "[...document.querySelectorAll('button, select, nav a')].filter((e) => e.offsetHeight < 36).length"
                )
                check(low == 0, f"{path}: {low} controls are too low for a finger")

        # A keyboard: the first stop skips to the content, and whatever has the focus can be seen.
        page.open(here + "/")
        key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
        page.ask("Input.dispatchKeyEvent", type="keyDown", **key)
        check(page.run("document.activeElement.className") == "skip", "Tab leads to the skip link")
        outline = page.run("getComputedStyle(document.activeElement).outlineStyle")
        check(outline == "solid", f"the focus is seen: {outline}")

        elsewhere = [url for url in page.requests if not url.startswith((here + "/", "data:", "about:"))]
        check(not elsewhere, f"requests to elsewhere: {elsewhere}")
        check(not page.errors, f"errors: {page.errors}")
        print(f"page: a fetch moved {len(seen)} times, {len(page.requests)} requests, all of them here")
    finally:
        page.end()
        gateway.kill()
        shutil.rmtree(work, ignore_errors=True)


main(*sys.argv[1:])
