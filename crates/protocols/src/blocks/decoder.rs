//! Undoing the code in blocks: the gateway's part. What is known of a block is taken out of its repair
//! symbols; what remains are as many equations as packets are missing. Tests: at the end of this file.

use super::{gf256, Blocks};
use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

/// The packets of all blocks one after the other, of `symbols` by number, all of one length; none where
/// a block has too few.
pub fn recover(blocks: &Blocks, symbols: &BTreeMap<u16, Vec<u8>>) -> Option<Vec<u8>> {
    let len = symbols.values().next().map_or(0, Vec::len);
    if len == 0 || symbols.values().any(|symbol| symbol.len() != len) {
        return (blocks.packets() == 0).then(Vec::new);
    }
    let mut bytes = vec![0; usize::from(blocks.packets()) * len];
    for block in 0..blocks.count() {
        for (row, packet) in (0u16..).zip(packets(blocks, block, symbols)?) {
            let from = usize::from(blocks.packet(block, row)) * len;
            bytes.get_mut(from..from + len)?.copy_from_slice(&packet);
        }
    }
    Some(bytes)
}

/// An equation over GF(256): coefficients of the packets that are missing, and a symbol.
type Equation = (Vec<u8>, Vec<u8>);

/// The packets of `block`.
fn packets(blocks: &Blocks, block: u16, symbols: &BTreeMap<u16, Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    let mut rows: Vec<Option<Vec<u8>>> = (0..blocks.size(block))
        .map(|row| symbols.get(&blocks.packet(block, row)).cloned())
        .collect();
    let missing: Vec<u16> = (0u16..)
        .zip(&rows)
        .filter_map(|(row, packet)| packet.is_none().then_some(row))
        .collect();
    let equations: Vec<Equation> = (0..blocks.repairs())
        .map(|row| blocks.repair(block, row))
        .filter_map(|number| Some((number, symbols.get(&number)?)))
        .take(missing.len())
        .map(|(number, symbol)| {
            let mut right = symbol.clone();
            for (row, packet) in (0u16..).zip(&rows) {
                let known = packet.as_deref().unwrap_or(&[]);
                gf256::add_scaled(&mut right, known, blocks.coefficient(number, row));
            }
            let of = |row: &u16| blocks.coefficient(number, *row);
            (missing.iter().map(of).collect(), right)
        })
        .collect();
    for (row, packet) in missing.iter().zip(solve(equations, missing.len())?) {
        rows[usize::from(*row)] = Some(packet);
    }
    rows.into_iter().collect()
}

/// What `unknowns` symbols `equations` have in common; none where they do not tell.
fn solve(mut equations: Vec<Equation>, unknowns: usize) -> Option<Vec<Vec<u8>>> {
    if equations.len() < unknowns {
        return None;
    }
    for at in 0..unknowns {
        let pivot = (at..equations.len()).find(|k| equations[*k].0[at] != 0)?;
        equations.swap(at, pivot);
        let (left, right) = &mut equations[at];
        let scale = gf256::inverse(left[at]);
        for byte in left.iter_mut().chain(right) {
            *byte = gf256::multiply(*byte, scale);
        }
        let one = equations[at].clone();
        for (k, (left, right)) in equations.iter_mut().enumerate() {
            if k != at {
                let factor = left[at];
                gf256::add_scaled(left, &one.0, factor);
                gf256::add_scaled(right, &one.1, factor);
            }
        }
    }
    Some(equations.into_iter().map(|(_, right)| right).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use thalweg_wire::route::BlockSymbols;

    fn packet(number: u16, into: &mut [u8]) {
        for (i, byte) in (0u16..).zip(into) {
            *byte = (number.wrapping_mul(31) ^ i.wrapping_mul(7 + number)) as u8;
        }
    }

    fn symbol(blocks: &Blocks, number: u16) -> Vec<u8> {
        let mut bytes = vec![0; 20];
        if number < blocks.packets() {
            packet(number, &mut bytes);
        } else {
            let mut made = [[0; 121]];
            blocks.encode(&[number], bytes.len(), packet, &mut made);
            bytes.copy_from_slice(&made[0][..20]);
        }
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn as_many_symbols_as_packets_always_do_and_one_fewer_never(
            packets in 1..300u16, most in 1..=128u8, seed: u64,
        ) {
            let blocks = Blocks::new(packets, BlockSymbols::new(most).unwrap());
            let mut have = BTreeMap::new();
            let mut last = 0;
            for block in 0..blocks.count() {
                // Any of them, drawn without replacement.
                let mut numbers: Vec<u16> = blocks.symbols(block).collect();
                for taken in 0..usize::from(blocks.size(block)) {
                    let left = numbers.len() - taken;
                    let drawn = seed.rotate_left(u32::from(block) + taken as u32) as usize % left;
                    numbers.swap(taken, taken + drawn);
                    last = numbers[taken];
                    have.insert(last, symbol(&blocks, last));
                }
            }
            let whole = recover(&blocks, &have).unwrap();
            for (number, bytes) in (0u16..).zip(whole.chunks(20)) {
                prop_assert_eq!(bytes, &symbol(&blocks, number)[..]);
            }
            have.remove(&last);
            prop_assert_eq!(recover(&blocks, &have), None);
        }
    }

    #[test]
    fn symbols_of_different_lengths_are_no_object() {
        let blocks = Blocks::new(2, BlockSymbols::new(4).unwrap());
        let have = BTreeMap::from([(0, vec![1, 2]), (1, vec![1])]);
        assert_eq!(recover(&blocks, &have), None);
        let none = Blocks::new(0, BlockSymbols::new(4).unwrap());
        assert_eq!(recover(&none, &BTreeMap::new()), Some(Vec::new()));
    }
}
