//! The daemon's fetches: plan, a transfer for each part, other plans where it breaks off, the object into the store.
//!
//! Invariants: an object is stored with its job's end, or neither is; parts are stored as they come, until their job
//! ends. Time base: the field's.

use std::ops::ControlFlow::Continue;
use std::sync::Arc;

use thalweg_planner::Plan;
use thalweg_units::{Duration as Span, NodeId};

use super::stop::Stop;
use super::survey::wall;
use super::watched::Watched;
use super::{plan, seen, Station};
use crate::carry::account::Account;
use crate::carry::pipeline::{settling, Fetch, Terms, SETTLING};
use crate::carry::ways::Ways;
use crate::daemon::desk::now;
use crate::daemon::limits::Wait;
use crate::daemon::network::Network;
use crate::field::Field;
use crate::job::{run, Again, Failure, Retry};
use crate::known::{hops_seen, Ask};
use crate::outcome::Outcome;
use crate::parts::{self, Assembly, Part, Turn};
use crate::recovery;
use crate::registry::Pipelined;
use crate::store::{Level, NewTransfer, StoredJob};

/// A transfer that breaks off is begun again over another plan.
const RETRY: Retry = Retry {
    attempts: 3,
    again: Again::NewPlan,
};
/// A plan, and what goes over it.
type Over = (Arc<Plan>, Pipelined);
/// A transfer that has ended, and what it brought.
type Brought = (Outcome<()>, Option<Part>);

impl<N: Network> Station<N> {
    /// Brings the object of node `from`.
    pub(super) fn fetch(&mut self, job: &StoredJob, name: &str, from: NodeId) -> Result<(), Stop> {
        let (surveyed, base) = self.surveyed(job, name)?;
        let desk = self.desk.clone();
        let mut there = Assembly::of_kept(desk.store().parts(job.id)?);
        desk.begins((base, 1.0));
        let protocol = desk.transfers.protocol;
        let holds = desk.holds()?;
        if let Some(wait) = holds.of_job(job) {
            // What was just measured tells so.
            return Err(Stop::Held(wait));
        }
        let left_alone = holds.nodes();
        let all = surveyed.known.viewed_at(wall(now()));
        let known = &all.without(&left_alone);
        let ask = plan::ask(&desk, from)?;
        let again = Ask {
            protocol: Pipelined::P3,
            ..ask
        };
        let first = match known.plan(&ask) {
            Ok(plan) => Arc::new(plan),
            Err(_) if !left_alone.is_empty() && all.plan(&ask).is_ok() => {
                desk.is_cut_off(job.id, &left_alone);
                return Err(Stop::Held(Wait::CutOff(left_alone.into_iter().collect())));
            }
            Err(why) => return Err(why.into()),
        };
        plan::expect(&desk, job, (known, &first), &ask)?;
        let attempt = |(plan, of): &Over, turn: Turn| {
            match turn.tried {
                0 if turn.of == 1 => {}
                0 => {
                    let line = format!("{name}: part {} of {}", turn.number, turn.of);
                    desk.log(Level::Info, &line);
                }
                _ => {
                    let line = format!("{name}: broke off; another plan is tried");
                    desk.log(Level::Warning, &line);
                }
            }
            let protocol = *of;
            let (outcome, part) = self.carry(plan, &Ask { protocol, ..ask }, turn)?;
            if let Some(part) = &part {
                (desk.store()).keep_part(job.id, turn.range.offset, part)?;
            }
            Ok::<Brought, Stop>((outcome, part))
        };
        let next = |_: &Over, tried: u32| {
            let plan = known.plan_attempt(&again, u64::from(tried)).ok();
            let plan = plan.filter(|_| protocol.has_paths()).map(Arc::new);
            plan.map(|plan| (plan, again.protocol))
        };
        let terms = parts::Terms {
            part_bytes: ask.part_bytes(),
            expected: ask.bytes,
            retry: RETRY,
            pause: SETTLING,
        };
        let rest = |(_, of): &Over| settling(of.scheme);
        let brought = parts::fetch(&mut there, terms, (first, protocol), rest, attempt, next)?;
        let (mut outcome, object) = (brought.outcome, brought.object);
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

    /// One transfer over `plan`.
    fn carry(&mut self, plan: &Arc<Plan>, ask: &Ask, turn: Turn) -> Result<Brought, Stop> {
        let desk = self.desk.clone();
        let (ids, scheme) = (&desk.facts.place.ids, ask.protocol.scheme);
        let faithful = Terms {
            range: turn.range,
            payload: ask.payload,
            ..Terms::default()
        };
        let terms = ask.protocol.terms(faithful);
        let ways = Ways::of(plan, scheme, &terms, ids)?;
        let payload = u32::from(terms.payload.bytes());
        desk.planned(plan, turn.bytes.div_ceil(u64::from(payload)) as u32);
        let first = self.transfers.wrapping_add(1);
        let mut fetch = Fetch::new(ways, first, ids, &terms);
        let (broken, before) = (self.broken, self.spent());
        let field = self.field()?;
        let mut watched = Watched {
            field,
            stop: &|| desk.is_unwanted(),
        };
        if let Some(since) = broken {
            recovery::settle(&mut watched, since)?;
        }
        let began = watched.now();
        let fetched = run(&mut watched, &mut fetch, &mut |progress| {
            desk.progress(progress.after(turn.range.offset / payload));
            Continue(())
        });
        let ended = watched.now();
        self.transfers = self.transfers.wrapping_add(fetch.attempts() as u16);
        let is_whole = matches!(&fetched, Ok(fetched) if fetched.part.is_some());
        let settled = is_whole && settling(scheme).is_zero();
        self.broken = (!settled).then_some(ended);
        // Who has not heard that it is over listens for so much longer.
        let rest = match settled {
            true => Span::ZERO,
            false => SETTLING,
        };
        let lasted = ended.since(began) + rest;
        self.account(&before, (fetch.active(), lasted));
        let account = Account {
            protocol: ask.protocol.name,
            scheme,
            network: desk.network(),
            ids,
            seed: desk.facts.draw.1,
        };
        match fetched {
            Ok(fetched) => {
                let brought = fetched.part.as_ref().map_or(0, |part| part.bytes.len());
                let packets = (brought as u32).div_ceil(payload);
                let hops = hops_seen((plan, ids), packets, &fetched, wall(now()));
                seen::note(&desk, &hops);
                let core = account.of(plan, &fetched, (&terms, &desk.facts.timing));
                Ok((Outcome { core, extra: () }, fetched.part))
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
