//! What transfers saw of hops: kept, and known from then on, over restarts too.
//!
//! Time base: the wall's clock, in seconds. Tests: at the end.

use super::survey::wall;
use crate::desk::{Desk, Surveyed};
use thalweg_host::link_state::HopSeen;
use thalweg_host::network::NetworkTime;
use thalweg_host::store::{StoreError, StoredHop};

/// Refreshes what is known of the links by what a transfer saw of `hops`.
pub(super) fn note(desk: &Desk, hops: &[HopSeen]) {
    let Some(surveyed) = desk.surveyed().filter(|_| !hops.is_empty()) else {
        return;
    };
    let mut known = surveyed.known.clone();
    known.saw(hops);
    desk.knows(Surveyed {
        known,
        at: surveyed.at,
        took_s: surveyed.took_s,
        missing: surveyed.missing.clone(),
        batteries: surveyed.batteries.clone(),
    });
    let ids = &desk.facts.network.place.ids;
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
    let written = desk.store().add_seen(desk.network(), &hops);
    if let Err(why) = written {
        tracing::error!("{why}");
    }
}

/// What transfers saw before the daemon began, the oldest first; without nodes that are not there any more.
pub(super) fn kept(desk: &Desk) -> Result<Vec<HopSeen>, StoreError> {
    let ids = &desk.facts.network.place.ids;
    let hops = desk.store().seen(desk.network())?;
    let hops = hops.iter().filter_map(|hop| {
        Some(HopSeen {
            from: ids.iter().position(|id| *id == hop.from)?,
            to: ids.iter().position(|id| *id == hop.to)?,
            channel: hop.channel,
            sent: hop.sent,
            received: hop.received,
            at: wall(hop.at),
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
    use crate::desk::{now, Common, Company};
    use crate::engine::remember;
    use thalweg_host::collector::Description;
    use thalweg_host::connector::{Facts, Sessions, Spending};
    use thalweg_host::link_state::Place;
    use thalweg_host::store::{NewSurvey, Store};

    /// Of nodes called `ids`, with the store in `dir`.
    fn desk(dir: &std::path::Path, ids: &[u16]) -> Desk {
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
        let common = Arc::new(Common::new(Store::open(dir).unwrap(), None));
        Desk::new(facts, Transfers::default(), (Company::Alone, None), common)
    }

    /// Power of the link from the third node to the second, as it is known.
    fn level(desk: &Desk) -> f64 {
        let known = desk.surveyed().unwrap().known.viewed_at(wall(now()));
        known.links().rssi(2, 1, Channel::LAST).unwrap().0
    }

    #[test]
    fn what_a_transfer_saw_is_known_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let before = desk(dir.path(), &[1, 2, 3]);
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
        remember(&before).unwrap();
        let measured = level(&before);
        let hop = HopSeen {
            from: 2,
            to: 1,
            channel: Channel::LAST,
            sent: 250,
            received: 20,
            at: wall(now()),
        };
        note(&before, &[hop]);
        let seen = level(&before);
        assert!(seen < measured - 2.0, "{measured} dBm, then {seen} dBm");
        drop(before);

        let after = desk(dir.path(), &[1, 2, 3]);
        remember(&after).unwrap();
        assert!((level(&after) - seen).abs() < 0.1, "{}", level(&after));
        assert_eq!(kept(&after).unwrap(), [hop]);
        drop(after);
        // Its second node is another.
        assert_eq!(kept(&desk(dir.path(), &[1, 5, 3])).unwrap(), []);
    }
}
