use std::sync::Arc;

use thalweg_engine::BoardTiming;
use thalweg_planner::{LinkQualities, RelayOrder};
use thalweg_units::{Channel, ChannelSet, Dbm, NodeId};

use super::*;
use crate::config::Transfers;
use crate::engine::resume;
use crate::shared::Shared;
use crate::station_state::now;
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
            beside: Vec::new(),
            place: Place {
                labels: Default::default(),
                name: "row".to_owned(),
                ids,
                channels: ChannelSet::ALL,
                order: RelayOrder::Random,
                floor: Dbm(-95.5),
                control: Channel::LAST,
                timing: None,
                currents: thalweg_planner::Currents::TELOSB,
            },
            positions: None,
            channels: None,
            timing: BoardTiming::IDEAL,
            draw: (|seed, _, _| rand_pcg::Pcg64Mcg::new(u128::from(seed)), 1),
            keys: None,
        },
        usual_bytes: 1,
        about: String::new(),
        sessions: Sessions::Carried,
        spending: Spending::Metered,
    };
    let shared = Arc::new(Shared::new(
        Store::open(dir).unwrap(),
        crate::config::StoreConfig::default(),
        None,
    ));
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
