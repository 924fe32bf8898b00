//! What was taken for granted where measured links do not say all that a simulation needs: counted by
//! who reads them, one line each for people. Tests: where each is made.

use std::fmt;

/// Something that a file of measured links leaves open, and what was made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Assumed {
    /// So many of so many links have no mean RSSI; see `docs/testbeds.md`.
    Levels(usize, usize),
    /// Reception ratios were read as percent.
    Percent,
    /// So many rows name no channel.
    AllChannels(u64),
    /// So many rows are about a node and itself.
    SelfLinks(u64),
    /// So many rows lack a sender or a receiver.
    Nameless(u64),
    /// So many rows do not say on how many frames they stand.
    Counts(u64),
    /// A trace of counters, in which so many links have no row for the other direction.
    BothWays(usize),
    /// No pair of nodes has rows in both directions.
    OneWay,
}

impl fmt::Display for Assumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = |n: &u64| match n {
            1 => "1 row".to_owned(),
            _ => format!("{n} rows"),
        };
        match self {
            Self::Levels(links, of) if links == of => {
                f.write_str("no link has an RSSI: levels were estimated from the reception ratios")
            }
            Self::Levels(links, of) => write!(
                f,
                "{links} of {of} links have no RSSI: their levels were estimated from the reception ratios"
            ),
            Self::Percent => f.write_str("reception ratios were read as percent"),
            Self::AllChannels(n) => {
                write!(f, "{} without a channel: taken for every channel", rows(n))
            }
            Self::SelfLinks(n) => write!(f, "{} about a node and itself: left out", rows(n)),
            Self::Nameless(n) => {
                write!(f, "{} without a sender or receiver: left out", rows(n))
            }
            Self::Counts(n) => {
                write!(f, "{} without a number of frames: all count alike", rows(n))
            }
            Self::BothWays(links) => write!(
                f,
                "{links} links measured in one direction only: the other was taken to be like it"
            ),
            Self::OneWay => f.write_str(
                "no two nodes have rows in both directions; without a row nothing is heard, so no acknowledgement comes back",
            ),
        }
    }
}
