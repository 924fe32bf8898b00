//! One node's radio as engines see it: mode, pending transmission, excursion, buffer.
//!
//! Holds the state; what happens to it in time is in `rules/`. Invariant: a pending transmission is
//! answered once, when it leaves `pending`. Tests: `tests/contract.rs`, `tests/random_operations.rs`.

use crate::board::{AckBy, Board, McuRuns, Wakes, Waking};
use crate::clock::Clock;
use crate::energy::Meter;
use crate::hooks::Kind;
use crate::strength::Fluctuation;
use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_engine::{
    Abilities, Ability, Answering, Assessment, Caps, Cca, Condition, Hear, Misfit, OpId, RadioId,
    RadioOp, Software, Wants,
};
use thalweg_medium::chip::Modem;
use thalweg_medium::random;
use thalweg_medium::{Able, Air, Medium};
use thalweg_units::{Channel, ChannelSet, Dbm, Duration, Instant, MilliWatts, NodeId, SimTime};
use thalweg_wire::FrameBuf;

/// Whose frame was copied into the transmit buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loading {
    /// An operation, which is answered.
    Op(OpId),
    /// A transmission that follows.
    Send,
    /// The conditional transmission of that number.
    Conditional(u32),
}

/// An operation that waits for software, and its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deferred {
    op: RadioOp<'static>,
    bytes: FrameBuf,
}

impl Deferred {
    pub(crate) fn of(op: RadioOp<'_>) -> Self {
        Self {
            op: op.with_bytes(&[]),
            bytes: frame(op.bytes()),
        }
    }
    pub(crate) fn op(&self) -> RadioOp<'_> {
        self.op.with_bytes(&self.bytes)
    }
}

/// A copy of a frame that is not too long, as every operation that is taken has it.
pub(crate) fn frame(mpdu: &[u8]) -> FrameBuf {
    FrameBuf::from_slice(mpdu).unwrap_or(FrameBuf::EMPTY)
}

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

/// The clear channel assessment that a pending transmission needs before it is strobed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CcaStep {
    No,
    /// A first sample of the channel.
    Ahead,
    /// A second one, at the end of the board's time for it: the first was busy, or not.
    Again {
        busy: bool,
    },
}

/// A transmission that was accepted and is not on the air yet.
pub(crate) struct Pending {
    /// Its operation; none for an acknowledgement by the radio itself.
    pub(crate) id: Option<OpId>,
    /// Its number, which tells events of an earlier one from its own.
    pub(crate) token: u32,
    pub(crate) strobe: SimTime,
    pub(crate) start: SimTime,
    pub(crate) channel: Channel,
    pub(crate) cca_step: CcaStep,
    pub(crate) filling: Filling,
    pub(crate) trigger: Trigger,
    pub(crate) kind: Kind,
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

/// A conditional transmission that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) id: OpId,
    pub(crate) number: u32,
    pub(crate) frame: FrameBuf,
    pub(crate) offset: u8,
    pub(crate) bytes: [u8; Condition::MAX_BYTES],
    pub(crate) len: u8,
    pub(crate) channel: Channel,
    pub(crate) cca: Cca,
    pub(crate) buffer: Buffer,
}

impl Waiting {
    pub(crate) fn met_by(&self, mpdu: &[u8]) -> bool {
        let bytes = self.bytes.get(..usize::from(self.len)).unwrap_or_default();
        let offset = self.offset;
        Condition { offset, bytes }.holds(mpdu)
    }
}

/// Where the frame of a conditional transmission is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Buffer {
    /// In the radio.
    Written,
    /// Another frame has overwritten it.
    Overwritten,
    /// The same, and its condition was met meanwhile.
    Due,
}

/// An assessment of the channel that goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenAssessment {
    pub(crate) op: OpId,
    pub(crate) assessment: Assessment,
    /// Samples to come.
    pub(crate) left: u8,
    /// When the next one is.
    pub(crate) due: SimTime,
}

/// The good frame received last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastRx {
    pub(crate) end: SimTime,
    /// The radio that sent it.
    pub(crate) from: usize,
}

/// The filters of a radio, which every frame that it hears passes: kept apart, since that is often.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) hear: Hear,
    /// Its node's address, where the engine has one.
    pub(crate) address: Option<NodeId>,
    pub(crate) last_rx: Option<LastRx>,
}

/// A node's radio. What every reading and every reception touches stands first, in few lines of cache:
/// frames that wait are many times as long.
#[repr(C)]
pub(crate) struct Radio {
    pub(crate) board: Arc<Board>,
    /// Counts the times that the receiver was turned elsewhere, to recognise stale events.
    pub(crate) tuning: u32,
    pub(crate) dead: bool,
    /// The receiver is on.
    pub(crate) tuned: bool,
    /// The receive buffer could not take all of the frame that is being received.
    pub(crate) overflown: bool,
    /// How many bytes of a frame are read out.
    pub(crate) readout: u8,
    pub(crate) clock: Clock,
    /// Of its readings of signal strength.
    pub(crate) fluctuation: Fluctuation,
    pub(crate) open_assessment: Option<OpenAssessment>,
    /// The channel of the last mode requested, whether or not software has come to it.
    pub(crate) aimed_at: Option<Channel>,
    pub(crate) mode: Mode,
    pub(crate) answering: Answering,
    /// Preamble bytes before its frames.
    pub(crate) preamble: u16,
    pub(crate) tokens: u32,
    pub(crate) excursion: Excursion,
    pub(crate) meter: Meter,
    /// Until when copies that were ordered keep the bus.
    pub(crate) bus_until: SimTime,
    /// From when the oscillator is stable; none while powered down.
    pub(crate) awake_from: Option<SimTime>,
    /// When the receiver is on, or will be; none while it is turned to nothing.
    pub(crate) on_from: Option<SimTime>,
    pub(crate) caps: Caps,
    pub(crate) tx_power: Dbm,
    /// Clear channel assessment finds a channel busy from this power on.
    pub(crate) busy_from: MilliWatts,
    pub(crate) deaf_until: Option<SimTime>,
    /// Where it hears nothing.
    pub(crate) jammed: Option<Channel>,
    sync: random::Stream,
    software: random::Stream,
    pub(crate) pending: Option<Pending>,
    /// The one transmit buffer.
    pub(crate) slot: Option<FrameBuf>,
    /// The conditional transmission that waits, and how many there were.
    pub(crate) waiting: Option<Waiting>,
    pub(crate) numbers: u32,
    /// Bytes of each frame in the receive buffer, oldest first.
    pub(crate) received: VecDeque<u32>,
}

impl Radio {
    /// Radio `which` of node `node` on `board`; `ids` name its random streams.
    pub(crate) fn new(board: Arc<Board>, seed: u64, node: u64, which: u64, caps: Caps) -> Self {
        let (one, two) = ([node], [node, which]);
        let ids: &[u64] = if which == 0 { &one } else { &two };
        Self {
            clock: board.clock.draw(seed, node),
            caps,
            tx_power: board.tx_power,
            busy_from: board.chip.cca_threshold.milliwatts(),
            mode: Mode::Sleep,
            excursion: Excursion::No,
            pending: None,
            tokens: 0,
            slot: None,
            bus_until: SimTime::ZERO,
            awake_from: None,
            tuning: 0,
            tuned: false,
            overflown: false,
            on_from: None,
            readout: u8::MAX,
            answering: Answering::Withheld,
            preamble: board.chip.phy.preamble_bytes as u16,
            open_assessment: None,
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
            fluctuation: Fluctuation::new(board.detector, random::stream(seed, "rssi", ids)),
            board,
        }
    }
    /// The same radio when its node has restarted, with this clock: as it was at first, but for what is around it and
    /// for a frame on the air, which goes on to its end.
    pub(crate) fn restart(&mut self, clock: Clock, seed: u64, node: u64, which: u64) {
        let fresh = Self::new(Arc::clone(&self.board), seed, node, which, self.caps);
        let before = std::mem::replace(self, fresh);
        self.clock = clock;
        self.tuning = before.tuning.wrapping_add(1);
        (self.tokens, self.numbers) = (before.tokens, before.numbers);
        (self.excursion, self.meter) = (before.excursion, before.meter);
        (self.deaf_until, self.jammed) = (before.deaf_until, before.jammed);
        // What fluctuates goes on, and is not drawn over again.
        (self.sync, self.software) = (before.sync, before.software);
        self.fluctuation = before.fluctuation;
    }
    /// Sets it to what its engine wants.
    pub(crate) fn take_on(&mut self, wants: &Wants) {
        self.tx_power = wants.power.unwrap_or(self.tx_power);
    }
    /// Whether its answers and notices come at once.
    #[inline]
    pub(crate) fn is_prompt(&self) -> bool {
        matches!(self.board.timing.software, Software::Prompt)
    }
    /// The node's microcontroller handles something at `now`; this is the node's first radio.
    #[inline]
    pub(crate) fn handles(&mut self, now: SimTime) {
        let handler = self.board.handler;
        if !handler.is_zero() {
            self.meter.mcu(now, now + handler);
        }
    }
    /// A frame that it sent or received has ended at `now`.
    pub(crate) fn pause(&mut self, now: SimTime) {
        if self.board.mcu == McuRuns::ForHandlers {
            self.meter.pause(now, now + self.board.restart);
        }
    }
    /// The radio ends a sleep at `now`, for which its node has woken before.
    pub(crate) fn pay_for_waking(&mut self, now: SimTime) {
        let Waking { lead, code } = self.board.waking;
        self.meter.led(now, lead);
        self.meter.mcu(now, now + code);
    }
    /// What the node's clock reads at `at`.
    #[inline]
    pub(crate) fn read(&self, at: SimTime) -> Instant {
        self.clock.read(at)
    }
    /// The soonest strobe of a transmission submitted at `now`: after a frame on the air, copies
    /// on the bus and the oscillator's start.
    pub(crate) fn soonest_strobe(&self, now: SimTime) -> SimTime {
        let free = match self.excursion {
            Excursion::OnAir { until } => until,
            Excursion::No | Excursion::Strobed => now,
        };
        let awake = self.awake_from.unwrap_or(now + self.board.timing.wake);
        now.max(free).max(self.bus_until).max(awake)
    }
    /// When the channel can be looked at the soonest: the receiver must have been on for long enough,
    /// on that channel.
    pub(crate) fn soonest_cca(&self, now: SimTime, channel: Channel) -> SimTime {
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
    /// Whether a receiver that powers up now is on at once.
    pub(crate) fn wakes_ahead(&self) -> bool {
        self.awake_from.is_none() && self.board.wakes == Wakes::Ahead
    }
}

/// What a radio of `board` does in an air that is `able`, on the `channels` that the air knows.
pub(crate) fn caps(board: &Board, able: Able, channels: ChannelSet) -> Caps {
    let mut lacks = Abilities::NONE;
    let mut lack = |ability, where_not: bool| {
        if where_not {
            lacks = lacks.and(Abilities::of(&[ability]));
        }
    };
    lack(Ability::Heads, !able.heads);
    lack(Ability::Synchrony, !able.synchronous);
    lack(Ability::Answer, board.acks.by == AckBy::Engine);
    // Hardware that makes symbols makes the preamble too.
    let is_bitwise = matches!(board.chip.modem, Modem::Fsk { .. });
    lack(Ability::Preamble, !is_bitwise);
    Caps {
        abilities: Abilities::ALL.without(lacks),
        channels: channels
            .iter()
            .filter(|c| board.chip.has_channel(*c))
            .collect(),
        slots: 1,
        power: [LEAST_POWER, board.chip.max_tx_power],
        after_rx_step: board.sync_step,
    }
}

/// What the first radio of `board` lacks of what an engine `wants`, in an air of synchronous senders.
pub fn misfit(board: &Board, wants: &Wants) -> Option<Misfit> {
    let lack = caps(board, Medium::ABLE, ChannelSet::ALL).lacks(wants)?;
    let radio = RadioId(0);
    Some(Misfit { radio, lack })
}

/// All chips go down to about this.
const LEAST_POWER: Dbm = Dbm(-30.0);

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
