//! Whole networks: how long batteries last, where base stations stand best.

use std::ops::ControlFlow::{Break, Continue};
use thalweg::{ChoiceBy, Error, Gathering, Idle, Network, Usage, Visit};
use thalweg_units::{Duration, NodeId};

fn usage(idle_uw: Option<f64>) -> Usage {
    Usage {
        every: Duration::from_secs(6 * 3_600),
        battery_mah: 2_400.0,
        idle_uw,
    }
}

fn network() -> Network {
    Network::open("line5").unwrap().random_object(64_000)
}

#[test]
fn who_listens_all_the_time_lasts_five_days_and_who_rests_some_seven_hundred() {
    let network = network();
    let life_of = |idle_uw: Option<f64>| {
        let usage = usage(idle_uw);
        let network = network.clone().idle(match idle_uw {
            None => Some(usage.every),
            Some(_) => None,
        });
        let (links, cost) = network
            .links_and_cost(&mut |_, _| std::ops::ControlFlow::Continue(()))
            .unwrap();
        network.lifetime(&usage, &links, &cost).unwrap()
    };
    // 2400 mAh at 3 V are 25.92 kJ, and listening takes 56.4 mW: transfers hardly matter.
    let listens = life_of(Some(56_400.0));
    assert_eq!((listens.sink, listens.nodes.len()), (1, 4));
    for node in &listens.nodes {
        assert!((5.2..5.4).contains(&node.days), "{node:?}");
    }
    let rests = life_of(None);
    assert_eq!(rests.idle, Idle::Rests);
    // 1.4 ms of 300 with the receiver on, and a sleeping CC2420's 20 uA.
    assert!((300.0..400.0).contains(&rests.idle_uw), "{}", rests.idle_uw);
    let first = &rests.nodes[0];
    assert!((650.0..750.0).contains(&first.days), "{first:?}");
    // Rousing is a part of the survey.
    assert!(rests.survey_s > listens.survey_s + 1.9, "{rests:?}");
}

#[test]
fn relays_of_idle_nodes_that_sleep_go_first_and_cut_others_off() {
    let network = network();
    let (links, cost) = network
        .links_and_cost(&mut |_, _| std::ops::ControlFlow::Continue(()))
        .unwrap();
    let life = network.lifetime(&usage(Some(50.0)), &links, &cost).unwrap();
    let (first, last) = (&life.nodes[0], life.nodes.last().unwrap());
    assert!(first.helps > last.helps, "{life:?}");
    assert_eq!(life.milestones[0].days, first.days);
    assert!(first.days > 30.0 && last.days > first.days, "{life:?}");
    assert_eq!(first.hops, Some(1));
    assert!(life
        .milestones
        .windows(2)
        .all(|two| two[0].days <= two[1].days));
    // All of the energy is reported: a round and the time until the next, over and over.
    let each = first.joules;
    let sum = each.idle + each.survey + each.transfers + each.rendezvous;
    let days = life.battery_j / sum * life.every_s / 86_400.0;
    assert!((days - first.days).abs() < 1e-6 * days, "{days} {first:?}");
    let hurried = Usage {
        every: Duration::from_secs(3),
        ..usage(None)
    };
    let refused = network.lifetime(&hurried, &links, &cost).unwrap_err();
    assert!(refused
        .to_string()
        .contains("every: a survey and a round take"));
}

#[test]
fn two_base_stations_halve_the_way() {
    let network = network();
    let links = network
        .links(&mut |_, _| std::ops::ControlFlow::Continue(()))
        .unwrap();
    let stations = network.base_stations(2, &links).unwrap();
    let [own, one, two] = &stations.choices[..] else {
        panic!("{stations:?}");
    };
    assert_eq!((own.by, own.stations[0].node), (ChoiceBy::Given, 1));
    // The middle of five in a row.
    assert_eq!(one.stations[0].node, 3);
    assert!(one.mean_hops < own.mean_hops && two.mean_hops < one.mean_hops);
    assert!(one.energy_j < own.energy_j && two.time_s < 0.7 * one.time_s);
    assert_eq!((own.reached, one.reached, two.reached), (4, 4, 3));
    let serves: usize = two.stations.iter().map(|station| station.serves).sum();
    assert_eq!(serves, 3);
    let refused = network.base_stations(5, &links).unwrap_err();
    assert!(refused
        .to_string()
        .contains("line5 has 5 nodes; give at most 4"));
}

#[test]
fn many_nodes_give_their_objects_at_once() {
    let network = Network::open("line5").unwrap().random_object(300);
    let of = Gathering {
        sources: [2, 3].map(|id| NodeId::new(id).unwrap()).to_vec(),
        ..Gathering::default()
    };
    let rcrt = network.clone().protocol("rcrt").unwrap();
    let report = rcrt.gather(&of, None, &mut |_| Continue(())).unwrap();
    assert_eq!((report.whole, report.objects), (2, 2));
    let one = network
        .gather(&of, None, &mut |_| Continue(()))
        .unwrap_err();
    assert_eq!(
        one.to_string(),
        "more than one source is not for protocol thalweg"
    );
}

#[test]
fn all_nodes_give_theirs_in_turn_or_several_at_once() {
    let network = Network::open("line5").unwrap().random_object(500);
    for (to, sources) in [(&[][..], 4), (&[1, 5][..], 3)] {
        let to: Vec<NodeId> = to.iter().map(|id| NodeId::new(*id).unwrap()).collect();
        let all = network.all_nodes(&to).unwrap();
        assert_eq!(
            (all.sources().len(), all.is_at_once()),
            (sources, to.len() > 1)
        );
        let mut whole = Vec::new();
        let mut visit = |visit: Visit<'_>| {
            match visit {
                Visit::Ended(node, Ok(report)) if report.summary().verified => whole.push(node),
                Visit::InWave(turn, Some(object)) if object.len() == 500 => {
                    whole.push(turn.summary.source);
                }
                Visit::Ended(..) | Visit::InWave(..) => panic!("{visit:?}"),
                Visit::Surveyed | Visit::Begins(_) => {}
            }
            Ok::<(), Error>(())
        };
        let left = all.sources().to_vec();
        all.collect(left, &mut |_, _| Continue(()), &mut visit)
            .unwrap();
        whole.sort_unstable();
        assert_eq!(whole, all.sources());
        let stopped = all.collect(whole, &mut |_, _| Break(()), &mut |_| Ok(()));
        assert!(matches!(stopped, Err(Error::Stopped)));
    }
}
