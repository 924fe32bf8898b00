//! Tests of `fetch.rs`.

use super::*;
use crate::experiment::context::RunContext;
use crate::experiment::sites::Sites;
use crate::experiment::tests::kind_of;

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
