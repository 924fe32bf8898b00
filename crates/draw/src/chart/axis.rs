//! Axes: from values to pixels, and where to put ticks.

use libm::{floor, log10, pow};

/// A scale from values to pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// How finely an axis may be divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grain {
    /// As finely as helps.
    Any,
    /// Whole numbers only: all values are.
    Whole,
}

impl Grain {
    /// The grain of these values.
    pub(crate) fn of(mut values: impl Iterator<Item = f64>) -> Self {
        match values.all(|v| v == libm::round(v)) {
            true => Self::Whole,
            false => Self::Any,
        }
    }
    /// A round step of at least `raw` and this grain.
    fn step(self, raw: f64) -> f64 {
        let step = round_step(raw);
        match self {
            Self::Any => step,
            Self::Whole if step < 1.0 => 1.0,
            // The only round step that is not a multiple of one.
            Self::Whole if step == 2.5 => 5.0,
            Self::Whole => step,
        }
    }
}

impl Scale {
    /// Values `low..=high` to pixels `from..=to`. An empty or unusable range becomes one around it.
    pub(crate) fn new(low: f64, high: f64, from: f64, to: f64) -> Self {
        let (mut low, mut high) = match (low.is_finite(), high.is_finite()) {
            (true, true) => (low.min(high), low.max(high)),
            _ => (0.0, 1.0),
        };
        if high - low <= f64::EPSILON * high.abs().max(low.abs()) || high == low {
            let half = if low == 0.0 { 0.5 } else { low.abs() / 2.0 };
            (low, high) = (low - half, high + half);
        }
        Self {
            low,
            high,
            from,
            to,
        }
    }

    /// The pixel of `value`, within the axis; `None` where the axis cannot show it.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        let share = (value - self.low) / (self.high - self.low);
        let pixel = self.from + share.clamp(0.0, 1.0) * (self.to - self.from);
        share.is_finite().then_some(pixel)
    }

    /// Whether the axis goes as far as `value`.
    pub(crate) fn reaches(&self, value: f64) -> bool {
        let slack = (self.high - self.low) * 1e-9;
        (self.low - slack..=self.high + slack).contains(&value)
    }

    /// Ends of the axis.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Round values along the axis, about `count` of them, with their labels.
    pub(crate) fn ticks(&self, count: usize, grain: Grain) -> Vec<(f64, String)> {
        let step = grain.step((self.high - self.low) / count.max(1) as f64);
        let first = libm::ceil(self.low / step - 1e-9);
        // Bounded whatever the range: more ticks than pixels are of no use.
        let values = (0..200).map(|i| (first + f64::from(i)) * step);
        values
            .take_while(|value| self.reaches(*value))
            .map(|value| (value, label(value, step)))
            .collect()
    }
}

/// The ends of an axis that begins and ends on a tick.
pub(crate) fn rounded_ends(low: f64, high: f64, count: usize, grain: Grain) -> (f64, f64) {
    if !(low.is_finite() && high.is_finite() && high > low) {
        return (low, high);
    }
    let step = grain.step((high - low) / count.max(1) as f64);
    (
        floor(low / step + 1e-9) * step,
        libm::ceil(high / step - 1e-9) * step,
    )
}

/// 1, 2, 2.5 or 5 times a power of ten, at least `raw`.
fn round_step(raw: f64) -> f64 {
    if !(raw.is_finite() && raw > 0.0) {
        return 1.0;
    }
    let decade = pow(10.0, floor(log10(raw)));
    let factor = raw / decade;
    let rounded = [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .find(|f| factor <= f + 1e-9);
    rounded.unwrap_or(10.0) * decade
}

/// `value` with as many decimals as `step` needs.
pub(crate) fn label(value: f64, step: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 1e7 || (magnitude > 0.0 && magnitude < 1e-4) {
        return format!("{value:e}");
    }
    let decimals = (0..=6).find(|d| {
        let scaled = step.abs() * pow(10.0, f64::from(*d));
        (scaled - libm::round(scaled)).abs() < 1e-6 * scaled.max(1.0)
    });
    let value = if magnitude < step.abs() * 1e-9 {
        0.0
    } else {
        value
    };
    format!("{value:.*}", decimals.unwrap_or(6) as usize)
}

#[cfg(test)]
#[path = "axis_tests.rs"]
mod tests;
