"""Objects of many nodes are those of the command line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import thalweg as tw

SAME = ["source", "verified", "failure", "bytes", "goodput_kbps", "rounds", "hops", "paths", "energy_j", "duration_s"]


@pytest.mark.parametrize("sinks", [None, [1, 4]], ids=["one after the other", "into two base stations"])
def test_objects_of_all_nodes(sinks, thalweg, tmp_path: Path):
    to = [] if sinks is None else ["--to", ",".join(map(str, sinks))]
    words = ["--testbed", "line5", "--all-nodes", "--bytes", 2000, "--seed", 3, "--json", "--out", tmp_path, *to]
    printed = sorted(json.loads(thalweg("collect", *words))["nodes"], key=lambda node: node["source"])
    got = tw.collect_all("line5", sinks=sinks, object=2000, seed=3)
    nodes = sorted(got.nodes.to_dicts(), key=lambda node: node["source"])
    assert [[node[key] for key in SAME] for node in nodes] == [[node[key] for key in SAME] for node in printed]
    assert len(got) == len(nodes) == 5 - len(sinks or [1]) and got.seed == 3
    assert {node["sink"] for node in nodes} <= set(sinks or [1])
    digests = {node: hashlib.sha256(object).hexdigest() for node, object in got.objects.items()}
    assert digests == {node["source"]: node["digest"] for node in printed if node["verified"]} != {}


def test_a_node_out_of_reach_is_a_row_with_its_reason():
    links = {"src": [1, 2, 3], "dst": [2, 1, 1], "prr": [1.0, 1.0, 0.0]}
    got = tw.collect_all(tw.testbed(links), sinks=[1], object=500, patience_s=1)
    [near, far] = sorted(got.nodes.to_dicts(), key=lambda node: node["source"])
    assert near["verified"] and not far["verified"] and far["failure"]
    assert set(got.objects) == {2}


def test_objects_at_once(thalweg):
    scenario = '[[incident]]\nat = "20 s"\nwhat = "dies"\nnode = 5\n'
    words = ["--testbed", "line5", "--protocol", "rcrt", "--all-nodes", "--bytes", 300, "--demand", 0.5, "--json"]
    printed = json.loads(thalweg("collect", *words))
    assert printed.pop("stored")
    got = tw.gather("line5", object=300, demand=0.5, frames=True)
    assert got.to_dict() == printed
    assert len(got) == len(got.objects) == 4 and all(len(object) == 300 for object in got.objects.values())
    assert got.nodes["goodput_kbps"] == [node["goodput_kbps"] for node in printed["nodes"]]
    assert set(got.rates["source"]) == {2, 3, 4, 5} and len(got.frames) > 100
    some = tw.gather("line5", sources=[5, 3], object=300, scenario=scenario)
    assert sorted(some.nodes["source"]) == [3, 5] and 3 in some.objects


@pytest.mark.parametrize(
    ("call", "where", "says"),
    [
        (lambda: tw.gather("line5", protocol="p3"), None, "more than one source is not for protocol 'p3'|\"p3\""),
        (lambda: tw.gather("line5", policy="greedy"), None, "greedy"),
        (lambda: tw.gather("line5", demand=1e9), None, "a demand is from"),
        (lambda: tw.gather("line5", sources=[9]), None, "no node 9"),
        (lambda: tw.gather("line5", sources=[2, 2]), None, "2"),
        (lambda: tw.gather("line5", scenario="[[incident]]\nat = 'noon'\nwhat = 'dies'\nnode = 5\n"), "scenario", "incident 1"),
        (lambda: tw.collect_all("line5", protocol="rcrt"), None, "rcrt"),
        (lambda: tw.collect_all("line5", sinks=1), "sinks", "several, such as a list"),
        (lambda: tw.collect_all("line5", sinks=["attic"]), "sinks", "no node of this name"),
        (lambda: tw.collect_all("line5", sinks=[1, 5], idle_s=60), "idle_s", "several base stations rouse no network yet; name one"),
    ],
)
def test_one_line_names_the_place(call, where, says):
    with pytest.raises(tw.InputError, match=says) as raised:
        call()
    assert "\n" not in str(raised.value)
    assert where is None or raised.value.where == where
