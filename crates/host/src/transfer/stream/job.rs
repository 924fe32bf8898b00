//! The job that fetches objects over streams, of whatever family. Time base: network time.

use super::log::{Log, Stream};
use super::{CallEnd, End, EventKind, StreamSetup, REST, UNFIT};
use crate::job::{Failure, Job, Step};
use crate::network::{Clock, NetworkTime};
use std::collections::VecDeque;
use thalweg_engine::Engine;
use thalweg_units::{Duration, NodeId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    SettingUp,
    /// The stream of this turn is called next.
    Calling(usize),
    /// It has been called. A sink calls one stream after the other.
    Opening(usize),
    Following,
    Resting,
    Taking(usize),
}

/// Fetches objects over streams that run at the same time.
pub struct Fetch<E: Engine> {
    setup: StreamSetup<E>,
    logs: Vec<Log>,
    /// The streams, in the order in which they are called.
    turns: Vec<usize>,
    state: State,
    /// Of the state: it ends by then.
    until: NetworkTime,
    deadline: NetworkTime,
    /// Packets received when the present wait began.
    received_before: u32,
    /// Steps to take before the next wait.
    todo: VecDeque<Step<E::Command, Vec<Stream>>>,
    /// The stream that is metered, or whose object is taken.
    at: usize,
    failed: Option<Failure>,
    /// All nodes of the network, where it is to be metered.
    network: Vec<NodeId>,
}

impl<E: Engine> Fetch<E> {
    /// Fetches the objects of the lanes that `setup` has.
    pub fn new(setup: StreamSetup<E>) -> Self {
        let paths = setup.paths.iter().cloned();
        let mut turns: Vec<usize> = (0..setup.paths.len()).collect();
        turns.sort_by_key(|which| setup.paths[*which].turn);
        let mut logs: Vec<Log> = paths
            .map(|path| Log::new(path, setup.terms.payload_bytes))
            .collect();
        if let CallEnd::Silence(_) = setup.call_end {
            logs.iter_mut().for_each(|log| log.stream.source_end = None);
        }
        Self {
            setup,
            logs,
            turns,
            state: State::New,
            until: NetworkTime::ZERO,
            deadline: NetworkTime::ZERO,
            received_before: 0,
            todo: VecDeque::new(),
            at: 0,
            failed: None,
            network: Vec::new(),
        }
    }
    /// The same, and meters all nodes `ids` of the network beside those of the streams.
    #[must_use]
    pub fn within(mut self, ids: &[NodeId]) -> Self {
        self.network = ids.to_vec();
        self
    }

    fn received(&self) -> u32 {
        self.logs.iter().map(|log| log.stream.received).sum()
    }

    /// The next call of stream `which`.
    fn call(&mut self, now: NetworkTime, which: usize) {
        let log = &mut self.logs[which];
        let (station, order) = (self.setup.call)(which, log.calls, &log.have);
        log.calls += 1;
        log.stream.rounds = log.stream.rounds.max(log.calls);
        log.is_done = false;
        log.stream.end = "under way".to_owned();
        if station == log.path.source {
            log.begin(now);
        }
        self.todo.push_back(Step::Order(station, order));
    }

    /// Reads the meters of stream `which` and of the rest of the network.
    fn meter(&mut self, which: usize) {
        self.at = which;
        let mut nodes = self.logs[which].path.nodes.clone();
        let others = self.network.iter().filter(|id| !nodes.contains(id));
        let others: Vec<NodeId> = others.copied().collect();
        nodes.extend(others);
        self.todo.push_back(Step::Meter(nodes));
    }

    /// Whether stream `which` has begun, or will not.
    fn is_open(&self, which: usize) -> bool {
        self.logs[which].begun.is_some() || self.logs[which].is_done
    }

    fn follow(&mut self, now: NetworkTime) -> State {
        self.received_before = self.received();
        self.until = match self.setup.call_end {
            CallEnd::Silence(silence) => self.deadline.min(now + silence),
            _ => self.deadline,
        };
        State::Following
    }

    fn rest(&mut self, now: NetworkTime) -> State {
        let rest = match self.setup.call_end {
            CallEnd::Sink => REST,
            CallEnd::Silence(_) => Duration::ZERO,
        };
        self.until = self.deadline.min(now + rest);
        State::Resting
    }

    /// Nothing came for as long as something should have: follows on while packets still arrive, and else ends the
    /// calls.
    fn time_out(&mut self, now: NetworkTime) -> State {
        if self.received() > self.received_before && now < self.deadline {
            return self.follow(now);
        }
        if let CallEnd::Silence(_) = self.setup.call_end {
            let left = self.logs.iter_mut().filter(|log| !log.is_done);
            left.for_each(|log| log.set_end(log.path.sink, End::Silent));
        }
        self.rest(now)
    }

    /// Has the object of stream `which` taken, or ends the job after the last.
    fn take(&mut self, now: NetworkTime, which: usize) -> State {
        match self.logs.get_mut(which) {
            Some(log) => {
                log.stream.elapsed_seconds = now.since(log.ordered).as_secs_f64();
                let take = Step::Take(log.path.sink, log.path.object.len as usize);
                self.meter(which);
                self.todo.push_back(take);
            }
            None => {
                let logs = std::mem::take(&mut self.logs).into_iter();
                let streams = logs.map(|log| log.stream).collect();
                self.todo.push_back(Step::Done(Ok(streams)));
            }
        }
        State::Taking(which + 1)
    }

    /// The state that follows at `now`; none while the present one lasts.
    fn next_state(&mut self, now: NetworkTime) -> Option<State> {
        let is_due = now >= self.until;
        Some(match self.state {
            State::New => {
                let orders = self.setup.set_up.0.drain(..);
                (self.todo).extend(orders.map(|(node, order)| Step::Order(node, order)));
                self.until = now + self.setup.set_up.1;
                State::SettingUp
            }
            State::SettingUp if is_due => {
                self.deadline = now + self.setup.terms.deadline;
                State::Calling(0)
            }
            State::Calling(turn) => match self.turns.get(turn).copied() {
                Some(which) => {
                    self.logs[which].ordered = now;
                    self.meter(which);
                    self.call(now, which);
                    self.until = self.deadline;
                    State::Opening(turn)
                }
                None => self.follow(now),
            },
            State::Opening(turn) if is_due || self.is_open(self.turns[turn]) => {
                State::Calling(turn + 1)
            }
            State::Following if self.logs.iter().all(|log| log.is_done) => self.rest(now),
            State::Following if is_due => self.time_out(now),
            State::Resting if is_due => match self.unfinished() {
                Some(which) if now < self.deadline => {
                    self.call(now, which);
                    self.follow(now)
                }
                _ => State::Taking(0),
            },
            State::Taking(which) => self.take(now, which),
            _ => return None,
        })
    }

    /// The first stream that is not whole and may be called again.
    fn unfinished(&self) -> Option<usize> {
        let again = |log: &Log| !log.is_whole() && self.setup.retry.allows(log.calls);
        self.logs.iter().position(again)
    }
}

impl<E: Engine> Job for Fetch<E> {
    type Order = E::Command;
    type Event = E::Event;
    type Output = Vec<Stream>;

    fn on_event(&mut self, _clock: &dyn Clock, at: NetworkTime, by: NodeId, event: E::Event) {
        let (which, kind) = (self.setup.classify)(&event);
        let Some(log) = self.logs.get_mut(which) else {
            return;
        };
        let is_sink = by == log.path.sink;
        match kind {
            EventKind::Begun => log.begin(at),
            EventKind::Arrived(number) if is_sink => {
                let progress = log.add_packet(at, number);
                self.todo.extend(progress.map(Step::Report));
                if matches!(self.setup.call_end, CallEnd::Silence(_)) && log.is_whole() {
                    log.set_end(by, End::Complete);
                    log.is_done = true;
                }
            }
            EventKind::Ended(why) => {
                log.set_end(by, why);
                log.is_done |= is_sink && self.setup.call_end == CallEnd::Sink;
            }
            EventKind::Refused if is_sink => self.failed = Some(Failure::Unfit(UNFIT.to_owned())),
            EventKind::Arrived(_) | EventKind::Refused | EventKind::Nothing => {}
        }
    }
    fn on_loss(&mut self, _at: NetworkTime, station: NodeId, why: Failure) {
        if self.logs.iter().any(|log| log.path.sink == station) {
            self.failed = Some(why);
        }
    }
    fn on_meters(&mut self, joules: Vec<Option<f64>>) {
        self.logs[self.at].note_energy(joules);
    }
    fn on_bytes(&mut self, _station: NodeId, bytes: Vec<u8>) {
        self.logs[self.at].note_object(bytes);
    }

    fn poll(&mut self, now: NetworkTime) -> Step<E::Command, Vec<Stream>> {
        loop {
            if let Some(why) = self.failed.take() {
                return Step::Done(Err(why));
            }
            if let Some(step) = self.todo.pop_front() {
                return step;
            }
            match self.next_state(now) {
                Some(state) => self.state = state,
                None => return Step::Wait(self.until),
            }
        }
    }

    fn stop(&mut self) -> Vec<(NodeId, E::Command)> {
        let sinks = self.logs.iter().enumerate();
        sinks
            .filter_map(|(which, log)| Some((log.path.sink, (self.setup.close)(which)?)))
            .collect()
    }
}
