"""Tables need nothing, and go to whatever takes Arrow."""

from __future__ import annotations

import pytest
import thalweg as tw


@pytest.fixture(scope="module")
def links() -> tw.Survey:
    return tw.survey("line5", seed=2)


def test_without_any_library(links: tw.Survey):
    rows = links.to_dicts()
    assert len(rows) == len(links) > 0
    assert list(rows[0]) == links.columns
    assert links["prr"] == [row["prr"] for row in rows]
    with pytest.raises(KeyError, match="no column 'ppr'|no column \"ppr\".*there are src, dst"):
        links["ppr"]
    assert "<td>" in links._repr_html_() and str(len(links)) in repr(links)


def test_polars(links: tw.Survey):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(links)
    assert frame.to_dicts() == links.to_dicts()
    assert frame.schema["prr"] == polars.Float64 and frame.schema["src"] == polars.Int64


def test_duckdb(links: tw.Survey):
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql("select count(*), max(prr) from links").fetchall()
    assert found == [(len(links), max(links["prr"]))]


def test_pyarrow_and_pandas(links: tw.Survey):
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(links).to_pylist() == links.to_dicts()
    pandas = pytest.importorskip("pandas")
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert len(pandas.DataFrame.from_arrow(links)) == len(links)


def test_a_stream_can_be_taken_again_and_outlives_its_table(links: tw.Survey):
    polars = pytest.importorskip("polars")
    frames = [polars.DataFrame(tw.survey("line5", seed=2)) for _ in range(3)]
    assert frames[0].equals(frames[1]) and frames[1].equals(frames[2])
    # A capsule that nobody takes is given back without harm.
    for _ in range(100):
        links.__arrow_c_stream__()
