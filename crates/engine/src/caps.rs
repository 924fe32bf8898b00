//! What a host's radios can do, and what an engine wants of them.
//!
//! A host makes one [`Caps`] for each radio, an engine answers with [`Wants`], and
//! [`crate::Driver::new`] compares them: what is lacking is known before anything runs. Listening,
//! sleeping and cancelling are there always. What an operation costs is the board's
//! ([`crate::BoardTiming`]).

use crate::radio::{Cca, RadioId, RadioOp, TxSlot, When};
use core::fmt;
use thalweg_units::{Channel, ChannelSet, Dbm, Duration, NodeId};

/// Something that not every radio, driver or simulated air does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Ability {
    /// [`RadioOp::Load`] and [`RadioOp::Transmit`].
    Load,
    /// [`RadioOp::Stream`].
    Stream,
    /// [`When::At`].
    At,
    /// [`When::AfterRx`].
    AfterRx,
    /// [`Cca::Require`].
    Cca,
    /// [`RadioOp::Conditional`].
    Conditional,
    /// [`RadioOp::Readout`].
    Readout,
    /// [`crate::RadioEvent::Head`].
    Heads,
    /// [`RadioOp::Answer`].
    Answer,
    /// [`RadioOp::Acknowledge`].
    Acknowledge,
    /// [`RadioOp::Sense`] and [`RadioOp::Assess`].
    Sense,
    /// [`RadioOp::Hear`].
    Hear,
    /// [`RadioOp::Preamble`].
    Preamble,
    /// Equal frames that several nodes begin at once arrive as one.
    Synchrony,
}

impl Ability {
    const ALL: [Self; 14] = [
        Self::Load,
        Self::Stream,
        Self::At,
        Self::AfterRx,
        Self::Cca,
        Self::Conditional,
        Self::Readout,
        Self::Heads,
        Self::Answer,
        Self::Acknowledge,
        Self::Sense,
        Self::Hear,
        Self::Preamble,
        Self::Synchrony,
    ];

    const fn text(self) -> &'static str {
        match self {
            Self::Load => "keep a frame in its transmit buffer",
            Self::Stream => "send while the frame is still being copied",
            Self::At => "send at a given instant",
            Self::AfterRx => "send a fixed time after a reception",
            Self::Cca => "look whether the channel is clear before it sends",
            Self::Conditional => "send when a frame of a given beginning has come in",
            Self::Readout => "read no more than the beginning of a frame",
            Self::Heads => "tell a frame's beginning before its end",
            Self::Answer => "acknowledge by itself",
            Self::Acknowledge => "send an acknowledgement when it is told to",
            Self::Sense => "measure the power in its channel",
            Self::Hear => "tell of nothing but what is addressed to its node",
            Self::Preamble => "send a preamble of another length",
            Self::Synchrony => "receive equal frames of several senders as one",
        }
    }
}

/// A set of [`Ability`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities(u16);

impl Abilities {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// All of them.
    pub const ALL: Self = Self::of(&Ability::ALL);

    /// These.
    pub const fn of(list: &[Ability]) -> Self {
        let (mut bits, mut k) = (0, 0);
        while k < list.len() {
            bits |= 1 << list[k] as u8;
            k += 1;
        }
        Self(bits)
    }
    /// Those of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// This set without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Whether all of `other` are among these.
    pub const fn has(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }
}

impl RadioOp<'_> {
    /// What a radio must be able to do for this operation.
    pub const fn needs(&self) -> Abilities {
        const fn of(ability: Ability) -> Abilities {
            Abilities::of(&[ability])
        }
        const fn looking(cca: Cca) -> Abilities {
            match cca {
                Cca::Skip => Abilities::NONE,
                Cca::Require => of(Ability::Cca),
            }
        }
        const fn timed(when: When) -> Abilities {
            match when {
                When::Now => Abilities::NONE,
                When::At(_) => of(Ability::At),
                When::AfterRx(_) => of(Ability::AfterRx),
            }
        }
        match *self {
            Self::Load { .. } => of(Ability::Load),
            Self::Transmit { when, cca, .. } => {
                of(Ability::Load).and(timed(when)).and(looking(cca))
            }
            Self::Stream { when, cca, .. } => {
                of(Ability::Stream).and(timed(when)).and(looking(cca))
            }
            Self::Conditional { cca, .. } => of(Ability::Conditional).and(looking(cca)),
            Self::Readout { .. } => of(Ability::Readout),
            Self::Listen { head_bytes: 0, .. } | Self::Sleep | Self::Cancel => Abilities::NONE,
            Self::Listen { .. } => of(Ability::Heads),
            Self::Sense | Self::Assess(_) => of(Ability::Sense),
            Self::Acknowledge { .. } => of(Ability::Acknowledge),
            Self::Hear(_) => of(Ability::Hear),
            Self::Preamble { .. } => of(Ability::Preamble),
            Self::Answer(_) => of(Ability::Answer),
        }
    }
}

/// What one radio of a host can do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Caps {
    /// What it does beside listening and sending at once.
    pub abilities: Abilities,
    /// The channels of its band that it can be tuned to.
    pub channels: ChannelSet,
    /// How many transmit buffers it has.
    pub slots: u8,
    /// The least and the greatest transmit power that can be set.
    pub power: [Dbm; 2],
    /// What one count of the timer is that strobes for [`When::AfterRx`].
    pub after_rx_step: Duration,
}

impl Caps {
    /// A radio that does everything, exactly: for tests of engines.
    pub const IDEAL: Self = Self {
        abilities: Abilities::ALL,
        channels: ChannelSet::ALL,
        slots: 1,
        power: [Dbm(-30.0), Dbm(10.0)],
        after_rx_step: Duration::ZERO,
    };

    /// Whether it does `op`; where it does not, the answer is [`crate::Refusal::NoSuch`].
    #[inline]
    pub fn allows(&self, op: &RadioOp<'_>) -> bool {
        let is_there = match op {
            RadioOp::Stream { channel, .. } | RadioOp::Listen { channel, .. } => {
                self.channels.contains(*channel)
            }
            RadioOp::Transmit { slot, channel, .. }
            | RadioOp::Conditional { slot, channel, .. } => {
                self.has(*slot) && self.channels.contains(*channel)
            }
            RadioOp::Load { slot, .. } => self.has(*slot),
            _ => true,
        };
        is_there && self.abilities.has(op.needs())
    }
    const fn has(&self, slot: TxSlot) -> bool {
        slot.0 < self.slots
    }

    /// The first thing that `wants` asks for in vain.
    pub fn lacks(&self, wants: &Wants) -> Option<Lack> {
        let ability = |a: &Ability| {
            let one = Abilities::of(&[*a]);
            wants.abilities.has(one) && !self.abilities.has(one)
        };
        if let Some(lacking) = Ability::ALL.into_iter().find(ability) {
            return Some(Lack::Ability(lacking));
        }
        if let Some(channel) = wants.channels.iter().find(|c| !self.channels.contains(*c)) {
            return Some(Lack::Channel(channel));
        }
        if wants.slots > self.slots {
            return Some(Lack::Slots(wants.slots));
        }
        let [least, greatest] = self.power;
        if let Some(power) = wants
            .power
            .filter(|p| !(least.0..=greatest.0).contains(&p.0))
        {
            return Some(Lack::Power(power));
        }
        (wants.after_rx_step < self.after_rx_step).then_some(Lack::Step(wants.after_rx_step))
    }
}

/// What an engine wants of one radio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wants {
    /// What it may ask for.
    pub abilities: Abilities,
    /// Channels that it uses in any case.
    pub channels: ChannelSet,
    /// Transmit buffers.
    pub slots: u8,
    /// The transmit power that it wants; none for the board's.
    pub power: Option<Dbm>,
    /// The address that [`RadioOp::Answer`] and [`RadioOp::Hear`] go by; none without them.
    pub address: Option<NodeId>,
    /// The coarsest step of [`When::AfterRx`] that will do.
    pub after_rx_step: Duration,
}

impl Wants {
    /// `abilities`, one buffer, and nothing else in particular.
    pub const fn of(abilities: &[Ability]) -> Self {
        Self {
            abilities: Abilities::of(abilities),
            channels: ChannelSet::EMPTY,
            slots: 1,
            power: None,
            address: None,
            after_rx_step: Duration::MAX,
        }
    }
    /// What two parts of one engine want of one radio. The address and the power are the first's
    /// that names one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            abilities: self.abilities.and(other.abilities),
            channels: ChannelSet::from_bits(self.channels.bits() | other.channels.bits()),
            slots: self.slots.max(other.slots),
            power: self.power.or(other.power),
            address: self.address.or(other.address),
            after_rx_step: self.after_rx_step.min(other.after_rx_step),
        }
    }
}

/// What a radio has not that an engine wants.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Lack {
    /// The radio itself.
    Radio,
    /// It does not do this.
    Ability(Ability),
    /// It cannot be tuned there.
    Channel(Channel),
    /// It has fewer transmit buffers.
    Slots(u8),
    /// It cannot be set to this power.
    Power(Dbm),
    /// Its timer is coarser than this.
    Step(Duration),
}

/// An engine and a host that do not suit each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Misfit {
    /// At which radio.
    pub radio: RadioId,
    /// What is lacking.
    pub lack: Lack,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let radio = self.radio.0;
        match self.lack {
            Lack::Radio => write!(f, "there is no radio {radio}, which the engine wants"),
            Lack::Ability(a) => write!(f, "radio {radio} cannot {}", a.text()),
            Lack::Channel(c) => write!(f, "radio {radio} cannot be tuned to channel {c}"),
            Lack::Slots(n) => write!(f, "radio {radio} has fewer than {n} transmit buffers"),
            Lack::Power(p) => write!(f, "radio {radio} cannot be set to {p}"),
            Lack::Step(step) => write!(f, "radio {radio} times no answer to {step}"),
        }
    }
}
impl core::error::Error for Misfit {}
