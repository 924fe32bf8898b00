//! P3 over nodes with two radios, beyond its paper: stages of relays that receive on one radio and
//! send synchronously on the other, so that every relay takes part in every cycle (P3, sections IV-A and
//! IV-B, without groups; FastForward, section III-A, with several relays a stage).
//!
//! Owns a node: source, relay or sink. Time base: the node's clock; what goes out is timed by the frame
//! that came in ([`When::AfterRxOn`]). Invariants: frames of a stage's relays are equal; a packet goes to the
//! sink's store once. Does not choose stages or channels; who is called over the air, `node.rs`. Tests: `tests.rs`,
//! `crates/lab/tests/streams/p3dual.rs`.

mod config;
mod ends;
mod node;
#[cfg(test)]
mod tests;

pub use config::{Command, Config, Counts, End, Event, MAX_PACKETS};
pub use node::{Node, NodeCommand, NodeEvent};

use crate::due::sooner;
use crate::fastforward::radio_of;
use crate::fifo::Fifo;
use crate::object::ObjectStore;
use crate::radio;
use ends::{Got, Next, Round, END_COPIES};
use thalweg_engine::{Ability, Engine, OpId, RadioEvent, RadioId, RadioOp, Refusal, Request};
use thalweg_engine::{Wants, When};
use thalweg_units::{Duration, Instant, Tuning};
use thalweg_wire::addressed::Header;
use thalweg_wire::stream::{Content, Missing, Packet, MAX_PAYLOAD};
use thalweg_wire::FrameBuf;

/// A source gives up when it told a round's end so often and heard nothing.
const ASKED_AT_MOST: u8 = 20;
/// The name of operations whose answers tell nothing.
const ANY: OpId = OpId(0);
/// A relay's transmissions: only their refusals matter.
const PASSED_ON: OpId = OpId(1);
/// The source's.
const OWN: OpId = OpId(2);

#[derive(Debug, Clone, Copy)]
enum Want {
    Listen(Tuning),
    Sleep(RadioId),
    /// What is in `frame`.
    Send(Tuning, OpId, When),
}

/// A node.
#[derive(Debug)]
pub struct P3Dual<S> {
    store: S,
    config: Option<Config>,
    round: Option<Round>,
    got: Got,
    counts: Counts,
    wants: Fifo<Want, 8>,
    /// What the want that sends is about: there is at most one between two drains.
    frame: FrameBuf,
    events: Fifo<Event, 4>,
}

impl<S: ObjectStore> P3Dual<S> {
    /// A node that waits for its place; `store` holds what it sends or takes what it receives.
    pub fn new(store: S) -> Self {
        Self {
            store,
            config: None,
            round: None,
            got: Got::NOTHING,
            counts: Counts::default(),
            wants: Fifo::EMPTY,
            frame: FrameBuf::EMPTY,
            events: Fifo::EMPTY,
        }
    }
    /// What is sent, or was received.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }
    /// The same, to look at.
    pub const fn store(&self) -> &S {
        &self.store
    }
    /// Payload bytes of a packet of the stream that it is in.
    pub fn payload_bytes(&self) -> Option<u8> {
        self.config.map(|config| config.payload_bytes)
    }
    /// Whether it is a sink that has all of its object.
    pub fn is_whole(&self) -> bool {
        let packets = self.got.packets;
        packets.is_some_and(|packets| self.got.count >= packets)
    }
    /// What happened so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    fn want(&mut self, want: Want) {
        // There is room: an event leads to three at most.
        let _ = self.wants.push(want);
    }
    fn tell(&mut self, event: Event) {
        let _ = self.events.push(event);
    }
    fn send(&mut self, frame: FrameBuf, on: Tuning, name: OpId, when: When) {
        self.frame = frame;
        self.want(Want::Send(on, name, when));
    }

    /// The header of what stage `stage` sends.
    const fn header(config: &Config, stage: u8) -> Header {
        Header {
            sequence: stage,
            to: None,
            from: config.source,
        }
    }

    /// The source's next frame, with its SFD at `sfd` or as soon as can be.
    fn go_on(&mut self, now: Instant, sfd: Option<Instant>) {
        let (Some(config), Some(round)) = (self.config, &mut self.round) else {
            return;
        };
        let Some(on) = config.outward else { return };
        let next = round.next();
        let (stream, tag, packets) = (config.stream, round.number, round.packets);
        if next == Next::Nothing {
            // There and back, and what the sink waits.
            let hop = config.gap + config.cycle;
            let copies = config.cycle * u64::from(END_COPIES) * 2;
            round.until = Some(now + hop * u64::from(config.hops) * 2 + copies);
            return;
        }
        let mut payload = [0; MAX_PAYLOAD];
        let bytes = usize::from(config.payload_bytes).min(MAX_PAYLOAD);
        let payload = &mut payload[..bytes];
        let (number, content) = match next {
            Next::Packet(number) => {
                let offset = u32::from(number) * u32::from(config.payload_bytes);
                self.store.read(offset, payload);
                self.counts.sent += 1;
                (number, Content::Data(payload))
            }
            Next::End | Next::Nothing => (packets, Content::End),
        };
        let packet = Packet {
            link: Self::header(&config, 0),
            stream,
            round: tag,
            number,
            content,
        };
        let when = sfd.map_or(When::Now, When::At);
        if let Ok(frame) = packet.frame() {
            self.send(frame, on, OWN, when);
        }
    }

    /// A frame of the stage before.
    fn heard(&mut self, config: &Config, now: Instant, packet: &Packet<'_>) {
        if let Content::Data(_) = packet.content {
            self.counts.heard += 1;
        }
        let passed = Packet {
            link: Self::header(config, config.stage),
            ..*packet
        };
        if let (Some(on), Some(inward)) = (config.outward, config.inward) {
            if let Ok(frame) = passed.frame() {
                self.counts.sent += u32::from(passed.content != Content::End);
                self.pass(config, frame, inward, on);
            }
            return;
        }
        match packet.content {
            Content::Data(payload) => {
                self.got.answer = None;
                let offset = u32::from(packet.number) * u32::from(config.payload_bytes);
                let is_new = !self.got.has(packet.number);
                if is_new && self.store.write(offset, payload).is_ok() {
                    self.got.take(packet.number);
                    self.tell(Event::Received {
                        number: packet.number,
                        round: packet.round,
                    });
                }
            }
            Content::End => {
                self.got.packets = Some(packet.number);
                if self.got.answer.is_none() {
                    // Its copies pass first.
                    let at = now + config.cycle * u64::from(END_COPIES);
                    self.got.answer = Some((at, packet.round));
                    self.tell(Event::RoundOver {
                        round: packet.round,
                        have: self.got.count,
                        packets: packet.number,
                    });
                }
            }
        }
    }

    /// What came in on one radio goes out on the other, a gap later.
    fn pass(&mut self, config: &Config, frame: FrameBuf, from: Tuning, on: Tuning) {
        let when = When::AfterRxOn {
            radio: radio_of(from),
            gap: config.gap,
        };
        self.send(frame, on, PASSED_ON, when);
    }

    /// What is missing, from the stage after.
    fn heard_missing(&mut self, config: &Config, now: Instant, missing: &Missing) {
        if let (Some(outward), Some(on)) = (config.outward, config.inward) {
            let passed = Missing {
                link: Self::header(config, config.stage),
                ..*missing
            };
            if let Ok(frame) = passed.frame() {
                self.pass(config, frame, outward, on);
            }
            return;
        }
        let waits = |r: &Round| r.until.is_some() && r.number == missing.round;
        let Some(round) = self.round.filter(waits) else {
            return;
        };
        if missing.ranges.iter().all(Option::is_none) {
            self.round = None;
            return self.tell(Event::Ended(End::Complete));
        }
        self.round = Some(round.again(missing.ranges));
        self.go_on(now, None);
    }

    /// The sink says what is missing.
    fn answer(&mut self, round: u8) {
        let (Some(config), Some(packets)) = (self.config, self.got.packets) else {
            return;
        };
        let missing = Missing {
            link: Self::header(&config, config.stage),
            stream: config.stream,
            round,
            ranges: self.got.missing(packets),
        };
        if let (Some(on), Ok(frame)) = (config.inward, missing.frame()) {
            self.send(frame, on, ANY, When::Now);
        }
        if self.got.count >= packets && !self.got.is_told {
            self.got.is_told = true;
            self.tell(Event::Ended(End::Complete));
        }
    }
}

impl<S: ObjectStore> Engine for P3Dual<S> {
    type Command = Command;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        use Ability::{AfterRxOn, At, Stream, Synchrony};
        (radio <= RadioId(1)).then_some(Wants {
            after_rx_step: Duration::from_nanos(500),
            ..Wants::of(&[AfterRxOn, At, Stream, Synchrony])
        })
    }

    fn handle_command(&mut self, now: Instant, command: Command) {
        match command {
            Command::Join(config) | Command::Rejoin(config) => {
                self.config = Some(config);
                match command {
                    Command::Rejoin(_) => self.got.answer = None,
                    _ => self.got = Got::NOTHING,
                }
                self.round = None;
                for on in [config.inward, config.outward].into_iter().flatten() {
                    self.want(Want::Listen(on));
                }
            }
            Command::Send(packets) | Command::Ask(packets) => {
                let packets = packets.min(MAX_PACKETS as u16);
                if self.config.is_some_and(|c| c.stage == 0) {
                    self.round = Some(match command {
                        Command::Send(_) => Round::first(packets),
                        _ => Round::over(packets),
                    });
                    self.go_on(now, None);
                }
            }
            Command::Leave => {
                (self.config, self.round) = (None, None);
                self.want(Want::Sleep(RadioId(0)));
                self.want(Want::Sleep(RadioId(1)));
            }
        }
    }

    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        let Some(config) = self.config else { return };
        match event {
            RadioEvent::Sent { op: OWN, sfd } => self.go_on(at, Some(sfd + config.cycle)),
            RadioEvent::Refused {
                op: OWN,
                why: Refusal::Late { .. },
            } => {
                self.counts.late += 1;
                if let Some(on) = config.outward {
                    self.want(Want::Send(on, OWN, When::Now));
                }
            }
            RadioEvent::Refused { op: PASSED_ON, .. } => self.counts.late += 1,
            RadioEvent::Frame { mpdu, .. } => {
                let on = |tuning: Option<Tuning>| tuning.map(radio_of) == Some(radio);
                let is_ours = |stream: u8, link: Header| {
                    stream == config.stream && link.from == config.source
                };
                if let Ok(packet) = Packet::parse(mpdu) {
                    let is_next = packet.link.sequence.checked_add(1) == Some(config.stage);
                    if on(config.inward) && is_next && is_ours(packet.stream, packet.link) {
                        self.heard(&config, at, &packet);
                    }
                } else if let Ok(missing) = Missing::parse(mpdu) {
                    let is_next = config.stage.checked_add(1) == Some(missing.link.sequence);
                    if on(config.outward) && is_next && is_ours(missing.stream, missing.link) {
                        self.heard_missing(&config, at, &missing);
                    }
                }
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, at: Instant) {
        if let Some((_, round)) = self.got.answer.filter(|(due, _)| *due <= at) {
            self.got.answer = None;
            self.answer(round);
        }
        if let Some(round) = &mut self.round {
            if round.until.is_some_and(|until| until <= at) {
                if round.asked >= ASKED_AT_MOST {
                    self.round = None;
                    self.tell(Event::Ended(End::Silent));
                } else {
                    round.ask();
                    self.go_on(at, None);
                }
            }
        }
    }

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let (radio, id, op) = match self.wants.pop()? {
            Want::Listen(on) => (radio_of(on), ANY, radio::listen(on.place())),
            Want::Sleep(radio) => (radio, ANY, RadioOp::Sleep),
            Want::Send(on, id, when) => {
                let op = radio::stream(&self.frame, on.place(), when);
                (radio_of(on), id, op)
            }
        };
        Some(Request { radio, id, op })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        let waiting = self.round.as_ref().and_then(|r| r.until);
        let answering = self.got.answer.map(|(at, _)| at);
        sooner(waiting, answering)
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }
}
