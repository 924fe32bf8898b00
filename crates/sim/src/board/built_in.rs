//! The boards that come with the program: one file each in `boards/`, built in. Tests: `built_in_tests.rs`.

use super::{file, Board, BoardError, BoardTiming};
use crate::clock::ClockModel;
use thalweg_units::Duration;

const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/boards.rs"));

/// The names of the built-in boards.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The built-in board of that name.
///
/// # Errors
/// [`BoardError::Unknown`]; [`BoardError::Malformed`], which a test rules out.
pub fn built_in(name: &str) -> Result<Board, BoardError> {
    let text = known(name).ok_or_else(|| unknown(name))?;
    parse(name, text)
}

/// The built-in board of that name, or the one in the TOML file of that name.
///
/// # Errors
/// [`BoardError`].
pub fn load(name: &str) -> Result<Board, BoardError> {
    parse(name, &text_of(name)?)
}

/// The board that `text` describes; `path` names it in errors.
///
/// # Errors
/// [`BoardError`].
pub fn parse(path: &str, text: &str) -> Result<Board, BoardError> {
    file::read(path, text, &text_of)
}

fn known(name: &str) -> Option<&'static str> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}
fn unknown(name: &str) -> BoardError {
    BoardError::Unknown {
        name: name.to_owned(),
        known: names().collect::<Vec<_>>().join(", "),
    }
}
fn text_of(name: &str) -> Result<String, BoardError> {
    if let Some(text) = known(name) {
        return Ok(text.to_owned());
    }
    std::fs::read_to_string(name).map_err(|why| match why.kind() {
        std::io::ErrorKind::NotFound => unknown(name),
        _ => BoardError::Unreadable {
            path: name.to_owned(),
            why,
        },
    })
}

/// TelosB (Tmote Sky) with the software of Glossy and P3: `boards/telosb.toml`.
#[expect(clippy::expect_used, reason = "it is built in, and a test reads it")]
pub fn telosb() -> Board {
    built_in("telosb").expect("built in")
}

/// A board without errors of its own: perfect clock, no jitter, the given timing; else a
/// TelosB. For tests to the nanosecond.
pub fn exact(timing: BoardTiming) -> Board {
    Board {
        name: "exact".to_owned(),
        timing: BoardTiming {
            to_receive: timing.turnaround,
            ..timing
        },
        clock: ClockModel::PERFECT,
        sync_jitter: Duration::ZERO,
        sync_step: Duration::ZERO,
        software_jitter: Duration::ZERO,
        handler: Duration::ZERO,
        ..telosb()
    }
}

#[cfg(test)]
#[path = "built_in_tests.rs"]
mod tests;
