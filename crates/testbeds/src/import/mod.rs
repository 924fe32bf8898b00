//! Links as other programs write them: which program it was, by what a file begins with, and a reader for each. All
//! end in a [`Draft`]. A file that cannot be read is named, with what to do instead. Tests: `tests.rs`.

mod contiki;
mod cooja;
mod gains;
mod mercator;
mod thread;
mod thread_cli;
mod xlsx;
mod xml;
mod zigbee;
mod zip;

use std::io::Read;

use serde_json::Value;

use crate::assumed::Assumed;
use crate::draft::{Draft, Measure, Repeats};
use crate::error::{Location, Problem, TestbedError};
use crate::names::Names;
use crate::reception::Reception;
use crate::text::{reading, unpacked, unpacked_whole};
use crate::trace::Trace;

/// Most bytes of a file that is read as a whole.
const MAX_WHOLE: u64 = 64 << 20;

/// What another program wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A workbook of Excel and its like.
    Xlsx,
    /// What Excel wrote before 2007.
    Xls,
    /// A spreadsheet of OpenOffice and its like.
    Ods,
    /// Another archive.
    Zip,
    /// JSON of none of the programs below.
    Json,
    Cooja,
    ZigbeeMap,
    /// The same as a drawing for Graphviz or PlantUML.
    ZigbeeDrawing,
    Thread,
    /// Answers of OpenThread's command line.
    ThreadCli,
    Mercator,
    Contiki,
    Gains,
    /// Health reports of SmartMesh, as a table.
    SmartMesh,
}

impl Format {
    /// What a file is that begins so, unpacked as `text`; none for a K7 trace, a CSV or a testbed.
    pub(crate) fn of(start: &[u8], text: &[u8]) -> Option<Self> {
        if start.starts_with(b"PK\x03\x04") {
            let has = |what: &[u8]| start.windows(what.len()).any(|w| w == what);
            return Some(match (has(b"opendocument.spreadsheet"), has(b"xl/")) {
                (true, _) => Self::Ods,
                (false, true) => Self::Xlsx,
                // Which parts come first is the writer's choice.
                (false, false) if has(b"[Content_Types].xml") || has(b"_rels/") => Self::Xlsx,
                (false, false) => Self::Zip,
            });
        }
        if start.starts_with(b"\xd0\xcf\x11\xe0") {
            return Some(Self::Xls);
        }
        let text = String::from_utf8_lossy(text);
        let low = text.trim_start().to_lowercase();
        if low.starts_with("<?xml") || low.starts_with("<simconf") {
            Some(Self::Cooja)
        } else if let (true, Some(json)) = (low.starts_with(['{', '[']), Self::of_json(&low)) {
            Some(json)
        } else {
            Self::of_lines(&text)
        }
    }

    /// By its lines, remarks aside: those of a CSV may name any program.
    fn of_lines(text: &str) -> Option<Self> {
        let lines = || {
            let lines = text.lines().map(str::trim_start);
            lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
        };
        let head = lines().next().unwrap_or_default();
        let first = head.to_lowercase();
        let is_log = |line: &str| {
            line.contains("[INFO: ")
                || line.contains("[DBG : ")
                || line.to_lowercase().contains("contiki-ng")
        };
        if first.contains("frequency") && first.contains("mac") && first.contains(',') {
            Some(Self::Mercator)
        } else if first.contains("neighborid")
            && first.contains("macaddress")
            && !first.contains("moteid")
        {
            Some(Self::SmartMesh)
        } else if first.starts_with("digraph") || lines().any(|line| line.starts_with("@startuml"))
        {
            Some(Self::ZigbeeDrawing)
        } else if !first.contains([',', ';', '\t']) && lines().any(thread_cli::is_one) {
            Some(Self::ThreadCli)
        } else if lines().any(gains::is_one) {
            Some(Self::Gains)
        } else if (is_log(head) || !first.contains([',', ';', '\t'])) && lines().any(is_log) {
            // Cells of a table may say anything.
            Some(Self::Contiki)
        } else {
            None
        }
    }

    fn of_json(low: &str) -> Option<Self> {
        let has = |key: &str| low.contains(&format!("\"{key}\""));
        if has("ieeeaddr")
            || (has("nodes") && has("links"))
            || has("networkmap")
            || has("graphviz")
            || has("plantuml")
        {
            Some(Self::ZigbeeMap)
        } else if has("rloc16") || has("routedata") || has("extaddress") || has("leaderdata") {
            Some(Self::Thread)
        } else {
            None
        }
    }

    /// What it is, for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Xlsx => "a spreadsheet (XLSX)",
            Self::Xls => "a spreadsheet of old (XLS)",
            Self::Ods => "an OpenDocument spreadsheet (ODS)",
            Self::Zip => "a ZIP archive",
            Self::Json => "JSON of a program that is not known",
            Self::Cooja => "a Cooja simulation",
            Self::ZigbeeMap => "a zigbee2mqtt network map",
            Self::ZigbeeDrawing => "a network map, drawn",
            Self::Thread => "OpenThread diagnostics",
            Self::ThreadCli => "answers of OpenThread's command line",
            Self::Mercator => "raw rows of mercator",
            Self::Contiki => "a Contiki-NG log",
            Self::Gains => "TOSSIM gains",
            Self::SmartMesh => "health reports of SmartMesh",
        }
    }
}

/// A file's links, on the way to a trace.
struct Found {
    names: Names,
    draft: Draft,
    assumed: Vec<Assumed>,
}

impl Found {
    fn new() -> Self {
        Self {
            names: Names::default(),
            draft: Draft::new(Repeats::Averaged),
            assumed: Vec::new(),
        }
    }
    /// Adds a link on all channels. Links of a node to itself are counted.
    fn add(&mut self, from: &str, to: &str, measure: Measure) -> Result<(), Problem> {
        let (from, to) = (self.names.index(from)?, self.names.index(to)?);
        let _ = self.draft.add((from, to), None, measure);
        Ok(())
    }
    fn trace(mut self, reception: &Reception, source_name: &str) -> Result<Trace, TestbedError> {
        let mut trace = self.draft.finish(self.names, 1.0, reception, source_name)?;
        // Of both ends of a link, or again and again, but not at times that are read.
        let retold = |assumed| match assumed {
            Assumed::Averaged(rows, links) => Assumed::Retold(rows, links),
            other => other,
        };
        self.assumed.extend(trace.assumed.into_iter().map(retold));
        trace.assumed = self.assumed;
        Ok(trace)
    }
}

/// A level and no ratio.
const fn level(dbm: f64) -> Measure {
    Measure {
        ratio: None,
        rssi_dbm: Some(dbm),
        weight: 1.0,
    }
}

/// Reads a file that is of that `format`.
pub(crate) fn read(
    format: Format,
    reader: impl Read,
    source_name: &str,
    reception: &Reception,
) -> Result<Trace, TestbedError> {
    let foreign = |what: &str| {
        let what = format!("{}: {what}", format.name());
        Err(Problem::Foreign(what).at(source_name, Location::Whole))
    };
    let whole = |problem: Problem| problem.at(source_name, Location::Whole);
    let lines = |reader| unpacked(reader).map_err(|e| reading(e).on_line(source_name, 1));
    let text = |reader| text(reader).map_err(whole);
    let found = match format {
        Format::Xls | Format::Ods => return foreign("save it as XLSX or CSV"),
        Format::SmartMesh => {
            return foreign(
                "rows name a mote by its address and its neighbour by number; name both alike, in columns `src` and `dst`",
            )
        }
        Format::Json => {
            return foreign("maps of zigbee2mqtt and diagnostics of OpenThread can be read; make a CSV of other links")
        }
        Format::Zip => return foreign("unpack it, and give the file of links"),
        Format::Xlsx => {
            let sheet = xlsx::table(&bytes(reader).map_err(whole)?).map_err(whole)?;
            return read_sheet(sheet, source_name, reception);
        }
        Format::Mercator => return mercator::read(lines(reader)?, source_name, reception),
        Format::Gains => gains::read(lines(reader)?, source_name)?,
        Format::Contiki => contiki::read(lines(reader)?, source_name)?,
        Format::Cooja => cooja::read(&text(reader)?, source_name)?,
        Format::ZigbeeMap => {
            let map = json(&text(reader)?).map_err(whole)?;
            zigbee::read(&map).map_err(whole)?
        }
        Format::ZigbeeDrawing => zigbee::read_drawing(&text(reader)?).map_err(whole)?,
        Format::ThreadCli => thread_cli::read(&text(reader)?).map_err(whole)?,
        Format::Thread => {
            let diagnostics = json(&text(reader)?).map_err(whole)?;
            thread::read(&diagnostics).map_err(whole)?
        }
    };
    found.trace(reception, source_name)
}

/// A sheet of a workbook of several is named, in errors as well.
fn read_sheet(
    sheet: xlsx::Sheet,
    source_name: &str,
    reception: &Reception,
) -> Result<Trace, TestbedError> {
    let Some(name) = sheet.name else {
        return crate::matrix::read(sheet.text.as_bytes(), source_name, reception);
    };
    let source_name = format!("{source_name}, sheet `{name}`");
    let mut trace = crate::matrix::read(sheet.text.as_bytes(), &source_name, reception)?;
    trace.assumed.insert(0, Assumed::Sheet(name));
    Ok(trace)
}

fn bytes(reader: impl Read) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let mut reader = reader.take(MAX_WHOLE + 1);
    reader.read_to_end(&mut bytes).map_err(reading)?;
    match bytes.len() as u64 > MAX_WHOLE {
        true => Err(Problem::TooLarge("bytes", MAX_WHOLE)),
        false => Ok(bytes),
    }
}

/// XML or JSON, which may be a single line.
fn text(reader: impl Read) -> Result<String, Problem> {
    let bytes = bytes(unpacked_whole(reader).map_err(reading)?)?;
    String::from_utf8(bytes).map_err(|_| Problem::NotText("XML or JSON"))
}

fn json(text: &str) -> Result<Value, Problem> {
    serde_json::from_str(text).map_err(|e| Problem::malformed("JSON", &e))
}

#[cfg(test)]
mod tests;
