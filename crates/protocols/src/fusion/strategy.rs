//! Strategies against congestion (Fusion, table 5.1): what is switched on, each part on its own.

use crate::csma::Priority;
use thalweg_units::Duration;

/// How a node finds out that it is congested (section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Detection {
    /// Not at all.
    #[default]
    Off,
    /// This much of its queue is taken.
    Occupancy {
        /// The share, 0 to 1.
        alpha: f64,
    },
    /// CODA's: the channel is busy for more than it can carry, while packets wait.
    Sampling(Sampling),
}

/// Channel sampling's constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Epochs that sampling goes on for (N).
    pub epochs: u8,
    /// Length of an epoch (E).
    pub epoch: Duration,
    /// Between two samples.
    pub interval: Duration,
    /// Weight of the past in the moving average (alpha).
    pub alpha: f64,
    /// Utilisation above which the node is congested.
    pub threshold: f64,
}

/// How neighbours learn of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Feedback {
    /// Not at all: no hop-by-hop flow control.
    #[default]
    Off,
    /// By overhearing the bit in every frame (section 4.2).
    Overhearing,
    /// By the bit in acknowledgements too (section 6.1's second proposal).
    Both,
}

/// What earns a source a token (section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// N packets that the parent forwards, N being its sources: a retransmission that is overheard is no new
    /// packet.
    Packets,
    /// Packets of the parent's that come from the source, among those that the node can hear of, that
    /// has been served least: for skewed trees and unequal rates (section 6.1's first proposal). Not in
    /// the thesis.
    LeastServed,
}

/// How sources are held back (section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Most tokens.
    pub depth: u8,
    /// For how long a source counts as active.
    pub window: Duration,
    /// What earns one.
    pub counts: Counts,
}

/// A strategy.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Strategy {
    /// Congestion detection.
    pub detection: Detection,
    /// Its feedback.
    pub feedback: Feedback,
    /// Pause after the parent's transmissions (section 4.5).
    pub delay: Option<Duration>,
    /// Source rate limiting, if any.
    pub rate_limit: Option<Limit>,
    /// How hard a congested node tries to win the channel (section 4.4).
    pub congested: Priority,
}

impl Strategy {
    /// Table 5.1's occupancy: alpha = .25 is "the fractional queue occupancy at which congestion is indicated", two of
    /// eight. Section 4.2 has the same number for the space that is left (README).
    pub const OCCUPANCY: Detection = Detection::Occupancy { alpha: 0.25 };
    /// Table 5.1's sampling: N = 4, E = 100 ms, alpha = .85. The threshold is equation 2.3's
    /// maximum utilisation for two byte times of blindness (turnaround and carrier sense) in a frame
    /// of 56: 1 / (1 + 2 sqrt(2 / 56)).
    pub const SAMPLING: Detection = Detection::Sampling(Sampling {
        epochs: 4,
        epoch: Duration::from_millis(100),
        interval: Duration::from_millis(10),
        alpha: 0.85,
        threshold: 0.726,
    });
    /// Table 5.1's delay, slightly more than a packet time.
    pub const DELAY: Duration = Duration::from_millis(40);
    /// Table 5.1's rate limiting.
    pub const LIMIT: Limit = Limit {
        depth: 10,
        window: Duration::from_secs(4),
        counts: Counts::Packets,
    };

    /// The names that there are; those after `fusion` are not the thesis'.
    pub const NAMES: [&'static str; 9] = [
        "none",
        "occupancy",
        "sampling",
        "occupancy+delay",
        "rate-limiting",
        "fusion",
        "occupancy-ack",
        "fusion-ack",
        "fusion-skewed",
    ];

    /// The strategy of that name.
    pub fn named(name: &str) -> Option<Self> {
        let known = Self::NAMES.iter().find(|known| **known == name)?;
        let has = |word: &str| known.split(['-', '+']).any(|other| other == word);
        let is_fusion = has("fusion");
        let counts = match has("skewed") {
            true => Counts::LeastServed,
            false => Counts::Packets,
        };
        let of = Self::LIMIT;
        let limit = Limit { counts, ..of };
        // For all but `none` section 5.1 has the prioritised MAC, which goes by a node's own congestion. Rate
        // limiting tells its neighbours nothing that they heed.
        let (detection, feedback) = if has("none") {
            (Detection::Off, Feedback::Off)
        } else if has("limiting") {
            (Self::OCCUPANCY, Feedback::Off)
        } else if has("sampling") {
            (Self::SAMPLING, Feedback::Overhearing)
        } else if has("ack") {
            (Self::OCCUPANCY, Feedback::Both)
        } else {
            (Self::OCCUPANCY, Feedback::Overhearing)
        };
        Some(Self {
            detection,
            feedback,
            delay: (is_fusion || has("delay")).then_some(Self::DELAY),
            rate_limit: (is_fusion || has("limiting")).then_some(limit),
            congested: match has("none") {
                true => Priority::Normal,
                false => Priority::High,
            },
        })
    }
    /// Whether it needs to hear frames that are meant for others.
    pub const fn overhears(&self) -> bool {
        self.has_flow_control() || self.delay.is_some() || self.rate_limit.is_some()
    }
    /// Whether neighbours are held back at all.
    pub const fn has_flow_control(&self) -> bool {
        !matches!(self.feedback, Feedback::Off)
    }
}
