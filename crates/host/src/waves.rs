//! A wave: several transfers over pipelines at once, each into a base station of its own, over nodes and on
//! channels that [`thalweg_planner::concurrent`] keeps apart.
//!
//! Sinks flood their wake-ups one after the other and begin together. Time base: network time. Invariants: a wave
//! ends when all its transfers have, or [`PATIENCE`] after its deadline; a sink that is lost ends its own
//! transfer alone. `schedule` says what a wave is made of. Tests: `tests/all/flaky.rs`,
//! `crates/simnet/src/campaign/tests.rs`.

mod schedule;

pub use schedule::{linger, Air, Landing, Planned, Schedule, Terms};

use crate::job::{self, Failure, Job, Step};
use crate::network::{Clock, NetworkTime};
use crate::object::Proof;
use crate::outcome::Summary;
use crate::transfer::account::{expected as predicted, Account};
use crate::transfer::log::Log;
use crate::transfer::pipeline::{active_nodes, refused, Node, Order, PATIENCE};
use crate::transfer::terms::expected;
use std::collections::VecDeque;
use std::num::NonZeroU16;
use thalweg_engine::BoardTiming;
use thalweg_planner::Plan;
use thalweg_protocols::floodnet;
use thalweg_protocols::glossy::{flood_spacing, flood_time};
use thalweg_protocols::mote::{self, Command};
use thalweg_units::{BitRate, Duration, NodeId};
use thalweg_wire::route::{Groups, Probe, Progress, Route, Scheme};
use thalweg_wire::seal::frame::Sealing;

/// Between the wake-up floods of two sinks, once the first has reached all nodes.
const APART: Duration = Duration::from_millis(8);

/// From a sink's order to the next sink's: until the floods of `route` have reached all nodes.
fn wake_up(route: &Route, timing: &BoardTiming) -> Duration {
    let config = floodnet::Config::default();
    let bytes = route.wake_up_bytes();
    let before = route.segments().saturating_sub(1) as u64;
    flood_spacing(bytes, config.n_tx, timing) * before
        + flood_time(bytes, config.reach, config.n_tx, timing)
        + APART
}

/// One transfer of a wave.
#[derive(Debug)]
struct WaveTransfer {
    route: Route,
    wake_up: Duration,
    log: Log,
    ended: Option<NetworkTime>,
    failure: Option<String>,
}

impl WaveTransfer {
    fn fail(&mut self, at: NetworkTime, why: String) {
        self.failure.get_or_insert(why);
        self.ended.get_or_insert(at);
    }
}

/// How a transfer of a wave starts. Protocols whose wake-ups hold neither always start fresh, without a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the first packet.
    Fresh,
    /// The same, but ends where a chain does not bring the first packets: the other transfers wait for this one.
    Probing,
    /// With what its sink, which has so many packets, is missing.
    Resuming(u32),
}

impl Start {
    /// `route` with this start.
    pub fn of(self, mut route: Route) -> Route {
        match self {
            _ if route.scheme != Scheme::Thalweg => {}
            Self::Fresh => {}
            Self::Probing if route.groups() == Groups::Two => route.probe = Probe::First,
            Self::Probing => {}
            Self::Resuming(received) => {
                let all = route.expected.map_or(0, NonZeroU16::get);
                route.progress = Progress::Kept;
                route.expected = expected(u32::from(all).saturating_sub(received));
            }
        }
        route
    }
}

/// The result of one transfer of a wave.
#[derive(Debug)]
pub struct TransferResult {
    /// First symbol of its first wake-up packet, and when the source began.
    pub began: Option<(NetworkTime, NetworkTime)>,
    /// When its last packet was there, if all were.
    pub last: Option<NetworkTime>,
    /// When its sink was free again.
    pub ended: Option<NetworkTime>,
    /// Packets that were there then.
    pub received: u32,
    /// Rounds.
    pub rounds: u32,
    /// Packets that the first round brought.
    pub first_round: Option<u16>,
    /// The object, where it is whole.
    pub object: Option<Vec<u8>>,
    /// How it ended, where it failed.
    pub failure: Option<String>,
}

impl TransferResult {
    /// Its summary, over `plan`, of an object of so many `packets`.
    pub fn summary(&self, plan: &Plan, account: &Account<'_>, packets: u32) -> Summary {
        let duration = match (self.began, self.last.or(self.ended)) {
            (Some((began, _)), Some(last)) => last.since(began),
            _ => Duration::ZERO,
        };
        let bytes = self.object.as_ref().map_or(0, |o| o.len() as u64);
        let share = |f: u16| f64::from(f) / f64::from(packets.max(1));
        Summary {
            verified: self.object.is_some(),
            sealed: self.object.is_some() && account.sealing == Sealing::Sealed,
            bytes,
            goodput_kbps: match self.object {
                Some(_) => BitRate::of_bytes(bytes, duration).kbps(),
                None => 0.0,
            },
            rounds: self.rounds,
            duration_s: duration.as_secs_f64(),
            first_round_reliability: self.first_round.map(share),
            active_nodes: active_nodes(plan, account.scheme).len() as u32,
            failure: self.failure.clone(),
            // Meters are read for all transfers together: others are on the air meanwhile.
            ..account.nothing(plan)
        }
    }
}

/// What `plan` predicts of a transfer by `scheme`, in kbit/s.
pub fn predicted_kbps(plan: &Plan, scheme: Scheme) -> f64 {
    predicted(plan, scheme).0.goodput_kbps
}

/// The result of a wave.
#[derive(Debug)]
pub struct WaveResult {
    /// When its first order was given.
    pub ordered: NetworkTime,
    /// When its last sink was free.
    pub end: NetworkTime,
    /// Its transfers, in the order of their routes.
    pub transfers: Vec<TransferResult>,
}

/// Several fetches that begin together.
#[derive(Debug)]
pub struct Wave {
    transfers: Vec<WaveTransfer>,
    /// For the wake-ups of all sinks but the first.
    room: Duration,
    patience: Duration,
    /// How many have their orders.
    next: usize,
    due: NetworkTime,
    ordered: Option<NetworkTime>,
    end: Option<NetworkTime>,
    /// Sinks that did not end, and are still to be stopped.
    stops: Vec<NodeId>,
    /// How far transfers are, for who watches.
    reports: VecDeque<job::Progress>,
}

impl Wave {
    /// Fetches over `routes`, on boards of `timing`.
    pub fn new(mut routes: Vec<Route>, timing: &BoardTiming) -> Self {
        // The first wake-up sets the rendezvous for all: the next wave follows the slowest transfer.
        let most = routes.iter().filter_map(|route| route.expected).max();
        routes.iter_mut().for_each(|route| route.expected = most);
        let wake_ups = routes.iter().map(|r| wake_up(r, timing));
        let all = wake_ups.fold(Duration::ZERO, |sum, time| sum + time);
        let own = |r| Node::wake_up_time(r, &floodnet::Config::default(), timing);
        let deadline_s = routes.iter().map(|r| r.deadline_s).max().unwrap_or(0);
        Self {
            room: all.saturating_sub(routes.first().map_or(Duration::ZERO, own)),
            patience: PATIENCE + Duration::from_secs(u64::from(deadline_s)),
            transfers: (routes.into_iter())
                .map(|route| WaveTransfer {
                    wake_up: wake_up(&route, timing),
                    log: Log::new(route.payload.bytes(), route.range.offset),
                    route,
                    ended: None,
                    failure: None,
                })
                .collect(),
            next: 0,
            due: NetworkTime::ZERO,
            ordered: None,
            end: None,
            stops: Vec::new(),
            reports: VecDeque::new(),
        }
    }

    /// The same where what `proof` has for a source shows that its object is whole.
    #[must_use]
    pub fn proved_by(mut self, proof: impl Fn(NodeId) -> Proof) -> Self {
        for transfer in &mut self.transfers {
            transfer.log.proof = proof(transfer.route.source);
        }
        self
    }

    fn output(&mut self, ordered: NetworkTime, end: NetworkTime) -> WaveResult {
        let transfers = self.transfers.iter_mut().map(|transfer| {
            let log = &mut transfer.log;
            let segment = log.segment();
            // Part of a longer object is none.
            let is_part = (segment.as_ref()).is_some_and(|s| s.bytes.len() < s.object.len as usize);
            if is_part {
                let why = "the object is longer than one transfer carries";
                transfer.failure.get_or_insert_with(|| why.to_owned());
            }
            let object = segment.filter(|_| !is_part).map(|segment| segment.bytes);
            let is_whole = object.is_some();
            TransferResult {
                began: log.woke,
                last: log.last,
                ended: transfer.ended,
                received: log.received,
                rounds: log.complete.map_or(log.round, |c| u32::from(c.rounds)),
                first_round: log
                    .complete
                    .map_or(log.first_round, |c| Some(c.first_round)),
                object,
                failure: (!is_whole)
                    .then(|| transfer.failure.take().unwrap_or_else(|| log.failure())),
            }
        });
        WaveResult {
            ordered,
            end,
            transfers: transfers.collect(),
        }
    }
}

impl Wave {
    /// Fails all transfers where the first has not begun: there is nothing to begin together with.
    fn fail_without_first(&mut self, now: NetworkTime) {
        let Some(first) = self.transfers.first() else {
            return;
        };
        if first.log.woke.is_none() && first.ended.is_some() {
            for transfer in self.transfers.iter_mut().skip(self.next) {
                transfer.fail(now, "the wave did not begin".to_owned());
            }
            self.next = self.transfers.len();
        }
    }
}

impl Job for Wave {
    type Order = Order;
    type Event = mote::Event;
    type Output = WaveResult;

    fn on_event(&mut self, clock: &dyn Clock, at: NetworkTime, by: NodeId, event: mote::Event) {
        let found = self
            .transfers
            .iter()
            .position(|transfer| transfer.route.sink == by);
        let Some((which, transfer)) = found.and_then(|n| Some((n, self.transfers.get_mut(n)?)))
        else {
            return;
        };
        if let Some(why) = refused(&event) {
            transfer.fail(at, why.to_string());
        }
        if let Some(progress) = transfer.log.note(clock, at, by, event) {
            let of = transfer.route.source;
            self.reports
                .push_back(job::Progress::Of(of, Box::new(progress)));
        }
        if transfer.log.end.is_some() {
            transfer.ended.get_or_insert(at);
        }
        // The next sink follows when this one's flood is over.
        if which == 0 && matches!(event, mote::Event::WakeUp { .. }) {
            self.due = at + transfer.wake_up;
        }
    }
    fn on_loss(&mut self, at: NetworkTime, station: NodeId, why: Failure) {
        let ordered = self.transfers.iter_mut().take(self.next);
        for transfer in ordered.filter(|transfer| transfer.route.sink == station) {
            transfer.fail(at, why.to_string());
        }
    }
    fn on_bytes(&mut self, station: NodeId, bytes: Vec<u8>) {
        let mut transfers = self.transfers.iter_mut();
        if let Some(transfer) = transfers.find(|transfer| transfer.route.sink == station) {
            transfer.log.bytes = Some(bytes);
        }
    }

    fn poll(&mut self, now: NetworkTime) -> Step<Order, WaveResult> {
        if let Some(progress) = self.reports.pop_front() {
            return Step::Report(progress);
        }
        let ordered = *self.ordered.get_or_insert(now);
        let (deadline, alone) = (ordered + self.patience, self.transfers.len() == 1);
        self.fail_without_first(now);
        let is_under_way = self
            .transfers
            .iter()
            .any(|transfer| transfer.ended.is_none());
        if is_under_way && now >= deadline {
            for transfer in &mut self.transfers {
                self.stops.push(transfer.route.sink);
                transfer.fail(now, "no end".to_owned());
            }
            self.next = self.transfers.len();
        } else if is_under_way {
            let Some(transfer) = self.transfers.get(self.next) else {
                return Step::Wait(deadline);
            };
            if self.next > 0 && now < self.due {
                return Step::Wait(self.due.min(deadline));
            }
            self.due = match self.next {
                // The first begins at some rendezvous.
                0 => deadline,
                _ => now + transfer.wake_up,
            };
            self.next += 1;
            let (route, room) = (transfer.route, self.room);
            let order = match alone {
                true => Command::Fetch(route),
                false => Command::FetchTogether { route, room },
            };
            return Step::Order(route.sink, order);
        }
        let end = *self.end.get_or_insert(now);
        if let Some(sink) = self.stops.pop() {
            return Step::Order(sink, Command::Stop);
        }
        let left = self
            .transfers
            .iter()
            .filter(|transfer| transfer.log.bytes.is_none());
        let mut complete =
            left.filter_map(|transfer| Some((transfer.route.sink, transfer.log.complete?)));
        let complete = complete.next();
        match complete {
            Some((sink, complete)) => Step::Take(sink, complete.len as usize),
            None => Step::Done(Ok(self.output(ordered, end))),
        }
    }

    fn stop(&mut self) -> Vec<(NodeId, Order)> {
        let sinks = self.transfers.iter().map(|transfer| transfer.route.sink);
        sinks.map(|sink| (sink, Command::Stop)).collect()
    }
}
