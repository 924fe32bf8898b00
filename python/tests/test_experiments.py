"""Experiments give the rows of the command line, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import thalweg as tw

CHEAP = ["cit.bounds", "cit.fig3", "ff.bounds", "ff.window", "p3.table2"]


@pytest.mark.parametrize("name", CHEAP)
def test_rows_results_and_figures_are_those_of_the_command_line(name, thalweg, tmp_path: Path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    thalweg("reproduce", name, "--quick", "--out", theirs)
    report = tw.run(name, quick=True, jobs=1)
    report.save(ours)
    compared = sorted(path.name for path in (theirs / name).iterdir() if path.name != "manifest.json")
    assert {"rows.csv", "rows.json", "results.json"} <= set(compared)
    for file in compared:
        assert (ours / file).read_bytes() == (theirs / name / file).read_bytes(), file
    assert report.rows.to_dicts() == with_all_columns(json.loads((theirs / name / "rows.json").read_text()))


def with_all_columns(rows: list[dict]) -> list[dict]:
    """A table has every column in every row."""
    columns = sorted({column for row in rows for column in row})
    return [{column: row.get(column) for column in columns} for row in rows]


def test_results_are_those_that_the_command_line_prints(thalweg):
    lines = thalweg("run", "cit.bounds", "--seeds", "1..2", "--json").splitlines()
    report = tw.run("cit.bounds", seeds=range(1, 3))
    assert report.to_dicts() == [json.loads(line) for line in lines]
    assert report.results["value"] == [entry["value"] for entry in report.to_dicts()]
