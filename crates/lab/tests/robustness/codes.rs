//! What a code costs the source that makes it: beforehand, when it is due, and on a board that is fast.

use crate::bench::{fetch, object, terms, Ladder, Reverse};
use thalweg_engine::Work;
use thalweg_lab::transfer::{Outcome, Protocol, Terms};
use thalweg_sim::boards;
use thalweg_wire::route::BlockSymbols;

const LADDER: Ladder = Ladder {
    hops: 3,
    paths: 2,
    least_prr: 0.8,
    seed: 4,
    reverse: Reverse::Alive,
};
const BYTES: usize = 20_000;

fn fetched(terms: &Terms) -> Outcome {
    let mut session = LADDER.session();
    let object = object(7, BYTES);
    fetch(&mut session, &LADDER.plan(), Protocol::P3, terms, &object)
}

#[test]
fn symbols_made_beforehand_cost_energy_and_symbols_made_when_due_cost_time() {
    let free = fetched(&terms());
    let before = fetched(&terms().blocks(BlockSymbols::MAX));
    let due = fetched(&terms().blocks_when_due(BlockSymbols::MAX));
    assert!(free.verified && before.verified && due.verified);
    assert!(before.rounds > 1 && due.rounds > 1, "something was lost");
    assert_eq!((free.beforehand_j, due.beforehand_j), (None, None));
    // 170 packets in 3 blocks of 57 or 56, 29 symbols of each: four passes over a block.
    let (each, symbols) = (118 * 170, 3 * 29);
    let work = Work {
        multiplied: 29 * each,
        read: 4 * each,
        written: symbols * 118,
    };
    let board = boards::telosb();
    let time = board.computing.price(work).as_secs_f64();
    let took = before.beforehand_s.unwrap();
    // And a handler for each of the jobs, four a block.
    assert!(took >= time && took < time + 14.0 * 100e-6, "{took} {time}");
    let flash = |bytes: u32, each: thalweg_units::Duration, ma: f64| {
        f64::from(bytes) * each.as_secs_f64() * ma * 3e-3
    };
    let (computing, currents) = (&board.computing, &board.currents);
    let joules = took * currents.mcu_active_ma * 3e-3
        + flash(work.read, computing.read_byte, currents.flash_read_ma)
        + flash(work.written, computing.write_byte, currents.flash_write_ma);
    let charged = before.beforehand_j.unwrap();
    assert!((charged - joules).abs() < 1e-6, "{charged} {joules}");
    // A symbol takes eleven cycles and more.
    assert!(due.duration_s > before.duration_s + 0.2, "{due:?}");
}

#[test]
fn symbols_are_made_once_for_an_object() {
    let mut session = LADDER.session();
    let terms = terms().blocks(BlockSymbols::MAX);
    let source = LADDER.plan().source;
    session.offer(source, object(7, BYTES));
    let first = session.make_beforehand(source, &terms).unwrap();
    assert_eq!(first.map(|made| made.rows), Some(29));
    assert_eq!(session.make_beforehand(source, &terms).unwrap(), None);
    // Of another object they are of no use.
    session.offer(source, object(8, BYTES));
    assert!(session.make_beforehand(source, &terms).unwrap().is_some());
    let rounds = Terms::default();
    assert_eq!(session.make_beforehand(source, &rounds).unwrap(), None);
}
