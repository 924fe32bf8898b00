//! What an object looks like: the beginning of a text, a picture, rows and columns of a table.

use std::io::Read;

use maud::{html, Markup, PreEscaped};
use thalweg_draw::chart::{Base, Chart, Mark, Point};

use super::table;
use crate::kind::{kind_of, Kind};
use thalweg_host::store::StoredTransfer;

/// So much of an object is looked at, in bytes.
const LOOKED_AT: u64 = 64 * 1024;
/// So many rows or lines of it are shown.
const SHOWN: usize = 12;
/// So many columns.
const COLUMNS: usize = 20;
/// So many points of a column are drawn.
const DRAWN: usize = 600;

pub(super) fn preview(found: &StoredTransfer) -> Markup {
    let mut head = Vec::new();
    let file = found.open().ok().flatten();
    let read = file.map(|file| file.take(LOOKED_AT).read_to_end(&mut head));
    if !matches!(read, Some(Ok(_))) {
        return html! { p.notice { "The object's file is gone." } };
    }
    let kind = kind_of(&head[..head.len().min(512)]);
    let text = String::from_utf8_lossy(&head);
    html! {
        h2 { "Preview: " (kind.about()) }
        @match kind {
            Kind::Picture(..) => {
                p {
                    img.preview src=(format!("/api/objects/{}/content", found.id.0))
                        alt=(format!("The picture that node {} sent", found.record.source));
                }
            }
            Kind::Csv => (csv(&text)),
            Kind::Text => {
                pre tabindex="0" { (text.lines().take(SHOWN).collect::<Vec<_>>().join("\n")) }
                (beginning(&text))
            }
            Kind::Bytes => { pre tabindex="0" { (hexadecimal(&head)) } }
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let line = |(n, row): (usize, &[u8])| {
        let hex: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:06x}  {}", n * 16, hex.join(" "))
    };
    let rows = bytes.chunks(16).take(SHOWN).enumerate().map(line);
    rows.collect::<Vec<_>>().join("\n")
}

fn beginning(text: &str) -> Markup {
    html! {
        @if text.lines().count() > SHOWN { p.faint { "The beginning; the download has all of it." } }
    }
}

/// The first rows, and its columns over the first one where they are numbers.
fn csv(text: &str) -> Markup {
    let rows = text
        .lines()
        .map(|line| line.split(',').collect::<Vec<&str>>());
    let rows: Vec<Vec<&str>> = rows.collect();
    let Some((head, body)) = rows.split_first() else {
        return html! {};
    };
    let shown = html! {
        @for row in body.iter().take(SHOWN) { tr { @for cell in row.iter().take(COLUMNS) { td { (cell) } } } }
    };
    html! {
        (columns(head, body))
        (table("First rows", &head[..head.len().min(COLUMNS)], &shown))
        (beginning(text))
    }
}

/// Up to three columns as curves.
fn columns(head: &[&str], body: &[Vec<&str>]) -> Markup {
    // The last row may have been cut.
    let body = &body[..body.len().saturating_sub(1)];
    let number =
        |row: &Vec<&str>, at: usize| row.get(at).and_then(|v| v.trim().parse::<f64>().ok());
    let step = body.len().div_ceil(DRAWN).max(1);
    let chart = |at: usize| {
        let points: Option<Vec<Point>> = (body.iter().step_by(step))
            .map(|row| Some(Point::new(number(row, 0)?, number(row, at)?)))
            .collect();
        let points = points.filter(|points| points.len() > 1)?;
        let mut chart = Chart::new(head[at], head[0], head[at]);
        (chart.width, chart.height, chart.base) = (480, 200, Base::ToldZero);
        Some(chart.with("", Mark::Line, points))
    };
    html! {
        div.charts {
            @for chart in (1..head.len()).take(3).filter_map(chart) {
                div.chart { (PreEscaped(chart.to_svg())) }
            }
        }
    }
}
