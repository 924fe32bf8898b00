//! Fetch jobs: what a [`Collector`](thalweg_host::collector::Collector) brings goes into the store.
//!
//! Invariants: an object is stored together with its job's end, or neither is; segments are stored as they arrive,
//! until their job ends. Time base: the network's.

use std::ops::ControlFlow::{self, Continue};
use std::sync::Arc;

use serde::Serialize;
use thalweg_units::NodeId;

use super::stop::Stop;
use super::watched::{numbered, Watched};
use super::{account, observations, plan, read_meters, Runner};
use crate::clock::wall_time;
use crate::running::CoursePoint;
use crate::shared::Counts;
use crate::snapshot::LinkSnapshot;
use crate::station_state::{now, Attempt as FailedAttempt, StationState};
use thalweg_host::collector::{FetchRequest, ProtocolPlan, Report, TransferEnd, TransferObserver};
use thalweg_host::connector::Connector;
use thalweg_host::job::Progress;
use thalweg_host::link_state::HopObservation;
use thalweg_host::network::Network;
use thalweg_host::segments::{Assembly, Attempt, Fault};
use thalweg_host::store::{JobId, Level, NewTransfer, StoredJob};
use thalweg_host::text::count;
use thalweg_host::transfer::pipeline::TransferTerms;

impl<N: Connector> Runner<N> {
    /// Fetches the object of node `from`.
    pub(super) fn fetch(&mut self, job: &StoredJob, name: &str, from: NodeId) -> Result<(), Stop> {
        let station = self.station.clone();
        let node = station.facts.network.place.index_of(from)?;
        let (snapshot, base) = match (self.links_for(job, name), station.snapshot()) {
            (Err(Stop::Failed(why)), Some(before)) if station.waits_for_links(job.id) => {
                // A survey in vain, too.
                return Err(no_way(&station, job.id, (node, &before), (why, 0)));
            }
            (measured, _) => measured?,
        };
        let mut assembly = Assembly::of_stored(station.store().parts(job.id)?);
        station.begin_phase(job.id, (base, 1.0));
        let eligibility = station.eligibility()?;
        if let Some(wait) = eligibility.blocked_by(job) {
            // By the batteries of the survey that was just made.
            return Err(Stop::Blocked(wait));
        }
        let spared = eligibility.nodes();
        let all_links = snapshot.link_state.as_of(wall_time(now()));
        let link_state = all_links.without(&spared);
        let request = plan::request(&station, from)?;
        let plan = |links| plan::fastest(&station, links, &request);
        let (link_state, first) = match plan(&link_state) {
            Ok((link_state, plan)) => (link_state, Arc::new(plan)),
            Err(_) if !spared.is_empty() && plan(&all_links).is_ok() => {
                station.note_cut_off(job.id, &spared);
                return Err(Stop::Blocked(eligibility.cut_off_by(&spared)));
            }
            Err(why) if request.protocol.measures_again() && why.is_of_links() => {
                let why = (why.to_string(), assembly.bytes());
                return Err(no_way(&station, job.id, (node, &snapshot), why));
            }
            Err(why) => return Err(why.into()),
        };
        plan::store_prediction(&station, job, (&link_state, &first), &request)?;
        let fetch_request = FetchRequest {
            link_state: &link_state,
            plan_request: request,
            plan: first,
            survey: None,
            retry: TransferTerms::default().retry,
            // The job waits in the queue while those of other nodes go on.
            patience: None,
        };
        let fetched = self.transfer((job.id, name), &fetch_request, &mut assembly)?;
        let report = &fetched.report;
        if request.protocol.measures_again() && self.collector.may_come_later(report) {
            let why = (failure(report), assembly.bytes());
            return match no_way(&station, job.id, (node, &snapshot), why) {
                stop @ Stop::Failed(_) => finish(&station, (job, name), &fetched).or(Err(stop)),
                stop => Err(stop),
            };
        }
        finish(&station, (job, name), &fetched)
    }

    /// Carries out the transfers of the job `id`, which the log calls `name`: they bring what `assembly` lacks.
    fn transfer(
        &mut self,
        (id, name): (JobId, &str),
        fetch_request: &FetchRequest<'_>,
        assembly: &mut Assembly,
    ) -> Result<Fetched, Stop> {
        let station = self.station.clone();
        let mut observer = StoreObserver::of(&station, (id, name));
        let (network, collector) = self.connection()?;
        let mut watched = Watched {
            network,
            stop: &|| station.is_interrupted(),
            before: &|order| numbered(&station, order),
            tick: &|_| {},
            recall: &|| None,
        };
        let report = collector.fetch(&mut watched, fetch_request, assembly, &mut observer)?;
        let course = station
            .running_job(id)
            .map_or(Vec::new(), |running| running.course);
        Ok(Fetched {
            report,
            tries: observer.tries,
            course,
        })
    }
}

/// So many tries of a job are kept, the last ones.
const TRIES: usize = 16;

/// A report, and what the job's page shows of its transfers.
#[derive(Serialize)]
struct Fetched {
    #[serde(flatten)]
    report: Report,
    tries: Vec<Try>,
    course: Vec<CoursePoint>,
}

/// A transfer of a job: its route, and how it ended.
#[derive(Serialize)]
pub(super) struct Try {
    protocol: &'static str,
    source: Option<u16>,
    hops: usize,
    /// Node-distinct paths, source and base station included.
    paths: Vec<Vec<u16>>,
    /// All nodes that take part.
    relays: Vec<u16>,
    /// Why it failed, where it did.
    failure: Option<String>,
}

impl Try {
    pub(super) fn of(station: &StationState, choice: &ProtocolPlan) -> Self {
        let ids = &station.facts.network.place.ids;
        let id = |index: &usize| ids.get(*index).map(|id| id.get());
        let plan = &choice.plan;
        Self {
            protocol: choice.protocol.name,
            source: id(&plan.source),
            hops: plan.hops,
            paths: (plan.paths.iter())
                .map(|path| path.iter().filter_map(id).collect())
                .collect(),
            relays: plan
                .active_nodes()
                .iter()
                .filter_map(|(node, _)| id(node))
                .collect(),
            failure: None,
        }
    }
}

/// The links of `snapshot` brought job `id` nothing more of the object of `node`, of which so many bytes are there: it waits
/// for others, or fails.
fn no_way(
    station: &StationState,
    id: JobId,
    (node, snapshot): (usize, &LinkSnapshot),
    (why, arrived): (String, u64),
) -> Stop {
    let attempt = FailedAttempt {
        node,
        why,
        links: snapshot.link_state.links(),
        survey_s: snapshot.took_s,
        arrived,
    };
    match station.wait_for_links(id, &attempt) {
        Ok(wait) => Stop::Blocked(wait),
        Err(why) => Stop::Failed(why),
    }
}

/// Why there is no object.
fn failure(report: &Report) -> String {
    let why = report.outcome.summary.failure.clone();
    why.unwrap_or_else(|| "the object is not whole".to_owned())
}

/// Stores the result of `job`.
fn finish(
    station: &StationState,
    (job, name): (&StoredJob, &str),
    fetched: &Fetched,
) -> Result<(), Stop> {
    let report = &fetched.report;
    let summary = &report.outcome.summary;
    let json = serde_json::to_string(fetched).unwrap_or_default();
    let new = NewTransfer {
        record: summary,
        baseline: None,
        report: &json,
        campaign: None,
        job: Some(job.id),
        file: None,
    };
    let Some(object) = &report.object else {
        station.store().note(&new)?;
        station.store().set_outcome(job.id, &json)?;
        return Err(Stop::Failed(failure(report)));
    };
    // With its job's end, or neither.
    station.keep(&new, object)?;
    Counts::add(&station.counts().objects, 1);
    Counts::add(&station.counts().bytes, summary.bytes);
    let line = format!(
        "{name}: {} at {:.0} kbit/s over {} in {:.1} s",
        count(summary.bytes, "byte"),
        summary.goodput_kbps,
        count(summary.hops, "hop"),
        summary.duration_s
    );
    station.log(Level::Info, &line);
    Ok(())
}

/// Stores a job's segments as they arrive, and reports its progress.
struct StoreObserver<'a> {
    station: &'a StationState,
    job: JobId,
    name: &'a str,
    /// What each node had spent when the transfer began, in joules.
    spent: Vec<(NodeId, f64)>,
    /// Packets of the object that came before it.
    before: u32,
    /// The transfers so far.
    tries: Vec<Try>,
}

impl<'a> StoreObserver<'a> {
    const fn of(station: &'a StationState, (job, name): (JobId, &'a str)) -> Self {
        Self {
            station,
            job,
            name,
            spent: Vec::new(),
            before: 0,
            tries: Vec::new(),
        }
    }
}

impl<F: Network> TransferObserver<F> for StoreObserver<'_> {
    type Error = Stop;

    fn begin(
        &mut self,
        network: &mut F,
        choice: &ProtocolPlan,
        (attempt, terms): (&Attempt, &TransferTerms),
    ) -> Result<(), Stop> {
        let name = self.name;
        match attempt.tried {
            0 if attempt.of == 1 => {}
            0 => {
                let line = format!("{name}: part {} of {}", attempt.number, attempt.of);
                self.station.log(Level::Info, &line);
            }
            _ => {
                Counts::add(&self.station.counts().retries, 1);
                let last = self.tries.last().and_then(|last| last.failure.as_deref());
                let why = match attempt.after {
                    Some(Fault::OtherBytes) => {
                        "what arrived has another digest; it is fetched again".to_owned()
                    }
                    Some(Fault::StationLost) => {
                        "the base station lost it; it is fetched again".to_owned()
                    }
                    Some(Fault::BrokeOff) | None => {
                        let why = last.map_or(String::new(), |why| format!(" ({why})"));
                        format!("broke off{why}; another plan is tried")
                    }
                };
                let line = format!("{name}: {why}");
                self.station.log(Level::Warning, &line);
            }
        }
        let payload = u32::from(terms.payload.bytes());
        self.before = attempt.range.offset / payload;
        let packets = attempt.bytes.div_ceil(u64::from(payload)) as u32;
        self.station.set_plan(self.job, &choice.plan, packets);
        if self.tries.len() == TRIES {
            self.tries.remove(0);
        }
        self.tries.push(Try::of(self.station, choice));
        self.spent = read_meters(network, self.station);
        Ok(())
    }
    fn progress(&mut self, _protocol: &str, progress: Progress) -> ControlFlow<()> {
        if !matches!(progress, Progress::Planned { .. }) {
            self.station.progress(self.job, progress.after(self.before));
        }
        Continue(())
    }
    fn end(&mut self, network: &mut F, end: &TransferEnd<'_>) -> Result<(), Stop> {
        if let Some(last) = self.tries.last_mut() {
            last.failure = end.failure.map(str::to_owned);
        }
        let after = read_meters(network, self.station);
        account(
            self.station,
            [&self.spent, &after],
            (end.participants, end.on_time),
        );
        // By the wall clock: a network's own time ends with it.
        let at = wall_time(now());
        let hops = end.hops.iter().map(|hop| HopObservation { at, ..*hop });
        observations::note(self.station, &hops.collect::<Vec<_>>());
        if let Some(part) = end.part {
            (self.station.store()).keep_part(self.job, end.range.offset, part)?;
        }
        Ok(())
    }
}
