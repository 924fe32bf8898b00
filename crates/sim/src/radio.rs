//! One node's radio as engines see it: mode, pending transmission, excursion, buffer.
//!
//! Holds the state; what happens to it in time is in `world.rs`. Invariant: a pending transmission
//! is answered once, when it leaves `pending`. Tests: `tests/contract.rs`, `tests/random_operations.rs`.

use crate::board::Board;
use crate::clock::Clock;
use crate::conditional::Waiting;
use crate::energy::Meter;
use crate::software::Loading;
use std::collections::VecDeque;
use thalweg_engine::{Abilities, Ability, Answering, Caps, Cca, OpId, Wants};
use thalweg_medium::random;
use thalweg_units::{Channel, Dbm, Duration, Instant, NodeId, SimTime};
use thalweg_wire::FrameBuf;

/// What the radio does when it is not away on a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Sleep,
    Listen { channel: Channel, head_bytes: u8 },
}

/// Whether the radio has left its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excursion {
    No,
    /// It calibrates for the pending transmission.
    Strobed,
    OnAir {
        until: SimTime,
    },
}

/// How a pending transmission's frame gets into the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filling {
    /// It is there.
    Loaded,
    /// Software copies while the radio calibrates and sends.
    Streamed,
}

/// A transmission that was accepted and is not on the air yet.
pub(crate) struct Pending {
    /// Its operation; none for an acknowledgement, which nobody asked for.
    pub(crate) id: Option<OpId>,
    /// Tells it from those before, to events that outlive it.
    pub(crate) token: u32,
    pub(crate) strobe: SimTime,
    pub(crate) start: SimTime,
    pub(crate) channel: Channel,
    pub(crate) cca: Cca,
    pub(crate) filling: Filling,
    pub(crate) trigger: Trigger,
    pub(crate) frame: FrameBuf,
}

/// What strobes a pending transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// Software, which has done so.
    Software,
    /// A timer, which can be stopped until then.
    Timer,
}

pub(crate) struct Radio {
    pub(crate) board: Board,
    pub(crate) clock: Clock,
    pub(crate) mode: Mode,
    pub(crate) excursion: Excursion,
    pub(crate) pending: Option<Pending>,
    pub(crate) tokens: u32,
    /// The one transmit buffer.
    pub(crate) slot: Option<FrameBuf>,
    /// Until when copies that were ordered keep the bus.
    pub(crate) bus_until: SimTime,
    /// From when the oscillator is stable; none while powered down.
    pub(crate) awake_from: Option<SimTime>,
    /// Counts the times that the receiver was turned elsewhere, to tell stale events.
    pub(crate) tuning: u32,
    /// The receiver is on.
    pub(crate) tuned: bool,
    /// Until when the frame lasts that the receiver is synchronised on.
    pub(crate) receiving_until: SimTime,
    /// When the SFD of that frame ended.
    pub(crate) receiving_sfd: SimTime,
    /// The receive buffer could not take all of it.
    pub(crate) overflown: bool,
    /// When the receiver is on, or will be; none while it is turned to nothing.
    pub(crate) on_from: Option<SimTime>,
    /// How many bytes of a frame are read out.
    pub(crate) readout: u8,
    /// When the good frame received last ended.
    pub(crate) last_rx_end: Option<SimTime>,
    pub(crate) answering: Answering,
    pub(crate) caps: Caps,
    pub(crate) tx_power: Dbm,
    /// Its node's address, where the engine has one.
    pub(crate) address: Option<NodeId>,
    /// The conditional transmission that waits, and how many there were.
    pub(crate) waiting: Option<Waiting>,
    pub(crate) numbers: u32,
    /// Bytes of each frame in the receive buffer, oldest first.
    pub(crate) received: VecDeque<u32>,
    /// The channel of the last mode asked for, whether or not software has come to it.
    pub(crate) aimed_at: Option<Channel>,
    pub(crate) dead: bool,
    pub(crate) deaf_until: Option<SimTime>,
    /// Where it hears nothing.
    pub(crate) jammed: Option<Channel>,
    pub(crate) meter: Meter,
    sync: random::Stream,
    software: random::Stream,
}

impl Radio {
    /// Radio `which` of node `node` on `board`; `ids` name its random streams.
    pub(crate) fn new(board: Board, seed: u64, node: u64, which: u64) -> Self {
        let clock = board.clock.draw(seed, node);
        let (one, two) = ([node], [node, which]);
        let ids: &[u64] = if which == 0 { &one } else { &two };
        Self {
            clock,
            mode: Mode::Sleep,
            excursion: Excursion::No,
            pending: None,
            tokens: 0,
            slot: None,
            bus_until: SimTime::ZERO,
            awake_from: None,
            tuning: 0,
            tuned: false,
            receiving_until: SimTime::ZERO,
            receiving_sfd: SimTime::ZERO,
            overflown: false,
            on_from: None,
            readout: u8::MAX,
            last_rx_end: None,
            answering: Answering::Withheld,
            caps: caps_of(&board),
            tx_power: board.tx_power,
            address: None,
            waiting: None,
            numbers: 0,
            received: VecDeque::new(),
            aimed_at: None,
            dead: false,
            deaf_until: None,
            jammed: None,
            meter: Meter::new(),
            sync: random::stream(seed, "sim.sync_jitter", ids),
            software: random::stream(seed, "sim.software_jitter", ids),
            board,
        }
    }
    /// Sets it to what its engine wants.
    pub(crate) fn take_on(&mut self, wants: &Wants) {
        self.tx_power = wants.power.unwrap_or(self.tx_power);
        self.address = wants.address;
    }
    /// What the node's clock reads at `at`.
    pub(crate) fn read(&self, at: SimTime) -> Instant {
        self.clock.read(at)
    }
    /// The soonest strobe of a transmission asked for at `now`: after a frame on the air, copies
    /// on the bus and the oscillator's start.
    pub(crate) fn soonest_strobe(&self, now: SimTime) -> SimTime {
        let free = match self.excursion {
            Excursion::OnAir { until } => until,
            Excursion::No | Excursion::Strobed => now,
        };
        let awake = self.awake_from.unwrap_or(now + self.board.timing.wake);
        now.max(free).max(self.bus_until).max(awake)
    }
    /// The same where the channel is to be looked at first: the receiver must have been on for long
    /// enough, on that channel.
    pub(crate) fn soonest_look(&self, now: SimTime, channel: Channel) -> SimTime {
        let soonest = self.soonest_strobe(now);
        let settle = self.board.timing.software.costs().cca_settle;
        if settle.is_zero() {
            return soonest;
        }
        let here = matches!(self.mode, Mode::Listen { channel: c, .. } if c == channel);
        let on = match (self.excursion, self.on_from) {
            (Excursion::No, Some(on)) if here => on,
            _ => soonest + self.board.timing.to_receive,
        };
        soonest.max(on + settle)
    }
    /// Whether a copy into the transmit buffer must wait: for what is on the air or about to be, and
    /// for what a timer will send, unless the copy is for
    /// another transmission, which takes that one's place. Pending acknowledgements need no buffer.
    pub(crate) fn needs_buffer(&self, loading: Loading) -> bool {
        let asked_for = self.pending.as_ref().filter(|p| p.id.is_some());
        let stays =
            asked_for.is_some_and(|p| p.trigger == Trigger::Software || loading != Loading::Send);
        stays || self.excursion != Excursion::No
    }
    /// How long it takes to copy `bytes` over the bus.
    pub(crate) fn copy_time(&self, bytes: usize) -> Duration {
        self.board.timing.load_base + self.board.timing.load_byte * bytes as u64
    }
    /// `nominal` with the error of a start armed in hardware.
    pub(crate) fn with_sync_jitter(&mut self, nominal: SimTime) -> SimTime {
        shifted(nominal, self.board.sync_jitter, &mut self.sync)
    }
    /// `nominal` with the error of a start strobed by software.
    pub(crate) fn with_software_jitter(&mut self, nominal: SimTime) -> SimTime {
        shifted(nominal, self.board.software_jitter, &mut self.software)
    }
    /// The pending transmission, if it is the one that `token` names.
    pub(crate) fn pending(&self, token: u32) -> Option<&Pending> {
        self.pending.as_ref().filter(|p| p.token == token)
    }
    /// How many bytes of a frame of `bytes` the engine wants to see before the rest.
    pub(crate) fn head_bytes(&self, bytes: usize) -> usize {
        match self.mode {
            Mode::Listen { head_bytes, .. } => usize::from(head_bytes).min(bytes),
            Mode::Sleep => 0,
        }
    }
    pub(crate) fn is_deaf(&self, now: SimTime) -> bool {
        self.dead || self.deaf_until.is_some_and(|until| now < until)
    }
}

/// What a radio of `board` does.
fn caps_of(board: &Board) -> Caps {
    let without = Abilities::of(&[
        Ability::Acknowledge,
        Ability::Sense,
        Ability::Hear,
        Ability::Preamble,
    ]);
    Caps {
        abilities: Abilities::ALL.without(without),
        channels: Channel::all()
            .filter(|c| board.chip.has_channel(*c))
            .collect(),
        slots: 1,
        power: [Dbm(-30.0), board.chip.max_tx_power],
        after_rx_step: board.sync_step,
    }
}

fn shifted(at: SimTime, sigma: Duration, rng: &mut random::Stream) -> SimTime {
    if sigma.is_zero() {
        return at;
    }
    let shift = random::normal(rng) * sigma.as_nanos() as f64;
    let by = Duration::from_nanos(shift.abs() as u64);
    if shift < 0.0 {
        at.saturating_sub(by)
    } else {
        at + by
    }
}
