//! Values as people read them. Tests: `text_tests.rs`.

/// `text` as it stands in HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace(|c: char| c.is_control() && c != '\n', " ")
}

/// `2026-11-23T05:13:15Z` as `2026-11-23 05:13:15`, to be read by programs too.
pub(super) fn when(at: &str) -> String {
    let shown = at.replace('T', " ").replace('Z', "");
    format!("<time datetime=\"{at}\">{shown}</time>")
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
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}

/// `n` things, named in the singular.
pub(super) fn count(n: usize, name: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {name}{plural}")
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
