//! What simulated nodes send in a session: an endless series of made-up readings.
//!
//! Invariant: a packet can be made again at any time, the same bytes. Tests: at the end, `crates/daemon/tests/all/`.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use rand::Rng;
use thalweg_host::transfer::rcrt::PAYLOAD_BYTES;
use thalweg_medium::random::stream;
use thalweg_protocols::rcrt::sink::Config;
use thalweg_protocols::rcrt::source::{Ready, Supply};
use thalweg_units::{Instant, NodeId};
use thalweg_wire::rcrt::Flow;
use thalweg_wire::{WireError, Writer};

/// Bytes of a line: `00000017,+03.25` and its end.
const LINE: usize = 16;
/// Lines of a packet.
const LINES: u32 = PAYLOAD_BYTES as u32 / LINE as u32;

/// A node's gauge.
#[derive(Debug, Clone, Copy)]
pub struct Gauge {
    node: NodeId,
    seed: u64,
}

impl Gauge {
    /// That of `node`; one seed gives a node one course of values.
    pub const fn new(seed: u64, node: NodeId) -> Self {
        Self { node, seed }
    }
    /// Packet `sequence`: lines of a reading's number and value.
    pub fn packet(&self, sequence: u32) -> String {
        let node = u64::from(self.node.get());
        let mut text = String::with_capacity(LINE * LINES as usize);
        for line in 0..LINES {
            // Numbers begin again after eight digits.
            let number = (u64::from(sequence) * u64::from(LINES) + u64::from(line)) % 100_000_000;
            let mut rng = stream(self.seed, "gauge", &[node, number]);
            let noise: f64 = rng.random_range(-0.5..0.5);
            let slow = f64::sin(TAU * (number as f64 / 900.0 + node as f64 / 7.0));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{number:08},{:+06.2}", 20.0 * slow + noise);
        }
        text
    }
}

impl Supply for Gauge {
    fn room(&self) -> u16 {
        Config::PAPER.window
    }
    fn poll(&mut self, _now: Instant, _flow: Flow, _sequence: u32) -> Ready {
        Ready::Packet
    }
    fn read(&mut self, _flow: Flow, sequence: u32, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.bytes(self.packet(sequence).as_bytes()).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_full_and_the_same_again() {
        let gauge = Gauge::new(3, NodeId::new(17).unwrap());
        for sequence in [0, 1, 1_000, u32::MAX] {
            let packet = gauge.packet(sequence);
            assert_eq!(packet.len(), usize::from(PAYLOAD_BYTES), "{packet}");
            assert_eq!(packet, gauge.packet(sequence));
            assert!(packet.lines().all(|line| line.len() == LINE - 1));
        }
        assert!(gauge.packet(1).starts_with("00000004,"));
        assert_ne!(
            gauge.packet(0),
            Gauge::new(3, NodeId::new(18).unwrap()).packet(0)
        );
    }
}
