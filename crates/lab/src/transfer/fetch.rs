//! Transfers: from a plan to a verified object, with what it took. Time base: the sink's clock
//! for what is measured by it, simulated time for how long it may take.

use super::log::Log;
use super::object::digest;
use super::report::Outcome;
use super::session::{Observer, Session, SessionError, Step};
use std::ops::ControlFlow::{Break, Continue};
use thalweg_engine::{BoardTiming, Passing};
use thalweg_planner::closed_forms::Cycle;
use thalweg_planner::{Group as PlanGroup, Plan};
use thalweg_protocols::mote;
use thalweg_protocols::object::ObjectStore;
use thalweg_sim::Energy;
use thalweg_units::{BitRate, Duration};
use thalweg_wire::pipeline::{Format, Group};
use thalweg_wire::route::{
    Channels, Hopping, Member, PayloadSize, Percent, Route, Scheme, TrialRun,
};

/// How an object travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Over all paths of the plan.
    P3,
    /// Over one of them.
    Pip,
    /// Over one of them, its channels changing every two cycles.
    PipHopping,
    /// Over one of them, each packet sent on when the next comes in.
    PipCit,
}

impl Protocol {
    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P3 => "p3",
            Self::Pip => "pip",
            Self::PipHopping => "pip-hopping",
            Self::PipCit => "pip-cit",
        }
    }
}

/// Between two frames of a relay that receives and sends by turns, on average, where frames have
/// `mpdu_bytes`: half of what `protocol`'s period is longer than two frames on the air.
pub(crate) fn mean_pause(protocol: Protocol, mpdu_bytes: usize, timing: &BoardTiming) -> Duration {
    let passing = match protocol {
        // Slots that are alike.
        Protocol::P3 | Protocol::PipHopping => {
            return timing.relaying(mpdu_bytes, Passing::Copied).forth
        }
        Protocol::Pip => Passing::Copied,
        Protocol::PipCit => Passing::Conditional,
    };
    let pauses = timing.relaying(mpdu_bytes, passing);
    Duration::from_nanos((pauses.forth + pauses.back).as_nanos() / 2)
}

/// Terms of a transfer besides its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Payload of a packet.
    pub payload: PayloadSize,
    /// Reception ratio below which relays of the last but one stage keep silent.
    pub threshold: Option<Percent>,
    /// After how many seconds a transfer is given up.
    pub deadline_s: u16,
    /// How often the sink begins a [`Protocol::P3`] transfer that breaks off. PIP, which gives up
    /// by design, has one attempt.
    pub attempts: u32,
    /// How frames begin. This and the next are for [`Protocol::P3`] alone.
    pub format: Format,
    /// Cycles of each rotation of the channels in a trial; `None` for channels as planned.
    pub tuning: Option<TrialRun>,
}

impl Default for Terms {
    /// Packets of the largest size, a threshold of 50 %, ten minutes, three attempts.
    fn default() -> Self {
        Self {
            payload: PayloadSize::MAX,
            threshold: Percent::new(50),
            deadline_s: 600,
            attempts: 3,
            format: Format::Full,
            tuning: None,
        }
    }
}

impl Terms {
    /// The same in slim frames; packets of the largest size grow by what the headers lose.
    #[must_use]
    pub fn slim(self) -> Self {
        let payload = if self.payload == PayloadSize::MAX {
            PayloadSize::max_of(Format::Slim)
        } else {
            self.payload
        };
        Self {
            payload,
            format: Format::Slim,
            ..self
        }
    }
    /// The same, learning under which rotation of its channels the pipeline does best.
    #[must_use]
    pub fn tuned(self) -> Self {
        Self {
            tuning: Some(TrialRun::DEFAULT),
            ..self
        }
    }
}

impl Session {
    /// Fetches the object that the plan's source offers. The outcome tells of a failure; what
    /// arrived comes with it where it is whole.
    ///
    /// # Errors
    /// [`SessionError`] where nothing can be said of the transfer.
    pub fn fetch(
        &mut self,
        plan: &Plan,
        protocol: Protocol,
        terms: &Terms,
        observer: Observer<'_>,
    ) -> Result<(Outcome, Option<Vec<u8>>), SessionError> {
        let active = active_nodes(plan, protocol);
        let mut log = Log::new(self.cycle(terms));
        for attempt in 1..=terms.attempts.max(1) {
            if log.received > 0 {
                // Relays of the broken transfer are deaf to a wake-up until they give it up.
                self.settle()?;
            }
            let route = self.route(plan, protocol, terms)?;
            self.net.engine_mut(plan.sink).store_mut().clear();
            log.begin(attempt);
            self.run_transfer(plan.sink, &active, route, &mut log, observer)?;
            if !(log.is_broken() && protocol == Protocol::P3) {
                break;
            }
        }
        Ok(self.outcome(plan, protocol, &active, terms, &log))
    }

    /// What a node could send at best.
    fn cycle(&self, terms: &Terms) -> Cycle {
        let (payload_bytes, header_bytes) = (terms.payload.bytes(), terms.format.header_bytes());
        let payload_bytes = usize::from(payload_bytes);
        let timing = &self.board.timing;
        let pauses = timing.relaying(header_bytes + payload_bytes, Passing::Copied);
        Cycle {
            payload_bytes,
            header_bytes,
            gap: pauses.alone.min(pauses.forth),
        }
    }

    /// The plan as a wake-up message tells it.
    pub(crate) fn route(
        &mut self,
        plan: &Plan,
        protocol: Protocol,
        terms: &Terms,
    ) -> Result<Route, SessionError> {
        let relays = plan.stages.iter().map(Vec::len).sum();
        let too_much = SessionError::Route {
            hops: plan.hops,
            relays,
        };
        let Some(channels) = Channels::new(&plan.channels) else {
            return Err(too_much);
        };
        self.transfers = self.transfers.wrapping_add(1);
        let scheme = match protocol {
            Protocol::P3 => Scheme::P3,
            Protocol::Pip => Scheme::Pip(Hopping::Fixed),
            Protocol::PipHopping => Scheme::Pip(Hopping::EveryCyclePair),
            Protocol::PipCit => Scheme::PipCit,
        };
        let (source, sink) = (self.ids[plan.source], self.ids[plan.sink]);
        let mut route = Route::new(self.transfers, source, sink, scheme, channels);
        route.payload = terms.payload;
        route.deadline_s = terms.deadline_s;
        let stage = |at: usize| at as u8;
        let added = match protocol {
            Protocol::P3 => {
                route.threshold = terms.threshold;
                (route.format, route.tuning) = (terms.format, terms.tuning);
                plan.stages
                    .iter()
                    .enumerate()
                    .try_for_each(|(at, members)| {
                        members.iter().try_for_each(|m| {
                            let group = match m.group {
                                PlanGroup::Odd => Group::Odd,
                                PlanGroup::Even => Group::Even,
                            };
                            route.add(Member {
                                node: self.ids[m.node],
                                stage: stage(at + 1),
                                group,
                            })
                        })
                    })
            }
            Protocol::Pip | Protocol::PipHopping | Protocol::PipCit => {
                let relays = &plan.pip.path[1..plan.pip.path.len() - 1];
                relays.iter().enumerate().try_for_each(|(at, node)| {
                    let group = Group::Odd;
                    route.add(Member {
                        node: self.ids[*node],
                        stage: stage(at + 1),
                        group,
                    })
                })
            }
        };
        added.map_err(|_| too_much)?;
        Ok(route)
    }

    /// One wake-up and what follows, until the sink's part is over.
    fn run_transfer(
        &mut self,
        sink: usize,
        active: &[usize],
        route: Route,
        log: &mut Log,
        observer: Observer<'_>,
    ) -> Result<(), SessionError> {
        let patience = Duration::from_secs(u64::from(route.deadline_s) + 30);
        // The sink's node begins at the next meeting of its network, so the energy spent up to
        // the first wake-up packet is read when that is out.
        self.order(
            sink,
            mote::Command::Fetch(route),
            patience,
            |at, event| match event {
                mote::Event::WakeUp { .. } => {
                    log.note(at, event);
                    match observer(Step::WakingUp) {
                        Continue(()) => Break(Ok(())),
                        Break(()) => Break(Err(SessionError::Stopped)),
                    }
                }
                _ => Continue(()),
            },
        )?;
        if log.energy_before.is_none() {
            log.energy_before = Some(active.iter().map(|n| self.net.energy(*n)).collect());
        }
        self.follow(sink, patience, |at, event| {
            if let Some(step) = log.note(at, event) {
                if observer(step).is_break() {
                    return Break(Err(SessionError::Stopped));
                }
            }
            match log.complete.is_some() || log.end.is_some() {
                true => Break(Ok(())),
                false => Continue(()),
            }
        })?;
        log.energy_after = Some(active.iter().map(|n| self.net.energy(*n)).collect());
        if log.end.is_some() {
            return Ok(());
        }
        // The object is there; the sink's node lingers until the source knows.
        self.follow(sink, patience, |at, event| {
            log.note(at, event);
            match log.end {
                Some(_) => Break(Ok(())),
                None => Continue(()),
            }
        })
    }

    fn outcome(
        &mut self,
        plan: &Plan,
        protocol: Protocol,
        active: &[usize],
        terms: &Terms,
        log: &Log,
    ) -> (Outcome, Option<Vec<u8>>) {
        let source = self.net.engine(plan.source).pipeline();
        let (stats, info) = (*source.stats(), source.store().info());
        let object = log.complete.map(|c| {
            self.net
                .engine_mut(plan.sink)
                .store_mut()
                .take(c.len as usize)
        });
        // What the sink can know: length and digest came with the source's requests.
        let verified = match (&object, &log.complete) {
            (Some(bytes), Some(c)) => {
                bytes.len() == c.object_len as usize && digest(bytes) == c.digest
            }
            _ => false,
        };
        let duration = log.duration();
        let bytes = if verified { u64::from(info.len) } else { 0 };
        let goodput = BitRate::of_bytes(bytes, duration);
        let spent = |energies: &Option<Vec<Energy>>| {
            energies.iter().flatten().map(Energy::joules).sum::<f64>()
        };
        let packets = f64::from(stats.packets.max(1));
        let rounds = log
            .complete
            .map_or(u32::from(stats.rounds), |c| u32::from(c.rounds));
        let first = log
            .complete
            .map_or(log.first_round, |c| Some(c.first_round));
        let outcome = Outcome {
            protocol: protocol.name().to_owned(),
            testbed: self.name.clone(),
            source: self.ids[plan.source].get(),
            sink: self.ids[plan.sink].get(),
            bytes,
            verified,
            goodput_kbps: goodput.kbps(),
            utilisation: goodput.bps() / self.cycle(terms).effective_rate().bps(),
            rounds,
            first_round_reliability: first.map(|f| f64::from(f) / packets),
            retransmitted: (stats.data_sent > 0)
                .then(|| f64::from(stats.retransmitted()) / f64::from(stats.data_sent)),
            active_nodes: active.len() as u32,
            hops: plan.hops as u32,
            paths: if protocol == Protocol::P3 {
                plan.path_count() as u32
            } else {
                1
            },
            energy_j: spent(&log.energy_after) - spent(&log.energy_before),
            duration_s: duration.as_secs_f64(),
            wake_up_s: log.wake_up.as_secs_f64(),
            attempts: log.attempt,
            failure: (!verified).then(|| log.failure()),
            seed: self.seed,
        };
        (outcome, object.filter(|_| verified))
    }
}

/// Everyone who takes part, source and sink included.
pub(crate) fn active_nodes(plan: &Plan, protocol: Protocol) -> Vec<usize> {
    match protocol {
        Protocol::P3 => plan
            .active_nodes()
            .into_iter()
            .map(|(node, _)| node)
            .collect(),
        Protocol::Pip | Protocol::PipHopping | Protocol::PipCit => plan.pip.path.clone(),
    }
}
