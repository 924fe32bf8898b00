//! The transports that are compared, by name.

use super::{Point, Reading};
use serde::Deserialize;
use thalweg_protocols::csma::Priority;
use thalweg_protocols::fusion::{Feedback, Strategy};
use thalweg_protocols::rcrt::sink::{Config, Control, Excess};
use thalweg_protocols::rcrt::source::Probing;
use thalweg_simnet::rcrt::{Sink, Transport};
use thalweg_units::Duration;

/// A transport, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Name {
    BestEffort,
    Reliable,
    Rcrt,
    Baseline,
    Ifrc,
    RcrtBackoff,
    RcrtFusion,
    RcrtSpare,
    RcrtSteady,
}

impl Name {
    /// Whether its nodes hear frames to others.
    pub(super) fn overhears(self) -> bool {
        matches!(self, Self::Ifrc | Self::RcrtFusion)
    }
}

/// Longest time between two probes of a stalled source that backs off: feedback is late by so much at most.
const LONGEST_PROBE: Duration = Duration::from_secs(60);

/// What of Fusion stands below RCRT, which paces sources itself.
pub(super) const BACK_PRESSURE: Strategy = Strategy {
    detection: Strategy::OCCUPANCY,
    feedback: Feedback::Overhearing,
    delay: None,
    rate_limit: None,
    congested: Priority::High,
};

pub(super) fn probing(transport: Name) -> Probing {
    match transport {
        Name::RcrtBackoff => Probing::Backoff {
            most: LONGEST_PROBE,
        },
        _ => Probing::Steady,
    }
}

/// The transport of `point`, with a sink for each of `policies`.
pub(super) fn transport(point: Point, policies: Vec<String>) -> Transport {
    let config = match point.transport {
        Name::RcrtSteady => Config::STEADY,
        _ => Config::PAPER,
    };
    let config = point.reading.unwrap_or(Reading::Taken).of(config);
    let config = match point.transport {
        Name::BestEffort => return Transport::BestEffort,
        Name::Ifrc => return Transport::Ifrc,
        Name::Reliable => Config {
            control: Control::Fixed,
            ..config
        },
        Name::RcrtSpare => Config {
            excess: Excess::WhereFree,
            ..config
        },
        Name::Rcrt | Name::Baseline | Name::RcrtBackoff | Name::RcrtFusion | Name::RcrtSteady => {
            config
        }
    };
    let sink = |policy| Sink { config, policy };
    Transport::Rcrt(policies.into_iter().map(sink).collect())
}
