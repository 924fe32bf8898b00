//! A sink's constants: the paper's, and what is taken where the paper is silent.

use thalweg_units::Duration;

/// Whether the total is adapted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Control {
    /// Additive increase, multiplicative decrease.
    Aimd {
        /// A, packets per second.
        increase: f64,
    },
    /// Everybody sends what it wants: reliable transport without congestion control (section 4.2.2).
    Fixed,
}

/// When what is missing is asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// When the next packet comes in: "when a packet is received", the sink sends feedback (section 3.7).
    OnPackets,
    /// Beside, whenever the flow's RTO has passed since the last feedback, as in the authors' later release.
    ByTimer,
}

/// A sink's constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Of the total rate.
    pub control: Control,
    /// L: below it everywhere, the network is not congested.
    pub lower: f64,
    /// U: above it anywhere, it is.
    pub upper: f64,
    /// Weight of the newest value in C.
    pub gain: f64,
    /// Beside twice the longest round trip, a decision waits for so many packets of a flow at the mean rate, so
    /// that sources have sent "enough packets" (section 3.5) at the rates of the last one.
    pub packets: f64,
    /// Round trip of a flow before one was measured.
    pub first_rtt: Duration,
    /// Packets from what is next that are taken.
    pub window: u16,
    /// A flow that was silent for so long, and for ten packets at its rate, does not count as congested.
    pub silent: Duration,
    /// Weights of a sample in the mean round trip, and in its mean deviation. TCP's 1/8 follows too slowly here: a flow
    /// has a sample with each feedback only, and round trips grow at once with congestion (section 3.4).
    pub rtt_gains: (f64, f64),
    /// When what is missing is asked for again.
    pub repeat: Repeat,
}

impl Config {
    /// The paper's constants: A = .5, L = 1, U = 4 (sections 3.4 and 3.5). Where the paper is silent: a gain of .5 as
    /// in its authors' later release; nine packets between decisions, fitted to figure 6's feedbacks (4549 for
    /// 39,000 packets; the release takes three); a round trip of 1 s before the first, and a minute of silence.
    pub const PAPER: Self = Self {
        control: Control::Aimd { increase: 0.5 },
        lower: 1.0,
        upper: 4.0,
        gain: 0.5,
        packets: 9.0,
        first_rtt: Duration::from_secs(1),
        window: 1024,
        silent: Duration::from_secs(60),
        rtt_gains: (1.0 / 2.0, 1.0 / 4.0),
        repeat: Repeat::OnPackets,
    };
}
