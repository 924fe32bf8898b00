//! What a whole network costs: measuring its links, collecting what was measured, then an object
//! from every node (P3, sections IV-D1, IV-D3 and V).
//!
//! Owns the keys of `kind = "overhead"` and its rows: one per phase, and one per object. Objects are
//! fetched one after the other; their time is the sum of the transfers' own, as the paper's is.
//! Tests: `tests.rs`.

use super::context::{in_order, rows_in_order, RunContext};
use super::keys::keys;
use super::kind::{with_seed, Kind};
use super::sites::faithful_survey;
use super::transfers::{self, outcome_row};
use super::Result;
use crate::results::{columns, Column, Row, SEED};
use std::ops::ControlFlow;
use thalweg_host::collector::Details;
use thalweg_host::job::Retry;
use thalweg_host::outcome::Outcome;
use thalweg_host::registry::Pipelined;
use thalweg_host::survey::{Survey, SurveyOutcome};
use thalweg_host::transfer::pipeline::{TransferTerms, SETTLING};
use thalweg_medium::random::{derive, stream};
use thalweg_planner::closed_forms::link_measurement_time;
use thalweg_planner::Style;
use thalweg_planner::{plan, LinkModel, RouteRequest};
use thalweg_simnet::campaign::spread;
use thalweg_simnet::collect::random_object;
use thalweg_simnet::motes::Motes;
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Duration, NodeId};

keys! {
    "overhead",
    /// Link measurement, its collection, and an object from every node, one after the other.
    pub struct Overhead {
        /// Testbed, by name or file.
        pub testbed: String;
        /// The channel on which links are measured and routes sought.
        pub routing_channel: u8, 11..=26;
        /// Time to tell a node to begin (T_o of equation 1), in milliseconds.
        pub order_ms: u64, 0..=10_000;
        /// Bytes of each node's object.
        pub bytes: u32, 1..=16_384 * 118;
        /// Fetch from so many nodes only, spread over the network, and take the others' time to be
        /// their mean.
        pub sources: Option<u32>, 1..=u32::MAX;
        /// How objects travel: everything once for each. Those that plan on all pipeline channels have
        /// their own survey, of all of these.
        pub protocols: Vec<Pipelined>;
    }
}

/// How often an object is fetched, each time over a newly drawn plan.
const ATTEMPTS: u64 = 3;

/// Parts per seed that progress is counted in.
pub(super) const PARTS: u64 = 100;

impl Kind for Overhead {
    fn columns() -> Vec<Column> {
        let own = columns! {
            protocol: Text, "Protocol.";
            phase: Text, "What takes `phase_s`: `equation-1` (the closed form), `measuring`, `collecting`, `downloading`, `everything`.";
            phase_s: Number "s", "How long that takes.";
            missing_tables: Whole, "Nodes whose tables of links did not arrive.";
        };
        with_seed(&[transfers::OUTCOME, own])
    }

    fn parts(&self) -> u64 {
        PARTS
    }

    fn rows(&self, seed: u64, lab: &RunContext<'_>) -> Result<Vec<Row>> {
        let site = lab.site(&self.testbed, seed)?;
        rows_in_order(&self.protocols, |variant| {
            self.protocol_rows(&site, *variant, lab)
        })
    }

    fn routes_key(&self) -> Option<&'static str> {
        Some("sources")
    }
}

/// The rest of a row of an object that did not go: why.
fn undelivered(row: Row, source: NodeId, why: String) -> Row {
    row.with("source", u32::from(source.get()))
        .with("bytes", 0u32)
        .with("goodput_kbps", 0.0)
        .with("cold_goodput_kbps", 0.0)
        .with("verified", 0u32)
        .with("failure", why)
}

impl Overhead {
    /// The channel on which routes are sought.
    fn channel(&self) -> Channel {
        Channel::new(self.routing_channel).unwrap_or(Channel::LAST)
    }

    /// The request to the planner, but for the source.
    fn request(&self, site: &Site, source: usize, model: LinkModel) -> RouteRequest {
        let request = RouteRequest::new(source, site.testbed.sink_index());
        RouteRequest {
            routing_channel: self.channel(),
            ..request.trusting(model)
        }
    }

    fn protocol_rows(
        &self,
        site: &Site,
        variant: Pipelined,
        lab: &RunContext<'_>,
    ) -> Result<Vec<Row>> {
        let survey = match variant.style {
            Style::Paths => faithful_survey(self.channel()),
            Style::Chains | Style::Hops => {
                let channels = RouteRequest::new(0, 1).channels;
                Survey::of(channels.into_iter().collect())
            }
        };
        let surveyed = lab.survey(&self.testbed, site, survey)?;
        let earlier = self.protocols.iter().take_while(|v| **v != variant);
        let variant_index = earlier.count() as u64;
        let nodes = site.testbed.len() as u64;
        let order = Duration::from_millis(self.order_ms);
        let beacons = u64::from(survey.beacons) * survey.channels.len() as u64;
        let closed = link_measurement_time(nodes, order, survey.interval, beacons);
        let model = LinkModel::learned(&surveyed.links, site.board.chip.noise_floor);
        let sink = site.testbed.sink_index();
        let all: Vec<usize> = (0..site.testbed.len()).filter(|n| *n != sink).collect();
        let wanted = self.sources.map_or(all.len(), |n| n.max(1) as usize);
        let chosen: Vec<(u64, usize)> = (0..).zip(spread(&all, wanted)).collect();
        let wanted = chosen.len();
        let fetched = in_order(&chosen, |(place, source)| {
            lab.go_on()?;
            let row = self.fetch(site, (&surveyed, model), *source, variant)?;
            let all = (wanted * self.protocols.len()) as u64;
            let done = variant_index * wanted as u64;
            let part = |place: u64| (done + place) * PARTS / all;
            lab.tick(part(place + 1) - part(*place));
            Ok(row)
        })?;
        let durations = fetched.iter().filter_map(|r| r.number("duration_s"));
        let download = durations.sum::<f64>() * all.len() as f64 / wanted as f64;
        let measuring = surveyed.measuring.as_secs_f64();
        let collecting = surveyed.collecting.as_secs_f64();
        let row = |phase: &str| {
            Row::new()
                .with(SEED, site.seed)
                .with("protocol", variant.name)
                .with("phase", phase)
        };
        let mut rows = vec![
            row("equation-1").with("phase_s", closed.as_secs_f64()),
            row("measuring")
                .with("phase_s", measuring)
                .with("missing_tables", surveyed.missing.len()),
            row("collecting").with("phase_s", collecting),
            row("downloading").with("phase_s", download),
            row("everything").with("phase_s", measuring + collecting + download),
        ];
        rows.extend(fetched);
        Ok(rows)
    }

    fn fetch(
        &self,
        site: &Site,
        (surveyed, model): (&SurveyOutcome, LinkModel),
        source: usize,
        variant: Pipelined,
    ) -> Result<Row> {
        let request = variant.request(&self.request(site, source, model));
        let row = Row::new()
            .with(SEED, site.seed)
            .with("protocol", variant.name);
        let of = site.testbed.nodes[source].id;
        let seed = derive(site.seed, "fetch", &[source as u64]);
        let mut session = Motes::open(site, seed)?;
        session.offer(source, random_object(site.seed, of, self.bytes as usize));
        let terms = variant.terms(TransferTerms {
            retry: Retry::NEVER,
            ..TransferTerms::default()
        });
        let mut last: Option<Outcome<Details>> = None;
        let mut unplanned = String::new();
        for attempt in 0..ATTEMPTS {
            // Groups are drawn again: chains that did not join may join now.
            let ids = [source as u64, attempt];
            let ids = if attempt == 0 { &ids[..1] } else { &ids[..] };
            let mut rng = stream(site.seed, "plan", ids);
            let mut plan = match plan(&surveyed.links, &request, &mut rng) {
                Ok(plan) => plan,
                Err(why) => {
                    unplanned = format!("no plan: {why}");
                    break;
                }
            };
            plan.packets = self.bytes.div_ceil(u32::from(terms.payload.bytes()));
            let mut silent = |_| ControlFlow::Continue(());
            let (mut outcome, _) = session.fetch(&plan, variant.scheme, &terms, &mut silent)?;
            if let Some(failed) = &last {
                outcome
                    .summary
                    .add_failed(&failed.summary, SETTLING.as_secs_f64());
            }
            if last.insert(outcome).summary.verified {
                break;
            }
            session.wait(SETTLING)?;
        }
        // A node that no other hears costs no time and delivers nothing.
        let Some(outcome) = last else {
            return Ok(undelivered(row, of, unplanned));
        };
        // The survey serves all nodes, and has rows of its own.
        let mut row = row.with("attempts", outcome.summary.attempts);
        row.0.extend(outcome_row(&outcome).0);
        Ok(row)
    }
}
