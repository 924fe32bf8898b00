//! Values as people read them. Tests: `text_tests.rs`.

use maud::{html, Markup};

use crate::station_state::now;
pub(super) use thalweg_host::text::count;

/// `2026-11-23T05:13:15Z` to the minute. Scripts show it by the reader's clock.
pub(super) fn when(at: &str) -> Markup {
    time(at, 16)
}

/// The same to the second.
pub(super) fn when_exactly(at: &str) -> Markup {
    time(at, 19)
}

fn time(at: &str, length: usize) -> Markup {
    let shown = at.get(..length).unwrap_or(at).replace('T', " ");
    html! { time.nowrap.exact[length > 16] datetime=(at) { (shown) " UTC" } }
}

/// How long ago it was `at`, in seconds since 1970.
pub(super) fn ago(at: i64) -> String {
    format!("{} ago", seconds(age(at)))
}

/// The same in seconds; a time to come is now.
pub(super) fn age(at: i64) -> f64 {
    (now() - at).max(0) as f64
}

/// Seconds since 1970 of a time in the store's format.
pub(super) fn seconds_of(at: &str) -> Option<i64> {
    let part = |from: usize, to: usize| at.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    // Years begin in March, so that a leap day is the last.
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        month => (year, month - 3),
    };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = 365 * year + leaps + (153 * month + 2) / 5 + day - 719_469;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// A time that has passed or is left.
pub(super) fn seconds(s: f64) -> String {
    match s {
        s if !s.is_finite() => "?".to_owned(),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3_600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// Goodput in kbit/s.
pub(super) fn rate(kbps: f64) -> String {
    match kbps {
        slow if slow < 10.0 => format!("{slow:.2} kbit/s"),
        fast => format!("{fast:.0} kbit/s"),
    }
}

/// So many bytes.
pub(super) fn bytes(n: u64) -> String {
    match n {
        0..10_000 => format!("{n} B"),
        10_000..10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.1} GB", n as f64 / 1e9),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
