//! One relay off for a while, beside the same run without: what flows keep that do not cross it.
//!
//! Until the relay is off both runs are the same, packet by packet. Tests: `tests.rs`.

use super::rows::base_row;
use super::{Floor, Point, Rcrt, Result, RunContext};
use crate::experiment::keys::table;
use crate::results::{columns, Column, Row};
use thalweg_simnet::rcrt::{Incident, Outcome};
use thalweg_units::Duration;

/// Columns of such a pair of runs.
pub(super) const COLUMNS: &[Column] = columns! {
    crossing: Whole, "Flows that cross the relay that is off.";
    apart_before: Number "packet/s", "Goodput of a flow that does not cross it, before.";
    apart_while: Number "packet/s", "The same while it is off.";
    apart_after: Number "packet/s", "The same after.";
    apart_kept_before: Number, "`apart_before` over what it is without the outage.";
    apart_kept_while: Number, "The same of `apart_while`.";
    apart_kept_after: Number, "The same of `apart_after`.";
    crossing_before: Number "packet/s", "Goodput of a flow that crosses it, before.";
    crossing_while: Number "packet/s", "The same while it is off.";
    crossing_after: Number "packet/s", "The same after.";
    crossing_kept_before: Number, "`crossing_before` over what it is without the outage.";
    crossing_kept_while: Number, "The same of `crossing_while`.";
    crossing_kept_after: Number, "The same of `crossing_after`.";
};

/// Flows are looked at for so many times as long after the outage as it takes.
const AFTER: f64 = 4.0;

table! {
    /// When a relay is off, and how long.
    #[derive(Copy)]
    pub struct Outage {
        /// From this second on.
        pub at_s: f64, 1..=100_000;
        /// So many seconds.
        pub for_s: f64, 1..=100_000;
    }
}

/// Which one is off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Off {
    relay: usize,
    outage: Outage,
}

impl Off {
    pub(super) fn incidents(&self) -> [(Duration, usize, Incident); 2] {
        let (at, ends) = (self.outage.at_s, self.outage.at_s + self.outage.for_s);
        [(at, Incident::Dies), (ends, Incident::Starts)]
            .map(|(at, what)| (Duration::from_secs_f64(at), self.relay, what))
    }
}

impl Rcrt {
    /// A row for each of `points`, whose runs without an outage are `calm`.
    pub(super) fn outage_rows(
        &self,
        (seed, outage): (u64, Outage),
        floor: &Floor,
        runs: (&[Point], &[Outcome]),
        context: &RunContext<'_>,
    ) -> Result<Vec<Row>> {
        let bases = self.bases_of(floor);
        let mut rows = Vec::new();
        for (point, calm) in runs.0.iter().zip(runs.1) {
            let routes: Vec<_> = (calm.flows.iter())
                .map(|f| calm.route(&bases, f.flow.node, outage.at_s))
                .collect();
            let crossing = |n: &usize| routes.iter().filter(|route| route.contains(n)).count();
            // The relay that most flows cross, but no more than half of them.
            let relays = (0..calm.parents.len()).filter(|n| !bases.contains(n));
            let relays = relays.filter(|n| 2 * crossing(n) <= routes.len());
            let Some(relay) = relays.max_by_key(crossing) else {
                continue;
            };
            let off = Some(Off { relay, outage });
            let upset = context.part(|| self.outcome(floor, Point { off, ..*point }, None))?;
            let mut row = base_row(seed, point).with("scope", "outage");
            row.set("node", super::rows::id(floor, relay));
            row.set("crossing", crossing(&relay));
            let crosses: Vec<bool> = routes.iter().map(|route| route.contains(&relay)).collect();
            set_kept(&mut row, outage, &crosses, (calm, &upset));
            rows.push(row);
        }
        Ok(rows)
    }
}

/// Goodput of flows before, in and after the outage, and relative to the run without.
fn set_kept(row: &mut Row, outage: Outage, crosses: &[bool], (calm, upset): (&Outcome, &Outcome)) {
    let (at, ends) = (outage.at_s, outage.at_s + outage.for_s);
    let phases = [
        ("before", (0.0, at)),
        ("while", (at, ends)),
        ("after", (ends, ends + AFTER * outage.for_s)),
    ];
    for (flows, which) in [("apart", false), ("crossing", true)] {
        for (phase, seconds) in phases {
            let goodput = |o: &Outcome| {
                let of_them = o.flows.iter().zip(crosses).filter(|(_, is)| **is == which);
                let rates = of_them.map(|(f, _)| f.rate_within(seconds));
                let (count, sum) = rates.fold((0.0, 0.0), |(n, sum), rate| (n + 1.0, sum + rate));
                sum / f64::max(count, 1.0)
            };
            row.set(&format!("{flows}_{phase}"), goodput(upset));
            let kept = goodput(upset) / goodput(calm).max(1e-9);
            row.set(&format!("{flows}_kept_{phase}"), kept);
        }
    }
}
