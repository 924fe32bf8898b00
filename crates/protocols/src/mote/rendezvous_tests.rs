//! Tests of `rendezvous.rs`.

use super::*;
use crate::thalweg::Early;

const MS: fn(u64) -> Duration = Duration::from_millis;
const FIRST: Instant = Instant::from_nanos(123_456_789);
const EARLY_ONES: Early = Early {
    first: Duration::from_micros(141_234),
    each: Duration::from_micros(97_123),
};

fn times(phase: u8) -> RendezvousTimes {
    let follow_ups = FollowUps {
        early: Some(EARLY_ONES),
        late: Some(Duration::from_micros(2_341_567)),
    };
    let phase = Phase::new(phase).unwrap();
    RendezvousTimes::new(FIRST, phase, FIRST + MS(31), Some(follow_ups))
}
const LISTENING: Listening = Listening {
    whole: LISTEN,
    near: Duration::from_millis(17),
};
fn schedule(deadline: Duration) -> Schedule {
    Schedule::new(times(0), FIRST + deadline, None)
}

#[test]
fn regular_rendezvous_are_whole_periods_apart_and_never_before_now() {
    let schedule = schedule(MS(10_000));
    for us in (0..12_000_000).step_by(3_331) {
        let now = FIRST + Duration::from_micros(us);
        let at = schedule.rendezvous_after(now, Which::Regular);
        assert!(at >= now && at.since(now) <= PERIOD);
        if now < schedule.until {
            assert_eq!(at.since(FIRST).as_nanos() % PERIOD.as_nanos(), 0);
        }
        let any = schedule.rendezvous_after(now, Which::All);
        assert!(any >= now && any <= at);
    }
}

#[test]
fn an_order_waits_little_where_something_may_have_to_follow() {
    let schedule = schedule(MS(10_000));
    let wait = |after: u64| {
        let now = FIRST + Duration::from_micros(after);
        schedule.rendezvous_after(now, Which::All).since(now)
    };
    for looks in 0..EARLY {
        let over = 31_000 + 141_234 + looks * 97_123;
        assert!(wait(over) <= EARLY_ONES.each && wait(over + looks * 877) <= Phase::STEP);
    }
    assert!(wait(31_000 + 2_341_567) <= Phase::STEP);
    for later in (0..400_000).step_by(7_001) {
        assert!(wait(2_372_567 + later) <= CLOSE, "{later} us");
    }
    assert!(wait(1_001_000) > CLOSE);
}

#[test]
fn a_node_that_may_have_missed_another_path_listens_through_the_early_stretch() {
    let schedule = schedule(MS(10_000));
    let (first, apart) = schedule.times.early.unwrap();
    let apart = Phase::STEP * u64::from(apart.get());
    let last = schedule.times.at(first) + apart * (EARLY - 1);
    let end = last + LISTENING.near;
    let missed = schedule.times.at(first) + MS(1);
    for now in [missed, last, end.saturating_sub(MS(1))] {
        assert_eq!(schedule.begins_again_by(now, LISTENING), Some(end));
    }
    assert_eq!(schedule.begins_again_by(end, LISTENING), None);
    assert_eq!(schedule.begins_again_by(FIRST, LISTENING), None);
    assert_eq!(
        schedule.begun_well().begins_again_by(missed, LISTENING),
        None
    );
}

#[test]
fn of_a_long_transfer_that_burst_after_burst_prolongs_the_end_meets_soon() {
    let late = Duration::from_secs(68);
    let follow_ups = FollowUps {
        early: None,
        late: Some(late),
    };
    let times = RendezvousTimes::new(FIRST, Phase::REGULAR, FIRST, Some(follow_ups));
    let schedule = Schedule::new(times, FIRST + MS(600_000), None);
    for later in (0..late.as_nanos() / LONGER).step_by(7_000_001) {
        let now = FIRST + late + Duration::from_nanos(later);
        assert!(schedule.rendezvous_after(now, Which::All).since(now) <= CLOSE);
    }
}

#[test]
fn whatever_the_clocks_do_a_rendezvous_lies_in_a_window() {
    let schedule = schedule(Duration::from_secs(600));
    let regular = (1..1_200).map(|k| FIRST + PERIOD * k);
    let (first, apart) = schedule.times.early.unwrap();
    let apart = Phase::STEP * u64::from(apart.get());
    let early = (0..EARLY).map(|k| schedule.times.at(first) + apart * k);
    let late = (0..LATE).map(|k| schedule.times.at(schedule.times.late.unwrap()) + CLOSE * k);
    for expected in regular.chain(early).chain(late) {
        for ppm in [-80_i64, -13, 0, 80] {
            // The sink's rendezvous by a clock that runs so much faster.
            let since = expected.since(FIRST).as_nanos() as i64;
            let at = FIRST + Duration::from_nanos((since + since * ppm / 1_000_000) as u64);
            for before in [1, 30, 300] {
                let mut now = at.saturating_sub(MS(before)).max(FIRST + MS(1));
                // Windows follow one another without a gap where they meet.
                let mut opened = None;
                loop {
                    let Some((opens, closes)) = schedule.window_after(now, LISTENING) else {
                        assert!(at + MS(400) > schedule.until);
                        break;
                    };
                    assert!(closes.since(opens) < MS(170) && closes > now);
                    opened = opened.filter(|_| opens <= now).or(Some(opens.max(now)));
                    now = closes;
                    let is_whole =
                        expected.since(FIRST).as_nanos() % (PERIOD * WHOLE).as_nanos() == 0;
                    let heard = if is_whole { MS(45) } else { LISTENING.near };
                    if closes >= at + heard {
                        assert!(opened <= Some(at), "{expected:?}, {ppm} ppm, {before} ms");
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn a_window_that_is_open_is_not_left_out() {
    let schedule = schedule(MS(10_000));
    let rendezvous = FIRST + PERIOD * 4;
    let (opens, closes) = schedule
        .window_after(rendezvous + MS(10), LISTENING)
        .unwrap();
    assert!(opens < rendezvous && closes > rendezvous + MS(10));
    let (opens, _) = schedule.window_after(closes, LISTENING).unwrap();
    assert!(opens > closes);
}

#[test]
fn the_next_grid_is_in_step_wherever_it_begins_and_does_not_end_before_the_last() {
    let old = schedule(MS(10_000));
    for after in [234, 2_380, 2_500, 2_777] {
        let first = old.rendezvous_after(FIRST + MS(after), Which::All);
        let (phase, until) = (old.phase_at(first), first + MS(1_000));
        let times = RendezvousTimes::new(first, phase, first + MS(31), None);
        let new = Schedule::new(times, until, Some(old));
        assert_eq!(new.until, old.until);
        let late = first + MS(4_321);
        let of = |schedule: &Schedule| schedule.rendezvous_after(late, Which::Regular);
        assert_eq!(of(&new), of(&old), "{after} ms");
    }
    assert_eq!(old.phase_at(old.until), Phase::REGULAR);
}

#[test]
fn whichever_segment_a_node_heard_it_knows_the_same_rendezvous() {
    for late in (0..1_000).step_by(37) {
        // The later segment's time is off by up to half a millisecond.
        let start = FIRST + MS(30) + Duration::from_micros(501 + late % 998);
        let follow_ups = FollowUps {
            early: Some(EARLY_ONES),
            late: None,
        };
        let heard = RendezvousTimes::new(FIRST, Phase::REGULAR, start, Some(follow_ups));
        let other = RendezvousTimes::new(FIRST, Phase::REGULAR, FIRST + MS(31), Some(follow_ups));
        assert_eq!(heard, other);
    }
}

#[test]
fn a_grid_without_end_has_windows_that_meet() {
    let times = RendezvousTimes::new(Instant::ZERO, Phase::REGULAR, Instant::ZERO, None);
    let schedule = Schedule::new(times, Instant::MAX, None);
    let late = Instant::ZERO + Duration::from_secs(100_000);
    let (opens, closes) = schedule.window_after(late, LISTENING).unwrap();
    assert!(opens <= late && closes > late);
    assert!(schedule.window_after(Instant::MAX, LISTENING).is_none());
}
