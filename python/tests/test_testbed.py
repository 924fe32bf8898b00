"""Testbeds are values: they are the same in another process."""

from __future__ import annotations

import csv
import datetime
import io
import math
import pickle
from pathlib import Path

import pytest
import thalweg as tw

LINKS = "src,dst,channel,prr,rssi_dbm\n1,2,26,0.9,-80\n2,1,26,0.8,-81\n2,5,26,1.0,-70\n5,2,26,1.0,-70\n"


def test_what_a_testbed_says_of_itself():
    assert {"indriya", "line5", "motes20"} <= set(tw.Testbed.names())
    site = tw.testbed("indriya")
    assert (site.name, len(site), site.sink, site.control_channel) == ("indriya", 139, 1, 26)
    assert site.channels == list(range(11, 27)) and "139 nodes" in repr(site)
    nodes = site.nodes(seed=3)
    assert nodes.columns == ["node", "label", "x_m", "y_m", "floor"] and len(nodes) == 139
    assert set(nodes["floor"]) == {0, 1, 2}
    assert nodes.to_dicts() != site.nodes(seed=4).to_dicts()
    assert site.svg(seed=3).startswith("<svg") and site.svg(seed=3) != site._repr_svg_()


def test_a_file_and_a_name_travel(tmp_path: Path, monkeypatch):
    (tmp_path / "site.csv").write_text(LINKS)
    monkeypatch.chdir(tmp_path)
    site = tw.testbed("site.csv")
    monkeypatch.chdir("/")
    for one in (site, tw.testbed("line5")):
        again = pickle.loads(pickle.dumps(one))
        assert (again.name, len(again), again.channels) == (one.name, len(one), one.channels)
    assert tw.testbed(site) is site and tw.testbed(tmp_path / "site.csv").name == "site"
    links = tw.collect(site, object=500, sink=1)
    assert links.verified and links.sink == 1


ROWS = [
    {key: None if value == "" else float(value) if key in ("prr", "rssi_dbm") else int(value) for key, value in row.items()}
    for row in csv.DictReader(io.StringIO(LINKS))
]
COLUMNS = {key: [row[key] for row in ROWS] for key in ROWS[0]}


def made_by_each_library():
    """The same links as tables of whatever is installed."""
    tables = {"dict": COLUMNS}
    try:
        import polars

        tables["polars"] = polars.DataFrame(ROWS)
        tables["categories"] = polars.DataFrame(ROWS).with_columns(polars.col("src").cast(polars.UInt16))
    except ImportError:
        pass
    try:
        import duckdb

        rows = ", ".join(str(tuple(row.values())) for row in ROWS)
        tables["duckdb"] = duckdb.sql(f"select * from (values {rows}) as t({', '.join(COLUMNS)})")
    except ImportError:
        pass
    try:
        import pandas

        tables["pandas"] = pandas.DataFrame(ROWS)
    except ImportError:
        pass
    return tables


@pytest.mark.parametrize(("library", "table"), made_by_each_library().items())
def test_links_of_any_table_are_those_of_the_file(library, table, tmp_path: Path):
    (tmp_path / "mine.csv").write_text(LINKS)
    site, file = tw.testbed(table, name="mine"), tw.testbed(tmp_path / "mine.csv")
    assert site.links.to_dicts() == ROWS
    # A file's are means of what it says of a link.
    assert [pytest.approx(row) for row in file.links.to_dicts()] == ROWS
    assert tw.collect(site, object=500, sink=1).to_dict() == tw.collect(file, object=500, sink=1).to_dict()
    again = pickle.loads(pickle.dumps(site))
    assert again.digest == site.digest and again.name == "mine"
    site.save(tmp_path / "saved.csv")
    assert (tmp_path / "saved.csv").read_text() == LINKS.replace("1.0,-70", "1,-70")


@pytest.mark.parametrize("library", ["dict", "polars"])
def test_columns_beside_those_of_links_may_hold_anything(library):
    when = [datetime.datetime(2024, 1, day) for day in range(1, 1 + len(ROWS))]
    table = {**COLUMNS, "heard_at": when}
    if library == "polars":
        table = pytest.importorskip("polars").DataFrame(table)
    assert tw.testbed(table).links.to_dicts() == ROWS
    wrong = {**COLUMNS, "prr": when} if library == "dict" else table.with_columns(prr="heard_at")
    with pytest.raises(tw.InputError, match="column prr"):
        tw.testbed(wrong)


def test_links_of_matrices():
    numpy = pytest.importorskip("numpy")
    prr, rssi = numpy.full((2, 3, 3), math.nan), numpy.full((2, 3, 3), math.nan)
    for row in ROWS:
        a, b = [1, 2, 5].index(row["src"]), [1, 2, 5].index(row["dst"])
        prr[1, a, b], rssi[1, a, b] = row["prr"], row["rssi_dbm"]
    prr[0, 0, 1] = 0.5
    site = tw.testbed(prr=prr, rssi_dbm=rssi, ids=[1, 2, 5], channels=[20, 26], name="mine")
    first = {"src": 1, "dst": 2, "channel": 20, "prr": 0.5, "rssi_dbm": None}
    assert site.links.to_dicts() == [first, *ROWS]
    whole = tw.testbed(prr=[[0, 0.9], [0.8, 0]])
    assert [(row["src"], row["channel"]) for row in whole.links.to_dicts()] == [(1, None), (2, None)]
    for wrong, where in [
        ({"prr": [[1, 2, 3]]}, "prr"),
        ({"prr": prr, "channels": [11]}, "channels"),
        ({"prr": prr[0], "ids": [1]}, "ids"),
        ({"prr": prr[0], "ids": [1, 2, 7.5]}, "ids"),
        ({"prr": prr[0], "ids": ["a", "b", "c"]}, "ids"),
        ({"prr": prr[0], "channels": 26}, "channels"),
        ({"prr": prr[0], "name": 5}, "name"),
        ({"prr": prr, "rssi_dbm": rssi[0], "channels": [20, 26]}, "rssi_dbm"),
    ]:
        with pytest.raises(tw.InputError) as raised:
            tw.testbed(**wrong)
        assert raised.value.where == where, wrong


def test_an_experiment_runs_over_links_that_are_a_value(tmp_path: Path):
    site = tw.testbed(COLUMNS, name="mine")
    (tmp_path / "mine.csv").write_text(LINKS)
    run = {"kind": "transfers", "testbed": site, "protocols": ["p3"], "routes": [[5, 1]]}
    given = tw.experiment({"id": "mine", "title": "Over links of my own", "seeds": 1, "run": run})
    rows = [tw.run(given).rows, tw.run(pickle.loads(pickle.dumps(given))).rows]
    file = given.with_({"run.testbed": str(tmp_path / "mine.csv")})
    rows += [tw.run(file).rows, tw.run(file, testbed=site).rows]
    plain = [[{**row, "testbed": None} for row in table.to_dicts()] for table in rows]
    assert plain[0] and all(one == plain[0] for one in plain)
    with pytest.raises(tw.InputError, match=r'mine has no file, .*save\("mine.csv"\)'):
        given.save(tmp_path / "given.toml")
