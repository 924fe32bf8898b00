//! What each frame of a node under IFRC carries at its end, for all neighbours.
//!
//! The sender's own rate and congestion, and those of its lowest-rate congested child: what neighbours
//! share by overhearing (Rangwala et al., SIGCOMM 2006, as RCRT's section 4.2.5 compares to it).
//! Tests: `ifrc_tests.rs`.

use crate::buf::{Reader, WireError, Writer};
use thalweg_units::NodeId;

/// Bytes of a [`Control`].
pub const CONTROL_BYTES: usize = 12;
/// Thresholds that a queue's average can cross.
pub const THRESHOLDS: u8 = 4;

const SLOW_START: u8 = 0x08;
const HAS_THRESHOLD: u8 = 0x10;
const HAS_CHILD: u8 = 0x20;
const CROSSED: u8 = 0x07;

/// A rate of packets in 1/4096 of a packet per second: up to 15.999 per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u16);

impl Rate {
    const UNIT: f32 = 4096.0;
    /// The most.
    pub const MAX: Self = Self(u16::MAX);

    /// The nearest to so many packets per second; what is beyond the ends is brought there, what is no
    /// number is nothing.
    pub fn from_per_s(per_s: f32) -> Self {
        // Casts saturate, and take no number as 0.
        Self((per_s * Self::UNIT + 0.5) as u16)
    }
    /// Packets per second.
    pub fn per_s(self) -> f32 {
        f32::from(self.0) / Self::UNIT
    }
}

/// How a rate grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// By a constant for each packet, up to the threshold; none before the first congestion.
    SlowStart {
        /// r_thresh.
        threshold: Option<Rate>,
    },
    /// By r_thresh^2 / (eps r) for each packet.
    Additive {
        /// r_thresh.
        threshold: Rate,
    },
}

/// A node's rate and congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// r_i.
    pub rate: Rate,
    /// How it grows.
    pub phase: Phase,
    /// Thresholds that the average of its queue has crossed since the node was not congested, at most
    /// [`THRESHOLDS`]; none where it is not congested.
    pub crossed: u8,
}

impl State {
    const fn bits(&self) -> u8 {
        let phase = match self.phase {
            Phase::SlowStart { threshold: None } => SLOW_START,
            Phase::SlowStart { threshold: Some(_) } => SLOW_START | HAS_THRESHOLD,
            Phase::Additive { .. } => HAS_THRESHOLD,
        };
        phase | (self.crossed & CROSSED)
    }
    const fn threshold(&self) -> u16 {
        match self.phase {
            Phase::SlowStart { threshold: None } => 0,
            Phase::SlowStart { threshold: Some(t) } | Phase::Additive { threshold: t } => t.0,
        }
    }
    fn parse(bits: u8, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let rate = Rate(r.u16()?);
        let threshold = Rate(r.u16()?);
        let phase = match (bits & SLOW_START != 0, bits & HAS_THRESHOLD != 0) {
            (true, false) => Phase::SlowStart { threshold: None },
            (true, true) => Phase::SlowStart {
                threshold: Some(threshold),
            },
            (false, true) => Phase::Additive { threshold },
            (false, false) => return Err(WireError::Malformed),
        };
        let crossed = bits & CROSSED;
        if crossed > THRESHOLDS {
            return Err(WireError::Malformed);
        }
        Ok(Self {
            rate,
            phase,
            crossed,
        })
    }
}

/// What a frame's sender says of itself and of its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// Its own state.
    pub own: State,
    /// Of its congested children, the one with the lowest rate.
    pub child: Option<(NodeId, State)>,
}

impl Control {
    /// Writes it.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let has_child = if self.child.is_some() { HAS_CHILD } else { 0 };
        w.u8(self.own.bits() | has_child)?;
        w.u16(self.own.rate.0)?.u16(self.own.threshold())?;
        match self.child {
            Some((id, state)) => {
                w.u16(id.get())?.u8(state.bits())?;
                w.u16(state.rate.0)?.u16(state.threshold())?;
            }
            None => {
                w.bytes(&[0; 7])?;
            }
        }
        Ok(())
    }
    /// Reads it.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::Malformed`].
    pub fn parse(tail: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(tail);
        let bits = r.u8()?;
        let own = State::parse(bits, &mut r)?;
        let child = match bits & HAS_CHILD != 0 {
            true => {
                let id = r.node()?;
                let bits = r.u8()?;
                Some((id, State::parse(bits, &mut r)?))
            }
            false => {
                r.bytes(7)?;
                None
            }
        };
        r.end()?;
        Ok(Self { own, child })
    }
}

#[cfg(test)]
#[path = "ifrc_tests.rs"]
mod tests;
