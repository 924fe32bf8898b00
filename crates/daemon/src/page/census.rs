//! All nodes of a station as they are: who was heard, batteries, last objects. Time base: wall clock. Tests: below.

use thalweg_units::{BatteryLevel, NodeId};

use super::text::seconds_of;
use crate::config::Transfers;
use crate::limits::Health;
use crate::station_state::{now, StationState};
use thalweg_host::store::{StoreError, TransferId};

/// An object is old after so many seconds.
const OLD_S: i64 = 24 * 3_600;

/// Whether a node takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// Nobody has measured yet.
    Unknown,
    /// It answered the last survey, or has delivered since.
    Heard,
    /// It did neither.
    Silent,
}

/// The last object of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Delivery {
    /// When it was stored, in seconds since 1970.
    pub(super) at: i64,
    pub(super) transfer: TransferId,
}

/// A node as it is.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) id: NodeId,
    pub(super) is_sink: bool,
    pub(super) presence: Presence,
    /// When it was last heard, in seconds since 1970.
    pub(super) heard_at: Option<i64>,
    pub(super) health: Health,
    pub(super) last: Option<Delivery>,
    is_low: bool,
}

impl Row {
    pub(super) fn is_silent(&self) -> bool {
        self.presence == Presence::Silent
    }
    /// Whether its battery is below the least that the configuration names.
    pub(super) fn is_low(&self) -> bool {
        self.is_low
    }
    /// Whether no object of it came for a day.
    pub(super) fn is_old(&self) -> bool {
        let is_recent = |last: &Delivery| now() - last.at < OLD_S;
        !self.is_sink && !self.last.as_ref().is_some_and(is_recent)
    }
}

/// The least battery that any window of the configuration asks for.
pub(super) fn least_battery(transfers: &Transfers) -> Option<BatteryLevel> {
    let windows = transfers.windows.iter().map(|window| window.limits);
    let all = windows.chain([transfers.limits()]);
    let least = all.filter_map(|limits| limits.least_battery);
    least.max_by(|a, b| a.volts().total_cmp(&b.volts()))
}

/// All nodes of `station`, in its order.
///
/// # Errors
/// [`StoreError`].
pub(super) fn of(station: &StationState) -> Result<Vec<Row>, StoreError> {
    let (facts, snapshot) = (&station.facts, station.snapshot());
    let last = station.store().last_deliveries(station.network())?;
    let health = station.health()?;
    let least = least_battery(&station.transfers);
    let row = |(index, id): (usize, &NodeId)| {
        let last = last.iter().find(|(node, ..)| node == id);
        let last = last.and_then(|(_, at, transfer)| {
            let (at, transfer) = (seconds_of(at)?, *transfer);
            Some(Delivery { at, transfer })
        });
        let surveyed = snapshot.as_ref().map(|s| (s.at, !s.missing.contains(id)));
        let delivered = last.as_ref().map(|last| last.at);
        let health = health.get(index).copied().unwrap_or_default();
        Row {
            id: *id,
            is_sink: facts.network.is_station(*id),
            presence: presence(surveyed, delivered),
            heard_at: (surveyed.filter(|(_, is_there)| *is_there))
                .map(|(at, _)| at)
                .max(delivered),
            is_low: (health.battery.zip(least)).is_some_and(|((level, _), least)| level < least),
            health,
            last,
        }
    };
    Ok(facts
        .network
        .place
        .ids
        .iter()
        .enumerate()
        .map(row)
        .collect())
}

/// Whether a node takes part: `surveyed` is when the last survey was and whether the node answered, `delivered` when
/// it last did that.
fn presence(surveyed: Option<(i64, bool)>, delivered: Option<i64>) -> Presence {
    match (surveyed, delivered) {
        (None, None) => Presence::Unknown,
        (Some((_, true)), _) | (None, Some(_)) => Presence::Heard,
        (Some((survey, false)), Some(delivered)) if delivered > survey => Presence::Heard,
        (Some((_, false)), _) => Presence::Silent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_delivers_after_a_survey_without_it_is_not_silent() {
        assert_eq!(presence(None, None), Presence::Unknown);
        assert_eq!(presence(Some((5, true)), None), Presence::Heard);
        assert_eq!(presence(Some((5, false)), None), Presence::Silent);
        assert_eq!(presence(Some((5, false)), Some(4)), Presence::Silent);
        assert_eq!(presence(Some((5, false)), Some(6)), Presence::Heard);
    }
}
