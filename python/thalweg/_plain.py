"""Values of Python as JSON has them."""

from __future__ import annotations

import json
import math
from typing import Any, Iterable, Mapping

from ._errors import InputError
from ._thalweg import Testbed


def listed(name: str, values: Any) -> list[Any] | None:
    """The argument `name`, of which there may be several, as a list; None where it is not given."""
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name}: expected several, such as a list or a range, got {values!r:.80}", name)
    several = list(values)
    if name == "seeds" and not several:
        raise InputError("seeds: expected one or more, got none", name)
    return several


def text(values: Mapping[str, Any]) -> tuple[str, dict[str, Testbed]]:
    """The JSON of `values`, and the testbeds among them by the names that stand for them there."""
    if not isinstance(values, Mapping):
        raise InputError(f"expected a dict of keys, got {values!r:.80}")
    testbeds: dict[str, Testbed] = {}
    plain = {str(key): _plain(value, str(key), testbeds) for key, value in values.items()}
    return json.dumps(plain), testbeds


def _plain(value: Any, where: str, testbeds: dict[str, Testbed]) -> Any:
    """Arrays, tuples and ranges as lists, numpy's numbers as Python's; `where` is the key."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{where}: expected a number, got {value!r}", where)
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Testbed):
        name, itself = value._named()
        if itself is not None:
            if testbeds.setdefault(name, itself).digest != itself.digest:
                raise InputError(f"{where}: two testbeds are called {name!r}: give one another name=", where)
        return name
    if isinstance(value, Mapping):
        return {str(key): _plain(one, f"{where}.{key}", testbeds) for key, one in value.items()}
    if hasattr(value, "columns"):
        kind = type(value).__name__
        raise InputError(f"{where}: {kind} is a table; where links are meant, give thalweg.testbed() of it", where)
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), where, testbeds)
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [_plain(one, where, testbeds) for one in value]
    raise InputError(f"{where}: expected a number, a text, or a list or dict of them, got {value!r:.80}", where)
