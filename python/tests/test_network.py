"""Networks: what is planned and collected is what the command line prints."""

from __future__ import annotations

import json
import pickle

import pytest
import thalweg as tw


@pytest.mark.parametrize(
    ("protocol", "seed"),
    [("p3", 7), ("thalweg", 3), ("pip", 2)],
)
def test_a_transfer_is_that_of_the_command_line(protocol, seed, thalweg):
    words = ["--testbed", "line5", "--from", 5, "--protocol", protocol, "--seed", seed, "--json"]
    printed = json.loads(thalweg("collect", *words))
    assert printed.pop("stored") is not None
    got = tw.collect("line5", source=5, protocol=protocol, seed=seed)
    assert got.to_dict() == printed
    assert (got.goodput_kbps, got.hops, got.seed) == (printed["goodput_kbps"], printed["hops"], seed)
    assert got.object is not None and len(got.object) == got.bytes == 59_000


def test_a_plan_is_that_of_the_command_line(thalweg):
    printed = json.loads(thalweg("plan", "--testbed", "indriya", "--from", 93, "--seed", 7, "--json"))
    plan = tw.plan("indriya", source=93, seed=7)
    assert plan.to_dict() == printed
    assert plan.expected == printed["prediction"]
    assert plan.paths == printed["paths"]
    stages = plan.stages.to_dicts()
    odd = [row["node"] for row in stages if (row["stage"], row["group"]) == (1, "odd")]
    assert odd == printed["stages"][1]["odd"]
    assert plan._repr_svg_().startswith("<svg")


def test_what_is_asked_beside_a_plan_is_of_its_ends():
    plan = tw.plan("line5", source=5)
    assert tw.collect("line5", plan=plan, source=5, sink=1, object=500).source == 5
    for where in ("source", "sink"):
        with pytest.raises(tw.InputError, match="the plan's is node") as raised:
            tw.collect("line5", plan=plan, **{where: 4})
        assert raised.value.where == where


def test_the_object_arrives_and_frames_and_losses_are_tables():
    object = bytes(range(256)) * 20
    got = tw.collect("indriya", source=93, object=object, seed=7, frames=True, explain=True)
    assert got.verified and got.object == object
    frames = got.frames
    sent = [row for row in frames.to_dicts() if row["side"] == "sent"]
    assert 0 < len(sent) < len(frames)
    assert all(row["rssi_dbm"] is None and len(row["mpdu"]) <= 125 for row in sent)
    for hop in got.losses.table.to_dicts():
        lost = sum(value for key, value in hop.items() if key not in KEYS)
        assert hop["entered"] == hop["arrived"] + lost, hop
    # Neither changes the transfer.
    assert tw.collect("indriya", source=93, object=object, seed=7).to_dict() == got.to_dict()


KEYS = {"protocol", "attempt", "round", "stage", "group", "channel", "entered", "arrived"}


def test_a_survey_has_links_and_their_cost():
    links = tw.survey("line5", seed=2)
    assert links.columns == ["src", "dst", "channel", "prr", "rssi_dbm"]
    pairs = {(row["src"], row["dst"]) for row in links.to_dicts()}
    assert {(1, 2), (2, 1), (4, 5)} <= pairs
    assert all(0 <= prr <= 1 for prr in links["prr"])
    assert links.cost["measuring_s"] > 0


def test_a_transfer_goes_by_the_plan_that_it_is_given():
    asked = {"source": 93, "protocol": "p3", "seed": 4, "object": 5_000}
    plan = tw.plan("indriya", **asked)
    assert tw.collect("indriya", plan=plan).to_dict() == tw.collect("indriya", **asked).to_dict()
    mine = plan.over(plan.paths[1:])
    assert mine.paths == plan.paths[1:] and len(mine.paths) > 1
    got = tw.collect("indriya", plan=mine, object=b"by my own route" * 50)
    assert got.verified and got.attempts == 1
    assert (got.paths, got.seed, got.protocol) == (len(mine.paths), 4, "p3")
    # One of its paths alone carries nothing: that is said.
    alone = [plan.over([path]) for path in plan.paths]
    assert all((one.expected["rounds"] is None) == any("not to end" in why for why in one.warnings) for one in alone)
    on = plan.over(plan.paths, channels=[15, 20, 25])
    assert set(on.stages["channel"]) <= {15, 20, 25} != set(plan.stages["channel"])
    assert pickle.loads(pickle.dumps(on)).to_dict() == on.to_dict()


@pytest.mark.parametrize(
    ("paths", "says"),
    [([[5, 4]], "node 1"), ([[5, 9, 1]], "no node 9"), ([[5, 4, 1], [5, 4, 1]], "there already"), ([], "path"), ("54321", "lists of nodes")],
)
def test_paths_that_cannot_be_are_refused(paths, says):
    with pytest.raises(tw.InputError, match=says) as raised:
        tw.plan("line5", source=5, protocol="p3").over(paths)
    assert "\n" not in str(raised.value)


def test_a_plan_of_another_network_is_refused():
    plan = tw.plan("line5", source=5)
    with pytest.raises(tw.InputError, match="another network") as raised:
        tw.collect("indriya", plan=plan)
    assert raised.value.where == "plan"
