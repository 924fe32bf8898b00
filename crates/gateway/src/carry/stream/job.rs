//! The job that fetches objects over streams, of whatever family. Time base: field time.

use super::log::{Log, Stream};
use super::{End, EventOf, Heard, Lane, OrderOf, Role, Rules, Way};
use crate::field::{Clock, FieldTime};
use crate::job::{Failure, Job, Step};
use std::collections::VecDeque;
use thalweg_units::NodeId;

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
pub struct Fetch<W: Way> {
    way: W,
    rules: Rules,
    logs: Vec<Log>,
    /// The streams, in the order in which they are called.
    turns: Vec<usize>,
    state: State,
    /// Of the state: it ends by then.
    until: FieldTime,
    deadline: FieldTime,
    /// Packets that were there when the present wait began.
    came: u32,
    /// Before anything is waited for.
    todo: VecDeque<Step<OrderOf<W>, Vec<Stream>>>,
    /// The stream that is metered, or whose object is taken.
    at: usize,
    failed: Option<Failure>,
}

impl<W: Way> Fetch<W> {
    /// Fetches the objects of `lanes`, a stream each.
    pub fn new(way: W, lanes: Vec<Lane>) -> Self {
        let mut turns: Vec<usize> = (0..lanes.len()).collect();
        turns.sort_by_key(|which| way.turn(*which));
        Self {
            rules: way.rules(),
            way,
            logs: lanes.into_iter().map(Log::new).collect(),
            turns,
            state: State::New,
            until: FieldTime::ZERO,
            deadline: FieldTime::ZERO,
            came: 0,
            todo: VecDeque::new(),
            at: 0,
            failed: None,
        }
    }

    fn received(&self) -> u32 {
        self.logs.iter().map(|log| log.received).sum()
    }

    /// The next call of stream `which`.
    fn call(&mut self, now: FieldTime, which: usize) {
        let Some(log) = self.logs.get_mut(which) else {
            return;
        };
        let (station, order) = self.way.call(which, log.calls, &log.have);
        log.calls += 1;
        (log.ends[0], log.is_over) = (None, false);
        if station == log.lane.source {
            log.begun.get_or_insert(now);
        }
        self.todo.push_back(Step::Order(station, order));
    }

    /// The first call, from which on energy counts.
    fn open(&mut self, now: FieldTime, which: usize) {
        if let Some(log) = self.logs.get_mut(which) {
            log.ordered = now;
            self.at = which;
            self.todo.push_back(Step::Meter(log.lane.nodes.clone()));
        }
        self.call(now, which);
        self.until = self.deadline;
    }

    /// Whether the stream of that turn has begun, or will not.
    fn is_open(&self, turn: usize) -> bool {
        let which = self.turns.get(turn).copied();
        let log = which.and_then(|which| self.logs.get(which));
        log.is_none_or(|log| log.begun.is_some() || log.is_over)
    }

    fn follow(&mut self, now: FieldTime) -> State {
        self.came = self.received();
        let longest = self.rules.silence.map(|silence| now + silence);
        self.until = longest.map_or(self.deadline, |then| then.min(self.deadline));
        State::Following
    }

    /// Nobody tells an end, and nothing comes any more.
    fn given_up(&mut self) {
        for log in &mut self.logs {
            if self.rules.silence.is_some() && !log.is_over {
                log.ended(Role::Sink, End::Silent);
            }
        }
    }

    /// The first stream that is not whole and may be called again.
    fn unfinished(&self) -> Option<usize> {
        let again = |log: &Log| !log.is_whole() && self.rules.retry.follows(log.calls);
        self.logs.iter().position(again)
    }
}

impl<W: Way> Job for Fetch<W> {
    type Order = OrderOf<W>;
    type Event = EventOf<W>;
    type Brings = Vec<Stream>;

    fn told(&mut self, _clock: &dyn Clock, at: FieldTime, by: NodeId, event: EventOf<W>) {
        let Some(log) = self.logs.get_mut(W::stream_of(&event)) else {
            return;
        };
        let role = log.lane.role(by);
        match W::heard(role, &event) {
            Heard::Begun => {
                log.begun.get_or_insert(at);
            }
            Heard::Arrived(number, round) if role == Role::Sink => {
                let progress = log.arrived(at, number, round);
                self.todo.extend(progress.map(Step::Say));
                if self.rules.silence.is_some() && log.is_whole() {
                    log.ended(role, End::Complete);
                    log.is_over = true;
                }
            }
            Heard::RoundOver(share) => {
                log.first_round.get_or_insert(share);
            }
            Heard::Ended(why) => log.ended(role, why),
            Heard::Over(why) => {
                if let Some(why) = why {
                    log.ended(role, why);
                }
                log.is_over = true;
            }
            Heard::Refused(why) => self.failed = Some(Failure::Unfit(why.to_owned())),
            Heard::Arrived(..) | Heard::Nothing => {}
        }
    }
    fn lost(&mut self, _at: FieldTime, station: NodeId, why: Failure) {
        if self.logs.iter().any(|log| log.lane.sink == station) {
            self.failed = Some(why);
        }
    }
    fn metered(&mut self, joules: Vec<Option<f64>>) {
        if let Some(log) = self.logs.get_mut(self.at) {
            log.meters.push(joules);
        }
    }
    fn taken(&mut self, _station: NodeId, bytes: Vec<u8>) {
        if let Some(log) = self.logs.get_mut(self.at) {
            log.bytes = bytes;
        }
    }

    fn poll(&mut self, now: FieldTime) -> Step<OrderOf<W>, Vec<Stream>> {
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
                    let orders = self.way.set_up().into_iter();
                    self.todo
                        .extend(orders.map(|(node, order)| Step::Order(node, order)));
                    self.until = now + self.rules.settling;
                    State::SettingUp
                }
                State::SettingUp if is_due => {
                    self.deadline = now + self.rules.deadline;
                    State::Calling(0)
                }
                State::Calling(turn) => match self.turns.get(turn).copied() {
                    Some(which) => {
                        self.open(now, which);
                        State::Opening(turn)
                    }
                    None => self.follow(now),
                },
                State::Opening(turn) if is_due || self.is_open(turn) => State::Calling(turn + 1),
                State::Following if self.logs.iter().all(|log| log.is_over) => {
                    self.until = (now + self.rules.rest).min(self.deadline);
                    State::Resting
                }
                State::Following if is_due => {
                    if self.received() > self.came && now < self.deadline {
                        self.follow(now)
                    } else {
                        self.given_up();
                        State::Resting
                    }
                }
                State::Resting if is_due => match self.unfinished() {
                    Some(which) if now < self.deadline => {
                        self.call(now, which);
                        self.follow(now)
                    }
                    _ => State::Bringing(0),
                },
                State::Bringing(which) => match self.logs.get(which) {
                    Some(Log { lane, .. }) => {
                        self.at = which;
                        let len = lane.object.len as usize;
                        self.todo.push_back(Step::Meter(lane.nodes.clone()));
                        self.todo.push_back(Step::Take(lane.sink, len));
                        State::Bringing(which + 1)
                    }
                    None => {
                        let rules = self.rules;
                        let streams = self.logs.iter_mut().map(|log| log.brings(&rules));
                        return Step::Done(Ok(streams.collect()));
                    }
                },
                _ => return Step::Wait(self.until),
            }
        }
    }

    fn stop(&mut self) -> Vec<(NodeId, OrderOf<W>)> {
        let sinks = self.logs.iter().enumerate();
        sinks
            .filter_map(|(which, log)| Some((log.lane.sink, self.way.close(which)?)))
            .collect()
    }
}
