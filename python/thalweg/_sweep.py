"""Sweeps: one machine, shards of an array job, or anything that has `submit`."""

from __future__ import annotations

import functools
import glob
import importlib.util
import json
import os
from typing import TYPE_CHECKING, Any, Iterable, Literal, Mapping, Protocol

from . import _plain, _thalweg
from ._errors import InputError
from ._progress import Progress, told

if TYPE_CHECKING:
    from ._thalweg import Experiment, Report

WINDOW = 200
"""So many parts are out at a time."""


def random(spans: Mapping[str, Any], *, n: int, seed: int = 1) -> dict[str, list[Any]]:
    """`n` points for `Sweep(points=)`, each drawn by itself: more of them leave the first as they are.

    `spans` has for each key a tuple of the least and the greatest value, or a list of values.
    """
    return _drawn("random", spans, n, seed)


def latin_hypercube(spans: Mapping[str, Any], *, n: int, seed: int = 1) -> dict[str, list[Any]]:
    """`n` points for `Sweep(points=)`: of each key's span cut into `n` slices, each slice has one.

    `spans` as of `random`.
    """
    return _drawn("latin hypercube", spans, n, seed)


def _drawn(design: str, spans: Mapping[str, Any], n: int, seed: int) -> dict[str, list[Any]]:
    for name, value, least in ("n", n, 1), ("seed", seed, 0):
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**64:
            raise InputError(f"{name}: expected a whole number from {least} on, not {value!r}", name)
    texts = [f"{key}={_span(key, values)}" for key, values in spans.items()]
    return _thalweg.drawn(design, texts, n, seed)


def _span(key: str, values: Any) -> str:
    if isinstance(values, tuple) and len(values) == 2 and all(isinstance(value, (int, float)) for value in values):
        return f"{values[0]!r}..{values[1]!r}"
    if isinstance(values, list):
        return ",".join(json.dumps(value) for value in values)
    raise InputError(f"{key}: expected (least, greatest) or a list of values, not {values!r}", key)


class Executor(Protocol):
    """A process pool, a client of Dask, or whatever else runs functions elsewhere, and gives futures of them."""

    def submit(self, call: Any, /, *arguments: Any) -> Any: ...


class Sweep:
    """An experiment at many points with many seeds, in parts: files of one folder, each there whole or not at all.

    `over` is a dict of keys, such as `run.payload`, and values: each with each. Or `points` is a table with a column a key
    and a row a point. Without either it is the experiment as it is. Seeds are outermost, so that what is there first is a smaller study.
    """

    def __init__(
        self,
        what: Experiment | str | os.PathLike[str] | Mapping[str, Any],
        *,
        over: Mapping[str, Any] | None = None,
        points: Any = None,
        seeds: Iterable[int] | None = None,
        losses: Iterable[str] = (),
    ) -> None:
        from . import experiment

        self._made_of = experiment(what), {
            "over": over,
            "points": points,
            "seeds": _plain.listed("seeds", seeds),
            "losses": _plain.listed("losses", losses),
        }
        self._sweep = _thalweg.sweep_of(*self._made_of)

    @property
    def points(self) -> list[str]:
        """The points, in words."""
        return self._sweep.points

    @property
    def seeds(self) -> list[int]:
        """The seeds of each point."""
        return self._sweep.seeds

    @property
    def cost_s(self) -> float | None:
        """Processor time of all runs on one core, in seconds, where the experiment says it."""
        return self._sweep.cost_s

    def missing(self, folder: str | os.PathLike[str]) -> list[str]:
        """The parts that `folder` misses. It is made, with a manifest of what was asked."""
        return self._sweep.missing(folder)

    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        jobs: int | None = None,
        shard: tuple[int, int] | None = None,
        executor: Executor | None = None,
        progress: bool | Progress | None = None,
    ) -> int:
        """Makes the parts that `folder` misses, and says how many: on `jobs` threads, or on an `executor`.

        With `shard`, such as (3, 16), the third of sixteen shares. Several processes and machines may share a folder. An
        `executor` has its own workers, and makes all that is missing.
        """
        if executor is None:
            return self._sweep._run(folder, {"jobs": jobs, "shard": shard, "progress": progress})
        for name, value in ("jobs", jobs), ("shard", shard):
            if value is not None:
                raise InputError(f"{name}: is not for an executor, which has its own workers", name)
        if not hasattr(executor, "submit"):
            kind = type(executor).__name__
            raise InputError(f"executor: expected what has submit(), {kind} has not", "executor")
        # Workers may have another working directory.
        return _submitted(executor, os.path.abspath(folder), self.missing(folder), progress)

    def __len__(self) -> int:
        return len(self._sweep)

    def __repr__(self) -> str:
        return repr(self._sweep)

    def __reduce__(self) -> tuple[Any, ...]:
        what, asked = self._made_of
        return functools.partial(Sweep, what, **asked), ()


def _submitted(executor: Executor, folder: str, parts: list[str], progress: bool | Progress | None) -> int:
    """Makes `parts` elsewhere; what fails is raised after the others. Whatever interrupts it calls off what is not begun."""
    tell, failed = told(progress), None
    out: list[Any] = []
    try:
        for done, part in enumerate([*parts, *[None] * WINDOW]):
            if part is not None:
                out.append(executor.submit(_thalweg.run_part, folder, part))
            if out and (part is None or len(out) == WINDOW):
                try:
                    out.pop(0).result()
                except Exception as why:
                    failed = failed or why
                tell(min(done + 1, len(parts)) - len(out), len(parts), "parts")
    finally:
        for future in out:
            future.cancel()
        tell.close()
    if failed is not None:
        raise failed
    _thalweg.raise_failed(folder)
    return len(parts)


def scan(folder: str | os.PathLike[str], *, into: Literal["polars", "duckdb"] = "polars") -> Any:
    """The rows that a sweep has so far, as a lazy frame of polars or a relation of DuckDB; keys are columns `at.KEY`.

    Columns have their types also where the first part has nothing in them. A point that failed has one row, whose column
    `error` says why.
    """
    if into not in ("polars", "duckdb"):
        raise InputError(f'into: expected "polars" or "duckdb", got {into!r}', "into")
    try:
        library = importlib.import_module(into)
    except ImportError:
        raise InputError(f"into: {into} is not installed", "into") from None
    parts, columns = _parts(folder)
    if into == "polars":
        types = {"whole": library.Int64, "0 or 1": library.Int64, "number": library.Float64, "text": library.String}
        return library.scan_csv(parts, schema_overrides={name: types[kind] for name, kind in columns.items()})
    names = {"whole": "BIGINT", "0 or 1": "BIGINT", "number": "DOUBLE", "text": "VARCHAR"}
    return library.read_csv(parts, header=True, dtype={name: names[kind] for name, kind in columns.items()})


def to_parquet(folder: str | os.PathLike[str], file: str | os.PathLike[str]) -> None:
    """Writes the rows that a sweep has so far to one Parquet file, by polars, DuckDB or pyarrow: the first that is installed."""
    partial = f"{os.fspath(file)}.part"
    for library, write in ("polars", _by_polars), ("duckdb", _by_duckdb), ("pyarrow", _by_pyarrow):
        if importlib.util.find_spec(library) is not None:
            write(folder, partial)
            os.replace(partial, file)
            return
    raise InputError("Parquet needs polars, DuckDB or pyarrow, and none is installed")


def _by_polars(folder: str | os.PathLike[str], file: str) -> None:
    scan(folder).sink_parquet(file)


def _by_duckdb(folder: str | os.PathLike[str], file: str) -> None:
    scan(folder, into="duckdb").write_parquet(file)


def _by_pyarrow(folder: str | os.PathLike[str], file: str) -> None:
    arrow, csv, dataset, parquet = (
        importlib.import_module(f"pyarrow{name}") for name in ("", ".csv", ".dataset", ".parquet")
    )
    parts, columns = _parts(folder)
    types = {"whole": arrow.int64(), "0 or 1": arrow.int64(), "number": arrow.float64(), "text": arrow.string()}
    kinds = {name: types[kind] for name, kind in columns.items()}
    convert = csv.ConvertOptions(column_types=kinds, strings_can_be_null=True)
    format = dataset.CsvFileFormat(convert_options=convert)
    parquet.write_table(dataset.dataset(sorted(glob.glob(parts)), format=format).to_table(), file)


def _parts(folder: str | os.PathLike[str]) -> tuple[str, dict[str, str]]:
    """Which files are the parts of a sweep, as a glob, and what their columns hold."""
    path = os.fspath(folder)
    parts = os.path.join(glob.escape(path), "*.csv")
    if not glob.glob(parts):
        raise InputError(f"{path}: holds no part of a sweep yet, as CSV", path)
    return parts, _thalweg.columns(folder)


def reports(folder: str | os.PathLike[str]) -> dict[str, Report]:
    """The report at each point that has rows, over the seeds that are there."""
    return _thalweg.reports(folder)
