//! What may go wrong in the middle of a transfer: faults of single nodes, timed by what has arrived.

use crate::experiment::Result;
use crate::field::Motes;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow::{Break, Continue};
use thalweg_gateway::carry::pipeline::Terms;
use thalweg_gateway::job::Progress;
use thalweg_gateway::registry::Pipelined;
use thalweg_medium::random::{uniform, Stream};
use thalweg_planner::Plan;
use thalweg_sim::Fault;
use thalweg_units::Duration;

/// One thing that goes wrong when half of the packets have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::experiment) enum Mishap {
    /// Nothing.
    None,
    /// A relay dies; of P3's paths it is one on the path that PIP takes.
    RelayDies,
    /// The sink hears nothing for a second.
    SinkDeaf,
    /// The source hears nothing for a second.
    SourceDeaf,
    /// The channel on which the sink receives goes bad beside it, for good.
    SinkChannelBad,
    /// The same at a relay on the path that PIP takes.
    RelayChannelBad,
}

/// How long a node is deaf.
const DEAF: Duration = Duration::from_secs(1);

impl Mishap {
    /// Whether `plan` has whom it strikes.
    pub(super) fn can_strike(self, plan: &Plan) -> bool {
        !matches!(self, Self::RelayDies | Self::RelayChannelBad) || plan.pip.path.len() > 2
    }

    /// Has it strike `session` at the time at which half of the packets are there without it, as
    /// the same transfer in `probe` tells.
    pub(super) fn arrange(
        self,
        session: &mut Motes,
        probe: &mut Motes,
        plan: &Plan,
        variant: Pipelined,
        terms: &Terms,
        rng: &mut Stream,
    ) -> Result<()> {
        let half = probe.packets(plan.source, terms) / 2;
        let mut watch = |step: Progress| match step {
            Progress::Packets { received, .. } if received >= half => Break(()),
            _ => Continue(()),
        };
        match probe.fetch(plan, variant.scheme, terms, &mut watch) {
            Err(error) if error.is_stop() => {}
            // Half of the packets never arrive: there is no middle to strike in.
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let at = probe.network().now();
        let until = at + DEAF;
        let (node, fault) = match self {
            Self::None => return Ok(()),
            Self::RelayDies | Self::RelayChannelBad => {
                let relays = &plan.pip.path[1..plan.pip.path.len() - 1];
                let drawn = (uniform(rng) * relays.len() as f64) as usize;
                let at = drawn.min(relays.len().saturating_sub(1));
                let Some(&relay) = relays.get(at) else {
                    return Ok(());
                };
                match plan.channels.get(at + 1) {
                    Some(&channel) if self == Self::RelayChannelBad => {
                        (relay, Fault::Jammed { channel })
                    }
                    _ => (relay, Fault::Dead),
                }
            }
            Self::SinkChannelBad => match plan.channels.last() {
                Some(&channel) => (plan.sink, Fault::Jammed { channel }),
                None => return Ok(()),
            },
            Self::SinkDeaf => (plan.sink, Fault::Deaf { until }),
            Self::SourceDeaf => (plan.source, Fault::Deaf { until }),
        };
        session.network().fault_at(at, node, fault);
        Ok(())
    }
}
