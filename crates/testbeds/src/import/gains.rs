//! TOSSIM's topology files: `gain 1 2 -61.4`, the level in dBm at node 2 of what node 1 sends at 0 dBm. Lines about
//! noise are left out: the air of a simulation has its own. Tests: `tests.rs`.

use std::io::BufRead;

use super::{level, Found};
use crate::assumed::Assumed;
use crate::error::{Problem, TestbedError};
use crate::text::reading;

const EXPECTED: &str = "`gain SENDER RECEIVER DBM`, as `gain 1 2 -61.4`";
/// A level below this is no link.
const LEAST_DBM: f64 = -120.0;

fn fields(line: &str) -> Option<(&str, &str, &str)> {
    let mut words = line.split([' ', '\t', ',']).filter(|w| !w.is_empty());
    let is_gain = words.next()?.eq_ignore_ascii_case("gain");
    let fields = (words.next()?, words.next()?, words.next()?);
    (is_gain && words.next().is_none()).then_some(fields)
}

/// Whether a line tells a gain.
pub(super) fn is_one(line: &str) -> bool {
    fields(line).is_some_and(|(_, _, dbm)| dbm.parse::<f64>().is_ok())
}

pub(super) fn read(reader: impl BufRead, source_name: &str) -> Result<Found, TestbedError> {
    let mut found = Found::new();
    found.assumed.push(Assumed::Gains);
    for (number, line) in (1..).zip(reader.lines()) {
        let line = line.map_err(|e| reading(e).on_line(source_name, number))?;
        if !line.trim_start().to_lowercase().starts_with("gain") {
            continue;
        }
        add(&mut found, &line).map_err(|problem| problem.on_line(source_name, number))?;
    }
    Ok(found)
}

fn add(found: &mut Found, line: &str) -> Result<(), Problem> {
    let wrong = || Problem::value("the line", line.trim(), EXPECTED);
    let (from, to, dbm) = fields(line).ok_or_else(wrong)?;
    let dbm = dbm.parse::<f64>().ok().filter(|dbm| *dbm <= 20.0);
    match dbm.ok_or_else(wrong)? {
        dbm if dbm >= LEAST_DBM => found.add(from, to, level(dbm)),
        _ => Ok(()),
    }
}
