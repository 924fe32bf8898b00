//! What has arrived at a stream's sink, when, and for how much energy: what is counted whatever carries it.
//!
//! Time base: simulated time. Tests: `crates/lab/tests/streams/`.

use super::{Outcome, Terms};
use std::sync::Arc;
use thalweg_engine::Engine;
use thalweg_gateway::job::Progress;
use thalweg_gateway::object::digest;
use thalweg_sim::Network;
use thalweg_units::{BitRate, Duration, SimTime};
use thalweg_wire::{phy, stream};

/// Nodes are asleep for so long before the first order.
pub(super) const BEFORE: Duration = Duration::from_secs(2);

/// An object on its way, as the sink's application sees it.
pub(super) struct Arrivals {
    object: Arc<[u8]>,
    air_bytes: u32,
    have: Vec<bool>,
    received: u32,
    repeated: u32,
    /// Nodes whose energy counts, and what each had used at the order.
    meters: Vec<(usize, f64)>,
    ordered: SimTime,
    /// When the source began.
    pub(super) begun: Option<SimTime>,
    last: Option<SimTime>,
}

impl Arrivals {
    /// None of `object`.
    pub(super) fn new(object: &[u8], terms: &Terms) -> Self {
        let packets = object
            .len()
            .div_ceil(usize::from(terms.payload_bytes.max(1)));
        let mpdu = stream::HEADER_BYTES + usize::from(terms.payload_bytes);
        Self {
            object: object.into(),
            air_bytes: (phy::air_time(mpdu).as_nanos() / phy::BYTE.as_nanos()) as u32,
            have: vec![false; packets],
            received: 0,
            repeated: 0,
            meters: Vec::new(),
            ordered: SimTime::ZERO,
            begun: None,
            last: None,
        }
    }
    /// The order is given now; what `nodes` use from now on is the object's.
    pub(super) fn order<E: Engine>(&mut self, net: &Network<E>, nodes: &[usize]) {
        self.ordered = net.now();
        self.meters = nodes.iter().map(|n| (*n, net.joules(*n))).collect();
    }
    /// The object.
    pub(super) fn object(&self) -> Arc<[u8]> {
        self.object.clone()
    }
    /// For each packet, whether it is there.
    pub(super) fn have(&self) -> &[bool] {
        &self.have
    }
    /// Packets that are there.
    pub(super) const fn received(&self) -> u32 {
        self.received
    }
    /// Whether all packets are there.
    pub(super) fn is_whole(&self) -> bool {
        self.received as usize == self.have.len()
    }

    /// Packet `number` arrived at `at` in round `round`, from 1. Progress is told of every sixteenth packet and
    /// of the last.
    pub(super) fn note(&mut self, at: SimTime, number: u16, round: u32) -> Option<Progress> {
        self.last = Some(at);
        match self.have.get_mut(usize::from(number)) {
            Some(have) if !*have => *have = true,
            _ => {
                self.repeated += 1;
                return None;
            }
        }
        self.received += 1;
        let due = self.received.is_multiple_of(16) || self.is_whole();
        let time = at.since(self.begun.unwrap_or(at));
        due.then(|| arrived(round, self.received, self.air_bytes, time))
    }

    /// What became of it, but for rounds, ends and links; the sink has `bytes`.
    pub(super) fn outcome<E: Engine>(&self, net: &Network<E>, bytes: Vec<u8>) -> Outcome {
        let verified = self.is_whole() && digest(&bytes) == digest(&self.object);
        let begun = self.begun;
        let spent = self
            .meters
            .iter()
            .map(|(n, before)| net.joules(*n) - before);
        Outcome {
            packets: self.have.len() as u32,
            received: self.received,
            repeated: self.repeated,
            air_bytes: self.air_bytes,
            seconds: (begun.zip(self.last)).map_or(0.0, |(b, last)| last.since(b).as_secs_f64()),
            setup_seconds: begun.map_or(0.0, |begun| begun.since(self.ordered).as_secs_f64()),
            rounds: 1,
            end: String::new(),
            source_end: None,
            verified,
            joules: spent.sum(),
            object: Some(bytes).filter(|_| verified),
            links: Vec::new(),
        }
    }
}

/// `received` packets of `air_bytes` bytes each arrived within `time`: the rate counts every byte on the air.
pub(super) fn arrived(round: u32, received: u32, air_bytes: u32, time: Duration) -> Progress {
    Progress::Packets {
        round,
        received,
        rate: BitRate::of_bytes(u64::from(received) * u64::from(air_bytes), time),
    }
}
