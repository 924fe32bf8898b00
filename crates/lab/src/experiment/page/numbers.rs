//! Numbers, verdicts and text of the page. Tests: below.

use crate::results::{mark, short, spread_of, Judged, Spread, Verdict};

/// A result's number with its interval and unit.
pub(super) fn value(r: &Judged) -> String {
    let m = &r.measured;
    let unit = match m.unit.as_str() {
        "" => String::new(),
        unit => format!(" {}", escaped(unit)),
    };
    let interval = m.spread().filter(|spread| *spread != Spread::About(0.0));
    let interval = interval.map(|spread| format!(" <small>{}</small>", spread_of(spread)));
    let interval = interval.unwrap_or_default();
    format!("{}{unit}{interval}", short(m.value))
}

/// The class of a result's verdict, and the verdict with its kind.
pub(super) fn verdict(r: &Judged) -> (&'static str, String) {
    let Some(verdict) = r.verdict() else {
        return ("", String::new());
    };
    let (class, word) = match verdict {
        Verdict::Within => ("in", "within"),
        Verdict::Returned => ("in", "within, exception not needed"),
        Verdict::Excused => ("told", "outside (explained)"),
        Verdict::Open => ("told", "outside (too few seeds to tell)"),
        Verdict::Moved => ("out", "outside, and not as explained"),
        Verdict::Missed => ("out", "outside"),
    };
    (class, format!("{}{word}", mark(r)))
}

pub(super) fn seeds(seeds: &[u64]) -> String {
    match seeds {
        [] => "no seeds".to_owned(),
        [one] => format!("seed {one}"),
        [first, .., last] => format!("seeds {first} to {last}"),
    }
}

/// Text in which what stands between backticks is code.
pub(super) fn prose(text: &str) -> String {
    let parts = text.split('`').zip([false, true].into_iter().cycle());
    let parts = parts.map(|(part, is_code)| match is_code {
        true => format!("<code>{}</code>", escaped(part)),
        false => escaped(part),
    });
    parts.collect()
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(prose("a `b<` c"), "a <code>b&lt;</code> c");
        assert_eq!(escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
