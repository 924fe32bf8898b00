"""Values of Python as JSON has them."""

from __future__ import annotations

import json
from typing import Any, Iterable, Mapping

from ._errors import InputError


def text(values: Mapping[str, Any]) -> str:
    """The JSON of `values`."""
    if not isinstance(values, Mapping):
        raise InputError(f"expected a dict of keys, got {values!r:.80}")
    return json.dumps({str(key): plain(value, str(key)) for key, value in values.items()})


def plain(value: Any, where: str) -> Any:
    """Arrays, tuples and ranges as lists, numpy's numbers as Python's; `where` is the key."""
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(one, f"{where}.{key}") for key, one in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist(), where)
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(one, where) for one in value]
    raise InputError(f"{where}: expected a number, a text, or a list or dict of them, got {value!r:.80}", where)
