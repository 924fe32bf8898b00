//! How a node's part in a transfer ends.

/// How a node's part in a transfer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Source: the destination confirmed everything. Destination: everything is there.
    Complete,
    /// Relay, or a destination that misses packets: the source said that it is over. Or a destination itself did, and
    /// nobody answered.
    Released,
    /// Source: too many requests in a row stayed unanswered (PIP).
    GaveUp,
    /// The deadline passed, or nothing was heard for too long.
    TimedOut,
    /// A alternate relay, or who stands by: the transfer is over for it, or took no part of it.
    NotCalled,
    /// A alternate relay: the first packets have come, and it is not wanted.
    NotNeeded,
    /// The radio refused everything.
    RadioFailed,
    /// The layer above ordered it.
    Stopped,
}
