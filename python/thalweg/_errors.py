"""What goes wrong: one line each, and the place that it is about."""


class ThalwegError(Exception):
    """Something could not be done; `str()` is one line."""

    where: str | None
    """The argument, key, row or line that it is about, such as `run.payload`."""

    def __init__(self, line: str, where: str | None = None) -> None:
        super().__init__(line)
        self.where = where


class InputError(ThalwegError, ValueError):
    """What was asked cannot be."""


class JobError(ThalwegError):
    """It was begun, and failed."""


class Bug(RuntimeError):
    """Thalweg is wrong, not you. Please report the line and what you called."""
