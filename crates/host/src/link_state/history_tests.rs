use super::*;
use crate::link_state::{LinkState, Place};
use crate::transfer::reroute::BadHop;
use thalweg_planner::{plan, Backups, RelayOrder, RouteRequest};
use thalweg_units::{ChannelSet, NodeId};

const DAY: Duration = Duration::from_secs(86_400);

/// Ten nodes in two rows: each hears those of the next column well, and nobody else.
fn links() -> LinkQualities {
    let mut links = LinkQualities::new(10);
    let column = |node: usize| node.div_ceil(2);
    for (a, b) in (0..100).map(|pair| (pair / 10, pair % 10)) {
        for channel in [15, 20, 25, 26].map(|n| Channel::new(n).unwrap()) {
            if column(a).abs_diff(column(b)) == 1 {
                (links.record(a, b, channel, 10, 10, Some(Dbm(-75.0)))).unwrap();
            }
        }
    }
    links
}

fn ids() -> Vec<NodeId> {
    (1..=10).map(|id| NodeId::new(id).unwrap()).collect()
}

fn link_state() -> LinkState {
    let place = Place {
        labels: Default::default(),
        name: "rows".to_owned(),
        ids: ids(),
        channels: ChannelSet::ALL,
        order: RelayOrder::Random,
        floor: Dbm(-95.5),
        control: Channel::LAST,
        timing: None,
        currents: thalweg_planner::Currents::TELOSB,
    };
    let draw = (drawn as super::super::Draw, 1);
    LinkState::new(place, links(), 0, None, draw)
}

/// A stream for each seed.
fn drawn(seed: u64, _: &str, _: &[u64]) -> rand_pcg::Pcg64Mcg {
    rand_pcg::Pcg64Mcg::new(u128::from(seed))
}

fn lean(backups: Backups) -> Plan {
    let request = RouteRequest {
        backups,
        ..RouteRequest::planned(9, 0)
    };
    plan(&links(), &request, &mut rand_pcg::Pcg64Mcg::new(1)).unwrap()
}

fn fetched(degraded_paths: u32, first_round: Option<u16>) -> Fetched {
    Fetched {
        segment: None,
        bad_hops: Vec::new(),
        complete: None,
        duration: Duration::ZERO,
        waited: Duration::ZERO,
        wake_up: Duration::ZERO,
        round: 1,
        first_round,
        attempts: 1,
        degraded_paths,
        participants: 2,
        joules: None,
        network_joules: None,
        failure: None,
    }
}

#[test]
fn a_plan_tells_how_old_its_links_are() {
    let then = NetworkTime::ZERO + DAY;
    let link_state = link_state();
    assert_eq!(link_state.age(), None);
    let link_state = link_state.measured_at(then);
    assert_eq!(link_state.age(), Some(Duration::ZERO));
    assert_eq!(link_state.as_of(then + DAY).age(), Some(DAY));
}

#[test]
fn what_transfers_saw_refreshes_the_picture_and_outlives_a_survey() {
    let (then, on) = (NetworkTime::ZERO + DAY, Channel::new(20).unwrap());
    let mut link_state = link_state().measured_at(then);
    let hop = HopObservation {
        from: 9,
        to: 7,
        channel: on,
        sent: 250,
        received: 20,
        at: then + DAY,
    };
    link_state.observe(&[hop]);
    let weaker = |link_state: &LinkState| {
        let now = link_state.as_of(then + DAY);
        let level = |links: &LinkQualities| links.rssi(9, 7, on).unwrap().0;
        level(&links()) - level(now.links())
    };
    assert!(weaker(&link_state) > 3.0, "{}", weaker(&link_state));
    let earlier = vec![PastSurvey {
        links: links(),
        at: then,
    }];
    let later = super::tests::link_state().with_history(earlier, then + DAY);
    assert!(weaker(&later).abs() < 0.2, "{}", weaker(&later));
    assert!(weaker(&later.with_observations_of(&link_state)) > 2.0);
}

#[test]
fn whole_groups_confirm_their_hops_and_degraded_ones_are_suspect() {
    let plan = lean(Backups::None);
    let at = NetworkTime::ZERO;
    let observations = hop_observations((&plan, &ids()), 500, &fetched(0, Some(500)), at);
    assert_eq!(observations.len(), 2 * plan.hops);
    assert!(observations
        .iter()
        .all(|hop| (hop.sent, hop.received) == (250, 250)));
    assert!(observations
        .iter()
        .all(|hop| plan.channels.contains(&hop.channel)));
    let degraded = hop_observations((&plan, &ids()), 500, &fetched(2, Some(500)), at);
    assert!(
        degraded.iter().all(|hop| hop.received < hop.sent),
        "{degraded:?}"
    );
    assert!(hop_observations((&plan, &ids()), 500, &fetched(0, None), at).is_empty());
    let [from, to] = [9, 7].map(|n| ids()[n]);
    let mut counted = fetched(1, Some(500));
    counted.bad_hops = vec![BadHop {
        from,
        to,
        stage: 1,
        group: "odd",
        channel: plan.channels[1],
        came: 1,
        of: 8,
    }];
    let observations = hop_observations((&plan, &ids()), 500, &counted, at);
    let observations: Vec<_> = (observations.iter())
        .map(|hop| (hop.from, hop.to, hop.sent, hop.received))
        .collect();
    assert_eq!(observations, [(9, 7, 8, 1)]);
}

#[test]
fn who_stands_by_leaves_it_open_who_sent() {
    let mut plan = lean(Backups::None);
    plan.backup_relays = plan.stages.clone();
    let observations = hop_observations(
        (&plan, &ids()),
        500,
        &fetched(0, Some(500)),
        NetworkTime::ZERO,
    );
    assert!(observations.is_empty(), "{observations:?}");
}
