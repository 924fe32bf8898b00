//! Values as people read them. Tests: at the end.

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
mod tests {
    use super::*;

    #[test]
    fn what_strangers_wrote_is_no_markup() {
        assert_eq!(
            escape("<a href=\"x\">&\u{7}"),
            "&lt;a href=&quot;x&quot;&gt;&amp; "
        );
    }

    #[test]
    fn values_are_short() {
        let times = [3.21, 59.6, 600.0, 8_000.0, 1e6].map(seconds);
        assert_eq!(times, ["3.2 s", "60 s", "10 min", "2 h", "12 days"]);
        assert_eq!(
            [999, 59_000, 12_000_000].map(bytes),
            ["999 B", "59.0 kB", "12.0 MB"]
        );
        assert_eq!(
            (count(1, "hop"), count(2, "hop")),
            ("1 hop".into(), "2 hops".into())
        );
    }
}
