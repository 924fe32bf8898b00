//! Where a table begins: past titles, dates and whatever else people write above its heading. Tests: `matrix_tests.rs`.

use crate::columns::{self, Column};
use crate::quotes;

/// Most lines that are looked at.
const MAX_ABOVE: usize = 50;

/// What parts the columns of a line: whichever it has most of.
pub(crate) fn delimiter(line: &[u8]) -> Option<u8> {
    let count = |d: &u8| line.iter().filter(|b| *b == d).count();
    // Of equal ones the last is taken: the comma, which may stand for a decimal point in other tables.
    [b'\t', b';', b','].into_iter().max_by_key(count)
}

/// The line, counted from 1, that heads a list of links in text which begins with `start`.
pub(crate) fn of_list(start: &[u8]) -> Option<u64> {
    let is_heading = |cells: &[String]| {
        let has = |column: &Column| {
            let names = column.names().iter();
            names
                .flat_map(|name| cells.iter().map(move |cell| (cell, name)))
                .any(|(cell, name)| columns::is_called(cell, name))
        };
        (has(&columns::SRC) && has(&columns::DST))
            || (has(&columns::NODE) && has(&columns::NEIGHBOUR))
    };
    let mut lines = lines(start);
    lines.find_map(|(at, cells)| is_heading(&cells).then_some(at))
}

/// The line where any table begins: where there is no list, the first one of several cells, if those before have one.
pub(crate) fn of_table(start: &[u8]) -> Option<u64> {
    let is_wide = |cells: &[String]| cells.iter().filter(|cell| !cell.is_empty()).count() > 1;
    of_list(start).or_else(|| {
        let mut lines = lines(start);
        lines.find_map(|(at, cells)| is_wide(&cells).then_some(at))
    })
}

/// The first lines that are neither blank nor remarks, with their numbers, as cells in small letters.
fn lines(start: &[u8]) -> impl Iterator<Item = (u64, Vec<String>)> + '_ {
    let lines = (1..).zip(start.split(|b| *b == b'\n'));
    let lines = lines.filter(|(_, line)| !matches!(line.trim_ascii(), [] | [b'#', ..]));
    lines.take(MAX_ABOVE).map(|(at, line)| {
        let (mut text, mut fields) = (line.to_vec(), Vec::new());
        // A quote that is open swallows the rest, so no heading is in this line.
        quotes::split(&mut text, delimiter(line).unwrap_or(b','), &mut fields);
        let cells = fields.iter().map(|field| {
            let bytes = text.get(field.clone()).unwrap_or_default();
            String::from_utf8_lossy(bytes).trim().to_lowercase()
        });
        (at, cells.collect())
    })
}
