//! What transfers show of hops: stored, and part of the link state from then on, also after a restart.
//!
//! Time base: the wall clock, in seconds. Tests: `observations_tests.rs`.

use crate::clock::wall_time;
use crate::snapshot::LinkSnapshot;
use crate::station_state::StationState;
use thalweg_host::link_state::HopObservation;
use thalweg_host::network::NetworkTime;
use thalweg_host::store::{StoreError, StoredHop};

/// Updates the link state by a transfer's observations of `hops`.
pub(super) fn note(station: &StationState, hops: &[HopObservation]) {
    let Some(snapshot) = station.snapshot().filter(|_| !hops.is_empty()) else {
        return;
    };
    let mut link_state = snapshot.link_state.clone();
    link_state.observe(hops);
    station.set_links(LinkSnapshot {
        link_state,
        at: snapshot.at,
        took_s: snapshot.took_s,
        missing: snapshot.missing.clone(),
        batteries: snapshot.batteries.clone(),
        restarts: snapshot.restarts.clone(),
    });
    let ids = &station.facts.network.place.ids;
    let hops = hops.iter().filter_map(|hop| {
        Some(StoredHop {
            from: *ids.get(hop.from)?,
            to: *ids.get(hop.to)?,
            channel: hop.channel,
            sent: hop.sent,
            received: hop.received,
            at: hop.at.since(NetworkTime::ZERO).as_secs_f64() as i64,
        })
    });
    let hops: Vec<StoredHop> = hops.collect();
    let written = station.store().add_hops(station.network(), &hops);
    if let Err(why) = written {
        tracing::error!("{why}");
    }
}

/// The observations in the store, the oldest first; without nodes that the network no longer has.
pub(super) fn stored(station: &StationState) -> Result<Vec<HopObservation>, StoreError> {
    let ids = &station.facts.network.place.ids;
    let hops = station.store().hops(station.network())?;
    let hops = hops.iter().filter_map(|hop| {
        Some(HopObservation {
            from: ids.iter().position(|id| *id == hop.from)?,
            to: ids.iter().position(|id| *id == hop.to)?,
            channel: hop.channel,
            sent: hop.sent,
            received: hop.received,
            at: wall_time(hop.at),
        })
    });
    Ok(hops.collect())
}

#[cfg(test)]
#[path = "observations_tests.rs"]
mod tests;
