//! Messages as JSON: objects and states of nodes; `home` has the devices for Home Assistant.
//!
//! An object's message is what the API says of it; its `id` is the message's number. A state holds the number
//! of its message. Tests: `messages_tests.rs`.

use serde::Serialize;
use serde_json::json;
use thalweg_planner::LinkQualities;
use thalweg_units::{BatteryLevel, NodeId};

use super::topics::Topics;
use crate::view::{self, utc};
use thalweg_host::connector::Facts;
use thalweg_host::store::{Message, Retention, StoredTransfer, Waiting};

/// A state has no more links than these, the best.
const LINKS: usize = 500;

/// What the last survey shows of nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SurveyView<'a> {
    pub(crate) links: &'a LinkQualities,
    /// Nodes that did not answer.
    pub(crate) missing: &'a [NodeId],
    /// The batteries of those that have one.
    pub(crate) batteries: &'a [(NodeId, BatteryLevel)],
    /// When it was, in seconds since 1970.
    pub(crate) at: i64,
}

/// The object that `transfer` brought.
pub(crate) fn object((topics, facts): (&Topics, &Facts), transfer: &StoredTransfer) -> Message {
    Message {
        topic: topics.objects(transfer.record.source),
        payload: written(&view::object(transfer).named(facts)),
        keep: Retention::All,
    }
}

/// How node number `index` is; `last` is the last transfer that brought an object of it, `spent` what nodes have spent
/// since midnight, UTC.
pub(crate) fn node(
    (topics, facts): (&Topics, &Facts),
    index: usize,
    (survey, spent): (Option<SurveyView<'_>>, &[(NodeId, f64)]),
    last: Option<&StoredTransfer>,
) -> Message {
    let id = facts
        .network
        .place
        .ids
        .get(index)
        .copied()
        .unwrap_or(facts.network.sink);
    let surveyed = survey.filter(|survey| !survey.missing.contains(&id));
    let surveyed = surveyed.map(|survey| utc(survey.at));
    let delivered = last.map(|last| last.stored_at.clone());
    let battery = survey.and_then(|survey| survey.batteries.iter().find(|(node, _)| *node == id));
    let links = survey.map(|survey| view::links(facts, survey.links, index));
    let (links, left_out) = match links {
        Some(links) => {
            let (links, left_out) = best(links);
            (Some(links), left_out)
        }
        None => (None, 0),
    };
    let state = json!({
        "node": view::node(facts, index, last.map(|last| (&*last.stored_at, last.id))),
        // Such times sort as text.
        "seen_at": surveyed.max(delivered),
        "battery_v": battery.map(|(_, level)| level.volts()),
        "energy_today_j": spent.iter().find(|(node, _)| *node == id).map(|(_, joules)| joules),
        "last_object": last.map(|last| view::object(last).named(facts)),
        "links": links,
        "links_left_out": left_out,
    });
    Message {
        topic: topics.node(id),
        payload: written(&state),
        keep: Retention::Newest,
    }
}

/// The best of `links` in their order, and how many others there are.
fn best(mut links: Vec<view::Link>) -> (Vec<view::Link>, usize) {
    let left_out = links.len().saturating_sub(LINKS);
    if left_out > 0 {
        let worth = |link: &view::Link| link.out * link.back + 1e-3 * (link.out + link.back);
        let mut all: Vec<f64> = links.iter().map(worth).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        let least = all[LINKS - 1];
        links.retain(|link| worth(link) >= least);
        links.truncate(LINKS);
    }
    (links, left_out)
}

/// What is sent of a message that waits: states with the number of their row.
pub(super) fn payload(waiting: &Waiting) -> String {
    let Message {
        topic,
        payload,
        keep,
    } = &waiting.message;
    match (keep, payload.strip_prefix('{')) {
        (Retention::Newest, Some(rest)) if !Topics::is_discovery(topic) => {
            let comma = if rest == "}" { "" } else { "," };
            format!("{{\"message\":{}{comma}{rest}", waiting.id)
        }
        _ => payload.clone(),
    }
}

pub(super) fn written(what: &impl Serialize) -> String {
    // The daemon's messages have text keys, so this does not fail.
    serde_json::to_string(what).unwrap_or_default()
}

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
