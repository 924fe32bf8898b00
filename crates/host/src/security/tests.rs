//! Tests of `mod.rs`.

use super::*;
use thalweg_wire::route::{Channels, Route, Scheme};
use thalweg_wire::seal::Key;

fn id(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}
fn keys() -> NetworkKeys {
    NetworkKeys::new(MasterKey::new(Key::new([0xc3; 16])))
}

#[test]
fn a_revoked_mote_has_none_of_the_keys_in_use() {
    let before = keys();
    let after = before.revoked(id(7)).unwrap();
    assert_ne!(before.group(), after.group());
    assert_ne!(before.node(id(7)), after.node(id(7)));
    assert_eq!(before.node(id(8)), after.node(id(8)));
    let twice = after.revoked(id(7)).unwrap();
    assert_eq!((twice.epoch(), twice.generation(id(7))), (2, 2));
    let last = NetworkKeys::of(before.master().clone(), u32::MAX, BTreeMap::new());
    assert_eq!(last.revoked(id(7)), None);
    let last = NetworkKeys::of(before.master().clone(), 0, [(id(7), u8::MAX)].into());
    assert_eq!(last.revoked(id(7)), None);
    // 0xc3, decimal and hexadecimal.
    let shown = format!("{before:?}");
    assert!(!shown.contains("195") && !shown.contains("c3"), "{shown}");
}

#[test]
fn every_order_with_floods_has_numbers_of_its_own() {
    let security = Security {
        keys: Arc::new(keys()),
        numbers: Arc::new(MemoryNumbers::default()),
    };
    let channels = Channels::new(&[thalweg_units::Channel::LAST; 2]).unwrap();
    let fetch = Command::Fetch(Route::new(1, id(1), id(2), Scheme::Thalweg, channels));
    for n in 0..3 {
        let first = 1 + n * u32::from(NUMBERS);
        let granted = security.before(&fetch).unwrap();
        let (from, count) = (first, NUMBERS);
        assert_eq!(granted, Some(Command::Numbers { from, count }));
    }
    assert_eq!(security.before(&Command::Stop).unwrap(), None);
    let numbers = MemoryNumbers(AtomicU32::new(u32::MAX - 5));
    assert!(numbers.reserve(6).is_err());
    assert_eq!(numbers.reserve(5).unwrap(), u32::MAX - 4);
}
