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
    sweep = tw.Sweep("cit.bounds", points={"run.payload": [40, 80]}, seeds=[1, 2])
    sweep.run(tmp_path)
    reports = tw.reports(tmp_path)
    assert sorted(reports) == sorted(sweep.points)
    assert all(report.seeds == [1, 2] for report in reports.values())
    polars = pytest.importorskip("polars")
    rows = tw.scan(tmp_path).collect()
    assert set(rows["at.run.payload"]) == {40, 80} and len(rows) == sum(len(report.rows) for report in reports.values())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"over": {"run.paylaod": [40]}}, "paylaod"),
        ({"over": {"run.payload": [400]}}, "payload"),
        ({"over": {"run.payload": []}}, "payload"),
        ({}, "either over= or points="),
        ({"over": OVER, "seeds": [-1]}, "seeds"),
        ({"over": OVER, "seeds": [1, 1]}, "twice"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(arguments, says):
    with pytest.raises(tw.InputError, match=says) as raised:
        tw.Sweep("cit.bounds", **arguments)
    assert "\n" not in str(raised.value)
