//! The job that has a network measure its links and collects the reports.

use super::{Meters, Survey, SurveyKind, SurveyOutcome};
use crate::job::{Failure, Job, Progress, Step};
use crate::network::{Clock, NetworkTime};
use crate::transfer::pipeline::{refused, Order, MAX_NODES};
use thalweg_engine::BoardTiming;
use thalweg_planner::{LinkQualities, Place};
use thalweg_protocols::collection::Collect;
use thalweg_protocols::floodnet::Event;
use thalweg_protocols::linkprobe::NodeList;
use thalweg_protocols::mote::{self, Command};
use thalweg_protocols::pipeline;
use thalweg_units::{Channel, Duration, NodeId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Measuring,
    Measured,
    Collecting,
    Collected,
}

/// Has a network measure its links and report them to a sink.
#[derive(Debug)]
pub struct SurveyJob {
    sink: NodeId,
    ids: Vec<NodeId>,
    beacons: u32,
    kind: SurveyKind,
    measure: Option<Order>,
    nodes: NodeList<MAX_NODES>,
    /// How long the measurement takes when nothing goes wrong.
    measuring: Duration,
    /// Of the measurement; four times as long is waited for the collection.
    patience: Duration,
    state: State,
    ordered: NetworkTime,
    until: NetworkTime,
    surveyed: SurveyOutcome,
    /// A transfer ended meanwhile.
    ended: bool,
    meters: Meters,
    /// Tables that came in, of how many.
    tables: (u16, u16),
    progress: Option<Progress>,
    failed: Option<Failure>,
}

impl SurveyJob {
    /// `survey` of the nodes called `ids` with boards of `timing`, which are at `places` where those are
    /// known, to report to node `sink`.
    ///
    /// # Errors
    /// [`Failure::Unfit`] where there are too many nodes, or the terms are out of range.
    pub fn new(
        survey: Survey,
        ids: &[NodeId],
        places: Option<Vec<Place>>,
        timing: &BoardTiming,
        sink: NodeId,
    ) -> Result<Self, Failure> {
        let unfit = |why: String| Failure::Unfit(format!("link measurement: {why}"));
        let nodes = NodeList::of(ids.iter().copied()).map_err(|why| unfit(why.to_string()))?;
        let (measure, measuring) = survey.order(&nodes, timing).map_err(unfit)?;
        let mut links = LinkQualities::new(ids.len());
        if let Some(places) = places {
            // One place for each node.
            let _ = links.set_places(places);
        }
        Ok(Self {
            sink,
            ids: ids.to_vec(),
            beacons: u32::from(survey.beacons),
            kind: survey.kind,
            measure: Some(measure),
            nodes,
            measuring,
            // Twice as long, and a minute: a bound, not a schedule.
            patience: measuring * 2 + Duration::from_secs(60),
            state: State::Idle,
            ordered: NetworkTime::ZERO,
            until: NetworkTime::ZERO,
            surveyed: SurveyOutcome {
                links,
                rousing: Duration::ZERO,
                measuring: Duration::ZERO,
                collecting: Duration::ZERO,
                joules: None,
                missing: Vec::new(),
                batteries: Vec::new(),
                restarts: Vec::new(),
            },
            ended: false,
            meters: Meters::Unread,
            tables: (0, ids.len() as u16),
            progress: None,
            failed: None,
        })
    }

    /// The same where floods have time for `hops` hops: for the nodes that an earlier survey lacked.
    #[must_use]
    pub fn reaching(mut self, hops: u8) -> Self {
        self.measure = self.measure.take().map(|order| match order {
            Command::Sweep(sweep) => Command::Sweep(sweep.reaching(hops)),
            order => order,
        });
        self.patience = self.patience * 2;
        self
    }

    /// Whether a transfer ended meanwhile that it did not begin: another host's, of which nodes may be deaf for a while.
    pub(crate) const fn met_transfer(&self) -> bool {
        self.ended
    }

    /// How many beacons of a node each channel sees, where it is a sweep.
    pub(crate) fn swept(&self) -> Option<u32> {
        (self.kind == SurveyKind::Sweep).then_some(self.beacons)
    }

    /// The failure when time is up.
    fn no_end(&self) -> Failure {
        if self.state != State::Collecting {
            return Failure::NoEnd(self.patience);
        }
        let links = &self.surveyed.links;
        let sink = self.ids.iter().position(|id| *id == self.sink);
        let best = |from: usize| {
            let on = |channel| sink.map_or(0.0, |sink| links.prr(from, sink, channel));
            Channel::all().map(on).fold(0.0, f64::max)
        };
        let count = |least: f64| (0..self.ids.len()).filter(|n| best(*n) >= least).count();
        let (complete, of) = self.tables;
        Failure::Unreported {
            sink: self.sink,
            within: self.patience,
            complete,
            of,
            heard: count(f64::MIN_POSITIVE),
            good: count(0.9),
        }
    }

    fn note(&mut self, at: NetworkTime, event: Event) {
        match event {
            Event::Probing { turn, of, .. } if self.state == State::Measuring => {
                self.progress = Some(Progress::Measuring { turn, of });
            }
            Event::Measured { time, .. } if self.state == State::Measuring => {
                self.surveyed.rousing = at.since(self.ordered).saturating_sub(time);
                self.surveyed.measuring = time;
                self.state = State::Measured;
            }
            Event::Link(link) if self.state == State::Collecting => {
                let index = |id: NodeId| self.ids.iter().position(|i| *i == id);
                if let (Some(from), Some(to)) = (index(link.from), index(link.to)) {
                    let sent = self.beacons;
                    let (received, rssi) = (u32::from(link.received).min(sent), Some(link.rssi));
                    // Both nodes are in the table, and no more is received than was sent.
                    let links = &mut self.surveyed.links;
                    let _ = links.record(from, to, link.channel, received, sent, rssi);
                }
            }
            Event::Battery { node, level }
                if self.state == State::Collecting && self.ids.contains(&node) =>
            {
                self.surveyed.batteries.push((node, level));
            }
            Event::Restarted { node, restarts }
                if self.state == State::Collecting && self.ids.contains(&node) =>
            {
                self.surveyed.restarts.push((node, restarts));
            }
            Event::Progress { complete, of } => {
                self.tables = (complete, of);
                self.progress = Some(Progress::Collecting { complete, of });
            }
            Event::Missing(missing) => self.surveyed.missing.push(missing.node),
            Event::Collected { time, .. } if self.state == State::Collecting => {
                self.surveyed.collecting = time;
                self.state = State::Collected;
            }
            _ => {}
        }
    }
}

impl Job for SurveyJob {
    type Order = Order;
    type Event = mote::Event;
    type Output = SurveyOutcome;

    fn on_event(&mut self, _clock: &dyn Clock, at: NetworkTime, by: NodeId, event: mote::Event) {
        if by != self.sink {
            return;
        }
        self.failed = refused(&event);
        match event {
            mote::Event::Floods(event) => self.note(at, event),
            mote::Event::Pipeline(pipeline::Event::Finished(_)) => self.ended = true,
            _ => {}
        }
    }
    fn on_loss(&mut self, _at: NetworkTime, station: NodeId, why: Failure) {
        if station == self.sink {
            self.failed = Some(why);
        }
    }

    fn on_meters(&mut self, joules: Vec<Option<f64>>) {
        let all: Option<f64> = joules.into_iter().sum();
        self.meters = match self.meters {
            Meters::Unread => Meters::Before(all),
            Meters::Before(before) => {
                self.surveyed.joules = all.zip(before).map(|(all, before)| all - before);
                Meters::Read
            }
            Meters::Read => Meters::Read,
        };
    }

    fn poll(&mut self, now: NetworkTime) -> Step<Order, SurveyOutcome> {
        if let Some(why) = self.failed.take() {
            return Step::Done(Err(why));
        }
        if let Some(progress) = self.progress.take() {
            return Step::Report(progress);
        }
        match (self.state, self.meters) {
            (State::Idle, Meters::Unread) | (State::Collected, Meters::Before(_)) => {
                return Step::Meter(self.ids.clone());
            }
            _ => {}
        }
        match (self.state, self.measure.take()) {
            (State::Idle, Some(measure)) => {
                (self.state, self.ordered) = (State::Measuring, now);
                self.until = now + self.patience;
                if self.kind == SurveyKind::Sweep {
                    self.progress = Some(Progress::Sweeping {
                        of: self.tables.1,
                        lasts: self.measuring,
                    });
                }
                Step::Order(self.sink, measure)
            }
            (State::Measured, _) => {
                self.patience = self.patience * 4;
                (self.state, self.until) = (State::Collecting, now + self.patience);
                if self.kind == SurveyKind::Sweep {
                    // Reports come in by themselves.
                    return Step::Wait(self.until);
                }
                let nodes = self.nodes.clone();
                Step::Order(self.sink, Command::Collect(Collect { nodes, floor: 1 }))
            }
            (State::Collected, _) => Step::Done(Ok(self.surveyed.clone())),
            _ if now < self.until => Step::Wait(self.until),
            _ => Step::Done(Err(self.no_end())),
        }
    }

    fn stop(&mut self) -> Vec<(NodeId, Order)> {
        vec![(self.sink, Command::Stop)]
    }
}
