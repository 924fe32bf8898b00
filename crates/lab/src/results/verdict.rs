//! A result beside its claim: its band, whether it lies in it, and its exception if not.
//! A result is a miss where it lies both outside its band and outside the window of its exception.
//! Tests: `verdict_tests.rs`, `claims_tests.rs`.

use super::metric::Measured;
use serde::{Deserialize, Serialize};

/// What judges a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The band around a value that the paper reports.
    Paper,
    /// A requirement that is this project's, as that every object arrives.
    Own,
    /// The paper's band; but a constant was fitted to the result, which is no evidence then.
    Fitted,
}

impl Basis {
    /// All of them, in the order of the summary.
    pub const ALL: [Self; 3] = [Self::Paper, Self::Own, Self::Fitted];
}

/// The constant that was fitted to a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Which, its value, and the file that has it.
    pub constant: String,
    /// What the result is with the constant a tenth smaller and a tenth larger; none where no file has the
    /// constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenth: Option<[f64; 2]>,
}

/// Values that an exception excuses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The value that was measured when the exception was written.
    pub value: f64,
    /// How far a result may lie from it.
    pub within: f64,
}

impl Window {
    /// Whether it excuses `value`.
    pub fn has(&self, value: f64) -> bool {
        // A value that was rounded when it was written down is still that value.
        let rounding = 1e-9 * self.value.abs().max(1.0);
        (value - self.value).abs() <= self.within + rounding
    }

    /// Its lowest and highest value.
    pub fn span(&self) -> [f64; 2] {
        [self.value - self.within, self.value + self.within]
    }

    /// The one to write for `measured`: half its interval wide, and at least a twentieth of the value.
    pub fn around(measured: &Measured) -> Self {
        let half = measured.ci95.map_or(0.0, |[low, high]| (high - low) / 2.0);
        Self {
            value: digits(measured.value, 3, f64::round),
            within: digits(half.max(0.05 * measured.value.abs()), 2, f64::ceil),
        }
    }
}

/// `x` with so many significant digits, as `round` rounds to whole numbers.
fn digits(x: f64, count: i32, round: impl Fn(f64) -> f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let place = count - 1 - x.abs().log10().floor() as i32;
    // Divided by whole powers of ten, which are exact, the result prints as short as it is.
    match place >= 0 {
        true => round(x * 10f64.powi(place)) / 10f64.powi(place),
        false => round(x / 10f64.powi(-place)) * 10f64.powi(-place),
    }
}

/// Which of an exception's windows counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// The experiment's own seeds and routes, or those of the options.
    Full,
    /// The subset of `reproduce --quick`.
    Quick,
}

/// What excuses a result of this extent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Excuse {
    /// The values excused.
    #[serde(flatten)]
    pub window: Window,
    /// Why they are accepted for now, in words that a reader can check.
    pub why: String,
}

/// A measured result beside its claim: one object of machine-readable output.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// The result's id.
    pub id: String,
    /// The paper's short name, where the experiment belongs to one.
    pub paper: Option<String>,
    /// What was measured.
    #[serde(flatten)]
    pub measured: Measured,
    /// The paper's value.
    pub reference: Option<f64>,
    /// The band.
    pub band: Option<[f64; 2]>,
    /// What judges it; none for a result that is printed only.
    pub judged: Option<Basis>,
    /// Whether the value lies in the band; none without a band.
    pub within: Option<bool>,
    /// The constant that was fitted to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fitted: Option<Fit>,
    /// What excuses a value outside the band.
    #[serde(rename = "exception", skip_serializing_if = "Option::is_none")]
    pub excuse: Option<Excuse>,
}

/// Bands are for the mean over at least so many seeds.
pub const DECIDED: usize = 10;

/// The verdict on a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// In its band.
    Within,
    /// In its band, though an exception excuses a value outside: the exception has had its day.
    Returned,
    /// Outside, at a value that its exception excuses.
    Excused,
    /// Outside, over too few seeds to be certain.
    Open,
    /// Outside, and beyond what its exception excuses.
    Moved,
    /// Outside, with no exception.
    Missed,
}

impl Verdict {
    /// Whether the result lies in its band.
    pub const fn is_within(self) -> bool {
        matches!(self, Self::Within | Self::Returned)
    }
    /// Whether `--check` fails for it.
    pub const fn is_miss(self) -> bool {
        matches!(self, Self::Moved | Self::Missed)
    }
}

impl Judged {
    /// Its verdict; none where nothing judges it.
    pub fn verdict(&self) -> Option<Verdict> {
        let (value, within) = (self.measured.value, self.within?);
        Some(match (within, &self.excuse) {
            (true, None) => Verdict::Within,
            (true, Some(_)) => Verdict::Returned,
            (false, Some(excuse)) if excuse.window.has(value) => Verdict::Excused,
            (false, _) if self.is_open() => Verdict::Open,
            (false, Some(_)) => Verdict::Moved,
            (false, None) => Verdict::Missed,
        })
    }

    /// Over fewer seeds than bands are meant for, a mean whose 95 % interval reaches into the band, or into what is
    /// excused, decides nothing. A value without an interval is taken as it is.
    fn is_open(&self) -> bool {
        let Some([least, most]) = self.measured.ci95.filter(|_| self.measured.n < DECIDED) else {
            return false;
        };
        let excused = self.excuse.iter().map(|excuse| excuse.window.span());
        let mut spans = self.band.into_iter().chain(excused);
        spans.any(|[low, high]| most >= low && least <= high)
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
