//! The radio behind the engine contract: one mode, one pending transmission, started by a compare register.
//!
//! TIMER3.COMPARE0 starts it over PPI 0; FRAMESTART and PHYEND are captured over PPI 1 and 2, and the end of a clear
//! channel assessment over PPI 3. Time base: ticks of [`Clock`]. Invariants: each operation is answered once; PPI 0 is on
//! only while a transmission is armed or on the air; a refused operation changes nothing. FRAMESTART comes at the SFD's
//! end or a byte later, sources differ: what it is after is learned from good frames, and nothing rests on it before.
//! Not done: `Preamble` (the chip sends 8 or 32 bits). Tests: `tests/all/radio.rs`, `tests/all/any_order.rs`.

mod answers;
mod learn;
mod receive;
mod sense;
mod transmit;

use crate::clock::{Clock, MICROSECOND};
use crate::dma::Region;
use crate::registers::{ppi, radio, timer};
use crate::{clock, Registers};
use answers::{Answer, Answers, Receiver};
use learn::Learned;
use sense::OpenAssessment;
use thalweg_engine::{
    Abilities, Ability, Answering, BoardTiming, Caps, Condition, Hear, OpId, RadioEvent, RadioOp,
    Request, Software, Wants,
};
use thalweg_units::{Channel, ChannelSet, Dbm, Duration, NodeId};
use thalweg_wire::phy::MAX_MPDU;
use transmit::{Away, Source, Transmission};

/// What engines plan with: a gap of 160 us between a relay's frames. Of it, the receiver's chain takes 22, ramp-up and TX
/// chain 41, and arming 6: software has 91. On an emulated chip it takes 35 at its median and 52 at most (`opt-level = "s"`;
/// not measured on silicon).
pub const TIMING: BoardTiming = BoardTiming {
    // Ramp-up 40 us, TX chain 1 us (second source: BabbleSim and OSF).
    turnaround: Duration::from_micros(41),
    forward_software: Duration::from_micros(119),
    // The receiver's chain, 22 us, and interrupt entry.
    event_latency: Duration::from_micros(24),
    load_base: Duration::ZERO,
    load_byte: Duration::ZERO,
    // The node wakes its crystal before a time-out that it sleeps to, see `host`.
    wake: Duration::ZERO,
    // Transmitter off 21 us, ramp-up 40 us, and the handler between.
    to_receive: Duration::from_micros(64),
    software: Software::Overlapped,
};

/// What it does: all but other preambles. `Synchrony` is the air's; the chip's part is that an armed start has no jitter
/// of software.
pub const CAPS: Caps = Caps {
    abilities: Abilities::ALL.without(Abilities::of(&[Ability::Preamble])),
    channels: ChannelSet::ALL,
    slots: 1,
    // RADIO 6.20.14, TXPOWER: -40 to +8 dBm.
    power: [Dbm(-40.0), Dbm(8.0)],
    // One tick of 62.5 ns, rounded up.
    after_rx_step: Duration::from_nanos(63),
};

/// TXEN or RXEN to READY, fast ramp-up (RADIO 6.20.15.8; OSF measured 40.4).
const RAMP_UP: u64 = 40 * MICROSECOND;
/// READY to the first preamble symbol on the air (second source: BabbleSim).
const TX_CHAIN: u64 = MICROSECOND;
/// The air's last symbol to PHYEND at a receiver (second source: BabbleSim 22; OSF 21.9 and 22.3).
const RX_CHAIN: u64 = 22 * MICROSECOND;
/// The transmitter going off (RADIO 6.20.15.8; second source: BabbleSim 21).
const TX_DISABLE: u64 = 21 * MICROSECOND;
/// Clear channel assessment: eight symbols (IEEE 802.15.4-2006, 6.9.9).
const CCA: u64 = 128 * MICROSECOND;
/// Preamble and SFD on the air.
const SHR: u64 = 160 * MICROSECOND;
/// A byte on the air.
const BYTE: u64 = 32 * MICROSECOND;
/// From an acknowledged frame's last symbol to the acknowledgement's first: aTurnaroundTime (IEEE 802.15.4-2006, 6.4.1).
const ACK_GAP: u64 = 192 * MICROSECOND;
/// FRAMESTART after the SFD's end until it is learned: at the PHR's end (second source: Contiki-NG).
const FRAME_START: u32 = (RX_CHAIN + BYTE) as u32;
/// Polls of STATE until a radio that was told to go off is: over 100 us at 64 MHz.
const PATIENCE: u32 = 10_000;

/// Words of a frame's buffer: length, PSDU of 127 bytes.
const FRAME_WORDS: u32 = 32;
/// Transmit buffers: in the slot, pending, on the air, conditional, and one to write.
const TX_BUFFERS: u8 = 5;
/// Bytes of an addressed frame up to its destination: frame control, sequence, PAN, destination.
const ADDRESSED: u8 = 7;

/// What the radio does when it is not away on a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Sleep,
    Listen { channel: Channel, head: u8 },
}

/// Whether the receiver was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Off,
    /// RXEN was given: it ramps up, or is on.
    Receiving,
}

/// Whether the receive buffer has an unread frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unread {
    Nothing,
    Frame,
}

/// A transmission that waits for a reception.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    transmission: Transmission,
    offset: u8,
    bytes: [u8; Condition::MAX_BYTES],
    len: u8,
}

impl Waiting {
    fn is_met_by(&self, mpdu: &[u8]) -> bool {
        let bytes = self.bytes.get(..usize::from(self.len)).unwrap_or_default();
        let offset = self.offset;
        Condition { offset, bytes }.holds(mpdu)
    }
}

/// What was counted since power was on; each stops at its greatest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Refused as late: asked for too late after a reception.
    pub late_after_rx: u32,
    /// The same for a given instant.
    pub late_at: u32,
    /// Accepted, but software came too late to arm it, or the compare was missed.
    pub late_to_arm: u32,
    /// Frames whose check sequence was wrong.
    pub corrupt: u32,
    /// Good frames, those for others among them.
    pub received: u32,
    /// Frames sent, acknowledgements among them.
    pub sent: u32,
    /// The most ticks from a frame's PHYEND to its answer armed.
    pub longest_answer: u32,
}

fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

/// Whether [`Radio::poll`] has something more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "answers wait"]
pub enum Settled {
    /// Nothing, until the next interrupt.
    Quiet,
    /// It has.
    More,
}

/// Whether flash, which stops the processor, would harm what the radio does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// It sleeps, and nothing is to be sent.
    Asleep,
    /// It listens, and nothing comes in: 42 us for a word do no harm, 85 ms for a page do.
    Listening,
    /// A frame comes in, goes out, or is to be sent.
    Active,
}

/// The radio.
#[derive(Debug)]
pub struct Radio {
    rx: Region,
    tx: [Region; TX_BUFFERS as usize],
    mode: Mode,
    state: State,
    unread: Unread,
    /// Accepted, and not armed yet.
    pending: Option<Transmission>,
    /// Armed, or on the air.
    away: Option<Away>,
    waiting: Option<Waiting>,
    assessment: Option<OpenAssessment>,
    answers: Answers,
    /// A buffer that nothing uses, where one was looked for.
    free: Option<u8>,
    /// The buffer and PSDU length of slot 0.
    slot: Option<Source>,
    readout: u8,
    hear: Hear,
    answering: Answering,
    address: Option<NodeId>,
    /// The sequence number of its own last frame, where that asked for an acknowledgement.
    awaited: Option<u8>,
    /// When the last good frame's last symbol ended.
    last_end: Option<u64>,
    frame_start: Learned,
    /// When the last good frame's SFD ended, learned from once the frame's answer is armed.
    unlearned: Option<u64>,
    frame: [u8; MAX_MPDU + 3],
    power: i8,
    counters: Counters,
}

impl Radio {
    /// Bytes of RAM that it needs for its DMA.
    pub const DMA_BYTES: u32 = 4 * FRAME_WORDS * (1 + TX_BUFFERS as u32);

    /// A radio that sleeps, with its frames in `memory`; none where that is shorter than [`Self::DMA_BYTES`].
    pub fn new(memory: Region) -> Option<Self> {
        let (rx, mut left) = memory.split(FRAME_WORDS)?;
        let mut tx = [rx; TX_BUFFERS as usize];
        for buffer in &mut tx {
            (*buffer, left) = left.split(FRAME_WORDS)?;
        }
        Some(Self {
            rx,
            tx,
            mode: Mode::Sleep,
            state: State::Off,
            unread: Unread::Nothing,
            pending: None,
            away: None,
            waiting: None,
            assessment: None,
            answers: Answers::NONE,
            free: None,
            slot: None,
            readout: u8::MAX,
            hear: Hear::Everything,
            answering: Answering::Withheld,
            address: None,
            awaited: None,
            last_end: None,
            frame_start: Learned::assuming(FRAME_START),
            unlearned: None,
            frame: [0; MAX_MPDU + 3],
            power: 0,
            counters: Counters::default(),
        })
    }

    /// Takes address and transmit power of what an engine wants, before [`Self::start`].
    pub fn take_on(&mut self, wants: &Wants) {
        self.address = wants.address;
        self.power = wants.power.map_or(0, |power| power.0 as i8);
    }

    /// Powers the radio and sets it up. Also after [`Self::power_down`].
    pub fn start(&mut self, r: &mut impl Registers) {
        // IEEE 802.15.4 as RADIO 6.20.12 has it: 8 bits of length that count the check sequence (CRCINC), 32 zero bits of
        // preamble; a check sequence of two bytes that leaves the length out (SKIPADDR 2), polynomial x^16+x^12+x^5+1.
        let (fast_ramp_up, dtx_centre) = (1, 2 << 8);
        for (at, value) in [
            (radio::POWER, 1),
            (radio::MODE, 15),
            (radio::MODECNF0, fast_ramp_up | dtx_centre),
            (radio::PCNF0, 8 | 2 << 24 | 1 << 26),
            (radio::PCNF1, 127),
            (radio::CRCCNF, 2 | 2 << 8),
            (radio::CRCPOLY, 0x1_1021),
            (radio::CRCINIT, 0),
            (radio::SFD, 0xA7),
            (radio::TXPOWER, transmit::power_code(self.power)),
            (radio::CCACTRL, sense::CCA_CONTROL),
            (ppi::CHENCLR, PPI_STROBE),
            (
                ppi::event(0),
                timer::TIMER3 + timer::compare(clock::CC_STROBE),
            ),
            (ppi::task(0), radio::TXEN),
            (ppi::event(1), radio::FRAMESTART),
            (
                ppi::task(1),
                timer::TIMER3 + timer::capture(clock::CC_FRAME),
            ),
            (ppi::fork(1), radio::RSSISTART),
            (ppi::event(2), radio::PHYEND),
            (ppi::task(2), timer::TIMER3 + timer::capture(clock::CC_END)),
            (ppi::event(3), radio::CCAIDLE),
            (
                ppi::task(3),
                timer::TIMER3 + timer::capture(clock::CC_LEAVE),
            ),
            (ppi::CHENSET, 0b0110),
            (
                radio::INTENSET,
                radio::interrupt::DISABLED | radio::interrupt::BCMATCH,
            ),
        ] {
            r.write(at, value);
        }
    }

    /// Takes the radio's power while the node sleeps: its registers forget, see [`Self::start`].
    pub fn power_down(&mut self, r: &mut impl Registers) {
        r.write(radio::POWER, 0);
    }

    /// What it is in use for.
    pub fn usage(&self, r: &mut impl Registers) -> Usage {
        let is_sending = self.pending.is_some() || self.away.is_some();
        match (self.mode, is_sending) {
            (Mode::Sleep, false) => Usage::Asleep,
            (Mode::Listen { .. }, false)
                if self.unread == Unread::Nothing && !self.is_synchronised(r) =>
            {
                Usage::Listening
            }
            _ => Usage::Active,
        }
    }

    /// What was counted.
    pub const fn counters(&self) -> Counters {
        self.counters
    }
    /// Answers that were lost, since an engine asked for more than [`thalweg_engine::MAX_OPS_PER_DRAIN`] operations before
    /// it took one: a defect of the engine.
    pub const fn lost_answers(&self) -> u32 {
        self.answers.lost()
    }
    /// How long after an SFD's end FRAMESTART comes, as learned from good frames: 22 us, or 54 where the event is at the
    /// length byte's end. What a self-test prints.
    pub fn frame_start_delay(&self) -> Duration {
        clock::duration(u64::from(self.frame_start.ticks()))
    }

    /// Takes an operation. Its answer comes by [`Self::poll`], never at once.
    #[inline]
    pub fn submit(&mut self, r: &mut impl Registers, clock: &mut Clock, request: Request<'_>) {
        let id = request.id;
        if request.radio.0 != 0 || !CAPS.allows(&request.op) {
            return self.answers.push(id, Answer::NoSuch);
        }
        let may_be = match request.op {
            RadioOp::Load { .. } | RadioOp::Stream { .. } | RadioOp::Acknowledge { .. } => {
                1..=MAX_MPDU
            }
            _ => 0..=Condition::MAX_BYTES,
        };
        if !may_be.contains(&request.op.bytes().len()) {
            return self.answers.push(id, Answer::BadLength);
        }
        // What is urgent stands first: a relay's answer.
        match request.op {
            RadioOp::Stream {
                mpdu,
                channel,
                when,
                cca,
            } => self.stream((r, clock), id, mpdu, (channel, when, cca)),
            RadioOp::Transmit {
                channel, when, cca, ..
            } => self.transmit((r, clock), id, (channel, when, cca)),
            RadioOp::Acknowledge { mpdu } => self.acknowledge(r, clock, id, mpdu),
            RadioOp::Listen {
                channel,
                head_bytes,
            } => self.listen(r, id, (channel, head_bytes)),
            RadioOp::Sense => match self.mode {
                Mode::Listen { .. } => self.answers.push(id, Answer::Reading),
                Mode::Sleep => self.answers.push(id, Answer::NoSuch),
            },
            RadioOp::Assess(assessment) => self.assess(id, assessment),
            op => self.set(r, clock, id, op),
        }
    }

    /// Operations that set something, and are done at once.
    fn set(&mut self, r: &mut impl Registers, clock: &mut Clock, id: OpId, op: RadioOp<'_>) {
        match op {
            RadioOp::Load { mpdu, .. } => {
                let source = self.fill(r, mpdu);
                self.slot = Some(source);
            }
            RadioOp::Conditional {
                condition,
                channel,
                cca,
                ..
            } => return self.await_condition(id, condition, (channel, cca)),
            RadioOp::Readout { bytes } => self.readout = bytes,
            RadioOp::Hear(hear) => self.hear = hear,
            RadioOp::Answer(answering) => self.answering = answering,
            RadioOp::Cancel => self.cancel(r, clock),
            RadioOp::Sleep => {
                self.mode = Mode::Sleep;
                self.cancel(r, clock);
                self.answers.supersede();
                self.stop(r);
            }
            _ => return self.answers.push(id, Answer::NoSuch),
        }
        self.answers.push(id, Answer::Done);
    }

    /// Answers all that waits that it will not be.
    fn cancel(&mut self, r: &mut impl Registers, clock: &mut Clock) {
        self.drop_conditional();
        self.take_back(r, clock);
        self.drop_assessment();
    }

    fn drop_conditional(&mut self) {
        if let Some(Waiting { transmission, .. }) = self.waiting.take() {
            self.refuse(transmission, Answer::Superseded);
        }
    }
    fn drop_assessment(&mut self) {
        if let Some(open) = self.assessment.take() {
            self.answers.push(open.op, Answer::Superseded);
        }
    }

    /// Sets the mode. One that holds already, with nothing on the air that would have to be left, costs nothing: engines ask
    /// for it after every frame.
    fn listen(&mut self, r: &mut impl Registers, id: OpId, (channel, head): (Channel, u8)) {
        let mode = Mode::Listen { channel, head };
        if self.away.is_some() {
            self.mode = mode;
            return self.answers.push(id, Answer::Done);
        }
        let holds = self.mode == mode && !self.is_synchronised(r);
        if !holds {
            self.mode = mode;
            self.stop(r);
        }
        self.answers.push(id, Answer::WhenOn);
    }

    /// What there is to tell, one at a time, until nothing is. Called after each interrupt and each drain.
    #[inline]
    pub fn poll(&mut self, r: &mut impl Registers, clock: &mut Clock) -> Option<RadioEvent<'_>> {
        if let Some(told) = self.next_answer(r, clock) {
            return Some(told);
        }
        if self.away.is_some() {
            if let Some((op, sfd)) = self.sent(r, clock) {
                return Some(RadioEvent::Sent { op, sfd });
            }
            self.watch_armed(r, clock);
            // What the last two refused.
            if let Some(told) = self.next_answer(r, clock) {
                return Some(told);
            }
        }
        // A relay's gap has no time for a call in vain.
        if self.assessment.is_some() {
            if let Some(found) = self.look(r, clock) {
                return Some(found);
            }
        }
        self.received(r, clock)
    }

    /// The next answer that no event of the radio gives.
    #[inline]
    fn next_answer(
        &mut self,
        r: &mut impl Registers,
        clock: &mut Clock,
    ) -> Option<RadioEvent<'static>> {
        if self.answers.is_empty() {
            return None;
        }
        let (op, answer) = self.answers.pop(self.receiver(r))?;
        Some(match answer.refusal() {
            Some(why) => RadioEvent::Refused { op, why },
            None if answer == Answer::Reading => self.sensed(r, clock, op),
            None => RadioEvent::Done { op },
        })
    }

    /// Goes back to the mode, where nothing keeps the radio from it, and arms what is due. Called when [`Self::poll`] has
    /// nothing more; says whether it has again.
    pub fn settle(&mut self, r: &mut impl Registers, clock: &mut Clock) -> Settled {
        if self.unread == Unread::Frame {
            return Settled::More;
        }
        self.engage(r, clock);
        if self.state == State::Off && self.away.is_none() {
            if let Mode::Listen { channel, head } = self.mode {
                self.receive_on(r, channel, head);
            }
        }
        self.learn(r, clock);
        self.look_for_buffer();
        let looks = self
            .assessment
            .as_ref()
            .is_some_and(|open| open.due.is_none());
        let waits = looks || self.answers.wait_for_receiver();
        let receiver = match waits {
            true => self.receiver(r),
            false => Receiver::Off,
        };
        let at = match waits && receiver == Receiver::Off {
            true => radio::INTENSET,
            false => radio::INTENCLR,
        };
        r.write(at, radio::interrupt::RXREADY);
        let more = waits && receiver == Receiver::On || self.answers.has_ripe();
        match more || self.unread == Unread::Frame {
            true => Settled::More,
            false => Settled::Quiet,
        }
    }

    /// When it wants to be polled though nothing happens: for the next look of an assessment, and to see that what was
    /// armed was sent.
    pub fn due(&self) -> Option<u64> {
        let look = self.assessment.as_ref().and_then(|open| open.due);
        let armed = self.away.as_ref().map(Away::overdue);
        look.into_iter().chain(armed).min()
    }

    /// Whether the radio sleeps, and may have no power.
    pub(crate) fn may_power_down(&self) -> bool {
        let idle = self.pending.is_none() && self.away.is_none() && self.state == State::Off;
        idle && self.mode == Mode::Sleep && self.unread == Unread::Nothing
    }

    fn receiver(&self, r: &mut impl Registers) -> Receiver {
        match self.state == State::Receiving && r.read(radio::RXREADY) != 0 {
            true => Receiver::On,
            false => Receiver::Off,
        }
    }
    /// Whether a frame is coming in whose end has not.
    fn is_synchronised(&self, r: &mut impl Registers) -> bool {
        self.state == State::Receiving
            && r.read(radio::FRAMESTART) != 0
            && r.read(radio::DISABLED) == 0
    }

    /// Turns the radio off and waits for it: half a microsecond from receiving, 21 from sending. A frame that has come in
    /// whole is kept.
    fn stop(&mut self, r: &mut impl Registers) {
        if self.away.is_some() {
            return;
        }
        if self.state == State::Receiving {
            if r.read(radio::DISABLED) != 0 {
                self.unread = Unread::Frame;
            }
            self.disable(r);
            self.state = State::Off;
        }
    }

    fn disable(&mut self, r: &mut impl Registers) {
        if r.read(radio::STATE) != radio::state::DISABLED {
            r.write(radio::SHORTS, 0);
            r.write(radio::DISABLE, 1);
            // DISABLED may have come by a shortcut meanwhile, so the state is what counts.
            let _off = (0..PATIENCE).any(|_| r.read(radio::STATE) == radio::state::DISABLED);
        }
        r.write(radio::DISABLED, 0);
        r.write(radio::BCMATCH, 0);
    }
}

/// The PPI channel that strobes, as its bit.
const PPI_STROBE: u32 = 1;
