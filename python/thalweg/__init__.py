"""Bulk data out of wireless sensor networks: simulate, plan, collect, and run the papers' experiments again.

    import thalweg as tw
    got = tw.collect("indriya", source=93, seed=7)
    print(got.goodput_kbps, got.hops)

Tables go to polars, DuckDB, pandas and pyarrow as they are. The same seed gives the same bytes as the command line.
"""

from __future__ import annotations

import os as _os
from typing import Any, Iterable, Mapping, overload

from . import _links, _plain, _thalweg
from ._errors import Bug, InputError, JobError, ThalwegError
from ._progress import Progress
from ._sweep import Sweep, latin_hypercube, random, reports, scan, to_parquet
from ._thalweg import (
    Collected,
    CollectedAll,
    Experiment,
    Gathered,
    Losses,
    Plan,
    Report,
    Reproduced,
    Survey,
    Table,
    Testbed,
    experiments,
    protocols,
)

__all__ = [
    "Bug",
    "Collected",
    "CollectedAll",
    "Experiment",
    "Gathered",
    "InputError",
    "JobError",
    "Losses",
    "Plan",
    "Report",
    "Reproduced",
    "Survey",
    "Sweep",
    "Table",
    "Testbed",
    "ThalwegError",
    "collect",
    "collect_all",
    "experiment",
    "experiments",
    "gather",
    "judge",
    "latin_hypercube",
    "plan",
    "protocols",
    "random",
    "reports",
    "reproduce",
    "run",
    "scan",
    "survey",
    "testbed",
    "to_parquet",
]


def testbed(
    what: Any = None,
    *,
    prr: Any = None,
    rssi_dbm: Any = None,
    ids: Iterable[int] | None = None,
    channels: Iterable[int] | None = None,
    name: str = "links",
) -> Testbed:
    """A network: by name (`Testbed.names()`), a file (testbed TOML, K7 trace, CSV of links), or links of your own.

    Links are a table with src, dst, prr and perhaps channel and rssi_dbm: of polars, pandas, DuckDB, Arrow, or a dict of
    columns. Or `prr` is a matrix from row to column, (n, n) or (channels, n, n), with `rssi_dbm` of the same shape, where
    `ids` are the nodes' numbers (1 to n) and `channels` those of the matrices (11 to 26). A testbed of links has `name`.
    """
    if not isinstance(name, str):
        raise InputError(f"name: expected a text, got {name!r:.80}", "name")
    if prr is not None:
        return Testbed.of_links(_links.of_matrices(prr, rssi_dbm, ids, channels), name=name)
    if isinstance(what, Testbed):
        return what
    if isinstance(what, (str, _os.PathLike)):
        return Testbed.load(what)
    if what is None:
        raise InputError("expected a testbed: a name, a file, a table of links, or prr=")
    if isinstance(what, (list, tuple)) or hasattr(what, "tolist"):
        line = f"links: expected a table, or a dict of columns; {type(what).__name__} is neither: give a matrix as prr="
        raise InputError(line, "links")
    return Testbed.of_links(what, name=name)


def survey(
    site: Any,
    *,
    sink: int | str | None = None,
    protocol: str | None = None,
    seed: int = 1,
    channels: Iterable[int] | None = None,
    control_channel: int | None = None,
    idle_s: float | None = None,
    progress: bool | Progress | None = None,
) -> Survey:
    """The links of `site` as its nodes measure them themselves, and what that costs.

    A row for each sender, receiver and channel. `idle_s`: for how long the nodes have rested before, in seconds.
    """
    return _thalweg.survey(testbed(site), _arguments(locals()))


def plan(
    site: Any,
    *,
    source: int | str | None = None,
    sink: int | str | None = None,
    protocol: str | None = None,
    object: bytes | int | None = None,
    seed: int = 1,
    channels: Iterable[int] | None = None,
    control_channel: int | None = None,
    payload: int | None = None,
    paths: int | None = None,
    hops: int | None = None,
    progress: bool | Progress | None = None,
) -> Plan:
    """Who relays where, on which channels, and what to expect: over measured links, or links that are surveyed.

    Without a `source` a far node is taken, without a `sink` the testbed's, without a `protocol` "thalweg". `object` is
    bytes, or how many there are (59,000). `payload` are its bytes in a packet (as many as fit).
    """
    return _thalweg.plan(testbed(site), _arguments(locals()))


def collect(
    site: Any,
    *,
    plan: Plan | None = None,
    source: int | str | None = None,
    sink: int | str | None = None,
    protocol: str | None = None,
    object: bytes | int | None = None,
    seed: int | None = None,
    channels: Iterable[int] | None = None,
    control_channel: int | None = None,
    payload: int | None = None,
    paths: int | None = None,
    hops: int | None = None,
    age_s: float | None = None,
    idle_s: float | None = None,
    patience_s: float | None = None,
    at_s: float | None = None,
    losses: Iterable[str] = (),
    frames: bool = False,
    explain: bool = False,
    progress: bool | Progress | None = None,
) -> Collected:
    """Surveys `site`, plans a route and fetches an object. A transfer that fails is a result, too.

    `object` is what the source has: bytes, or how many random ones (59,000). With a `plan` the transfer goes by it, and
    what is not given here is as the plan was asked for; else as for `plan()`, with seed 1. Links change for `age_s` seconds
    between survey and transfer. `losses` such as "2-1:0.5" are of links after the survey. With `frames` all that was on the
    air is kept, and with `explain` where packets were lost.
    """
    return _thalweg.collect(testbed(site), _arguments(locals()))


def collect_all(
    site: Any,
    *,
    sinks: Iterable[int | str] | None = None,
    protocol: str | None = None,
    object: bytes | int | None = None,
    seed: int = 1,
    channels: Iterable[int] | None = None,
    control_channel: int | None = None,
    payload: int | None = None,
    paths: int | None = None,
    hops: int | None = None,
    age_s: float | None = None,
    idle_s: float | None = None,
    patience_s: float | None = None,
    losses: Iterable[str] = (),
    progress: bool | Progress | None = None,
) -> CollectedAll:
    """Surveys `site` and fetches the objects of all nodes: one after the other, or at once into several `sinks`.

    Arguments as of `collect()`. `nodes` has a row for each node, `objects` the bytes of those that arrived whole.
    """
    return _thalweg.collect_all(testbed(site), _arguments(locals()))


def gather(
    site: Any,
    *,
    sources: Iterable[int | str] | None = None,
    sink: int | str | None = None,
    protocol: str = "rcrt",
    object: bytes | int | None = None,
    seed: int = 1,
    payload: int | None = None,
    policy: str | None = None,
    demand: float | None = None,
    scenario: str | None = None,
    losses: Iterable[str] = (),
    frames: bool = False,
    progress: bool | Progress | None = None,
) -> Gathered:
    """Objects of many nodes at once, whose rates the base station sets: of `sources`, or of all.

    `policy` is how they share ("fair"), `demand` what each wants, in packets per second (1). `scenario` is TOML: which node
    dies or starts when (docs/rcrt.md). `rates` has each rate that was set; `nodes`, `objects` and `frames` as elsewhere.
    """
    return _thalweg.gather(testbed(site), _arguments(locals()))


def experiment(what: Experiment | str | _os.PathLike[str] | Mapping[str, Any]) -> Experiment:
    """An experiment: a built-in one by id, a file, the text of a file, or a dict of the same keys."""
    if isinstance(what, Experiment):
        return what
    if isinstance(what, str) and "\n" in what:
        return Experiment.parse(what)
    if isinstance(what, Mapping):
        return Experiment.of_dict(what)
    if not isinstance(what, (str, _os.PathLike)):
        raise InputError(f"expected an experiment: an id, a file, a text or a dict, got {what!r:.80}")
    return Experiment.load(what)


def run(
    what: Experiment | str | _os.PathLike[str] | Mapping[str, Any],
    *,
    seeds: Iterable[int] | None = None,
    quick: bool = False,
    jobs: int | None = None,
    testbed: Testbed | str | _os.PathLike[str] | None = None,
    routes: int | None = None,
    control_channel: int | None = None,
    losses: Iterable[str] = (),
    progress: bool | Progress | None = None,
) -> Report:
    """Runs an experiment with `seeds`, or its own, on `jobs` threads, and judges it against its paper.

    With `quick` it is the subset that takes seconds. The rows depend on experiment and seeds alone.
    """
    return _thalweg.run(experiment(what), _arguments(locals()))


def reproduce(
    *what: str,
    quick: bool = False,
    seeds: Iterable[int] | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Reproduced:
    """Runs the results of papers such as `p3`, or single results, all where none is named, and judges them.

    With `quick` it is the subset that takes minutes.
    """
    arguments = {"quick": quick, "seeds": seeds, "jobs": jobs, "progress": progress}
    return _thalweg.reproduce(list(what), _arguments(arguments))


@overload
def judge(what: Sweep, rows: str | _os.PathLike[str]) -> dict[str, Report]: ...
@overload
def judge(what: Experiment | str | _os.PathLike[str] | Mapping[str, Any], rows: Any) -> Report: ...
def judge(what: Any, rows: Any) -> Report | dict[str, Report]:
    """The report of rows that are there already: those of a `Report`, or of many, as any table.

    Of a sweep and its folder it is the report at each point, over the seeds that are there.
    """
    if isinstance(what, Sweep):
        what.missing(rows)
        return reports(rows)
    return _thalweg.judge(experiment(what), rows)


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    """What the compiled half takes: iterables as lists."""
    for name in ("seeds", "channels", "losses", "sinks", "sources"):
        if name in given:
            given[name] = _plain.listed(name, given[name])
    return given
