//! `thalweg keys`: files that their owner alone may read, and one line for what is wrong.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Output;

use assert_cmd::cargo::CommandCargoExt as _;

fn thalweg(folder: &Path, args: &[&str]) -> Output {
    let mut command = std::process::Command::cargo_bin("thalweg").unwrap();
    command.current_dir(folder).args(args).output().unwrap()
}
fn ok(folder: &Path, args: &[&str]) -> String {
    let output = thalweg(folder, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
fn refused(folder: &Path, args: &[&str]) -> String {
    let output = thalweg(folder, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}
/// The digits of the key in the file at `path`.
fn digits(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let key = text.lines().find_map(|line| line.strip_prefix("key "));
    key.unwrap().to_owned()
}
/// The data of an Intel HEX file, with the address of its first byte.
fn data(hex: &str) -> (u32, Vec<u8>) {
    let (mut upper, mut first, mut all) = (0, None, Vec::new());
    for line in hex.lines() {
        let byte = |at: usize| u8::from_str_radix(&line[1 + 2 * at..3 + 2 * at], 16).unwrap();
        let at = u32::from(byte(1)) << 8 | u32::from(byte(2));
        let bytes: Vec<u8> = (4..4 + usize::from(byte(0))).map(byte).collect();
        match byte(3) {
            4 => upper = u32::from(bytes[0]) << 24 | u32::from(bytes[1]) << 16,
            0 => {
                first.get_or_insert(upper + at);
                all.extend(bytes);
            }
            _ => {}
        }
    }
    (first.unwrap(), all)
}

#[test]
fn a_network_gets_a_key_and_its_motes_get_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = folder.join("network.key");
    let told = ok(folder, &["keys", "new"]);
    let key = digits(&path);
    assert!(!told.contains(&key[..8]), "{told}");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(
        ok(folder, &["keys", "export"]),
        fs::read_to_string(&path).unwrap()
    );

    let told = ok(folder, &["keys", "mote", "17", "--hex", "17.hex"]);
    assert!(
        told.starts_with("17.hex: the keys of node 17, generation 0, epoch 0"),
        "{told}"
    );
    let page = folder.join("17.hex");
    assert_eq!(fs::metadata(&page).unwrap().mode() & 0o777, 0o600);
    let (at, before) = data(&fs::read_to_string(&page).unwrap());
    assert_eq!(
        (at, before.len(), &before[..16]),
        (0xF_E000, 64, &b"THALWEG-NODEKEYS"[..])
    );
    ok(folder, &["keys", "mote", "18", "--hex", "18.hex"]);
    let (_, other) = data(&fs::read_to_string(folder.join("18.hex")).unwrap());
    // Its own key is another, the group's the same.
    assert_ne!(before[28..44], other[28..44]);
    assert_eq!(before[44..60], other[44..60]);

    let told = ok(folder, &["keys", "revoke", "17"]);
    assert!(
        told.starts_with("network.key: node 17 is revoked, epoch 1"),
        "{told}"
    );
    assert_eq!(
        (digits(&path), fs::metadata(&path).unwrap().mode() & 0o777),
        (key, 0o600)
    );
    ok(folder, &["keys", "mote", "17", "--hex", "17-again.hex"]);
    let (_, after) = data(&fs::read_to_string(folder.join("17-again.hex")).unwrap());
    assert_ne!(before[28..44], after[28..44]);
    assert_ne!(before[44..60], after[44..60]);
}

#[test]
fn what_is_wrong_is_one_line_without_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert!(refused(folder, &["keys", "export"]).contains("network.key: "));
    ok(folder, &["keys", "new"]);
    let path = folder.join("network.key");
    let key = digits(&path);
    let again = refused(folder, &["keys", "new"]);
    assert!(again.contains("network.key: is there already"), "{again}");
    refused(folder, &["keys", "new", "no/such/folder/network.key"]);
    for node in ["70000", "-1", "door", ""] {
        refused(folder, &["keys", "revoke", node].map(|arg| arg));
    }
    refused(folder, &["keys", "mote", "17", "--hex", "network.key"]);
    assert_eq!(digits(&path), key, "a page does not overwrite it");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    for args in [
        &["keys", "export"][..],
        &["keys", "revoke", "17"],
        &["keys", "mote", "17", "--hex", "a.hex"],
    ] {
        let line = refused(folder, args);
        assert!(line.contains("chmod 600"), "{line}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, format!("{key}\n")).unwrap();
    let line = refused(folder, &["keys", "export"]);
    assert!(
        line.contains("line 1") && !line.contains(&key[..6]),
        "{line}"
    );
}
