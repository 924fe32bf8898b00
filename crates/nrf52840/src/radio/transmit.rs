//! Transmissions: accepted, armed, on the air, or taken back.
//!
//! A start is a compare register over PPI, so no software stands between its time and the radio. What is further away than
//! [`LEAVE`] leaves the receiver on until then.

use super::{count, Answer, Mode, Radio, State, Unread, Waiting};
use super::{ACK_GAP, BYTE, CCA, FRAME_WORDS, PPI_STROBE, RAMP_UP, SHR, TX_CHAIN, TX_DISABLE};
use crate::clock::{self, instant, span, ticks, Clock, CC_LEAVE, CC_STROBE, MICROSECOND};
use crate::registers::{ppi, radio};
use crate::Registers;
use thalweg_engine::{Cca, Condition, OpId, When};
use thalweg_units::{Channel, Instant};
use thalweg_wire::phy::MAX_MPDU;

/// From deciding on a start to the compare: turning the receiver off, and some ten registers.
const LEAD: u64 = 6 * MICROSECOND;
/// So long before a start the radio leaves its mode: handlers that are under way take less, or it is refused as late.
const LEAVE: u64 = 60 * MICROSECOND;
/// The same where it is off already: no frame fits in between.
const LEAVE_OFF: u64 = 400 * MICROSECOND;
/// So long after its end an armed transmission of which nothing was seen is given up.
const GIVE_UP: u64 = 200 * MICROSECOND;
/// How often a start as soon as possible is tried again where its compare was missed.
const TRIES: u32 = 4;
/// Clear channel assessment before TXEN: the receiver's ramp-up and the look itself.
const LOOK: u64 = RAMP_UP + CCA;
/// Bits of a frame's first byte that are a request for an acknowledgement (IEEE 802.15.4-2006, 7.2.1.1.4).
const ACK_REQUEST: u8 = 1 << 5;

/// Whose transmission it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Op(OpId),
    /// The driver, which acknowledges by itself.
    Acknowledger,
}

/// When TXEN is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Soonest,
    At(u64),
}

/// A frame in a transmit buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    buffer: u8,
    psdu: u8,
}

/// A transmission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    owner: Owner,
    channel: Channel,
    cca: Cca,
    start: Start,
    source: Source,
}

/// One that is armed, or on the air.
#[derive(Debug)]
pub(super) struct Away {
    transmission: Transmission,
    /// TXEN; where the channel is looked at before, by estimate.
    txen: u64,
}

impl Away {
    /// The last symbol's end.
    fn end(&self) -> u64 {
        let bytes = 1 + u64::from(self.transmission.source.psdu);
        self.txen + RAMP_UP + TX_CHAIN + SHR + BYTE * bytes
    }
    pub(super) fn overdue(&self) -> u64 {
        self.end() + GIVE_UP
    }
}

/// Whether what is armed can be taken back.
enum Flight {
    /// Not strobed yet.
    Armed,
    /// Strobed, and nothing of it on the air.
    Strobed,
    /// On the air, or over.
    OnAir,
}

impl Radio {
    pub(super) fn refuse(&mut self, transmission: Transmission, why: Answer) {
        if let Owner::Op(op) = transmission.owner {
            self.answers.push(op, why);
        }
    }

    /// Where a frame of so many bytes will be.
    fn source(&mut self, mpdu: &[u8]) -> Source {
        let free = self.free.take();
        Source {
            buffer: free.unwrap_or_else(|| self.free_buffer()),
            psdu: mpdu.len().min(MAX_MPDU) as u8 + 2,
        }
    }
    /// Looks for a buffer ahead of the next frame, which may have no time for it.
    pub(super) fn look_for_buffer(&mut self) {
        if self.free.is_none() {
            self.free = Some(self.free_buffer());
        }
    }
    /// A buffer that nothing uses: there is one more than users.
    fn free_buffer(&self) -> u8 {
        let is_free = |buffer: &u8| !self.is_in_use(*buffer);
        (0..super::TX_BUFFERS).find(is_free).unwrap_or_default()
    }
    fn is_in_use(&self, buffer: u8) -> bool {
        let is = |source: &Source| source.buffer == buffer;
        let of = |transmission: &Transmission| is(&transmission.source);
        self.slot.as_ref().is_some_and(is)
            || self.pending.as_ref().is_some_and(of)
            || (self.away.as_ref()).is_some_and(|away| of(&away.transmission))
            || (self.waiting.as_ref()).is_some_and(|waiting| of(&waiting.transmission))
    }

    /// Copies a frame to where it is sent from: its length, then its bytes; the chip appends the check sequence.
    fn put(&self, r: &mut impl Registers, source: Source, mpdu: &[u8]) {
        let Some(region) = self.tx.get(usize::from(source.buffer)) else {
            return;
        };
        let (first, rest) = mpdu.split_at(mpdu.len().min(3));
        let mut word = [source.psdu, 0, 0, 0];
        let (_, room) = word.split_at_mut(1);
        room.iter_mut()
            .zip(first)
            .for_each(|(to, from)| *to = *from);
        region.write(r, 0, &word);
        region.write(r, 4, rest);
    }

    pub(super) fn fill(&mut self, r: &mut impl Registers, mpdu: &[u8]) -> Source {
        let source = self.source(mpdu);
        self.put(r, source, mpdu);
        source
    }

    /// Sends a frame that is copied while the radio ramps up: its DMA reads no earlier than 40 us after the strobe.
    #[inline(always)] // Within a gap.
    pub(super) fn stream<R: Registers>(
        &mut self,
        (r, clock): (&mut R, &mut Clock),
        id: OpId,
        mpdu: &[u8],
        at: (Channel, When, Cca),
    ) {
        let source = self.source(mpdu);
        if let Some(transmission) = self.accept((r, clock), id, source, at) {
            self.slot = Some(source);
            self.pend(r, clock, transmission);
            self.put(r, source, mpdu);
        }
    }

    pub(super) fn transmit<R: Registers>(
        &mut self,
        (r, clock): (&mut R, &mut Clock),
        id: OpId,
        at: (Channel, When, Cca),
    ) {
        let Some(source) = self.slot else {
            return self.answers.push(id, Answer::Empty);
        };
        if let Some(transmission) = self.accept((r, clock), id, source, at) {
            self.pend(r, clock, transmission);
        }
    }

    /// Takes a transmission on, or refuses it.
    #[inline(always)] // Within a gap.
    fn accept<R: Registers>(
        &mut self,
        (r, clock): (&mut R, &mut Clock),
        id: OpId,
        source: Source,
        (channel, when, cca): (Channel, When, Cca),
    ) -> Option<Transmission> {
        let txen = match when {
            When::Now => None,
            When::At(sfd) => Some(ticks(sfd).saturating_sub(SHR + TX_CHAIN + RAMP_UP)),
            When::AfterRx(gap) => match self.last_end {
                Some(end) => Some((end + span(gap)).saturating_sub(TX_CHAIN + RAMP_UP)),
                None => {
                    self.answers.push(id, Answer::Empty);
                    return None;
                }
            },
        };
        let soonest = self.soonest(r, clock, cca);
        let start = match txen {
            Some(txen) if txen < soonest => {
                count(match when {
                    When::At(_) => &mut self.counters.late_at,
                    _ => &mut self.counters.late_after_rx,
                });
                let by = clock::duration(soonest - txen);
                self.answers.push(id, Answer::late(by));
                return None;
            }
            Some(txen) => Start::At(txen),
            None => Start::Soonest,
        };
        Some(Transmission {
            owner: Owner::Op(id),
            channel,
            cca,
            start,
            source,
        })
    }

    /// The soonest TXEN of what is asked for now.
    #[inline(always)] // Within a gap.
    fn soonest(&mut self, r: &mut impl Registers, clock: &mut Clock, cca: Cca) -> u64 {
        let free = match &self.away {
            None => 0,
            Some(away) => match self.flight(r) {
                Flight::OnAir => away.end() + TX_DISABLE,
                Flight::Strobed => clock.now(r) + TX_DISABLE,
                Flight::Armed => 0,
            },
        };
        let look = match cca {
            Cca::Skip => 0,
            Cca::Require => LOOK,
        };
        free.max(clock.now(r)) + LEAD + look
    }

    /// How far what is armed has come; as armed where nothing is.
    fn flight(&self, r: &mut impl Registers) -> Flight {
        if self.away.is_none() {
            return Flight::Armed;
        }
        // The state before the event: one that ends between the two has been on the air.
        let state = r.read(radio::STATE);
        match state {
            _ if r.read(radio::DISABLED) != 0 => Flight::OnAir,
            radio::state::DISABLED => Flight::Armed,
            radio::state::TX | radio::state::TX_IDLE | radio::state::TX_DISABLE => Flight::OnAir,
            _ => Flight::Strobed,
        }
    }

    /// Takes the place of what was pending.
    fn pend(&mut self, r: &mut impl Registers, clock: &mut Clock, transmission: Transmission) {
        if self.pending.is_some() || self.away.is_some() {
            self.take_back(r, clock);
        }
        // It was accepted a moment ago, by the time then.
        match self.away {
            None => self.engage_at(r, clock, clock.latest(), transmission),
            Some(_) => self.pending = Some(transmission),
        }
    }

    /// Answers what is pending that it will not be; what is on the air goes on.
    pub(super) fn take_back(&mut self, r: &mut impl Registers, clock: &mut Clock) {
        if let Some(pending) = self.pending.take() {
            clock.silence(r, CC_LEAVE);
            self.refuse(pending, Answer::Superseded);
        }
        if self.away.is_none() {
            return;
        }
        // From here on it is not strobed any more.
        r.write(ppi::CHENCLR, PPI_STROBE | PPI_LOOKED);
        match self.flight(r) {
            Flight::OnAir => return,
            Flight::Strobed => self.disable(r),
            Flight::Armed => {}
        }
        if let Some(away) = self.away.take() {
            self.refuse(away.transmission, Answer::Superseded);
        }
    }

    /// Arms what is pending where it is time, else has the clock say when it is.
    pub(super) fn engage(&mut self, r: &mut impl Registers, clock: &mut Clock) {
        if let (Some(pending), None) = (self.pending, &self.away) {
            let now = clock.now(r);
            self.engage_at(r, clock, now, pending);
        }
    }
    #[inline(always)] // Within a gap.
    fn engage_at(
        &mut self,
        r: &mut impl Registers,
        clock: &mut Clock,
        now: u64,
        transmission: Transmission,
    ) {
        let at = match (transmission.start, transmission.cca) {
            (Start::Soonest, _) => return self.arm(r, clock, transmission),
            (Start::At(txen), Cca::Skip) => txen,
            (Start::At(txen), Cca::Require) => txen.saturating_sub(LOOK),
        };
        let ahead = match self.state {
            State::Off => LEAVE_OFF,
            State::Receiving => LEAVE,
        };
        if at <= now + ahead {
            return self.arm(r, clock, transmission);
        }
        self.pending = Some(transmission);
        clock.alarm(r, CC_LEAVE, Some(at - LEAVE));
    }

    /// Leaves the mode, and has the compare register strobe.
    #[inline(always)] // Within a gap.
    fn arm(&mut self, r: &mut impl Registers, clock: &mut Clock, transmission: Transmission) {
        self.pending = None;
        clock.silence(r, CC_LEAVE);
        let looks = transmission.cca == Cca::Require;
        // A frame that comes in here is as busy as a channel can be, and it goes on.
        let here =
            matches!(self.mode, Mode::Listen { channel, .. } if channel == transmission.channel);
        if looks && here && self.is_synchronised(r) {
            return self.refuse(transmission, Answer::ChannelBusy);
        }
        if self.state == State::Receiving {
            self.stop(r);
        }
        self.prepare(r, &transmission);
        match self.strobe(r, clock, &transmission) {
            Ok(txen) => {
                let away = Away { transmission, txen };
                self.away = Some(away);
                if let (Start::At(_), Some(end)) = (transmission.start, self.last_end) {
                    // What is longer ago is no answer.
                    let took = clock.now(r).saturating_sub(end + super::RX_CHAIN);
                    if took < 4 * ACK_GAP {
                        let longest = &mut self.counters.longest_answer;
                        *longest = (*longest).max(took as u32);
                    }
                }
            }
            Err(by) => {
                count(&mut self.counters.late_to_arm);
                self.refuse(transmission, Answer::late(clock::duration(by)));
            }
        }
    }

    /// Sets the registers of a transmission (RADIO 6.20.12.8, and 6.20.12.5 for the look before it).
    #[inline(always)] // Within a gap.
    fn prepare(&self, r: &mut impl Registers, transmission: &Transmission) {
        use radio::short::{CCABUSY_DISABLE, CCAIDLE_TXEN, RXREADY_CCASTART};
        use radio::short::{PHYEND_DISABLE, TXREADY_START};
        let (task, look) = match transmission.cca {
            Cca::Skip => (radio::TXEN, 0),
            Cca::Require => (
                radio::RXEN,
                RXREADY_CCASTART | CCAIDLE_TXEN | CCABUSY_DISABLE,
            ),
        };
        let buffer = self.tx.get(usize::from(transmission.source.buffer));
        let address = buffer.map_or(self.tx[0].address(), |region| region.address());
        r.write(radio::FREQUENCY, frequency(transmission.channel));
        r.write(radio::PACKETPTR, address);
        r.write(radio::SHORTS, TXREADY_START | PHYEND_DISABLE | look);
        r.write(ppi::task(0), task);
        r.write(radio::DISABLED, 0);
        if look != 0 {
            r.write(radio::CCAIDLE, 0);
            r.write(radio::CCABUSY, 0);
            r.write(ppi::CHENSET, PPI_LOOKED);
        }
    }

    /// Sets the compare register; gives TXEN's tick, or by how much it came too late.
    #[inline(always)] // Within a gap.
    fn strobe(
        &self,
        r: &mut impl Registers,
        clock: &mut Clock,
        transmission: &Transmission,
    ) -> Result<u64, u64> {
        let look = match transmission.cca {
            Cca::Skip => 0,
            Cca::Require => LOOK,
        };
        let mut lead = LEAD / 2;
        for _ in 0..TRIES {
            let at = match transmission.start {
                Start::Soonest => clock.now(r) + lead,
                Start::At(txen) => txen - look.min(txen),
            };
            clock.compare(r, CC_STROBE, at);
            r.write(ppi::CHENSET, PPI_STROBE);
            let now = clock.now(r);
            if now < at || r.read(radio::STATE) != radio::state::DISABLED {
                return Ok(at + look);
            }
            // The count had passed, or passed before the channel was on.
            r.write(ppi::CHENCLR, PPI_STROBE | PPI_LOOKED);
            if let Start::At(_) = transmission.start {
                return Err(now - at + LEAD);
            }
            lead *= 4;
        }
        Err(lead)
    }

    /// The end of a transmission, reported if it was asked for.
    pub(super) fn sent(
        &mut self,
        r: &mut impl Registers,
        clock: &mut Clock,
    ) -> Option<(OpId, Instant)> {
        if self.away.is_none() || r.read(radio::DISABLED) == 0 {
            return None;
        }
        r.write(radio::DISABLED, 0);
        r.write(ppi::CHENCLR, PPI_STROBE | PPI_LOOKED);
        let Away { transmission, txen } = self.away.take()?;
        let txen = match transmission.cca {
            Cca::Skip => txen,
            Cca::Require if r.read(radio::CCABUSY) != 0 => {
                self.refuse(transmission, Answer::ChannelBusy);
                return None;
            }
            Cca::Require => clock.captured(r, CC_LEAVE),
        };
        count(&mut self.counters.sent);
        let Owner::Op(op) = transmission.owner else {
            return None;
        };
        let first = self.tx.get(usize::from(transmission.source.buffer));
        let [control, _, _, sequence] = first.map_or([0; 4], |region| {
            let word = r.read(region.address()).to_le_bytes();
            [word[1], word[0], word[2], word[3]]
        });
        self.awaited = (control & ACK_REQUEST != 0).then_some(sequence);
        Some((op, instant(txen + RAMP_UP + TX_CHAIN + SHR)))
    }

    /// Gives up what was armed and never strobed: a compare goes off on equality alone.
    pub(super) fn watch_armed(&mut self, r: &mut impl Registers, clock: &mut Clock) {
        let Some(away) = &self.away else { return };
        let overdue = away.overdue();
        if clock.now(r) < overdue || r.read(radio::DISABLED) != 0 {
            return;
        }
        r.write(ppi::CHENCLR, PPI_STROBE | PPI_LOOKED);
        self.disable(r);
        if let Some(away) = self.away.take() {
            count(&mut self.counters.late_to_arm);
            self.refuse(away.transmission, Answer::late(clock::duration(GIVE_UP)));
        }
    }

    /// Keeps the frame of the slot for a reception to come.
    pub(super) fn await_condition(
        &mut self,
        id: OpId,
        condition: Condition<'_>,
        (channel, cca): (Channel, Cca),
    ) {
        let Some(source) = self.slot else {
            return self.answers.push(id, Answer::Empty);
        };
        self.drop_conditional();
        let mut bytes = [0; Condition::MAX_BYTES];
        let given = condition.bytes.iter();
        bytes
            .iter_mut()
            .zip(given)
            .for_each(|(to, from)| *to = *from);
        let (owner, start) = (Owner::Op(id), Start::Soonest);
        self.waiting = Some(Waiting {
            transmission: Transmission {
                owner,
                channel,
                cca,
                start,
                source,
            },
            offset: condition.offset,
            bytes,
            len: condition.bytes.len() as u8,
        });
    }

    /// Sends what waits for a frame such as the one that has come in.
    pub(super) fn fire(&mut self, r: &mut impl Registers, clock: &mut Clock, bytes: usize) {
        let mpdu = self.frame.get(1..1 + bytes).unwrap_or_default();
        if let Some(waiting) = self.waiting.take_if(|waiting| waiting.is_met_by(mpdu)) {
            self.pend(r, clock, waiting.transmission);
        }
    }

    /// Sends an acknowledgement that the engine asks for.
    pub(super) fn acknowledge(
        &mut self,
        r: &mut impl Registers,
        clock: &mut Clock,
        id: OpId,
        mpdu: &[u8],
    ) {
        let Mode::Listen { channel, .. } = self.mode else {
            return self.answers.push(id, Answer::Empty);
        };
        let gap = clock::duration(ACK_GAP);
        let source = self.source(mpdu);
        let at = (channel, When::AfterRx(gap), Cca::Skip);
        if let Some(transmission) = self.accept((r, clock), id, source, at) {
            self.pend(r, clock, transmission);
            self.put(r, source, mpdu);
        }
    }

    /// Acknowledges by itself; where the radio is busy it does not.
    pub(super) fn acknowledge_itself(
        &mut self,
        r: &mut impl Registers,
        clock: &mut Clock,
        (ack, end): (&[u8], u64),
    ) {
        let Mode::Listen { channel, .. } = self.mode else {
            return;
        };
        let txen = end + ACK_GAP - RAMP_UP - TX_CHAIN;
        let free = self.pending.is_none() && self.away.is_none();
        if !free || txen < clock.now(r) + LEAD {
            return;
        }
        let source = self.fill(r, ack);
        let (owner, start) = (Owner::Acknowledger, Start::At(txen));
        let acknowledgement = Transmission {
            owner,
            channel,
            cca: Cca::Skip,
            start,
            source,
        };
        self.pend(r, clock, acknowledgement);
    }

    /// Whether the receive buffer's frame was read.
    pub(super) fn take_unread(&mut self) -> Unread {
        core::mem::replace(&mut self.unread, Unread::Nothing)
    }
}

/// The PPI channel that captures the end of a clear channel assessment, as its bit.
const PPI_LOOKED: u32 = 1 << 3;
const _: () = assert!(MAX_MPDU + 3 <= 4 * FRAME_WORDS as usize);

/// FREQUENCY of a channel: MHz above 2400 (IEEE 802.15.4-2006, 6.1.2.1).
pub(super) const fn frequency(channel: Channel) -> u32 {
    5 + 5 * channel.index() as u32
}

/// TXPOWER's code of the highest of its steps that is not above `dbm` (RADIO 6.20.14, TXPOWER).
pub(super) fn power_code(dbm: i8) -> u32 {
    const STEPS: [i8; 14] = [8, 7, 6, 5, 4, 3, 2, 0, -4, -8, -12, -16, -20, -40];
    let step = STEPS.into_iter().find(|step| *step <= dbm).unwrap_or(-40);
    u32::from(step as u8)
}
