"""What calls give goes to other processes and comes back as it was."""

from __future__ import annotations

import pickle
from typing import TypeVar

import pytest
import thalweg as tw

T = TypeVar("T")


def again(value: T) -> T:
    other = pickle.loads(pickle.dumps(value))
    assert type(other) is type(value) and repr(other) == repr(value)
    return other


def same(one: tw.Table, other: tw.Table) -> bool:
    by_arrow = pytest.importorskip("polars").DataFrame
    said = all(getattr(one, what) == getattr(other, what) for what in ("columns", "units", "about"))
    return said and by_arrow(one).equals(by_arrow(other)) and by_arrow(one).schema == by_arrow(other).schema


def test_what_a_transfer_gives():
    got = tw.collect("line5", source=5, object=2000, frames=True, explain=True)
    other = again(got)
    assert other.to_dict() == got.to_dict() and other.object == got.object
    assert (other.goodput_kbps, other.hops, other.failure) == (got.goodput_kbps, got.hops, got.failure)
    assert same(got.frames, other.frames) and same(got.losses.table, other.losses.table)
    assert other.losses.svg() == got.losses.svg() and other.losses.text == got.losses.text
    heard = tw.survey("line5")
    assert same(heard, again(heard)) and again(heard).cost == heard.cost


def test_what_many_transfers_give():
    all_nodes, at_once = tw.collect_all("line5", object=500), tw.gather("line5", object=300, demand=0.5)
    assert again(all_nodes).objects == all_nodes.objects and same(all_nodes.nodes, again(all_nodes).nodes)
    assert again(at_once).to_dict() == at_once.to_dict() and same(at_once.rates, again(at_once).rates)


@pytest.mark.parametrize("how", [{"quick": True}, {"seeds": [1, 2]}, {"seeds": [1], "testbed": "ring12"}], ids=str)
def test_what_an_experiment_gives(how):
    report = tw.run("p3.pip" if "testbed" in how else "cit.fig3", **how)
    other = again(report)
    assert other.to_dicts() == report.to_dicts() and other.misses == report.misses
    assert other.figures == report.figures and other.seeds == report.seeds
    assert same(report.rows, other.rows)


def test_what_a_paper_gives():
    done = tw.reproduce("cit.bounds", quick=True)
    assert again(done).html() == done.html() and list(again(done).reports) == ["cit.bounds"]


def test_what_another_version_sent_is_refused_in_one_line():
    make, (columns,) = tw.survey("line5").__reduce__()[0], ([{"name": "a", "kind": "Int7", "said": {}, "values": []}],)
    with pytest.raises(tw.InputError, match="another version"):
        make(columns, "{}")
    make, parts = tw.collect("line5", object=100).__reduce__()
    with pytest.raises(tw.InputError, match="another version"):
        make("{}", *parts[1:])
