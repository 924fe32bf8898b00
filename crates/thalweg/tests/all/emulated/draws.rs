//! Emulated and simulated networks of one site agree; frames of one slot begin together.

use super::run::{beside_wifi, emulated, emulated_from, motes20, simulated, Run, TURN};
use std::ops::RangeInclusive;
use thalweg_emulator::perturbation::Perturbation;
use thalweg_emulator::world::SentFrame;
use thalweg_testbeds::Testbed;
use thalweg_units::{Channel, Duration, SimTime};

/// Bytes of a frame of a train that rouses, without check sequence.
const TRAIN: usize = 6;

/// How far `a` is from `b`, as a share of it.
fn off(a: f64, b: f64) -> f64 {
    (a / b - 1.0).abs()
}

/// Each draw on emulated chips and simulated, all whole; the lines are `docs/motes.md`'s.
fn draw(testbed: &Testbed, seeds: RangeInclusive<u64>) -> Vec<[Run; 2]> {
    println!("| seed | kbit/s | hops | frames of the transfer | all frames | joules |");
    let one = |seed| {
        let chips = emulated(testbed, (seed, Perturbation::NONE), TURN, None);
        let model = simulated(testbed, seed, chips.began);
        println!(
            "| {seed} | {:.1}, {:.1} | {}, {} | {}, {} | {}, {} | {:.3}, {:.3} |",
            chips.goodput_kbps,
            model.goodput_kbps,
            chips.hops,
            model.hops,
            chips.transfer_frames,
            model.transfer_frames,
            chips.frames,
            model.frames,
            chips.joules,
            model.joules
        );
        assert!(chips.is_whole && model.is_whole, "seed {seed}");
        [chips, model]
    };
    seeds.map(one).collect()
}

/// How far both are apart over all draws.
fn off_by_all(draws: &[[Run; 2]], what: impl Fn(&Run) -> f64) -> f64 {
    let sum = |which: usize| draws.iter().map(|both| what(&both[which])).sum();
    off(sum(0), sum(1))
}

/// How far both are apart in the draw where they are farthest.
fn off_by_one(draws: &[[Run; 2]], what: impl Fn(&Run) -> f64) -> f64 {
    let each = draws
        .iter()
        .map(|[chips, model]| off(what(chips), what(model)));
    each.fold(0.0, f64::max)
}

/// How early a mote hears the train is drawn, and so are all frames and joules: two draws say little of them.
#[test]
#[ignore = "needs images"]
fn two_draws_are_as_fast_as_the_simulators() {
    let draws = &draw(&motes20(), 1..=2);
    // A hop that loses a packet has a third round, and whether one does is drawn.
    assert!(off_by_all(draws, |run| run.goodput_kbps) < 0.02);
    // Both measure their links, and plans may differ by a hop.
    let by_hop = |run: &Run| run.transfer_frames as f64 / f64::from(run.hops);
    assert!(off_by_one(draws, by_hop) < 0.02);
}

/// Bursts that the whole corridor hears fill this air's tenth second. A job that begins at the fourth, as a newcomer's does,
/// sends its first round then.
#[test]
#[ignore = "needs images"]
fn bursts_cost_chips_what_they_cost_the_simulator() {
    let (testbed, begin) = (motes20(), SimTime::from_nanos(4_000_000_000));
    let chips = emulated_from(begin, &testbed, (1, Perturbation::NONE), TURN, None);
    let model = simulated(&testbed, 1, chips.began);
    let first_round = |run: &Run| run.first_round.unwrap();
    for run in [&chips, &model] {
        println!(
            "{:.1} kbit/s, {:.3} in the first round",
            run.goodput_kbps,
            first_round(run)
        );
        assert!(run.is_whole);
        assert!(first_round(run) < 0.9, "no bursts");
    }
    assert!((first_round(&chips) - first_round(&model)).abs() < 0.02);
    assert!(off(chips.goodput_kbps, model.goodput_kbps) < 0.02);
}

/// Both plan by links that they measured a moment apart, so one draw may have another plan.
#[test]
#[ignore = "needs images, and minutes"]
fn nightly_ten_draws_agree() {
    let draws = &draw(&motes20(), 1..=10);
    assert!(off_by_all(draws, |run| run.goodput_kbps) < 0.02);
    assert!(off_by_all(draws, |run| run.joules) < 0.05);
    assert!(off_by_all(draws, |run| run.frames as f64) < 0.02);
}

/// Rounds and plans are chance there, so one draw says nothing.
#[test]
#[ignore = "needs images, and minutes"]
fn nightly_ten_draws_beside_wifi_arrive_and_agree_on_average() {
    let draws = draw(&beside_wifi(), 1..=10);
    assert!(off_by_all(&draws, |run| run.joules) < 0.05);
    assert!(off_by_all(&draws, |run| run.frames as f64) < 0.05);
    assert!(off_by_all(&draws, |run| run.goodput_kbps) < 0.2);
}

#[test]
#[ignore = "needs images"]
fn equal_frames_begin_together_with_crystals_20_ppm_apart() {
    let perturbation = Perturbation {
        crystals_off_ppb: Some(10_000),
        ..Perturbation::NONE
    };
    let mut frames = Vec::new();
    let run = emulated(&motes20(), (1, perturbation), TURN, Some(&mut frames));
    assert!(run.is_whole);
    let slots = slots(frames);
    let is_train = |slot: &Slot| slot.mpdu.len() == TRAIN;
    spread(
        "answers to one frame",
        200,
        slots.iter().filter(|slot| slot.answers),
    );
    // Each hop adds a tick of the timer, and senders at both sides of a listener are up to 40 m apart.
    spread("floods", 300, slots.iter().filter(|slot| !is_train(slot)));
    spread("trains", 500, slots.iter().filter(|slot| is_train(slot)));
}

/// The spread of `slots` is below `most` nanoseconds at the 99th percentile of all who hear them.
fn spread<'a>(what: &str, most: u64, slots: impl Iterator<Item = &'a Slot>) {
    let mut spreads: Vec<u64> = slots.flat_map(|slot| heard(&slot.sent)).collect();
    spreads.sort_unstable();
    let of = |share: f64| spreads[((spreads.len() - 1) as f64 * share) as usize];
    let (count, median, p99, last) = (spreads.len(), of(0.5), of(0.99), of(1.0));
    println!("{what}: {count} heard, median {median} ns, p99 {p99}, most {last}");
    assert!(p99 < most, "{what}: {p99} ns");
}

/// Equal frames that began on one channel within 100 us.
struct Slot {
    channel: Channel,
    mpdu: Vec<u8>,
    /// When, in nanoseconds, and by which mote.
    sent: Vec<(u64, usize)>,
    /// The frame before them on the channel, not more than 5 ms ago, had one sender.
    answers: bool,
}

fn slots(frames: Vec<SentFrame>) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    for frame in frames {
        let at = frame.at.as_nanos();
        let since = |slot: &Slot| at - slot.sent[0].0;
        let last = slots
            .iter_mut()
            .rev()
            .take_while(|slot| since(slot) < 5_000_000);
        let mut last = last.filter(|slot| slot.channel == frame.channel);
        match last.next() {
            Some(slot) if since(slot) < 100_000 && slot.mpdu == frame.mpdu => {
                slot.sent.push((at, frame.from));
            }
            before => {
                let answers = before.is_some_and(|slot| slot.sent.len() == 1);
                slots.push(Slot {
                    channel: frame.channel,
                    mpdu: frame.mpdu,
                    sent: vec![(at, frame.from)],
                    answers,
                });
            }
        }
    }
    slots
}

/// The spread of what was sent together, in nanoseconds, for each mote that listens and has two senders within two pairs of
/// the corridor, which is as far as motes hear each other.
fn heard(sent: &[(u64, usize)]) -> impl Iterator<Item = u64> + '_ {
    let listens = |mote: &usize| sent.iter().all(|(_, from)| from != mote);
    (0..20).filter(listens).filter_map(|mote| {
        let near = sent
            .iter()
            .filter(move |(_, from)| (from / 2).abs_diff(mote / 2) <= 2);
        let times: Vec<u64> = near.map(|(at, _)| *at).collect();
        (times.len() > 1)
            .then(|| times.iter().max().unwrap_or(&0) - times.iter().min().unwrap_or(&0))
    })
}

#[test]
#[ignore = "needs images, and a minute"]
fn nightly_a_slow_host_gets_all() {
    for turn_ms in [1, 5, 10, 20, 50, 100, 200] {
        let turn = Duration::from_millis(turn_ms);
        let run = emulated(&motes20(), (1, Perturbation::NONE), turn, None);
        println!(
            "a look at the line each {turn_ms} ms: {:.1} kbit/s",
            run.goodput_kbps
        );
        assert!(run.is_whole);
    }
}
