//! Results in words, for terminals and pages: short numbers, intervals, what a result was fitted with, what excuses it.
//! Tests: below.

use super::metric::Spread;
use super::verdict::{Basis, Judged};

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

/// A 95 % interval, as `\u{b1} 4`.
pub fn spread_of(spread: Spread) -> String {
    match spread {
        Spread::About(half) => format!("\u{b1} {}", short(half)),
        Spread::Between(ends) => span(ends),
    }
}

/// What stands before the verdict of what is no evidence of the paper's result: `[F] ` and `[own] `.
pub fn mark(r: &Judged) -> &'static str {
    match r.judged {
        Some(Basis::Fitted) => "[F] ",
        Some(Basis::Own) => "[own] ",
        Some(Basis::Paper) | None => "",
    }
}

/// What a result was fitted with, in a sentence; none where it was not.
pub fn fitted(r: &Judged) -> Option<String> {
    let fit = r.fitted.as_ref()?;
    let unit = match r.measured.unit.as_str() {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    let moved = match fit.tenth {
        Some([less, more]) => format!(
            "a tenth less gives {}, a tenth more {}{unit}",
            short(less),
            short(more)
        ),
        None => "its part was not measured".to_owned(),
    };
    Some(format!("{}; {moved}", fit.constant))
}

/// What excuses a result, with the values that it excuses.
pub fn excused(r: &Judged) -> String {
    match &r.excuse {
        None => "not explained".to_owned(),
        Some(excuse) => {
            let (value, within) = (excuse.window.value, excuse.window.within);
            let (value, within) = (short(value), short(within));
            format!("excused at {value} \u{b1} {within}: {}", excuse.why.trim())
        }
    }
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
        assert_eq!(spread_of(Spread::About(0.25)), "\u{b1} 0.25");
        assert_eq!(spread_of(Spread::Between([0.0, 14.0])), "0 to 14");
    }
}
