//! The parameters of a transfer in its wake-up message: types without invalid values. Tests: `tests.rs`.

use super::MAX_STAGES;
use crate::pipeline::{Format, Group, MAX_HOPS, MAX_PAYLOAD};
use thalweg_units::{Channel, Duration, NodeId};

/// Bytes of payload in each packet: 1..=118, or up to 121 with slim headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadSize(u8);

impl PayloadSize {
    /// The largest, P3's default (P3, Fig. 7).
    pub const MAX: Self = Self(MAX_PAYLOAD as u8);

    /// `bytes` of payload; `None` outside 1..=118.
    pub fn new(bytes: u8) -> Option<Self> {
        Self::of_format(bytes, Format::Full)
    }
    /// `bytes` of payload in frames of `format`; `None` for 0 and for more than a frame holds.
    pub fn of_format(bytes: u8, format: Format) -> Option<Self> {
        let fits = (1..=format.max_payload()).contains(&bytes);
        fits.then_some(Self(bytes))
    }
    /// The largest of `format`.
    pub const fn max_of(format: Format) -> Self {
        Self(format.max_payload())
    }
    /// How many bytes.
    pub const fn bytes(self) -> u8 {
        self.0
    }
}

/// The reception channel of each stage, C_0 (source) to C_H (destination).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channels {
    pub(super) list: [Channel; MAX_STAGES],
    pub(super) hops: u8,
}

impl Channels {
    /// The channels of stages 0 to H; `None` unless 1 <= H <= [`MAX_HOPS`].
    pub fn new(channels: &[Channel]) -> Option<Self> {
        let hops = u8::try_from(channels.len().checked_sub(1)?).ok()?;
        if hops == 0 || hops > MAX_HOPS {
            return None;
        }
        let mut list = [Channel::LAST; MAX_STAGES];
        list[..channels.len()].copy_from_slice(channels);
        Some(Self { list, hops })
    }
    /// H.
    pub const fn hops(&self) -> u8 {
        self.hops
    }
    /// C_stage; stages beyond H have that of H.
    pub fn of(&self, stage: u8) -> Channel {
        self.list[usize::from(stage.min(self.hops))]
    }
    /// The same where stage H has `last`.
    #[must_use]
    pub fn ending_on(mut self, last: Channel) -> Self {
        self.list[usize::from(self.hops)] = last;
        self
    }
    /// C_0 to C_H.
    pub fn as_slice(&self) -> &[Channel] {
        &self.list[..=usize::from(self.hops)]
    }
    /// The different ones among them, in order of first use.
    pub fn different(&self) -> impl Iterator<Item = Channel> + '_ {
        let list = self.as_slice();
        let new = move |i: &usize| !list[..*i].contains(&list[*i]);
        (0..list.len()).filter(new).map(move |i| list[i])
    }
}

/// Whether the stages' channels change during a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hopping {
    /// They stay.
    Fixed,
    /// All advance by one place of the channel list every two cycles.
    EveryCyclePair,
}

/// Which protocol the transfer uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Several paths, two groups, a packet every cycle.
    P3,
    /// One path, a packet every other cycle.
    Pip(Hopping),
    /// The same on fixed channels; a relay's packets wait in its radio, and each goes out when the
    /// next comes in (conditional immediate transmission, CIT, section 4).
    PipCit,
    /// Two chains of single relays, with backup relays; no publication's.
    Thalweg,
    /// One path whose relays store blocks and repeat what a hop lost. It has no wake-up message: its calls are
    /// [`crate::hop`]'s.
    HopByHop,
}

impl Scheme {
    /// Whether relays are in two groups that take turns.
    pub const fn has_groups(self) -> bool {
        matches!(self, Self::P3 | Self::Thalweg)
    }
}

/// What becomes of the packets that an earlier transfer of the same object brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The transfer begins with the first packet.
    Fresh,
    /// It goes on with what the source knows to be missing, or requests. Alternate relays take part from the start.
    Kept,
}

/// Whether a transfer requests a report on its first packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// It does not.
    None,
    /// It does. A group that delivers too few calls its alternate relays; if that does not help, the transfer ends, for
    /// another path.
    First,
}

/// When a wake-up begins: so many steps of 2 ms after a regular rendezvous, one every 500 ms. Most begin at one;
/// sleeping nodes listen at a few other times as well, and the phase of a wake-up there leaves the regular rendezvous
/// known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phase(u8);

impl Phase {
    /// At one of them.
    pub const REGULAR: Self = Self(0);
    /// One step.
    pub const STEP: Duration = Duration::from_millis(2);
    /// Steps from one of the regular rendezvous to the next.
    pub const STEPS: u8 = 250;

    /// `steps` after one of them; `None` from [`Phase::STEPS`] on.
    pub fn new(steps: u8) -> Option<Self> {
        (steps < Self::STEPS).then_some(Self(steps))
    }
    /// `after` one of them, rounded to the nearest step, of the last 500 ms.
    pub fn after(after: Duration) -> Self {
        let steps = (after + Self::STEP / 2) / Self::STEP;
        Self((steps % u64::from(Self::STEPS)) as u8)
    }
    /// The number of steps.
    pub const fn steps(self) -> u8 {
        self.0
    }
    /// How long after a regular rendezvous.
    pub fn time(self) -> Duration {
        Self::STEP * u64::from(self.0)
    }
}

/// How a transfer's control is made: its wake-up, requests and NACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// As P3 has it. The wake-up has identity, hop-length and channel of every node (P3, section IV-D2);
    /// requests and NACKs are as long as data packets (section IV-G), so each takes a cycle a hop.
    Published,
    /// As short as can be, which is no publication's: the wake-up has channels once a stage, requests and
    /// NACKs have the bytes that they need.
    Compact,
}

/// A reception ratio in percent, 0..=100 (P3, section IV-E).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent(u8);

impl Percent {
    /// `percent`; `None` above 100.
    pub fn new(percent: u8) -> Option<Self> {
        (percent <= 100).then_some(Self(percent))
    }
    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Which bytes of the source's object are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectRange {
    /// Of the first byte.
    pub offset: u32,
    /// At most this many; fewer where the object ends before.
    pub len: u32,
}

impl ObjectRange {
    /// All of it.
    pub const ALL: Self = Self {
        offset: 0,
        len: u32::MAX,
    };

    /// How many bytes of an object of `object_len` bytes lie in the range.
    pub fn within(self, object_len: u32) -> u32 {
        object_len.saturating_sub(self.offset).min(self.len)
    }
}

/// A relay of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub node: NodeId,
    /// At which stage, 1..H.
    pub stage: u8,
    /// In which group.
    pub group: Group,
}

/// A node's role in a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Has the object: stage 0.
    Source,
    /// Forwards.
    Relay {
        /// 1..H.
        stage: u8,
        /// Whose packets.
        group: Group,
    },
    /// Watches a relay, and forwards in its place if it fails.
    Backup {
        /// 1..H.
        stage: u8,
        /// Whose packets.
        group: Group,
    },
    /// Is part of a chain that relays for its group when called.
    Alternate {
        /// 1..H.
        stage: u8,
        /// Whose packets.
        group: Group,
    },
    /// Wants the object: stage H.
    Destination,
}

/// How many groups the stages are divided into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Groups {
    /// One: the source sends in alternate cycles, every relay forwards every packet.
    One,
    /// Two: the source sends in every cycle (P3, section IV-B).
    Two,
}
