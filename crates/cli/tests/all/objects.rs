//! What was collected can be listed, shown, taken out and checked, and campaigns notice what is gone.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

fn thalweg(folder: &Path, args: &str) -> Command {
    let mut command = Command::cargo_bin("thalweg").unwrap();
    command.current_dir(folder).args(args.split_whitespace());
    command
}

fn json(folder: &Path, args: &str) -> Value {
    let out = thalweg(folder, args).assert().success();
    serde_json::from_slice(&out.get_output().stdout).unwrap()
}

#[test]
fn a_file_comes_out_of_the_store_as_it_went_in() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    let none = "holds no objects";
    thalweg(here, "objects list")
        .assert()
        .code(1)
        .stderr(contains(none));
    assert_eq!(fs::read_dir(here).unwrap().count(), 0);
    let photo: Vec<u8> = (0..3000u32).map(|k| (k * 7 % 251) as u8).collect();
    fs::write(here.join("photo.jpg"), &photo).unwrap();
    thalweg(here, "collect --testbed line5 --file photo.jpg")
        .assert()
        .success();
    thalweg(here, "collect --testbed line5 --bytes 500")
        .assert()
        .success();
    let all = json(here, "objects list --json");
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!(all[0]["file"], "photo.jpg");
    assert_eq!(all[1]["file"], Value::Null);
    let digest = all[0]["digest"].as_str().unwrap();
    let listed = contains("photo.jpg")
        .and(contains(&digest[..8]))
        .and(contains("2 objects, 3500 bytes"));
    thalweg(here, "objects list")
        .assert()
        .success()
        .stdout(listed);
    for name in ["1", "photo.jpg", &digest[..6]] {
        let shown = json(here, &format!("objects show {name} --json"));
        assert_eq!(shown["object"]["id"], 1);
        assert_eq!(shown["condition"], "whole");
        assert_eq!(shown["report"]["protocol"], "thalweg");
    }
    let unknown = contains("no object of that id");
    thalweg(here, "objects show nothing")
        .assert()
        .code(2)
        .stderr(unknown);
    thalweg(here, "objects export --into there")
        .assert()
        .success();
    assert_eq!(fs::read(here.join("there/photo.jpg")).unwrap(), photo);
    assert_eq!(fs::read_dir(here.join("there")).unwrap().count(), 2);
    // The same again is fine, another file of that name stays.
    thalweg(here, "objects export --into there")
        .assert()
        .success();
    fs::write(here.join("there/photo.jpg"), "mine").unwrap();
    let stays = contains("holds other bytes");
    thalweg(here, "objects export --into there")
        .assert()
        .code(2)
        .stderr(stays);
    assert_eq!(fs::read(here.join("there/photo.jpg")).unwrap(), b"mine");
    thalweg(here, "objects verify")
        .assert()
        .success()
        .stdout("2 of 2 objects whole\n");
    let object = all[0]["path"].as_str().unwrap();
    fs::write(here.join(object), "other bytes").unwrap();
    let changed = contains("changed").and(contains("1 of 2 objects whole"));
    thalweg(here, "objects verify")
        .assert()
        .code(1)
        .stdout(changed);
    thalweg(here, "objects export photo.jpg --into new")
        .assert()
        .code(1);
}

#[test]
fn deleted_objects_of_a_campaign_are_fetched_again_and_changed_ones_are_not_called_whole() {
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path();
    let args = "collect --testbed line5 --bytes 700 --all-nodes --json";
    let first = json(here, args);
    assert_eq!(first["objects"], 4);
    let all = json(here, "objects list --json");
    let path = |k: usize| here.join(all[k]["path"].as_str().unwrap());
    fs::remove_file(path(1)).unwrap();
    let again = thalweg(here, args)
        .assert()
        .success()
        .stderr(contains("1 object of an earlier run"));
    let again: Value = serde_json::from_slice(&again.get_output().stdout).unwrap();
    assert_eq!(again["objects"], 4);
    assert!(path(1).exists());
    fs::write(path(2), "other bytes").unwrap();
    let told = contains("1 of 4 objects did not arrive").or(contains("changed in the store"));
    thalweg(here, args).assert().code(1).stderr(told);
}
