//! Tests of `report.rs`.

use super::*;
use crate::FrameBuf;
use proptest::prelude::*;

pub(crate) fn health() -> impl Strategy<Value = Health> {
    let (level, restarts) = (prop::option::of(any::<u8>()), any::<u8>());
    (level, restarts).prop_map(|(level, restarts)| Health {
        battery: level.map(BatteryLevel::of_code),
        restarts: Restarts::of_code(restarts),
    })
}

fn heard() -> impl Strategy<Value = Option<Received>> {
    prop::option::of((1u8.., any::<i8>()).prop_map(|(received, rssi)| Received { received, rssi }))
}

proptest! {
    #[test]
    fn a_schedule_round_trips(
        campaign: u8, first: u16, slot: u16, floor: u8,
        id in 0..=NodeId::MAX.get(), frame: u8, count: u8,
    ) {
        let schedule = Schedule {
            campaign: Campaign::new(campaign),
            first: TIME_STEP * u64::from(first),
            slot: TIME_STEP * u64::from(slot),
            floor,
        };
        let one = Assignment { node: NodeId::new(id).unwrap(), first: frame, count };
        let content = FrameBuf::build(|w| {
            schedule.emit(w)?;
            one.emit(w)
        }).unwrap();
        prop_assert_eq!(content.len(), Schedule::BYTES + Assignment::BYTES);
        let mut r = Reader::new(&content);
        prop_assert_eq!(Schedule::parse(&mut r), Ok(schedule));
        prop_assert_eq!(Assignment::parse(&mut r), Ok(one));
    }

    #[test]
    fn a_report_round_trips(
        campaign: u8, frame in 0u8..127, more in 1u8..=127, health in health(),
        id in 0..=NodeId::MAX.get(), cells in prop::array::uniform16(heard()),
    ) {
        let campaign = Campaign::new(campaign);
        let report = Report { campaign, frame, frames: (frame + more).min(127), health };
        let row = Row { neighbour: NodeId::new(id).unwrap(), heard: cells };
        let content = FrameBuf::build(|w| {
            report.emit(w)?;
            row.emit(w)
        }).unwrap();
        prop_assert_eq!(content.len(), Report::BYTES + health.bytes() + row.bytes());
        let mut r = Reader::new(&content);
        prop_assert_eq!(Report::parse(&mut r), Ok(report));
        prop_assert_eq!(Row::parse(&mut r), Ok(row));
        prop_assert_eq!(r.remaining(), 0);
    }

    #[test]
    fn any_bytes_are_parsed_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..=130),
    ) {
        let _ = Schedule::parse(&mut Reader::new(&bytes));
        let _ = Assignment::parse(&mut Reader::new(&bytes));
        let _ = Report::parse(&mut Reader::new(&bytes));
        let _ = Row::parse(&mut Reader::new(&bytes));
    }
}

#[test]
fn reports_and_schedules_that_are_none_are_refused() {
    let parse = |bytes: &[u8]| Report::parse(&mut Reader::new(bytes)).map(|report| report.frame);
    assert_eq!(parse(&[0x33, 1, 2]), Ok(1));
    for (bad, why) in [
        (&[0x34, 1, 2][..], "another kind"),
        (&[0x33, 2, 2], "a frame beyond the last"),
        (&[0x33, 0, 0], "no frame"),
        (&[0x33, 0x81, 2, 0x40], "restarts that are none"),
    ] {
        assert_eq!(parse(bad), Err(WireError::Malformed), "{why}");
    }
    for short in [&[0x33, 1][..], &[0x33, 1, 0x82], &[0x33, 0x81, 2]] {
        assert_eq!(parse(short), Err(WireError::Truncated), "{short:?}");
    }
    let emit = |frame, frames| {
        let (campaign, health) = (Campaign::new(3), Health::UNTOLD);
        let report = Report {
            campaign,
            frame,
            frames,
            health,
        };
        FrameBuf::build(|w| report.emit(w)).map(drop)
    };
    assert_eq!(emit(126, 127), Ok(()));
    for (frame, frames) in [(2, 2), (0, 0), (0, 128), (127, 128)] {
        assert_eq!(
            emit(frame, frames),
            Err(WireError::Malformed),
            "{frame} {frames}"
        );
    }
    let schedule = |bytes: &[u8]| Schedule::parse(&mut Reader::new(bytes)).map(|s| s.floor);
    assert_eq!(schedule(&[0x32, 0, 0, 0, 0, 7]), Ok(7));
    assert_eq!(schedule(&[0x33, 0, 0, 0, 0, 7]), Err(WireError::Malformed));
    let row = |bytes: &[u8]| Row::parse(&mut Reader::new(bytes)).map(|row| row.bytes());
    assert_eq!(row(&[9, 0, 1, 0x80, 3, 200, 4, 201]), Ok(8));
    assert_eq!(row(&[9, 0, 1, 0x80, 3, 200, 4]), Err(WireError::Truncated));
    assert_eq!(
        row(&[0xff, 0xff, 0, 0]),
        Err(WireError::Malformed),
        "no node"
    );
}
