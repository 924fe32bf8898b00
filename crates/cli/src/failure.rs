//! How a command ends when it does not end well: one line for each problem, one exit status.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use thalweg::ErrorKind;
use thalweg_host::store::StoreError;
use thalweg_testbeds::TestbedError;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was typed, or the input named in it, cannot be used: status 2.
    Input(String),
    /// The same of a testbed's file, with a line for each problem.
    Testbed(String),
    /// The job did not get done: status 1.
    Job(String),
    /// One of these after the result was printed, with its status.
    Told(String, u8),
    /// The reader of standard output has gone: status 0.
    ReaderGone,
}

impl Failure {
    /// Bad input, explained by `error`.
    pub(crate) fn input(error: impl fmt::Display) -> Self {
        Self::Input(error.to_string())
    }
    /// A failed job, explained by `error`.
    pub(crate) fn job(error: impl fmt::Display) -> Self {
        Self::Job(error.to_string())
    }
    /// The same once the result is printed.
    pub(crate) fn after_result(self) -> Self {
        match self {
            Self::Input(line) | Self::Testbed(line) => Self::Told(line, 2),
            Self::Job(line) => Self::Told(line, 1),
            told => told,
        }
    }
    /// What it is, where no result was printed.
    pub(crate) fn instead_of_result(&self) -> Option<&str> {
        match self {
            Self::Input(line) | Self::Testbed(line) | Self::Job(line) => Some(line),
            Self::Told(..) | Self::ReaderGone => None,
        }
    }
    /// Says it on standard error, in one line where it is one problem, and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        let (lines, status) = match self {
            Self::Input(line) => (vec![line.as_str()], 2),
            Self::Testbed(lines) => (lines.lines().collect(), 2),
            Self::Job(line) => (vec![line.as_str()], 1),
            Self::Told(line, status) => (vec![line.as_str()], *status),
            Self::ReaderGone => return ExitCode::SUCCESS,
        };
        for line in lines {
            // Standard error may be closed as well.
            let _ = writeln!(io::stderr(), "thalweg: error: {}", one_line(line));
        }
        ExitCode::from(status)
    }
}

/// Why a transfer gave no report.
pub(crate) enum Stop {
    /// The user asked to stop.
    Interrupted,
    /// It could not be begun: the input is to blame.
    Input(String),
    /// It was begun and failed.
    Failed(String),
}

impl From<thalweg::Error> for Stop {
    fn from(error: thalweg::Error) -> Self {
        match error.kind() {
            ErrorKind::Stopped => Self::Interrupted,
            ErrorKind::Input => Self::Input(with_options(&error)),
            ErrorKind::Job => Self::Failed(error.to_string()),
        }
    }
}

impl From<thalweg::Error> for Failure {
    fn from(error: thalweg::Error) -> Self {
        match error {
            thalweg::Error::Testbed(why) => why.into(),
            error => Stop::from(error).into(),
        }
    }
}

/// `error` with options as they are typed.
pub(crate) fn with_options(error: &thalweg::Error) -> String {
    match error {
        thalweg::Error::NotTaken { option, protocol } => {
            format!("{} is not for --protocol {protocol}", typed(option))
        }
        thalweg::Error::Option { option, why } => format!("{}: {why}", typed(option)),
        thalweg::Error::Refused { experiment, why } => format!("{experiment}: --{why}"),
        thalweg::Error::NoResult { name, papers } => format!(
            "no paper and no result is called {name:?}; there are the papers {papers} and the results \
             of `thalweg experiment list`"
        ),
        error => error.to_string(),
    }
}

/// The option that the library calls `option`, or what there is too much of.
fn typed(option: &str) -> String {
    match option {
        "more than one base station" | "more than one source" => option.to_owned(),
        option => format!("--{option}"),
    }
}

impl From<TestbedError> for Failure {
    fn from(error: TestbedError) -> Self {
        Self::Testbed(error.to_string())
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted => Self::Job("interrupted; nothing was stored".to_owned()),
            Stop::Input(line) => Self::Input(line),
            Stop::Failed(line) => Self::Job(line),
        }
    }
}

/// The failure that a store's error is: a folder that cannot be one was typed, the rest are failed jobs.
impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotAFolder(_) => Self::input(error),
            other => Self::job(other),
        }
    }
}

/// `text` without line breaks and control characters, whatever file names it quotes.
pub(crate) fn one_line(text: &str) -> String {
    let clean = text.replace(char::is_control, " ");
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the standard library says of text that is no number, and what a user can tell from.
const NUMBERS: [(&str, &str); 5] = [
    ("invalid digit found in string", "wanted a whole number"),
    ("invalid float literal", "wanted a number"),
    (
        "cannot parse integer from empty string",
        "wanted a whole number",
    ),
    ("cannot parse float from empty string", "wanted a number"),
    (
        "number too large to fit in target type",
        "that is too large",
    ),
];

/// What clap says over several lines, in one: what is wrong, and the tip if there is one.
pub(crate) fn usage(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first).trim_end();
    let plainly = |line: String, (said, plain): &(&str, &str)| line.replace(said, plain);
    let mut line = NUMBERS.iter().fold(first.to_owned(), plainly);
    for paragraph in paragraphs {
        let paragraph = paragraph.trim();
        if paragraph.starts_with("tip:") {
            line = format!("{line} ({paragraph})");
        }
    }
    Failure::Input(line)
}
