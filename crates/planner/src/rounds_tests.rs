use super::*;

/// A row of nodes, the base station first; every object passes all nodes before its source.
fn row(source: usize) -> Load {
    Load {
        source,
        sink: 0,
        hops: source,
        time_s: 2.0,
        shares: (0..=source).map(|node| (node, 0.1)).collect(),
    }
}

fn duty() -> Duty {
    Duty {
        every_s: 3_600.0,
        battery_j: 1_000.0,
        idle_w: 0.0,
        survey_s: 0.0,
        survey_j: 0.0,
        listening_w: 0.05,
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * b.abs().max(1.0)
}

#[test]
fn a_round_sums_transfers_and_rest() {
    let loads = [row(1), row(2), row(3)];
    let round = Round::of(4, &loads, 0.05);
    assert!(near(round.time_s, 6.0));
    assert_eq!(round.takes_part, [3, 3, 2, 1]);
    assert!(near(round.transfers_j[1], 0.3) && near(round.transfers_j[3], 0.1));
    // The last node is awake for a twelfth of the four seconds, about.
    assert!(round.resting_j[1] == 0.0);
    assert!((0.005..0.03).contains(&round.resting_j[3]), "{round:?}");
    let sum: f64 = (0..4).map(|node| round.node_j(node)).sum();
    assert!(near(sum, round.energy_j()));
}

#[test]
fn base_stations_work_at_the_same_time() {
    let other = Load { sink: 3, ..row(2) };
    let round = Round::of(4, &[row(1), other], 0.05);
    assert!(near(round.time_s, 2.0), "{round:?}");
}

#[test]
fn an_idle_network_lasts_as_long_as_its_batteries_say() {
    let duty = Duty {
        idle_w: 0.05,
        ..duty()
    };
    let life = lifetime(vec![None; 5], &[0], &duty, &mut |_, _| Vec::new());
    assert_eq!(life.empty_s[0], None);
    for at_s in life.empty_s.iter().skip(1).flatten() {
        assert!(near(*at_s, 20_000.0), "{at_s}");
    }
    assert_eq!(life.milestones.map(|m| m.empty), [1, 1, 2]);
}

#[test]
fn relays_by_the_base_station_empty_first_and_others_take_over() {
    let loads = vec![None, Some(row(1)), Some(row(2)), Some(row(3))];
    let mut asked = Vec::new();
    let mut none = |sources: &[usize], empty: &[usize]| {
        asked.push((sources.to_vec(), empty.to_vec()));
        vec![None; sources.len()]
    };
    let life = lifetime(loads.clone(), &[0], &duty(), &mut none);
    assert_eq!(asked.first(), Some(&(vec![2, 3], vec![1])));
    // .3 J a round.
    assert!(near(life.milestones[0].at_s, 1_000.0 / 0.3 * 3_600.0));
    assert_eq!(life.milestones[0].cut_off, 2);
    // Cut off and idle without power, the others last for ever.
    assert!(life.empty_s[2].is_some_and(|at_s| at_s > 1e9));

    let direct = |source: &usize| {
        Some(Load {
            shares: vec![(0, 0.1), (*source, 0.1)],
            ..row(*source)
        })
    };
    let mut over = |sources: &[usize], _: &[usize]| sources.iter().map(direct).collect();
    let life = lifetime(loads, &[0], &duty(), &mut over);
    assert_eq!(life.milestones[0].cut_off, 0);
    assert!(life.empty_s[2].is_some_and(|at_s| at_s < 1e9));
    assert!(life.empty_s[1] < life.empty_s[2] && life.empty_s[2] < life.empty_s[3]);
}

#[test]
fn a_survey_takes_its_part_of_the_battery() {
    let surveyed = Duty {
        survey_s: 5.0,
        survey_j: 0.3,
        ..duty()
    };
    let loads = vec![None, Some(row(1))];
    let life = lifetime(loads, &[0], &surveyed, &mut |_, _| Vec::new());
    // .1 J for its object, .3 J for the survey.
    assert!(near(life.milestones[0].at_s, 1_000.0 / 0.4 * 3_600.0));
}
