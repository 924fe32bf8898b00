//! Tests of `table.rs`.

use super::*;
use std::vec::Vec;
use thalweg_units::{ChannelSet, NodeId};
use thalweg_wire::flood::Campaign;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn parameters() -> Parameters {
    Parameters {
        campaign: Campaign::new(2),
        first: NodeId::new(0).unwrap(),
        span: 2,
        slots: 3,
        channels: ChannelSet::EMPTY.with(Channel::FIRST).with(Channel::LAST),
        sweeps: 2,
        slot: MS(2),
        pause: MS(50),
        report: MS(20),
        reports: Reports::Flooded,
        report_bytes: 60,
        floor: -86,
    }
}

fn steps(mut sweeping: Sweeping) -> Vec<(Instant, Step)> {
    let mut steps = Vec::new();
    while let Some((due, _)) = sweeping.peek() {
        assert_eq!(
            sweeping.step(due.saturating_sub(Duration::from_nanos(1))),
            None
        );
        steps.push((due, sweeping.step(due).unwrap()));
    }
    assert!(sweeping.is_done());
    steps
}

#[test]
fn every_beacon_falls_into_its_slot_on_the_channel_that_is_listened_to() {
    let (begin, lead) = (Instant::from_nanos(5_000_000_000), MS(1));
    let all: Vec<_> = (0..3)
        .map(|slot| steps(Sweeping::new(parameters(), begin, Some(slot), lead)))
        .collect();
    let mut sent = Vec::new();
    for (slot, mine) in all.iter().enumerate() {
        assert_eq!(mine.len(), 4 * 2 + 2);
        let report = begin + MS(4 * 8 + 50 + 4 + 20 * slot as u64);
        assert_eq!(mine.last().unwrap().1, Step::Report(report));
        for (number, (due, step)) in mine.iter().enumerate() {
            let Step::Beacon { sfd, channel, .. } = step else {
                continue;
            };
            assert_eq!(*due, sfd.saturating_sub(lead));
            assert_eq!(mine[number - 1].1, Step::Tune(*channel));
            let end =
                sfd.saturating_sub(phy::SFD_OFFSET) + phy::air_time(usize::from(BEACON_BYTES));
            assert!(mine[number + 1].0 > end, "the next step cuts it off");
            let start = sfd.saturating_sub(phy::SFD_OFFSET);
            let tuned = mine[number - 1].0;
            assert!(
                start >= tuned + parameters().slot,
                "no time to change the channel"
            );
            sent.push((start, end));
        }
    }
    sent.sort();
    let apart = |w: &[(Instant, Instant)]| w[1].0.since(w[0].1) >= Duration::from_micros(700);
    assert!(sent.len() == 12 && sent.windows(2).all(apart));
}

#[test]
fn who_has_no_slot_listens_all_the_time_and_reports_nothing() {
    let begin = Instant::from_nanos(5_000_000_000);
    let steps = steps(Sweeping::new(parameters(), begin, None, MS(1)));
    let channels: Vec<_> = steps.iter().map(|(_, step)| *step).collect();
    let (first, last) = (Step::Tune(Channel::FIRST), Step::Tune(Channel::LAST));
    assert_eq!(channels, [first, last, first, last, Step::Return]);
    assert_eq!(steps[2].0, begin + MS(2 * 8 + 50));
}

#[test]
fn a_beacon_tells_the_time() {
    let begin = Instant::from_nanos(5_000_000_000);
    let sfd = begin + offset(&parameters(), 1, 0);
    let from = NodeId::new(0).unwrap();
    let beacon = Beacon {
        from,
        parameters: parameters(),
        stretch: 1,
        slot: 0,
    };
    let joined = steps(Sweeping::joined(&beacon, sfd, Some(2), MS(1)));
    let whole = steps(Sweeping::new(parameters(), begin, Some(2), MS(1)));
    assert_eq!(joined, whole[2..]);
}
