//! A dead reverse link: routes over which PIP completes and needs its NACKs, tried again with one
//! hop's reverse link gone on the channel that NACKs take there (P3, section V, Route 9).
//!
//! Owns the keys of `kind = "asymmetry"` and its rows. Only the gain of that one directed link on
//! that one channel is changed; the same run of the environment otherwise. Tests: below, `tests.rs`.

use super::row::Row;
use super::site::Sites;
use super::spec::expect;
use super::transfers::Transfers;
use super::{in_order, ExperimentError, Ticker};
use crate::variant::Variant;
use serde::Deserialize;
use std::sync::Arc;
use thalweg_medium::random::{stream, uniform};
use thalweg_medium::{EarId, Environment, LinksBuilder};
use thalweg_planner::Plan;
use thalweg_units::Channel;

/// Transfers over a route whose reverse direction is dead at one hop.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asymmetry {
    /// The routes to draw from, and the object.
    pub transfers: Transfers,
    /// Routes used per seed: the first of those drawn over which PIP completes in more than one
    /// round, so that its source has to learn what is missing.
    pub wanted: usize,
}

impl Asymmetry {
    pub(super) fn check(&self) -> Result<(), String> {
        self.transfers.check()?;
        expect("wanted", (1..=10_000).contains(&self.wanted), "1 to 10000")
    }
    pub(super) fn parts(&self) -> u64 {
        self.transfers.parts()
    }

    pub(super) fn rows(
        &self,
        seeds: &[u64],
        sites: &Sites,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let rows = in_order(seeds, |seed| {
            let drawn = self.transfers.draw(*seed, sites, ticker)?;
            let mut used = 0;
            let mut rows = Vec::new();
            let environment = sites.site(&self.transfers.testbed, *seed)?.environment;
            for route in 0..drawn.pairs.len() {
                ticker.go_on()?;
                ticker.tick(1);
                if used == self.wanted {
                    continue;
                }
                let Some(plan) = self.transfers.plan(&drawn, route, Variant::Pip, None) else {
                    continue;
                };
                let fetch = |variant: Variant, environment: &Arc<Environment>| {
                    self.transfers
                        .fetch_in(&drawn, route, &plan, variant, environment.clone())
                };
                let healthy = fetch(Variant::Pip, &environment)?;
                let needs_nacks = healthy.number("verified") == Some(1.0)
                    && healthy.number("rounds").is_some_and(|rounds| rounds >= 2.0);
                if !needs_nacks {
                    continue;
                }
                used += 1;
                let mut rng = stream(*seed, "dead hop", &[route as u64]);
                let hop = ((uniform(&mut rng) * plan.hops as f64) as usize).min(plan.hops - 1);
                let Some((environment, channel)) = without_reverse(&environment, &plan, hop) else {
                    continue;
                };
                let environment = Arc::new(environment);
                for variant in &self.transfers.protocols {
                    rows.push(
                        fetch(*variant, &environment)?
                            .with("dead_hop", hop + 1)
                            .with("dead_channel", u32::from(channel.number()))
                            .with(
                                "healthy_pip_kbps",
                                healthy.number("goodput_kbps").unwrap_or(0.0),
                            ),
                    );
                }
            }
            let fewer = u64::from(self.transfers.routes).saturating_sub(drawn.pairs.len() as u64);
            ticker.tick(fewer);
            Ok(rows)
        })?;
        Ok(rows.concat())
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
    changed.links = links.build();
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
