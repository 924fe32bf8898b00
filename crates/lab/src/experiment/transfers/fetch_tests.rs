//! Tests of `fetch.rs`.

use super::*;
use crate::experiment::context::RunContext;
use crate::experiment::sites::Sites;
use crate::experiment::tests::kind_of;
use crate::experiment::ExperimentError;

const LINE: &str =
    "testbed='line5'\nroutes=1\npackets=12\nprotocols=['p3','pip']\nbaseline='pip'\n\
    route={min_hops=2,max_hops=4,min_paths=1,floors='any'}";

#[test]
fn a_route_that_cannot_be_planned_is_a_row_that_delivers_nothing() {
    let transfers: Transfers = kind_of(LINE).unwrap();
    let sites = Sites::default();
    let lab = RunContext::new(&sites, 1, None, &|_, _| Continue(()));
    let mut drawn = transfers.draw(1, &lab).unwrap();
    let planned = transfers.cell_rows(&drawn, 0).unwrap();
    drawn.pairs[0].sink = drawn.pairs[0].source;
    let rows = transfers.cell_rows(&drawn, 0).unwrap();
    assert_eq!(rows.len(), planned.len());
    for (row, planned) in rows.iter().zip(&planned) {
        for column in [
            "goodput_kbps",
            "verified",
            "exact",
            "wrong",
            "baseline_goodput_kbps",
        ] {
            assert_eq!(row.number(column), Some(0.0), "{column}");
        }
        assert!(row.0["failure"].to_string().starts_with("no plan: node"));
        for column in ["seed", "protocol", "route", "payload"] {
            assert_eq!(row.0[column], planned.0[column], "{column}");
        }
        assert_eq!(row.number("energy_over_baseline"), None);
    }
    assert_eq!(planned[1].number("energy_over_baseline"), Some(1.0));
}

#[test]
fn a_wake_up_tells_of_as_many_packets_as_the_object_has() {
    let transfers: Transfers = kind_of(LINE).unwrap();
    let sites = Sites::default();
    let lab = RunContext::new(&sites, 1, None, &|_, _| Continue(()));
    let drawn = transfers.draw(1, &lab).unwrap();
    let packets = |variant| {
        transfers
            .task(&drawn, 0, variant)
            .ok()
            .unwrap()
            .plan
            .packets
    };
    assert_eq!(packets(Pipelined::P3), 12);
    // Of as many bytes, in packets of 121 instead of 118.
    let object = transfers.first_cell().bytes;
    assert_eq!(
        packets(Pipelined::named("thalweg").unwrap()),
        object.div_ceil(121)
    );
}

#[test]
fn a_seed_without_routes_has_rows_that_say_so_beside_others() {
    let text = format!("[run]\nkind='transfers'\n{LINE}");
    let table: toml::Table = text.parse().unwrap();
    let run = crate::experiment::Run::try_from(table["run"].as_table().unwrap().clone()).unwrap();
    let lacks = |seed| ExperimentError::Unfit {
        testbed: "line5".to_owned(),
        seed,
        why: "no two nodes have paths".to_owned(),
    };
    let sites = Sites::default();
    let lab = RunContext::new(&sites, 2, None, &|_, _| Continue(()));
    let some = |seed| match seed {
        1 => Ok(vec![Row::new().with("seed", seed)]),
        seed => Err(lacks(seed)),
    };
    let rows = crate::experiment::rows_of_seeds(&[4, 1], &run, &lab, some).unwrap();
    assert_eq!(rows.len(), 3);
    for (row, protocol) in rows.iter().zip(["p3", "pip"]) {
        assert_eq!(row.number("seed"), Some(4.0));
        assert_eq!(row.0["protocol"].to_string(), protocol);
        assert_eq!(row.number("routes_found"), Some(0.0));
        assert_eq!(row.number("routes_wanted"), Some(1.0));
        assert_eq!(row.number("goodput_kbps"), None);
        let why = row.0["failure"].to_string();
        assert!(
            why.ends_with("line5, seed 4: no two nodes have paths"),
            "{why}"
        );
        assert_eq!(crate::results::unfit(row, &run.columns()), None);
    }
    // Where no seed has any, that is the error.
    let none = crate::experiment::rows_of_seeds(&[4, 5], &run, &lab, |seed| Err(lacks(seed)));
    assert_eq!(none.unwrap_err().to_string(), lacks(4).to_string());
}
