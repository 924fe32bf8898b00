//! FastForward (Ekbatanifard et al.): bulk data received on one radio of a node and sent on on the other.
//!
//! Owns a node: asleep on a calling channel, called into a stream, source, relay or sink of up to two
//! streams, asleep again. One link's sending is in `sender.rs`, one stream's part in `stream.rs`. Time
//! base: the node's clock. Invariants: each packet is handed to the sink's store once; a stream ends at
//! every node, in one [`Event::Ended`]. Chooses no paths or channels. Tests: `tests.rs`, `simnet/tests/all/streams/`.

mod config;
mod orders;
mod sender;
mod stream;
#[cfg(test)]
mod tests;

pub use config::{Command, Config, Counts, End, Event, MAX_QUEUE};
pub use orders::radio_of;
pub use thalweg_wire::stream::{Call, Path, Range, Version, MAX_PATH, MAX_RANGES};

use crate::object::ObjectStore;
use crate::ring::Fifo;
use orders::{Orders, Want};
use sender::{Sender, Verdict};
use stream::{Batch, StreamState, Taken};
use thalweg_engine::{Ability, Answering, Engine, RadioEvent, RadioId, Request, Wants};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::addressed::Ack;
use thalweg_wire::stream::{Content, Packet};
use thalweg_wire::FrameBuf;

/// Streams that a node takes part in at once: a sink's two (section III-A).
pub const STREAMS: usize = 2;
/// A call's sender; those below are streams'.
const CALLING: u8 = STREAMS as u8;
/// How long a called node waits: until the call would have come again, were its acknowledgement lost.
const SETTLING: Duration = Duration::from_millis(20);

/// A call that is passed on towards the source.
#[derive(Debug, Clone, Copy)]
struct Calling {
    call: Call,
    to: NodeId,
    frame: FrameBuf,
    until: Instant,
}

/// What a sleeping node's first radio does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nap {
    /// It does something else.
    Off,
    /// Until then, as the next.
    Asleep(Instant),
    Awake(Instant),
}

/// A node.
#[derive(Debug)]
pub struct FastForward<S> {
    id: NodeId,
    store: S,
    config: Config,
    orders: Orders,
    streams: [Option<StreamState>; STREAMS],
    /// What happened on streams that are over, by the place they had.
    past: [Counts; STREAMS],
    calling: Option<Calling>,
    caller: Sender,
    /// A call was taken and has to be passed on, or begun with, then.
    settle: Option<(Instant, usize)>,
    nap: Nap,
    events: Fifo<Event, 16>,
    calls: u8,
}

impl<S: ObjectStore> FastForward<S> {
    /// A node that sleeps and waits for calls; `store` holds what it sends or takes what it receives.
    pub fn new(id: NodeId, config: Config, store: S) -> Self {
        Self {
            id,
            store,
            config,
            orders: Orders::NONE,
            streams: [const { None }; STREAMS],
            past: [Counts::default(); STREAMS],
            calling: None,
            caller: Sender::new(id.get()),
            settle: None,
            nap: Nap::Asleep(Instant::ZERO),
            events: Fifo::EMPTY,
            calls: 0,
        }
    }
    /// What was received, and what is sent.
    pub const fn store(&self) -> &S {
        &self.store
    }
    /// The same, mutable.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }
    /// What happened on this node's streams so far.
    pub fn counts(&self, at: usize) -> Counts {
        let past = self.past.get(at).copied().unwrap_or_default();
        self.peek(at).map_or(past, |now| past.and(now.counts))
    }
    /// Packets in the queue of this node's stream.
    pub fn queue_len(&self, at: usize) -> usize {
        self.peek(at).map_or(0, |state| state.queue.len())
    }
    /// Whether it takes part in nothing.
    pub fn is_idle(&self) -> bool {
        self.calling.is_none() && self.streams.iter().all(Option::is_none)
    }

    fn emit(&mut self, event: Event) {
        // There is room: each call into the engine causes two events at most.
        self.events.tell(event);
    }
    fn peek(&self, at: usize) -> Option<&StreamState> {
        self.streams.get(at)?.as_ref()
    }
    fn state_mut(&mut self, at: usize) -> Option<&mut StreamState> {
        self.streams.get_mut(at)?.as_mut()
    }
    fn index_of(&self, stream: u8) -> Option<usize> {
        let is_it = |p: &Option<StreamState>| p.as_ref().is_some_and(|p| p.call.stream == stream);
        self.streams.iter().position(is_it)
    }

    /// Takes a part in the stream of `call`, if it fits; says where it is kept.
    fn join(&mut self, now: Instant, call: Call) -> Option<usize> {
        let place = call.path.place(self.id)?;
        let at = self.streams.iter().position(Option::is_none)?;
        // From the first packet on it is the silence that counts; until then the calls of others.
        let wait = self.config.wake_interval * u64::from(self.config.call_intervals);
        let hops = call.path.hops() as u64;
        let silent_by = now + wait * hops + self.config.silence;
        let state = StreamState::new(call, place, self.config.queue, silent_by)?;
        self.streams[at] = Some(state);
        Some(at)
    }

    /// Calls the node before this one on the path, or begins where there is none.
    fn call_on(&mut self, now: Instant, at: usize) {
        let Some(state) = self.state_mut(at) else {
            return;
        };
        let Some(previous) = state.previous else {
            return self.begin(at);
        };
        let (call, to) = (state.call, previous.node);
        self.calls = self.calls.wrapping_add(1);
        let Ok(frame) = call.frame(self.calls, self.id, to) else {
            return self.leave(now, at, End::Broken { neighbour: to }, None);
        };
        let until = now + self.config.wake_interval * u64::from(self.config.call_intervals);
        self.calling = Some(Calling {
            call,
            to,
            frame,
            until,
        });
        let channel = self.config.calling;
        self.orders.want(Want::Listen(channel));
        self.orders.answer(channel, Answering::Clear);
        self.orders.want(Want::Send(CALLING, channel));
        self.caller.begin(self.calls);
    }

    /// The call was taken, or not answered.
    fn called(&mut self, now: Instant, verdict: Verdict) {
        let Some(calling) = self.calling else { return };
        if verdict == Verdict::Again {
            let channel = self.config.calling;
            return self.orders.want(Want::Again(CALLING, channel));
        }
        self.calling = None;
        match self.index_of(calling.call.stream) {
            Some(at) if verdict == Verdict::GivenUp => {
                let neighbour = calling.to;
                self.leave(now, at, End::Broken { neighbour }, None);
            }
            Some(at) => self.tune(at),
            None => {}
        }
    }

    /// Turns the radios to a stream's links.
    fn tune(&mut self, at: usize) {
        let Some(state) = self.state_mut(at) else {
            return;
        };
        if state.previous.is_some() {
            state.answers = state.may_answer();
        }
        let (next, previous) = (state.next, state.previous.zip(Some(state.answers)));
        self.nap = Nap::Off;
        let next = next.zip(Some(Answering::Withheld));
        for (hop, answers) in [next, previous].into_iter().flatten() {
            self.orders.answer(hop.on, answers);
            self.orders.want(Want::Listen(hop.on));
        }
    }

    /// Leaves a stream; the radios go back to low power where no other needs them.
    fn leave(&mut self, now: Instant, at: usize, why: End, packets: Option<u16>) {
        let Some(state) = self.streams.get_mut(at).and_then(Option::take) else {
            return;
        };
        self.past[at] = self.past[at].and(state.counts);
        let stream = state.call.stream;
        if self.calling.is_some_and(|c| c.call.stream == stream) {
            self.calling = None;
            self.caller = Sender::new(self.id.get());
        }
        if self.settle.is_some_and(|(_, settling)| settling == at) {
            self.settle = None;
        }
        self.emit(Event::Ended {
            stream,
            why,
            packets,
        });
        for radio in [RadioId(0), RadioId(1)] {
            let uses = |p: &StreamState| {
                let hops = [p.previous, p.next];
                hops.iter().flatten().any(|hop| radio_of(hop.on) == radio)
            };
            if !self.streams.iter().flatten().any(uses) {
                self.orders.want(Want::Sleep(radio));
            }
        }
        if self.is_idle() {
            self.nap = Nap::Asleep(now + self.config.wake_interval);
        }
    }

    /// Passes acknowledgements or withholds them, as the queue of a stream says.
    fn regulate(&mut self, at: usize) {
        let Some(state) = self.state_mut(at) else {
            return;
        };
        let (Some(previous), may) = (state.previous, state.may_answer()) else {
            return;
        };
        if may != state.answers {
            state.answers = may;
            self.orders.answer(previous.on, may);
        }
    }

    /// Gives the radio a stream's next packet, if it has none.
    fn send_next(&mut self, at: usize) {
        if self.calling.is_some() || self.settle.is_some() {
            return;
        }
        let Self { streams, store, .. } = self;
        let Some(state) = streams.get_mut(at).and_then(Option::as_mut) else {
            return;
        };
        let (Some(next), true) = (state.next, state.sender.is_idle()) else {
            return;
        };
        state.make(|offset, into| store.read(offset, into));
        let Some(front) = state.queue.front() else {
            return;
        };
        state.sender.begin(front.sequence);
        state.counts.sent += 1;
        self.orders.want(Want::Send(at as u8, next.on));
    }

    /// What became of the packet at the front of a stream's queue.
    fn decided(&mut self, now: Instant, at: usize, verdict: Verdict) {
        let most = self.config.give_up;
        let Some(state) = self.state_mut(at) else {
            return;
        };
        let Some(next) = state.next else { return };
        match verdict {
            Verdict::Again => {
                state.counts.retransmissions += 1;
                self.orders.want(Want::Again(at as u8, next.on));
                return;
            }
            Verdict::Delivered => state.lost = 0,
            Verdict::GivenUp => {
                state.counts.unacknowledged += 1;
                state.lost += 1;
            }
        }
        let was_end = state.queue.pop().is_some_and(|sent| sent.is_end);
        if state.lost >= most {
            let neighbour = next.node;
            return self.leave(now, at, End::Broken { neighbour }, None);
        }
        if was_end || state.is_done() {
            let packets = state.batch.map(|b| b.total);
            return self.leave(now, at, End::Complete, packets);
        }
        self.send_next(at);
        self.regulate(at);
    }

    fn heard_call(&mut self, now: Instant, mpdu: &[u8]) {
        let Ok((header, call)) = Call::parse(mpdu) else {
            return;
        };
        if header.to != Some(self.id) {
            return;
        }
        if let Some(at) = self.index_of(call.stream) {
            if (self.peek(at)).is_some_and(|p| p.call.round == call.round) {
                return; // its acknowledgement was lost
            }
            self.leave(now, at, End::Closed, None);
        }
        let Some(at) = self.join(now, call) else {
            let stream = call.stream;
            return self.emit(Event::Refused { stream });
        };
        self.nap = Nap::Off;
        self.settle = Some((now + SETTLING, at));
    }

    fn heard_packet(&mut self, now: Instant, radio: RadioId, mpdu: &[u8]) {
        let Ok(packet) = Packet::parse(mpdu) else {
            return;
        };
        let Some(at) = self.index_of(packet.stream) else {
            return;
        };
        let (me, silence) = (self.id, self.config.silence);
        let Some(state) = self.state_mut(at) else {
            return;
        };
        let from = packet.link.from;
        let is_next_of = state.previous.is_some_and(|hop| {
            hop.node == from && radio_of(hop.on) == radio && state.call.round == packet.round
        });
        if !is_next_of || packet.link.to.is_some_and(|to| to != me) {
            return;
        }
        state.silent_by = now + silence;
        match (state.take(&packet), packet.content) {
            (Taken::No, _) => {}
            (Taken::Queued, _) => {
                self.send_next(at);
                self.regulate(at);
            }
            (Taken::Deliver, Content::Data(payload)) => {
                let offset = u32::from(packet.number) * u32::from(state.call.payload_bytes);
                // What there is no room for is not reported, so it is asked for again.
                if self.store.write(offset, payload).is_ok() {
                    self.emit(Event::Received {
                        stream: packet.stream,
                        number: packet.number,
                        bytes: payload.len() as u8,
                    });
                }
            }
            (Taken::Deliver, Content::End) => {}
            // The last acknowledgement is on its way out of the driver by now.
            (Taken::End(packets), _) => self.leave(now, at, End::Complete, Some(packets)),
        }
    }

    fn nap_timeout(&mut self, at: Instant) {
        let channel = self.config.calling;
        match self.nap {
            Nap::Asleep(until) if until <= at => {
                self.orders.want(Want::Listen(channel));
                self.orders.answer(channel, Answering::Clear);
                self.nap = Nap::Awake(at + self.config.wake_time);
            }
            Nap::Awake(until) if until <= at => {
                self.orders.want(Want::Sleep(radio_of(channel)));
                let Config {
                    wake_interval,
                    wake_time,
                    ..
                } = self.config;
                self.nap = Nap::Asleep(until + wake_interval.saturating_sub(wake_time));
            }
            _ => {}
        }
    }
}

impl<S: ObjectStore> Engine for FastForward<S> {
    type Command = Command;
    type Event = Event;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio <= RadioId(1)).then_some(Wants {
            address: Some(self.id),
            ..Wants::of(&[Ability::Stream, Ability::Load, Ability::Answer])
        })
    }

    fn handle_command(&mut self, now: Instant, command: Command) {
        match command {
            Command::Sleep => {
                for at in 0..STREAMS {
                    self.leave(now, at, End::Closed, None);
                }
                // Wake-ups of different nodes are spread over the interval.
                let spread = u64::from(self.id.get()).wrapping_mul(0x9e37_79b9) % 997;
                let share = self.config.wake_interval.as_nanos() / 997;
                self.nap = Nap::Asleep(now + Duration::from_nanos(1 + spread * share));
            }
            Command::Open(call) => {
                let stream = call.stream;
                let is_sink = call.path.place(self.id) == Some(call.path.hops());
                let free = self.calling.is_none() && self.index_of(stream).is_none();
                match (is_sink && free).then(|| self.join(now, call)).flatten() {
                    Some(at) => {
                        self.nap = Nap::Off;
                        self.call_on(now, at);
                    }
                    None => self.emit(Event::Refused { stream }),
                }
            }
            Command::Close(stream) => {
                if let Some(at) = self.index_of(stream) {
                    self.leave(now, at, End::Closed, None);
                }
            }
        }
    }

    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>) {
        let timeout = self.config.ack_timeout;
        if event.answers().is_some() {
            if let Some(verdict) = self.caller.answered(at, &event, Some(timeout)) {
                self.called(at, verdict);
            }
            for n in 0..STREAMS {
                let Some(state) = self.state_mut(n) else {
                    continue;
                };
                let timeout = state.call.version.acknowledges().then_some(timeout);
                if let Some(verdict) = state.sender.answered(at, &event, timeout) {
                    self.decided(at, n, verdict);
                }
            }
            return;
        }
        let RadioEvent::Frame { mpdu, .. } = event else {
            return;
        };
        if let Ok(ack) = Ack::parse(mpdu) {
            if self.calling.is_some() && radio == radio_of(self.config.calling) {
                if let Some(verdict) = self.caller.acknowledged(ack.sequence) {
                    self.called(at, verdict);
                }
                return;
            }
            for n in 0..STREAMS {
                let Some(state) = self.state_mut(n) else {
                    continue;
                };
                if state.next.is_some_and(|hop| radio_of(hop.on) == radio) {
                    if let Some(verdict) = state.sender.acknowledged(ack.sequence) {
                        self.decided(at, n, verdict);
                    }
                }
            }
            return;
        }
        self.heard_packet(at, radio, mpdu);
        self.heard_call(at, mpdu);
    }

    fn handle_timeout(&mut self, at: Instant) {
        self.nap_timeout(at);
        if let Some(calling) = self.calling {
            let most = if at < calling.until { u32::MAX } else { 0 };
            if let Some(verdict) = self.caller.timeout(at, most) {
                self.called(at, verdict);
            }
        }
        if let Some((_, place)) = self.settle.take_if(|(due, _)| *due <= at) {
            self.call_on(at, place);
        }
        for n in 0..STREAMS {
            let most = u32::from(self.config.attempts);
            let Some(state) = self.state_mut(n) else {
                continue;
            };
            if let Some(verdict) = state.sender.timeout(at, most) {
                self.decided(at, n, verdict);
            }
            let is_silent =
                |p: &StreamState| p.previous.is_some() && p.silent_by <= at && p.queue.is_empty();
            if self.peek(n).is_some_and(is_silent) {
                self.leave(at, n, End::Silent, None);
            }
        }
    }

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let (want, id) = self.orders.next()?;
        let mut frame = None;
        if let Want::Send(who, _) | Want::Again(who, _) = want {
            if who == CALLING {
                self.caller.submitted(id);
                frame = self.calling.map(|calling| calling.frame);
            } else if let Some(state) = self.state_mut(usize::from(who)) {
                state.sender.submitted(id);
                frame = state.queue.front().map(|queued| queued.frame);
            }
        }
        Some(self.orders.request(want, id, frame))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let nap = match self.nap {
            Nap::Off => None,
            Nap::Asleep(until) | Nap::Awake(until) => Some(until),
        };
        let calling = self.calling.and_then(|_| self.caller.due());
        let settle = self.settle.map(|(due, _)| due);
        let waits = self.streams.iter().flatten().flat_map(|state| {
            let waits = state.previous.is_some() && state.queue.is_empty();
            let silent = waits.then_some(state.silent_by);
            [state.sender.due(), silent]
        });
        waits.chain([nap, calling, settle]).flatten().min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }
}

impl<S: ObjectStore> FastForward<S> {
    /// The source's path is set up.
    fn begin(&mut self, at: usize) {
        let len = self.store.info().len;
        self.tune(at);
        let Some(state) = self.state_mut(at) else {
            return;
        };
        let bytes = u32::from(state.call.payload_bytes.max(1));
        let total = len.div_ceil(bytes).min(u32::from(u16::MAX) - 1) as u16;
        let (stream, batch) = (state.call.stream, Batch::new(&state.call, total));
        state.batch = Some(batch);
        let packets = batch.packets();
        self.emit(Event::Begun { stream, packets });
        self.send_next(at);
    }
}
