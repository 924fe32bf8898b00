//! Tests of `outputs.rs`.

use super::*;

fn why(checked: Result<(), Failure>) -> String {
    match checked {
        Err(Failure::Input(line) | Failure::Job(line)) => line,
        other => panic!("{other:?}"),
    }
}

#[test]
fn inputs_the_store_and_strangers_files_stay() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let (links, photo, store) = (at("links.csv"), at("photo.jpg"), at("data"));
    fs::write(&links, "src,dst\n").unwrap();
    fs::write(&photo, [0xff, 0xd8, 1, 2, 3]).unwrap();
    fs::create_dir(&store).unwrap();
    fs::write(store.join("thalweg.db"), "").unwrap();
    let outputs = |force| Outputs::beside(force, [links.as_path()]).with_store(&store);
    // The input by another name.
    let again = store.join("../links.csv");
    for force in [false, true] {
        let line = why(outputs(force).check("--svg", &again, Kind::Svg));
        assert!(line.contains("is what this command reads"), "{line}");
        for kept in ["thalweg.db", "thalweg.db-wal", "objects"] {
            let line = why(outputs(force).check("--pcap", &store.join(kept), Kind::Pcapng));
            assert!(line.contains("is kept by the store"), "{line}");
        }
    }
    let line = why(outputs(false).check("--pcap", &photo, Kind::Pcapng));
    assert!(line.ends_with("or say --force"), "{line}");
    assert!(outputs(true).check("--pcap", &photo, Kind::Pcapng).is_ok());
    // Nothing was written.
    assert_eq!(fs::read(&photo).unwrap().len(), 5);
}

#[test]
fn new_files_and_own_ones_are_free() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.svg");
    let outputs = Outputs::beside(false, []);
    assert!(outputs.check("--svg", &path, Kind::Svg).is_ok());
    assert!(!path.exists());
    fs::write(&path, "<svg data-generator=\"thalweg\">").unwrap();
    assert!(outputs.check("--svg", &path, Kind::Svg).is_ok());
    assert!(outputs.check("--pcap", &path, Kind::Pcapng).is_err());
    fs::write(&path, "<svg data-generator=\"another\">").unwrap();
    assert!(outputs.check("--svg", &path, Kind::Svg).is_err());
    let missing = dir.path().join("no/a.svg");
    let line = why(outputs.check("--svg", &missing, Kind::Svg));
    assert!(line.contains("cannot write"), "{line}");
}

#[test]
fn a_folder_of_others_is_not_filled_with_results() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = |force| Outputs::beside(force, []);
    let folder = dir.path().join("out");
    assert!(outputs(false).folder("--out", &folder).is_ok());
    assert!(outputs(false).folder("--out", &folder).is_ok());
    fs::write(folder.join("rows.csv"), "mine").unwrap();
    let line = why(outputs(false).folder("--out", &folder));
    assert!(line.contains("holds no earlier results"), "{line}");
    assert!(outputs(true).folder("--out", &folder).is_ok());
    fs::write(folder.join("results.json"), "[]").unwrap();
    assert!(outputs(false).folder("--out", &folder).is_ok());
}
