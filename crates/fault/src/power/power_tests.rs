use super::*;
use std::ops::ControlFlow::Continue;
use std::path::{Path, PathBuf};
use thalweg_medium::random::stream;

fn path(name: &str) -> PathBuf {
    Path::new("/d").join(name)
}

fn disk(calls: &[Call]) -> Disk {
    let mut disk = Disk::default();
    disk.apply(&Call::MakeFolder("/d".into()));
    calls.iter().for_each(|call| disk.apply(call));
    disk
}

fn write(name: &str, offset: u64, bytes: &[u8]) -> Call {
    Call::Write {
        file: path(name),
        offset,
        bytes: bytes.to_vec(),
    }
}

fn files(disk: &Disk, survives: Survives<'_>) -> Vec<(PathBuf, Vec<u8>)> {
    disk.after_failure(survives).1
}

#[test]
fn what_was_synced_stays_and_the_rest_may_go() {
    let calls = [
        Call::Create(path("a")),
        write("a", 0, b"one"),
        Call::Sync(path("a")),
        Call::Sync("/d".into()),
        write("a", 3, b"two"),
        Call::Create(path("b")),
    ];
    let disk = disk(&calls);
    let nothing = files(&disk, Survives::Nothing);
    assert_eq!(nothing, [(path("a"), b"one".to_vec())]);
    let all = files(&disk, Survives::Everything);
    assert_eq!(
        all,
        [(path("a"), b"onetwo".to_vec()), (path("b"), Vec::new())]
    );
}

#[test]
fn a_file_may_be_synced_and_have_no_name() {
    let calls = [
        Call::Create(path("a")),
        write("a", 0, b"one"),
        Call::Sync(path("a")),
    ];
    assert!(files(&disk(&calls), Survives::Nothing).is_empty());
}

#[test]
fn a_name_changes_whole_or_not_at_all() {
    let calls = [
        Call::Create(path("a")),
        Call::Sync("/d".into()),
        Call::Rename {
            from: path("a"),
            to: path("b"),
        },
    ];
    let disk = disk(&calls);
    for draw in 0..20 {
        let mut rng = stream(draw, "test", &[]);
        assert_eq!(files(&disk, Survives::Some(&mut rng)).len(), 1);
    }
}

#[test]
fn a_long_write_is_torn_at_sectors() {
    let calls = [
        Call::Create(path("a")),
        Call::Sync("/d".into()),
        write("a", 0, &[1; 2_048]),
    ];
    let disk = disk(&calls);
    let mut torn = 0;
    for draw in 0..20 {
        let mut rng = stream(draw, "test", &[]);
        let [(_, bytes)] = &files(&disk, Survives::Some(&mut rng))[..] else {
            panic!("one file")
        };
        let sectors = bytes.chunks(512);
        assert!(sectors.clone().all(|s| s.iter().all(|b| *b == s[0])));
        let there = sectors.filter(|s| s[0] == 1).count();
        torn += usize::from((1..4).contains(&there));
    }
    assert!(torn > 10, "{torn}");
}

#[test]
fn a_log_is_read_and_what_is_not_understood_is_said() {
    let hex = |text: &str| -> String { text.bytes().map(|b| format!("\\x{b:02x}")).collect() };
    let (a, b, at) = (hex("/d/a"), hex("/d/b"), hex("/"));
    let log = format!(
        "7 openat(AT_FDCWD<{at}>, \"{a}\", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3<{a}>\n\
         7 write(3<{a}>, \"{}\", 2) = 2\n7 write(3<{a}>, \"{}\", 2) = 2\n\
         7 pwrite64(3<{a}>, \"{}\", 1, 9) = 1\n7 fdatasync(3<{a}>) = 0\n\
         7 linkat(AT_FDCWD<{at}>, \"{a}\", AT_FDCWD<{at}>, \"{b}\", 0) = 0\n\
         7 unlink(\"{a}\") = 0\n7 mkdir(\"{}\", 0777) = -1 EEXIST (File exists)\n\
         7 write(1<{}>, \"{}\", 6) = 6\n7 +++ exited with 0 +++\n",
        hex("ab"),
        hex("cd"),
        hex("z"),
        hex("/d"),
        hex("/dev/null"),
        hex("job 1\n"),
    );
    let read = Recording::parse(&log, Path::new("/d")).unwrap();
    let expected = [
        Call::Create(path("a")),
        Call::Truncate {
            file: path("a"),
            len: 0,
        },
        write("a", 0, b"ab"),
        write("a", 2, b"cd"),
        write("a", 9, b"z"),
        Call::Sync(path("a")),
        Call::Link {
            from: path("a"),
            to: path("b"),
        },
        Call::Unlink(path("a")),
        Call::Promise("job 1".to_owned()),
    ];
    assert_eq!(read.calls, expected);
    let odd = format!("7 fallocate(3<{a}>, 0, 0, 9) = 0\n");
    let why = Recording::parse(&odd, Path::new("/d")).unwrap_err();
    assert!(why.to_string().contains("line 1"), "{why}");
    let elsewhere = odd.replace(&a, &hex("/tmp/x"));
    assert!(Recording::parse(&elsewhere, Path::new("/d"))
        .unwrap()
        .calls
        .is_empty());
}

#[test]
fn what_was_promised_and_is_not_there_is_lost() {
    let recording = Recording {
        calls: vec![Call::Promise("job 1".to_owned())],
    };
    let scratch = tempfile::tempdir().unwrap();
    let scratch = scratch.path().join("after");
    let tried = try_points((&recording, Path::new("/d")), (4, 1), &scratch, &mut |_| {
        Continue(())
    });
    let tried = tried.unwrap();
    // Before it was confirmed nothing is missing, and a store is made.
    assert_eq!((tried.tried, tried.lost.len()), (8, 4), "{tried:?}");
    assert!(
        tried.lost[0].why.contains("job 1 was accepted"),
        "{tried:?}"
    );
}
