//! The daemon's fetches: what a [`Collector`](thalweg_host::collector::Collector) brings goes into the store.
//!
//! Invariants: an object is stored with its job's end, or neither is; parts are stored as they come, until their job
//! ends. Time base: the field's.

use std::ops::ControlFlow::{self, Continue};
use std::sync::Arc;

use thalweg_units::NodeId;

use super::stop::Stop;
use super::survey::wall;
use super::watched::Watched;
use super::{account, plan, read_meters, seen, Station};
use crate::desk::{now, Desk};
use crate::limits::Wait;
use thalweg_host::collector::{Ended, Keeper, Over, Report, Request};
use thalweg_host::connector::Connector;
use thalweg_host::job::Progress;
use thalweg_host::link_state::HopSeen;
use thalweg_host::network::Network;
use thalweg_host::segments::{Assembly, Attempt};
use thalweg_host::store::{JobId, Level, NewTransfer, StoredJob};
use thalweg_host::transfer::pipeline::Terms;

impl<N: Connector> Station<N> {
    /// Brings the object of node `from`.
    pub(super) fn fetch(&mut self, job: &StoredJob, name: &str, from: NodeId) -> Result<(), Stop> {
        let (surveyed, base) = self.surveyed(job, name)?;
        let desk = self.desk.clone();
        let mut there = Assembly::of_kept(desk.store().parts(job.id)?);
        desk.begins((base, 1.0));
        let holds = desk.holds()?;
        if let Some(wait) = holds.of_job(job) {
            // What was just measured tells so.
            return Err(Stop::Held(wait));
        }
        let left_alone = holds.nodes();
        let all = surveyed.known.viewed_at(wall(now()));
        let known = all.without(&left_alone);
        let ask = plan::ask(&desk, from)?;
        let first = match known.plan(&ask) {
            Ok(plan) => Arc::new(plan),
            Err(_) if !left_alone.is_empty() && all.plan(&ask).is_ok() => {
                desk.is_cut_off(job.id, &left_alone);
                return Err(Stop::Held(Wait::CutOff(left_alone.into_iter().collect())));
            }
            Err(why) => return Err(why.into()),
        };
        plan::expect(&desk, job, (&known, &first), &ask)?;
        let request = Request {
            known: &known,
            ask,
            plan: first,
            survey: None,
        };
        let mut keeper = StoreKeeper {
            desk: &desk,
            job: job.id,
            name,
            spent: Vec::new(),
            before: 0,
        };
        let (field, collector) = self.way()?;
        let mut watched = Watched {
            field,
            stop: &|| desk.is_unwanted(),
        };
        let report = collector.fetch(&mut watched, &request, &mut there, &mut keeper)?;
        finish(&desk, (job, name), &report)
    }
}

/// Stores what came of `job`.
fn finish(desk: &Desk, (job, name): (&StoredJob, &str), report: &Report) -> Result<(), Stop> {
    let summary = &report.outcome.summary;
    let told = serde_json::to_string(report).unwrap_or_default();
    let new = NewTransfer {
        record: summary,
        baseline: None,
        report: &told,
        campaign: None,
        job: Some(job.id),
        file: None,
    };
    let Some(object) = &report.object else {
        desk.store().note(&new)?;
        let why = summary.failure.clone();
        let why = why.unwrap_or_else(|| "the object is not whole".to_owned());
        return Err(Stop::Failed(why));
    };
    // With its job's end, or neither.
    desk.keep(&new, object)?;
    let line = format!(
        "{name}: {} bytes at {:.0} kbit/s over {} hops in {:.1} s",
        summary.bytes, summary.goodput_kbps, summary.hops, summary.duration_s
    );
    desk.log(Level::Info, &line);
    Ok(())
}

/// Puts what comes of a job into the store, and shows the job's progress.
struct StoreKeeper<'a> {
    desk: &'a Desk,
    job: JobId,
    name: &'a str,
    /// What each node had spent when the transfer began, in joules.
    spent: Vec<(NodeId, f64)>,
    /// Packets of the object that came before it.
    before: u32,
}

impl<F: Network> Keeper<F> for StoreKeeper<'_> {
    type Error = Stop;

    fn begin(
        &mut self,
        field: &mut F,
        over: &Over,
        (turn, terms): (&Attempt, &Terms),
    ) -> Result<(), Stop> {
        let name = self.name;
        match turn.tried {
            0 if turn.of == 1 => {}
            0 => {
                let line = format!("{name}: part {} of {}", turn.number, turn.of);
                self.desk.log(Level::Info, &line);
            }
            _ => {
                let line = format!("{name}: broke off; another plan is tried");
                self.desk.log(Level::Warning, &line);
            }
        }
        let payload = u32::from(terms.payload.bytes());
        self.before = turn.range.offset / payload;
        let packets = turn.bytes.div_ceil(u64::from(payload)) as u32;
        self.desk.planned(&over.plan, packets);
        self.spent = read_meters(field, self.desk);
        Ok(())
    }
    fn progress(&mut self, _protocol: &str, progress: Progress) -> ControlFlow<()> {
        if !matches!(progress, Progress::Planned { .. }) {
            self.desk.progress(progress.after(self.before));
        }
        Continue(())
    }
    fn end(&mut self, field: &mut F, ended: &Ended<'_>) -> Result<(), Stop> {
        let after = read_meters(field, self.desk);
        account(self.desk, [&self.spent, &after], (ended.active, ended.on));
        // Links are dated by the wall's clock: fields' times end with them.
        let at = wall(now());
        let hops = ended.seen.iter().map(|hop| HopSeen { at, ..*hop });
        seen::note(self.desk, &hops.collect::<Vec<_>>());
        if let Some(part) = ended.part {
            (self.desk.store()).keep_part(self.job, ended.range.offset, part)?;
        }
        Ok(())
    }
}
