//! Tests of `object.rs`.

extern crate std;

use super::*;
use crate::seal::testing::hex;
use crate::seal::{Block, SoftwareAes};
use proptest::prelude::*;
use std::collections::HashMap;
use std::vec::Vec;

fn keys() -> ObjectKeys {
    ObjectKeys {
        stream: Key::new([1; 16]),
        tag: Key::new([2; 16]),
    }
}

/// A cipher whose blocks are the counters of SP 800-38A, whatever is asked: the key stream is known then.
struct Standard(SoftwareAes, u128);

impl Cipher for Standard {
    fn block(&mut self, key: &Key, block: &mut Block) {
        *block = self.1.to_be_bytes();
        self.1 = self.1.wrapping_add(1);
        self.0.block(key, block);
    }
}

/// SP 800-38A, F.5.1: CTR-AES128.Encrypt.
#[test]
fn the_key_stream_is_used_as_in_the_standard() {
    let mut keys = keys();
    keys.stream = Key::new(hex("2b7e151628aed2a6abf7158809cf4f3c"));
    let first = u128::from_be_bytes(hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"));
    let mut bytes: [u8; 64] = hex(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
         30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
    );
    let mut cipher = Standard(SoftwareAes::default(), first);
    keys.apply(&mut cipher, &[0; 8], 0, &mut bytes);
    let sealed = hex(
        "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff\
         5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
    );
    assert_eq!(bytes, sealed);
}

/// One object, sealed by another implementation of AES: Python's `cryptography` 48.
#[test]
fn another_implementation_seals_the_same() {
    let (keys, aes) = (keys(), &mut SoftwareAes::default());
    let mut bytes = *b"vibration record of pier 7";
    let tag = keys.tag(aes, &bytes);
    keys.apply(aes, &tag, 0, &mut bytes);
    assert_eq!(tag, hex::<8>("01e392451c62196b"));
    assert_eq!(
        bytes,
        hex::<26>("c584fd866f9ebc8b14fcb28d1bcd1b16cb509bd8d37b9f9656b8")
    );
}

/// Notes each block of the key stream with what it was used for.
#[derive(Default)]
struct Log {
    aes: SoftwareAes,
    asked: Vec<Block>,
}

impl Cipher for Log {
    fn block(&mut self, key: &Key, block: &mut Block) {
        if *key == keys().stream {
            self.asked.push(*block);
        }
        self.aes.block(key, block);
    }
}

proptest! {
    #[test]
    fn any_part_in_any_pieces_is_the_same_part_of_the_whole(
        object in prop::collection::vec(any::<u8>(), 1..600),
        payload in 1..122usize,
        from in 0..600usize,
    ) {
        let (keys, aes) = (keys(), &mut SoftwareAes::default());
        let tag = keys.tag(aes, &object);
        let mut sealed = object.clone();
        keys.apply(aes, &tag, 0, &mut sealed);
        let from = from.min(object.len());
        let mut part = sealed[from..].to_vec();
        let mut at = from;
        for piece in part.chunks_mut(payload) {
            keys.apply(aes, &tag, at as u32, piece);
            at += piece.len();
        }
        prop_assert_eq!(&part, &object[from..]);
        prop_assert!(keys.is_whole(aes, &tag, &object));
        let mut flipped = object.clone();
        flipped[from % object.len()] ^= 1;
        prop_assert!(!keys.is_whole(aes, &tag, &flipped));
        prop_assert!(!keys.is_whole(aes, &tag, &object[1..]));
    }

    /// Through objects, parts, payloads and repeats, one block of the key stream meets one plaintext.
    #[test]
    fn no_block_of_the_key_stream_meets_two_plaintexts(
        objects in prop::collection::vec(prop::collection::vec(0..3u8, 1..100), 1..12),
        cuts in prop::collection::vec(1..50usize, 1..4),
    ) {
        let (keys, mut log) = (keys(), Log::default());
        let mut used: HashMap<Block, Vec<u8>> = HashMap::new();
        for (object, cut) in objects.iter().flat_map(|o| cuts.iter().map(move |c| (o, *c))) {
            let tag = keys.tag(&mut log, object);
            let mut at = 0;
            for piece in object.chunks(cut) {
                log.asked.clear();
                keys.apply(&mut log, &tag, at as u32, &mut piece.to_vec());
                for (i, block) in log.asked.iter().enumerate() {
                    let first = (at / 16 + i) * 16;
                    let plain = &object[first..object.len().min(first + 16)];
                    let before = used.entry(*block).or_insert_with(|| plain.to_vec());
                    prop_assert_eq!(&before[..], plain);
                }
                at += piece.len();
            }
        }
    }
}
