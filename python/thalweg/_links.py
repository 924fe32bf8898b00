"""Links as columns: of matrices, and of what was pickled."""

from __future__ import annotations

from typing import Any, Iterable

from ._errors import InputError
from ._plain import listed
from ._thalweg import Testbed

CHANNELS = range(11, 27)


def again(columns: dict[str, list[Any]], name: str) -> Testbed:
    """The testbed that was pickled."""
    return Testbed.of_links(columns, name=name)


def of_matrices(
    prr: Any, rssi_dbm: Any, ids: Iterable[int] | None, channels: Iterable[int] | None
) -> dict[str, list[Any]]:
    """Columns of the links in `prr`, (n, n) or (channels, n, n), from row to column; a link without frames is none."""
    ratios, levels = _layers("prr", prr), None if rssi_dbm is None else _layers("rssi_dbm", rssi_dbm)
    n = len(ratios[0])
    nodes = list(range(1, n + 1)) if ids is None else _whole("ids", ids)
    if len(nodes) != n:
        raise InputError(f"ids: expected {n} nodes, one for each row of prr, got {len(nodes)}", "ids")
    if levels is not None and (len(levels), len(levels[0])) != (len(ratios), n):
        raise InputError("rssi_dbm: expected a matrix of the same shape as prr", "rssi_dbm")
    on: list[int | None]
    if channels is not None:
        on = list(_whole("channels", channels))
    else:
        on = [None] if len(ratios) == 1 else list(CHANNELS)
    if len(on) != len(ratios):
        line = f"channels: expected {len(ratios)}, one for each matrix of prr, got {len(on)}"
        raise InputError(line, "channels")
    columns: dict[str, list[Any]] = {name: [] for name in ("src", "dst", "channel", "prr", "rssi_dbm")}
    for layer, channel in enumerate(on):
        for a, src in enumerate(nodes):
            for b, dst in enumerate(nodes):
                ratio = ratios[layer][a][b]
                # Neither none nor NaN, which is not equal to itself.
                if a != b and ratio == ratio and ratio != 0:
                    level = None if levels is None else levels[layer][a][b]
                    for name, value in zip(columns, (src, dst, channel, ratio, level)):
                        columns[name].append(value)
    return columns


def _whole(name: str, values: Iterable[int]) -> list[int]:
    """The whole numbers that the argument `name` has."""
    several = listed(name, values) or []
    try:
        numbers = [int(value) for value in several]
        if numbers == several:
            return numbers
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{name}: expected whole numbers, got {several!r:.80}", name)


def _layers(name: str, matrix: Any) -> list[list[list[float]]]:
    """The matrices in `matrix`, one for each channel."""
    if hasattr(matrix, "columns"):
        line = f"{name}: expected a matrix without names; of a table give {name}=table.to_numpy() and ids=table.index"
        raise InputError(line, name)
    lists = matrix.tolist() if hasattr(matrix, "tolist") else matrix
    try:
        layers = [lists] if not isinstance(lists[0][0], (list, tuple)) else lists
        n = len(layers[0])
        if n and all(len(layer) == n and all(len(row) == n for row in layer) for layer in layers):
            return list(layers)
    except (TypeError, IndexError, KeyError):
        pass
    raise InputError(f"{name}: expected a matrix, (n, n) or (channels, n, n)", name)
