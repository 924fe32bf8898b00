//! Numbers, verdicts and text of the page. Tests: below.

use crate::results::Judged;

/// A result's number with its interval and unit.
pub(super) fn value(r: &Judged) -> String {
    let m = &r.measured;
    let unit = match m.unit.as_str() {
        "" => String::new(),
        unit => format!(" {}", escaped(unit)),
    };
    let interval = m.plus_minus().filter(|half| *half > 0.0);
    let interval = interval.map(|half| format!(" <small>\u{b1} {}</small>", short(half)));
    let interval = interval.unwrap_or_default();
    format!("{}{unit}{interval}", short(m.value))
}

/// The class of a result's verdict, and the verdict.
pub(super) fn verdict(r: &Judged) -> (&'static str, &'static str) {
    match (r.within, &r.exception) {
        (Some(true), _) => ("in", "within"),
        (Some(false), Some(_)) => ("told", "outside (explained)"),
        (Some(false), None) => ("out", "outside"),
        (None, _) => ("", ""),
    }
}

pub(super) fn seeds(seeds: &[u64]) -> String {
    match seeds {
        [] => "no seeds".to_owned(),
        [one] => format!("seed {one}"),
        [first, .., last] => format!("seeds {first} to {last}"),
    }
}

/// A number with as many digits as a reader wants.
pub fn short(x: f64) -> String {
    if x != 0.0 && x.abs() < 0.001 {
        return format!("{x:.2e}");
    }
    let digits = match x.abs() {
        a if a >= 100.0 => 1,
        a if a >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{x:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Two ends, either of which may be open.
pub fn span([low, high]: [f64; 2]) -> String {
    match (low.is_finite(), high.is_finite()) {
        (true, true) if low == high => short(low),
        (true, true) => format!("{} to {}", short(low), short(high)),
        (true, false) => format!("at least {}", short(low)),
        (false, true) => format!("at most {}", short(high)),
        (false, false) => "any".to_owned(),
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
    fn numbers_are_short() {
        let numbers = [0.000_080_4, 0.0, 178.523, 0.04, 2.0].map(short);
        assert_eq!(numbers, ["8.04e-5", "0", "178.5", "0.04", "2"]);
        assert_eq!(span([150.0, f64::INFINITY]), "at least 150");
        assert_eq!(span([0.0, 0.0]), "0");
        assert_eq!(prose("a `b<` c"), "a <code>b&lt;</code> c");
        assert_eq!(escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
