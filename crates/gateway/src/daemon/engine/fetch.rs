//! The daemon's fetches: plan, transfer, other plans where it breaks off, the object into the store.
//!
//! Invariant: an object is stored with its job's end, or neither is. Time base: the field's.

use std::ops::ControlFlow::Continue;
use std::sync::Arc;

use thalweg_planner::Plan;
use thalweg_units::NodeId;

use super::stop::Stop;
use super::survey::wall;
use super::watched::Watched;
use super::{plan, Station};
use crate::carry::account::Account;
use crate::carry::pipeline::{settling, Fetch, Terms, Way, SETTLING};
use crate::daemon::desk::{now, Surveyed};
use crate::daemon::network::Network;
use crate::field::Field;
use crate::job::{run, Again, Failure, Retry};
use crate::known::{hops_seen, Ask, HopSeen};
use crate::outcome::{over_plans, Outcome};
use crate::recovery;
use crate::registry::Pipelined;
use crate::store::{Level, NewTransfer, StoredJob};

/// A transfer that breaks off is begun again over another plan.
const RETRY: Retry = Retry {
    attempts: 3,
    again: Again::NewPlan,
};
/// A transfer that has ended, and the object where it is whole.
type Brought = (Outcome<()>, Option<Vec<u8>>);

impl<N: Network> Station<N> {
    /// Brings the object of node `from`.
    pub(super) fn fetch(&mut self, job: &StoredJob, name: &str, from: NodeId) -> Result<(), Stop> {
        let (surveyed, base) = self.surveyed(job, name)?;
        let desk = self.desk.clone();
        desk.begins((base, 1.0));
        let (known, protocol) = (
            surveyed.known.viewed_at(wall(now())),
            desk.transfers.protocol,
        );
        let ask = plan::ask(&desk, from)?;
        let again = Ask {
            protocol: Pipelined::P3,
            ..ask
        };
        let first = Arc::new(known.plan(&ask)?);
        plan::expect(&desk, job, (&known, &first), &ask)?;
        let attempt = |plan: &Arc<Plan>, tried: u32| {
            let ask = if tried > 0 { &again } else { &ask };
            if tried > 0 {
                let line = format!("{name}: broke off; another plan is tried");
                desk.log(Level::Warning, &line);
            }
            self.carry(plan, ask)
        };
        let next = |_: &Arc<Plan>, tried: u32| {
            let plan = known.plan_attempt(&again, u64::from(tried)).ok();
            plan.filter(|_| protocol.has_paths()).map(Arc::new)
        };
        let (mut outcome, object, _) = over_plans(RETRY, SETTLING, first, attempt, next)?;
        outcome.core.protocol = protocol.name.to_owned();
        let core = &outcome.core;
        let report = serde_json::to_string(&outcome).unwrap_or_default();
        let new = NewTransfer {
            record: core,
            baseline: None,
            report: &report,
            campaign: None,
            job: Some(job.id),
            file: None,
        };
        let Some(object) = object else {
            desk.store().note(&new)?;
            let why = core.failure.clone();
            let why = why.unwrap_or_else(|| "the object is not whole".to_owned());
            return Err(Stop::Failed(why));
        };
        // With its job's end, or neither.
        desk.keep(&new, &object)?;
        let line = format!(
            "{name}: {} bytes at {:.0} kbit/s over {} hops in {:.1} s",
            core.bytes, core.goodput_kbps, core.hops, core.duration_s
        );
        desk.log(Level::Info, &line);
        Ok(())
    }

    /// Refreshes what is known of the links by what a transfer saw of them.
    fn saw(&self, hops: &[HopSeen]) {
        let Some(surveyed) = self.desk.surveyed().filter(|_| !hops.is_empty()) else {
            return;
        };
        let mut known = surveyed.known.clone();
        known.saw(hops);
        self.desk.knows(Surveyed {
            known,
            at: surveyed.at,
            took_s: surveyed.took_s,
            missing: surveyed.missing.clone(),
        });
    }

    /// One transfer over `plan`.
    fn carry(&mut self, plan: &Arc<Plan>, ask: &Ask) -> Result<Brought, Stop> {
        let desk = self.desk.clone();
        let (ids, scheme) = (&desk.facts.place.ids, ask.protocol.scheme);
        let faithful = Terms {
            payload: ask.payload,
            ..Terms::default()
        };
        let terms = ask.protocol.terms(faithful);
        let way = Way::of(plan, scheme, &terms, ids)?;
        let others = plan.others.iter();
        let others = others.filter_map(|plan| Way::of(plan, scheme, &terms, ids).ok());
        let others = others.collect();
        let payload = u64::from(terms.payload.bytes());
        desk.planned(plan, ask.bytes.div_ceil(payload) as u32);
        let first = self.transfers.wrapping_add(1);
        let mut fetch = Fetch::new(way, others, first, ids, &terms);
        let broken = self.broken;
        let field = self.field()?;
        let mut watched = Watched {
            field,
            stop: &|| desk.is_unwanted(),
        };
        if let Some(since) = broken {
            recovery::settle(&mut watched, since)?;
        }
        let fetched = run(&mut watched, &mut fetch, &mut |progress| {
            desk.progress(progress);
            Continue(())
        });
        let ended = watched.now();
        self.transfers = self.transfers.wrapping_add(fetch.attempts() as u16);
        let is_whole = matches!(&fetched, Ok(fetched) if fetched.object.is_some());
        let settled = is_whole && settling(scheme).is_zero();
        self.broken = (!settled).then_some(ended);
        let account = Account {
            protocol: ask.protocol.name,
            scheme,
            network: desk.network(),
            ids,
            seed: desk.facts.draw.1,
        };
        match fetched {
            Ok(fetched) => {
                let packets = ask.bytes.div_ceil(payload) as u32;
                self.saw(&hops_seen(plan, packets, &fetched, wall(now())));
                let core = account.of(plan, &fetched, (&terms, &desk.facts.timing));
                Ok((Outcome { core, extra: () }, fetched.object))
            }
            // As good as broken off.
            Err(why @ (Failure::Refused(_) | Failure::NoEnd(_))) => {
                let mut core = account.nothing(plan);
                core.failure = Some(why.to_string());
                Ok((Outcome { core, extra: () }, None))
            }
            Err(why) => Err(why.into()),
        }
    }
}
