//! An image as UF2: blocks that a boot loader writes to flash as they are copied to its drive.
//!
//! Source: Microsoft, "USB Flashing Format (UF2)", sections "File format", "Flags" and "Payload sizes"; the family's number is
//! of its list `uf2families.json`. Tests: `tests/all/firmware.rs`.

use std::collections::BTreeMap;

use super::image::Image;

const MAGIC: [u32; 2] = [0x0A32_4655, 0x9E5D_5157];
const END: u32 = 0x0AB1_6F30;
/// The file names its family.
const HAS_FAMILY: u32 = 0x2000;
/// nRF52840.
const FAMILY: u32 = 0xADA5_2840;
/// Bytes of flash in a block, at a multiple of it. Adafruit's boot loader takes no other (its `ghostfat.c`).
const PAYLOAD: usize = 256;
/// Bytes of a block up to its last word.
const BODY: usize = 508;

/// The file. What a block has beyond the image's bytes is as erased.
pub(super) fn uf2(image: &Image) -> Vec<u8> {
    let mut blocks: BTreeMap<u32, [u8; PAYLOAD]> = BTreeMap::new();
    for (mut at, mut bytes) in image.parts() {
        while !bytes.is_empty() {
            let skipped = at as usize % PAYLOAD;
            let (here, left) = bytes.split_at(bytes.len().min(PAYLOAD - skipped));
            let block = blocks.entry(at - skipped as u32).or_insert([0xFF; PAYLOAD]);
            for (to, from) in block.iter_mut().skip(skipped).zip(here) {
                *to = *from;
            }
            at += here.len() as u32;
            bytes = left;
        }
    }
    let count = blocks.len() as u32;
    let mut file = Vec::new();
    for (number, (address, bytes)) in (0..).zip(&blocks) {
        let mut block = Vec::with_capacity(BODY);
        let [first, second] = MAGIC;
        let head = [first, second, HAS_FAMILY, *address];
        for word in head
            .into_iter()
            .chain([PAYLOAD as u32, number, count, FAMILY])
        {
            block.extend(word.to_le_bytes());
        }
        block.extend(bytes);
        block.resize(BODY, 0xFF);
        file.extend(block);
        file.extend(END.to_le_bytes());
    }
    file
}
