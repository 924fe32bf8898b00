//! The daemon's surveys: links are measured, kept, and known from then on.
//!
//! Time base: the field's; the wall's clock for how old links are.

use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use thalweg_planner::LinkQualities;
use thalweg_units::Duration as Span;

use super::stop::Stop;
use super::watched::Watched;
use super::{account, Station};
use crate::desk::{now, Surveyed};
use thalweg_host::connector::{Connector, Facts};
use thalweg_host::link_state::{LinkState, Measured as MeasuredThen, MOST_SURVEYS};
use thalweg_host::network::{Network, NetworkTime};
use thalweg_host::store::{JobState, Level, NewSurvey, StoredJob, StoredSurvey, Work};

/// Of a job that has to measure links first, so much of the progress is the survey's.
const SURVEYING: f64 = 0.5;
/// Links are measured for want of another job no more often.
const SELDOM: Duration = Duration::from_secs(600);

/// What came of a survey.
#[derive(Serialize)]
struct Measured {
    duration_s: f64,
    links: usize,
    missing: Vec<u16>,
}

/// So many seconds since 1970 on the clock that links are dated by: the wall's, since fields' times end with them.
pub(super) fn wall(at: i64) -> NetworkTime {
    NetworkTime::ZERO + Span::from_secs(u64::try_from(at).unwrap_or(0))
}

/// `links` as measured at `at`, seconds since 1970, and what `earlier` surveys add, as they are known of a network of
/// `facts`.
pub(super) fn known(
    facts: &Facts,
    (links, at): (LinkQualities, i64),
    earlier: Vec<StoredSurvey>,
) -> LinkState {
    let known = facts.network.known(links);
    let earlier = earlier.into_iter().map(|survey| MeasuredThen {
        links: survey.links,
        at: wall(survey.measured_at),
    });
    known.after(earlier.collect(), wall(at))
}

impl<N: Connector> Station<N> {
    /// The links as they are known, and the share of the job that it took to measure them where that was due.
    pub(super) fn surveyed(
        &mut self,
        job: &StoredJob,
        name: &str,
    ) -> Result<(Arc<Surveyed>, f64), Stop> {
        let desk = self.desk.clone();
        let mut base = 0.0;
        if !self.is_known() {
            desk.log(
                Level::Info,
                &format!("{name}: the links are measured first"),
            );
            self.survey(job, name, SURVEYING)?;
            base = SURVEYING;
        }
        match desk.surveyed() {
            Some(surveyed) => Ok((surveyed, base)),
            None => Err(Stop::Failed("the links are not known".to_owned())),
        }
    }

    /// Measures all links, which is `share` of the job.
    pub(super) fn survey(&mut self, job: &StoredJob, name: &str, share: f64) -> Result<(), Stop> {
        let desk = self.desk.clone();
        let facts = &desk.facts;
        let ids = &facts.network.place.ids;
        let before = desk.surveyed();
        let missed = before.as_ref().map_or(&[][..], |before| &before.missing);
        desk.begins((0.0, share));
        let spent = self.spent();
        let (field, collector) = self.way()?;
        let mut watched = Watched {
            field,
            stop: &|| desk.is_unwanted(),
        };
        let mut watch = |progress| {
            desk.progress(progress);
            Continue(())
        };
        let began = watched.now();
        let protocol = desk.transfers.protocol;
        let surveyed = collector.survey(&mut watched, protocol, missed, &mut watch);
        let lasted = watched.now().since(began);
        account(&desk, [&spent, &self.spent()], (ids, lasted));
        let surveyed = surveyed?;
        let took_s = surveyed.time().as_secs_f64();
        let missing = surveyed.missing;
        let network = (desk.network(), facts.network.sink);
        let most = MOST_SURVEYS as u32 - 1;
        let earlier = desk
            .store()
            .surveys(network, facts.network.place.ids.len(), most)?;
        let measured = surveyed.links.clone();
        let mut known = known(facts, (surveyed.links, now()), earlier);
        if let Some(before) = &before {
            known = known.remembering(&before.known);
        }
        let links = known.links().summary(known.routing_channel()).heard_pairs;
        let line = format!(
            "{name}: {links} links measured in {took_s:.1} s, {} tables missing",
            missing.len()
        );
        let survey = NewSurvey {
            took_s,
            missing: &missing,
            batteries: &surveyed.batteries,
            links: &measured,
        };
        desk.keep_survey(&survey)?;
        let measured = Measured {
            duration_s: took_s,
            links,
            missing: missing.iter().map(|node| node.get()).collect(),
        };
        // Whoever hears that it is done asks what is known.
        desk.knows(Surveyed {
            known,
            at: now(),
            took_s,
            missing,
            batteries: surveyed.batteries,
        });
        if job.work == Work::Survey {
            let outcome = serde_json::to_string(&measured).unwrap_or_default();
            (desk.store()).end_job(job.id, JobState::Done, Some(&outcome), None)?;
        }
        desk.log(Level::Info, &line);
        Ok(())
    }

    /// Whether links are known that are not too old.
    pub(super) fn is_known(&self) -> bool {
        let surveyed = self.desk.surveyed();
        surveyed.is_some_and(|surveyed| !self.is_old(&surveyed))
    }

    fn is_old(&self, surveyed: &Surveyed) -> bool {
        let most = self.desk.transfers.resurvey_after_h * 3_600.0;
        ((now() - surveyed.at) as f64) > most
    }

    /// While no job can begin, for the reason `because`: asks for a survey where the links have grown old, so that the next
    /// transfer need not wait for one. No more than once in the time that makes them old, whatever comes of it.
    pub(super) fn refresh(&mut self, because: &str) {
        let desk = &self.desk;
        if !desk.is_open() {
            return;
        }
        let Some(surveyed) = desk.surveyed().filter(|surveyed| self.is_old(surveyed)) else {
            return;
        };
        let period = Duration::from_secs_f64(desk.transfers.resurvey_after_h * 3_600.0);
        let is_early = |last: Instant| last.elapsed() < period.max(SELDOM);
        if self.refreshed.is_some_and(is_early) {
            return;
        }
        self.refreshed = Some(Instant::now());
        let age_h = (now() - surveyed.at) as f64 / 3_600.0;
        let line = format!("the links are {age_h:.1} h old, and {because}: they are measured anew");
        desk.log(Level::Info, &line);
        // Whatever somebody asks for goes first.
        if let Err(why) = desk.submit(&[Work::Survey], i8::MIN) {
            tracing::error!("{why}");
        }
    }
}
