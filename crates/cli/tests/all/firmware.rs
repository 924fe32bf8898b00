//! Images with identities, in each format.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use assert_cmd::cargo::CommandCargoExt as _;
use flate2::Crc;
use thalweg_nrf52840::mark::{mark, Program};

/// Folder, where programs begin, where identities are.
const NONE: (&str, u32, u32) = ("", 0, 0xF_F000);
const DONGLE: (&str, u32, u32) = ("dongle", 0x1000, 0x3_2000);
const UF2: (&str, u32, u32) = ("uf2", 0x2_6000, 0x5_7000);
const UF2_S7: (&str, u32, u32) = ("uf2-s7", 0x2_7000, 0x5_8000);
const CODE: [u8; 40] = *b"forty bytes of a program, as it were ...";
/// Where it is behind the beginning: without a boot loader it lies across a border of 64 kB.
const OFFSET: u32 = 0xFFF0;

type Flash = BTreeMap<u32, u8>;

fn thalweg(folder: &Path, args: &[&str]) -> Output {
    let mut command = std::process::Command::cargo_bin("thalweg").unwrap();
    command.current_dir(folder).args(args).output().unwrap()
}

/// An ELF file with a vector table, code, room for an identity, and a mark that it is `program`.
fn elf(program: Program, begin: u32, identity: u32) -> Vec<u8> {
    let room = [&[0xFF; 28][..], &mark(program)].concat();
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(52, 0);
    (file[18], file[28], file[42], file[44]) = (40, 52, 32, 3);
    let parts: [(u32, &[u8]); 3] = [
        (identity, &room),
        (begin, &[0, 0, 4, 0x20, 0x41, 0x10, 0, 0]),
        (begin + OFFSET, &CODE),
    ];
    let mut offset = 52 + 3 * 32;
    for (address, bytes) in parts {
        let size = bytes.len() as u32;
        for field in [1, offset, address, address, size, size, 5, 4] {
            file.extend(u32::to_le_bytes(field));
        }
        offset += size;
    }
    file.extend(parts.iter().flat_map(|(_, bytes)| *bytes));
    file
}

/// All images in `folder`.
fn images(folder: &Path) {
    for (name, begin, identity) in [NONE, DONGLE, UF2, UF2_S7] {
        fs::create_dir_all(folder.join(name)).unwrap();
        for (file, program) in [
            ("mote.elf", Program::Mote),
            ("station.elf", Program::BaseStation),
        ] {
            let image = elf(program, begin, identity);
            fs::write(folder.join(name).join(file), image).unwrap();
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Flash as a UF2 file has it, by the specification's table.
fn flash_of_uf2(file: &[u8]) -> Flash {
    let blocks = file.chunks(512);
    let (count, mut flash) = (blocks.len() as u32, Flash::new());
    for (number, block) in (0..).zip(blocks) {
        let head: Vec<u32> = (0..8).map(|n| word(block, 4 * n)).collect();
        let address = head[3];
        let wanted = [
            0x0A32_4655,
            0x9E5D_5157,
            0x2000,
            address,
            256,
            number,
            count,
            0xADA5_2840,
        ];
        assert_eq!(head, wanted);
        assert_eq!((address % 256, word(block, 508)), (0, 0x0AB1_6F30));
        assert!(block[288..508].iter().all(|byte| *byte == 0xFF));
        flash.extend((address..).zip(block[32..288].iter().copied()));
    }
    flash
}

/// The files in a ZIP file, by its directory.
fn unzipped(zip: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let half = |at: usize| usize::from(u16::from_le_bytes([zip[at], zip[at + 1]]));
    let end = zip.len() - 22;
    assert_eq!(zip[end..end + 4], *b"PK\x05\x06");
    let mut at = word(zip, end + 16) as usize;
    let mut files = BTreeMap::new();
    for _ in 0..half(end + 10) {
        assert_eq!((&zip[at..at + 4], half(at + 10)), (&b"PK\x01\x02"[..], 0));
        let (size, name) = (word(zip, at + 24) as usize, half(at + 28));
        let local = word(zip, at + 42) as usize;
        assert_eq!(zip[local..local + 4], *b"PK\x03\x04");
        let from = local + 30 + half(local + 26) + half(local + 28);
        let bytes = zip[from..from + size].to_vec();
        let mut crc = Crc::new();
        crc.update(&bytes);
        assert_eq!([word(zip, at + 16), word(zip, local + 14)], [crc.sum(); 2]);
        let named = String::from_utf8(zip[at + 46..at + 46 + name].to_vec()).unwrap();
        files.insert(named, bytes);
        at += 46 + name;
    }
    assert_eq!(at, end);
    files
}

/// Flash as a file of HEX has it.
fn flash_of_hex(hex: &str) -> Flash {
    let (mut upper, mut flash) = (0, Flash::new());
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
    images(&dir.path().join("firmware/images"));
    let asked = "firmware --node 7 --channels 15,20 --control-channel 20 --out n7.hex";
    let done = thalweg(dir.path(), &asked.split(' ').collect::<Vec<_>>());
    assert!(done.status.success(), "{done:?}");
    let told = String::from_utf8(done.stdout).unwrap();
    assert_eq!(
        told,
        "n7.hex: a mote, node 7, channels 15,20, floods on 20; 96 bytes of flash from 0x0 on\n"
    );
    let flash = flash_of_hex(&fs::read_to_string(dir.path().join("n7.hex")).unwrap());
    let bytes =
        |from: u32, len: u32| -> Vec<u8> { (from..from + len).map(|at| flash[&at]).collect() };
    assert_eq!((flash.len(), bytes(OFFSET, 40)), (96, CODE.to_vec()));
    // Version, role, node, channels by their number less eleven, floods.
    assert_eq!(
        bytes(NONE.2, 24),
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
    let (mut as_was, record) = (base.clone(), 148..176);
    as_was[record.clone()].fill(0xFF);
    assert_eq!(as_was, elf(Program::BaseStation, NONE.1, NONE.2));
    // The testbed's sink is a base station.
    assert_eq!(base[record][16..20], [1, 1, 1, 0]);
    // Nothing in an image says whose it is.
    assert_eq!(thalweg(dir.path(), &args).status.code(), Some(2));
    let forced = [&args[..], &["--force"]].concat();
    assert!(thalweg(dir.path(), &forced).status.success());
}

/// Where the testbed names a key file, an image has its node's page of keys. Its owner alone may read the image.
#[test]
fn a_secured_networks_image_has_its_page_of_keys() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    images(&folder.join("firmware/images"));
    let done = |asked: &str| thalweg(folder, &asked.split(' ').collect::<Vec<_>>());
    assert!(done("keys new").status.success());
    let site = "name = \"s\"\nboard = \"nrf52840\"\nsink = 1\nsecurity = \"require\"\nkeys = \"network.key\"\nnodes = [{ id = 1, x_m = 0, y_m = 0 }, { id = 7, x_m = 3, y_m = 0 }]\n";
    fs::write(folder.join("site.toml"), site).unwrap();
    assert!(done("keys mote 7 --hex page.hex").status.success());
    let page = flash_of_hex(&fs::read_to_string(folder.join("page.hex")).unwrap());
    assert_eq!(page.len(), 64);
    let made = done("firmware --testbed site.toml --node 7 --out n7.hex");
    let told = String::from_utf8(made.stdout).unwrap();
    assert!(
        told.ends_with("from 0x0 on, with its keys, which its owner alone may read\n"),
        "{told}"
    );
    let flash = flash_of_hex(&fs::read_to_string(folder.join("n7.hex")).unwrap());
    assert!(page.iter().all(|(at, byte)| flash[at] == *byte));
    assert_eq!(flash.len(), 96 + 64);
    // As ELF, it is one segment more.
    assert!(done("firmware --testbed site.toml --node 7 --out n7.elf")
        .status
        .success());
    let elf = fs::read(folder.join("n7.elf")).unwrap();
    let table = word(&elf, 28) as usize;
    assert_eq!(elf[44], 4);
    let [kind, offset, _, address, size] = [0, 1, 2, 3, 4].map(|n| word(&elf, table + 96 + 4 * n));
    assert_eq!((kind, address, size), (1, 0xF_E000, 64));
    let bytes = &elf[offset as usize..][..64];
    assert!(page.values().eq(bytes));
    for name in ["n7.hex", "n7.elf"] {
        let mode = fs::metadata(folder.join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    // Boot loaders leave no room for a page, and a key that others may read is none.
    let none = done("firmware --testbed site.toml --node 7 --out n7.uf2");
    let line = String::from_utf8(none.stderr).unwrap();
    assert!(
        line.contains("no page for keys") && line.lines().count() == 1,
        "{line}"
    );
    fs::set_permissions(
        folder.join("network.key"),
        fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    let open = done("firmware --testbed site.toml --node 1 --out n1.hex");
    let line = String::from_utf8(open.stderr).unwrap();
    assert!(
        line.contains("chmod 600") && !folder.join("n1.hex").exists(),
        "{line}"
    );
}

#[test]
fn what_a_boot_loader_takes_is_what_a_programmer_does() {
    let dir = tempfile::tempdir().unwrap();
    images(dir.path());
    let made = |loader: &[&str], out: &str| {
        let args = ["firmware", "--node", "9", "--images", ".", "--out", out];
        let done = thalweg(dir.path(), &[&args, loader].concat());
        assert!(done.status.success(), "{done:?}");
        fs::read(dir.path().join(out)).unwrap()
    };
    let hex = |loader: &str, out: &str| {
        let text = made(&["--boot-loader", loader], out);
        flash_of_hex(&String::from_utf8(text).unwrap())
    };

    let programmed = hex("uf2", "uf2.hex");
    assert_eq!(programmed.first_key_value(), Some((&UF2.1, &0)));
    let mut copied = flash_of_uf2(&made(&[], "n9.uf2"));
    // Vector table; code in two blocks, since it begins 16 bytes before one's end; identity.
    assert_eq!(copied.len(), 4 * 256);
    copied.retain(|at, byte| *byte != 0xFF || programmed.contains_key(at));
    assert_eq!(copied, programmed);

    let programmed = hex("uf2-s7", "uf2-s7.hex");
    assert_eq!(programmed.first_key_value(), Some((&UF2_S7.1, &0)));
    let copied = flash_of_uf2(&made(&["--boot-loader", "uf2-s7"], "s7.uf2"));
    assert!(programmed
        .iter()
        .all(|byte| copied.get(byte.0) == Some(byte.1)));

    let programmed = hex("dongle", "dongle.hex");
    assert_eq!(programmed.first_key_value(), Some((&DONGLE.1, &0)));
    let package = unzipped(&made(&[], "n9.zip"));
    let manifest = &package["manifest.json"];
    let manifest: serde_json::Value = serde_json::from_slice(manifest).unwrap();
    let file = |key: &str| {
        let name = manifest["manifest"]["application"][key].as_str();
        &package[name.unwrap()]
    };
    let (flash, packet) = (file("bin_file"), file("dat_file"));
    assert_eq!(flash.len() as u32, DONGLE.2 + 48 - DONGLE.1);
    for (at, byte) in (DONGLE.1..).zip(flash) {
        assert_eq!(programmed.get(&at).unwrap_or(&0xFF), byte, "{at:#x}");
    }
    // The packet announces the size, 0x31030, seven bits a byte.
    assert!(packet
        .windows(4)
        .any(|field| field == [0x38, 0xB0, 0xA0, 0x0C]));
    // Equal asked, equal bytes.
    assert_eq!(made(&["--force"], "n9.zip"), made(&[], "again.zip"));
}

#[test]
fn what_cannot_be_an_image_ends_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    images(dir.path());
    fs::write(dir.path().join("mote.elf"), b"\x7fELF\x01\x01 no more").unwrap();
    let cut = &elf(Program::BaseStation, 0, NONE.2)[..140];
    fs::write(dir.path().join("station.elf"), cut).unwrap();
    // Linked for another boot loader, over one, and without room for an identity.
    fs::write(
        dir.path().join("dongle/mote.elf"),
        elf(Program::Mote, 0, NONE.2),
    )
    .unwrap();
    fs::write(
        dir.path().join("uf2/mote.elf"),
        elf(Program::Mote, UF2.1, NONE.2),
    )
    .unwrap();
    let elsewhere = elf(Program::BaseStation, DONGLE.1, DONGLE.2 + 4);
    fs::write(dir.path().join("dongle/station.elf"), elsewhere).unwrap();
    fs::write(dir.path().join("notes.hex"), "mine").unwrap();
    let swapped = dir.path().join("swapped");
    fs::create_dir(&swapped).unwrap();
    for (file, program) in [("mote", Program::BaseStation), ("m", Program::Mote)] {
        let path = swapped.join(file).with_extension("elf");
        fs::write(path, elf(program, NONE.1, NONE.2)).unwrap();
    }
    let cases: [(&[&str], &str); 15] = [
        (&["--node", "7", "--out", "n7.bin"], "wanted NAME.elf"),
        (
            &["--node", "7", "--out", "n7.hex"],
            "firmware/images.sh none",
        ),
        (
            &["--node", "7", "--out", "n7.uf2"],
            "firmware/images.sh uf2",
        ),
        (
            &["--node", "7", "--out", "n7.uf2", "--boot-loader", "none"],
            ".uf2 is for uf2",
        ),
        (
            &["--node", "7", "--out", "n7.zip", "--boot-loader", "uf2"],
            ".zip is for dongle",
        ),
        (
            &["--node", "7", "--out", "n7.zip", "--images", "."],
            "expected an image for --boot-loader dongle, found one for none",
        ),
        (
            &["--node", "7", "--out", "n7.uf2", "--images", "."],
            "at 0xff000, is outside",
        ),
        (
            &["--node", "7", "--base", "--out", "n7.zip", "--images", "."],
            "no image of Thalweg's",
        ),
        (
            &["--node", "7", "--out", "n7.hex", "--images", "."],
            "mote.elf: ",
        ),
        (
            &["--node", "7", "--base", "--out", "n7.hex", "--images", "."],
            "station.elf: the ELF file ends",
        ),
        (
            &["--node", "7", "--out", "n7.hex", "--images", "swapped"],
            "swapped/mote.elf: wanted a mote's image, found a base station's image",
        ),
        (
            &[
                "--node", "7", "--base", "--out", "n7.hex", "--images", "swapped", "--image", "m",
            ],
            "swapped/m.elf: wanted a base station's image, found a mote's image",
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
        let is_left = |name: &&str| dir.path().join(name).exists();
        assert!(!["n7.hex", "n7.uf2", "n7.zip"].iter().any(is_left));
    }
}
