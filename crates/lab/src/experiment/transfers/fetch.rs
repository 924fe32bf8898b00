//! The transfers of a route and what they leave in rows.

use super::draw::Drawn;
use super::mishap::Mishap;
use super::{Cell, Transfers};
use crate::collect::random_object;
use crate::experiment::row::Row;
use crate::experiment::{metric, ExperimentError};
use crate::explain::{self, LossMap};
use crate::transfer::{Outcome, Protocol, Session, Terms};
use crate::variant::Variant;
use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use thalweg_medium::random::{derive, stream};
use thalweg_medium::Environment;
use thalweg_planner::Plan;

impl Transfers {
    pub(super) fn route_rows(
        &self,
        drawn: &Drawn,
        route: usize,
    ) -> Result<Vec<Row>, ExperimentError> {
        let mut rows = Vec::new();
        for cell in self.cells() {
            let mut cell_rows = Vec::new();
            let mut baseline: Option<Outcome> = None;
            for &variant in &self.protocols {
                let plan = self.plan(drawn, route, variant, cell.max_paths);
                let Some(plan) = plan.filter(|plan| cell.mishap.can_strike(plan)) else {
                    continue;
                };
                let outcome = self.fetch(drawn, route, &plan, variant, &cell, None)?;
                if self.baseline == Some(variant) {
                    baseline = Some(outcome.clone());
                }
                cell_rows.push(self.row(drawn, route, &plan, variant, &cell, &outcome));
            }
            if let Some(b) = baseline {
                for row in &mut cell_rows {
                    row.set("baseline_goodput_kbps", b.goodput_kbps);
                    row.set("baseline_active_nodes", b.active_nodes);
                    row.set_some("baseline_energy_j", b.verified.then_some(b.energy_j));
                }
            }
            rows.extend(cell_rows);
        }
        Ok(rows)
    }

    fn fetch(
        &self,
        drawn: &Drawn,
        route: usize,
        plan: &Plan,
        variant: Variant,
        cell: &Cell,
        environment: Option<Arc<Environment>>,
    ) -> Result<Outcome, ExperimentError> {
        let environment = environment.unwrap_or_else(|| drawn.site.environment.clone());
        let (mut session, terms) = self.session(drawn, route, plan, variant, cell, environment)?;
        if cell.mishap != Mishap::None {
            let environment = session.network().environment().clone();
            let (mut probe, _) = self.session(drawn, route, plan, variant, cell, environment)?;
            let mut rng = stream(drawn.site.seed, "mishap", &[route as u64]);
            cell.mishap
                .arrange(&mut session, &mut probe, plan, variant, &terms, &mut rng)?;
        }
        let protocol = variant.protocol();
        let (outcome, _) = session.fetch(plan, protocol, &terms, &mut |_| Continue(()))?;
        Ok(outcome)
    }

    /// Where the packets of the first cell's transfer over a route were lost.
    pub(super) fn loss_map(
        &self,
        drawn: &Drawn,
        route: usize,
        plan: &Plan,
        variant: Variant,
    ) -> Result<LossMap, ExperimentError> {
        let (cell, environment) = (self.first_cell(), drawn.site.environment.clone());
        let (mut session, terms) = self.session(drawn, route, plan, variant, &cell, environment)?;
        let protocol = variant.protocol();
        let (_, _, map) =
            explain::fetch(&mut session, plan, protocol, &terms, &mut |_| Continue(()))?;
        Ok(map)
    }

    /// A network whose source offers the object of `cell`.
    fn session(
        &self,
        drawn: &Drawn,
        route: usize,
        plan: &Plan,
        variant: Variant,
        cell: &Cell,
        environment: Arc<Environment>,
    ) -> Result<(Session, Terms), ExperimentError> {
        let site = &drawn.site;
        // Without the variant: protocols meet the same run of the environment.
        let seed = derive(derive(site.seed, &self.draw, &[]), "route", &[route as u64]);
        let mut session = Session::open(&site.testbed, environment, seed)?;
        let object = random_object(derive(seed, "object", &[]), cell.bytes as usize);
        session.offer(plan.source, object);
        let terms = variant.terms(Terms {
            payload: cell.payload,
            ..Terms::default()
        });
        Ok((session, terms))
    }

    /// The transfer of the first cell over a route, in another environment than the site's.
    pub(in crate::experiment) fn fetch_in(
        &self,
        drawn: &Drawn,
        route: usize,
        plan: &Plan,
        variant: Variant,
        environment: Arc<Environment>,
    ) -> Result<Row, ExperimentError> {
        let cell = self.first_cell();
        let outcome = self.fetch(drawn, route, plan, variant, &cell, Some(environment))?;
        Ok(self.row(drawn, route, plan, variant, &cell, &outcome))
    }

    fn row(
        &self,
        drawn: &Drawn,
        route: usize,
        plan: &Plan,
        variant: Variant,
        cell: &Cell,
        o: &Outcome,
    ) -> Row {
        let mut row = outcome_row(o)
            .with(metric::SEED, drawn.site.seed)
            .with("route", route + 1)
            .with("protocol", variant.name())
            .with("shortest", plan.shortest)
            .with("payload", u32::from(cell.payload.bytes()))
            .with("object_bytes", cell.bytes)
            .with("rate_kbps", drawn.rate_kbps)
            .with("utilisation", o.goodput_kbps / drawn.rate_kbps);
        row.set_some("max_paths", cell.max_paths);
        if !self.mishaps.is_empty() {
            row.set("mishap", cell.mishap.name());
        }
        let data_s = o.duration_s - o.wake_up_s;
        if o.verified && data_s > 0.0 {
            let kbps = o.bytes as f64 * 8.0 / 1000.0 / data_s;
            row.set("utilisation_without_overhead", kbps / drawn.rate_kbps);
        }
        let predicted = match variant.protocol() {
            Protocol::Pip | Protocol::PipHopping | Protocol::PipCit | Protocol::Cit => {
                plan.pip.prediction.goodput_kbps
            }
            _ => plan.prediction.goodput_kbps,
        };
        row.set("predicted_kbps", predicted);
        row
    }
}

/// What every row of a transfer tells.
pub(in crate::experiment) fn outcome_row(o: &Outcome) -> Row {
    let mut row = Row::new()
        .with("source", u32::from(o.source))
        .with("sink", u32::from(o.sink))
        .with("hops", o.hops)
        .with("paths", o.paths)
        .with("active_nodes", o.active_nodes)
        .with("goodput_kbps", o.goodput_kbps)
        .with("rounds", o.rounds)
        .with("energy_j", o.energy_j)
        .with("duration_s", o.duration_s)
        .with("wake_up_s", o.wake_up_s)
        .with("bytes", o.bytes)
        .with("attempts", o.attempts)
        .with("verified", u32::from(o.verified));
    row.set_some("r1", o.first_round_reliability);
    row.set_some("retransmitted", o.retransmitted);
    row.set_some("failure", o.failure.as_deref());
    row
}
