//! The collector brings an object from any network. It surveys, plans, transfers, takes another plan if one breaks off,
//! and reports.
//!
//! The caller provides the network ([`Network`]) and a [`TransferObserver`], which stores the bytes and may stop the
//! fetch; nothing else differs between a simulation, a serial line and the daemon. Time base: the network's.
//! Invariants: an object is returned whole or not at all; relays of a transfer that broke off have time to leave it
//! before the next begins. Tests: `tests/all/recovery.rs`, `crates/simnet/tests/all/`.

mod description;
mod report;
mod request;
mod route;
mod run;

pub use description::{clean_channels, Description};
pub use report::{Details, Report};
pub use request::{FetchRequest, LAST_RESORT, RETRY};
pub use route::{Patience, Search};
pub use run::Observations;

use crate::job::{run, Failure, Progress, Watch};
use crate::link_state::{HopObservation, PlanRequest};
use crate::network::{Network, NetworkTime};
use crate::object::Proof;
use crate::outcome::Outcome;
use crate::recovery::{self, Reports, Sought, Turn};
use crate::registry::Pipelined;
use crate::segments::{self, Assembly, Attempt, Fault, Segment};
use crate::survey::{SurveyJob, SurveyOutcome};
use crate::transfer::account::Account;
use crate::transfer::pipeline::{route, settling, Order, TransferTerms, SETTLING};
use crate::waves::{Start, Wave, WaveResult};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_planner::{Plan, Style};
use thalweg_protocols::mote::Event;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::route::{ObjectRange, Scheme};
use thalweg_wire::seal::frame::Sealing;

/// Detours that a path hop by hop takes, at most.
const DETOURS: u64 = 3;

/// What a collector does where the line to its base station is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineLoss {
    /// It fails, and the caller opens the line again.
    Ends,
    /// It waits for half a minute, and starts again up to three times.
    Waits,
}

/// A plan, and the protocol that carries an object over it.
#[derive(Debug, Clone)]
pub struct ProtocolPlan {
    /// The plan.
    pub plan: Arc<Plan>,
    /// The protocol.
    pub protocol: Pipelined,
}

impl ProtocolPlan {
    /// `plan`, which was made for `protocol`: where it is a path hop by hop, that carries the object. Nothing takes over in a
    /// secured network that is not sealed.
    pub fn new(plan: Arc<Plan>, protocol: Pipelined, sealing: Sealing) -> Self {
        let over = protocol.over(&plan);
        let protocol = match sealing {
            Sealing::Sealed if !over.is_sealed() => protocol,
            Sealing::Open | Sealing::Sealed => over,
        };
        Self { plan, protocol }
    }
}

/// The outcome of a transfer, and its segment where all of that arrived.
pub type Transfer = (Outcome<Details>, Option<Segment>);

/// What is known at the end of a transfer, whole or not.
#[derive(Debug)]
pub struct TransferEnd<'a> {
    /// The bytes that were requested.
    pub range: ObjectRange,
    /// What arrived.
    pub part: Option<&'a Segment>,
    /// The nodes that took part.
    pub participants: &'a [NodeId],
    /// How long these were on, at most.
    pub on_time: Duration,
    /// What it showed of hops, by the network's time.
    pub hops: &'a [HopObservation],
    /// How it ended, where it failed.
    pub failure: Option<&'a str>,
}

/// Stores what a collector brings, follows its progress, and may stop it.
pub trait TransferObserver<F> {
    /// Why a fetch ends without a report.
    type Error: From<Failure>;

    /// An attempt is about to begin over a plan, on terms.
    ///
    /// # Errors
    /// Why the fetch is to end.
    fn begin(
        &mut self,
        _network: &mut F,
        _choice: &ProtocolPlan,
        (_attempt, _terms): (&Attempt, &TransferTerms),
    ) -> Result<(), Self::Error> {
        Ok(())
    }
    /// The progress of a survey, or of a transfer by `protocol`.
    fn progress(&mut self, protocol: &str, progress: Progress) -> ControlFlow<()>;
    /// A transfer has ended. Its segment, if there is one, is safe when this returns.
    ///
    /// # Errors
    /// Why the fetch is to end.
    fn end(&mut self, _network: &mut F, _ended: &TransferEnd<'_>) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Collects objects from one network, into one base station.
#[derive(Debug, Clone)]
pub struct Collector {
    description: Description,
    /// The number of the last transfer that was ordered.
    transfers: u16,
    /// The end of a transfer that relays may not have left yet.
    broken: Option<NetworkTime>,
    /// Why the last transfer brought nothing, where it did not.
    fault: Option<Fault>,
    line_loss: LineLoss,
}

impl Collector {
    /// For the network of `description`. Transfers are numbered after `transfers`: nodes remember numbers for a while.
    pub const fn new(description: Description, transfers: u16, line_loss: LineLoss) -> Self {
        Self {
            description,
            transfers,
            broken: None,
            fault: None,
            line_loss,
        }
    }
    /// Whether its network is secured: then only what is sealed is ordered and believed.
    pub fn sealing(&self) -> Sealing {
        self.description.sealing()
    }
    /// What shows that an object is the whole of node `source`'s.
    pub fn proof(&self, source: NodeId) -> Proof {
        let keys = self.description.keys.as_ref();
        keys.map_or(Proof::Digest, |keys| keys.proof(source))
    }
    /// A transfer ended at `at` without its relays hearing of it: they may still wait for packets.
    pub fn note_broken_transfer(&mut self, at: NetworkTime) {
        self.broken = Some(at);
    }
    /// Takes the next transfer number, for a transfer that the caller orders.
    pub fn next_number(&mut self) -> u16 {
        self.transfers = self.transfers.wrapping_add(1);
        self.transfers
    }
    /// The network's description.
    pub const fn description(&self) -> &Description {
        &self.description
    }

    /// Has the network measure its links for `protocol`, and again where tables are missing of nodes that are `sought`.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn survey<F>(
        &mut self,
        network: &mut F,
        protocol: Pipelined,
        sought: Sought<'_>,
        watch: Watch<'_>,
    ) -> Result<SurveyOutcome, Failure>
    where
        F: Network<Order = Order, Event = Event>,
    {
        self.check_sealed(protocol)?;
        let survey = protocol.survey(self.description.measured_channels());
        self.with_line_retries(network, |own, network| {
            let description = &own.description;
            let (ids, positions) = (&description.place.ids, &description.positions);
            let make = |turn: Turn| {
                let survey = match turn {
                    Turn::Later if protocol.style != Style::Paths => survey.again(),
                    Turn::Longer if protocol.style != Style::Paths => {
                        survey.again().longer(ids.len())
                    }
                    _ => survey,
                };
                SurveyJob::new(
                    survey,
                    ids,
                    positions.clone(),
                    &description.timing,
                    description.sink,
                )
            };
            let number = &mut || {
                own.transfers = own.transfers.wrapping_add(1);
                own.transfers
            };
            let reports = Reports {
                sealing: description.sealing(),
                ids,
                sink: description.sink,
                floor: description.place.floor,
                control: description.place.control,
                measured: description.measured_channels(),
                number,
            };
            let broken = (own.broken, sought);
            let surveyed = recovery::survey(network, broken, make, reports, &mut *watch)?;
            own.broken = None;
            Ok(surveyed)
        })
    }

    /// Fetches the source's object, or what `assembly` lacks of it: over the plan of `request` and, where a transfer
    /// breaks off, over other plans: Thalweg's hop by hop, four times in all, others' by P3, three times in all. Where all of
    /// Thalweg's failed, links are measured again, and the rest is fetched by what they are now, until
    /// `request.patience` is at its end without a byte.
    ///
    /// # Errors
    /// Those of `observer`, and [`Failure`] where there is no outcome at all; a failed transfer is a report.
    pub fn fetch<F, K>(
        &mut self,
        network: &mut F,
        request: &FetchRequest<'_>,
        assembly: &mut Assembly,
        observer: &mut K,
    ) -> Result<Report, K::Error>
    where
        F: Network<Order = Order, Event = Event>,
        K: TransferObserver<F>,
    {
        let mut report = self.fetch_over(network, request, assembly, observer)?;
        let patience = request.patience.filter(|_| request.has_last_resort());
        let Some(patience) = patience else {
            return Ok(report);
        };
        let mut search = Search::new(patience, request.link_state.links());
        while self.may_come_later(&report) && self.fault != Some(Fault::StationLost) {
            let arrived = assembly.bytes();
            match self.fetch_rest(network, (request, &mut search), assembly, observer)? {
                Some((rest, pause_s)) => report = rest.after(report, pause_s),
                None => break,
            }
            if assembly.bytes() > arrived {
                search.restart();
            }
        }
        Ok(report)
    }

    /// Whether what `report`, the last one, lacks may come over links that are measured again. Not where bytes change on
    /// the way, whatever the links are.
    pub fn may_come_later(&self, report: &Report) -> bool {
        report.is_broken_off() && self.fault != Some(Fault::OtherBytes)
    }

    /// Fetches what `assembly` lacks over links that are measured again, and gives the report with the seconds before it.
    /// `None` where the patience of `search` is at its end.
    fn fetch_rest<F, K>(
        &mut self,
        network: &mut F,
        (request, search): (&FetchRequest<'_>, &mut Search),
        assembly: &mut Assembly,
        observer: &mut K,
    ) -> Result<Option<(Report, f64)>, K::Error>
    where
        F: Network<Order = Order, Event = Event>,
        K: TransferObserver<F>,
    {
        let began = network.now();
        let plan_request = PlanRequest {
            from: Some(self.description.id(request.plan.source)),
            ..request.plan_request
        };
        let mut watch = |progress| observer.progress("", progress);
        let wanted = (&plan_request, search);
        let (link_state, plan) = match self.find_route(network, wanted, &mut watch) {
            Ok(Some(found)) => found,
            Err(Failure::Cancelled) => return Err(Failure::Cancelled.into()),
            Ok(None) | Err(_) => return Ok(None),
        };
        let pause_s = network.now().since(began).as_secs_f64();
        let request = FetchRequest {
            link_state: &link_state,
            plan_request,
            plan: Arc::new(plan),
            survey: None,
            ..*request
        };
        let report = self.fetch_over(network, &request, assembly, observer)?;
        Ok(Some((report, pause_s)))
    }

    /// The same over the links of `request` alone.
    fn fetch_over<F, K>(
        &mut self,
        network: &mut F,
        request: &FetchRequest<'_>,
        assembly: &mut Assembly,
        observer: &mut K,
    ) -> Result<Report, K::Error>
    where
        F: Network<Order = Order, Event = Event>,
        K: TransferObserver<F>,
    {
        let source = self.description.id(request.plan.source);
        let sealing = self.sealing();
        assembly.prove_by(self.proof(source));
        let (fault, repeats) = (Cell::new(None), Cell::new(0));
        let next = |last: &ProtocolPlan, tried: u32| match (fault.get(), request.goes_on()) {
            // The plan is not to blame, and it is the fastest.
            (Some(Fault::OtherBytes), _) if repeats.get() == 0 => {
                repeats.set(1);
                Some((last.clone(), settling(last.protocol.scheme)))
            }
            (_, true) => {
                let plan = request.next_plan(source, tried - repeats.get(), sealing)?;
                Some((plan, SETTLING))
            }
            // A protocol of one path goes on over the same plan, if its base station was lost and the path was not to blame.
            (fault, false) => {
                let is_lost = fault == Some(Fault::StationLost);
                is_lost.then(|| (last.clone(), SETTLING))
            }
        };
        let rest = |choice: &ProtocolPlan| settling(choice.protocol.scheme);
        // A path hop by hop that brought a part and broke off may do so again: the next part takes another.
        let mut broken = 0;
        let attempt = |choice: &ProtocolPlan, mut attempt: Attempt| {
            let mut choice = choice.clone();
            attempt.after = fault.take().filter(|_| attempt.tried > 0);
            if attempt.tried == 0 {
                repeats.set(0);
            }
            let is_broken = broken > 0 && attempt.tried == 0;
            if let (Pipelined::HOP_BY_HOP, true) = (choice.protocol, is_broken) {
                let detour = request.over(Pipelined::HOP_BY_HOP, source, broken);
                choice = detour.unwrap_or(choice);
            }
            let carried = self.transfer(network, request, &choice, attempt, observer)?;
            let is_short = |segment: &Segment| segment.is_short_of(attempt.range);
            if carried.1.as_ref().is_some_and(is_short) {
                broken = (broken + 1).min(DETOURS);
            }
            fault.set(self.fault);
            Ok::<_, K::Error>(carried)
        };
        let terms = request.fetch_terms();
        let brought =
            segments::fetch(assembly, terms, request.first(sealing), rest, attempt, next)?;
        Ok(request.report(brought, repeats.get(), sealing))
    }

    /// Fetches the object of `request` once more, by PIP over a path of the same plan, for comparison.
    ///
    /// # Errors
    /// As [`Self::fetch`].
    pub fn compare<F, K>(
        &mut self,
        network: &mut F,
        request: &FetchRequest<'_>,
        observer: &mut K,
    ) -> Result<Outcome<Details>, K::Error>
    where
        F: Network<Order = Order, Event = Event>,
        K: TransferObserver<F>,
    {
        self.broken.get_or_insert(network.now());
        let choice = ProtocolPlan {
            protocol: Pipelined::PIP,
            ..request.first(self.sealing())
        };
        let attempt = Attempt {
            // Reported as a further try of the same object.
            tried: 1,
            after: None,
            range: ObjectRange::ALL,
            number: 1,
            of: 1,
            bytes: request.plan_request.bytes,
        };
        let (mut outcome, _) = self.transfer(network, request, &choice, attempt, observer)?;
        if let Some(survey) = &request.survey {
            (outcome.summary).after(survey.seconds(), survey.network_energy_j);
        }
        Ok(outcome)
    }

    /// One transfer, once relays of the one before have left it.
    fn transfer<F, K>(
        &mut self,
        network: &mut F,
        request: &FetchRequest<'_>,
        choice: &ProtocolPlan,
        attempt: Attempt,
        observer: &mut K,
    ) -> Result<Transfer, K::Error>
    where
        F: Network<Order = Order, Event = Event>,
        K: TransferObserver<F>,
    {
        let mut terms = request.terms(choice.protocol, attempt.range);
        terms.sealing = self.sealing();
        let id = |index| self.description.id(index);
        let ends = (id(choice.plan.source), id(choice.plan.sink));
        if request.has_last_resort() && choice.protocol.scheme != Scheme::HopByHop {
            let other = || request.over(Pipelined::HOP_BY_HOP, ends.0, 0);
            let hops = choice.plan.expects_losses().then(other);
            let hops = hops.flatten().map(|hops| hops.plan);
            terms = terms.with_last_resort(&choice.plan, hops.as_deref());
        }
        if attempt.tried == 0 {
            let planned = attempt.planned(ends, &choice.plan, terms.payload);
            if observer.progress("", planned).is_break() {
                return Err(Failure::Cancelled.into());
            }
        }
        observer.begin(network, choice, (&attempt, &terms))?;
        let mut observations = Observations::default();
        let mut watch = |progress| observer.progress(choice.protocol.name, progress);
        let carried = self.with_line_retries(network, |own, network| {
            own.settle(network)?;
            own.carry(network, choice, &terms, &mut watch, &mut observations)
        });
        let part = carried.as_ref().ok().and_then(|(_, part)| part.as_ref());
        let end = TransferEnd {
            range: attempt.range,
            part,
            participants: &observations.participants,
            on_time: observations.on_time,
            hops: &observations.hops,
            failure: (carried.as_ref().ok())
                .and_then(|(outcome, _)| outcome.summary.failure.as_deref()),
        };
        observer.end(network, &end)?;
        Ok(carried?)
    }

    /// Waits until relays have left a transfer that broke off, if one did.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn settle<F: Network>(&mut self, network: &mut F) -> Result<(), Failure> {
        if let Some(since) = self.broken {
            recovery::settle(network, since)?;
        }
        self.broken = None;
        Ok(())
    }

    /// Fetches by `scheme` over several plans at once, each of which starts as it says.
    ///
    /// # Errors
    /// [`Failure`] where nothing can be said of any of them.
    pub fn wave<F>(
        &mut self,
        network: &mut F,
        transfers: &[(Plan, Start)],
        (scheme, terms): (Scheme, &TransferTerms),
        watch: Watch<'_>,
    ) -> Result<WaveResult, Failure>
    where
        F: Network<Order = Order, Event = Event>,
    {
        let terms = &TransferTerms {
            sealing: self.sealing(),
            ..*terms
        };
        let mut routes = Vec::with_capacity(transfers.len());
        for (plan, start) in transfers {
            let number = self.next_number();
            let ids = &self.description.place.ids;
            routes.push(start.of(route(plan, scheme, terms, ids, number)?));
        }
        let proof = |source| self.proof(source);
        let mut wave = Wave::new(routes, &self.description.timing).proved_by(proof);
        let waved = run(network, &mut wave, watch);
        let is_whole = |waved: &WaveResult| waved.transfers.iter().all(|t| t.object.is_some());
        let is_settled = settling(scheme).is_zero() && waved.as_ref().is_ok_and(is_whole);
        self.broken = (!is_settled).then(|| network.now());
        waved
    }

    /// One transfer on `terms`. One that a base station refused, forgot or did not end counts as one that broke off.
    ///
    /// # Errors
    /// [`Failure`] where there is no outcome at all.
    pub fn carry<F>(
        &mut self,
        network: &mut F,
        choice: &ProtocolPlan,
        terms: &TransferTerms,
        watch: Watch<'_>,
        observations: &mut Observations,
    ) -> Result<Transfer, Failure>
    where
        F: Network<Order = Order, Event = Event>,
    {
        let terms = &TransferTerms {
            sealing: self.sealing(),
            ..*terms
        };
        let fetched = self.run_fetch(network, choice, terms, watch, observations)?;
        let (plan, ids) = (&*choice.plan, &self.description.place.ids);
        let account = Account {
            protocol: choice.protocol.name,
            scheme: choice.protocol.scheme,
            network: &self.description.place.name,
            ids,
            seed: self.description.draw.1,
            sealing: terms.sealing,
        };
        let mut summary = account.of(plan, &fetched, (terms, &self.description.timing));
        let mut details = Details {
            retransmitted: None,
            wake_up_s: fetched.wake_up.as_secs_f64(),
            degraded_paths: fetched.degraded_paths,
            bad_hops: fetched.bad_hops,
        };
        // The source's engine knows it also of a transfer that broke off.
        if let Some(counts) = network.source_counts(self.description.id(plan.source)) {
            let rounds = fetched.complete.map_or(counts.rounds, |c| c.rounds);
            let payload = u32::from(terms.payload.bytes());
            let packets = f64::from(counts.object_bytes.div_ceil(payload).max(1));
            summary.rounds = u32::from(rounds);
            summary.first_round_reliability = fetched.first_round.map(|f| f64::from(f) / packets);
            details.retransmitted =
                (counts.sent > 0).then(|| f64::from(counts.retransmitted) / f64::from(counts.sent));
        }
        Ok((Outcome { summary, details }, fetched.segment))
    }
}
