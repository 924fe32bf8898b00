//! The first sheet of a workbook (XLSX, ISO/IEC 29500-1, SpreadsheetML) that has a table of links, in CSV: a line for each row, so that
//! errors name the row. Formulas count with the value that is stored beside them. Tests: `tests.rs`.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};

use super::xml::xml;
use super::zip::Archive;
use crate::error::{printable, Problem};

/// Most bytes of all sheets.
const MAX_TABLE: usize = 64 << 20;
/// Most sheets that are looked at.
const MAX_SHEETS: usize = 50;
/// Most rows of a sheet, as the format has it, and most columns that are read.
const MAX_ROW: usize = 1 << 20;
const MAX_COLUMN: usize = 1 << 14;
/// Where the first sheet is if the workbook does not say.
const USUAL: &str = "worksheets/sheet1.xml";

/// A sheet of a workbook.
pub(super) struct Sheet {
    /// Its name, where the workbook has several.
    pub(super) name: Option<String>,
    /// What it holds.
    pub(super) text: String,
}

/// The first sheet of the workbook `bytes` that has a list of links, or else a square table.
pub(super) fn table(bytes: &[u8]) -> Result<Sheet, Problem> {
    let archive = Archive::open(bytes)?;
    let shared = archive.text("xl/sharedStrings.xml")?;
    let shared = shared.as_deref().map_or(Ok(Vec::new()), strings)?;
    let listed = listed(&archive)?;
    let (mut sheets, mut budget, mut inflated) = (Vec::new(), MAX_TABLE, 0);
    for (name, target) in listed.iter().take(MAX_SHEETS) {
        let path = match target.strip_prefix('/') {
            Some(absolute) => absolute.to_owned(),
            None => format!("xl/{target}"),
        };
        // A sheet of a chart is elsewhere.
        let Some(sheet) = archive.text(&path)? else {
            continue;
        };
        inflated += sheet.len();
        if inflated > MAX_TABLE && !sheets.is_empty() {
            break;
        }
        let text = rows(&xml(&sheet)?, &shared, budget)?;
        budget = budget.saturating_sub(text.len());
        sheets.push((name, text));
    }
    if sheets.is_empty() {
        let what = "a spreadsheet without a sheet";
        return Err(Problem::Foreign(what.to_owned()));
    }
    let has = |square: bool| {
        let mut texts = sheets.iter().map(|(_, text)| text.as_bytes());
        texts.position(|text| crate::matrix::has_table(text, square))
    };
    let chosen = has(false).or_else(|| has(true));
    let chosen = match (chosen, sheets.len()) {
        (Some(chosen), _) => chosen,
        // An error comes later, when the sheet is read.
        (None, 1) => 0,
        (None, _) => return Err(no_table(&listed)),
    };
    let name = (listed.len() > 1).then(|| printable(sheets.get(chosen).map_or("", |(n, _)| n)));
    let text = sheets.into_iter().nth(chosen).map(|(_, text)| text);
    let text = text.unwrap_or_default();
    Ok(Sheet { name, text })
}

fn no_table(sheets: &[(String, String)]) -> Problem {
    let names = sheets.iter().take(8).map(|(name, _)| format!("`{name}`"));
    let names = printable(&names.collect::<Vec<_>>().join(", "));
    let what = format!(
        "a spreadsheet without a table of links on its sheets ({names}); expected one with the heading src,dst,channel,prr[,rssi_dbm] or a square table"
    );
    Problem::Foreign(what)
}

/// The names of the sheets and the parts that hold them, in the order of the workbook.
fn listed(archive: &Archive<'_>) -> Result<Vec<(String, String)>, Problem> {
    let usual = || vec![(String::new(), USUAL.to_owned())];
    let book = archive.text("xl/workbook.xml")?;
    let links = archive.text("xl/_rels/workbook.xml.rels")?;
    let (Some(book), Some(links)) = (book, links) else {
        return Ok(usual());
    };
    let (book, links) = (xml(&book)?, xml(&links)?);
    let link = |n: Node<'_, '_>| {
        Some((
            n.attribute("Id")?.to_owned(),
            n.attribute("Target")?.to_owned(),
        ))
    };
    let targets: BTreeMap<String, String> = links.descendants().filter_map(link).collect();
    let sheet = |n: Node<'_, '_>| {
        let id = n.attributes().find(|a| a.name() == "id")?;
        let name = n.attribute("name").unwrap_or_default();
        Some((name.to_owned(), targets.get(id.value())?.clone()))
    };
    let sheets = book.descendants().filter(|n| n.has_tag_name("sheet"));
    let sheets: Vec<_> = sheets.filter_map(sheet).collect();
    Ok(match sheets.is_empty() {
        true => usual(),
        false => sheets,
    })
}

/// The strings that cells name by number.
fn strings(text: &str) -> Result<Vec<String>, Problem> {
    let document = xml(text)?;
    let items = document.root_element().children();
    let items = items.filter(|n| n.has_tag_name("si"));
    Ok(items.map(written).collect())
}

/// All text of a string, without the way it is spoken.
fn written(of: Node<'_, '_>) -> String {
    let parts = of.descendants().filter(|n| {
        let is_spoken = n.parent().is_some_and(|p| p.has_tag_name("rPh"));
        n.has_tag_name("t") && !is_spoken
    });
    parts.filter_map(|n| n.text()).collect()
}

/// The cells of a sheet as CSV, of at most so many bytes.
fn rows(sheet: &Document<'_>, shared: &[String], budget: usize) -> Result<String, Problem> {
    let mut table = String::new();
    let mut last = 0;
    for row in sheet.descendants().filter(|n| n.has_tag_name("row")) {
        let number = row.attribute("r").and_then(|r| r.parse().ok());
        let number: usize = number.unwrap_or(last + 1);
        if number <= last || number > MAX_ROW {
            let expected = "rows in ascending order, at most 1048576";
            return Err(Problem::value("row", &number.to_string(), expected));
        }
        // The first row begins the first line.
        table.extend(std::iter::repeat_n('\n', number - last.max(1)));
        last = number;
        let mut column = 0;
        for cell in row.children().filter(|n| n.has_tag_name("c")) {
            let place = cell.attribute("r").and_then(column_of).unwrap_or(column);
            if place < column || place >= MAX_COLUMN {
                let reference = cell.attribute("r").unwrap_or_default();
                return Err(Problem::value(
                    "cell",
                    reference,
                    "cells in ascending order",
                ));
            }
            // Before the first column there is no comma.
            let commas = place + 1 - column.max(1);
            table.extend(std::iter::repeat_n(',', commas));
            quote(&value(cell, shared), &mut table);
            column = place + 1;
            // A cell may name a long string, and a row has many cells.
            if table.len() >= budget {
                return Err(Problem::TooLarge("bytes of text", MAX_TABLE as u64));
            }
        }
    }
    table.push('\n');
    Ok(table)
}

/// The column of a reference as `B3`, from 0.
fn column_of(reference: &str) -> Option<usize> {
    let letters = reference.bytes().take_while(u8::is_ascii_uppercase).take(4);
    let number = letters.fold(0, |n, letter| n * 26 + usize::from(letter - b'A') + 1);
    number.checked_sub(1)
}

/// What a cell shows, but for its format.
fn value(cell: Node<'_, '_>, shared: &[String]) -> String {
    let child = |name: &str| cell.children().find(|n| n.has_tag_name(name));
    let stored = child("v").and_then(|n| n.text()).unwrap_or_default();
    match cell.attribute("t") {
        Some("s") => {
            let index = stored.trim().parse::<usize>().ok();
            index
                .and_then(|i| shared.get(i))
                .cloned()
                .unwrap_or_default()
        }
        Some("inlineStr") => child("is").map(written).unwrap_or_default(),
        // An error such as #DIV/0! is no value.
        Some("e") => String::new(),
        _ => stored.to_owned(),
    }
}

fn quote(text: &str, table: &mut String) {
    let is_plain = |c: char| !matches!(c, ',' | ';' | '\t' | '"' | '\n' | '\r');
    if text.chars().all(is_plain) {
        table.push_str(text);
        return;
    }
    table.push('"');
    for c in text.chars() {
        match c {
            '"' => table.push_str("\"\""),
            '\n' | '\r' => table.push(' '),
            c => table.push(c),
        }
    }
    table.push('"');
}
