//! The transfers of a route and what they leave in rows.

use super::draw::Drawn;
use super::mishap::Mishap;
use super::{Cell, Transfers};
use crate::collect::random_object;
use crate::experiment::Result;
use crate::explain::{self, LossMap};
use crate::field::{Motes, Repairs};
use crate::results::{name_of, Row, SEED};
use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use thalweg_gateway::carry::pipeline::Terms;
use thalweg_gateway::outcome::{Core, Outcome};
use thalweg_gateway::registry::Pipelined;
use thalweg_medium::random::{derive, stream};
use thalweg_planner::Plan;
use thalweg_testbeds::Site;
use thalweg_wire::route::Scheme;

/// Columns of every transfer.
pub(in crate::experiment) const OUTCOME: &str =
    "source sink hops paths active_nodes goodput_kbps rounds duration_s wake_up_s bytes \
    attempts verified energy_j network_energy_j survey_s cold_s cold_goodput_kbps r1 retransmitted \
    failure";

/// Columns of a transfer over a route that was drawn.
pub(in crate::experiment) const ROUTE: &str =
    "route protocol exact wrong shortest payload object_bytes age_s rate_kbps utilisation \
    utilisation_without_overhead predicted_kbps max_paths route_hops mishap";

/// One transfer of an experiment.
pub(in crate::experiment) struct Task<'a> {
    drawn: &'a Drawn,
    route: usize,
    pub(in crate::experiment) plan: Plan,
    variant: Pipelined,
    cell: Cell,
}

/// A transfer, and what its sink gave out beside what the source had.
struct Fetched {
    outcome: Outcome<Repairs>,
    /// Whether it is the source's object, byte for byte; none where the sink gave out nothing.
    is_same: Option<bool>,
}

impl Transfers {
    pub(super) fn route_rows(&self, drawn: &Drawn, route: usize) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        // Of a cell, only the number of paths has a part in a plan.
        let mut plans: BTreeMap<(&str, Option<usize>), Option<Plan>> = BTreeMap::new();
        for cell in self.cells() {
            let mut cell_rows = Vec::new();
            let mut baseline: Option<Core> = None;
            for &variant in &self.protocols {
                let plan = plans
                    .entry((variant.name, cell.max_paths))
                    .or_insert_with(|| self.plan(drawn, route, variant, cell.max_paths));
                let Some(plan) = plan.as_ref().filter(|plan| cell.mishap.can_strike(plan)) else {
                    continue;
                };
                let task = Task {
                    drawn,
                    route,
                    plan: plan.clone(),
                    variant,
                    cell,
                };
                let fetched = self.fetch(&task, &drawn.site.aged(cell.age)?)?;
                cell_rows.push(self.row(&task, &fetched));
                if self.baseline == Some(variant) {
                    baseline = Some(fetched.outcome.core);
                }
            }
            if let Some(b) = baseline {
                for row in &mut cell_rows {
                    row.set("baseline_goodput_kbps", b.goodput_kbps);
                    row.set("baseline_active_nodes", b.active_nodes);
                    row.set_some("baseline_energy_j", b.energy_j.filter(|_| b.verified));
                }
            }
            rows.extend(cell_rows);
        }
        Ok(rows)
    }

    /// A transfer with its cell's mishap.
    fn fetch(&self, task: &Task<'_>, site: &Site) -> Result<Fetched> {
        let (mut session, terms) = self.session(task, site)?;
        let mishap = task.cell.mishap;
        if mishap != Mishap::None {
            let (mut probe, _) = self.session(task, site)?;
            let mut rng = stream(task.drawn.site.seed, "mishap", &[task.route as u64]);
            let (plan, variant) = (&task.plan, task.variant);
            mishap.arrange(&mut session, &mut probe, plan, variant, &terms, &mut rng)?;
        }
        self.finish(&mut session, task, &terms)
    }

    /// Fetches in `session`, and compares what arrives with what was offered.
    fn finish(&self, session: &mut Motes, task: &Task<'_>, terms: &Terms) -> Result<Fetched> {
        let (scheme, mut silent) = (task.variant.scheme, |_| Continue(()));
        let (mut outcome, arrived) = session.fetch(&task.plan, scheme, terms, &mut silent)?;
        let surveyed = task.drawn.known_to(task.variant);
        let survey_s = surveyed.time().as_secs_f64();
        outcome.core.after(survey_s, surveyed.joules);
        let is_same = arrived.map(|arrived| arrived[..] == self.object(task)[..]);
        Ok(Fetched { outcome, is_same })
    }

    /// The transfer of the first cell over a route; none where no plan is found.
    pub(in crate::experiment) fn task<'a>(
        &self,
        drawn: &'a Drawn,
        route: usize,
        variant: Pipelined,
    ) -> Option<Task<'a>> {
        let cell = self.first_cell();
        Some(Task {
            drawn,
            route,
            plan: self.plan(drawn, route, variant, cell.max_paths)?,
            variant,
            cell,
        })
    }

    /// Where the packets of a transfer were lost.
    pub(super) fn loss_map(&self, task: &Task<'_>) -> Result<LossMap> {
        let (mut session, terms) = self.session(task, &task.drawn.site.aged(task.cell.age)?)?;
        let (scheme, mut silent) = (task.variant.scheme, |_| Continue(()));
        Ok(explain::fetch(&mut session, &task.plan, scheme, &terms, &mut silent)?.1)
    }

    /// A network whose source offers the object of the cell.
    fn session(&self, task: &Task<'_>, site: &Site) -> Result<(Motes, Terms)> {
        // Without the variant, so that all of them meet the same run of the environment.
        let seed = derive(task.drawn.site.seed, &self.draw, &[]);
        let seed = derive(seed, "route", &[task.route as u64]);
        let mut session = Motes::open(site, seed)?;
        session.offer(task.plan.source, self.object(task));
        let terms = task.variant.terms(Terms {
            payload: task.cell.payload,
            ..Terms::default()
        });
        Ok((session, terms))
    }

    /// The object that the source offers.
    fn object(&self, task: &Task<'_>) -> Arc<[u8]> {
        let site = &task.drawn.site;
        let source = site.testbed.nodes[task.plan.source].id;
        random_object(site.seed, source, task.cell.bytes as usize)
    }

    /// A transfer without its mishap, in a network that `prepare` saw first.
    pub(in crate::experiment) fn fetch_prepared(
        &self,
        task: &Task<'_>,
        prepare: impl FnOnce(&mut Motes),
    ) -> Result<Row> {
        let (mut session, terms) = self.session(task, &task.drawn.site.aged(task.cell.age)?)?;
        prepare(&mut session);
        let fetched = self.finish(&mut session, task, &terms)?;
        Ok(self.row(task, &fetched))
    }

    /// A transfer at `site` instead of its own.
    pub(in crate::experiment) fn fetch_at(&self, task: &Task<'_>, site: &Site) -> Result<Row> {
        Ok(self.row(task, &self.fetch(task, site)?))
    }

    fn row(&self, task: &Task<'_>, fetched: &Fetched) -> Row {
        let &Task {
            drawn,
            route,
            ref plan,
            variant,
            cell,
        } = task;
        let (o, repairs) = (&fetched.outcome.core, &fetched.outcome.extra);
        let mut row = outcome_row(&fetched.outcome)
            .with("exact", u32::from(fetched.is_same == Some(true)))
            .with("wrong", u32::from(fetched.is_same == Some(false)))
            .with(SEED, drawn.site.seed)
            .with("route", route + 1)
            .with("protocol", variant.name)
            .with("shortest", plan.shortest)
            .with("payload", u32::from(cell.payload.bytes()))
            .with("object_bytes", cell.bytes)
            .with("age_s", cell.age.as_secs_f64())
            .with("rate_kbps", drawn.rate_kbps)
            .with("utilisation", o.goodput_kbps / drawn.rate_kbps);
        row.set_some("max_paths", cell.max_paths);
        if let (false, Some(pair)) = (self.hops.is_empty(), drawn.pairs.get(route)) {
            row.set("route_hops", pair.hops);
        }
        if !self.mishaps.is_empty() {
            row.set("mishap", name_of(&cell.mishap));
        }
        let data_s = o.duration_s - repairs.wake_up_s;
        if o.verified && data_s > 0.0 {
            let kbps = o.bytes as f64 * 8.0 / 1000.0 / data_s;
            row.set("utilisation_without_overhead", kbps / drawn.rate_kbps);
        }
        let predicted = match variant.scheme {
            Scheme::Pip(_) | Scheme::PipCit => plan.pip.prediction.goodput_kbps,
            Scheme::P3 => plan.prediction.goodput_kbps,
        };
        row.set("predicted_kbps", predicted);
        row
    }
}

/// What every row of a transfer tells.
pub(in crate::experiment) fn outcome_row(outcome: &Outcome<Repairs>) -> Row {
    let (o, repairs) = (&outcome.core, &outcome.extra);
    let mut row = Row::new()
        .with("source", u32::from(o.source.get()))
        .with("sink", u32::from(o.sink.get()))
        .with("hops", o.hops)
        .with("paths", o.paths)
        .with("active_nodes", o.active_nodes)
        .with("goodput_kbps", o.goodput_kbps)
        .with("rounds", o.rounds)
        .with("duration_s", o.duration_s)
        .with("wake_up_s", repairs.wake_up_s)
        .with("bytes", o.bytes)
        .with("attempts", o.attempts)
        .with("verified", u32::from(o.verified));
    row.set_some("energy_j", o.energy_j);
    row.set_some("network_energy_j", o.network_energy_j);
    if let Some(cold) = o.cold {
        row.set("survey_s", cold.survey_s);
        row.set("cold_s", cold.cold_s);
        row.set("cold_goodput_kbps", cold.cold_goodput_kbps);
    }
    row.set_some("r1", o.first_round_reliability);
    row.set_some("retransmitted", repairs.retransmitted);
    row.set_some("failure", o.failure.as_deref());
    row
}
