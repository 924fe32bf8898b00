//! An object forwarded with conditional immediate transmission (CIT) over one path, repaired end to
//! end: after each round the sink sends back which packets it lacks, and those are sent again.
//!
//! Data and reports are simulated packet by packet, in a network of their own in the same
//! environment. That nodes know their part, and when it turns round, is given: no wake-up is in the
//! time. CIT itself repairs nothing (section 5). Time base: simulated time. Tests:
//! `tests/robustness/ends.rs`.

use super::fetch::{Protocol, Terms};
use super::object::digest;
use super::report::Outcome;
use super::session::{Observer, Session, SessionError, Step};
use std::collections::BTreeMap;
use std::ops::ControlFlow::{Break, Continue};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_engine::{Cca, Passing};
use thalweg_medium::random::derive;
use thalweg_planner::Plan;
use thalweg_protocols::forward::{Command, Config, Event, Exits, Forwarder, Forwarding, Role};
use thalweg_protocols::object::{NoObject, ObjectInfo, ObjectStore};
use thalweg_sim::{AirHook, Capture, CaptureError, Captured, Network, SimError, SpanHook};
use thalweg_units::{BitRate, Channel, Duration, NodeId, SimTime};
use thalweg_wire::forward::{HEADER_BYTES, MAX_PAYLOAD};

/// Tries of one report.
const TRIES: u32 = 5;
/// Rounds before it is given up.
const ROUNDS: u32 = 50;

/// What a node has to send, and what it was sent, by offset.
#[derive(Debug, Default)]
struct Mail {
    out: Vec<u8>,
    inbox: BTreeMap<u32, Vec<u8>>,
}

impl ObjectStore for Mail {
    fn info(&self) -> ObjectInfo {
        NoObject.info()
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        let from = (offset as usize).min(self.out.len());
        into.fill(0);
        into.iter_mut()
            .zip(&self.out[from..])
            .for_each(|(to, byte)| *to = *byte);
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) {
        self.inbox.insert(offset, bytes.to_vec());
    }
}

/// A path under way.
struct Path<'a> {
    net: Network<Forwarder<Mail>>,
    nodes: &'a [usize],
    channels: &'a [Channel],
    ids: &'a [NodeId],
    /// Between packets down and back, and now.
    intervals: [Duration; 2],
    interval: Duration,
    turns: Option<TurnHook>,
    round: u32,
}

/// Which way packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the sink.
    Down,
    /// Reports, to the source.
    Back,
}

impl Way {
    /// How relays pass packets on.
    const fn passing(self) -> Passing {
        match self {
            Self::Down => Passing::Conditional,
            Self::Back => Passing::Copied,
        }
    }
}

/// Told which way packets begin to go, in which round (from 1), and at what interval.
pub(crate) type TurnHook = Box<dyn FnMut(Way, u32, Duration) + Send>;

/// Who looks on at the forwarding nodes of a path.
pub(crate) struct Onlooker {
    /// Told of the frames on the air.
    pub(crate) air: AirHook,
    /// Told what radios and microcontrollers do.
    pub(crate) spans: SpanHook,
    /// Told when packets begin to go a way.
    pub(crate) turns: TurnHook,
}

/// A capture whose clock is ahead of the network's that it is lent to.
struct Lent {
    to: Arc<Mutex<Option<Box<dyn Capture>>>>,
    ahead: Duration,
}

impl Lent {
    fn with<T>(
        &self,
        f: impl FnOnce(&mut dyn Capture) -> Result<T, CaptureError>,
    ) -> Result<(), CaptureError> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.as_mut().map_or(Ok(()), |to| f(to.as_mut()).map(|_| ()))
    }
}

impl Capture for Lent {
    fn frame(&mut self, frame: &Captured<'_>) -> Result<(), CaptureError> {
        let shifted = Captured {
            sfd: frame.sfd + self.ahead,
            end: frame.end + self.ahead,
            ..*frame
        };
        self.with(|to| to.frame(&shifted))
    }
    fn flush(&mut self) -> Result<(), CaptureError> {
        self.with(|to| to.flush())
    }
}

impl Path<'_> {
    /// All nodes take their part.
    fn join(&mut self, way: Way) -> Result<(), SessionError> {
        let hops = self.channels.len();
        self.interval = self.intervals[way as usize];
        for (place, node) in self.nodes.iter().enumerate() {
            // The channels of the hops on either side, in the direction of the packets.
            let before = place
                .checked_sub(1)
                .map(|hop| (self.channels[hop], self.nodes[hop]));
            let behind = (place < hops).then(|| (self.channels[place], self.nodes[place + 1]));
            let (from, to) = match way {
                Way::Down => (before, behind),
                Way::Back => (behind, before),
            };
            let Some((any, _)) = from.or(to) else {
                continue;
            };
            let stage = match way {
                Way::Down => place,
                Way::Back => hops - place,
            };
            let config = Config {
                role: match from.is_some() && to.is_some() {
                    true => Role::Relay,
                    false => Role::End,
                },
                previous: [from.map(|(_, node)| self.ids[node]), None],
                listen: from.map_or(any, |(channel, _)| channel),
                exits: Exits::One(to.map_or(any, |(channel, _)| channel)),
                forwarding: match way.passing() {
                    Passing::Conditional => Forwarding::Conditional,
                    Passing::Copied => Forwarding::Copying,
                },
                cca: Cca::Skip,
                hold: self.interval * (6 + 2 * stage as u64),
                payload_bytes: MAX_PAYLOAD as u8,
            };
            self.net.command(*node, Command::Join(config));
        }
        if let Some(turns) = &mut self.turns {
            turns(way, self.round, self.interval);
        }
        let settled = self.net.now() + Duration::from_millis(20);
        self.net.run_until(settled, |_, _, _| Continue(()))?;
        Ok(())
    }

    /// `from` sends the packets numbered `numbers`; runs until all should be there, or `seen` breaks.
    fn send(
        &mut self,
        from: usize,
        numbers: &[u16],
        payload_bytes: u8,
        mut seen: impl FnMut(SimTime, usize) -> bool,
    ) -> Result<(), SessionError> {
        let mut rest = numbers;
        let sink = |at: usize, event: &Event| matches!(event, Event::Received { .. }) && at != from;
        while let Some(first) = rest.first() {
            // As many as follow each other.
            let run = rest
                .iter()
                .zip(*first..)
                .take_while(|(a, b)| **a == *b)
                .count();
            let (after, interval) = (self.interval, self.interval);
            let order = Command::Send {
                first: *first,
                packets: run as u16,
                payload_bytes,
                after,
                interval,
            };
            self.net.command(from, order);
            let patience = self.net.now() + interval * (run as u64 + 4);
            let mut stopped = false;
            self.net.run_until(patience, |at, n, event| {
                if sink(n, &event) && !seen(at, n) {
                    stopped = true;
                    return Break(());
                }
                match n == from && event == Event::SentAll {
                    true => Break(()),
                    false => Continue(()),
                }
            })?;
            if stopped {
                return Err(SessionError::Stopped);
            }
            rest = &rest[run..];
        }
        // What relays hold goes on when it has waited long enough, stage by stage.
        let hops = self.channels.len() as u64;
        let tail = self.net.now() + self.interval * (6 + 6 * hops) * 2;
        self.net.run_until(tail, |at, n, event| {
            if sink(n, &event) {
                seen(at, n);
            }
            Continue(())
        })?;
        Ok(())
    }
}

impl Session {
    /// Fetches the object that the plan's source offers with CIT, over the path that PIP would take.
    /// What is on the air goes to the session's capture.
    ///
    /// # Errors
    /// [`SessionError`].
    pub(crate) fn forward(
        &mut self,
        plan: &Plan,
        terms: &Terms,
        observer: Observer<'_>,
        onlooker: Option<Onlooker>,
    ) -> Result<(Outcome, Option<Vec<u8>>), SessionError> {
        self.transfers = self.transfers.wrapping_add(1);
        let store = self.net.engine(plan.source).pipeline().store();
        let info = store.info();
        let mut object = vec![0; info.len as usize];
        store.read(0, &mut object);
        let payload_bytes = terms.payload.bytes().min(MAX_PAYLOAD as u8);
        let size = usize::from(payload_bytes);
        let packets = object.len().div_ceil(size) as u16;
        let nodes = &plan.pip.path;
        let hops = nodes.len().saturating_sub(1);
        let (ids, seed) = (self.ids.clone(), self.seed);
        let engines = ids
            .iter()
            .map(|id| Forwarder::new(*id, Mail::default()))
            .collect();
        let run = derive(seed, "forwarding", &[u64::from(self.transfers)]);
        let environment = self.net.environment().clone();
        let boards = [self.board.clone()];
        let timing = self.board.timing;
        let period = |way: Way| {
            let relaying = timing.relaying(size + HEADER_BYTES, way.passing());
            relaying.period(size + HEADER_BYTES)
        };
        // The path's channels end where the plan's do.
        let skipped = plan.channels.len().saturating_sub(hops);
        let mut path = Path {
            net: Network::new(environment, &boards, engines, run)?,
            nodes,
            channels: &plan.channels[skipped..],
            ids: &ids,
            intervals: [period(Way::Down), period(Way::Back)],
            interval: period(Way::Down),
            turns: None,
            round: 0,
        };
        if let Some(Onlooker { air, spans, turns }) = onlooker {
            path.net.watch(nodes, air);
            path.net.spans(Some(spans));
            path.turns = Some(turns);
        }
        let lent = Arc::new(Mutex::new(self.net.take_capture()));
        if lent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
        {
            let ahead = self.net.now().since(SimTime::ZERO);
            let lent = Lent {
                to: lent.clone(),
                ahead,
            };
            path.net
                .capture(Some(Box::new(lent)))
                .map_err(SimError::from)?;
        }
        let (source, sink) = (plan.source, plan.sink);
        path.net.engine_mut(source).store_mut().out = object.clone();
        let mut missing: Vec<u16> = (0..packets).collect();
        let (mut rounds, mut sent, mut first_round) = (0, 0u64, None);
        let mut last = SimTime::ZERO;
        let start = path.net.now();
        let stuck = loop {
            rounds += 1;
            path.round = rounds;
            sent += missing.len() as u64;
            path.join(Way::Down)?;
            let lacking = missing.len() as u32;
            let mut there = u32::from(packets) - lacking;
            path.send(source, &missing, payload_bytes, |at, n| {
                if n != sink {
                    return true;
                }
                (there, last) = (there + 1, at);
                let bytes = u64::from(there) * size as u64;
                let goodput = BitRate::of_bytes(bytes, at.since(start));
                let received = there.min(u32::from(packets));
                let (round, step) = (rounds, received % 8 == 0 || received == u32::from(packets));
                let told = Step::Packets {
                    round,
                    received,
                    goodput,
                };
                !step || observer(told).is_continue()
            })?;
            let inbox = &path.net.engine(sink).store().inbox;
            let has = |number: u16| inbox.contains_key(&(u32::from(number) * size as u32));
            missing = (0..packets).filter(|n| !has(*n)).collect();
            first_round.get_or_insert(u32::from(packets) - missing.len() as u32);
            if missing.is_empty() {
                break false;
            }
            if rounds == ROUNDS || !path.report(source, sink, packets, &missing)? {
                break true;
            }
        };
        let mut bytes: Vec<u8> = path
            .net
            .engine(sink)
            .store()
            .inbox
            .values()
            .flatten()
            .copied()
            .collect();
        bytes.truncate(object.len());
        let verified = !stuck && bytes.len() == object.len() && digest(&bytes) == info.digest;
        let end = if verified { last } else { path.net.now() };
        let duration = end.since(start);
        let whole = if verified { u64::from(info.len) } else { 0 };
        let goodput = BitRate::of_bytes(whole, duration);
        let energy_j = nodes.iter().map(|n| path.net.energy(*n).joules()).sum();
        let outcome = Outcome {
            protocol: Protocol::Cit.name().to_owned(),
            testbed: self.name.clone(),
            source: ids[source].get(),
            sink: ids[sink].get(),
            bytes: whole,
            verified,
            goodput_kbps: goodput.kbps(),
            utilisation: goodput.bps()
                / BitRate::of_bytes(2 * (size + HEADER_BYTES) as u64, path.intervals[0]).bps(),
            rounds,
            first_round_reliability: first_round.map(|n| f64::from(n) / f64::from(packets.max(1))),
            retransmitted: Some(1.0 - f64::from(packets) / sent.max(1) as f64),
            active_nodes: nodes.len() as u32,
            hops: hops as u32,
            paths: 1,
            energy_j,
            beforehand_j: None,
            beforehand_s: None,
            duration_s: duration.as_secs_f64(),
            wake_up_s: 0.0,
            attempts: 1,
            failure: (!verified).then(|| {
                let (there, all) = (packets - missing.len() as u16, packets);
                format!(
                    "{there} of {all} packets arrived (rounds: {rounds}), and no report came back"
                )
            }),
            seed,
        };
        // The same time has passed for the session.
        let passed = path.net.now().since(SimTime::ZERO);
        let until = self.net.now() + passed;
        self.net.run_until(until, |_, _, _| Continue(()))?;
        let capture = lent.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.net.capture(capture).map_err(SimError::from)?;
        Ok((outcome, verified.then_some(bytes)))
    }
}

impl Path<'_> {
    /// The sink tells the source what is missing, a bit a packet; whether the source knows.
    fn report(
        &mut self,
        source: usize,
        sink: usize,
        packets: u16,
        missing: &[u16],
    ) -> Result<bool, SessionError> {
        let mut bits = vec![0u8; usize::from(packets).div_ceil(8)];
        for number in missing {
            bits[usize::from(number / 8)] |= 1 << (number % 8);
        }
        let size = bits.len().min(MAX_PAYLOAD);
        let numbers: Vec<u16> = (0..bits.len().div_ceil(size) as u16).collect();
        self.net.engine_mut(sink).store_mut().out = bits;
        self.net.engine_mut(source).store_mut().inbox.clear();
        for _ in 0..TRIES {
            self.join(Way::Back)?;
            self.send(sink, &numbers, size as u8, |_, _| true)?;
            if self.net.engine(source).store().inbox.len() == numbers.len() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
