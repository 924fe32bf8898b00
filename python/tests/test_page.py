"""Every example of docs/python.md and of the README runs, in their order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT


def blocks(page: Path) -> list[tuple[int, str]]:
    """The examples of `page`, each with its line."""
    text = page.read_text()
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text[: match.start()].count("\n") + 2, match[1]) for match in found]


def run(page: Path, names: dict) -> None:
    for line, block in blocks(page):
        # Errors name the line of the page.
        code = compile("\n" * (line - 1) + block, str(page), "exec")
        exec(code, names)


def test_the_page_runs(tmp_path: Path, monkeypatch, capsys):
    pytest.importorskip("polars")
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs/python.md"
    assert len(blocks(page)) >= 8
    run(page, {})
    said = capsys.readouterr().out
    assert "kbit/s" in said and "a channel from 11 to 26, got 27" in said
    assert (tmp_path / "fig3.svg").read_text().startswith("<svg")


def test_the_readme_runs(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(ROOT / "README.md", {})
    goodput, hops = capsys.readouterr().out.split()
    assert float(goodput) > 0 and int(hops) == 3
    # The picture that stands below the lines is theirs.
    assert (tmp_path / "losses.svg").read_text() == (ROOT / "docs/python.svg").read_text()
