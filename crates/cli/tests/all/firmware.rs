//! Images with identities.

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::cargo::CommandCargoExt as _;

const IDENTITY: u32 = 0x000F_F000;
const CODE: [u8; 40] = *b"forty bytes of a program, as it were ...";

fn thalweg(folder: &Path, args: &[&str]) -> Output {
    let mut command = std::process::Command::cargo_bin("thalweg").unwrap();
    command.current_dir(folder).args(args).output().unwrap()
}

/// An ELF file with code at 0xFFF0, across a border of 64 kB, and room for an identity.
fn elf() -> Vec<u8> {
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(52, 0);
    file[18] = 40;
    file[28] = 52;
    file[42] = 32;
    file[44] = 2;
    let room = [0xFF; 28];
    for (address, offset, bytes) in [(0xFFF0, 116, &CODE[..]), (IDENTITY, 156, &room)] {
        let size = bytes.len() as u32;
        for field in [1, offset, address, address, size, size, 5, 4] {
            file.extend(u32::to_le_bytes(field));
        }
    }
    file.extend(CODE);
    file.extend(room);
    file
}

/// Flash as a file of HEX has it.
fn flash(hex: &str) -> Vec<(u32, u8)> {
    let (mut upper, mut flash) = (0, Vec::new());
    for line in hex.lines() {
        let digits = line.strip_prefix(':').unwrap().as_bytes();
        let byte =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        let bytes: Vec<u8> = digits.chunks(2).map(byte).collect();
        assert_eq!(
            bytes.iter().fold(0_u8, |sum, b| sum.wrapping_add(*b)),
            0,
            "{line}"
        );
        let at = u32::from(u16::from_be_bytes([bytes[1], bytes[2]]));
        let data = &bytes[4..bytes.len() - 1];
        match bytes[3] {
            0 => flash.extend((upper + at..).zip(data.iter().copied())),
            4 => upper = u32::from(u16::from_be_bytes([data[0], data[1]])) << 16,
            kind => assert_eq!((kind, data), (1, &[][..])),
        }
    }
    flash
}

#[test]
fn an_image_has_the_identity_that_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let images = dir.path().join("firmware/images");
    fs::create_dir_all(&images).unwrap();
    fs::write(images.join("mote.elf"), elf()).unwrap();
    fs::write(images.join("station.elf"), elf()).unwrap();
    let done = thalweg(
        dir.path(),
        &[
            "firmware",
            "--node",
            "7",
            "--channels",
            "15,20",
            "--control-channel",
            "20",
            "--out",
            "n7.hex",
        ],
    );
    assert!(done.status.success(), "{done:?}");
    let told = String::from_utf8(done.stdout).unwrap();
    assert_eq!(
        told,
        "n7.hex: a mote, node 7, channels 15,20, floods on 20; 68 bytes of flash\n"
    );
    let flash = flash(&fs::read_to_string(dir.path().join("n7.hex")).unwrap());
    let code: Vec<(u32, u8)> = (0xFFF0..).zip(CODE).collect();
    assert_eq!(flash[..CODE.len()], code);
    let record: Vec<u8> = flash[CODE.len()..].iter().map(|(_, byte)| *byte).collect();
    assert_eq!(flash[CODE.len()].0, IDENTITY);
    // Version, role, node, channels by their number less eleven, floods.
    assert_eq!(
        record[..24],
        *b"THALWEG-IDENTITY\x01\x00\x07\x00\x10\x02\x14\x00"
    );
    // As ELF it is the same file but for that record.
    let args = [
        "firmware",
        "--testbed",
        "line5",
        "--node",
        "1",
        "--out",
        "base.elf",
    ];
    assert!(thalweg(dir.path(), &args).status.success());
    let base = fs::read(dir.path().join("base.elf")).unwrap();
    assert_eq!((base.len(), &base[..156]), (elf().len(), &elf()[..156]));
    // The testbed's sink is a base station.
    assert_eq!(base[156..][16..20], [1, 1, 1, 0]);
    // Nothing in an image says whose it is.
    assert_eq!(thalweg(dir.path(), &args).status.code(), Some(2));
    let forced = [&args[..], &["--force"]].concat();
    assert!(thalweg(dir.path(), &forced).status.success());
}

#[test]
fn what_cannot_be_an_image_ends_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mote.elf"), b"\x7fELF\x01\x01 no more").unwrap();
    fs::write(dir.path().join("station.elf"), &elf()[..120]).unwrap();
    fs::write(dir.path().join("notes.hex"), "mine").unwrap();
    let cases: [(&[&str], &str); 7] = [
        (&["--node", "7", "--out", "n7.uf2"], "wanted NAME.elf"),
        (&["--node", "7", "--out", "n7.hex"], "firmware/images.sh"),
        (
            &["--node", "7", "--out", "n7.hex", "--images", "."],
            "mote.elf: ",
        ),
        (
            &["--node", "7", "--base", "--out", "n7.hex", "--images", "."],
            "station.elf: the ELF file ends",
        ),
        (
            &["--node", "7", "--out", "notes.hex", "--images", "."],
            "exists",
        ),
        (
            &["--node", "7", "--out", "n7.hex", "--channels", "15"],
            "--control-channel 26",
        ),
        (
            &["--node", "9", "--out", "n9.hex", "--testbed", "line5"],
            "no such node",
        ),
    ];
    for (args, wanted) in cases {
        let done = thalweg(dir.path(), &[&["firmware"], args].concat());
        let told = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{args:?}: {told}");
        assert!(
            told.contains(wanted) && told.lines().count() == 1,
            "{args:?}: {told}"
        );
        assert!(!dir.path().join("n7.hex").exists());
    }
}
