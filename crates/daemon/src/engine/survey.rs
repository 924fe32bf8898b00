//! The daemon's surveys: measure the links, store them, and plan with them from then on.
//!
//! Time base: the network's; the wall clock for how old links are. Tests: `survey_tests.rs`, `crates/daemon/tests/all/`.

use std::cell::Cell;
use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use thalweg_planner::LinkQualities;
use thalweg_units::{Cause, Duration as Span, NodeId, Restarts};

use super::stop::Stop;
use super::watched::{numbered, Watched};
use super::{account, plan, Runner};
use crate::clock::wall_time;
use crate::good_links::GoodLinks;
use crate::snapshot::LinkSnapshot;
use crate::station_state::{now, StationState};
use thalweg_host::connector::{Connector, Facts};
use thalweg_host::job::Progress;
use thalweg_host::link_state::{LinkState, PastSurvey, MAX_SURVEYS};
use thalweg_host::network::{Network, NetworkTime};
use thalweg_host::recovery::Sought;
use thalweg_host::store::{JobState, Level, NewSurvey, StoredJob, StoredSurvey, Work};
use thalweg_host::survey::{Restarted, SurveyOutcome as Surveyed};
use thalweg_host::text::count;

/// The survey's share of the progress of a job that has to measure links first.
const SURVEY_SHARE: f64 = 0.5;
/// The shortest time between two surveys of an idle station.
const IDLE_SURVEY_PERIOD: Duration = Duration::from_secs(600);

/// The outcome of a survey job, as JSON.
#[derive(Serialize)]
struct SurveyOutcome {
    duration_s: f64,
    links: usize,
    missing: Vec<u16>,
}

/// The state of the links of a network of `facts`: `links`, measured at `at` seconds since 1970, with what `earlier`
/// surveys add.
pub(super) fn link_state(
    facts: &Facts,
    (links, at): (LinkQualities, i64),
    earlier: Vec<StoredSurvey>,
) -> LinkState {
    let link_state = facts.network.link_state(links);
    // One that is dated later was measured under a clock that was ahead.
    let earlier = earlier
        .into_iter()
        .filter(|survey| survey.measured_at <= at);
    let earlier = earlier.map(|survey| PastSurvey {
        links: survey.links,
        at: wall_time(survey.measured_at),
    });
    link_state.with_history(earlier.collect(), wall_time(at))
}

impl<N: Connector> Runner<N> {
    /// The links, measured first where they are missing or old, and the share of the job's progress that this took.
    pub(super) fn links_for(
        &mut self,
        job: &StoredJob,
        name: &str,
    ) -> Result<(Arc<LinkSnapshot>, f64), Stop> {
        let station = self.station.clone();
        let mut base = 0.0;
        if !self.has_recent_links() || station.wants_links(job.id) {
            station.log(
                Level::Info,
                &format!("{name}: the links are measured first"),
            );
            self.survey(job, name, SURVEY_SHARE)?;
            base = SURVEY_SHARE;
        }
        match station.snapshot() {
            Some(snapshot) => Ok((snapshot, base)),
            None => Err(Stop::Failed("the links are not known".to_owned())),
        }
    }

    /// Measures all links, which is `share` of the job. A job that waits for links has them measured for nodes that others
    /// missed, too, until there is a route for it.
    pub(super) fn survey(&mut self, job: &StoredJob, name: &str, share: f64) -> Result<(), Stop> {
        let station = self.station.clone();
        let facts = &station.facts;
        let ids = &facts.network.place.ids;
        let before = station.snapshot();
        let wanted = match job.work {
            Work::Fetch { from } if station.waits_for_links(job.id) => {
                Some(plan::request(&station, from)?)
            }
            _ => None,
        };
        let missed = match (&before, &wanted) {
            (Some(before), None) => &before.missing[..],
            _ => &[],
        };
        let serves = |surveyed: &Surveyed, _| {
            let links = || facts.network.link_state(surveyed.links.clone());
            wanted.is_some_and(|wanted| plan::fastest(&station, &links(), &wanted).is_ok())
        };
        station.begin_phase(job.id, (0.0, share));
        let spent = self.spent();
        let (network, collector) = self.connection()?;
        let sweep = Cell::new(None);
        let mut watched = Watched {
            network,
            stop: &|| station.is_interrupted(),
            before: &|order| numbered(&station, order),
            recall: &|| None,
            tick: &|now| {
                if let Some(under_way) = sweep.get().map(|sweep: Sweep| sweep.seen(now)) {
                    sweep.set(Some(under_way));
                    station.progress(job.id, under_way.progress(now));
                }
            },
        };
        let mut watch = |progress| {
            sweep.set(Sweep::told(&progress));
            station.progress(job.id, progress);
            Continue(())
        };
        let began = watched.now();
        let protocol = station.transfers.protocol;
        let sought = Sought {
            serves: &serves,
            ..Sought::all_but(missed)
        };
        let surveyed = collector.survey(&mut watched, protocol, sought, &mut watch);
        let lasted = watched.now().since(began);
        account(&station, [&spent, &self.spent()], (ids, lasted));
        self.keep_links((job, name), surveyed?, before.as_deref())
    }

    /// Keeps what a survey measured, and plans over it from now on; a survey that was asked for is done.
    fn keep_links(
        &self,
        (job, name): (&StoredJob, &str),
        surveyed: Surveyed,
        before: Option<&LinkSnapshot>,
    ) -> Result<(), Stop> {
        let station = &self.station;
        let facts = &station.facts;
        let took_s = surveyed.time().as_secs_f64();
        let missing = surveyed.missing;
        let network = (station.network(), facts.network.sink);
        let most = MAX_SURVEYS as u32 - 1;
        let earlier = (station.store()).surveys(network, facts.network.place.ids.len(), most)?;
        let measured = surveyed.links.clone();
        let mut link_state = link_state(facts, (surveyed.links, now()), earlier);
        if let Some(before) = before {
            link_state = link_state.with_observations_of(&before.link_state);
        }
        let on = link_state.routing_channel();
        let links = link_state.links().summary(on).heard_pairs;
        let silent = silent(facts, &missing);
        let line = format!(
            "{name}: {} measured in {took_s:.1} s{silent}",
            count(links, "link")
        );
        let survey = NewSurvey {
            took_s,
            missing: &missing,
            batteries: &surveyed.batteries,
            links: &measured,
        };
        station.keep_survey(&survey)?;
        station.note_good_links(GoodLinks::of(&measured, now()));
        let outcome = SurveyOutcome {
            duration_s: took_s,
            links,
            missing: missing.iter().map(|node| node.get()).collect(),
        };
        log_restarts(station, name, before, &surveyed.restarts);
        // Before the job ends: a client that waits for that end then reads the new links.
        station.set_links(LinkSnapshot {
            link_state,
            at: now(),
            took_s,
            missing,
            batteries: surveyed.batteries,
            restarts: surveyed.restarts,
        });
        if job.work == Work::Survey {
            let outcome = serde_json::to_string(&outcome).unwrap_or_default();
            (station.store()).end_job(job.id, JobState::Done, Some(&outcome), None)?;
        }
        station.log(Level::Info, &line);
        Ok(())
    }

    /// Whether there are links that are not too old.
    pub(super) fn has_recent_links(&self) -> bool {
        let snapshot = self.station.snapshot();
        snapshot.is_some_and(|snapshot| !self.is_old(&snapshot))
    }

    fn is_old(&self, snapshot: &LinkSnapshot) -> bool {
        let most = self.station.transfers.resurvey_after_h * 3_600.0;
        snapshot.is_ahead() || snapshot.age_s() as f64 > most
    }

    /// Queues a survey where the links have grown old and no job can begin, for the reason `because`, so that the next
    /// transfer need not wait for one. At most once in the time that makes links old, even where the survey fails.
    pub(super) fn refresh(&mut self, because: &str) {
        let station = &self.station;
        if !station.is_open() {
            return;
        }
        let Some(snapshot) = station.snapshot().filter(|snapshot| self.is_old(snapshot)) else {
            return;
        };
        let period = Duration::from_secs_f64(station.transfers.resurvey_after_h * 3_600.0);
        let is_early = |last: Instant| last.elapsed() < period.max(IDLE_SURVEY_PERIOD);
        if self.refreshed.is_some_and(is_early) {
            return;
        }
        self.refreshed = Some(Instant::now());
        let age = match snapshot.is_ahead() {
            true => "dated ahead of the clock".to_owned(),
            false => format!("{:.1} h old", snapshot.age_s() as f64 / 3_600.0),
        };
        let line = format!("the links are {age}, and {because}: they are measured again");
        station.log(Level::Info, &line);
        // Every other job goes first.
        if let Err(why) = station.submit(&[Work::Survey], i8::MIN) {
            tracing::error!("{why}");
        }
    }
}

/// A sweep under way.
#[derive(Clone, Copy)]
struct Sweep {
    of: u16,
    lasts: Span,
    /// When it was first seen, by the network's time.
    begun: Option<NetworkTime>,
}

impl Sweep {
    /// The sweep that `progress` tells of, if it does.
    const fn told(progress: &Progress) -> Option<Self> {
        match *progress {
            Progress::Sweeping { of, lasts } => Some(Self {
                of,
                lasts,
                begun: None,
            }),
            _ => None,
        }
    }
    /// The sweep, which has begun by `now`.
    fn seen(self, now: NetworkTime) -> Self {
        let begun = self.begun.or(Some(now));
        Self { begun, ..self }
    }
    /// How far it is.
    fn progress(self, now: NetworkTime) -> Progress {
        let time = now.since(self.begun.unwrap_or(now));
        swept(self.of, time, self.lasts)
    }
}

/// How far a sweep over `of` nodes is after `time` of what it lasts: as many nodes' turns.
fn swept(of: u16, time: Span, lasts: Span) -> Progress {
    let share = time.as_secs_f64() / lasts.as_secs_f64().max(1e-9);
    let turn = (share * f64::from(of)) as u16;
    Progress::Measuring {
        turn: turn.min(of.saturating_sub(1)),
        of,
    }
}

/// Which nodes of a network of `facts` said nothing, for the end of a line; nothing where all did.
fn silent(facts: &Facts, missing: &[NodeId]) -> String {
    let place = &facts.network.place;
    let named: Vec<String> = missing.iter().map(|node| place.named(*node)).collect();
    match named.len() {
        0 => String::new(),
        silent => format!(
            ", {silent} of {} silent: {}",
            count(place.ids.len(), "node"),
            named.join(", ")
        ),
    }
}

/// Logs those of `restarts` that the survey `before` did not know of.
fn log_restarts(
    station: &StationState,
    name: &str,
    before: Option<&LinkSnapshot>,
    restarts: &[(NodeId, Restarts)],
) {
    let known = before.map_or(&[][..], |before| &before.restarts);
    // A node tells of each time that power came once.
    let is_new =
        |told: &&(NodeId, Restarts)| told.1.last() == Cause::PowerOn || !known.contains(told);
    let told = restarts.iter().filter(is_new);
    let told: Vec<Restarted> = told.map(Restarted::from).collect();
    for line in Restarted::lines(&told) {
        station.log(Level::Warning, &format!("{name}: {line}"));
    }
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
