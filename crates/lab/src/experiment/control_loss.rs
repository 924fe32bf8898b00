//! Every control packet of a transfer lost once: the transfer runs undisturbed, then once for each
//! of its control packets (wake-up floods, requests, NACKs, releases), which no node receives in
//! that run. P3, section IV-F, requires that rounds end all the same.
//!
//! Owns the keys of `kind = "control-loss"` and its rows. A packet is what synchronous senders put on
//! the air together; it is lost at its receivers, which hear nothing for as long as it lasts. Up to
//! that moment a disturbed run is the undisturbed one. Tests: below, `tests.rs`.

use super::context::{rows_in_order, RunContext};
use super::keys::keys;
use super::kind::{with_seed, Kind};
use super::transfers::{self, Task, Transfers, Unplanned};
use super::Result;
use crate::results::{columns, Column, Row};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_host::registry::Pipelined;
use thalweg_medium::Outcome as Fate;
use thalweg_sim::{Fault, ReceptionTrace};
use thalweg_simnet::motes::Motes;
use thalweg_units::{Channel, Duration, SimTime};
use thalweg_wire::pipeline::{self, Header, Purpose, Request};
use thalweg_wire::{flood, Reader};

keys! {
    "control-loss",
    /// Transfers run once for each of their control packets, which nobody receives in that run.
    pub struct ControlLoss {
        /// The routes to draw from, and the object.
        pub transfers: Transfers;
    }
}

/// Copies of a frame that begin closer together than this are one packet: synchronous senders are
/// microseconds apart, repetitions at least a frame.
const TOGETHER: Duration = Duration::from_micros(100);
/// By this much a receiver is deaf before and after the packet.
const MARGIN: Duration = Duration::from_micros(1);

impl Kind for ControlLoss {
    fn columns() -> Vec<Column> {
        let own = columns! {
            lost: Text, "What was lost; `nothing` for the undisturbed transfer.";
            packet: Whole, "Which control packet it was, from 1 on; 0 for the undisturbed transfer.";
            of: Whole, "How many control packets there are.";
            receivers: Whole, "Nodes that would have received it.";
            lost_at_ms: Number "ms", "When it was sent.";
            extra_ms: Number "ms", "How much longer the transfer took for it, where it delivered.";
            extra_rounds: Number, "How many more rounds, where it delivered.";
        };
        with_seed(&[transfers::OUTCOME, transfers::ROUTE, own])
    }

    fn check(&self) -> Result<(), String> {
        self.transfers.check_below()
    }

    fn parts(&self) -> u64 {
        self.transfers.parts()
    }

    fn rows(&self, seed: u64, lab: &RunContext<'_>) -> Result<Vec<Row>> {
        let drawn = self.transfers.draw(seed, lab)?;
        self.transfers.each_route(drawn.pairs.len(), lab, |route| {
            let rows = |variant: &Pipelined| match self.transfers.task(&drawn, route, *variant) {
                Ok(task) => self.task_rows(&task, lab),
                Err(Unplanned(row)) => {
                    let row = row.with("lost", "nothing").with("packet", 0u32);
                    Ok(vec![row.with("of", 0u32)])
                }
            };
            let rows = || rows_in_order(&self.transfers.protocols, rows);
            lab.setting((seed, route), rows)
        })
    }

    fn testbed_key(&self) -> Option<&'static str> {
        Some("transfers.testbed")
    }

    fn sought(&self) -> Option<String> {
        self.transfers.sought()
    }

    fn routes_key(&self) -> Option<&'static str> {
        Some("transfers.routes")
    }
}

impl ControlLoss {
    /// The undisturbed transfer, and where it delivers one for each packet lost.
    fn task_rows(&self, task: &Task<'_>, lab: &RunContext<'_>) -> Result<Vec<Row>> {
        lab.go_on()?;
        let transfers = &self.transfers;
        let (undisturbed, packets) = observed(transfers, task)?;
        let count = packets.len();
        let numbered = |row: Row, packet: usize| row.with("packet", packet).with("of", count);
        let base = |column: &str| undisturbed.number(column).unwrap_or(0.0);
        let (duration, rounds, is_whole) = (base("duration_s"), base("rounds"), base("exact"));
        let mut rows = vec![numbered(undisturbed.with("lost", "nothing"), 0)];
        if is_whole == 0.0 {
            return Ok(rows);
        }
        for (at, packet) in packets.iter().enumerate() {
            lab.go_on()?;
            let lose = |session: &mut Motes| packet.lose(session);
            let row = transfers.fetch_prepared(task, lose)?;
            let is_there = row.number("exact") == Some(1.0);
            let number = |column: &str| row.number(column).filter(|_| is_there);
            let extra_s = number("duration_s").map(|s| s - duration);
            let extra_rounds = number("rounds").map(|r| r - rounds);
            let mut row = numbered(row.with("lost", packet.what), at + 1)
                .with("receivers", packet.receivers.len())
                .with("lost_at_ms", packet.start.as_secs_f64() * 1e3);
            row.set_some("extra_ms", extra_s.map(|s| s * 1e3));
            row.set_some("extra_rounds", extra_rounds);
            rows.push(row);
        }
        Ok(rows)
    }
}

/// An undisturbed transfer and its control packets, in their order on the air.
fn observed(transfers: &Transfers, task: &Task<'_>) -> Result<(Row, Vec<Packet>)> {
    let packets: Arc<Mutex<Vec<Packet>>> = Arc::default();
    let seen = packets.clone();
    let watch = |session: &mut Motes| {
        session.network().trace(Some(Box::new(move |reception| {
            let mut packets = seen.lock().unwrap_or_else(PoisonError::into_inner);
            note(&mut packets, reception);
        })));
    };
    let row = transfers.fetch_prepared(task, watch)?;
    let mut packets = std::mem::take(&mut *packets.lock().unwrap_or_else(PoisonError::into_inner));
    packets.sort_by_key(|packet| (packet.start, packet.channel));
    Ok((row, packets))
}

/// What a frame of a transfer is for, as rows name it; none for data and for other frames.
fn purpose(mpdu: &[u8]) -> Option<&'static str> {
    if flood::Repr::parse(mpdu).is_ok() {
        return Some("wake-up");
    }
    let mut reader = Reader::new(mpdu);
    match Header::parse(&mut reader).ok()?.head.kind {
        pipeline::Kind::Data => None,
        pipeline::Kind::Nack => Some("nack"),
        pipeline::Kind::Request => match Request::parse(&mut reader).ok()?.purpose {
            Purpose::Report | Purpose::Count | Purpose::Across => Some("request"),
            Purpose::Release => Some("release"),
        },
    }
}

/// A control packet: the same bytes from one or several senders at once.
#[derive(Debug, Clone)]
struct Packet {
    what: &'static str,
    channel: Channel,
    mpdu: Vec<u8>,
    /// Of its first copy.
    start: SimTime,
    /// Of its last copy, at its receivers.
    end: SimTime,
    /// Who got it.
    receivers: Vec<usize>,
}

impl Packet {
    /// No node receives it in `session`.
    fn lose(&self, session: &mut Motes) {
        let from = self.start.saturating_sub(MARGIN);
        let until = self.end + MARGIN;
        for receiver in &self.receivers {
            let net = session.network();
            net.fault_at(from, *receiver, Fault::Deaf { until });
        }
    }
}

/// Adds a reception to the packet that it is of.
fn note(packets: &mut Vec<Packet>, reception: &ReceptionTrace<'_>) {
    let (true, Some(what)) = (reception.outcome == Fate::Good, purpose(reception.mpdu)) else {
        return;
    };
    let is_it = |packet: &&mut Packet| {
        let (one, other) = (packet.start, reception.start);
        packet.channel == reception.channel
            && one.max(other).since(one.min(other)) < TOGETHER
            && packet.mpdu == reception.mpdu
    };
    match packets.iter_mut().rev().find(is_it) {
        Some(packet) => {
            packet.start = packet.start.min(reception.start);
            packet.end = packet.end.max(reception.at);
            packet.receivers.push(reception.to);
        }
        None => packets.push(Packet {
            what,
            channel: reception.channel,
            mpdu: reception.mpdu.to_vec(),
            start: reception.start,
            end: reception.at,
            receivers: vec![reception.to],
        }),
    }
}

#[cfg(test)]
#[path = "control_loss_tests.rs"]
mod tests;
