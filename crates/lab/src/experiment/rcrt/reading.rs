//! Readings of the paper where its text leaves a choice.

use super::SMALL_FLOOR;
use serde::Deserialize;
use thalweg_protocols::rcrt::sink::{Config, Evidence, Gap, Leave, Length, Repeat};

/// How something that the paper leaves open is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reading {
    Taken,
    WholeLists,
    SmallGain,
    SlowRtt,
    RoundTripsAlone,
    ThreePackets,
    Timer,
    SmallFloor,
    EveryLoss,
    Both,
    RateLeaves,
    GapsCongest,
}

impl Reading {
    /// `paper`, read so.
    pub(super) fn of(self, paper: Config) -> Config {
        match self {
            Self::Taken => paper,
            Self::WholeLists => Config {
                length: Length::Whole,
                ..paper
            },
            Self::SmallGain => Config {
                gain: 0.25,
                ..paper
            },
            Self::SlowRtt => Config {
                rtt_gain: 0.125,
                ..paper
            },
            Self::RoundTripsAlone => Config {
                packets: 0.0,
                ..paper
            },
            Self::ThreePackets => Config {
                packets: 3.0,
                ..paper
            },
            Self::Timer => Config {
                repeat: Repeat::ByTimer,
                ..paper
            },
            Self::SmallFloor => Config {
                least_in_round_trip: SMALL_FLOOR,
                ..paper
            },
            Self::EveryLoss => Config {
                evidence: Evidence::Remembered,
                ..paper
            },
            Self::Both => Config {
                least_in_round_trip: SMALL_FLOOR,
                evidence: Evidence::Remembered,
                ..paper
            },
            Self::RateLeaves => Config {
                leave: Leave::WithItsRate,
                ..paper
            },
            Self::GapsCongest => Config {
                gap: Gap::Congestion,
                ..paper
            },
        }
    }
}
