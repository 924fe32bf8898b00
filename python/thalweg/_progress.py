"""How far a call is: by whatever the caller gives, or by tqdm where it is there."""

from __future__ import annotations

import sys
from typing import Any, Callable, Protocol

from ._errors import InputError

Progress = Callable[[int, int, str], object]
"""Is told parts that are done, all parts, and what they are of. What it raises stops the call."""


class Told(Protocol):
    """What a running call tells."""

    def __call__(self, done: int, total: int, label: str, /) -> None: ...
    def close(self) -> None: ...


class _Nobody:
    def __call__(self, done: int, total: int, label: str, /) -> None:
        pass

    def close(self) -> None:
        pass


class _Caller:
    def __init__(self, call: Progress) -> None:
        self.call = call

    def __call__(self, done: int, total: int, label: str, /) -> None:
        self.call(done, total, label)

    def close(self) -> None:
        pass


class _Bar:
    def __init__(self, tqdm: Any) -> None:
        self.bar = tqdm(total=0, leave=False)

    def __call__(self, done: int, total: int, label: str, /) -> None:
        self.bar.total = total
        self.bar.n = done
        self.bar.set_description_str(label, refresh=False)
        self.bar.refresh()

    def close(self) -> None:
        self.bar.close()


class _Line:
    """A line on standard error that is written over."""

    def __call__(self, done: int, total: int, label: str, /) -> None:
        sys.stderr.write(f"\r\x1b[K{label}: {done} of {total}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def told(progress: bool | Progress | None) -> Told:
    """What is told, for the argument `progress`."""
    if progress is None or progress is False:
        return _Nobody()
    if progress is not True:
        if not callable(progress):
            raise InputError(f"progress: expected True or a function, got {progress!r:.80}", "progress")
        return _Caller(progress)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Bar(tqdm)
