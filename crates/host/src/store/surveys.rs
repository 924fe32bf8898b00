//! Surveys: the links of a network as they were measured, so that a daemon that starts again need not ask its nodes
//! anew. Links are kept as `from to channel ratio power` lines, batteries as `node:millivolts` words. Invariant: the
//! last [`KEPT_SURVEYS`] of a network are kept. Time base: wall clock. Tests: `surveys_tests.rs`.

use std::fmt::Write as _;

use rusqlite::{params, Row};
use thalweg_planner::LinkQualities;
use thalweg_units::{BatteryLevel, Channel, Dbm, NodeId};

use super::outbox::{self, Message};
use super::{db_error, Result, Store};

/// How many surveys of a network are kept.
pub const KEPT_SURVEYS: u32 = 48;

/// A survey to be kept.
#[derive(Debug, Clone, Copy)]
pub struct NewSurvey<'a> {
    /// How long it took by the network's time, in seconds.
    pub took_s: f64,
    /// Nodes whose tables did not come in.
    pub missing: &'a [NodeId],
    /// The batteries that were reported.
    pub batteries: &'a [(NodeId, BatteryLevel)],
    /// The links.
    pub links: &'a LinkQualities,
}

/// Links as they were measured.
#[derive(Debug, Clone)]
pub struct StoredSurvey {
    /// Its number.
    pub id: i64,
    /// When it ended, in seconds since 1970.
    pub measured_at: i64,
    /// How long it took by the network's time, in seconds.
    pub took_s: f64,
    /// Nodes whose tables did not come in.
    pub missing: Vec<NodeId>,
    /// The batteries that were reported.
    pub batteries: Vec<(NodeId, BatteryLevel)>,
    /// The links.
    pub links: LinkQualities,
}

impl Store {
    /// Stores `survey`, made by `sink` of `network`, and queues `messages`: all of it or nothing.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn keep_survey(
        &mut self,
        (network, sink): (&str, NodeId),
        survey: &NewSurvey<'_>,
        messages: &[Message],
    ) -> Result<()> {
        let fail = db_error(&self.database);
        let missing: Vec<String> = survey.missing.iter().map(ToString::to_string).collect();
        let batteries = survey.batteries.iter();
        let batteries = batteries.map(|(node, level)| format!("{node}:{}", level.millivolts()));
        let batteries: Vec<String> = batteries.collect();
        let tx = self.begin()?;
        let sql = "INSERT INTO surveys (network, sink, took_s, missing, batteries, links)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = params![
            network,
            sink.get(),
            survey.took_s,
            missing.join(" "),
            batteries.join(" "),
            written(survey.links)
        ];
        tx.execute(sql, values).map_err(&fail)?;
        let sql = "DELETE FROM surveys WHERE network = ?1 AND sink = ?2 AND id NOT IN
            (SELECT id FROM surveys WHERE network = ?1 AND sink = ?2 ORDER BY id DESC LIMIT ?3)";
        tx.execute(sql, params![network, sink.get(), KEPT_SURVEYS])
            .map_err(&fail)?;
        outbox::write(&tx, messages).map_err(&fail)?;
        tx.commit().map_err(&fail)
    }

    /// The `most` youngest surveys of a network of `nodes` nodes, the youngest first. One that is not of these
    /// nodes is left out.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn surveys(
        &self,
        (network, sink): (&str, NodeId),
        nodes: usize,
        most: u32,
    ) -> Result<Vec<StoredSurvey>> {
        let sql = "SELECT * FROM surveys WHERE network = ?1 AND sink = ?2
            ORDER BY id DESC LIMIT ?3";
        let values = params![network, sink.get(), most];
        let rows = self.rows(sql, values, |row| stored(row, nodes))?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// The numbers of the `most` youngest surveys of a network, the youngest first.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn survey_ids(&self, (network, sink): (&str, NodeId), most: u32) -> Result<Vec<i64>> {
        let sql = "SELECT id FROM surveys WHERE network = ?1 AND sink = ?2
            ORDER BY id DESC LIMIT ?3";
        self.rows(sql, params![network, sink.get(), most], |row| row.get("id"))
    }

    /// The survey of number `id`, where it is of `nodes` nodes.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn survey(&self, id: i64, nodes: usize) -> Result<Option<StoredSurvey>> {
        let rows = self.rows("SELECT * FROM surveys WHERE id = ?1", [id], |row| {
            stored(row, nodes)
        })?;
        Ok(rows.into_iter().flatten().next())
    }

    /// The batteries reported in the `most` youngest surveys of a network, the youngest first, with the time of each in
    /// seconds since 1970.
    ///
    /// # Errors
    /// [`super::StoreError::Database`].
    pub fn batteries(
        &self,
        (network, sink): (&str, NodeId),
        most: u32,
    ) -> Result<Vec<BatteryReport>> {
        let sql = "SELECT measured_at, batteries FROM surveys WHERE network = ?1 AND sink = ?2
            ORDER BY id DESC LIMIT ?3";
        self.rows(sql, params![network, sink.get(), most], |row| {
            Ok((row.get("measured_at")?, batteries(row)?))
        })
    }
}

/// The time of a survey, in seconds since 1970, and the batteries reported in it.
type BatteryReport = (i64, Vec<(NodeId, BatteryLevel)>);

fn batteries(row: &Row<'_>) -> rusqlite::Result<Vec<(NodeId, BatteryLevel)>> {
    let words: String = row.get("batteries")?;
    let battery = |word: &str| {
        let (of, millivolts) = word.split_once(':')?;
        let level = BatteryLevel::of_millivolts(millivolts.parse().ok()?);
        Some((node(of)?, level))
    };
    Ok(words.split_whitespace().filter_map(battery).collect())
}

fn node(text: &str) -> Option<NodeId> {
    NodeId::new(text.parse().ok()?).ok()
}

fn stored(row: &Row<'_>, nodes: usize) -> rusqlite::Result<Option<StoredSurvey>> {
    let (missing, links): (String, String) = (row.get("missing")?, row.get("links")?);
    let missing = missing.split_whitespace().filter_map(node).collect();
    let batteries = batteries(row)?;
    let (id, measured_at, took_s) = (row.get("id")?, row.get("measured_at")?, row.get("took_s")?);
    Ok(read(&links, nodes).map(|links| StoredSurvey {
        id,
        measured_at,
        took_s,
        missing,
        batteries,
        links,
    }))
}

fn written(links: &LinkQualities) -> String {
    let mut text = String::new();
    for channel in links.channels().iter() {
        for from in 0..links.nodes() {
            for (to, quality) in links.heard_from(from, channel) {
                let sent = quality.sent.unwrap_or(0);
                // Writing to a string cannot fail.
                let _ = write!(text, "{from} {to} {channel} {:.4} {sent}", quality.prr);
                if let Some(rssi) = quality.rssi {
                    let _ = write!(text, " {:.1}", rssi.0);
                }
                text.push('\n');
            }
        }
    }
    text
}

/// The links between `nodes` nodes in `text`; none where it has other nodes.
fn read(text: &str, nodes: usize) -> Option<LinkQualities> {
    let mut links = LinkQualities::new(nodes);
    for line in text.lines() {
        let mut parts = line.split(' ');
        let (from, to) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let channel = Channel::new(parts.next()?.parse().ok()?).ok()?;
        let prr: f64 = parts.next()?.parse().ok()?;
        let sent: u32 = parts.next()?.parse().ok()?;
        let rssi = match parts.next() {
            Some(rssi) => Some(Dbm(rssi.parse().ok()?)),
            None => None,
        };
        if sent > 0 {
            let received = (prr * f64::from(sent)).round() as u32;
            links.record(from, to, channel, received, sent, rssi).ok()?;
        } else {
            links.record_prr(from, to, channel, prr, rssi).ok()?;
        }
    }
    Some(links)
}

#[cfg(test)]
#[path = "surveys_tests.rs"]
mod tests;
