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

/// What of a flow's out-of-order list counts as its length, L_i (section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// The packets after the one that revealed the loss: none before the sink could have asked for it. Where less
    /// than a packet comes in a round trip, one packet in the list would say that a repair takes 1 / (r RTT) round
    /// trips, and every single loss be congestion.
    SinceKnown,
    /// All of it, as the text has it.
    Whole,
}

/// Which losses a decrease goes by (section 3.5): the sink waits "until it observes the effects of the previous decision",
/// and "does not react to stale information".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Those of which the sink learned after the flow had the rate of the last decrease. Each counts once: p is taken over
    /// the lowest p that a decrease since the last increase has counted.
    New,
    /// All that the flow's loss intervals remember. The same losses lower the total again with each decision.
    Remembered,
}

/// How far down a decrease goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decrease {
    /// To M R, by the loss of the flow that revealed it (section 3.5).
    ByLoss,
    /// To a little less than what all flows have brought in the last seconds, but not below M R; nowhere while that is R
    /// or more.
    ToWhatCame,
}

/// What a flow does to the total when it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// It takes its rate with it.
    WithItsRate,
    /// The total stays: it is what the network sustains (section 3.2), shared by the flows that are left.
    Alone,
}

/// What it says that nothing came of a flow for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// Congestion, as all losses do.
    Congestion,
    /// A relay was out. These losses do not lower the total, and the first packet after them, which waited for the relay,
    /// measures no round trip.
    Outage,
}

/// Who may send more than its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// No flow.
    None,
    /// Flows whose packets meet no queue, as relays note it ([`Notes`](super::super::Notes)).
    WhereFree,
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
    /// Weight of the newest sample in a flow's mean round trip.
    pub rtt_gain: f64,
    /// L_i.
    pub length: Length,
    /// L_norm divides by no less than this many packets in a round trip.
    pub least_in_round_trip: f64,
    /// Which losses a decrease goes by.
    pub evidence: Evidence,
    /// How far down it goes.
    pub decrease: Decrease,
    /// What a flow does to the total when it leaves.
    pub leave: Leave,
    /// What losses in a gap say.
    pub gap: Gap,
    /// After a decision the next waits for twice the longest round trip and, so that sources have sent "enough
    /// packets" (section 3.5), for so many packets of a flow at the mean rate. Congestion after an increase is
    /// effect enough: the decrease waits for the round trips alone.
    pub packets: f64,
    /// Round trip of a flow before one was measured.
    pub first_rtt: Duration,
    /// Packets from what is next that are taken.
    pub window: u16,
    /// A flow that was silent for so long, and for ten packets at its rate, does not count as congested.
    pub silent: Duration,
    /// When what is missing is asked for again.
    pub repeat: Repeat,
    /// Who may send more than its share.
    pub excess: Excess,
}

impl Config {
    /// The paper's constants: A = .5, L = 1, U = 4 (sections 3.4 and 3.5). "The expected number of packets received during
    /// one RTT" (section 3.4) is taken as one where it is less: with less, a single repair that fails would be
    /// congestion at low rates, whatever the network does. Where the paper is silent: a gain of .5 and
    /// lists counted from the packet that revealed the loss, as in its authors' later release; a weight of .5 for round
    /// trips, of which there is a sample with each feedback only, and which grow at once where the network is congested
    /// (the release takes TCP's 1/8); nine packets between decisions, fitted to figure 6's feedbacks (4549 for 39,000
    /// packets; the release takes three); a round trip of 1 s before the first, and a minute of silence.
    pub const PAPER: Self = Self {
        control: Control::Aimd { increase: 0.5 },
        lower: 1.0,
        upper: 4.0,
        gain: 0.5,
        rtt_gain: 0.5,
        length: Length::SinceKnown,
        least_in_round_trip: 1.0,
        evidence: Evidence::New,
        decrease: Decrease::ByLoss,
        leave: Leave::Alone,
        gap: Gap::Congestion,
        packets: 9.0,
        first_rtt: Duration::from_secs(1),
        window: 1024,
        silent: Duration::from_secs(60),
        repeat: Repeat::OnPackets,
        excess: Excess::None,
    };
    /// `rcrt-steady`: the paper's, but a decrease goes by what arrives, and losses of a relay's outage do not lower the total.
    pub const STEADY: Self = Self {
        decrease: Decrease::ToWhatCame,
        gap: Gap::Outage,
        ..Self::PAPER
    };
}
