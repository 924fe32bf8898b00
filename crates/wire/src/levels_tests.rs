//! Tests of `levels.rs`.

use super::*;
use crate::flood::MAX_CONTENT;
use crate::sweep::tests::parameters;
use crate::FrameBuf;
use proptest::prelude::*;
extern crate std;
use std::vec::Vec;
use thalweg_units::ChannelSet;

fn cell() -> impl Strategy<Value = Option<Cell>> {
    prop::option::of((1u8..=15, any::<i8>()).prop_map(|(received, rssi)| Cell { received, rssi }))
}

proptest! {
    #[test]
    fn a_report_comes_back_but_for_the_step(
        parameters in parameters(),
        rows in prop::collection::vec((any::<u16>(), prop::array::uniform16(cell())), 0..12),
        health in crate::report::tests::health(),
    ) {
        let parameters = Parameters { report_bytes: MAX_CONTENT as u8, floor: parameters.floor.max(-100), ..parameters };
        let rows = rows.into_iter().map(|(place, cells)| Row {
            neighbour: NodeId::new(parameters.first.get() + place % (parameters.span + 1)).unwrap(),
            cells,
        });
        let rows: Vec<Row> = rows.take(most_rows(&parameters, &health)).collect();
        let head = Levels { campaign: parameters.campaign, rows: rows.len() as u8, battery: health.battery };
        let content = FrameBuf::build(|w| head.emit(&parameters, (rows.iter().copied(), health.restarts), w)).unwrap();
        let bytes = (row_bits(&parameters) * rows.len()).div_ceil(8);
        prop_assert_eq!(content.len(), Levels::BYTES + health.bytes() + bytes);
        let mut r = Reader::new(&content);
        prop_assert_eq!(Levels::parse(&mut r), Ok(head));
        let restarts = head.restarts(&parameters, r.clone().rest());
        prop_assert_eq!(restarts, Ok(health.restarts));
        for (number, row) in (0u8..).zip(&rows) {
            let back = Levels::row(number, &parameters, r.clone().rest()).unwrap();
            prop_assert_eq!(back.neighbour, row.neighbour);
            for channel in Channel::all() {
                let (was, is) = (row.cells[channel.index()], back.cells[channel.index()]);
                let lowest = i16::from(parameters.floor) - BELOW_FLOOR_DB;
                let told = was.filter(|was| {
                    parameters.channels.contains(channel) && i16::from(was.rssi) >= lowest
                });
                let told = told.map(|was| (was.received.min(parameters.sweeps), was.rssi));
                match (told, is) {
                    (None, None) => {}
                    (Some((received, rssi)), Some(is)) => {
                        prop_assert_eq!(received, is.received);
                        let top = lowest + MAX_LEVEL * STEP_DB - 1;
                        let off = i16::from(rssi).min(top) - i16::from(is.rssi);
                        prop_assert!(off.abs() <= STEP_DB / 2, "{} dB off", off);
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }
        let beyond = Levels::row(rows.len() as u8 + 1, &parameters, r.rest());
        prop_assert_eq!(beyond, Err(WireError::Truncated));
    }

    #[test]
    fn any_bytes_are_read_without_panic(
        parameters in parameters(), number: u8, bytes in prop::collection::vec(any::<u8>(), 0..=130),
    ) {
        let _ = Levels::parse(&mut Reader::new(&bytes));
        if let Ok(row) = Levels::row(number, &parameters, &bytes) {
            prop_assert!(row.cells.iter().flatten().all(|c| (1..=parameters.sweeps).contains(&c.received)));
        }
    }
}

#[test]
fn sixteen_neighbours_on_four_channels_take_58_bytes() {
    let id = |n| NodeId::new(n).unwrap();
    let parameters = Parameters {
        campaign: Campaign::new(3),
        first: id(1),
        span: 138,
        slots: 139,
        channels: ChannelSet::from_bits(0b1111),
        sweeps: 2,
        slot: crate::beacon::TIME_STEP,
        pause: crate::beacon::TIME_STEP,
        report: crate::beacon::TIME_STEP,
        reports: crate::sweep::Reports::Flooded,
        report_bytes: 58,
        floor: -86,
    };
    assert_eq!(
        (
            row_bits(&parameters),
            most_rows(&parameters, &Health::UNTOLD)
        ),
        (28, 16)
    );
    let battery = Some(BatteryLevel::LOWEST);
    let told = Health {
        battery,
        ..Health::UNTOLD
    };
    assert_eq!(most_rows(&parameters, &told), 15);
    let stranger = Row {
        neighbour: id(0),
        cells: [None; Channel::COUNT],
    };
    let head = Levels {
        campaign: parameters.campaign,
        rows: 1,
        battery: None,
    };
    let build =
        |rows: &[Row]| FrameBuf::build(|w| head.emit(&parameters, (rows.iter().copied(), None), w));
    assert_eq!(build(&[stranger]), Err(WireError::Malformed));
    assert_eq!(build(&[]), Err(WireError::Malformed));
}

#[test]
fn reports_that_are_none_are_refused() {
    let parameters = crate::sweep::tests::four_channels();
    let head = |rows, battery| Levels {
        campaign: parameters.campaign,
        rows,
        battery,
    };
    // Behind one row of four bytes: nothing, a count of restarts, none, or too much.
    let one = head(1, None);
    let restarts = |rows: &[u8]| one.restarts(&parameters, rows);
    let (none, bad) = (Ok(None), Err(WireError::Malformed));
    assert_eq!((restarts(&[0; 4]), restarts(&[0; 3])), (none, none));
    assert_eq!(restarts(&[0, 0, 0, 0, 1]), Ok(Restarts::of_code(1)));
    assert_eq!(restarts(&[0, 0, 0, 0, 0x20]), bad);
    assert_eq!(restarts(&[0, 0, 0, 0, 1, 1]), bad);
    let parse = |bytes: &[u8]| Levels::parse(&mut Reader::new(bytes));
    assert_eq!(parse(&[0x15, 1]), Ok(one));
    assert_eq!(parse(&[0x13, 1]), Err(WireError::Malformed));
    assert_eq!(parse(&[0x15, 0x81]), Err(WireError::Truncated));
    let row = |place: u8, parameters: &Parameters| {
        Levels::row(0, parameters, &[place, 0, 0, 0]).map(|row| row.neighbour.get())
    };
    assert_eq!(row(5, &parameters), Ok(6));
    let first = NodeId::MAX;
    let high = Parameters {
        first,
        ..parameters
    };
    assert_eq!(row(0, &high), Ok(NodeId::MAX.get()));
    assert_eq!(row(1, &high), Err(WireError::Malformed));
    let build = |rows, neighbour| {
        let cells = [None; Channel::COUNT];
        let neighbour = NodeId::new(neighbour).unwrap();
        let all = core::iter::repeat_n(Row { neighbour, cells }, usize::from(rows));
        let mut room = [0; 600];
        let w = &mut Writer::new(&mut room);
        head(rows, None).emit(&parameters, (all, None), w)
    };
    assert_eq!((build(127, 139), build(1, 1)), (Ok(()), Ok(())));
    assert_eq!(build(1, 140), Err(WireError::Malformed), "it has no slot");
    assert_eq!(build(128, 1), Err(WireError::Malformed));
}
