//! The job that fetches objects over streams, of whatever family. Time base: field time.

use super::log::{Log, Stream};
use super::{End, Heard, Over, StreamSetup, REST, UNFIT};
use crate::job::{Failure, Job, Step};
use crate::network::{Clock, NetworkTime};
use std::collections::VecDeque;
use thalweg_engine::Engine;
use thalweg_units::{Duration, NodeId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    SettingUp,
    /// The stream of this turn is to be called.
    Calling(usize),
    /// It was: a sink calls one stream after the other.
    Opening(usize),
    Following,
    Resting,
    Bringing(usize),
}

/// Fetches objects over streams that run at the same time.
pub struct Fetch<E: Engine> {
    way: StreamSetup<E>,
    logs: Vec<Log>,
    /// The streams, in the order in which they are called.
    turns: Vec<usize>,
    state: State,
    /// Of the state: it ends by then.
    until: NetworkTime,
    deadline: NetworkTime,
    /// Packets that were there when the present wait began.
    came: u32,
    /// Before anything is waited for.
    todo: VecDeque<Step<E::Command, Vec<Stream>>>,
    /// The stream that is metered, or whose object is taken.
    at: usize,
    failed: Option<Failure>,
    /// All nodes of the network, where it is to be metered.
    network: Vec<NodeId>,
}

impl<E: Engine> Fetch<E> {
    /// Fetches the objects of the lanes that `way` has.
    pub fn new(way: StreamSetup<E>) -> Self {
        let lanes = way.lanes.iter().cloned();
        let mut turns: Vec<usize> = (0..way.lanes.len()).collect();
        turns.sort_by_key(|which| way.lanes[*which].turn);
        let mut logs: Vec<Log> = lanes
            .map(|lane| Log::new(lane, way.terms.payload_bytes))
            .collect();
        if let Over::Silence(_) = way.over {
            logs.iter_mut().for_each(|log| log.stream.source_end = None);
        }
        Self {
            way,
            logs,
            turns,
            state: State::New,
            until: NetworkTime::ZERO,
            deadline: NetworkTime::ZERO,
            came: 0,
            todo: VecDeque::new(),
            at: 0,
            failed: None,
            network: Vec::new(),
        }
    }
    /// The same in a network of the nodes `ids`, whose energy is told beside the streams' own.
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
        let (station, order) = (self.way.call)(which, log.calls, &log.have);
        log.calls += 1;
        log.stream.rounds = log.stream.rounds.max(log.calls);
        log.is_over = false;
        log.stream.end = "under way".to_owned();
        if station == log.lane.source {
            log.begin(now);
        }
        self.todo.push_back(Step::Order(station, order));
    }

    /// Energy counts.
    fn meter(&mut self, which: usize) {
        self.at = which;
        let mut nodes = self.logs[which].lane.nodes.clone();
        let others = self.network.iter().filter(|id| !nodes.contains(id));
        let others: Vec<NodeId> = others.copied().collect();
        nodes.extend(others);
        self.todo.push_back(Step::Meter(nodes));
    }

    /// Whether stream `which` has begun, or will not.
    fn is_open(&self, which: usize) -> bool {
        self.logs[which].begun.is_some() || self.logs[which].is_over
    }

    fn follow(&mut self, now: NetworkTime) -> State {
        self.came = self.received();
        self.until = match self.way.over {
            Over::Silence(silence) => self.deadline.min(now + silence),
            _ => self.deadline,
        };
        State::Following
    }

    fn rest(&mut self, now: NetworkTime) -> State {
        let rest = match self.way.over {
            Over::Sink => REST,
            Over::Silence(_) => Duration::ZERO,
        };
        self.until = self.deadline.min(now + rest);
        State::Resting
    }

    /// The first stream that is not whole and may be called again.
    fn unfinished(&self) -> Option<usize> {
        let again = |log: &Log| !log.is_whole() && self.way.retry.follows(log.calls);
        self.logs.iter().position(again)
    }
}

impl<E: Engine> Job for Fetch<E> {
    type Order = E::Command;
    type Event = E::Event;
    type Brings = Vec<Stream>;

    fn told(&mut self, _clock: &dyn Clock, at: NetworkTime, by: NodeId, event: E::Event) {
        let (which, heard) = (self.way.heard)(&event);
        let Some(log) = self.logs.get_mut(which) else {
            return;
        };
        let is_sink = by == log.lane.sink;
        match heard {
            Heard::Begun => log.begin(at),
            Heard::Arrived(number) if is_sink => {
                let progress = log.arrived(at, number);
                self.todo.extend(progress.map(Step::Say));
                if matches!(self.way.over, Over::Silence(_)) && log.is_whole() {
                    log.ended(by, End::Complete);
                    log.is_over = true;
                }
            }
            Heard::Ended(why) => {
                log.ended(by, why);
                log.is_over |= is_sink && self.way.over == Over::Sink;
            }
            Heard::Refused if is_sink => self.failed = Some(Failure::Unfit(UNFIT.to_owned())),
            Heard::Arrived(_) | Heard::Refused | Heard::Nothing => {}
        }
    }
    fn lost(&mut self, _at: NetworkTime, station: NodeId, why: Failure) {
        if self.logs.iter().any(|log| log.lane.sink == station) {
            self.failed = Some(why);
        }
    }
    fn metered(&mut self, joules: Vec<Option<f64>>) {
        self.logs[self.at].metered(joules);
    }
    fn taken(&mut self, _station: NodeId, bytes: Vec<u8>) {
        self.logs[self.at].taken(bytes);
    }

    fn poll(&mut self, now: NetworkTime) -> Step<E::Command, Vec<Stream>> {
        loop {
            if let Some(why) = self.failed.take() {
                return Step::Done(Err(why));
            }
            if let Some(step) = self.todo.pop_front() {
                return step;
            }
            let is_due = now >= self.until;
            self.state = match self.state {
                State::New => {
                    let orders = self.way.set_up.0.drain(..);
                    (self.todo).extend(orders.map(|(node, order)| Step::Order(node, order)));
                    self.until = now + self.way.set_up.1;
                    State::SettingUp
                }
                State::SettingUp if is_due => {
                    self.deadline = now + self.way.terms.deadline;
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
                State::Following if self.logs.iter().all(|log| log.is_over) => self.rest(now),
                // Nothing was told for as long as something should have been.
                State::Following if is_due => {
                    if self.received() > self.came && now < self.deadline {
                        self.follow(now)
                    } else {
                        if let Over::Silence(_) = self.way.over {
                            let left = self.logs.iter_mut().filter(|log| !log.is_over);
                            left.for_each(|log| log.ended(log.lane.sink, End::Silent));
                        }
                        self.rest(now)
                    }
                }
                State::Resting if is_due => match self.unfinished() {
                    Some(which) if now < self.deadline => {
                        self.call(now, which);
                        self.follow(now)
                    }
                    _ => State::Bringing(0),
                },
                State::Bringing(which) => match self.logs.get_mut(which) {
                    Some(Log {
                        lane,
                        stream,
                        ordered,
                        ..
                    }) => {
                        stream.elapsed_seconds = now.since(*ordered).as_secs_f64();
                        let take = Step::Take(lane.sink, lane.object.len as usize);
                        self.meter(which);
                        self.todo.push_back(take);
                        State::Bringing(which + 1)
                    }
                    None => {
                        let logs = std::mem::take(&mut self.logs).into_iter();
                        return Step::Done(Ok(logs.map(|log| log.stream).collect()));
                    }
                },
                _ => return Step::Wait(self.until),
            }
        }
    }

    fn stop(&mut self) -> Vec<(NodeId, E::Command)> {
        let sinks = self.logs.iter().enumerate();
        sinks
            .filter_map(|(which, log)| Some((log.lane.sink, (self.way.close)(which)?)))
            .collect()
    }
}
