//! Waves: fetches that wait go at once, one into each base station of a network that has several.
//!
//! [`Schedule`] chooses them, as for `thalweg collect --all-nodes --to`. What it leaves over is fetched alone, as in a network
//! of one base station. Invariant: an object is stored together with its job's end, or neither is. Time base: the network's.
//! Tests: `crates/daemon/tests/all/waves.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::Continue;
use std::sync::Arc;

use serde::Serialize;
use thalweg_planner::Plan;
use thalweg_protocols::mote::Command;
use thalweg_units::NodeId;
use thalweg_wire::route::{PayloadSize, Scheme};

use super::fetch::Try;
use super::stop::Stop;
use super::watched::{numbered, Watched};
use super::{account, plan, read_meters, Runner};
use crate::clock::wall_time;
use crate::running::CoursePoint;
use crate::shared::Counts;
use crate::station_state::{now, JobEnd, StationState};
use thalweg_host::collector::ProtocolPlan;
use thalweg_host::connector::Connector;
use thalweg_host::job::Progress;
use thalweg_host::link_state::LinkState;
use thalweg_host::network::Network;
use thalweg_host::outcome::{Outcome, Summary};
use thalweg_host::recovery;
use thalweg_host::registry::Pipelined;
use thalweg_host::store::{JobId, JobState, Level, NewTransfer, StoreError, StoredJob, Work};
use thalweg_host::text::count;
use thalweg_host::transfer::account::Account;
use thalweg_host::waves::{predicted_kbps, Air, Landing, Schedule, Start, Terms, TransferResult};

/// The waves of a station, over the links that were measured last.
pub(super) struct Waves {
    schedule: Schedule,
    terms: Terms,
    link_state: LinkState,
    /// When those links were measured, and the nodes that limits leave alone.
    of: (i64, Vec<NodeId>),
    /// Jobs that are fetched alone.
    alone: BTreeSet<JobId>,
}

/// What a job's page shows of its transfer.
#[derive(Serialize)]
struct InWave<'a> {
    #[serde(flatten)]
    outcome: Outcome<Details>,
    tries: [Try; 1],
    course: &'a [CoursePoint],
}

/// What a transfer reports that ran beside others.
#[derive(Serialize)]
struct Details {
    predicted_goodput_kbps: f64,
    /// The jobs that ran at once with it.
    beside: Vec<JobId>,
}

/// A transfer of a wave, and its job.
struct Begun {
    job: StoredJob,
    plan: Arc<Plan>,
    start: Start,
}

impl<N: Connector> Runner<N> {
    /// Fetches from several nodes at once, where as many wait and the network has several base stations. Whether it did.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn wave(&mut self) -> Result<bool, StoreError> {
        let facts = &self.station.facts;
        let has_several = !facts.network.beside.is_empty();
        // Links are measured for a job of their own.
        if !has_several || !self.has_recent_links() {
            return Ok(false);
        }
        let mut waiting = self.station.next_fetches()?;
        waiting.retain(|job| !self.station.wants_links(job.id));
        if waiting.len() < 2 {
            return Ok(false);
        }
        let Some(mut waves) = self.waves(&waiting)? else {
            return Ok(false);
        };
        let begun = self.begin_wave(&mut waves, &waiting)?;
        let did = begun.is_some();
        if let Some(begun) = begun.filter(|begun| !begun.is_empty()) {
            self.run_wave(&mut waves, &begun);
        }
        self.waves = Some(waves);
        Ok(did)
    }

    /// The waves of the jobs that are `waiting`, over the present links.
    fn waves(&mut self, waiting: &[StoredJob]) -> Result<Option<Waves>, StoreError> {
        let station = &self.station;
        let Some(snapshot) = station.snapshot() else {
            return Ok(None);
        };
        let spared = station.eligibility()?.nodes();
        let of = (snapshot.at, spared);
        if let Some(waves) = self.waves.take().filter(|waves| waves.of == of) {
            return Ok(Some(waves));
        }
        let network = &station.facts.network;
        let link_state = snapshot.link_state.as_of(wall_time(now())).without(&of.1);
        let mut bytes = 1;
        for job in waiting {
            if let Work::Fetch { from } = job.work {
                bytes = bytes.max(plan::request(station, from)?.bytes);
            }
        }
        let air = Air {
            floor: network.place.floor,
            control: network.place.control,
            there: network.place.channels,
            channels: network.measured_channels(),
        };
        let stations: Vec<usize> = network.station_indices().collect();
        let variant = station.transfers.protocol;
        let terms = Terms::new(variant, air, (bytes, PayloadSize::MAX), stations.len());
        let terms = terms.sealed(network.sealing());
        let planner = terms.planner(link_state.links(), &stations);
        let (draw, seed) = network.draw;
        let rng = draw(seed, "waves", &[]);
        Ok(Some(Waves {
            schedule: Schedule::new(planner, terms.scheme, [], rng),
            terms,
            link_state,
            of,
            alone: BTreeSet::new(),
        }))
    }

    /// Begins the jobs of the next wave. None where nothing can go at once; empty where other jobs are left over now.
    fn begin_wave(
        &mut self,
        waves: &mut Waves,
        waiting: &[StoredJob],
    ) -> Result<Option<Vec<Begun>>, StoreError> {
        let station = self.station.clone();
        let place = &station.facts.network.place;
        let mut jobs: BTreeMap<usize, &StoredJob> = BTreeMap::new();
        for job in waiting.iter().filter(|job| !waves.alone.contains(&job.id)) {
            let Work::Fetch { from } = job.work else {
                continue;
            };
            if let Ok(node) = place.index_of(from) {
                jobs.entry(node).or_insert(job);
            }
        }
        if jobs.len() < 2 || waves.terms.scheme == Scheme::HopByHop {
            return Ok(None);
        }
        waves.schedule.keep_only(&jobs.keys().copied().collect());
        let network = &mut self.network;
        let rested = waves.schedule.next(|linger| match network {
            Some(network) => {
                let until = network.now() + linger;
                recovery::wait(network, until)
            }
            None => Ok(()),
        });
        // A network that does not rest is found out by the next order.
        let Some(planned) = rested.ok().flatten() else {
            return Ok(None);
        };
        let left = waves.schedule.take_leftover().into_iter();
        let left = left.map(|(node, _)| node);
        let left = left.chain(planned.lost.iter().map(|(node, _)| *node));
        let mut left: Vec<JobId> = left.filter_map(|n| Some(jobs.get(&n)?.id)).collect();
        let mut ids = Vec::with_capacity(planned.transfers.len());
        for (plan, _) in &planned.transfers {
            if let Some(job) = jobs.get(&plan.source) {
                match is_long(&station, job)? {
                    true => left.push(job.id),
                    false => ids.push(job.id),
                }
            }
        }
        waves.alone.extend(&left);
        if ids.is_empty() {
            return Ok((!left.is_empty()).then(Vec::new));
        }
        let begun = station.begin_together(&ids)?;
        let transfers = planned.transfers.into_iter();
        let of = transfers.filter_map(|(plan, start)| {
            let id = jobs.get(&plan.source)?.id;
            let job = begun.iter().find(|job| job.id == id)?.clone();
            let plan = Arc::new(plan);
            Some(Begun { job, plan, start })
        });
        let of: Vec<Begun> = of.collect();
        Ok((!of.is_empty()).then_some(of))
    }

    /// Carries out a wave whose jobs have begun, to the end of each.
    fn run_wave(&mut self, waves: &mut Waves, begun: &[Begun]) {
        let station = self.station.clone();
        let numbers: Vec<String> = begun.iter().map(|of| of.job.id.0.to_string()).collect();
        let line = format!("jobs {}: fetched at once", numbers.join(", "));
        station.log(Level::Info, &line);
        let landed = self.carry_wave(waves, begun);
        let (results, lost) = match landed {
            Ok(results) => (results, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let mut results = results.into_iter();
        for of in begun {
            let end = match results.next() {
                Some(result) => self.land(waves, begun, of, result),
                None => self.end_unlanded(of, lost.as_ref()),
            };
            if let Some(end) = end {
                station.end_job(end);
            }
            station.finish_job(of.job.id);
        }
        if let Some(Stop::Lost(why)) = lost {
            self.disconnect(&why);
        }
        station.delete_beyond();
    }

    /// The end of a job whose wave has no results, for a reason.
    fn end_unlanded(&self, of: &Begun, why: Option<&Stop>) -> Option<JobEnd> {
        let id = of.job.id;
        let state = self.station.interrupted_state(id);
        let (state, why) = match why {
            Some(Stop::Failed(why)) if state == JobState::Queued => {
                Counts::add(&self.station.counts().failures, 1);
                (JobState::Failed, Some(why.clone()))
            }
            _ => (state, None),
        };
        Some(JobEnd { id, state, why })
    }

    /// The results of a wave's transfers, in their order.
    fn carry_wave(&mut self, waves: &Waves, begun: &[Begun]) -> Result<Vec<TransferResult>, Stop> {
        let station = self.station.clone();
        let place = &station.facts.network.place;
        let Terms {
            scheme, transfer, ..
        } = &waves.terms;
        let id = |index: usize| place.ids.get(index).copied();
        for of in begun {
            let Some(from) = id(of.plan.source) else {
                continue;
            };
            let request = plan::request(&station, from)?;
            plan::store_prediction(&station, &of.job, (&waves.link_state, &of.plan), &request)?;
            let packets = request.bytes.div_ceil(u64::from(transfer.payload.bytes()));
            station.set_plan(of.job.id, &of.plan, packets as u32);
        }
        let sinks: Vec<(JobId, NodeId)> = (begun.iter())
            .filter_map(|of| Some((of.job.id, id(of.plan.sink)?)))
            .collect();
        let jobs: BTreeMap<NodeId, JobId> = (begun.iter())
            .filter_map(|of| Some((id(of.plan.source)?, of.job.id)))
            .collect();
        let recalled = std::cell::RefCell::new(BTreeSet::new());
        let (network, collector) = self.connection()?;
        let before = read_meters(network, &station);
        let mut watched = Watched {
            network,
            stop: &|| station.is_interrupted(),
            before: &|order| numbered(&station, order),
            tick: &|_| {},
            recall: &|| {
                let cancelled = station.cancelled();
                let of = sinks
                    .iter()
                    .find(|(job, _)| cancelled.contains(job) && recalled.borrow_mut().insert(*job));
                of.map(|(_, sink)| (*sink, Command::Stop))
            },
        };
        let mut watch = |progress| {
            if let Progress::Of(source, progress) = progress {
                if let Some(job) = jobs.get(&source) {
                    station.progress(*job, *progress);
                }
            }
            Continue(())
        };
        collector.settle(&mut watched)?;
        let began = watched.now();
        let plans: Vec<(Plan, Start)> = (begun.iter())
            .map(|of| ((*of.plan).clone(), of.start))
            .collect();
        let waved = collector.wave(&mut watched, &plans, (*scheme, transfer), &mut watch);
        let lasted = watched.now().since(began);
        let after = read_meters(watched.network, &station);
        let nodes = plans.iter().flat_map(|(plan, _)| plan.active_nodes());
        let nodes: Vec<NodeId> = nodes.filter_map(|(node, _)| id(node)).collect();
        account(&station, [&before, &after], (&nodes, lasted));
        Ok(waved?.transfers)
    }

    /// What is left to store of the job of a transfer that ended: nothing where its object is stored with its end.
    fn land(
        &self,
        waves: &mut Waves,
        begun: &[Begun],
        of: &Begun,
        result: TransferResult,
    ) -> Option<JobEnd> {
        let station = &self.station;
        let (id, source) = (of.job.id, of.plan.source);
        let whole = result.object.is_some();
        let attempts = waves.schedule.attempts(source) + 1;
        let landing = (waves.schedule).land(source, of.start, whole, result.received);
        let Some(object) = &result.object else {
            let why = result.failure.unwrap_or_default();
            return Some(self.end_without_object(waves, id, landing, &why));
        };
        let (summary, json) = self.report(waves, begun, of, (&result, attempts));
        let new = NewTransfer {
            record: &summary,
            baseline: None,
            report: &json,
            campaign: None,
            job: Some(id),
            file: None,
        };
        match station.keep(&new, object) {
            Ok(_) => {
                station.leave_links(id);
                Counts::add(&station.counts().objects, 1);
                Counts::add(&station.counts().bytes, summary.bytes);
                let line = format!(
                    "job {}: object of node {}: {} at {:.0} kbit/s over {}, beside others",
                    id.0,
                    station.facts.network.place.name_of(source),
                    count(summary.bytes, "byte"),
                    summary.goodput_kbps,
                    count(summary.hops, "hop")
                );
                station.log(Level::Info, &line);
                None
            }
            Err(why) => {
                Counts::add(&station.counts().failures, 1);
                station.log(Level::Warning, &format!("job {}: {why}", id.0));
                let (state, why) = (JobState::Failed, Some(why.to_string()));
                Some(JobEnd { id, state, why })
            }
        }
    }

    /// The end of a job whose transfer brought no object, for the reason `why`: cancelled, or queued again as `landing` says.
    fn end_without_object(
        &self,
        waves: &mut Waves,
        id: JobId,
        landing: Landing,
        why: &str,
    ) -> JobEnd {
        let station = &self.station;
        let end = |state| JobEnd {
            id,
            state,
            why: None,
        };
        if station.interrupted_state(id) == JobState::Cancelled {
            station.log(Level::Info, &format!("job {}: cancelled", id.0));
            return end(JobState::Cancelled);
        }
        let next = match landing {
            Landing::Again => "it is tried again beside others",
            _ => "it is fetched alone",
        };
        if landing != Landing::Again {
            waves.schedule.take_leftover();
            waves.alone.insert(id);
        }
        Counts::add(&station.counts().retries, 1);
        station.log(Level::Warning, &format!("job {}: {why}; {next}", id.0));
        end(JobState::Queued)
    }

    /// The summary of a transfer that brought its object, and what its job's page shows of it.
    fn report(
        &self,
        waves: &Waves,
        begun: &[Begun],
        of: &Begun,
        (result, attempts): (&TransferResult, u32),
    ) -> (Summary, String) {
        let (station, terms) = (&self.station, &waves.terms);
        let network = &station.facts.network;
        let protocol = Pipelined::plain(terms.scheme);
        let account = Account {
            protocol: protocol.name,
            scheme: terms.scheme,
            network: &network.place.name,
            ids: &network.place.ids,
            seed: network.draw.1,
            sealing: network.sealing(),
        };
        let payload = usize::from(terms.transfer.payload.bytes());
        let packets = result
            .object
            .as_ref()
            .map_or(0, |o| o.len().div_ceil(payload));
        let summary = Summary {
            attempts,
            ..result.summary(&of.plan, &account, packets as u32)
        };
        let others = begun.iter().filter(|other| other.job.id != of.job.id);
        let course = station.running_job(of.job.id);
        let shown = InWave {
            outcome: Outcome {
                summary: summary.clone(),
                details: Details {
                    predicted_goodput_kbps: predicted_kbps(&of.plan, terms.scheme),
                    beside: others.map(|other| other.job.id).collect(),
                },
            },
            tries: [Try::of(
                station,
                &ProtocolPlan::new(of.plan.clone(), protocol, network.sealing()),
            )],
            course: &course.map_or(Vec::new(), |running| running.course),
        };
        let json = serde_json::to_string(&shown).unwrap_or_default();
        (summary, json)
    }
}

/// Whether the object of a fetch needs several transfers, which go alone.
fn is_long(station: &StationState, job: &StoredJob) -> Result<bool, StoreError> {
    let Work::Fetch { from } = job.work else {
        return Ok(false);
    };
    let request = plan::request(station, from)?;
    Ok(request.bytes > u64::from(request.segment_bytes()))
}
