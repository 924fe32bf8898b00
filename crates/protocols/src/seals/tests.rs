//! Tests of `mod.rs`.

extern crate std;

use super::*;
use std::format;
use std::vec::Vec;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::seal::{MasterKey, SoftwareAes};

type Node = Seals<SoftwareAes>;

fn group(of: u8) -> GroupKeys {
    MasterKey::new(Key::new([of; 16])).group(&mut SoftwareAes::default(), 0)
}
fn node() -> Node {
    Seals::new(SoftwareAes::default(), group(1), Kept::default())
}
fn id(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}
/// Sealed floods of `station` with the numbers from `from` on.
fn floods(station: u16, from: u32, count: u16) -> Vec<FrameBuf> {
    let mut seals = node();
    seals.grant(from, count);
    let all = (0..count).map(|_| seals.seal_flood(id(station), b"\x00order"));
    all.map(|sealed| sealed.unwrap().unwrap()).collect()
}

#[test]
fn a_flood_is_obeyed_once_and_none_before_it() {
    let (mut node, sent) = (node(), floods(1, 100, 3));
    assert!(node.obeys(id(1), &sent[1]));
    for old in [&sent[1], &sent[0]] {
        assert!(!node.obeys(id(1), old), "not again, nor one before");
    }
    assert!(node.obeys(id(1), &sent[2]));
    assert!(!node.obeys(id(2), &floods(1, 200, 1)[0]), "of another node");
    let stranger = &mut Seals::new(SoftwareAes::default(), group(2), Kept::default());
    assert!(
        !stranger.obeys(id(1), &floods(1, 300, 1)[0]),
        "of another network"
    );
}

#[test]
fn a_restart_lets_no_old_flood_in() {
    for before in 0..3 * AHEAD {
        let sent = floods(1, 1, (3 * AHEAD + 2) as u16);
        let mut node = node();
        for flood in &sent[..=before as usize] {
            assert!(node.obeys(id(1), flood));
        }
        let mut again = Seals::new(SoftwareAes::default(), group(1), node.kept());
        for flood in &sent[..=before as usize] {
            assert!(!again.obeys(id(1), flood), "after {before}");
        }
        let far = floods(1, before + 2 + AHEAD, 1);
        assert!(again.obeys(id(1), &far[0]), "after {before}");
    }
}

/// Flash that takes no more: what is not kept is not acted on.
#[derive(Default)]
struct Full(SoftwareAes);

impl thalweg_wire::seal::Cipher for Full {
    fn block(&mut self, key: &Key, block: &mut thalweg_wire::seal::Block) {
        self.0.block(key, block);
    }
}
impl Hardware for Full {
    const MIC_SYMBOLS: u8 = 0;

    fn keep(&mut self, _station: NodeId, number: u32) -> bool {
        number < 200
    }
}

#[test]
fn what_cannot_be_kept_is_not_acted_on() {
    let mut node = Seals::new(Full::default(), group(1), Kept::default());
    let ahead = 200 - AHEAD;
    let sent = floods(1, ahead - 1, AHEAD as u16 + 2);
    assert!(node.obeys(id(1), &sent[0]));
    // As far as was kept, and no farther.
    for flood in &sent[1..=AHEAD as usize] {
        assert!(node.obeys(id(1), flood));
    }
    assert!(!node.obeys(id(1), &sent[AHEAD as usize + 1]));
    let kept: Vec<_> = node.kept().numbers().collect();
    assert_eq!(kept, [(id(1), 199)]);
    assert_eq!(Kept::of(kept), node.kept());
}

#[test]
fn so_many_stations_are_obeyed_and_no_more() {
    let mut node = node();
    for station in 1..=STATIONS as u16 {
        assert!(node.obeys(id(station), &floods(station, 7, 1)[0]));
    }
    let one_more = STATIONS as u16 + 1;
    assert!(!node.obeys(id(one_more), &floods(one_more, 9, 1)[0]));
    assert!(
        !node.obeys(id(1), &floods(1, 7, 1)[0]),
        "none is forgotten for it"
    );
    assert!(node.obeys(id(1), &floods(1, 8, 1)[0]));
}

#[test]
fn numbers_are_used_once_and_only_as_granted() {
    let mut seals = node();
    assert_eq!(seals.seal_flood(id(1), b"\x00order"), Ok(None));
    seals.grant(10, 2);
    assert_eq!(seals.seal_flood(id(1), &[0; 120]), Err(WireError::NoRoom));
    let mut used = Vec::new();
    for _ in 0..2 {
        seals.seal_flood(id(1), b"\x00order").unwrap().unwrap();
        used.push(seals.last);
    }
    assert_eq!(seals.seal_flood(id(1), b"\x00order"), Ok(None));
    // The same numbers again, and some that overlap.
    seals.grant(10, 2);
    assert_eq!(seals.seal_flood(id(1), b"\x00order"), Ok(None));
    seals.grant(11, 3);
    while let Ok(Some(_)) = seals.seal_flood(id(1), b"\x00order") {
        used.push(seals.last);
    }
    assert_eq!(used, [10, 11, 12, 13]);
    seals.grant(u32::MAX, 5);
    assert_eq!(
        seals.seal_flood(id(1), b"\x00order"),
        Ok(None),
        "numbers end"
    );
}

#[test]
fn both_ends_of_a_transfer_have_its_key_and_nobody_else() {
    let (mut sink, mut relay, mut other) = (node(), node(), node());
    sink.grant(50, 3);
    let wake_up: Vec<_> = (0..3)
        .map(|_| sink.seal_flood(id(1), b"\x00segment").unwrap().unwrap())
        .collect();
    sink.note_call(id(1), 2);
    // It heard the second segment, and then the first was of no use to it.
    assert!(relay.obeys(id(1), &wake_up[1]));
    relay.note_call(id(1), 1);
    assert_eq!(relay.called(), Some((id(1), 50)));
    for seals in [&mut sink, &mut relay] {
        let called = seals.called();
        seals.begin(called);
    }
    other.begin(Some((id(1), 51)));
    let nack = [0x05, 2, 0xa1, 0x80, 0, 0, 0, 0, 0, 1];
    let mic = sink.mic(&nack).unwrap();
    let mpdu: Vec<u8> = nack.into_iter().chain(mic).collect();
    assert_eq!(relay.opened(&mpdu), Some(&nack[..]));
    assert_eq!(other.opened(&mpdu), None);
    relay.begin(None);
    assert_eq!((relay.opened(&mpdu), relay.mic(&nack)), (None, None));
    assert!(!format!("{sink:?}").contains("Key(0"), "no key is shown");
}

#[test]
fn what_has_no_room_for_seals_pays_nothing() {
    assert_eq!(core::mem::size_of::<Unsealed>(), 0);
    assert!(Unsealed.seals().is_none());
    assert_eq!(None::<Node>.sealing(), Sealing::Open);
}
