//! Where a function of one number passes a value. Tests: below.

/// Halvings: of a span of forty, to 1e-16 of it.
const STEPS: usize = 60;

/// The end, from `low` to `high`, of what is `below`; one of both ends where all or nothing is.
pub(crate) fn last(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        match below(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_to_the_last_digits_and_ends_at_an_end() {
        assert!((last(0.0, 20.0, |x| x * x < 2.0) - std::f64::consts::SQRT_2).abs() < 1e-14);
        assert_eq!(last(1.0, 2.0, |_| false), 1.0);
        assert!((last(1.0, 2.0, |_| true) - 2.0).abs() < 1e-14);
    }
}
