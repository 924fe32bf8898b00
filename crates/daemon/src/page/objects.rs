//! Objects: what there is, and what one looks like.

use std::fmt::Write as _;
use std::io::Read;

use thalweg_draw::chart::{Chart, Mark, Point};

use super::text::{bytes, count, escape, rate, seconds, when};
use super::{more, node_link, page, ROWS};
use crate::kind::{kind_of, Kind};
use crate::stations::Stations;
use thalweg_host::store::{StoreError, StoredTransfer, TransferId};

/// So much of an object is looked at, in bytes.
const LOOKED_AT: u64 = 64 * 1024;
/// So many rows or lines of it are shown.
const SHOWN: usize = 12;
/// So many points of a column are drawn.
const DRAWN: usize = 600;

pub(crate) fn objects(stations: &Stations, before: Option<i64>) -> Result<String, StoreError> {
    let (found, (total, size)) = {
        let store = stations.shared().store();
        (store.latest(before.map(TransferId), ROWS)?, store.total()?)
    };
    let last = found.last().map(|t| t.id.0);
    let content = format!(
        "<div id=\"objects\" data-live><p>{}, {}. Each is whole: length and SHA-256 are those at its node. \
         What a session brought has no digest there; it came in order, without a gap.</p>{}{}</div>",
        count(total as usize, "object"),
        bytes(size),
        table(&found, stations.is_only()),
        more("/objects", found.len() == ROWS as usize, last)
    );
    page(stations, ("/objects", "Objects"), &content)
}

/// Objects in rows.
pub(super) fn table(found: &[StoredTransfer], is_only: bool) -> String {
    if found.is_empty() {
        return "<p>None yet.</p>".to_owned();
    }
    let mut rows = String::new();
    for transfer in found {
        let (id, core) = (transfer.id.0, &transfer.record);
        let digest = transfer.digest.as_deref().unwrap_or_default();
        let name = match &transfer.file {
            Some(file) => escape(file),
            None => format!("object {id}"),
        };
        let of = match is_only {
            true => String::new(),
            false => format!(" of {}", escape(&core.testbed)),
        };
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><td><a href=\"/objects/{id}\">{name}</a></td><td>node {}{of}</td><td>{}</td>\
             <td>{}</td><td class=\"nowrap\">{}</td><td><code>{}</code></td>\
             <td><a href=\"/api/objects/{id}/content\" download aria-label=\"Download object {id}\">Download</a></td></tr>",
            core.source,
            bytes(core.bytes),
            rate(core.goodput_kbps),
            when(&transfer.stored_at),
            digest.get(..12).unwrap_or(digest)
        );
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Objects\"><table><thead><tr>\
         <th>Object</th><th>From</th><th>Size</th><th>Goodput</th><th>Stored (UTC)</th><th>SHA-256</th>\
         <th></th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

pub(crate) fn object(stations: &Stations, id: TransferId) -> Result<Option<String>, StoreError> {
    let found = stations.shared().store().transfer(id)?;
    let Some(found) = found.filter(|found| found.digest.is_some()) else {
        return Ok(None);
    };
    let (core, number) = (&found.record, found.id.0);
    let mut facts = String::new();
    let mut fact = |name: &str, value: String| {
        let _ = write!(facts, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    fact(
        "From",
        format!(
            "{} of {}",
            node_link(stations, core.source, &core.testbed),
            escape(&core.testbed)
        ),
    );
    fact(
        "Size",
        format!("{} <small>({} B)</small>", bytes(core.bytes), core.bytes),
    );
    fact("Stored (UTC)", when(&found.stored_at));
    let sealed = match core.sealed {
        true => "yes: encrypted, and its node's own",
        false => "no: anybody near could read it",
    };
    fact("Sealed", sealed.to_owned());
    fact("Goodput", rate(core.goodput_kbps));
    fact("Took", seconds(core.duration_s));
    // A session has a tree, which changes.
    if core.hops > 0 {
        fact(
            "Route",
            format!(
                "{}, {}",
                count(core.hops as usize, "hop"),
                count(core.paths as usize, "path")
            ),
        );
        fact("Rounds", core.rounds.to_string());
    }
    if let Some(joules) = core.energy_j {
        fact(
            "Energy",
            format!(
                "{joules:.2} J <small>of {} nodes</small>",
                core.active_nodes
            ),
        );
    }
    fact("Carried by", escape(&core.protocol));
    let digest = found.digest.as_deref().unwrap_or_default();
    let (download, rest) = match &found.object {
        Some(_) => (
            format!("<p><a class=\"button\" href=\"/api/objects/{number}/content\" download>Download</a></p>"),
            format!("{}{}", preview(&found), delete_form(number)),
        ),
        None => (
            "<p class=\"notice\">This object was deleted here; what is known of it stays.</p>".to_owned(),
            String::new(),
        ),
    };
    let content = format!(
        "{download}<dl>{facts}</dl><p class=\"digest\">SHA-256 <code>{digest}</code></p>{rest}"
    );
    let title = match &found.file {
        Some(file) => file.clone(),
        None => format!("Object {number} of node {}", core.source),
    };
    page(stations, ("/objects", &title), &content).map(Some)
}

/// The form that deletes the object. It is opened first, so that no single click does it.
fn delete_form(number: i64) -> String {
    format!(
        "<details><summary>Delete this object</summary><form method=\"post\" action=\"/objects/{number}/delete\" class=\"row\">\
         <button>Delete it here for good</button> <span class=\"faint\">The node may have it still.</span></form></details>"
    )
}

/// What the object looks like.
fn preview(found: &StoredTransfer) -> String {
    let mut head = Vec::new();
    let file = found.open().ok().flatten();
    let read = file.map(|file| file.take(LOOKED_AT).read_to_end(&mut head));
    if !matches!(read, Some(Ok(_))) {
        return "<p class=\"notice\">The object's file is gone.</p>".to_owned();
    }
    let kind = kind_of(&head[..head.len().min(512)]);
    let text = String::from_utf8_lossy(&head);
    let title = format!("<h2>Preview: {}</h2>", kind.about());
    match kind {
        Kind::Picture(..) => format!(
            "{title}<p><img class=\"preview\" src=\"/api/objects/{}/content\" alt=\"The picture that node {} sent\"></p>",
            found.id.0, found.record.source
        ),
        Kind::Csv => title + &csv(&text),
        Kind::Text => {
            let lines: Vec<&str> = text.lines().take(SHOWN).collect();
            let lines = escape(&lines.join("\n"));
            format!("{title}<pre tabindex=\"0\">{lines}</pre>{}", beginning(&text))
        }
        Kind::Bytes => {
            let line = |(n, row): (usize, &[u8])| {
                let hex: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{:06x}  {}", n * 16, hex.join(" "))
            };
            let rows = head.chunks(16).take(SHOWN).enumerate().map(line);
            let rows: Vec<String> = rows.collect();
            format!("{title}<pre tabindex=\"0\">{}</pre>", rows.join("\n"))
        }
    }
}

fn beginning(text: &str) -> String {
    match text.lines().count() > SHOWN {
        true => "<p class=\"faint\">The beginning; the download has all of it.</p>".to_owned(),
        false => String::new(),
    }
}

/// The first rows, and its columns over the first one where they are numbers.
fn csv(text: &str) -> String {
    let rows = text
        .lines()
        .map(|line| line.split(',').collect::<Vec<&str>>());
    let rows: Vec<Vec<&str>> = rows.collect();
    let Some((head, body)) = rows.split_first() else {
        return String::new();
    };
    let cells = |row: &[&str], tag: &str| -> String {
        let cell = |cell: &&str| format!("<{tag}>{}</{tag}>", escape(cell));
        format!(
            "<tr>{}</tr>",
            row.iter().take(20).map(cell).collect::<String>()
        )
    };
    let shown: String = body
        .iter()
        .take(SHOWN)
        .map(|row| cells(row, "td"))
        .collect();
    format!(
        "{}<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"First rows\"><table><thead>{}</thead>\
         <tbody>{shown}</tbody></table></div>{}",
        columns(head, body),
        cells(head, "th"),
        beginning(text)
    )
}

/// Up to three columns as curves.
fn columns(head: &[&str], body: &[Vec<&str>]) -> String {
    // The last row may have been cut.
    let body = &body[..body.len().saturating_sub(1)];
    let number =
        |row: &Vec<&str>, at: usize| row.get(at).and_then(|v| v.trim().parse::<f64>().ok());
    let step = body.len().div_ceil(DRAWN).max(1);
    let mut pictures = String::new();
    for at in (1..head.len()).take(3) {
        let points: Option<Vec<Point>> = (body.iter().step_by(step))
            .map(|row| Some(Point::new(number(row, 0)?, number(row, at)?)))
            .collect();
        let Some(points) = points.filter(|points| points.len() > 1) else {
            continue;
        };
        let mut chart = Chart::new(head[at], head[0], head[at]);
        (chart.width, chart.height) = (480, 200);
        let svg = chart.with("", Mark::Line, points).to_svg();
        let _ = write!(pictures, "<div class=\"chart\">{svg}</div>");
    }
    match pictures.is_empty() {
        true => pictures,
        false => format!("<div class=\"charts\">{pictures}</div>"),
    }
}
