"""What tests share: the command line beside the package."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Callable

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run every built-in experiment, not a handful")
    program = os.environ.get("THALWEG", str(ROOT / "target/release/thalweg"))
    parser.addoption("--thalweg", default=program, help="the command line that results are held against")


@pytest.fixture(scope="session")
def thalweg(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Runs the command line, and gives what it prints."""
    program = Path(pytestconfig.getoption("--thalweg")).resolve()
    if not program.exists():
        pytest.fail(f"{program} is missing: cargo build --release")
    folder = tmp_path_factory.mktemp("command-line")

    def call(*words: object) -> str:
        command = [str(program), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    return call
