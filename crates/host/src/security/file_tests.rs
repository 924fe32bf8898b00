//! Tests of `file.rs`.

use super::*;
use std::os::unix::fs::PermissionsExt;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

fn id(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}

#[test]
fn what_is_written_is_read_and_its_owner_alone_may() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("network.key");
    let keys = random(&path).unwrap();
    assert_ne!(keys, random(&path).unwrap(), "drawn anew each time");
    create(&path, text(&keys).as_bytes()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(read(&path).unwrap(), keys);
    let again = create(&path, b"key").unwrap_err().to_string();
    assert!(
        again.ends_with("is there already, and keys are not overwritten"),
        "{again}"
    );
    let revoked = keys.revoked(id(17)).unwrap().revoked(id(3)).unwrap();
    replace(&path, &revoked).unwrap();
    assert_eq!(read(&path).unwrap(), revoked);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o620, 0o644] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let why = read(&path).unwrap_err().to_string();
        assert!(why.ends_with("chmod 600 it"), "{mode:o}: {why}");
    }
}

#[test]
fn no_error_shows_a_key() {
    for (text, wanted) in [
        (
            format!("key {KEY}0\nepoch 0\n"),
            "line 1: expected a key of 32 hexadecimal digits",
        ),
        (
            format!("key {}\u{e4}\nepoch 0\n", &KEY[..30]),
            "line 1: expected a key of 32",
        ),
        (
            format!("# a\n{KEY}\n"),
            "line 2: expected key, epoch or generation",
        ),
        (
            format!("key {KEY}\nkey {KEY}\n"),
            "line 2: expected key, epoch or generation",
        ),
        (format!("key {KEY}\n"), "it has no line `epoch`"),
        ("epoch 1\n".to_owned(), "it has no line `key`"),
        (
            format!("key {KEY}\nepoch -1\n"),
            "line 2: expected an epoch",
        ),
        (
            format!("key {KEY}\nepoch 0\ngeneration 70000 1\n"),
            "line 3: expected a node",
        ),
        (
            format!("key {KEY}\nepoch 0\ngeneration 7 1\ngeneration 7 2\n"),
            "line 4: expected a node",
        ),
        (String::new(), "it has no line `key`"),
    ] {
        let why = parse(&text).unwrap_err();
        assert!(why.contains(wanted), "{text:?}: {why}");
        assert!(!why.contains("0102"), "{why}");
    }
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("none"), folder.path().to_owned()] {
        assert!(read(&path).is_err());
    }
}
