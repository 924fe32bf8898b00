//! What transfers show of hops: stored, and part of the link state from then on, also after a restart.
//!
//! Time base: the wall clock, in seconds. Tests: at the end.

use super::survey::wall_time;
use crate::station_state::{LinkSnapshot, StationState};
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
mod tests {
    use std::sync::Arc;

    use thalweg_engine::BoardTiming;
    use thalweg_planner::{LinkQualities, RelayOrder};
    use thalweg_units::{Channel, ChannelSet, Dbm, NodeId};

    use super::*;
    use crate::config::Transfers;
    use crate::engine::resume;
    use crate::station_state::{now, Shared};
    use thalweg_host::collector::Description;
    use thalweg_host::connector::{Facts, Sessions, Spending};
    use thalweg_host::link_state::Place;
    use thalweg_host::store::{NewSurvey, Store};

    /// Of nodes called `ids`, with the store in `dir`.
    fn station(dir: &std::path::Path, ids: &[u16]) -> StationState {
        let ids: Vec<NodeId> = ids.iter().map(|id| NodeId::new(*id).unwrap()).collect();
        let facts = Facts {
            network: Description {
                sink: ids[0],
                place: Place {
                    name: "row".to_owned(),
                    ids,
                    channels: ChannelSet::ALL,
                    order: RelayOrder::Random,
                    floor: Dbm(-95.5),
                    timing: None,
                },
                positions: None,
                channels: None,
                timing: BoardTiming::IDEAL,
                draw: (|seed, _, _| rand_pcg::Pcg64Mcg::new(u128::from(seed)), 1),
            },
            usual_bytes: 1,
            about: String::new(),
            sessions: Sessions::Carried,
            spending: Spending::Metered,
        };
        let shared = Arc::new(Shared::new(Store::open(dir).unwrap(), None));
        StationState::new(facts, Transfers::default(), (true, None), shared)
    }

    /// Power of the link from the third node to the second, as it is known.
    fn level(station: &StationState) -> f64 {
        let link_state = station
            .snapshot()
            .unwrap()
            .link_state
            .as_of(wall_time(now()));
        link_state.links().rssi(2, 1, Channel::LAST).unwrap().0
    }

    #[test]
    fn what_a_transfer_saw_is_known_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let before = station(dir.path(), &[1, 2, 3]);
        let mut links = LinkQualities::new(3);
        for (from, to) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
            let level = Some(Dbm(-75.0));
            (links.record(from, to, Channel::LAST, 10, 10, level)).unwrap();
        }
        let survey = NewSurvey {
            took_s: 1.0,
            missing: &[],
            batteries: &[],
            links: &links,
        };
        let network = (before.network(), before.facts.network.sink);
        (before.store().keep_survey(network, &survey, &[])).unwrap();
        resume(&before).unwrap();
        let measured = level(&before);
        let hop = HopObservation {
            from: 2,
            to: 1,
            channel: Channel::LAST,
            sent: 250,
            received: 20,
            at: wall_time(now()),
        };
        note(&before, &[hop]);
        let weakened = level(&before);
        assert!(
            weakened < measured - 2.0,
            "{measured} dBm, then {weakened} dBm"
        );
        drop(before);

        let after = station(dir.path(), &[1, 2, 3]);
        resume(&after).unwrap();
        assert!((level(&after) - weakened).abs() < 0.1, "{}", level(&after));
        assert_eq!(stored(&after).unwrap(), [hop]);
        drop(after);
        // Its second node is another.
        assert_eq!(stored(&station(dir.path(), &[1, 5, 3])).unwrap(), []);
    }
}
