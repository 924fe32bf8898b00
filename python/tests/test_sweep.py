"""Sweeps give the same files wherever their parts are made."""

from __future__ import annotations

import hashlib
import importlib.util
import multiprocessing
import os
import pickle
import random
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
import thalweg as tw

OVER = {"run.payload": [40, 80]}


def files(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("*.csv"))}


def rows(folder: Path) -> str:
    """The digest of all rows, in whatever part they are."""
    parts = [file.read_text().splitlines() for file in folder.glob("*.csv")]
    [heading] = {part[0] for part in parts}
    lines = sorted(line for part in parts for line in part[1:])
    return hashlib.sha256("\n".join([heading, *lines]).encode()).hexdigest()


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


def test_whole_numbers_of_a_column_with_gaps_are_whole():
    over = tw.Sweep("cit.bounds", points={"run.payload": [40.0, float("nan")]}, seeds=[1])
    assert over.points == ["run.payload = 40", "the experiment as it is"]
    assert pickle.loads(pickle.dumps(over)).points == over.points


def test_without_points_it_is_the_experiment_as_it_is(tmp_path: Path):
    sweep = tw.Sweep("cit.bounds", seeds=[1, 2])
    sweep.run(tmp_path)
    [report] = tw.judge(sweep, tmp_path).values()
    assert report.rows.to_dicts() == tw.run("cit.bounds", seeds=[1, 2]).rows.to_dicts()
    with pytest.raises(tw.InputError, match="holds parts of"):
        tw.judge(tw.Sweep("cit.fig3", seeds=[1]), tmp_path)


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


def test_rows_are_those_of_the_command_line(tmp_path: Path, thalweg):
    sweep = tw.Sweep("cit.bounds", over=OVER, seeds=range(1, 5))
    sweep.run(tmp_path / "local", jobs=1)
    thalweg("sweep", "cit.bounds", "--over", "run.payload=40,80", "--seeds", "1..4", "--out", tmp_path / "other")
    assert rows(tmp_path / "other") == rows(tmp_path / "local")
    # Another build makes parts of its own, and takes none of these.
    with pytest.raises(tw.InputError, match="another build"):
        sweep.run(tmp_path / "other")


def many() -> tw.Sweep:
    """So many parts that something happens meanwhile."""
    return tw.Sweep(tw.experiment("cit.bounds").with_({"cpu_s": 5.0}), over=OVER, seeds=range(1, 61))


def test_parts_are_the_same_on_workers_of_dask_of_which_one_is_killed(tmp_path: Path):
    distributed = pytest.importorskip("distributed")
    many().run(tmp_path / "local", jobs=2)
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        workers = client.run(os.getpid).values()

        def kill(done: int, total: int, label: str) -> None:
            for worker in [] if killed or done < 10 else list(workers)[:1]:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

        killed: list[int] = []
        many().run(tmp_path / "dask", executor=client, progress=kill)
    assert killed and files(tmp_path / "dask") == files(tmp_path / "local") != {}


def test_killed_at_ten_moments_it_loses_and_doubles_nothing(tmp_path: Path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    begun = time.monotonic()
    many().run(whole, jobs=2)
    took, chance = time.monotonic() - begun, random.Random(51)
    for _ in range(10):
        child = multiprocessing.get_context("fork").Process(target=lambda: many().run(killed, jobs=2))
        child.start()
        time.sleep(chance.uniform(0, took / 4))
        child.kill()
        child.join()
    many().run(killed, jobs=2)
    assert files(killed) == files(whole) and len(files(whole)) == 120
    assert not [path for path in killed.iterdir() if path.suffix == ".part" and "manifest" not in path.name]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"over": {"run.paylaod": [40]}}, "paylaod"),
        ({"over": {"run.payload": [400]}}, "payload"),
        ({"over": {"run.payload": []}}, "payload"),
        ({"over": OVER, "points": OVER}, "either over= or points="),
        ({"over": OVER, "seeds": [-1]}, "seeds"),
        ({"over": OVER, "seeds": [1, 1]}, "twice"),
        ({"over": OVER, "seeds": 3}, "a list or a range"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(arguments, says):
    with pytest.raises(tw.InputError, match=says) as raised:
        tw.Sweep("cit.bounds", **arguments)
    assert "\n" not in str(raised.value)


def test_a_point_that_fails_is_told_and_leaves_the_others_alone(tmp_path: Path):
    run = {"kind": "transfers", "testbed": "line5", "protocols": ["pip"]}
    mine = {"id": "mine", "title": "Mine", "run": run}
    sweep = tw.Sweep(mine, over={"run.routes": [[[5, 1]], [[9, 1]]]}, seeds=[1])
    says = "1 runs failed, which column `error` says of their rows; the first: seed 1, .*no node 9"
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        # Again, too: then nothing is left to do.
        for how in ({"jobs": 1}, {"jobs": 1}, {"executor": pool}):
            with pytest.raises(tw.JobError, match=says):
                sweep.run(tmp_path, **how)
    assert sweep.missing(tmp_path) == []
    [report] = tw.reports(tmp_path).values()
    assert len(report.rows) == 1
    polars = pytest.importorskip("polars")
    error = polars.col("error")
    assert tw.scan(tmp_path).select(error.is_null().sum(), n=error.str.contains("no node 9").sum()).collect().row(0) == (1, 1)


def test_a_part_that_was_emptied_is_made_again(tmp_path: Path):
    sweep = tw.Sweep("cit.bounds", over=OVER, seeds=[1])
    sweep.run(tmp_path)
    made = files(tmp_path)
    next(tmp_path.glob("*.csv")).write_text("")
    assert len(sweep.missing(tmp_path)) == 1 == sweep.run(tmp_path)
    assert files(tmp_path) == made


def test_over_links_that_are_a_value(tmp_path: Path):
    def row(prr: float, name: str) -> tw.Testbed:
        links = {"src": [1, 2, 2, 3], "dst": [2, 1, 3, 2], "prr": [prr, 1, 1, prr]}
        return tw.testbed(links, name=name)

    run = {"kind": "transfers", "testbed": row(0.9, "mine"), "protocols": ["thalweg"], "routes": [[3, 1]], "packets": 20}
    mine = tw.experiment({"id": "mine", "title": "Mine", "cpu_s": 5, "run": run})
    sites = [row(1, "good"), row(0.8, "bad")]
    sweep = tw.Sweep(mine, over={"run.testbed": sites}, seeds=[1, 2])
    assert sweep.points == ['run.testbed = "good"', 'run.testbed = "bad"']
    sweep.run(tmp_path / "local", jobs=1)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        sweep.run(tmp_path / "pool", executor=pool)
    assert files(tmp_path / "pool") == files(tmp_path / "local") != {}
    reports = tw.reports(tmp_path / "local")
    for site, report in zip(sites, reports.values()):
        alone = tw.run(mine, testbed=site, seeds=[1, 2]).rows
        assert report.rows["goodput_kbps"] == alone["goodput_kbps"]
    base = tw.Sweep(mine, over={"run.packets": [20, 30]}, seeds=[1])
    assert base.run(tmp_path / "base") == 2
    # Other links of the same name are others.
    other = mine.with_({"run.testbed": row(0.7, "mine")})
    with pytest.raises(tw.InputError, match="other keys, files or losses"):
        tw.Sweep(other, over={"run.packets": [20, 30]}, seeds=[1]).run(tmp_path / "base")
    with pytest.raises(tw.InputError, match="run.testbed: two testbeds are called 'good'"):
        tw.Sweep(mine, over={"run.testbed": [sites[0], row(0.5, "good")]})


@pytest.mark.parametrize("library", ["polars", "duckdb", "pyarrow"])
def test_parquet_by_what_is_installed(library, tmp_path: Path, monkeypatch):
    pytest.importorskip(library)
    polars = pytest.importorskip("polars")
    tw.Sweep("cit.bounds", over=OVER, seeds=[1, 2]).run(tmp_path / "runs")
    there = tw.scan(tmp_path / "runs").collect()
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: find_spec(name) if name == library else None)
    tw.to_parquet(tmp_path / "runs", tmp_path / "rows.parquet")
    read = polars.read_parquet(tmp_path / "rows.parquet")
    assert read.schema == there.schema
    assert read.sort("seed", "point", *read.columns).equals(there.sort("seed", "point", *there.columns))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(tw.InputError, match="needs polars, DuckDB or pyarrow"):
        tw.to_parquet(tmp_path / "runs", tmp_path / "rows.parquet")


def test_rows_go_to_duckdb(tmp_path: Path):
    pytest.importorskip("duckdb")
    tw.Sweep("cit.bounds", over=OVER, seeds=[1, 2]).run(tmp_path)
    relation = tw.scan(tmp_path, into="duckdb")
    assert dict(zip(relation.columns, map(str, relation.types)))["at.run.payload"] == "BIGINT"
    assert relation.aggregate('"at.run.payload"').order("1").fetchall() == [(40,), (80,)]
    with pytest.raises(tw.InputError, match='expected "polars" or "duckdb"'):
        tw.scan(tmp_path, into="pandas")


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
