//! A ZIP file of a few stored files. Forty lines rather than a dependency: nothing is compressed.
//!
//! Source: PKWARE, "APPNOTE.TXT" 6.3, sections 4.3.7, 4.3.12 and 4.3.16. Invariant: equal files, equal bytes, so all are of
//! 1 January 1980. Tests: `dfu_tests.rs`, and `tests/all/firmware.rs` with another reader.

use thalweg_nrf52840::checksum::crc32;

const LOCAL: u32 = 0x0403_4B50;
const CENTRAL: u32 = 0x0201_4B50;
const END: u32 = 0x0605_4B50;
/// Version 2.0, no flags, stored, at midnight.
const KIND: [u16; 4] = [20, 0, 0, 0];
const FIRST_DAY: u16 = 1 << 5 | 1;

/// The file with `files`, names and contents. All of them are shorter than 4 GB.
pub(super) fn stored(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let at = zip.len() as u32;
        let mut about = Vec::new();
        halves(&mut about, &KIND);
        halves(&mut about, &[FIRST_DAY]);
        let size = bytes.len() as u32;
        words(&mut about, &[crc32(bytes), size, size]);
        // The name's length; no extra field.
        halves(&mut about, &[name.len() as u16, 0]);
        words(&mut zip, &[LOCAL]);
        zip.extend(&about);
        zip.extend(name.as_bytes());
        zip.extend(*bytes);
        words(&mut directory, &[CENTRAL]);
        halves(&mut directory, &[20]);
        directory.extend(&about);
        // No comment, first disk, no attributes.
        halves(&mut directory, &[0; 5]);
        words(&mut directory, &[at]);
        directory.extend(name.as_bytes());
    }
    let (at, count) = (zip.len() as u32, files.len() as u16);
    let size = directory.len() as u32;
    zip.extend(directory);
    words(&mut zip, &[END]);
    halves(&mut zip, &[0, 0, count, count]);
    words(&mut zip, &[size, at]);
    halves(&mut zip, &[0]);
    zip
}

fn halves(to: &mut Vec<u8>, values: &[u16]) {
    to.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}
fn words(to: &mut Vec<u8>, values: &[u32]) {
    to.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}
