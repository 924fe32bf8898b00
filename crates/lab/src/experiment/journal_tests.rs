//! What is kept is what would be found again, and nothing of another run is taken.
#![allow(clippy::unwrap_used)]

use super::{resume, run, Experiment, Journal, Sites};
use crate::results::Row;
use std::cell::Cell;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

fn experiment(testbed: &str) -> Experiment {
    let text = format!(
        "id='x'\ntitle='t'\n[run]\nkind='transfers'\ntestbed='{testbed}'\nroutes=1\npackets=5\n\
         protocols=['p3','pip']\nroute={{ min_hops=1, min_paths=1, floors='any' }}"
    );
    Experiment::parse(Path::new("x.toml"), &text).unwrap()
}

#[test]
fn rows_that_were_kept_are_those_that_would_be_found() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("data/runs");
    let (sites, e) = (Sites::default(), experiment("line5"));
    let observer = |_, _| ControlFlow::Continue(());
    let all = run(&e.run, &[1, 2, 3], &sites, None, &observer).unwrap();
    let first = Journal::of_everything(&folder);
    let kept = resume(&first, &e.run, &sites, &[1, 2]);
    assert_eq!(kept.seeds(), 0);
    run(&e.run, &[1, 2], &sites, Some(&kept), &observer).unwrap();
    // One file a seed: those of its settings are gone.
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    let second = Journal::of_everything(&folder);
    let kept = resume(&second, &e.run, &sites, &[1, 2, 3]);
    assert_eq!(kept.seeds(), 2);
    let again = run(&e.run, &[1, 2, 3], &sites, Some(&kept), &observer).unwrap();
    assert_eq!(again, all);
    second.remove();
    assert!(!data.path().join("data").exists());
}

#[test]
fn a_setting_is_kept_before_its_seed_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let (sites, e) = (Sites::default(), experiment("line5"));
    let row = Row::new().with("x", 0.1 + 0.2).with("y", 1e-300);
    let runs = Cell::new(0);
    for _ in 0..2 {
        let journal = Journal::of_everything(folder.path());
        let kept = resume(&journal, &e.run, &sites, &[7]);
        let each = || {
            runs.set(runs.get() + 1);
            Ok::<_, ()>(vec![row.clone()])
        };
        assert_eq!(kept.setting((7, 3), each), Ok(vec![row.clone()]));
    }
    assert_eq!(runs.get(), 1);
}

#[test]
fn what_is_of_another_run_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("mine.csv");
    fs::write(&mine, "src,dst,channel,prr\n1,2,26,1\n2,1,26,1\n").unwrap();
    let (sites, e) = (Sites::default(), experiment(&mine.to_string_lossy()));
    let kept = |e: &Experiment, sites: &Sites| {
        let journal = Journal::of_everything(&folder.path().join("runs"));
        let kept = resume(&journal, &e.run, sites, &[1, 2]);
        (kept.seeds(), kept.digest(1))
    };
    let of_it = Journal::of_everything(&folder.path().join("runs"));
    resume(&of_it, &e.run, &sites, &[]).keep(1, &[Row::new()]);
    assert_eq!(kept(&e, &sites).0, 1);
    let losses = thalweg_testbeds::Losses {
        links: vec!["2-1:0.5".parse().unwrap()],
        psdu_bytes: 127,
    };
    assert_eq!(kept(&e, &Sites::with_losses(losses)).0, 0);
    assert_eq!(kept(&experiment("pair"), &sites).0, 0);
    fs::write(&mine, "src,dst,channel,prr\n1,2,26,1\n2,1,26,0.9\n").unwrap();
    assert_eq!(kept(&e, &sites).0, 0);
    // A file that is no journal is as good as none.
    fs::write(&mine, "src,dst,channel,prr\n1,2,26,1\n2,1,26,1\n").unwrap();
    let path = resume(&of_it, &e.run, &sites, &[]).path(1, None).unwrap();
    fs::write(path, "").unwrap();
    assert_eq!(kept(&e, &sites).0, 0);
}
