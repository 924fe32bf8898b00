//! Faults of single nodes in the middle of a transfer, timed by the packets that have arrived.

use crate::experiment::Result;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow::{Break, Continue};
use thalweg_host::job::Progress;
use thalweg_host::registry::Pipelined;
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_medium::random::{uniform, Stream};
use thalweg_planner::Plan;
use thalweg_sim::Fault;
use thalweg_simnet::motes::Motes;
use thalweg_units::{Channel, Duration};

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
    /// The channel on which the sink receives goes bad beside it, for good; where its groups have two, the odd one's.
    SinkChannelBad,
    /// The same at a relay on the path that PIP takes.
    RelayChannelBad,
    /// A relay on that path restarts: its RAM is lost, and it is off for a second.
    RelayReboots,
    /// The same of the source, whose object is in flash.
    SourceReboots,
    /// The same of the sink, whose packets are not.
    SinkReboots,
}

/// How long a node is deaf, or boots.
const AWAY: Duration = Duration::from_secs(1);

impl Mishap {
    /// Whether `plan` has a node for it to strike.
    pub(super) fn can_strike(self, plan: &Plan) -> bool {
        use Mishap::{RelayChannelBad, RelayDies, RelayReboots};
        !matches!(self, RelayDies | RelayChannelBad | RelayReboots) || plan.pip.path.len() > 2
    }

    /// Has it strike `session` at the time at which half of the packets are there without it, as
    /// comes from the same transfer in `probe`.
    pub(super) fn arrange(
        self,
        session: &mut Motes,
        probe: &mut Motes,
        plan: &Plan,
        variant: Pipelined,
        terms: &TransferTerms,
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
        let until = at + AWAY;
        let jammed = |channel: Option<&Channel>| channel.map(|&channel| Fault::Jammed { channel });
        let reboot = Some(Fault::Reboot { until });
        let deaf = Some(Fault::Deaf { until });
        let (node, fault) = match self {
            Self::None => return Ok(()),
            Self::SourceDeaf => (Some(plan.source), deaf),
            Self::SourceReboots => (Some(plan.source), reboot),
            Self::SinkDeaf => (Some(plan.sink), deaf),
            Self::SinkReboots => (Some(plan.sink), reboot),
            Self::SinkChannelBad => (Some(plan.sink), jammed(plan.channels.last())),
            Self::RelayDies | Self::RelayReboots | Self::RelayChannelBad => {
                let relays = plan.pip.path.len().saturating_sub(2);
                let drawn = (uniform(rng) * relays as f64) as usize;
                let stage = 1 + drawn.min(relays.saturating_sub(1));
                let fault = match self {
                    Self::RelayChannelBad => jammed(plan.channels.get(stage)),
                    Self::RelayReboots => reboot,
                    _ => Some(Fault::Dead),
                };
                (plan.pip.path.get(stage).copied(), fault)
            }
        };
        if let (Some(node), Some(fault)) = (node, fault) {
            session.network().fault_at(at, node, fault);
        }
        Ok(())
    }
}
