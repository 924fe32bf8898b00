//! What was taken for granted where measured links do not say all that a simulation needs: counted by
//! who reads them, one line each for people. Tests: where each is made.

use std::fmt;

use thalweg_units::ChannelSet;

/// Something that a file of measured links leaves open, and what was made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Assumed {
    /// How many links have no mean RSSI, of how many; see `docs/testbeds.md`.
    Levels(usize, usize),
    /// Reception ratios were read as percent.
    Percent,
    /// This many rows name no channel, and none does.
    AllChannels(u64),
    /// This many rows name no channel, and others name these.
    NamedChannels(u64, ChannelSet),
    /// This many rows name no channel, and the header lists these.
    ListedChannels(u64, ChannelSet),
    /// This many rows without a channel were left out.
    Unplaced(u64),
    /// How many rows repeat a link, and how many links.
    Averaged(u64, usize),
    /// How many rows or entries repeat a link, and how many links, where no times tell them apart.
    Retold(u64, usize),
    /// This many links have a level and no ratio; the board, and PSDU bytes of a frame.
    RatiosByLevel {
        /// Links.
        links: usize,
        /// The board whose radio receives them.
        board: String,
        /// PSDU bytes of a frame.
        frame_bytes: u16,
    },
    /// Levels were made of link quality indications.
    LevelsByLqi,
    /// Levels were made of OpenThread's link qualities.
    LevelsByClass,
    /// The ratio of a link is that of frames acknowledged.
    Acknowledged,
    /// Gains are levels at the receiver.
    Gains,
    /// A table with a row for each sender and a column for each receiver.
    Square,
    /// A table with a row for each receiver and a column for each sender.
    SquareByReceiver,
    /// Rows of neighbour tables, which tell what a node receives of its neighbour.
    Heard,
    /// Rows of neighbour tables, which tell what a node sent to its neighbour.
    Sent,
    /// Senders that took turns so many times.
    Campaign(usize),
    /// A K7 trace without its first line.
    FirstLineLost,
    /// What nodes of a running network counted.
    Counters,
    /// How many lines of a log name no link, of how many.
    OtherLines(u64, u64),
    /// This many rows are about a node and itself.
    SelfLinks(u64),
    /// This many rows lack a sender or a receiver.
    Nameless(u64),
    /// This many rows have no reading of their link.
    Unread(u64),
    /// This many readings are an LQI of 0.
    NoLqi(u64),
    /// How many links have fewer rows than others that were measured again and again, of how many.
    Gaps(usize, usize),
    /// The sheet of a workbook that was read, where there are several.
    Sheet(String),
    /// Addresses that were taken for the nodes whose number they end in.
    AddressNumbers(usize),
    /// This many rows do not say on how many frames they stand.
    Counts(u64),
    /// A trace of counters, in which so many links have no row for the other direction.
    BothWays(usize),
    /// No pair of nodes has rows in both directions.
    OneWay,
}

impl fmt::Display for Assumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Levels(links, of) if links == of => {
                f.write_str("no link has an RSSI: levels were estimated from the reception ratios")
            }
            Self::Levels(links, of) => write!(
                f,
                "{links} of {of} links have no RSSI: their levels were estimated from the reception ratios"
            ),
            Self::Percent => f.write_str("reception ratios were read as percent"),
            Self::AllChannels(_) => {
                f.write_str("no row names a channel: each was taken for all sixteen channels")
            }
            Self::RatiosByLevel { links, board, frame_bytes } => by_level(f, *links, board, *frame_bytes),
            Self::LevelsByLqi => f.write_str(
                "levels are those of the LQI: 0 is -87 dBm and 255 is -10 dBm, as Z-Stack has it; other stacks differ",
            ),
            Self::LevelsByClass => f.write_str(
                "levels are those of the link qualities: 1, 2 and 3 are 5, 15 and 50 dB above -100 dBm, OpenThread's typical margins",
            ),
            Self::Acknowledged => f.write_str(
                "a ratio is that of transmissions acknowledged, which takes both directions; either may be better",
            ),
            Self::Gains => f.write_str("a gain is the level at the receiver of a frame sent at 0 dBm"),
            Self::Square => f.write_str("a square table: rows are senders, columns receivers; on all channels"),
            Self::SquareByReceiver => {
                f.write_str("a square table: rows are receivers, columns senders; on all channels")
            }
            Self::Heard => f.write_str("a row tells what the node received of its neighbour"),
            Self::Sent => f.write_str("a row tells what the node sent to its neighbour"),
            Self::Campaign(1) => f.write_str("a campaign in which senders took turns once"),
            Self::Campaign(visits) => write!(f, "a campaign in which senders took turns {visits} times"),
            Self::FirstLineLost => f.write_str(
                "a K7 trace without its first line: 100 ms between frames, on the channels that rows name; without a row nothing was heard",
            ),
            Self::Counters => f.write_str("counters of a running network: without a row there was no traffic"),
            Self::OtherLines(n, of) => write!(f, "{n} of {of} lines tell of no link"),
            Self::Sheet(name) => write!(f, "links are those of the sheet `{name}`"),
            Self::AddressNumbers(n) => write!(
                f,
                "no line says whose the addresses are: {n} were taken for those of the nodes whose ID they end in"
            ),
            Self::OneWay => f.write_str(
                "no two nodes have rows in both directions; without a row nothing is heard, so no acknowledgement comes back",
            ),
            counted => counted.fmt_counted(f),
        }
    }
}

impl Assumed {
    /// What is said of rows and links that were counted.
    fn fmt_counted(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = |n: &u64| match n {
            1 => "1 row".to_owned(),
            _ => format!("{n} rows"),
        };
        match self {
            Self::NamedChannels(n, named) => {
                write!(f, "{} without a channel: taken for the channels that other rows name: {}", rows(n), list(*named))
            }
            Self::ListedChannels(n, listed) => {
                write!(f, "{} without a channel: taken for each channel listed: {}", rows(n), list(*listed))
            }
            Self::Unplaced(n) => {
                write!(f, "{} without a channel: left out, since most have one", rows(n))
            }
            Self::Averaged(n, 1) => {
                write!(f, "{} tell of the same link at several times: the mean was taken", rows(n))
            }
            Self::Averaged(n, links) => write!(
                f,
                "{} tell of {links} links at several times: the mean of each was taken",
                rows(n)
            ),
            Self::Retold(n, 1) => write!(f, "1 link has {n} entries: the mean was taken"),
            Self::Retold(n, links) => {
                write!(f, "{links} links have {n} entries: the mean of each was taken")
            }
            Self::SelfLinks(n) => write!(f, "{} about a node and itself: left out", rows(n)),
            Self::Nameless(n) => {
                write!(f, "{} without a sender or receiver: left out", rows(n))
            }
            Self::Unread(n) => {
                write!(f, "{} without a reading (empty, NaN, NA or of no frames): left out", rows(n))
            }
            Self::NoLqi(1) => f.write_str("1 LQI of 0, which stands for no reading: left out"),
            Self::NoLqi(n) => write!(f, "{n} LQIs of 0, which stand for no reading: left out"),
            Self::Gaps(links, of) => write!(
                f,
                "{links} of {of} links have no row at some times: those count as not measured, not as silence"
            ),
            Self::Counts(n) => {
                write!(f, "{} without a number of frames: all count alike", rows(n))
            }
            Self::BothWays(1) => f.write_str(
                "1 link measured in one direction only: the other was taken to be like it",
            ),
            Self::BothWays(links) => write!(
                f,
                "{links} links measured in one direction only: the other was taken to be like it"
            ),
            // All others have sentences of their own.
            _ => Ok(()),
        }
    }
}

fn list(channels: ChannelSet) -> String {
    let channels: Vec<String> = channels.iter().map(|c| c.to_string()).collect();
    channels.join(", ")
}

fn by_level(f: &mut fmt::Formatter<'_>, links: usize, board: &str, bytes: u16) -> fmt::Result {
    let (links, they) = match links {
        1 => ("1 link has".to_owned(), "it"),
        _ => (format!("{links} links have"), "they"),
    };
    write!(
        f,
        "{links} no reception ratio: {they} got the share of {bytes}-byte frames that {board} receives at the link's level"
    )
}
