use super::*;

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

fn error(parts: &[(u32, &[u8])]) -> ImageError {
    Image::read(elf(parts)).unwrap_err()
}

#[test]
fn an_image_stays_within_its_flash() {
    let layout = BootLoader::Dongle.layout();
    let (first, room) = (layout.program.first, [0xFF; 28]);
    let image = Image::read(elf(&[(layout.identity.first, &room), (first, &[1, 2])])).unwrap();
    assert_eq!(image.boot_loader(), BootLoader::Dongle);
    let flat = image.flat();
    assert_eq!(flat.len() as u32, layout.identity.first + 28 - first);
    assert_eq!(flat[..4], [1, 2, 0xFF, 0xFF]);
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
}

#[test]
fn no_file_does_harm() {
    let room = [0xFF; 28];
    let whole = elf(&[(0, &[7; 40]), (0xF_F000, &room)]);
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
