"""Experiments give the rows of the command line, byte for byte."""

from __future__ import annotations

import json
import pickle
from functools import cache
from pathlib import Path
from typing import Callable

import pytest
import thalweg as tw

CHEAP = ["cit.bounds", "cit.fig3", "cit.fig6", "ff.twostreams", "fusion.fig2_5", "p3.pip", "rcrt.fig2", "rcrt.single"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "built_in" in metafunc.fixturenames:
        every = metafunc.config.getoption("--all")
        metafunc.parametrize("built_in", tw.experiments()["id"] if every else CHEAP)


@pytest.fixture(scope="session")
def of_paper(thalweg, tmp_path_factory) -> Callable[[str], tuple[dict[str, tw.Report], Path]]:
    """The quick subset of all of a paper's results, ours and the folder of the command line's: equal runs are shared."""
    ids: dict[str, list[str]] = {}
    for entry in tw.experiments().to_dicts():
        ids.setdefault(entry["paper"], []).append(entry["id"])

    @cache
    def both(paper: str) -> tuple[dict[str, tw.Report], Path]:
        theirs = tmp_path_factory.mktemp(paper)
        thalweg("reproduce", *ids[paper], "--quick", "--out", theirs)
        return tw.reproduce(*ids[paper], quick=True).reports, theirs

    return both


def test_rows_results_and_figures_are_those_of_the_command_line(built_in: str, thalweg, of_paper, pytestconfig, tmp_path: Path):
    name, ours, theirs = built_in, tmp_path / "ours", tmp_path / "theirs"
    if pytestconfig.getoption("--all"):
        reports, theirs = of_paper(tw.experiment(name).paper)
        report = reports[name]
    else:
        thalweg("reproduce", name, "--quick", "--out", theirs)
        report = tw.run(name, quick=True, jobs=1)
    report.save(ours)
    compared = sorted(path.name for path in (theirs / name).iterdir() if path.name != "manifest.json")
    assert {"rows.csv", "rows.json", "results.json"} <= set(compared)
    for file in compared:
        assert (ours / file).read_bytes() == (theirs / name / file).read_bytes(), file
    rows = json.loads((theirs / name / "rows.json").read_text())
    assert [{key: value for key, value in row.items() if value is not None} for row in report.rows.to_dicts()] == rows


def test_rows_have_one_schema_whatever_is_in_them():
    polars = pytest.importorskip("polars")
    rows = [tw.run("cit.bounds", seeds=[1]).rows, tw.run("cit.bounds", seeds=[2]).rows]
    assert polars.DataFrame(rows[0]).schema == polars.DataFrame(rows[1]).schema
    assert rows[0].units and rows[0].about["seed"] == "The seed."


def test_results_are_those_that_the_command_line_prints(thalweg):
    lines = thalweg("run", "cit.bounds", "--seeds", "1..2", "--json").splitlines()
    report = tw.run("cit.bounds", seeds=range(1, 3))
    assert report.to_dicts() == [json.loads(line) for line in lines]
    assert report.results["value"] == [entry["value"] for entry in report.to_dicts()]


def test_what_there_is_is_what_the_command_line_lists(thalweg):
    listed = json.loads(thalweg("experiment", "list", "--json"))
    assert tw.experiments().to_dicts() == listed
    protocols = json.loads(thalweg("protocols", "--json"))
    ours = tw.protocols().to_dicts()
    assert [one["name"] for one in ours] == [one["name"] for one in protocols]
    assert [one["takes"].split() for one in ours] == [one["takes"] for one in protocols]


OWN = {
    "id": "own.window",
    "title": "How goodput depends on the payload",
    "seeds": 2,
    "run": {
        "kind": "transfers",
        "testbed": "line5",
        "protocols": ["p3"],
        "payload": 40,
        "routes": [[5, 1]],
    },
    "metric": [{"name": "goodput", "unit": "kbit/s", "of": "goodput_kbps", "stat": "mean"}],
}


def test_an_experiment_is_a_file_a_text_or_a_dict_and_travels(thalweg, tmp_path: Path):
    own = tw.experiment(OWN)
    own.save(tmp_path / "own.toml")
    for same in (tmp_path / "own.toml", own.text, pickle.loads(pickle.dumps(own))):
        assert tw.experiment(same).to_dict() == own.to_dict()
    lines = thalweg("run", tmp_path / "own.toml", "--json").splitlines()
    assert tw.run(own).to_dicts() == [json.loads(line) for line in lines]
    assert own.seeds == [1, 2]


def test_rows_that_are_there_are_judged_as_those_that_were_run():
    report = tw.run("cit.bounds", seeds=range(1, 4))
    for rows in (report.rows, {name: report.rows[name] for name in report.rows.columns}):
        again = tw.judge("cit.bounds", rows)
        assert again.to_dicts() == report.to_dicts() and again.seeds == [1, 2, 3]
    polars = pytest.importorskip("polars")
    assert tw.judge("cit.bounds", polars.DataFrame(report.rows)).figures == report.figures


def test_a_papers_results_are_a_page(tmp_path: Path):
    done = tw.reproduce("cit.bounds", "cit.fig3", quick=True)
    assert list(done.reports) == ["cit.bounds", "cit.fig3"] and not done.misses
    done.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>") and "cit.fig3" in page
    assert done.reports["cit.fig3"].to_dicts() == tw.run("cit.fig3", quick=True).to_dicts()


def test_keys_are_changed_by_their_paths(thalweg, tmp_path: Path):
    numpy = pytest.importorskip("numpy")
    mine = tw.experiment("p3.fig5").with_({"run.payload": numpy.array([40, 118]), "seeds": 3, "run.testbed": "line5"})
    assert mine.seeds == [1, 2, 3] and mine.to_dict()["run"]["payload"] == [40, 118]
    with pytest.raises(tw.InputError, match="^run.payload: expected 1 to 118") as raised:
        mine.with_({"run.payload": 119})
    assert raised.value.where == "run.payload"
    with pytest.raises(tw.InputError, match="payload") as raised:
        mine.with_({"run.paylaod": 40})
    assert raised.value.where == "run.paylaod" and "\n" not in str(raised.value)
    with pytest.raises(tw.InputError, match="^run.payload: expected 1 to 118"):
        tw.experiment({**OWN, "run": {**OWN["run"], "payload": 119}})
    with pytest.raises(tw.InputError, match="run.payload: expected a number") as raised:
        mine.with_({"run.payload": None})
    assert raised.value.where == "run.payload"
