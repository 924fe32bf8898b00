//! Link measurement (P3, section IV-D1): the beacon, and the flood that says whose turn it is.
//!
//! An [`Announce`] is kept so short (15 bytes with its flood's header) that a flood of it crosses
//! ten hops within T_o = 10 ms. Intervals are in steps of 0.1 ms. Tests: `beacon_tests.rs`.

use crate::buf::{Reader, WireError, Writer};
use crate::flood::{Campaign, Kind};
use crate::{dispatch, mac, phy};
use thalweg_units::{Channel, ChannelSet, Duration, NodeId};

/// The step of all times: 0.1 ms.
pub const TIME_STEP: Duration = Duration::from_micros(100);

/// The longest that a node's turn may take: no node waits longer for its end. P3's survey has 16 s.
pub const MAX_TURN: Duration = Duration::from_secs(600);

/// A node's broadcast that its neighbours count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beacon {
    /// Who sends it.
    pub from: NodeId,
    /// Which measurement it belongs to.
    pub campaign: Campaign,
    /// On which channel it is sent: what a receiver elsewhere must not count.
    pub channel: Channel,
    /// Its number among those of its sender on its channel, from 0.
    pub number: u8,
}

impl Beacon {
    /// Reads a beacon and ignores its filler.
    pub fn parse(mpdu: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(mpdu);
        let number = mac::parse(&mut r)?;
        r.expect(dispatch::BEACON)?;
        let from = r.node()?;
        let byte = r.u8()?;
        Ok(Self {
            from,
            campaign: Campaign::new(byte >> 4),
            channel: Channel::from_index(usize::from(byte & 0x0f)),
            number,
        })
    }
    /// Writes a beacon, filled up to `bytes` where it is shorter, so that it is exposed to errors
    /// as the frames are whose links it measures.
    pub fn emit(&self, w: &mut Writer<'_>, bytes: usize) -> Result<(), WireError> {
        mac::emit(self.number, w)?;
        w.u8(dispatch::BEACON)?.u16(self.from.get())?;
        w.u8(self.campaign.number() << 4 | self.channel.index() as u8)?;
        // Not all zeros: the chips of real payloads are mixed.
        while w.len() < bytes.min(phy::MAX_MPDU) {
            w.u8((w.len() as u8).wrapping_mul(0x5d))?;
        }
        Ok(())
    }
}

/// "Node `node` sends beacons now": the content of a flood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announce {
    /// Which measurement it belongs to.
    pub campaign: Campaign,
    /// Whose turn it is.
    pub node: NodeId,
    /// On which channels, lowest first; at least one.
    pub channels: ChannelSet,
    /// N_b: how many beacons on each channel, at least one.
    pub beacons: u8,
    /// IPI: from one beacon to the next, a multiple of [`TIME_STEP`] up to 6.5535 s.
    pub interval: Duration,
}

impl Announce {
    /// Reads the content of a flood.
    pub fn parse(content: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(content);
        let repr = Self {
            campaign: Kind::Announce.parse(&mut r)?,
            node: r.node()?,
            channels: ChannelSet::from_bits(r.u16()?),
            beacons: r.u8()?,
            interval: TIME_STEP * u64::from(r.u16()?),
        };
        match repr.is_possible() && r.remaining() == 0 {
            true => Ok(repr),
            false => Err(WireError::Malformed),
        }
    }
    /// How long the turn takes.
    pub const fn turn(&self) -> Duration {
        let beacons = self.beacons as u64 * self.channels.len() as u64;
        Duration::from_nanos(self.interval.as_nanos() * beacons)
    }
    fn is_possible(&self) -> bool {
        let has_beacons = !self.channels.is_empty() && self.beacons > 0;
        has_beacons && !self.interval.is_zero() && self.turn() <= MAX_TURN
    }
    /// Writes the content of a flood.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for an interval that is no number of steps, or a turn that
    /// is none or longer than [`MAX_TURN`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        if !self.is_possible() {
            return Err(WireError::Malformed);
        }
        Kind::Announce.emit(self.campaign, w)?;
        w.u16(self.node.get())?.u16(self.channels.bits())?;
        w.u8(self.beacons)?.u16(steps(self.interval)?)?;
        Ok(())
    }
}

/// `time` in steps of [`TIME_STEP`].
///
/// # Errors
/// [`WireError::Malformed`] where it is no multiple of a step, or more than 65535 of them.
pub fn steps(time: Duration) -> Result<u16, WireError> {
    let steps = u16::try_from(time / TIME_STEP).map_err(|_| WireError::Malformed)?;
    if TIME_STEP * u64::from(steps) == time {
        Ok(steps)
    } else {
        Err(WireError::Malformed)
    }
}

#[cfg(test)]
#[path = "beacon_tests.rs"]
mod tests;
