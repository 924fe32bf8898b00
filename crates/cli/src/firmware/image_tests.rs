use super::*;
use thalweg_nrf52840::mark::mark;

/// An ELF file with `parts` of flash: address and bytes.
fn elf(parts: &[(u32, &[u8])]) -> Vec<u8> {
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(52, 0);
    (file[18], file[28], file[42], file[44]) = (40, 52, 32, parts.len() as u8);
    let mut offset = 52 + 32 * parts.len() as u32;
    for (address, bytes) in parts {
        let size = bytes.len() as u32;
        for field in [1, offset, *address, *address, size, size, 5, 4] {
            file.extend(u32::to_le_bytes(field));
        }
        offset += size;
    }
    file.extend(parts.iter().flat_map(|(_, bytes)| *bytes));
    file
}

/// An identity's room, and what says that `program` is around it.
fn room(program: Program) -> Vec<u8> {
    [&[0xFF; RECORD_BYTES][..], &mark(program)].concat()
}

fn error(parts: &[(u32, &[u8])]) -> ImageError {
    Image::read(elf(parts)).unwrap_err()
}

#[test]
fn an_image_stays_within_its_flash() {
    let layout = BootLoader::Dongle.layout();
    let (first, room) = (layout.program.first, room(Program::Mote));
    let image = Image::read(elf(&[(layout.identity.first, &room), (first, &[1, 2])])).unwrap();
    assert_eq!(image.boot_loader(), BootLoader::Dongle);
    let flat = image.flat();
    assert_eq!(flat.len() as u32, layout.identity.first + 48 - first);
    assert_eq!(flat[..4], [1, 2, 0xFF, 0xFF]);
    assert_eq!(image.check(Role::Mote), Ok(()));
    let (wanted, found) = (Program::BaseStation, Program::Mote);
    let other = Err(ImageError::Program { wanted, found });
    assert_eq!(image.check(Role::BaseStation), other);
    // Another page, over the end of the program's area or of memory, the boot loader's, twice the same.
    for (address, bytes) in [
        (layout.second.first, &[0][..]),
        (layout.program.end() - 1, &[0, 0]),
        (layout.recordings.end(), &[0]),
        (0x1FFF_FFFF, &[0, 0]),
        (first + 1, &[0]),
    ] {
        let parts: [(u32, &[u8]); 2] = [(first, &[1, 2]), (address, bytes)];
        assert_eq!(error(&parts), ImageError::Outside(address));
    }
    assert_eq!(error(&[(0x2000, &[0])]), ImageError::Start(0x2000));
    assert_eq!(error(&[(RAM, &[0])]), ImageError::Format);
    // Somebody else's, one from before images had a mark, and one of another version.
    let page = layout.identity.first;
    assert_eq!(error(&[(first, &[1, 2])]), ImageError::Foreign);
    let unmarked: [(u32, &[u8]); 2] = [(first, &[1, 2]), (page, &[0xFF; RECORD_BYTES])];
    assert_eq!(error(&unmarked), ImageError::Foreign);
    let mut later = room;
    later[RECORD_BYTES + 18] += 1;
    let later: [(u32, &[u8]); 2] = [(first, &[1, 2]), (page, &later)];
    assert_eq!(error(&later), ImageError::Version(Version(VERSION.0 + 1)));
}

#[test]
fn no_file_does_harm() {
    let room = room(Program::Mote);
    let mut whole = elf(&[(0, &[7; 40]), (0xF_F000, &room)]);
    // A table of sections at its end, as linkers write it: two of 40 bytes.
    let sections = whole.len() as u8;
    (whole[32], whole[46], whole[48]) = (sections, 40, 2);
    whole.resize(whole.len() + 80, 0);
    assert!(Image::read(whole.clone()).is_ok());
    for length in 0..whole.len() {
        let short = Image::read(whole[..length].to_vec());
        assert!(short.is_err(), "{length} bytes");
    }
    for at in 0..whole.len() {
        for value in [0xFF, 0x80, 0x7F, 0] {
            let mut harmed = whole.clone();
            harmed[at] = value;
            if let Ok(image) = Image::read(harmed) {
                assert!(image.flat().len() <= 1 << 20 && image.hex().len() < 4_000);
            }
        }
    }
}
