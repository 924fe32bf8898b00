//! Tests of `control_loss.rs`.

use super::*;
use crate::experiment::sites::Sites;
use crate::experiment::tests::{kind_of, rows_of};
use std::collections::BTreeSet;
use std::ops::ControlFlow::Continue;
use thalweg_host::registry::Pipelined;

const LINE: &str = "[transfers]\ntestbed='line5'\n\
    routes=1\npackets=12\nroute={min_hops=2,max_hops=4,min_paths=1,floors='any'}\nprotocols=['p3','p3-slim','pip']";

fn line() -> ControlLoss {
    kind_of(LINE).unwrap()
}

#[test]
fn each_control_packet_is_lost_in_a_run_of_its_own() {
    let rows = rows_of(&line(), &[1]).unwrap();
    for protocol in ["p3", "p3-slim", "pip"] {
        let text = |row: &Row, column: &str| row.0.get(column).map(ToString::to_string);
        let of_it = |row: &&Row| text(row, "protocol").as_deref() == Some(protocol);
        let rows: Vec<&Row> = rows.iter().filter(of_it).collect();
        let count = rows[0].number("of").unwrap();
        // Seven or eight of the wake-up, two of each kind of message over two hops.
        assert!((13.0..=14.0).contains(&count), "{protocol}: {count}");
        assert_eq!(rows.len(), count as usize + 1, "{protocol}");
        let lost: BTreeSet<_> = rows.iter().filter_map(|row| text(row, "lost")).collect();
        for what in ["nothing", "wake-up", "request", "nack", "release"] {
            assert!(lost.contains(what), "{protocol}: {lost:?}");
        }
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(row.number("packet"), Some(at as f64));
            // PIP has one attempt, and a wake-up may be in vain.
            let spared = protocol == "pip" && text(row, "lost").as_deref() == Some("wake-up");
            assert!(spared || row.number("exact") == Some(1.0), "{row:?}");
            assert_eq!(row.number("wrong"), Some(0.0));
        }
    }
}

#[test]
fn a_lost_packet_has_no_receiver() {
    let transfers = line().transfers;
    let sites = Sites::default();
    let lab = RunContext::new(&sites, 1, None, &|_, _| Continue(()));
    let drawn = transfers.draw(1, &lab).unwrap();
    let task = transfers.task(&drawn, 0, Pipelined::P3).ok().unwrap();
    let (_, packets) = observed(&transfers, &task).unwrap();
    let is_it = |one: &Packet, other: &Packet| {
        (one.channel, &one.mpdu) == (other.channel, &other.mpdu)
            && one.start.max(other.start).since(one.start.min(other.start)) < TOGETHER
    };
    for (at, packet) in packets.iter().enumerate().step_by(5) {
        let seen: Arc<Mutex<Vec<Packet>>> = Arc::default();
        let hook = seen.clone();
        let lose = |session: &mut Motes| {
            packet.lose(session);
            session.network().trace(Some(Box::new(move |reception| {
                note(&mut hook.lock().unwrap(), reception);
            })));
        };
        transfers.fetch_prepared(&task, lose).unwrap();
        let seen = seen.lock().unwrap();
        assert!(!seen.iter().any(|other| is_it(packet, other)), "{packet:?}");
        // What came before it came again.
        for before in &packets[..at] {
            assert!(seen.iter().any(|other| is_it(before, other)), "{before:?}");
        }
    }
}
