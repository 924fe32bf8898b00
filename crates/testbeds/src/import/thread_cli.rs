//! What OpenThread's command line prints: `meshdiag topology`, which has all routers, and the tables of one device,
//! `neighbor table`, `router table` and `child table`. Where several devices were asked, the answer to `extaddr` before
//! its tables says which one it is; devices are named by it. A table's level (`Avg RSSI`) and `LQ In` are those of
//! what the device hears, `LQ Out` of what is heard of it; `3-links:{ 46 }` of what a router hears.
//! Sources: the reference of OpenThread's commands, and `cli_mesh_diag.cpp`. Tests: `tests/meshes.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::thread::{is_class, level_of};
use super::Found;
use crate::assumed::Assumed;
use crate::error::Problem;

/// Whether a line is of such an answer.
pub(super) fn is_one(line: &str) -> bool {
    let low = line.trim_start().to_lowercase();
    is_heading(&low) || low.contains("rloc16:0x") || low.starts_with("rloc16: 0x")
}

fn is_heading(low: &str) -> bool {
    low.starts_with('|') && cells(low).any(|cell| cell == "rloc16")
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    let inner = line.trim().trim_matches('|');
    inner.split('|').map(str::trim)
}

#[derive(Default)]
struct Answers<'a> {
    /// The device that answers, where it said so.
    own: Option<&'a str>,
    /// Whether the answer to `extaddr` comes next.
    asked: bool,
    heading: Vec<String>,
    /// Tables of a device that does not say which it is.
    unnamed: BTreeSet<Vec<String>>,
    tables: Vec<Row<'a>>,
    /// Of `meshdiag topology`: the last router, all by id, and who hears whom how well.
    router: Option<&'a str>,
    routers: BTreeMap<u16, &'a str>,
    heard: Vec<(&'a str, u16, u16)>,
    children: Vec<(&'a str, &'a str, u16)>,
}

/// A neighbour of a device.
struct Row<'a> {
    own: Option<&'a str>,
    neighbour: &'a str,
    level: Option<f64>,
    inward: u16,
    outward: u16,
}

pub(super) fn read(text: &str) -> Result<Found, Problem> {
    let mut answers = Answers::default();
    for line in text.lines().map(str::trim) {
        answers.read(line)?;
    }
    answers.found()
}

impl<'a> Answers<'a> {
    fn read(&mut self, line: &'a str) -> Result<(), Problem> {
        let low = line.to_lowercase();
        if is_heading(&low) {
            return self.begin_table(&low);
        }
        if std::mem::take(&mut self.asked) && line.len() == 16 {
            self.own = Some(line);
        } else if low.ends_with("extaddr") {
            self.asked = true;
        } else if line.starts_with('|') {
            self.tables.extend(self.row(line));
        } else if let (Some(id), Some(address)) = (after(line, "id:"), after(line, "ext-addr:")) {
            let id = id.parse().ok();
            self.router = Some(address);
            self.routers.extend(id.map(|id: u16| (id, address)));
        } else if let Some(router) = self.router {
            let links = line.split('}').filter_map(|part| {
                let (class, ids) = part.split_once("-links:{")?;
                Some((class.trim().parse::<u16>().ok()?, ids))
            });
            for (class, ids) in links {
                let ids = ids.split_whitespace().filter_map(|id| id.parse().ok());
                self.heard.extend(ids.map(|id| (router, id, class)));
            }
            if let (Some(child), Some(class)) = (after(line, "rloc16:"), after(line, "lq:")) {
                let class = class.trim_end_matches(',').parse().ok();
                self.children.extend(class.map(|c| (router, child, c)));
            }
        }
        Ok(())
    }

    fn begin_table(&mut self, low: &str) -> Result<(), Problem> {
        self.heading = cells(low).map(str::to_owned).collect();
        if self.own.is_none() && !self.unnamed.insert(self.heading.clone()) {
            let what = "tables of several OpenThread devices, which do not say whose they are; expected `extaddr` and its answer before those of each";
            return Err(Problem::Foreign(what.to_owned()));
        }
        Ok(())
    }

    fn row(&self, line: &'a str) -> Option<Row<'a>> {
        let cell = |name: &str| {
            let place = self.heading.iter().position(|head| head == name)?;
            cells(line).nth(place)
        };
        let number = |name| cell(name).and_then(|text| text.parse().ok());
        let address = cell("extended mac").filter(|mac| mac.bytes().any(|b| b != b'0'));
        Some(Row {
            own: self.own,
            neighbour: address.or_else(|| cell("rloc16"))?,
            // 127 is what a radio says that has none.
            level: cell("avg rssi")
                .and_then(|text| text.parse().ok())
                .filter(|dbm| (-120.0..=20.0).contains(dbm)),
            inward: number("lq in").unwrap_or(0),
            outward: number("lq out").unwrap_or(0),
        })
    }

    fn found(self) -> Result<Found, Problem> {
        let mut found = Found::new();
        let mut by_class = false;
        let level_known: BTreeSet<_> = self
            .tables
            .iter()
            .filter(|row| row.level.is_some())
            .map(|row| (row.own, row.neighbour))
            .collect();
        for row in &self.tables {
            let me = row.own.unwrap_or("this device");
            if let Some(dbm) = row.level {
                found.add(row.neighbour, me, super::level(dbm))?;
            } else if is_class(row.inward) && !level_known.contains(&(row.own, row.neighbour)) {
                by_class = true;
                found.add(row.neighbour, me, level_of(row.inward)?)?;
            }
            if is_class(row.outward) {
                by_class = true;
                found.add(me, row.neighbour, level_of(row.outward)?)?;
            }
        }
        let heard = self
            .heard
            .iter()
            .filter_map(|(router, id, class)| Some((*router, *self.routers.get(id)?, *class)));
        for (router, other, class) in heard.chain(self.children.iter().copied()) {
            if is_class(class) {
                by_class = true;
                found.add(other, router, level_of(class)?)?;
            }
        }
        if found.names.len() == 0 {
            let what = "answers of OpenThread's command line without links; expected those to `meshdiag topology`, `neighbor table` or `router table`";
            return Err(Problem::Foreign(what.to_owned()));
        }
        found
            .assumed
            .extend(by_class.then_some(Assumed::LevelsByClass));
        found.assumed.extend(found.draft.mirror());
        Ok(found)
    }
}

/// The word that follows `key` in a line.
fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace()
        .find_map(|word| word.strip_prefix(key))
        .filter(|value| !value.is_empty())
}
