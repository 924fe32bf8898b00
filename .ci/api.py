#!/usr/bin/env python3
"""The gateway's API against its own description: schemathesis asks what the description allows and what it does not, for half a
minute, and compares statuses, types and bodies. Then its metrics, as promtool checks them, where that is at hand.

    python3 -m venv VENV && VENV/bin/pip install schemathesis
    .ci/api.py target/release/thalweg VENV/bin/schemathesis [promtool]
"""

import os
import shutil
import subprocess
import sys
import tempfile

from processes import Gateway, check, until

SECONDS = 30
# What no description of OpenAPI can say is left out: a stream of events has no end.
LEFT_OUT = ["--exclude-path", "/api/events"]
# A gateway refuses nodes and stations that it has not, which no description can tell: 422 is an answer, too.
# A cancelled job stays to be read, and a survey has no rates, which a session has.
EXCEPT = "positive_data_acceptance,use_after_free,ensure_resource_availability"


def main(program, schemathesis, promtool=None):
    work = tempfile.mkdtemp()
    gateway = Gateway(program, os.path.join(work, "data"), "--testbed", "floor21", "--speed", "1000", "--bytes", "3000")
    try:
        ids = gateway.fetch([4, 6])
        until(lambda: all(gateway.jobs()[id]["state"] == "done" for id in ids), "two objects")
        url = f"http://127.0.0.1:{gateway.port}"
        command = [schemathesis, "run", f"{url}/api/openapi.json", "--exclude-checks", EXCEPT, *LEFT_OUT]
        command += ["--max-time", str(SECONDS), "--seed", "1", "--request-timeout", "20", "--continue-on-failure"]
        done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode:
            print(done.stdout[-12_000:])
        check(done.returncode == 0, "the API is as it is described")
        check(gateway.process.poll() is None, "the gateway lives")
        status = gateway.json("/healthz")["status"]
        check(status == "ok", f"the gateway is well: {status}")
        print("api:", done.stdout.strip().splitlines()[-1].strip("= "))
        if promtool:
            metrics = gateway.get("/metrics")
            done = subprocess.run([promtool, "check", "metrics"], input=metrics, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            check(done.returncode == 0 and not done.stdout, f"promtool finds nothing: {done.stdout.decode()}")
            print(f"metrics: {metrics.count(b'# TYPE')} of them, and promtool finds nothing")
    finally:
        gateway.kill()
        shutil.rmtree(work, ignore_errors=True)


main(*sys.argv[1:])
