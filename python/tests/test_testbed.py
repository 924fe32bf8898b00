"""Testbeds are values: they are the same in another process."""

from __future__ import annotations

import pickle
from pathlib import Path

import thalweg as tw

LINKS = "src,dst,channel,prr,rssi_dbm\n1,2,26,0.9,-80\n2,1,26,0.8,-81\n2,5,26,1.0,-70\n5,2,26,1.0,-70\n"


def test_what_a_testbed_says_of_itself():
    assert {"indriya", "line5", "motes20"} <= set(tw.Testbed.names())
    site = tw.testbed("indriya")
    assert (site.name, len(site), site.sink, site.control_channel) == ("indriya", 139, 1, 26)
    assert site.channels == list(range(11, 27)) and "139 nodes" in repr(site)
    nodes = site.nodes(seed=3)
    assert nodes.columns == ["node", "label", "x_m", "y_m", "floor"] and len(nodes) == 139
    assert set(nodes["floor"]) == {0, 1, 2}
    assert nodes.to_dicts() != site.nodes(seed=4).to_dicts()
    assert site.svg(seed=3).startswith("<svg") and site.svg(seed=3) != site._repr_svg_()


def test_a_file_and_a_name_travel(tmp_path: Path, monkeypatch):
    (tmp_path / "site.csv").write_text(LINKS)
    monkeypatch.chdir(tmp_path)
    site = tw.testbed("site.csv")
    monkeypatch.chdir("/")
    for one in (site, tw.testbed("line5")):
        again = pickle.loads(pickle.dumps(one))
        assert (again.name, len(again), again.channels) == (one.name, len(one), one.channels)
    assert tw.testbed(site) is site and tw.testbed(tmp_path / "site.csv").name == "site"
    links = tw.collect(site, object=500, sink=1)
    assert links.verified and links.sink == 1
