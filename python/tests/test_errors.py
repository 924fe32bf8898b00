"""Bad input ends in one line that names the place."""

from __future__ import annotations

from pathlib import Path

import pytest
import thalweg as tw


@pytest.mark.parametrize(
    ("call", "where", "line"),
    [
        (lambda: tw.collect("line5", seed=-1), "seed", "seed: expected a whole number from 0"),
        (lambda: tw.collect("line5", source=77), None, "has no node 77"),
        (lambda: tw.collect("line5", source="attic"), "source", "no node of this name"),
        (lambda: tw.collect("line5", protocol="p4"), "protocol", "no protocol is called"),
        (lambda: tw.collect("line5", channels=[27]), "channels", "a channel from 11 to 26, got 27"),
        (lambda: tw.collect("line5", channels=[26, 15, 26]), "channels", "channel 26 stands there twice"),
        (lambda: tw.plan("line5", hops=0), "hops", "a whole number from 1 to 255, got 0"),
        (lambda: tw.plan("line5", paths=0), "paths", "a whole number from 1 to 255, got 0"),
        (lambda: tw.collect("line5", payload=300), "payload", "payload: "),
        (lambda: tw.collect("line5", age_s=-3), "age_s", "seconds from 0 on"),
        (lambda: tw.collect("line5", losses=["2-1"]), "losses", "expected FROM-TO:SHARE"),
        (lambda: tw.collect("line5", object=b""), None, "the object is empty"),
        (lambda: tw.collect("line5", object="text"), "object", "bytes, or how many"),
        (lambda: tw.collect("line5", protocol="rcrt"), None, "rcrt"),
        (lambda: tw.plan("line5", protocol="fastforward"), "protocol", "not for protocol"),
        (lambda: tw.survey("line6"), "line6", "no such testbed"),
        (lambda: tw.testbed("-"), None, "`-`"),
        (lambda: tw.run("p3.fig99"), None, "p3.fig99"),
        (lambda: tw.run("cit.bounds", seeds=[1, -2]), "seeds", "seeds: expected seeds from 0"),
        (lambda: tw.run("cit.bounds", seeds=[2**63]), None, "seeds are from 0 to 9223372036854775807"),
        (lambda: tw.Sweep("cit.bounds", over={"run.payload": 40}).run("r", executor=4), "executor", "int has not"),
        (lambda: tw.Sweep("cit.bounds").run("r", executor=4, shard=(1, 2)), "shard", "not for an executor"),
        (lambda: tw.run("cit.bounds", seeds=[1, 2, 1]), "seeds", "1 stands there twice"),
        (lambda: tw.run("cit.bounds", jobs=0), "jobs", "from 1 on"),
        (lambda: tw.run("cit.bounds", jobs=10**6), "jobs", "expected 1 to 1024 threads"),
        (lambda: tw.collect("line5", progress=5), "progress", "True or a function, got 5"),
        (lambda: tw.experiment({}), None, "missing field `id`"),
        (lambda: tw.experiment(5), None, "expected an experiment"),
        (lambda: tw.experiment("cit.bounds").with_({"run.payload": float("nan")}), "run.payload", "a number, got nan"),
        (lambda: tw.run("cit.bounds", seeds=3), "seeds", "a list or a range, got 3"),
        (lambda: tw.run("cit.bounds", seeds=[]), "seeds", "one or more"),
        (lambda: tw.testbed({"from": [1], "dst": [2]}), "links", "without values: src, prr; there are dst, from"),
        (lambda: tw.testbed({"src": [1, 2], "dst": [2, 1], "prr": [1, None]}), "row 1", "from 0 to 1, got none"),
        (lambda: tw.testbed([[0, 1], [1, 0]]), "links", "list is neither: give a matrix as prr="),
        (lambda: tw.testbed(prr=[[0, 97, 90], [95, 0, 88], [91, 93, 0]]), "row 0", "; and more"),
        (lambda: tw.testbed({"src": [1, 2], "dst": [2, 1], "prr": [1, 7]}), "row 1", "a ratio from 0 to 1"),
        (lambda: tw.testbed({"src": ["a"], "dst": [2], "prr": [1]}), "row 0", "src: expected a node's number, 0 to 65533, got the text \"a\""),
        (lambda: tw.testbed({"src": [1], "dst": [2, 3], "prr": [1]}), "dst", "column dst has 2 rows"),
        (lambda: tw.testbed(7), "links", "expected a table, or a dict of columns; int is neither"),
    ],
)
def test_one_line_names_the_place(call, where, line):
    with pytest.raises(tw.InputError) as raised:
        call()
    said = str(raised.value)
    assert line in said and "\n" not in said, said
    assert raised.value.where == where
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, tw.ThalwegError)
    # None of another error stands above it.
    assert raised.value.__cause__ is None and raised.value.__context__ is None


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for save in (tw.run("cit.bounds", seeds=[1]).save, tw.experiment("cit.bounds").save):
        with pytest.raises(OSError) as raised:
            save(tmp_path / "file/in")
        assert str(tmp_path / "file") in str(raised.value.filename)


def test_a_testbeds_file_names_its_line(tmp_path: Path):
    file = tmp_path / "links.csv"
    file.write_text("src,dst,channel,prr\n1,2,26,0.9\n2,1,26,1.7\n")
    with pytest.raises(tw.InputError) as raised:
        tw.testbed(file)
    assert "line 3" in str(raised.value) and raised.value.where.startswith("line 3")


class LazyFrame:
    """As that of polars: it has columns, but no rows before it is collected."""

    columns = ["src", "dst", "prr"]

    def collect(self):
        return {}

    def __getitem__(self, key):
        raise TypeError("LazyFrame is not subscriptable")


def test_a_table_in_the_wrong_place_says_what_to_do():
    with pytest.raises(tw.InputError, match="LazyFrame is neither: collect it first"):
        tw.testbed(LazyFrame())
    mine = {"id": "mine", "title": "Mine", "run": {"kind": "transfers", "testbed": LazyFrame()}}
    with pytest.raises(tw.InputError, match=r"give thalweg.testbed\(\) of it") as raised:
        tw.experiment(mine)
    assert raised.value.where == "run.testbed"
