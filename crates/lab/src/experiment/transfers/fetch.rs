//! The transfers of a route and what they leave in rows. Tests: below, `../tests.rs`.

use super::draw::Drawn;
use super::mishap::Mishap;
use super::{Cell, Ends, Transfers};
use crate::experiment::kind::Kind as _;
use crate::experiment::Result;
use crate::results::{columns, name_of, Column, Row, SEED};
use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use thalweg_host::collector::Details;
use thalweg_host::outcome::Outcome;
use thalweg_host::registry::Pipelined;
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_medium::random::{derive, stream};
use thalweg_planner::{Plan, PlanError, Style};
use thalweg_simnet::collect::random_object;
use thalweg_simnet::explain::{self, LossMap};
use thalweg_simnet::motes::Motes;
use thalweg_testbeds::Site;
use thalweg_units::Duration;
use thalweg_wire::route::Scheme;

/// Columns of every transfer.
pub(in crate::experiment) const OUTCOME: &[Column] = columns! {
    source: Whole, "Node that has the object.";
    sink: Whole, "Node that it is brought to.";
    hops: Whole, "Hops from one to the other.";
    paths: Whole, "Node-distinct paths.";
    active_nodes: Whole, "Nodes that take part, source and sink included.";
    goodput_kbps: Number "kbit/s", "Object bits over `duration_s`; 0 where it did not arrive whole.";
    rounds: Whole, "Rounds of transmission.";
    duration_s: Number "s", "From the first wake-up packet to the last data packet.";
    wake_up_s: Number "s", "Of that, up to the source's first packet.";
    bytes: Whole "byte", "Bytes of the object; 0 where it did not arrive whole.";
    attempts: Whole, "Attempts; `rounds` are those of the last.";
    verified: YesNo, "Whether length and digest agree with the source's.";
    energy_j: Number "J", "Energy of the active nodes over `duration_s`.";
    network_energy_j: Number "J", "The same of all nodes, and over the survey.";
    survey_s: Number "s", "From the survey's first beacon to the complete table of links.";
    cold_s: Number "s", "From that beacon to the last data packet.";
    cold_goodput_kbps: Number "kbit/s", "Object bits over `cold_s`; 0 where it did not arrive whole.";
    r1: Number, "Share of the packets that arrived in the first round.";
    retransmitted: Number, "Share of retransmissions in the source's data packets.";
    failure: Text, "How it ended, where it failed, or why it was not begun.";
};

/// Columns of a transfer over a route that was drawn.
pub(in crate::experiment) const ROUTE: &[Column] = columns! {
    route: Whole, "Number of the route, from 1 on.";
    routes_found: Whole, "Routes that were found, where they are fewer than were asked for.";
    routes_wanted: Whole, "How many were asked for then.";
    protocol: Text, "Protocol.";
    exact: YesNo, "Whether the sink gave out the object, byte for byte.";
    wrong: YesNo, "Whether it gave out anything else.";
    shortest: Whole, "Hops of a shortest path.";
    payload: Whole "byte", "Payload of a packet.";
    object_bytes: Whole "byte", "Bytes of the object that was asked for.";
    beacon_ms: Whole "ms", "Between two beacons of a survey.";
    change_db: Number "dB", "By how much links change (rms), where the experiment says so.";
    surveys: Whole, "Surveys that a plan of chains is made by, where they are not one.";
    age_s: Number "s", "From the beginning of the last survey to the transfer.";
    rate_kbps: Number "kbit/s", "Effective physical rate: of data frames over one hop without losses.";
    utilisation: Number, "`goodput_kbps` over `rate_kbps`.";
    utilisation_without_overhead: Number, "The same, with the time from the source's first packet on.";
    predicted_kbps: Number "kbit/s", "Goodput that the plan expects.";
    predicted_energy_j: Number "J", "Energy that the plan expects.";
    max_paths: Whole, "Highest number of paths, where the experiment says one.";
    route_hops: Whole, "Hops that the route was to have, where the experiment says so.";
    mishap: Text, "What went wrong in the middle, where the experiment says so.";
};

/// What of a cell has a part in a plan: how many paths it may have, how old its links are, and bytes of object and payload.
type Shape = (Option<usize>, Option<Duration>, u32, u8);

/// One transfer of an experiment.
pub(in crate::experiment) struct Task<'a> {
    drawn: &'a Drawn,
    route: usize,
    pub(in crate::experiment) plan: Plan,
    variant: Pipelined,
    cell: Cell,
}

impl<'a> Task<'a> {
    /// Over `plan`, whose nodes are told how many packets are to come.
    fn of(
        (drawn, route): (&'a Drawn, usize),
        mut plan: Plan,
        variant: Pipelined,
        cell: Cell,
    ) -> Self {
        let payload = u32::from(terms_of(variant, cell).payload.bytes());
        plan.packets = cell.bytes.div_ceil(payload);
        Self {
            drawn,
            route,
            plan,
            variant,
            cell,
        }
    }
}

/// On what terms the transfers of a cell go.
fn terms_of(variant: Pipelined, cell: Cell) -> TransferTerms {
    variant.terms(TransferTerms {
        payload: cell.payload,
        ..TransferTerms::default()
    })
}

/// A transfer, and what its sink gave out beside what the source had.
struct Fetched {
    outcome: Outcome<Details>,
    /// Whether it is the source's object, byte for byte; none where the sink gave out nothing.
    is_same: Option<bool>,
}

impl Task<'_> {
    /// Whether its mishap has a node to strike.
    pub(super) fn can_happen(&self) -> bool {
        self.cell.mishap.can_strike(&self.plan)
    }
}

impl Transfers {
    /// All cells of a route, world by world.
    pub(super) fn route_rows(&self, worlds: &[Drawn], route: usize) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for drawn in worlds {
            rows.extend(self.cell_rows(drawn, route)?);
        }
        Ok(rows)
    }

    fn cell_rows(&self, drawn: &Drawn, route: usize) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        // Of a cell, the age has a part in plans of chains, and a mishap in none.
        let mut plans: BTreeMap<(&str, Shape), std::result::Result<Plan, PlanError>> =
            BTreeMap::new();
        for cell in self.cells() {
            let mut cell_rows = Vec::new();
            let mut baseline: Option<Row> = None;
            for &variant in &self.protocols {
                let aged = Some(cell.age).filter(|_| variant.style != Style::Paths);
                let shape = (cell.max_paths, aged, cell.bytes, cell.payload.bytes());
                let plan = plans
                    .entry((variant.name, shape))
                    .or_insert_with(|| self.plan(drawn, route, variant, cell));
                let row = match plan {
                    Err(why) => self.unplanned(drawn, route, variant, cell, why),
                    // No transfer, so no number; metrics tell of how many rows they are.
                    Ok(plan) if !cell.mishap.can_strike(plan) => self
                        .place(drawn, route, variant, cell)
                        .with("failure", "no transfer: a path without relays"),
                    Ok(plan) => {
                        let task = Task::of((drawn, route), plan.clone(), variant, cell);
                        let fetched = self.fetch(&task, &drawn.site_at(cell.age)?)?;
                        self.row(&task, &fetched)
                    }
                };
                if self.baseline == Some(variant) {
                    baseline = Some(row.clone());
                }
                cell_rows.push(row);
            }
            if let Some(baseline) = baseline {
                for row in &mut cell_rows {
                    beside(row, &baseline);
                }
            }
            rows.extend(cell_rows);
        }
        Ok(rows)
    }

    fn fetch(&self, task: &Task<'_>, site: &Site) -> Result<Fetched> {
        let (mut session, terms) = self.struck(task, site)?;
        self.finish(&mut session, task, &terms)
    }

    /// A network whose source offers the object of the cell, and that the cell's mishap will strike.
    fn struck(&self, task: &Task<'_>, site: &Site) -> Result<(Motes, TransferTerms)> {
        let (mut session, terms) = self.session(task, site)?;
        let mishap = task.cell.mishap;
        if mishap != Mishap::None {
            let (mut probe, _) = self.session(task, site)?;
            let mut rng = stream(task.drawn.site.seed, "mishap", &[task.route as u64]);
            let (plan, variant) = (&task.plan, task.variant);
            mishap.arrange(&mut session, &mut probe, plan, variant, &terms, &mut rng)?;
        }
        Ok((session, terms))
    }

    /// Fetches in `session`, and compares what arrives with what was offered.
    fn finish(
        &self,
        session: &mut Motes,
        task: &Task<'_>,
        terms: &TransferTerms,
    ) -> Result<Fetched> {
        let (scheme, mut silent) = (task.variant.scheme, |_| Continue(()));
        let (mut outcome, arrived) = session.fetch(&task.plan, scheme, terms, &mut silent)?;
        let (survey_s, joules) = task.drawn.cost_to(task.variant);
        outcome.summary.after(survey_s, joules);
        let is_same = arrived.map(|arrived| arrived.bytes[..] == self.object(task)[..]);
        Ok(Fetched { outcome, is_same })
    }

    /// The transfer of the first cell over a route.
    ///
    /// # Errors
    /// [`Unplanned`] where no plan is found, with the row that then stands for the transfer.
    pub(in crate::experiment) fn task<'a>(
        &self,
        drawn: &'a Drawn,
        route: usize,
        variant: Pipelined,
    ) -> std::result::Result<Task<'a>, Unplanned> {
        let cell = self.first_cell();
        match self.plan(drawn, route, variant, cell) {
            Ok(plan) => Ok(Task::of((drawn, route), plan, variant, cell)),
            Err(why) => Err(Unplanned(Box::new(
                self.unplanned(drawn, route, variant, cell, &why),
            ))),
        }
    }

    /// The row of a transfer that cannot be planned: it delivers nothing, and says why.
    fn unplanned(
        &self,
        drawn: &Drawn,
        route: usize,
        variant: Pipelined,
        cell: Cell,
        why: &PlanError,
    ) -> Row {
        let pair = &drawn.pairs[route];
        let id = |node: usize| drawn.site.testbed.id_of(node).map(|id| u32::from(id.get()));
        let mut row = self
            .place(drawn, route, variant, cell)
            .with("bytes", 0u32)
            .with("goodput_kbps", 0.0)
            .with("cold_goodput_kbps", 0.0)
            .with("utilisation", 0.0)
            .with("verified", 0u32)
            .with("exact", 0u32)
            .with("wrong", 0u32)
            .with("failure", format!("no plan: {why}"));
        row.set_some("source", id(pair.source));
        row.set_some("sink", id(pair.sink));
        row
    }

    /// The columns that say which transfer a row is of.
    fn place(&self, drawn: &Drawn, route: usize, variant: Pipelined, cell: Cell) -> Row {
        let mut row = Row::new()
            .with(SEED, drawn.site.seed)
            .with("route", route + 1)
            .with("protocol", variant.name)
            .with("payload", u32::from(cell.payload.bytes()))
            .with("object_bytes", cell.bytes)
            .with("beacon_ms", drawn.world.beacon_ms)
            .with("age_s", drawn.age(cell.age).as_secs_f64())
            .with("rate_kbps", drawn.rate_kbps);
        let (found, wanted) = (drawn.pairs.len(), self.parts() as usize);
        if found < wanted && self.ends == Ends::Drawn {
            row.set("routes_found", found);
            row.set("routes_wanted", wanted);
        }
        row.set_some("change_db", drawn.world.change_db);
        if self.surveys != [1] {
            row.set("surveys", drawn.world.surveys);
        }
        row.set_some("max_paths", cell.max_paths);
        if !self.hops.is_empty() {
            row.set("route_hops", drawn.pairs[route].hops);
        }
        if !self.mishaps.is_empty() {
            row.set("mishap", name_of(&cell.mishap));
        }
        row
    }

    /// Where the packets of a transfer were lost.
    pub(super) fn loss_map(&self, task: &Task<'_>) -> Result<LossMap> {
        let (mut session, terms) = self.struck(task, &task.drawn.site_at(task.cell.age)?)?;
        let (scheme, mut silent) = (task.variant.scheme, |_| Continue(()));
        Ok(explain::fetch(&mut session, &task.plan, scheme, &terms, &mut silent)?.1)
    }

    /// A network whose source offers the object of the cell.
    fn session(&self, task: &Task<'_>, site: &Site) -> Result<(Motes, TransferTerms)> {
        // Without the variant, so that all of them meet the same run of the environment.
        let seed = derive(task.drawn.site.seed, &self.draw, &[]);
        let seed = derive(seed, "route", &[task.route as u64]);
        let mut session = Motes::open(site, seed)?;
        session.offer(task.plan.source, self.object(task));
        Ok((session, terms_of(task.variant, task.cell)))
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
        let (mut session, terms) = self.session(task, &task.drawn.site_at(task.cell.age)?)?;
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
        let (o, repairs) = (&fetched.outcome.summary, &fetched.outcome.details);
        let mut row = self.place(drawn, route, variant, cell);
        row.0.extend(outcome_row(&fetched.outcome).0);
        let mut row = row
            .with("exact", u32::from(fetched.is_same == Some(true)))
            .with("wrong", u32::from(fetched.is_same == Some(false)))
            .with("shortest", plan.shortest)
            .with("utilisation", o.goodput_kbps / drawn.rate_kbps);
        let data_s = o.duration_s - repairs.wake_up_s;
        if o.verified && data_s > 0.0 {
            let kbps = o.bytes as f64 * 8.0 / 1000.0 / data_s;
            row.set("utilisation_without_overhead", kbps / drawn.rate_kbps);
        }
        let predicted = match variant.scheme {
            Scheme::Pip(_) | Scheme::PipCit | Scheme::HopByHop => &plan.pip.prediction,
            Scheme::P3 | Scheme::Thalweg => &plan.prediction,
        };
        // None where the plan's channels were not measured, or nothing is expected to end.
        let kbps = Some(predicted.goodput_kbps).filter(|kbps| *kbps > 0.0);
        row.set_some("predicted_kbps", kbps);
        row.set_some("predicted_energy_j", predicted.energy_j);
        row
    }
}

/// Sets beside a transfer what the baseline did on its route: its energy where it completed, and the ratio of both
/// where this one did too.
fn beside(row: &mut Row, baseline: &Row) {
    let is_whole = |row: &Row| row.number("verified") == Some(1.0);
    row.set_some("baseline_goodput_kbps", baseline.number("goodput_kbps"));
    row.set_some("baseline_active_nodes", baseline.number("active_nodes"));
    let energy = baseline.number("energy_j").filter(|_| is_whole(baseline));
    row.set_some("baseline_energy_j", energy);
    let own = row.number("energy_j").filter(|_| is_whole(row));
    let ratio = own.zip(energy.filter(|joules| *joules > 0.0));
    row.set_some(
        "energy_over_baseline",
        ratio.map(|(own, other)| own / other),
    );
}

/// A transfer that has no plan: its row.
pub(in crate::experiment) struct Unplanned(pub(in crate::experiment) Box<Row>);

/// What every row of a transfer tells.
pub(in crate::experiment) fn outcome_row(outcome: &Outcome<Details>) -> Row {
    let (o, repairs) = (&outcome.summary, &outcome.details);
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

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
