//! A dead reverse link: routes over which PIP completes and needs its NACKs, tried again with one
//! hop's reverse link gone on the channel that NACKs take there (P3, section V, Route 9).
//!
//! Owns the keys of `kind = "asymmetry"` and its rows. Only the gain of that one directed link on
//! that one channel is changed; the same run of the environment otherwise. Variants with a plan of
//! their own lose a link of that, once unknown to their survey and once known. Tests: below, `tests.rs`.

use super::context::RunContext;
use super::keys::keys;
use super::kind::{with_seed, Kind};
use super::transfers::{self, Drawn, Task, Transfers, Unplanned};
use super::Result;
use crate::results::{columns, Column, Row};
use std::sync::Arc;
use thalweg_host::registry::Pipelined;
use thalweg_medium::random::{stream, uniform};
use thalweg_medium::{EarId, Environment, LinksBuilder};
use thalweg_planner::Plan;
use thalweg_planner::Style;
use thalweg_units::Channel;

keys! {
    "asymmetry",
    /// Transfers over a route whose reverse direction is dead at one hop.
    pub struct Asymmetry {
        /// The routes to draw from, and the object.
        pub transfers: Transfers;
        /// Routes used per seed: the first of those drawn over which PIP completes in more than one
        /// round, so that its source has to learn what is missing.
        pub wanted: usize, 1..=10_000;
    }
}

impl Kind for Asymmetry {
    fn columns() -> Vec<Column> {
        let own = columns! {
            dies: Text, "When the link dies: `after-survey` or `before-survey`.";
            dead_hop: Whole, "Hop whose reverse direction is dead, from 1 on.";
            dead_channel: Whole, "Channel on which it is.";
            healthy_pip_kbps: Number "kbit/s", "Goodput of PIP on the route before.";
        };
        with_seed(&[transfers::OUTCOME, transfers::ROUTE, own])
    }

    fn check(&self) -> Result<(), String> {
        self.transfers.check_below()
    }

    fn parts(&self) -> u64 {
        self.transfers.parts()
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>> {
        let drawn = self.transfers.draw(seed, context)?;
        let mut used = 0;
        let mut rows = Vec::new();
        for route in 0..drawn.pairs.len() {
            context.go_on()?;
            context.tick(1);
            if used == self.wanted {
                continue;
            }
            let struck = self.route_rows(&drawn, route, context)?;
            used += usize::from(struck.is_some());
            rows.extend(struck.unwrap_or_default());
        }
        let fewer = self.parts().saturating_sub(drawn.pairs.len() as u64);
        context.tick(fewer);
        Ok(rows)
    }

    fn testbed_key(&self) -> Option<&'static str> {
        Some("transfers.testbed")
    }

    fn sought(&self) -> Option<String> {
        self.transfers.sought()
    }

    fn routes_key(&self) -> Option<&'static str> {
        Some("transfers.routes")
    }
}

impl Asymmetry {
    /// The transfers over a route with a link dead; none where PIP does not need its NACKs there.
    fn route_rows(
        &self,
        drawn: &Drawn,
        route: usize,
        context: &RunContext<'_>,
    ) -> Result<Option<Vec<Row>>> {
        let transfers = &self.transfers;
        let site = &drawn.site;
        // A route is taken because PIP completes on it; without a plan it does not.
        let Ok(task) = transfers.task(drawn, route, Pipelined::PIP) else {
            return Ok(None);
        };
        let healthy = transfers.fetch_at(&task, site)?;
        let needs_nacks = healthy.number("verified") == Some(1.0)
            && healthy.number("rounds").is_some_and(|rounds| rounds >= 2.0);
        if !needs_nacks {
            return Ok(None);
        }
        let healthy_kbps = healthy.number("goodput_kbps").unwrap_or(0.0);
        let mut rng = stream(site.seed, "dead hop", &[route as u64]);
        let place = uniform(&mut rng);
        let mut rows = Vec::new();
        // What has a plan of its own has a link of its own; the others share both.
        for knowledge in [Style::Paths, Style::Chains] {
            let variants = transfers.protocols.iter().copied();
            let variants = variants.filter(|v| v.style == knowledge);
            let first = variants.clone().next();
            let task = first.and_then(|first| transfers.task(drawn, route, first).ok());
            let Some(Task { plan, .. }) = task else {
                continue;
            };
            let hop = ((place * plan.hops as f64) as usize).min(plan.hops - 1);
            let Some((environment, channel)) = without_reverse(&site.environment, &plan, hop)
            else {
                continue;
            };
            let site = site.in_environment(Arc::new(environment));
            // Only a survey of all channels would tell.
            let resurveyed = match knowledge {
                Style::Paths => None,
                Style::Chains | Style::Hops => Some(transfers.resurveyed(drawn, &site, context)?),
            };
            let known = resurveyed.iter().map(|drawn| ("before-survey", drawn));
            for (dies, drawn) in std::iter::once(("after-survey", drawn)).chain(known) {
                for variant in variants.clone() {
                    let row = match transfers.task(drawn, route, variant) {
                        Ok(task) => transfers.fetch_at(&task, &site)?,
                        Err(Unplanned(row)) => *row,
                    };
                    let row = row.with("dies", dies).with("dead_hop", hop + 1);
                    let row = row.with("dead_channel", u32::from(channel.number()));
                    rows.push(row.with("healthy_pip_kbps", healthy_kbps));
                }
            }
        }
        Ok(Some(rows))
    }
}

/// `environment` without the link from the far to the near end of PIP's hop `hop` (0 leaves the
/// source) on the near end's reception channel, on which NACKs cross that hop.
fn without_reverse(
    environment: &Environment,
    plan: &Plan,
    hop: usize,
) -> Option<(Environment, Channel)> {
    let near = *plan.pip.path.get(hop)?;
    let far = *plan.pip.path.get(hop + 1)?;
    let channel = *plan.channels.get(hop)?;
    Some((without_link(environment, far, near, channel), channel))
}

/// `environment` without the directed link between two ears on `channel`.
fn without_link(
    environment: &Environment,
    from: usize,
    to: usize,
    channel: Channel,
) -> Environment {
    let ears = environment.ears.len();
    let ear = |n: usize| EarId(n as u32);
    let mut links = LinksBuilder::new(ears);
    for sender in 0..ears {
        for on in Channel::all() {
            for link in environment.links.heard_by(ear(sender), on) {
                let dead = sender == from && link.to == ear(to) && on == channel;
                if !dead {
                    links.add(ear(sender), on, *link);
                }
            }
        }
    }
    let mut changed = environment.clone();
    changed.links = Arc::new(links.build());
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_medium::chip::CC2420;
    use thalweg_units::Dbm;

    #[test]
    fn one_direction_on_one_channel_is_gone() {
        let environment = Environment::full_mesh(3, &CC2420, Dbm(-60.0), 1);
        let changed = without_link(&environment, 2, 1, Channel::LAST);
        assert_eq!(changed.links.len(), environment.links.len() - 1);
        assert_eq!(changed.mean_rssi(EarId(2), EarId(1), Channel::LAST), None);
        assert!(changed
            .mean_rssi(EarId(1), EarId(2), Channel::LAST)
            .is_some());
        assert!(changed
            .mean_rssi(EarId(2), EarId(1), Channel::FIRST)
            .is_some());
    }
}
