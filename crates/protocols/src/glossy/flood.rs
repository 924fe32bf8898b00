//! One node's part in floods, one flood at a time.
//!
//! Not an [`thalweg_engine::Engine`] by itself but shaped like one: the engine above passes its
//! calls on and drains it first. It uses the names [`OPS`] for its operations and ignores answers
//! to others. A relayed transmission is armed in hardware a fixed gap after the last byte received;
//! a re-sending by the clock is armed at once after a transmission, and a reception supersedes it.

use super::{relay_gap, slot_time, Config, MissedSlot};
use crate::radio;
use crate::ring::Fifo;
use core::fmt;
use core::ops::RangeInclusive;
use thalweg_engine::{Ability, BoardTiming, OpId, RadioEvent, RadioOp, Refusal, Request};
use thalweg_engine::{Wants, When};
use thalweg_units::{Channel, ChannelSet, Duration, Instant, NodeId};
use thalweg_wire::flood::{opened_content, patch_relay, Course, Ntx, Repr};
use thalweg_wire::flood::{HEADER_BYTES, MAX_CONTENT, MAX_RELAY};
use thalweg_wire::phy;
use thalweg_wire::FrameBuf;

/// The names of operations that [`Flood`] uses.
pub const OPS: RangeInclusive<u16> = 0x0100..=0x02ff;
const LISTEN: OpId = OpId(0x0100);
const CANCEL: OpId = OpId(0x0101);
const FIRST_TX: u16 = 0x0200;

/// A node that neither hears nor sends for so many slots is out of the flood.
const PATIENCE_SLOTS: u64 = 4;
/// How many floods are remembered, so that stragglers do not start them again.
const REMEMBERED: usize = 8;

/// Events for the layer above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The flood that this node began is on the air.
    Started {
        /// Its number.
        sequence: u8,
        /// T_ref: the end of the SFD of its first frame.
        reference: Instant,
    },
    /// A flood arrived that was not known yet. [`Flood::content`] says what it carries, until the
    /// next call of a `handle_` method.
    Received {
        /// Who began it.
        initiator: NodeId,
        /// Its number among the initiator's.
        sequence: u8,
        /// How many slots after the first frame it arrived.
        relay: u8,
        /// T_ref: the end of the SFD of its first frame, by this node's clock.
        reference: Instant,
    },
    /// This node's part in a flood is over.
    Finished {
        /// Who began it.
        initiator: NodeId,
        /// Its number among the initiator's.
        sequence: u8,
        /// T_ref; `None` where this node began it and nothing went out.
        reference: Option<Instant>,
        /// How many times this node sent it.
        sent: u8,
        /// How many times this node received it.
        heard: u8,
    },
    /// The radio refused to begin this node's own flood.
    Refused {
        /// Its number.
        sequence: u8,
        /// Why.
        why: Refusal,
    },
}

/// More than [`MAX_CONTENT`] bytes do not fit into a flood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a flood carries at most {MAX_CONTENT} bytes")
    }
}
impl core::error::Error for TooLong {}

/// Where a node stands in floods that go inwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// How many hops from where they go; 0 is there.
    pub hops: u8,
    /// From a node's transmission to that of the next, one hop closer; no frame is longer.
    pub slot: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Initiator,
    Relay,
}

/// When an initiator that heard no neighbour send its frame on does so again by its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insistence {
    /// Until it has heard one: no node has its first frame.
    Begins,
    /// After each of its frames. One that no node gets may end the flood.
    Throughout,
}

#[derive(Debug)]
struct Active {
    role: Role,
    insistence: Insistence,
    initiator: NodeId,
    sequence: u8,
    course: Course,
    slot: Duration,
    reference: Option<Instant>,
    /// Transmissions that count towards N_tx, and all of them.
    counted: u8,
    sent: u8,
    heard: u8,
    /// The first and the number of transmit operations asked for in this flood.
    first_op: u8,
    ops: u8,
    give_up: Instant,
}

#[derive(Debug)]
enum State {
    /// Another engine has the radio.
    Stopped,
    Idle,
    Active(Active),
}

/// One node's part in floods.
#[derive(Debug)]
pub struct Flood {
    id: NodeId,
    config: Config,
    timing: BoardTiming,
    state: State,
    frame: FrameBuf,
    next_sequence: u8,
    next_op: u8,
    /// The highest relay counter that this node sends in the flood in progress.
    last_relay: u8,
    /// Initiator and number of floods, and after when no frame of them is on the air.
    known: Fifo<((NodeId, u8), Instant), REMEMBERED>,
    cancel: bool,
    listen: bool,
    stream: Option<(OpId, When)>,
    /// The last transmission submitted, while it is not answered yet.
    armed: Option<OpId>,
    events: Fifo<Event, 4>,
}

impl Flood {
    /// Node `id`'s part, listening from the first drain on.
    pub const fn new(id: NodeId, config: Config, timing: BoardTiming) -> Self {
        Self {
            id,
            config,
            timing,
            state: State::Idle,
            frame: FrameBuf::EMPTY,
            next_sequence: 0,
            next_op: 0,
            last_relay: 0,
            known: Fifo::EMPTY,
            cancel: false,
            listen: true,
            stream: None,
            armed: None,
            events: Fifo::EMPTY,
        }
    }
    /// Tunes to the control channel and takes part in whatever comes.
    pub fn listen(&mut self) {
        self.abandon();
        self.state = State::Idle;
        self.listen = true;
    }
    /// Floods are on `channel` from the next [`Flood::listen`] on.
    pub(crate) const fn move_to(&mut self, channel: Channel) {
        self.config.channel = channel;
    }
    /// The channel of floods.
    pub(crate) const fn channel(&self) -> Channel {
        self.config.channel
    }
    /// Leaves a flood in progress, without an event, and takes no part in any until
    /// [`Flood::listen`] or [`Flood::start`]. The radio stays as it is, for another engine.
    pub fn stop(&mut self) {
        self.abandon();
        self.state = State::Stopped;
        self.listen = false;
    }
    /// Cancels the transmission pending at the radio, whichever engine ordered it.
    pub(crate) fn take_back(&mut self) {
        self.cancel = true;
    }
    /// Begins a flood of `content`: its first frame goes out `when`. A flood in progress is left.
    /// Returns its number.
    ///
    /// # Errors
    /// [`TooLong`] beyond [`MAX_CONTENT`] bytes; nothing changes then.
    pub fn start(
        &mut self,
        now: Instant,
        content: &[u8],
        n_tx: Ntx,
        when: When,
    ) -> Result<u8, TooLong> {
        self.begin(now, content, Course::Outwards(n_tx), (0, when))
    }
    /// How the flood that this node has begun is sent again if no node is heard relaying it.
    pub fn insist(&mut self, insistence: Insistence) {
        if let State::Active(active) = &mut self.state {
            active.insistence = insistence;
        }
    }
    /// No frame of the flood in progress, of which this node is a relay, is to be on the air after `ends`.
    pub fn end_by(&mut self, ends: Instant) {
        let State::Active(active) = &mut self.state else {
            return;
        };
        let Some(first) = active.reference else {
            return;
        };
        let first_over = first + phy::air_time(self.frame.len()).saturating_sub(phy::SFD_OFFSET);
        let more = ends.since(first_over.min(ends)) / active.slot;
        self.last_relay = self.last_relay.min(u8::try_from(more).unwrap_or(MAX_RELAY));
        let asked = Repr::parse(&self.frame)
            .ok()
            .filter(|_| self.stream.is_some());
        if asked.is_some_and(|repr| repr.relay > self.last_relay) {
            self.leave();
        }
    }
    /// The highest number of hops from which floods come inwards.
    pub fn most_hops(&self) -> u8 {
        self.config.last_relay()
    }
    /// Begins a flood of `content` that goes inwards from this node, which is in `ring`: `sfd` is that of its frame.
    /// A flood in progress is left. Returns its number; `None` from beyond [`Flood::most_hops`].
    ///
    /// # Errors
    /// [`TooLong`] beyond [`MAX_CONTENT`] bytes; nothing changes then.
    pub fn start_inwards(
        &mut self,
        now: Instant,
        content: &[u8],
        (ring, sfd): (Ring, Instant),
    ) -> Result<Option<u8>, TooLong> {
        let Some(relay) = self.turn(ring) else {
            return Ok(None);
        };
        let first = (relay, When::At(sfd));
        self.begin(now, content, Course::Inwards, first).map(Some)
    }
    fn begin(
        &mut self,
        now: Instant,
        content: &[u8],
        course: Course,
        (relay, when): (u8, When),
    ) -> Result<u8, TooLong> {
        let sequence = self.next_sequence;
        let repr = Repr {
            sequence,
            initiator: self.id,
            course,
            relay,
            content,
        };
        let frame = FrameBuf::build(|w| repr.emit(w)).map_err(|_| TooLong)?;
        self.leave();
        self.next_sequence = sequence.wrapping_add(1);
        self.listen |= matches!(self.state, State::Stopped);
        self.frame = frame;
        let slot = slot_time(frame.len(), &self.timing);
        let begin = match when {
            // One whose time has passed is refused by the radio, and is waited for until then.
            When::At(sfd) => sfd.max(now),
            When::Now | When::AfterRx(_) => now,
        };
        // A frame of any length may be on its way yet before this one.
        let busy = phy::air_time(phy::MAX_MPDU);
        self.activate(Role::Initiator, repr, None, begin + busy);
        let life = begin + self.life(slot);
        self.known.remember(((self.id, sequence), life));
        self.send(relay.into(), when);
        Ok(sequence)
    }
    /// The relay counter with which a node of `ring` sends what goes inwards; `None` where it is too far out.
    fn turn(&self, ring: Ring) -> Option<u8> {
        self.config.last_relay().checked_sub(ring.hops)
    }
    /// What the flood in progress, or the last one, carries, without what seals it.
    pub fn content(&self) -> &[u8] {
        opened_content(self.raw_content())
    }
    /// The same with it.
    pub(crate) fn raw_content(&self) -> &[u8] {
        self.frame.get(HEADER_BYTES..).unwrap_or_default()
    }
    /// Whether this node is taking part in a flood.
    pub const fn is_active(&self) -> bool {
        matches!(self.state, State::Active(_))
    }

    /// What it wants of its radio: senders of a flood begin within half a microsecond (Glossy,
    /// section 3).
    pub fn wants(&self) -> Wants {
        use Ability::{AfterRx, At, Stream, Synchrony};
        Wants {
            channels: ChannelSet::EMPTY.with(self.config.channel),
            after_rx_step: Duration::from_nanos(500),
            ..Wants::of(&[AfterRx, At, Stream, Synchrony])
        }
    }
    /// Takes what the radio reports. Floods that go inwards pass by if this node's `ring` is unknown.
    pub fn handle_radio(&mut self, event: &RadioEvent<'_>, ring: Option<Ring>) {
        if event.answers().is_some() && event.answers() == self.armed {
            self.armed = None;
        }
        match *event {
            RadioEvent::Sent { op, sfd } => self.handle_sent(op, sfd),
            RadioEvent::Refused { op, why } => self.handle_refused(op, why),
            RadioEvent::Frame { mpdu, sfd, .. } => {
                match Repr::parse(mpdu).map(|repr| (repr.course, ring, repr)) {
                    Ok((Course::Outwards(_), _, repr)) => self.handle_frame(mpdu, repr, sfd),
                    Ok((Course::Inwards, Some(ring), repr)) => {
                        self.handle_inwards(mpdu, repr, (ring, sfd));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    /// The instant of [`Flood::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, at: Instant) {
        if self.poll_timeout().is_some_and(|t| t <= at) {
            self.leave();
        }
    }
    /// Whether [`Flood::poll_radio`] has an operation.
    pub const fn wants_radio(&self) -> bool {
        self.cancel || self.listen || self.stream.is_some()
    }
    /// The next operation wanted.
    pub fn poll_radio(&mut self) -> Option<Request<'_>> {
        if core::mem::take(&mut self.cancel) {
            return Some(Request::new(CANCEL, RadioOp::Cancel));
        }
        if core::mem::take(&mut self.listen) {
            return Some(Request::new(LISTEN, radio::listen(self.config.channel)));
        }
        let (id, when) = self.stream.take()?;
        self.armed = Some(id);
        let op = radio::stream(&self.frame, self.config.channel, when);
        Some(Request::new(id, op))
    }
    /// When [`Flood::handle_timeout`] is wanted.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        match &self.state {
            State::Active(active) => Some(active.give_up),
            State::Idle | State::Stopped => None,
        }
    }
    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    fn handle_sent(&mut self, op: OpId, sfd: Instant) {
        let Some(active) = self.active_of(op) else {
            return;
        };
        active.sent = active.sent.saturating_add(1);
        active.give_up = sfd + active.slot * PATIENCE_SLOTS;
        let echoes = active.course != Course::Inwards;
        let insists = match active.insistence {
            Insistence::Begins => active.heard == 0,
            Insistence::Throughout => true,
        };
        let unanswered = echoes && active.role == Role::Initiator && active.heard == 0;
        let again = echoes && active.role == Role::Initiator && insists;
        active.counted += u8::from(!unanswered);
        let started = active.reference.is_none();
        let reference = *active.reference.get_or_insert(sfd);
        let (sequence, slot) = (active.sequence, active.slot);
        let done = active.counted >= active.course.times();
        if started {
            self.emit(Event::Started {
                sequence,
                reference,
            });
        }
        if done {
            return self.leave();
        }
        // A reception in the coming slot supersedes this with the same frame at the same instant.
        if again || self.config.missed == MissedSlot::ResendOnOwnClock {
            let relay = (sfd.since(reference) + slot / 2) / slot + 2;
            self.send(relay, When::At(sfd + slot * 2));
        }
    }

    fn handle_refused(&mut self, op: OpId, why: Refusal) {
        let Some(active) = self.active_of(op) else {
            return;
        };
        // A relay that the radio refused missed its slot: the next reception or the time-out helps.
        if active.role == Role::Initiator && active.reference.is_none() {
            let sequence = active.sequence;
            self.state = State::Idle;
            self.emit(Event::Refused { sequence, why });
        }
    }

    fn handle_frame(&mut self, mpdu: &[u8], repr: Repr<'_>, sfd: Instant) {
        let slot = slot_time(mpdu.len(), &self.timing);
        let next = u64::from(repr.relay) + 1;
        match &mut self.state {
            State::Stopped => return,
            State::Active(active)
                if (active.initiator, active.sequence) == (repr.initiator, repr.sequence) =>
            {
                active.heard = active.heard.saturating_add(1);
                active.give_up = sfd + slot * PATIENCE_SLOTS;
                if active.role == Role::Initiator && active.heard == 1 {
                    // Of the unanswered transmissions only the last counts.
                    active.counted = 1;
                }
                if active.counted >= active.course.times() {
                    return self.leave();
                }
            }
            // Two floods at once: one's own goes on.
            State::Active(Active {
                role: Role::Initiator,
                ..
            }) => return,
            State::Active(_) | State::Idle => {
                let flood = (repr.initiator, repr.sequence);
                if self.knows(flood, sfd) {
                    return;
                }
                if self.frame.copy_from(mpdu).is_err() {
                    return;
                }
                self.leave();
                let reference = sfd.saturating_sub(slot * u64::from(repr.relay));
                self.activate(Role::Relay, repr, Some(reference), sfd);
                self.known.remember((flood, reference + self.life(slot)));
                self.emit(Event::Received {
                    initiator: repr.initiator,
                    sequence: repr.sequence,
                    relay: repr.relay,
                    reference,
                });
            }
        }
        self.send(next, When::AfterRx(relay_gap(mpdu.len(), &self.timing)));
    }

    /// A frame on its way inwards: where it comes from farther out, this node sends it on in its own ring's slot.
    fn handle_inwards(&mut self, mpdu: &[u8], repr: Repr<'_>, (ring, sfd): (Ring, Instant)) {
        let Some(ahead) = self.turn(ring).and_then(|own| own.checked_sub(repr.relay)) else {
            return;
        };
        let flood = (repr.initiator, repr.sequence);
        match &mut self.state {
            State::Stopped => return,
            State::Active(active) if (active.initiator, active.sequence) == flood => {
                active.heard = active.heard.saturating_add(1);
            }
            // Another one's turn comes first.
            State::Active(_) => return,
            State::Idle => {
                if ahead == 0 || self.knows(flood, sfd) {
                    return;
                }
                let Ok(frame) = FrameBuf::from_slice(mpdu) else {
                    return;
                };
                self.frame = frame;
                let reference = sfd.saturating_sub(ring.slot * u64::from(repr.relay));
                let turn = sfd + ring.slot * u64::from(ahead);
                self.activate(Role::Relay, repr, Some(reference), turn);
                let life = reference + self.life(ring.slot);
                self.known.remember((flood, life));
                self.emit(Event::Received {
                    initiator: repr.initiator,
                    sequence: repr.sequence,
                    relay: repr.relay,
                    reference,
                });
            }
        }
        match (ring.hops, ahead) {
            (0, _) => self.leave(),
            // It is being sent by those around.
            (_, 0) => {}
            _ => {
                let gap = ring.slot * u64::from(ahead);
                let gap = gap.saturating_sub(phy::air_time(mpdu.len()));
                let relay = repr.relay + ahead;
                self.send(relay.into(), When::AfterRx(gap));
            }
        }
    }

    fn activate(&mut self, role: Role, repr: Repr<'_>, reference: Option<Instant>, begin: Instant) {
        let slot = slot_time(HEADER_BYTES + repr.content.len(), &self.timing);
        self.last_relay = self.config.last_relay();
        self.state = State::Active(Active {
            role,
            insistence: Insistence::Begins,
            initiator: repr.initiator,
            sequence: repr.sequence,
            course: repr.course,
            slot,
            reference,
            counted: 0,
            sent: 0,
            heard: u8::from(role == Role::Relay),
            first_op: self.next_op,
            ops: 0,
            give_up: begin + slot * PATIENCE_SLOTS,
        });
    }

    /// Asks for a transmission with relay counter `relay`, unless that is beyond the bound.
    fn send(&mut self, relay: u64, when: When) {
        let State::Active(active) = &mut self.state else {
            return;
        };
        if relay > u64::from(self.last_relay) {
            return;
        }
        patch_relay(&mut self.frame, relay as u8);
        self.stream = Some((OpId(FIRST_TX | u16::from(self.next_op)), when));
        self.next_op = self.next_op.wrapping_add(1);
        active.ops = active.ops.saturating_add(1);
    }

    /// The flood that asked for `op`, if it is still in progress.
    fn active_of(&mut self, op: OpId) -> Option<&mut Active> {
        let State::Active(active) = &mut self.state else {
            return None;
        };
        let number = u8::try_from(op.0.checked_sub(FIRST_TX)?).ok()?;
        (number.wrapping_sub(active.first_op) < active.ops).then_some(active)
    }

    /// Ends this node's part in a flood with an event.
    fn leave(&mut self) {
        if let State::Active(active) = &self.state {
            let event = Event::Finished {
                initiator: active.initiator,
                sequence: active.sequence,
                reference: active.reference,
                sent: active.sent,
                heard: active.heard,
            };
            self.emit(event);
            self.abandon();
            self.state = State::Idle;
        }
    }

    /// Takes back what was asked for and not done yet.
    fn abandon(&mut self) {
        self.stream = None;
        self.cancel |= self.armed.is_some();
    }

    /// How long after its reference time frames of a flood may be on the air.
    fn life(&self, slot: Duration) -> Duration {
        slot * (u64::from(self.config.last_relay()) + 1)
    }

    fn knows(&self, flood: (NodeId, u8), now: Instant) -> bool {
        let mut known = self.known.iter();
        known.any(|(known, until)| *known == flood && now <= *until)
    }

    fn emit(&mut self, event: Event) {
        self.events.tell(event);
    }
}
