"""Bulk data out of wireless sensor networks: simulate, plan, collect, and run the papers' experiments again.

    import thalweg as tw
    got = tw.collect("indriya", source=93, seed=7)
    print(got.goodput_kbps, got.hops)

Tables go to polars, DuckDB, pandas and pyarrow as they are. The same seed gives the same bytes as the command line.
"""

from __future__ import annotations

import json as _json
import os as _os
from typing import Any, Iterable, Mapping, Sequence

from . import _thalweg
from ._errors import Bug, InputError, JobError, ThalwegError
from ._progress import Progress
from ._thalweg import Collected, Experiment, Losses, Plan, Report, Survey, Table, Testbed

__all__ = [
    "Bug",
    "Collected",
    "Experiment",
    "InputError",
    "JobError",
    "Losses",
    "Plan",
    "Report",
    "Survey",
    "Table",
    "Testbed",
    "ThalwegError",
    "collect",
    "experiment",
    "plan",
    "run",
    "survey",
    "testbed",
]

_Site = "Testbed | str | _os.PathLike[str]"
_Node = "int | str | None"


def testbed(what: Testbed | str | _os.PathLike[str]) -> Testbed:
    """A network: a built-in testbed by name (`Testbed.names()`), or a file (testbed TOML, K7 trace, CSV of links)."""
    if isinstance(what, Testbed):
        return what
    return Testbed.load(what)


def survey(
    site: Testbed | str | _os.PathLike[str],
    *,
    sink: int | str | None = None,
    protocol: str = "thalweg",
    seed: int = 1,
    channels: Sequence[int] | None = None,
    control_channel: int | None = None,
    idle_s: float | None = None,
    progress: bool | Progress | None = None,
) -> Survey:
    """The links of `site` as its nodes measure them themselves, and what that costs.

    A row for each sender, receiver and channel. `idle_s`: for how long the nodes have rested before, in seconds.
    """
    return _thalweg.survey(testbed(site), _arguments(locals()))


def plan(
    site: Testbed | str | _os.PathLike[str],
    *,
    source: int | str | None = None,
    sink: int | str | None = None,
    protocol: str = "thalweg",
    object: bytes | int = 59_000,
    seed: int = 1,
    channels: Sequence[int] | None = None,
    control_channel: int | None = None,
    payload: int = 118,
    paths: int | None = None,
    hops: int | None = None,
    progress: bool | Progress | None = None,
) -> Plan:
    """Who relays where, on which channels, and what to expect: over measured links, or links that are surveyed.

    Without a `source` a far node is taken, without a `sink` the testbed's. `object` is bytes, or how many there are.
    """
    return _thalweg.plan(testbed(site), _arguments(locals()))


def collect(
    site: Testbed | str | _os.PathLike[str],
    *,
    source: int | str | None = None,
    sink: int | str | None = None,
    protocol: str = "thalweg",
    object: bytes | int = 59_000,
    seed: int = 1,
    channels: Sequence[int] | None = None,
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

    `object` is what the source has: bytes, or how many random ones. Links change for `age_s` seconds between survey and
    transfer. `losses` such as "2-1:0.5" are of links after the survey. With `frames` all that was on the air is kept,
    and with `explain` where packets were lost.
    """
    return _thalweg.collect(testbed(site), _arguments(locals()))


def experiment(what: Experiment | str | _os.PathLike[str] | Mapping[str, Any]) -> Experiment:
    """An experiment: a built-in one by id, a file, the text of a file, or a dict of the same keys."""
    if isinstance(what, Experiment):
        return what
    if isinstance(what, str) and "\n" in what:
        return Experiment.parse(what)
    return Experiment.load(what)


def run(
    what: Experiment | str | _os.PathLike[str] | Mapping[str, Any],
    *,
    seeds: Iterable[int] | None = None,
    quick: bool = False,
    jobs: int | None = None,
    testbed: str | None = None,
    routes: int | None = None,
    control_channel: int | None = None,
    losses: Iterable[str] = (),
    progress: bool | Progress | None = None,
) -> Report:
    """Runs an experiment with `seeds`, or its own, on `jobs` threads, and judges it against its paper.

    With `quick` it is the subset that takes seconds. The rows depend on experiment and seeds alone.
    """
    return _thalweg.run(experiment(what), _arguments(locals()))


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    """What the compiled half takes: iterables as lists."""
    for name in ("seeds", "channels", "losses"):
        if given.get(name) is not None and not isinstance(given[name], str):
            given[name] = list(given[name])
    return given
