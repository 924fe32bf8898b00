"""Sweeps give the same files wherever their parts are made."""

from __future__ import annotations

import hashlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
import thalweg as tw

OVER = {"run.payload": [40, 80]}


def files(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("*.csv"))}


def test_parts_are_the_same_on_threads_in_shards_and_in_processes(tmp_path: Path):
    sweep = tw.Sweep("cit.bounds", over=OVER, seeds=range(1, 5))
    assert len(sweep) == 8 and sweep.seeds == [1, 2, 3, 4] and len(sweep.points) == 2
    lacking = len(sweep.missing(tmp_path / "local"))
    assert sweep.run(tmp_path / "local", jobs=2) == lacking > 0
    assert sweep.run(tmp_path / "local") == 0 == len(sweep.missing(tmp_path / "local"))
    for number in (1, 2, 3):
        sweep.run(tmp_path / "shards", shard=(number, 3))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        told: list[tuple[int, int, str]] = []
        sweep.run(tmp_path / "pool", executor=pool, progress=lambda *step: told.append(step))
    assert told[-1] == (lacking, lacking, "parts")
    assert files(tmp_path / "local") == files(tmp_path / "shards") == files(tmp_path / "pool")
    assert len(files(tmp_path / "local")) == lacking


def test_rows_and_reports_of_a_sweep(tmp_path: Path):
    pytest.importorskip("polars")
    sweep = tw.Sweep("cit.bounds", points={"run.payload": [80, 110]}, seeds=[1, 2])
    with pytest.raises(tw.InputError, match="no part of a sweep"):
        tw.scan(tmp_path)
    sweep.run(tmp_path)
    reports = tw.reports(tmp_path)
    # As they were asked for: as texts, 110 would come before 80.
    assert list(reports) == sweep.points
    assert all(report.seeds == [1, 2] for report in reports.values())
    rows = tw.scan(tmp_path).collect()
    assert set(rows["at.run.payload"]) == {80, 110} and len(rows) == sum(len(report.rows) for report in reports.values())


def test_points_are_drawn_by_a_seed():
    spans = {"run.payload": (40, 118), "run.age_s": (0.0, 7200.0), "run.protocols": ["p3", "pip"]}
    points = tw.latin_hypercube(spans, n=8, seed=1)
    assert set(points) == set(spans) and all(len(column) == 8 for column in points.values())
    assert sorted(int(age / 900) for age in points["run.age_s"]) == list(range(8))
    assert sorted(points["run.protocols"]) == ["p3"] * 4 + ["pip"] * 4
    assert points == tw.latin_hypercube(spans, n=8, seed=1) != tw.latin_hypercube(spans, n=8, seed=2)
    few, more = tw.random(spans, n=3), tw.random(spans, n=5)
    assert all(more[key][:3] == few[key] for key in spans)
    assert len(tw.Sweep("cit.bounds", points=tw.random({"run.payload": (40, 118)}, n=5), seeds=[1])) == 5


@pytest.mark.parametrize(
    ("spans", "n", "says"),
    [
        ({"run.payload": (118, 40)}, 3, "run.payload: the range 118..40 is empty"),
        ({"run.payload": "40"}, 3, "run.payload"),
        ({"payload": (40, 118)}, 3, "payload"),
        ({"run.payload": (40, float("nan"))}, 3, "run.payload"),
        ({"run.payload": (40, 118)}, 0, "n: expected"),
        ({"run.payload": (40, 118)}, 10**9, "points"),
    ],
)
def test_what_cannot_be_drawn_is_told(spans, n, says):
    with pytest.raises(tw.InputError, match=says):
        tw.random(spans, n=n)


def test_parts_are_the_same_on_workers_of_dask(tmp_path: Path):
    distributed = pytest.importorskip("distributed")
    sweep = tw.Sweep("cit.bounds", over=OVER, seeds=range(1, 5))
    sweep.run(tmp_path / "local", jobs=1)
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        sweep.run(tmp_path / "dask", executor=client)
    assert files(tmp_path / "dask") == files(tmp_path / "local") != {}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"over": {"run.paylaod": [40]}}, "paylaod"),
        ({"over": {"run.payload": [400]}}, "payload"),
        ({"over": {"run.payload": []}}, "payload"),
        ({}, "either over= or points="),
        ({"over": OVER, "seeds": [-1]}, "seeds"),
        ({"over": OVER, "seeds": [1, 1]}, "twice"),
        ({"over": OVER, "seeds": 3}, "a list or a range"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(arguments, says):
    with pytest.raises(tw.InputError, match=says) as raised:
        tw.Sweep("cit.bounds", **arguments)
    assert "\n" not in str(raised.value)


def test_a_point_that_fails_is_told_with_what_is_lost(tmp_path: Path):
    run = {"kind": "transfers", "testbed": "line5", "protocols": ["pip"]}
    mine = {"id": "mine", "title": "Mine", "run": run}
    sweep = tw.Sweep(mine, over={"run.routes": [[[5, 1]], [[9, 1]]]}, seeds=[1])
    with pytest.raises(tw.JobError, match="1 of 1 parts failed, with all their points; the first: seed 1, .*no node 9"):
        sweep.run(tmp_path)


def test_columns_have_types_that_do_not_depend_on_the_first_part(tmp_path: Path):
    polars = pytest.importorskip("polars")
    sweep = tw.Sweep("cit.bounds", over={"run.payload": [40]}, seeds=[1])
    sweep.run(tmp_path)
    known = tw.scan(tmp_path).collect()
    assert known["at.run.payload"].dtype == polars.Int64
    [file] = tmp_path.glob("*.csv")
    heading = file.read_text().splitlines()[0]
    file.write_text(heading + "\n" + "," * heading.count(",") + "\n")
    assert tw.scan(tmp_path).collect().schema == known.schema
