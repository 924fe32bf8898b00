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
    /// The paper's constants: A = .5, L = 1, U = 4 (sections 3.4 and 3.5). Where the paper is silent: a gain of .5 and
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
        packets: 9.0,
        first_rtt: Duration::from_secs(1),
        window: 1024,
        silent: Duration::from_secs(60),
        repeat: Repeat::OnPackets,
        excess: Excess::None,
    };
}
