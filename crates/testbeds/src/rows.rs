//! Reading rows of untrusted text: bounds on bytes, line length and rows, columns by name, and the
//! checks that every kind of link file shares. Nothing here knows what a K7 trace or a link matrix is.
//! Invariant: what is wrong with a row is noted, and reading goes on until [`MAX_PROBLEMS`] are known.
//! Tests: `matrix.rs`, `k7_tests.rs` and `hostile_tests.rs`.

mod cells;
pub(crate) mod heading;

use std::io::BufRead;
use std::ops::Range;

use crate::bounds::MAX_ROWS;
use crate::columns::{self, Column};
use crate::error::{printable, Location, Problem, TestbedError, MAX_PROBLEMS};
use crate::names::{whole, Names, NODE};
use crate::quotes;
use crate::ratios::Ratios;
use crate::text::reading;

/// Mean RSSIs taken for real, dBm.
pub(crate) const RSSI_DBM: std::ops::RangeInclusive<f64> = -120.0..=20.0;

/// Most lines that one row may stand on, by line breaks within quotes.
const MAX_LINES: usize = 100;

/// What a table held beside its rows.
pub(crate) struct Finished {
    /// By what its ratios are to be multiplied.
    pub(crate) ratios: Ratios,
    /// Its nodes.
    pub(crate) names: Names,
}

/// The rows of a table whose first line, blank lines and lines that begin with `#` aside, names the columns.
/// They are parted by commas, semicolons or tabs, whichever the header has most of, and may be quoted (RFC 4180).
pub(crate) struct Rows<'a, R> {
    reader: R,
    source_name: &'a str,
    /// The current line, without its end, and its number.
    text: Vec<u8>,
    line: u64,
    /// The line after which the next one comes, where the current row has several.
    last_line: u64,
    /// Whether the current row was looked at, but not yet taken.
    held: bool,
    header_line: u64,
    delimiter: u8,
    fields: Vec<Range<usize>>,
    /// The headings in small letters, and as they are spelled.
    header: Vec<String>,
    spelled: Vec<String>,
    /// The columns that the header has not.
    missing: Vec<&'static Column>,
    /// Columns that it may lack, for errors about others.
    hints: Vec<String>,
    /// How many columns a row has at least.
    needed: usize,
    rows: u64,
    /// The header that errors name.
    expected: &'static str,
    ratios: Ratios,
    names: Names,
    faults: Vec<(Location, Problem)>,
}

impl<'a, R: BufRead> Rows<'a, R> {
    /// Reads the header line. `lines_before` lines were taken from `reader` already; `expected` is
    /// the header to name in errors.
    pub(crate) fn open(
        reader: R,
        source_name: &'a str,
        lines_before: u64,
        expected: &'static str,
    ) -> Result<Self, TestbedError> {
        Self::open_at(reader, source_name, (lines_before, None), expected)
    }

    /// The same where the line of the header may be known.
    pub(crate) fn open_at(
        reader: R,
        source_name: &'a str,
        (lines_before, header_line): (u64, Option<u64>),
        expected: &'static str,
    ) -> Result<Self, TestbedError> {
        let mut rows = Self {
            reader,
            source_name,
            text: Vec::new(),
            line: lines_before,
            last_line: lines_before,
            held: false,
            header_line: 0,
            delimiter: b',',
            fields: Vec::new(),
            header: Vec::new(),
            spelled: Vec::new(),
            missing: Vec::new(),
            hints: Vec::new(),
            needed: 0,
            rows: 0,
            expected,
            ratios: Ratios::default(),
            names: Names::default(),
            faults: Vec::new(),
        };
        rows.find_header(header_line)?;
        rows.header_line = rows.line;
        for index in 0..rows.fields.len() {
            let name = rows.field(index).map_err(|p| rows.on_line(p))?.to_owned();
            rows.header.push(name.to_lowercase());
            rows.spelled.push(name);
        }
        Ok(rows)
    }

    /// Goes to the header, which may be known to be on a certain line, past a title above it and Excel's `sep=;`.
    fn find_header(&mut self, known: Option<u64>) -> Result<(), TestbedError> {
        let first = self.last_line + 1;
        let mut said = None;
        loop {
            if !self.advance().map_err(|p| self.on_line(p))? {
                return Err(Problem::Empty(self.expected).on_line(self.source_name, first));
            }
            if let [s, e, p, b'=', mark] = &self.text[..] {
                if [*s, *e, *p].eq_ignore_ascii_case(b"sep") {
                    said = Some(*mark);
                    continue;
                }
            }
            if known.is_some_and(|line| self.line < line) {
                continue;
            }
            let most = heading::delimiter(&self.text);
            self.delimiter = said.or(most).unwrap_or(b',');
            self.split().map_err(|p| self.on_line(p))?;
            if known.is_some() {
                return Ok(());
            }
            let named = self.fields.iter().filter(|field| !self.is_blank(field));
            if self.fields.len() == 1 || named.count() > 1 {
                return Ok(());
            }
        }
    }
    fn is_blank(&self, field: &Range<usize>) -> bool {
        let bytes = self.text.get(field.clone()).unwrap_or_default();
        bytes.trim_ascii().is_empty()
    }

    /// Whether the table is a square one: a row for each sender, a column for each receiver. Its first row begins
    /// with a node that heads a column.
    pub(crate) fn are_square(&mut self) -> bool {
        match self.advance_row() {
            Ok(any) => self.held = any,
            Err(problem) => self.fault(problem),
        }
        if !self.held {
            return false;
        }
        let Ok(first) = self.field(0).map(str::to_lowercase) else {
            return false;
        };
        let number = whole(&first);
        let is_there = |name: &String| *name == first || number.is_some() && whole(name) == number;
        let columns = self.header.get(1..).unwrap_or_default();
        columns.len() > 1 && columns.iter().any(is_there)
    }
    /// How many columns the header has.
    pub(crate) fn columns(&self) -> usize {
        self.header.len()
    }
    /// The index of the node that heads a column.
    pub(crate) fn headed(&mut self, column: usize) -> Option<u16> {
        let text = self.spelled.get(column).cloned().unwrap_or_default();
        let place = Location::Line(self.header_line);
        let problem = || Problem::value("the heading", &text, NODE);
        match self.names.doubted(&text, || place.clone(), problem) {
            Ok(index) => Some(index),
            Err(problem) => {
                self.faults.push((place, problem));
                None
            }
        }
    }

    fn on_line(&self, problem: Problem) -> TestbedError {
        problem.on_line(self.source_name, self.line.max(1))
    }

    /// Whether a column has that heading.
    pub(crate) fn is_headed(&self, column: usize, name: &str) -> bool {
        columns::is_called(self.heading(column), name)
    }
    /// Where `column` is, under any of its names, if the header has it.
    pub(crate) fn find(&self, column: &Column) -> Option<usize> {
        let is = |name: &&str| {
            let mut headings = self.header.iter();
            headings.position(|h| columns::is_called(h, name))
        };
        column.names().iter().find_map(is)
    }
    /// Where `column` is; a fault where the header has it not.
    pub(crate) fn column(&mut self, column: &'static Column) -> usize {
        let found = self.find(column).unwrap_or_else(|| {
            self.missing.push(column);
            0
        });
        self.needed = self.needed.max(found + 1);
        found
    }
    /// Where `column` is, if the header has it. An error that misses others names it as well, with what it means that
    /// there is none.
    pub(crate) fn optional(&mut self, column: &'static Column, absent: &str) -> Option<usize> {
        let found = self.find(column);
        if found.is_none() {
            let hint = format!("and, unless {absent}, {}", column.wanted());
            self.hints.push(hint);
        }
        found
    }
    /// Where the column of reception ratios is; its heading may say that they are percent.
    pub(crate) fn ratio_column(&mut self) -> usize {
        let index = self.column(&columns::PRR);
        let heading = self.header.get(index);
        self.ratios
            .headed(heading.is_some_and(|h| columns::says_percent(h)));
        index
    }

    /// Goes to the next row; `false` after the last, or where there is no use in going on.
    pub(crate) fn next_row(&mut self) -> bool {
        while self.faults.len() < MAX_PROBLEMS {
            // Without its columns no row can be read.
            if !self.missing.is_empty() {
                let missing = std::mem::take(&mut self.missing).into_iter();
                let hints = std::mem::take(&mut self.hints);
                let missing = missing.map(Column::wanted).chain(hints).collect();
                let missing = Problem::MissingColumns(missing, self.headings());
                self.faults
                    .push((Location::Line(self.header_line), missing));
                return false;
            }
            let advanced = match std::mem::take(&mut self.held) {
                true => Ok(true),
                false => self.advance_row(),
            };
            match advanced {
                Ok(true) => {}
                Ok(false) => return false,
                Err(problem) => {
                    self.faults.push((Location::Line(self.line), problem));
                    return false;
                }
            }
            self.rows += 1;
            if self.rows > MAX_ROWS {
                self.fault(Problem::TooLarge("rows", MAX_ROWS));
                return false;
            }
            let (found, columns) = (self.fields.len(), self.header.len());
            let beyond = self.fields.get(columns..).unwrap_or_default();
            // A decimal comma in a table of commas would shift all that follows. Columns at the end that
            // nothing needs may be missing.
            if found < columns.min(self.needed) || beyond.iter().any(|field| !field.is_empty()) {
                self.fault(Problem::Columns(found, columns));
                continue;
            }
            return true;
        }
        false
    }
    /// Whether there was any row.
    pub(crate) fn are_none(&self) -> bool {
        self.rows == 0
    }
    /// What is wrong with the table, if anything is, and what it held beside its rows.
    pub(crate) fn finish(mut self) -> Result<Finished, TestbedError> {
        if self.faults.len() < MAX_PROBLEMS {
            let more = self.ratios.faults().into_iter().chain(self.names.faults());
            let room = MAX_PROBLEMS - self.faults.len();
            self.faults.extend(more.take(room));
        }
        let line = |place: &Location| match place {
            Location::Line(line) | Location::Cell { line, .. } => *line,
            Location::Whole | Location::Row(_) | Location::Key(_) => 0,
        };
        self.faults.sort_by_key(|(place, _)| line(place));
        self.faults.truncate(MAX_PROBLEMS);
        let mut faults = self.faults.into_iter();
        let Some((place, problem)) = faults.next() else {
            return Ok(Finished {
                ratios: self.ratios,
                names: self.names,
            });
        };
        let mut error = problem.at(self.source_name, place);
        error.others = faults.collect();
        Err(error)
    }

    /// Reads the next row with anything in it and finds its fields; `false` after the last.
    fn advance_row(&mut self) -> Result<bool, Problem> {
        while self.advance()? {
            self.split()?;
            if !self.fields.iter().all(|field| self.is_blank(field)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
    /// Reads the next line that is neither blank nor a remark.
    fn advance(&mut self) -> Result<bool, Problem> {
        self.line = self.last_line;
        loop {
            self.text.clear();
            self.line += 1;
            self.last_line = self.line;
            if self.append()? == 0 {
                return Ok(false);
            }
            match self.text.trim_ascii_start() {
                [] => {}
                [b'#', ..] => {
                    if let Ok(remark) = std::str::from_utf8(&self.text) {
                        self.names.remark(remark);
                    }
                }
                _ => return Ok(true),
            }
        }
    }
    /// Appends a line to the current text, without its end; 0 where there is none.
    fn append(&mut self) -> Result<usize, Problem> {
        let read = self.reader.read_until(b'\n', &mut self.text);
        let read = read.map_err(reading)?;
        // Not tabs: the last columns may be empty.
        let is_end = |b: &u8| matches!(b, b'\r' | b'\n' | b' ');
        let end = self.text.iter().rposition(|b| !is_end(b));
        self.text.truncate(end.map_or(0, |last| last + 1));
        Ok(read)
    }
    /// Finds the fields of the current line, and of those after it if a quote is open at its end.
    fn split(&mut self) -> Result<(), Problem> {
        for _ in 0..MAX_LINES {
            if quotes::split(&mut self.text, self.delimiter, &mut self.fields) {
                return Ok(());
            }
            self.text.push(b' ');
            if self.append()? == 0 {
                break;
            }
            self.last_line += 1;
        }
        Err(Problem::OpenQuote)
    }

    /// Notes that the current row is wrong.
    pub(crate) fn fault(&mut self, problem: Problem) {
        self.faults.push((Location::Line(self.line), problem));
    }
    /// Notes that the current row gives a link again: reported once, with the number of rows.
    pub(crate) fn repeated(&mut self, from: Box<str>, to: Box<str>, on: Option<u8>) {
        let mut known = self.faults.iter_mut().map(|(_, problem)| problem);
        let before = known.find_map(|problem| match problem {
            Problem::DuplicateLink(.., more) => Some(more),
            _ => None,
        });
        match before {
            Some(more) => *more += 1,
            None => self.fault(Problem::DuplicateLink(from, to, on, 0)),
        }
    }
    fn fault_at(&mut self, column: usize, problem: Problem) {
        self.faults.push((self.cell(column), problem));
    }
    const fn cell(&self, column: usize) -> Location {
        Location::Cell {
            line: self.line,
            column: column + 1,
        }
    }

    /// The columns that the header has, for errors.
    fn headings(&self) -> String {
        let shown = self.header.iter().take(12).map(|h| {
            let name: String = printable(h).chars().take(24).collect();
            format!("`{name}`")
        });
        let more = match self.header.len() {
            0..=12 => "",
            _ => ", …",
        };
        shown.collect::<Vec<_>>().join(", ") + more
    }

    /// The text of a column, without blanks around it.
    fn field(&self, column: usize) -> Result<&str, Problem> {
        let range = self.fields.get(column).cloned().unwrap_or_default();
        let bytes = self.text.get(range).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|_| Problem::NotText(self.expected))?;
        Ok(text.trim())
    }
    /// The heading of a column, in small letters.
    pub(crate) fn heading(&self, column: usize) -> &str {
        self.header.get(column).map_or("", String::as_str)
    }
    /// Whether a column has nothing in it.
    pub(crate) fn is_empty(&self, column: usize) -> bool {
        self.field(column).is_ok_and(columns::is_nothing)
    }
    /// Whether a column has the number 0.
    pub(crate) fn is_zero(&self, column: usize) -> bool {
        self.field(column)
            .is_ok_and(|text| text.replacen(',', ".", 1).parse() == Ok(0.0))
    }
    /// Whether a column has that text.
    pub(crate) fn holds(&self, column: usize, text: &str) -> bool {
        self.field(column).is_ok_and(|found| found == text)
    }
    /// Whether a column has nothing but zeros, as an address that is none.
    pub(crate) fn holds_zeros(&self, column: usize) -> bool {
        self.field(column)
            .is_ok_and(|text| text.trim_matches(['0', '-', 'x']).is_empty())
    }
    /// Whether a column has a number below zero.
    pub(crate) fn is_negative(&self, column: usize) -> bool {
        self.field(column).is_ok_and(|text| text.starts_with('-'))
    }
}
