use super::*;
use thalweg_planner::{plan, Backups, LinkQualities, RouteRequest};
use thalweg_units::Dbm;

/// Of each of two stages.
const RELAYS: usize = 8;
const SINK: usize = 2 * RELAYS + 1;

fn ids() -> Vec<NodeId> {
    let ids = (0..=SINK as u16).filter_map(|n| NodeId::new(100 + n).ok());
    ids.collect()
}

/// Three hops: every node hears those of the stages beside its own, and of its own.
fn reroute() -> Reroute {
    let stage = |node: usize| match node {
        0 => 0,
        SINK => 3,
        node => 1 + (node - 1) / RELAYS,
    };
    let mut links = LinkQualities::new(SINK + 1);
    for channel in [15, 20, 25, 26].map(|n| Channel::new(n).unwrap()) {
        for (from, to) in (0..=SINK).flat_map(|a| (0..=SINK).map(move |b| (a, b))) {
            if from != to && stage(from).abs_diff(stage(to)) <= 1 {
                let rssi = Some(Dbm(-60.0 - ((3 * from + 5 * to) % 7) as f64));
                (links.record(from, to, channel, 10, 10, rssi)).unwrap();
            }
        }
    }
    let request = RouteRequest {
        backups: Backups::Relays,
        ..RouteRequest::planned(0, SINK)
    };
    let mut rng = rand_pcg::Pcg64Mcg::new(7);
    let plan = plan(&links, &request, &mut rng).unwrap();
    Reroute::of(
        &plan,
        Scheme::Thalweg,
        &TransferTerms::default().slim(),
        &ids(),
    )
    .unwrap()
}

fn relays(reroute: &Reroute, group: Group) -> Vec<NodeId> {
    let members = reroute.current().route.members().iter();
    let of_group = members.filter(|member| member.group == group);
    of_group.map(|member| member.node).collect()
}
fn report(degraded: &[(Group, Chain)], counted: &[(Group, &[u8])]) -> AttemptReport {
    let counts = |(group, counts): &(Group, &[u8])| (*group, Counts::new(counts).unwrap());
    AttemptReport {
        heard: true,
        end: Some(End::Released),
        degraded: degraded.to_vec(),
        is_degraded: !degraded.is_empty(),
        counted: counted.iter().map(counts).collect(),
    }
}

#[test]
fn the_next_way_leaves_out_the_hop_that_relays_counted_as_bad() {
    let mut reroute = reroute();
    assert_eq!(reroute.current().route.probe, Probe::First);
    assert_eq!(reroute.current().route.progress, Progress::Fresh);
    let before = relays(&reroute, Group::Odd);
    let counted: [(Group, &[u8]); 2] = [(Group::Odd, &[8, 8, 1, 1]), (Group::Even, &[8; 4])];
    let bad = reroute.next(&report(&[(Group::Odd, Chain::Planned)], &counted));
    let [bad] = &bad[..] else { panic!("{bad:?}") };
    assert_eq!((bad.stage, bad.group, bad.came, bad.of), (2, "odd", 1, 8));
    assert_eq!([bad.from, bad.to], before[..2]);
    let is_same = |group| {
        let pair = relays(&reroute, group);
        pair[..2] == before[..2] && reroute.current().route.channels.of(2) == bad.channel
    };
    assert!(![Group::Odd, Group::Even].into_iter().any(is_same));
    assert_eq!(reroute.current().route.progress, Progress::Kept);
}

#[test]
fn a_chain_that_was_good_when_it_was_counted_and_is_degraded_later_is_not_taken_again() {
    let chain = |reroute: &Reroute, group| {
        let channels = reroute.current().route.channels_of(group);
        (
            relays(reroute, group),
            (1..=3).map(|k| channels.of(k)).collect::<Vec<_>>(),
        )
    };
    let mut reroute = reroute();
    let before = chain(&reroute, Group::Odd);
    let counted: [(Group, &[u8]); 2] = [(Group::Odd, &[8; 4]), (Group::Even, &[8; 4])];
    let bad = reroute.next(&report(&[(Group::Odd, Chain::Planned)], &counted));
    assert_eq!(bad, []);
    for group in [Group::Odd, Group::Even] {
        assert_ne!(chain(&reroute, group), before);
    }
}

#[test]
fn a_degraded_spare_chain_is_not_taken_and_a_source_that_was_deaf_gets_another_channel() {
    let mut reroute = reroute();
    let alternates: Vec<_> = reroute.current().route.alternates().to_vec();
    let alternate: Vec<_> = alternates
        .iter()
        .filter(|m| m.group == Group::Even)
        .collect();
    let alternate: Vec<_> = alternate.iter().map(|m| m.node).collect();
    reroute.next(&report(&[(Group::Even, Chain::Alternate)], &[]));
    for group in [Group::Odd, Group::Even] {
        assert_ne!(relays(&reroute, group), alternate);
    }
    let mut reroute = self::reroute();
    let before = reroute.current().route.channels.of(0);
    reroute.next(&report(&[], &[]));
    assert_ne!(reroute.current().route.channels.of(0), before);
}

#[test]
fn a_sink_that_fell_silent_gets_another_channel_and_a_silent_source_another_way() {
    let mut reroute = reroute();
    let last = |reroute: &Reroute| reroute.current().route.channels.of(3);
    let before = last(&reroute);
    let silent = |heard| AttemptReport {
        heard,
        end: Some(End::TimedOut),
        ..AttemptReport::default()
    };
    reroute.next(&silent(true));
    assert_ne!(last(&reroute), before);
    let route = reroute.current().route;
    reroute.next(&silent(false));
    assert_ne!(reroute.current().route, route);
}

#[test]
fn now_and_then_many_paths_are_tried_and_a_way_that_does_not_end_for_being_bad() {
    let mut reroute = reroute();
    let mut turns = Vec::new();
    for _ in 0..2 * TURNS {
        let route = &reroute.current().route;
        turns.push((route.members().len() > 4, route.probe));
        reroute.next(&report(&[(Group::Odd, Chain::Planned)], &[]));
    }
    let mut once = [(false, Probe::First); TURNS as usize];
    once[TURNS as usize - 1] = (true, Probe::None);
    assert_eq!(turns, [once, once].concat());
}

#[test]
fn other_schemes_have_one_way() {
    let mut reroute = Reroute::from(reroute().current().clone());
    let route = reroute.current().route;
    assert!(reroute.next(&report(&[], &[])).is_empty());
    assert_eq!(reroute.current().route.channels, route.channels);
}
