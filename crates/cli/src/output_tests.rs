//! Tests of `output.rs`.

use super::*;

#[test]
fn a_file_appears_only_when_it_is_finished() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.svg");
    write_file(&path, "old").unwrap();
    let whole = WholeFile::create(&path).unwrap();
    whole.writer().unwrap().write_all(b"new").unwrap();
    drop(whole);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    write_file(&path, "new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        1,
        "nothing is left over"
    );
}

#[test]
fn a_full_device_is_one_line() {
    let error = write_file(Path::new("/dev/full"), &"x".repeat(100_000)).unwrap_err();
    let Failure::Job(line) = error else {
        panic!("{error:?}")
    };
    assert!(
        line.contains("/dev/full: cannot write") && !line.contains("os error"),
        "{line}"
    );
}
