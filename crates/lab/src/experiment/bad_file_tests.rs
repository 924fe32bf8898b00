//! Files that are no experiments: the answer is one line with the file, the line and the key.
#![allow(clippy::unwrap_used)]

use super::Experiment;
use std::path::Path;

const GOOD: &str = "\
id = 'mine'
title = 'T'
[run]
kind = 'transfers'
testbed = 'pair'
protocols = ['p3']
payload = [100]
route = { min_hops = 1 }
[[metric]]
name = 'm'
of = 'goodput_kbps'
stat = 'mean'
[[metric]]
name = 'n'
of = 'hops'
stat = 'max'
by = ['protocol']
where = { paths = 6 }
against = { protocol = 'pip' }
[[figure]]
name = 'f'
title = 'F'
x = { column = 'route', label = 'R' }
y = { column = 'hops', label = 'H' }
";

/// What a file says that has `to` instead of `from`.
fn answer(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    let error = Experiment::parse(Path::new("mine.toml"), &text).unwrap_err();
    let line = error.to_string();
    assert!(
        line.starts_with("mine.toml: ") && !line.contains('\n'),
        "{line}"
    );
    line
}

#[test]
fn a_wrong_file_is_told_its_line_and_key() {
    Experiment::parse(Path::new("mine.toml"), GOOD).unwrap();
    for (from, to, wanted) in [
        ("'T'", "3", "line 2: title: invalid type: integer"),
        ("id = 'mine'", "id = 'a/b'", "line 1: id: expected a name"),
        (
            "title",
            "colour = 1\ntitle",
            "line 2: colour: unknown key; the nearest is ",
        ),
        ("title = 'T'", "title = 'T", "line 2: "),
        (
            "title = 'T'",
            "title = 'T'\nseeds = 0",
            "line 3: seeds: expected 1 to",
        ),
        (
            "'transfers'",
            "'dance'",
            "line 4: run.kind: \"dance\" is none of",
        ),
        (
            "kind = 'transfers'\n",
            "",
            "line 3: run.kind: expected one of",
        ),
        (
            "protocols = ['p3']\n",
            "",
            "line 3: run: missing field `protocols`",
        ),
        ("['p3']", "['p4']", "line 6: run.protocols: "),
        ("[100]", "[119]", "line 7: run.payload: expected 1 to 118"),
        ("[100]", "'long'", "line 7: run.payload: invalid type"),
        (
            "[100]",
            "[100]\nspeed = 1",
            "line 8: run.speed: unknown key; the nearest is ",
        ),
        (
            "min_hops = 1",
            "min_hops = 9",
            "line 8: run.route.min_hops: ",
        ),
        (
            "min_hops = 1",
            "hop = 1",
            "line 8: run.route.hop: unknown key; the nearest is ",
        ),
        (
            "stat = 'mean'",
            "stat = 'mode'",
            "line 12: metric.stat: unknown variant `mode`",
        ),
        (
            "stat = 'mean'\n",
            "",
            "line 9: metric: missing field `stat`",
        ),
        (
            "paths = 6",
            "paths = true",
            "line 18: metric.where.paths: expected a number or a name",
        ),
        (
            "'hops'\n",
            "'hops'\nratio = 'pooled'\n",
            "line 16: metric \"n\", ratio: a pooled ratio is one of sums",
        ),
        (
            "title = 'F'",
            "title = 'F'\nmark = 'pie'",
            "line 23: figure.mark: unknown variant",
        ),
        (
            "column = 'route', ",
            "",
            "line 23: figure.x: missing field `column`",
        ),
        ("name = 'f'", "name = ''", "line 21: figure.name: "),
    ] {
        let line = answer(from, to);
        assert!(line.contains(wanted), "{wanted}\n{line}");
    }
}

#[test]
fn an_unknown_column_is_told_the_known_ones() {
    for (from, to, wanted) in [
        (
            "'goodput_kbps'",
            "'goodput'",
            "line 11: metric \"m\", of: no row has a column \"goodput\"; there are ",
        ),
        (
            "'hops'\n",
            "'hops'\nover = 'bites'\n",
            "line 16: metric \"n\", over: no row has a column \"bites\"; there are bytes, ",
        ),
        (
            "['protocol']",
            "['protocoll']",
            "line 17: metric \"n\", by: no row has a column \"protocoll\"; there are protocol, ",
        ),
        (
            "paths = 6",
            "path = 6",
            "line 18: metric \"n\", where: no row has a column \"path\"; there are paths, ",
        ),
        (
            "{ protocol =",
            "{ proto =",
            "line 19: metric \"n\", against: ",
        ),
        (
            "'mean'",
            "{ best_of = 'pay' }",
            "line 12: metric \"m\", stat: ",
        ),
        (
            "'route', label",
            "'routes', label",
            "line 23: figure \"f\", x: no row has a column \"routes\"; there are route, ",
        ),
        (
            "'hops', label",
            "'hop', label",
            "line 24: figure \"f\", y: ",
        ),
        (
            "title = 'F'",
            "title = 'F'\nseries = 'who'",
            "line 23: figure \"f\", series: ",
        ),
        (
            "title = 'F'",
            "title = 'F'\nwhere = { who = 1 }",
            "line 23: figure \"f\", where: ",
        ),
    ] {
        let line = answer(from, to);
        assert!(line.contains(wanted), "{wanted}\n{line}");
    }
}

#[test]
fn no_file_and_an_empty_one_are_told() {
    let empty = Experiment::parse(Path::new("mine.toml"), "").unwrap_err();
    assert_eq!(empty.to_string(), "mine.toml: line 1: missing field `id`");
    let unknown = Experiment::load("no-such").unwrap_err().to_string();
    assert!(unknown.contains("experiment list"));
}
