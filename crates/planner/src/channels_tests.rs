//! Orders and assignments of channels.

use super::*;

fn channels(numbers: &[u8]) -> Vec<Channel> {
    numbers.iter().map(|&n| Channel::new(n).unwrap()).collect()
}

#[test]
fn the_sink_gets_the_first_and_the_source_follows_the_same_rule() {
    let list = channels(&[26, 20, 25, 15]);
    assert_eq!(counted_back(&list, 3), channels(&[15, 25, 20, 26]));
    assert_eq!(counted_back(&list, 5), channels(&[20, 26, 15, 25, 20, 26]));
    assert!(counted_back(&[], 3).is_empty());
}

#[test]
fn one_path_over_few_channels_never_sends_twice_on_one_in_a_cycle() {
    assert_eq!([1, 2, 3, 8].map(|hops| needed(hops, 1)), [1, 1, 2, 2]);
    assert_eq!([1, 2, 3, 8].map(|hops| needed(hops, 2)), [1, 2, 3, 3]);
    let stages = counted_back_in_pairs(&channels(&[26, 15]), 6);
    assert_eq!(stages, channels(&[15, 26, 26, 15, 15, 26, 26]));
    // Stages two apart send in the same cycles.
    assert!(stages.windows(3).all(|near| near[0] != near[2]));
}

#[test]
fn spreading_the_papers_channels() {
    let order = spread_order(&channels(&[15, 20, 25, 26]), Channel::LAST);
    assert_eq!(order, channels(&[26, 20, 25, 15]));
    let twice = spread_order(&channels(&[25, 25]), Channel::LAST);
    assert_eq!(twice, channels(&[25]));
    let all: Vec<Channel> = Channel::all().collect();
    let mut order = spread_order(&all, Channel::LAST);
    assert!(order.windows(2).all(|pair| apart(pair[0], pair[1]) > 2));
    order.sort_unstable();
    assert_eq!(order, all);
}

#[test]
fn the_best_assignment_keeps_its_distance() {
    let all: Vec<Channel> = Channel::all().collect();
    // Everybody wants 26, then 25.
    let stages = best(&all, 8, |_, channel| channel.index() as f64).unwrap();
    assert_eq!(stages.len(), 9);
    for (at, &channel) in stages.iter().enumerate() {
        let mut near = stages[at + 1..].iter().take(REUSE_DISTANCE - 1);
        assert!(!near.any(|&c| c == channel));
    }
    assert!(stages.windows(2).all(|pair| apart(pair[0], pair[1]) > 1));
    // On stage 5 a certain channel is worth most.
    let wanted = Channel::new(17).unwrap();
    let worth = |stage, channel| f64::from(stage == 5 && channel == wanted);
    assert_eq!(best(&all, 8, worth).unwrap()[5], wanted);
    assert_eq!(best(&channels(&[25, 26]), 4, |_, _| 0.0), None);
}
