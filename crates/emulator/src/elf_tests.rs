use super::*;
use crate::memory::FLASH_BYTES;

/// A file with segments: virtual and physical address, bytes, bytes in memory.
fn file(segments: &[(u32, u32, &[u8], u32)]) -> Vec<u8> {
    let mut file = vec![0; 52];
    file[..6].copy_from_slice(b"\x7fELF\x01\x01");
    (file[18], file[28], file[42], file[44]) = (40, 52, 32, segments.len() as u8);
    let mut data = 52 + 32 * segments.len() as u32;
    for (virtually, physically, bytes, occupied) in segments {
        let stored = bytes.len() as u32;
        for word in [1, data, *virtually, *physically, stored, *occupied, 0, 4] {
            file.extend(u32::to_le_bytes(word));
        }
        data += stored;
    }
    for (_, _, bytes, _) in segments {
        file.extend(*bytes);
    }
    file
}

const TABLE: [u8; 8] = [0, 0, 1, 0x20, 0x41, 0, 0, 0];

#[test]
fn segments_go_where_they_belong() {
    let data = RAM_BASE + 8;
    let elf = file(&[
        (0x1000, 0x1000, &TABLE, 8),
        (data, 0x1008, &[1, 2, 3, 4], 4),
        (data + 4, data + 4, &[], 12),
    ]);
    let mut memory = Memory::default();
    let image = load(&elf, &mut memory).unwrap();
    let wanted = Image {
        vectors: 0x1000,
        flash_bytes: 12,
        statics: RAM_BASE..RAM_BASE + 24,
        stack_top: 0x2001_0000,
    };
    assert_eq!(image, wanted);
    assert_eq!(memory.read(0x1008, 4), Some(&[1, 2, 3, 4][..]));
    assert_eq!(image.stack_bytes(&memory), 0);
    assert!(memory.write_ram(0x2000_ff00, &[7]));
    assert_eq!(image.stack_bytes(&memory), 0x100);
    // What an image writes behind its statics, to see whether its stack runs over, is no stack.
    assert!(memory.write_ram(RAM_BASE + 24, &[7; 256]));
    assert_eq!(image.stack_bytes(&memory), 0x100);
}

#[test]
fn no_file_does_harm() {
    let whole = file(&[(0, 0, &TABLE, 8)]);
    let mut memory = Memory::default();
    for length in 0..whole.len() {
        assert!(
            load(&whole[..length], &mut memory).is_err(),
            "{length} bytes"
        );
    }
    for at in 0..whole.len() {
        for value in [0xff, 0x80, 0x7f] {
            let mut harmed = whole.clone();
            harmed[at] = value;
            let _ = load(&harmed, &mut memory);
        }
    }
    let outside = file(&[(0, FLASH_BYTES as u32 - 4, &TABLE, 8)]);
    let address = FLASH_BYTES as u32 - 4;
    assert_eq!(
        load(&outside, &mut memory),
        Err(ElfError::Place { address })
    );
    assert_eq!(load(&file(&[]), &mut memory), Err(ElfError::Empty));
}
