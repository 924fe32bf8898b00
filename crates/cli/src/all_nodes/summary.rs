//! What is printed of a campaign at its end.

use crate::failure::{one_line, Failure};
use crate::network;
use crate::output;
use crate::table::{folded, number, Align, Table, NARROW};
use serde::Serialize;
use thalweg_host::store::{Campaign, Condition, Store, Turn, TurnState};
use thalweg_testbeds::Testbed;

/// Most letters of a reason in a table.
const MAX_CELL: usize = 32;

/// A campaign's results as `--json` prints them.
#[derive(Debug, Serialize)]
pub(crate) struct CampaignSummary {
    pub(super) nodes: Vec<Line>,
    /// How many objects arrived.
    objects: usize,
    /// Their bytes.
    pub(super) bytes: u64,
    /// Time of all transfers, added up.
    duration_s: f64,
    /// None where other transfers ran meanwhile.
    energy_j: Option<f64>,
    /// All bytes over that time.
    goodput_kbps: Option<f64>,
}

/// One node's line.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Line {
    /// The station whose node it is, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) station: Option<String>,
    pub(crate) source: u16,
    /// What its node is called beside its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    pub(crate) verified: bool,
    /// Whether it travelled encrypted, with its node's tag.
    pub(crate) sealed: bool,
    pub(crate) failure: Option<String>,
    pub(crate) bytes: Option<u64>,
    pub(crate) goodput_kbps: Option<f64>,
    pub(crate) rounds: Option<u32>,
    pub(crate) hops: Option<u32>,
    pub(crate) paths: Option<u32>,
    pub(crate) energy_j: Option<f64>,
    pub(crate) duration_s: Option<f64>,
    pub(crate) digest: Option<String>,
}

impl Line {
    /// Its node for people.
    pub(super) fn node(&self) -> String {
        let (station, label) = (self.station.as_deref(), self.label.as_deref());
        let node = network::named_as(self.source, label);
        station.map_or(node.clone(), |station| {
            format!("{} {node}", one_line(station))
        })
    }
    pub(super) fn new(store: &Store, testbed: &Testbed, turn: &Turn) -> Result<Self, Failure> {
        let mut line = Self {
            source: turn.node.get(),
            label: testbed.label(turn.node).map(str::to_owned),
            ..Self::default()
        };
        let stored = match &turn.state {
            TurnState::Done(id) => store.transfer(*id)?,
            TurnState::Failed(reason) => {
                line.failure = Some(reason.clone());
                None
            }
            TurnState::Left => None,
        };
        let Some(stored) = stored else {
            return Ok(line);
        };
        let failure = match (stored.record.verified, stored.condition()?) {
            (false, _) => Some("the object did not arrive whole"),
            (true, Condition::Whole) => None,
            (true, Condition::Missing) => Some("the object was deleted from the store"),
            (true, Condition::Changed) => Some("the object was changed in the store"),
        };
        let r = stored.record;
        Ok(Self {
            verified: failure.is_none(),
            sealed: r.sealed,
            failure: failure.map(str::to_owned),
            bytes: Some(r.bytes),
            goodput_kbps: Some(r.goodput_kbps),
            rounds: Some(r.rounds),
            hops: Some(r.hops),
            paths: Some(r.paths),
            energy_j: r.energy_j,
            duration_s: Some(r.duration_s),
            digest: stored.digest,
            ..line
        })
    }
}

pub(super) fn summary(
    store: &Store,
    testbed: &Testbed,
    campaign: &Campaign,
) -> Result<CampaignSummary, Failure> {
    let nodes = campaign.nodes.iter();
    let lines = nodes.map(|turn| Line::new(store, testbed, turn));
    Ok(CampaignSummary::of(lines.collect::<Result<_, _>>()?))
}

impl CampaignSummary {
    /// That of `nodes`.
    pub(crate) fn of(nodes: Vec<Line>) -> Self {
        let whole = || nodes.iter().filter(|line| line.verified);
        let bytes = whole().filter_map(|line| line.bytes).sum::<u64>();
        // An empty sum of floats is -0.
        let total =
            |of: fn(&Line) -> Option<f64>| nodes.iter().filter_map(of).fold(0.0, |a, b| a + b);
        let duration_s = total(|line| line.duration_s);
        Self {
            objects: whole().count(),
            bytes,
            duration_s,
            energy_j: whole()
                .all(|line| line.energy_j.is_some())
                .then(|| total(|line| line.energy_j)),
            goodput_kbps: (duration_s > 0.0).then(|| bytes as f64 * 8.0 / 1000.0 / duration_s),
            nodes,
        }
    }
    /// How many objects did not arrive.
    pub(crate) fn missing(&self) -> usize {
        self.nodes.len() - self.objects
    }
}

/// Whether a reason has no room in a table.
fn is_long(why: &str) -> bool {
    why.contains('\n') || why.chars().count() > MAX_CELL
}

/// A paragraph for each reason that had no room in the table.
fn reasons(nodes: &[Line]) -> String {
    let mut text = String::new();
    for line in nodes {
        if let Some(why) = line.failure.as_deref().filter(|why| is_long(why)) {
            let line = format!("node {}: {}", line.node(), one_line(why));
            text = text + "\n" + &folded(&line, NARROW) + "\n";
        }
    }
    text
}

/// It as a table.
pub(crate) fn text(summary: &CampaignSummary) -> String {
    let numbers = [
        "node",
        "hops",
        "paths",
        "rounds",
        "kbit/s",
        "time, s",
        "energy, J",
    ];
    let heading = numbers.map(|name| (name, Align::Right));
    let mut table = Table::new(heading.into_iter().chain([("object", Align::Left)]));
    let whole = |value: Option<u32>| value.map_or_else(|| "-".to_owned(), |n| n.to_string());
    for line in &summary.nodes {
        table.row([
            line.node(),
            whole(line.hops),
            whole(line.paths),
            whole(line.rounds),
            number(line.goodput_kbps, 1.0, 1),
            number(line.duration_s, 1.0, 3),
            number(line.energy_j, 1.0, 3),
            match &line.failure {
                None => output::whole(line.sealed).to_owned(),
                Some(why) if is_long(why) => "failed, see below".to_owned(),
                Some(why) => why.clone(),
            },
        ]);
    }
    let joules = summary.energy_j.map(|joules| format!(", {joules:.3} J"));
    format!(
        "{}{}\n{} of {} objects, {} bytes in {} s on the air, {} kbit/s{}\n",
        table.render_narrow(),
        reasons(&summary.nodes),
        summary.objects,
        summary.nodes.len(),
        summary.bytes,
        number(Some(summary.duration_s), 1.0, 3),
        number(summary.goodput_kbps, 1.0, 1),
        joules.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_many_words_stands_below_the_table() {
        let why = "no route from node 7 to node 1 on channel 26: node 7 reaches no other node, not even over weaker links; \
                   measure again, or name another base station with --to";
        let line = |source: u16, failure: Option<&str>| Line {
            source,
            failure: failure.map(str::to_owned),
            ..Line::default()
        };
        let short = "the object did not arrive whole";
        let lines = vec![line(6, None), line(7, Some(why)), line(8, Some(short))];
        let text = text(&CampaignSummary::of(lines));
        assert!(text.lines().all(|line| line.len() <= NARROW), "{text}");
        assert!(
            text.contains("failed, see below") && text.contains("\nnode 7: no route"),
            "{text}"
        );
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(short) && words.contains(why), "{text}");
    }
}
