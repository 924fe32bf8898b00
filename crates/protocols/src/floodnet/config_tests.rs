//! Tests of `config.rs`.

use super::*;
use thalweg_engine::{Costs, Software};

const US: fn(u64) -> Duration = Duration::from_micros;

#[test]
fn slots_are_as_long_as_copies_take_and_p3s_own_where_those_overlap() {
    let copying = BoardTiming {
        load_byte: Duration::from_micros(17),
        software: Software::Serial(Costs {
            strobe: US(97),
            read_byte: US(28),
            os: US(483),
            ..Costs::NOTHING
        }),
        ..BoardTiming::IDEAL
    };
    let (default, ms) = (Config::default(), Duration::from_millis);
    assert_eq!(default.on(&BoardTiming::IDEAL), default);
    // A frame of 40 bytes: air, read, system, write, strobe, turnaround and guard, eleven times.
    let slot = US(1536 + 1120 + 483 + 680 + 97 + 192 + 16);
    assert_eq!(default.on(&copying).control, ms(46));
    assert!(slot * 11 <= ms(46) && slot * 11 > ms(45));
    // Asked for 483 + 2125 + 97 + 192 + 160 + 16 us ahead; heard 4256 + 3500 + 483 us after.
    assert_eq!(super::super::lead(&copying), US(3073));
    assert_eq!(beacon_interval(ms(10), 125, &copying), ms(17));
    assert_eq!(beacon_interval(ms(20), 125, &copying), ms(20));
    assert_eq!(beacon_interval(ms(10), 125, &BoardTiming::IDEAL), ms(10));
}
