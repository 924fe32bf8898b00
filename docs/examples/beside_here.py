"""One hop and three hops of saturated carrier sense, as beside_ns3.py has them: `pip install ./python`."""

import resource
import sys
import time

begun = time.perf_counter()
import thalweg as tw  # noqa: E402


def measure(name, links):
    both = links + [(other, one) for one, other in links]
    with open(f"{name}.csv", "w") as file:
        file.write("src,dst,prr,rssi_dbm\n" + "".join(f"{one},{other},1,-70\n" for one, other in both))
    # A board that has the standard's MAC; those of a CC2420 have TinyOS'.
    with open(f"{name}.toml", "w") as file:
        file.write(f'name = "{name}"\nboard = "cc2538"\nsink = 1\n[links]\nfile = "{name}.csv"\n')
    run = {
        "kind": "convergecast",
        "testbed": f"{name}.toml",
        "strategies": ["none"],
        "offered": [100],
        "frame_bytes": 125,
        "duration_s": 100,
        "detail": "nodes",
    }
    before = time.process_time()
    rows = tw.run({"id": "beside", "title": name, "seeds": 10, "run": run}, jobs=1).rows.to_dicts()
    took = time.process_time() - before
    nodes = [row for row in rows if row["scope"] == "node"]
    each = [sum(row["throughput"] for row in nodes if row["node"] == node) / 10 for node in (2, 3, 4)]
    totals = [row["throughput"] for row in rows if row["scope"] == "run"]
    print(f"{name}: {sum(each):.1f} packets/s ({min(totals):.1f} to {max(totals):.1f}), of each source {each}; {took:.2f} s")


print(f"thalweg is there after {time.perf_counter() - begun:.2f} s")
measure("one hop", [(1, 2), (1, 3), (1, 4), (2, 3), (3, 4), (2, 4)])
measure("three hops", [(1, 2), (2, 3), (3, 4)])
print(f"{time.perf_counter() - begun:.2f} s and {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB in all", file=sys.stderr)
