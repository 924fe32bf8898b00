//! How a node's part in a transfer ends.

/// How a node's part in a transfer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Source: the destination confirmed everything. Destination: everything is there.
    Complete,
    /// Relay, or a destination that misses packets: the source released it. Or a destination gave up, and no answer
    /// came.
    Released,
    /// Source: too many requests in a row stayed unanswered (PIP).
    GaveUp,
    /// The deadline passed, or nothing was heard for too long.
    TimedOut,
    /// Alternate or backup relay: it was never needed.
    NotCalled,
    /// Alternate relay: the first packets arrived without it.
    NotNeeded,
    /// The radio refused everything.
    RadioFailed,
    /// The layer above ordered it.
    Stopped,
}
