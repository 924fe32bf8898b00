//! Objects: what there is, and what one cost.

use maud::{html, Markup};

use super::text::{bytes, count, rate, seconds, when};
use super::{fact, lines, more, node_link, page, preview, ROWS};
use crate::stations::Stations;
use thalweg_host::store::{StoreError, StoredTransfer, TransferId};

pub(crate) fn objects(stations: &Stations, before: Option<i64>) -> Result<String, StoreError> {
    let (found, (total, size)) = {
        let store = stations.shared().store();
        (store.latest(before.map(TransferId), ROWS)?, store.total()?)
    };
    let last = found.last().map(|t| t.id.0);
    let content = html! {
        div #objects data-live {
            @if total > 0 {
                p {
                    (count(total, "object")) ", " (bytes(size)) ". Each is whole: length and SHA-256 are those at its node. \
                    What a session brought has no digest there; it came in order, without a gap."
                }
            }
            (list(stations, &found))
            (more("/objects", found.len() == ROWS as usize, last))
        }
    };
    page(stations, ("/objects", "Objects"), &content)
}

/// What an object is called: the name of its file, where it has one.
fn title(transfer: &StoredTransfer) -> String {
    match &transfer.file {
        Some(file) => file.clone(),
        None => format!("object {}", transfer.id.0),
    }
}

/// Objects in rows.
pub(super) fn list(stations: &Stations, found: &[StoredTransfer]) -> Markup {
    if found.is_empty() {
        return html! { p { "None yet. " a href="/transfers" { "Fetch one" } ": it is kept here." } };
    }
    let rows = html! {
        @for transfer in found {
            @let (id, core) = (transfer.id.0, &transfer.record);
            @let digest = transfer.digest.as_deref().unwrap_or_default();
            tr {
                td { a href=(format!("/objects/{id}")) { (title(transfer)) } }
                td {
                    (node_link(stations, core.source, &core.testbed))
                    @if !stations.is_only() { " of " (core.testbed) }
                }
                td { (bytes(core.bytes)) }
                td { (rate(core.goodput_kbps)) }
                td { (when(&transfer.stored_at)) }
                td.more { code { (digest.get(..12).unwrap_or(digest)) } }
                td {
                    a href=(format!("/api/objects/{id}/content")) download aria-label=(format!("Download object {id}")) {
                        "Download"
                    }
                }
            }
        }
    };
    let head = ["Object", "From", "Size", "Goodput", "Stored", "SHA-256", ""];
    lines("Objects", &head, &rows)
}

pub(crate) fn object(stations: &Stations, id: TransferId) -> Result<Option<String>, StoreError> {
    let found = stations.shared().store().transfer(id)?;
    let Some(found) = found.filter(|found| found.digest.is_some()) else {
        return Ok(None);
    };
    let number = found.id.0;
    let content = html! {
        @match &found.object {
            Some(_) => { p { a.button href=(format!("/api/objects/{number}/content")) download { "Download" } } }
            None => { p.notice { "This object was deleted here; what is known of it stays." } }
        }
        (facts(stations, &found))
        p.digest { "SHA-256 " code { (found.digest.as_deref().unwrap_or_default()) } }
        @if found.object.is_some() {
            (preview::preview(&found))
            (delete_form(number))
        }
    };
    let title = match &found.file {
        Some(file) => file.clone(),
        None => format!("Object {number} of node {}", found.record.source),
    };
    page(stations, ("/objects", &title), &content).map(Some)
}

/// What an object is, and what it cost.
fn facts(stations: &Stations, found: &StoredTransfer) -> Markup {
    let core = &found.record;
    html! {
        dl {
            (fact("From", html! { (node_link(stations, core.source, &core.testbed)) " of " (core.testbed) }))
            (fact("Size", html! { (bytes(core.bytes)) small { " (" (core.bytes) " B)" } }))
            (fact("Stored", when(&found.stored_at)))
            (fact("Sealed", match core.sealed {
                true => "yes: encrypted, and its node's own",
                false => "no: anybody near could read it",
            }))
            (fact("Goodput", rate(core.goodput_kbps)))
            (fact("Took", seconds(core.duration_s)))
            // A session has a tree, which changes.
            @if core.hops > 0 {
                (fact("Route", format!("{}, {}", count(core.hops, "hop"), count(core.paths, "path"))))
                (fact("Rounds", core.rounds))
            }
            @if let Some(joules) = core.energy_j {
                (fact("Energy", html! { (format!("{joules:.2} J")) small { " of " (core.active_nodes) " nodes" } }))
            }
            (fact("Carried by", &core.protocol))
        }
    }
}

/// The form that deletes the object. It is opened first, so that no single click does it.
fn delete_form(number: i64) -> Markup {
    html! {
        details {
            summary { "Delete this object" }
            form.row method="post" action=(format!("/objects/{number}/delete")) {
                button { "Delete it here for good" } " " span.faint { "The node may have it still." }
            }
        }
    }
}
