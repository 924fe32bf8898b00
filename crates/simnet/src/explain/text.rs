//! Loss maps and their totals as text for the terminal. Tests: `tests.rs`.

use super::cause::{Cause, Causes};
use super::map::{HopLoss, LossMap, RoundLoss, RouteMap, Totals};
use std::fmt::{self, Display, Formatter, Write as _};

/// Causes named in a row, the most frequent ones.
const TOP: usize = 3;

impl LossMap {
    /// The first round hop by hop; then, way by route, all rounds in a line each and the control frames.
    pub fn to_text(&self) -> String {
        let mut out = format!(
            "where packets were lost: {}, node {} to node {}\n",
            self.protocol.to_uppercase(),
            self.named(self.source),
            self.named(self.sink)
        );
        let Some(first) = self.first_round() else {
            out.push_str("the source sent no packet\n");
            return out;
        };
        let mut rows = vec![[
            "hop",
            "ch",
            "group",
            "senders",
            "receivers",
            "packets",
            "survived",
            "lost by",
        ]
        .map(str::to_owned)];
        rows.extend(first.hops.iter().map(row));
        table(&mut out, &rows);
        out.push('\n');
        for (begins, route) in self.all_routes() {
            if begins > 0 {
                out.push_str(&format!("another way{}: {route}\n", after(begins)));
            }
            let taken = |r: &&RoundLoss| std::ptr::eq(self.route_of(r.attempt), route);
            for round in self.rounds.iter().filter(taken) {
                let name = format!("round {}{}", round.round, after(round.attempt));
                out.push_str(&sum(&name, &round.hops, route.hops));
                out.push('\n');
            }
            for (name, hops, end) in [
                ("requests, to the sink", &route.requests, route.hops),
                ("NACKs, to the source", &route.nacks, 0),
            ] {
                if hops.is_empty() {
                    continue;
                }
                out.push_str(&sum(name, hops, end));
                out.push('\n');
            }
        }
        out
    }
}

/// Which attempt it was; nothing of the first.
fn after(attempt: u32) -> String {
    match attempt {
        0 => String::new(),
        n => format!(" after {} wake-ups", n + 1),
    }
}

/// `4 hops, channels 15 20 25 26 12/15`.
impl Display for RouteMap {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let s = if self.hops == 1 { "" } else { "s" };
        write!(f, "{} hop{s}, channels", self.hops)?;
        for channel in &self.channels {
            write!(f, " {channel}")?;
        }
        self.last_even.map_or(Ok(()), |even| write!(f, "/{even}"))
    }
}

/// What entered the first hop of `hops`, what arrived at stage `end`, and all losses between.
pub(super) fn sum(name: &str, hops: &[HopLoss], end: usize) -> String {
    let first = hops.first().map(|h| h.stage);
    let at_first = hops.iter().filter(|h| Some(h.stage) == first);
    let at_end = hops.iter().filter(|h| h.stage == end);
    let sent: u32 = at_first.map(|h| h.entered).sum();
    let arrived: u32 = at_end.map(|h| h.arrived).sum();
    let mut lost = Causes::default();
    hops.iter().for_each(|h| lost.add(&h.lost));
    format!("{name}: {arrived} of {sent} arrived{}", lost_by(&lost))
}

/// `, lost by beat null 12, weak 3`; nothing where nothing was lost.
pub(super) fn lost_by(lost: &Causes) -> String {
    match lost.total() {
        0 => String::new(),
        _ => format!(", lost by {}", causes(lost, Cause::ALL.len())),
    }
}

fn row(hop: &HopLoss) -> [String; 8] {
    [
        format!("to {}", hop.stage),
        hop.channel.to_string(),
        hop.group.name().to_owned(),
        format!("{:.1} of {}", hop.mean_senders(), hop.senders.len()),
        hop.receivers.len().to_string(),
        hop.entered.to_string(),
        hop.survival()
            .map_or_else(|| "-".to_owned(), |s| format!("{:.1} %", s * 100.0)),
        causes(&hop.lost, TOP),
    ]
}

/// `beat null 12, weak 3`, and how many others.
fn causes(lost: &Causes, most: usize) -> String {
    let ranked = lost.ranked();
    let mut names: Vec<String> = ranked
        .iter()
        .take(most)
        .map(|(cause, n)| format!("{} {n}", cause.name()))
        .collect();
    let rest: u32 = ranked.iter().skip(most).map(|(_, n)| n).sum();
    if rest > 0 {
        names.push(format!("other {rest}"));
    }
    names.join(", ")
}

impl RoundLoss {
    /// All losses of the round.
    pub fn lost(&self) -> Causes {
        let mut lost = Causes::default();
        self.hops.iter().for_each(|hop| lost.add(&hop.lost));
        lost
    }
}

impl Totals {
    /// Shares of all losses in percent: causes down, stages before the sink across.
    pub fn to_text(&self) -> String {
        let all = f64::from(self.lost().max(1));
        let percent = |n: u32| match n {
            0 => "-".to_owned(),
            n => format!("{:.1}", f64::from(n) * 100.0 / all),
        };
        let mut heading = vec!["% of lost packets".to_owned(), "all".to_owned()];
        heading.extend((0..self.stages.len()).map(|at| match at {
            0 => "to sink".to_owned(),
            n => format!("{n} before"),
        }));
        let mut rows = vec![heading];
        for cause in Cause::ALL {
            let counts: Vec<u32> = self.stages.iter().map(|s| s.lost.of(cause)).collect();
            if counts.iter().sum::<u32>() > 0 {
                let mut row = vec![cause.name().to_owned(), percent(counts.iter().sum())];
                row.extend(counts.into_iter().map(percent));
                rows.push(row);
            }
        }
        let lost: Vec<u32> = self.stages.iter().map(|s| s.lost.total()).collect();
        let mut row = vec!["all causes".to_owned(), percent(lost.iter().sum())];
        row.extend(lost.into_iter().map(percent));
        rows.push(row);
        let mut row = vec!["lost of what entered, %".to_owned(), String::new()];
        row.extend(self.stages.iter().map(|s| {
            format!(
                "{:.2}",
                f64::from(s.lost.total()) * 100.0 / f64::from(s.entered.max(1))
            )
        }));
        rows.push(row);
        let s = if self.transfers == 1 { "" } else { "s" };
        let mut out = format!("{} transfer{s}, first rounds\n", self.transfers);
        table(&mut out, &rows);
        out
    }
}

/// Columns two spaces apart; names left, numbers right, the last column as it is.
fn table<R: AsRef<[String]>>(out: &mut String, rows: &[R]) {
    let columns = rows.first().map_or(0, |r| r.as_ref().len());
    let is_number = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let width = |at: usize| rows.iter().map(|r| r.as_ref()[at].chars().count()).max();
    let right: Vec<bool> = (0..columns)
        .map(|at| rows.iter().skip(1).any(|r| is_number(&r.as_ref()[at])))
        .collect();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    for row in rows {
        let mut text = String::new();
        for (at, cell) in row.as_ref().iter().enumerate() {
            let width = widths[at];
            let _ = match right[at] {
                true => write!(text, "{cell:>width$}  "),
                false => write!(text, "{cell:<width$}  "),
            };
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
}
