//! What can be wrong with a testbed: one typed error whose text has a line for each problem, which names
//! the file, the place in it and what was expected there. Tests: `matrix.rs`, `k7_tests.rs`, `file_tests.rs`.

use std::fmt;
use std::io;

use thalweg_units::{Channel, ChannelSet};
use thiserror::Error;

/// A testbed could not be made of what was given.
#[derive(Debug, Error)]
pub struct TestbedError {
    /// The file, or the name given where no such file or built-in testbed exists.
    pub source_name: String,
    /// Where in it.
    pub place: Location,
    /// What is wrong there.
    pub problem: Problem,
    /// What else is wrong, in the order of the file; a file is read until [`MAX_PROBLEMS`] are known.
    pub others: Box<[(Location, Problem)]>,
}

/// Why a name stands for no node.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// No node of the testbed has it.
    #[error("{0} has no node of this name")]
    NoNode(String),
    /// Nodes of these numbers have it.
    #[error("{0} has nodes {1} of this name; give the number of one")]
    Several(String, String),
}

/// Most problems of one file that are reported at once.
pub const MAX_PROBLEMS: usize = 20;

impl fmt::Display for TestbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, place: &Location, problem: &Problem| {
            write!(f, "{}{place}: {problem}", self.source_name)?;
            match place {
                Location::Cell { column, .. } => write!(f, " (column {column})"),
                _ => Ok(()),
            }
        };
        line(f, &self.place, &self.problem)?;
        for (place, problem) in self.others.iter() {
            f.write_str("\n")?;
            line(f, place, problem)?;
        }
        if self.others.len() + 1 >= MAX_PROBLEMS {
            let name = &self.source_name;
            write!(f, "\n{name}: the rest was not looked at")?;
        }
        Ok(())
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// The file as a whole.
    Whole,
    /// A line, counted from 1.
    Line(u64),
    /// A value of a table.
    Cell {
        /// Its line, counted from 1.
        line: u64,
        /// Its column, counted from 1.
        column: usize,
    },
    /// A row of a table that is a value, counted from 0.
    Row(usize),
    /// A key of a TOML file, as `nodes[2].x_m`.
    Key(String),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Line(line) | Self::Cell { line, .. } => write!(f, ", line {line}"),
            Self::Row(row) => write!(f, ", row {row}"),
            Self::Key(key) => write!(f, ", key `{key}`"),
        }
    }
}

/// What is wrong with a testbed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// Neither a built-in testbed (these are named) nor a file.
    #[error("no such testbed: neither a file nor one of the built-in testbeds ({0})")]
    Unknown(String),
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// The gzip stream is damaged or ends too early.
    #[error("the gzip stream is damaged or cut short ({0})")]
    Gzip(io::Error),
    /// Nothing in the file; what should have been there.
    #[error("the file is empty; expected {0}")]
    Empty(&'static str),
    /// A bound that keeps a hostile file from filling the memory: of what, and how much.
    #[error("more than {1} {0}")]
    TooLarge(&'static str, u64),
    /// Not text; what should have been there.
    #[error("not UTF-8 text; expected {0}")]
    NotText(&'static str),
    /// The JSON header of a K7 trace is not as it should be.
    #[error("the K7 header is wrong: {0}")]
    Json(String),
    /// The TOML is malformed or has a key that no testbed has.
    #[error("{0}")]
    Toml(String),
    /// The heading of a table lacks columns: which, with the names that would do, and the columns that it has.
    #[error("the heading lacks {names}; it has {1}", names = .0.join(", "))]
    MissingColumns(Vec<String>, String),
    /// A quote that nothing closes.
    #[error("the quote that opens in this line is not closed; expected `\"` at its end")]
    OpenQuote,
    /// A file of another program that cannot be read as it is: what it is, and what to do.
    #[error("{0}")]
    Foreign(String),
    /// A row has not the columns of the header: how many it has, and the header.
    #[error("the row has {0} columns, the header {1}")]
    Columns(usize, usize),
    /// A value that cannot be: of which quantity, the value, shortened, and what it should be.
    #[error("{0} is `{1}`; expected {2}")]
    Value(Box<str>, Box<str>, Box<str>),
    /// A link that was given before: sender, receiver, channel (none stands for all), and how many rows after it are the
    /// same slip.
    #[error("the link {0} -> {1} on {channels} is given twice{more}; expected one row per link, or a CSV with a column `datetime` where there are several days", channels = on(*.2), more = and_more(*.3))]
    DuplicateLink(Box<str>, Box<str>, Option<u8>, u64),
    /// A node id that two nodes share.
    #[error("node {0} is given twice; expected every node once")]
    DuplicateNode(u16),
    /// A node that is not one of the testbed's, which are so many.
    #[error("node {0} is not one of the testbed's {1} nodes")]
    UnknownNode(u16, usize),
    /// More different nodes than the header's `node_count` admits, and the id that is one too many.
    #[error("the header says {0} nodes, but this row names one more: {1}")]
    HeaderNodes(u32, Box<str>),
    /// A channel that the header or the testbed does not list, and those listed.
    #[error("channel {0} is not one of the channels listed: {1}")]
    UnlistedChannel(u8, String),
    /// No node or no link at all: of what, and how many are needed.
    #[error("no {0}; expected at least {1}")]
    TooFew(&'static str, usize),
    /// There is no such board.
    #[error("{0}")]
    Board(String),
    /// The TOML does not say what the network is; what was found instead.
    #[error(
        "expected exactly one of `[building]`, `[[nodes]]` (with positions) or `[links]`: {0}"
    )]
    Physics(&'static str),
}

fn on(number: Option<u8>) -> String {
    number.map_or("all channels".to_owned(), |n| format!("channel {n}"))
}

fn and_more(rows: u64) -> String {
    match rows {
        0 => String::new(),
        1 => ", and so is that of another row".to_owned(),
        rows => format!(", and so are those of {rows} more rows"),
    }
}

impl Problem {
    pub(crate) fn at(self, source_name: &str, place: Location) -> TestbedError {
        TestbedError {
            source_name: printable(source_name),
            place,
            problem: self,
            others: Box::default(),
        }
    }
    pub(crate) fn on_line(self, source_name: &str, line: u64) -> TestbedError {
        self.at(source_name, Location::Line(line))
    }
    pub(crate) fn at_key(self, source_name: &str, key: impl Into<String>) -> TestbedError {
        self.at(source_name, Location::Key(key.into()))
    }
    /// A value that cannot be; `found` comes from the file, so it is shortened and made printable.
    pub(crate) fn value(what: &str, found: &str, expected: impl Into<String>) -> Self {
        let expected: String = expected.into();
        Self::Value(
            printable(what).into(),
            printable(found).into(),
            expected.into(),
        )
    }
    /// What a parser says of a file, which may quote the file.
    pub(crate) fn malformed(what: &str, error: &impl std::fmt::Display) -> Self {
        Self::Foreign(format!(
            "malformed {what}: {}",
            printable(&error.to_string())
        ))
    }
    /// A channel that is not among those `listed`.
    pub(crate) fn unlisted(channel: Channel, listed: ChannelSet) -> Self {
        let listed: Vec<String> = listed.iter().map(|c| c.to_string()).collect();
        Self::UnlistedChannel(channel.number(), listed.join(" "))
    }
}

/// At most 200 characters of `text`, on one line: error texts stay readable whatever the file holds.
pub(crate) fn printable(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut shown: String = text.chars().take(200).map(plain).collect();
    if text.chars().nth(200).is_some() {
        shown.push('…');
    }
    shown
}
