//! What happens to nodes in a run, as files have it. Times are seconds after routes have settled.

use serde::Deserialize;
use thalweg_units::Duration;

/// What happens to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Incident {
    /// It fails.
    Dies,
    /// It restarts, with what its flash holds.
    Starts,
}

/// An incident in a file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Happens {
    at: String,
    /// What.
    pub what: Incident,
    /// To which node, by number.
    pub node: u16,
}

impl Happens {
    /// When; none where `at` is no time such as "500 s".
    pub fn at(&self) -> Option<Duration> {
        let seconds = self.at.trim().strip_suffix('s')?;
        let seconds = seconds.trim().parse::<f64>().ok()?;
        (0.0..=1e6)
            .contains(&seconds)
            .then(|| Duration::from_secs_f64(seconds))
    }
}
