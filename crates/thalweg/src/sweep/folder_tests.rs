//! A folder keeps what is done, whatever is asked for next, and takes nothing that is of something else.
#![allow(clippy::unwrap_used)]

use super::super::points::{points, Axis, Design, Values};
use super::super::work::{run, Shard};
use super::*;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow::Continue;
use std::time::SystemTime;
use thalweg_lab::experiment::Experiment;
use thalweg_lab::experiment::Program;

/// Closed forms, of which two points are a part.
fn experiment(board: &str) -> Experiment {
    measuring("bounds", board)
}

fn measuring(measure: &str, board: &str) -> Experiment {
    let text = format!(
        "id='x'\ntitle='t'\ncpu_s=2.5\n[run]\nkind='forwarding'\ntestbed='ring12'\nboard='{board}'\n\
         hops=[1]\nchannels=['one']\nforwarding=['conditional']\nmeasure='{measure}'\n\
         [[metric]]\nname='bound'\nof='bound_kbps'\nstat='mean'\nby=['hops']\n"
    );
    Experiment::parse(Path::new("x.toml"), &text).unwrap()
}

fn program(text: &str) -> Program {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("program");
    fs::write(&file, text).unwrap();
    Program::of(&file).unwrap()
}

fn sweep_of(hops: &str, seeds: &[u64]) -> Sweep {
    let axis = Axis::parse(&format!("run.hops={hops}")).unwrap();
    let points = points(&[axis], Design::Grid, 1).unwrap();
    Sweep::new(experiment("ideal"), points, seeds.to_vec(), program("one")).unwrap()
}

fn made(path: &Path, sweep: &Sweep, shard: &str) -> usize {
    let folder = Folder::of(path, sweep).unwrap();
    let (jobs, shard) = (NonZeroUsize::MIN, shard.parse().unwrap());
    let outcome = run(&folder, sweep.program(), shard, jobs, &|_| Continue(())).unwrap();
    assert_eq!(outcome.failed, []);
    outcome.made
}

/// Names and bytes of all files.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| (name.clone(), fs::read(path.join(name)).unwrap());
    listed(path).unwrap().into_iter().map(read).collect()
}

/// Point and seed of all rows of the folder.
fn runs(path: &Path) -> Vec<(String, String)> {
    let mut runs = Vec::new();
    for (name, bytes) in files(path) {
        if !name.ends_with(".csv") {
            continue;
        }
        let mut reader = csv::Reader::from_reader(&*bytes);
        let heading = reader.headers().unwrap().clone();
        let place = |name| heading.iter().position(|column| column == name).unwrap();
        let (hops, seed) = (place("at.run.hops"), place("seed"));
        runs.extend(reader.records().map(|row| {
            let row = row.unwrap();
            (row[hops].to_owned(), row[seed].to_owned())
        }));
    }
    runs.sort();
    runs
}

fn fault(path: &Path, sweep: &Sweep) -> String {
    let why = Folder::of(path, sweep).unwrap_err().to_string();
    why.replace(&path.display().to_string(), "runs")
}

#[test]
fn shards_make_what_one_process_makes_and_a_second_run_makes_nothing() {
    let (one, three) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sweep = sweep_of("1,2,3,4,5", &[1, 2]);
    assert_eq!(made(one.path(), &sweep, "1/1"), 6);
    let of_shards: Vec<usize> = ["2/3", "1/3", "3/3"]
        .map(|shard| made(three.path(), &sweep, shard))
        .into();
    assert_eq!(of_shards, [2, 2, 2]);
    assert_eq!(files(one.path()), files(three.path()));
    assert_eq!(
        files(one.path()).len(),
        6 + 1,
        "and nothing beside the manifest"
    );
    let before = files(one.path());
    assert_eq!(made(one.path(), &sweep, "1/1"), 0);
    assert_eq!(files(one.path()), before);
}

#[test]
fn more_seeds_and_points_throw_nothing_away_and_double_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(made(dir.path(), &sweep_of("1,3,5", &[1, 2]), "1/1"), 4);
    let first = files(dir.path());
    // In the midst of the points that are there: two more for each old seed, five for the new one.
    let more = sweep_of("1,2,3,4,5", &[1, 2, 3]);
    assert_eq!(made(dir.path(), &more, "1/1"), 2 + 3);
    let second = files(dir.path());
    let kept = |(name, bytes): (&String, &Vec<u8>)| name == MANIFEST || second[name] == *bytes;
    assert!(first.iter().all(kept));
    let runs = runs(dir.path());
    assert_eq!(runs.len(), 5 * 3, "{runs:?}");
    assert_eq!(runs.iter().collect::<BTreeSet<_>>().len(), 5 * 3);
    // Fewer again: what is there stays, and is not asked for.
    let few = sweep_of("1", &[2]);
    assert_eq!(made(dir.path(), &few, "1/1"), 0);
    assert_eq!(Folder::open(dir.path()).unwrap().status().parts, 1);
    assert_eq!(made(dir.path(), &more, "1/1"), 0);
}

#[test]
fn who_comes_later_divides_what_is_left_as_who_came_first() {
    let dir = tempfile::tempdir().unwrap();
    made(dir.path(), &sweep_of("3,4,9", &[1]), "1/1");
    let sweep = sweep_of("1,2,3,4,5,6,7,8", &[1, 2]);
    let first = Folder::of(dir.path(), &sweep).unwrap();
    for n in (0..first.parts()).rev().filter(|n| !first.is_done(*n)) {
        let task = first.task(n).unwrap();
        let go_on = |_| Continue(());
        let ran = task.run(first.path(), sweep.program(), &go_on).unwrap();
        task.write(first.path(), &ran).unwrap();
        let later = Folder::of(dir.path(), &sweep).unwrap();
        assert_eq!(later.manifest, first.manifest, "after part {n}");
    }
}

#[test]
fn parts_of_something_else_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = sweep_of("1,2", &[1]);
    made(dir.path(), &sweep, "1/1");
    let other = |change: &dyn Fn(&mut Sweep)| {
        let mut other = sweep.clone();
        change(&mut other);
        fault(dir.path(), &other)
    };
    let another = "; name another folder";
    let build = other(&|sweep| sweep.program = program("two"));
    assert_eq!(
        build,
        format!("runs: holds parts of another build of thalweg{another}")
    );
    let id = other(&|sweep| sweep.experiment.id = "y".to_owned());
    assert_eq!(
        id,
        format!("runs: holds parts of the experiment \"x\"{another}")
    );
    let axis = Axis::parse("run.hops=1,2").unwrap();
    let points = points(&[axis], Design::Grid, 1).unwrap();
    let of =
        |board| Sweep::new(experiment(board), points.clone(), vec![1], program("one")).unwrap();
    assert!(Folder::of(dir.path(), &of("ideal")).is_ok());
    let keys = fault(dir.path(), &of("telosb-contiki"));
    let wanted = "runs: holds parts of the experiment with other keys, files or losses";
    assert_eq!(keys, format!("{wanted}{another}"));
    let bare = Sweep::new(
        experiment("ideal"),
        vec![Values::new()],
        vec![1],
        program("one"),
    );
    let bare = fault(dir.path(), &bare.unwrap());
    assert_eq!(
        bare,
        format!("runs: holds parts of a sweep over run.hops (whole){another}")
    );
    let stranger = tempfile::tempdir().unwrap();
    fs::write(stranger.path().join("thesis.tex"), "").unwrap();
    assert!(fault(stranger.path(), &sweep).contains("holds no sweep"));
}

#[test]
fn a_file_that_a_key_names_and_that_has_changed_is_something_else() {
    let dir = tempfile::tempdir().unwrap();
    let (board, runs) = (dir.path().join("board.toml"), dir.path().join("runs"));
    let telosb = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../boards/telosb-contiki.toml"
    );
    fs::copy(telosb, &board).unwrap();
    let axis = Axis::parse(&format!("run.board={}", board.display())).unwrap();
    let points = points(&[axis], Design::Grid, 1).unwrap();
    let sweep = || Sweep::new(experiment("ideal"), points.clone(), vec![1], program("one"));
    let task = Folder::of(&runs, &sweep().unwrap())
        .unwrap()
        .task(0)
        .unwrap();
    let text = fs::read_to_string(&board).unwrap();
    fs::write(&board, text + "# Measured again.\n").unwrap();
    let why = fault(&runs, &sweep().unwrap());
    assert!(
        why.contains("board.toml\" with files that have changed"),
        "{why}"
    );
    let why = task.run(&runs, &program("one"), &|_| Continue(()));
    let why = why.unwrap_err();
    assert!(
        why.to_string().contains("a file that it names has changed"),
        "{why}"
    );
}

#[test]
fn a_task_is_text_that_another_process_takes_and_another_build_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = sweep_of("1,2", &[7]);
    let folder = Folder::of(dir.path(), &sweep).unwrap();
    let task = folder.missing().next().unwrap();
    let text = serde_json::to_string(&task).unwrap();
    let there: Task = serde_json::from_str(&text).unwrap();
    let go_on = |_| Continue(());
    assert_eq!(
        there.run(dir.path(), &program("one"), &go_on).unwrap(),
        task.run(dir.path(), &program("one"), &go_on).unwrap()
    );
    let why = there.run(dir.path(), &program("two"), &go_on);
    let why = why.unwrap_err().to_string();
    assert!(why.contains("is of another build"), "{why}");
}

#[test]
fn marks_of_the_dead_keep_nobody_from_a_part_and_are_gone_when_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = sweep_of("1,2,3,4", &[1]);
    let folder = Folder::of(dir.path(), &sweep).unwrap();
    for task in folder.missing() {
        assert_eq!(folder.claim(&task).unwrap(), Claim::Ours);
        assert_eq!(folder.claim(&task).unwrap(), Claim::Theirs);
    }
    let old = dir.path().join("dead.csv.1-2.part");
    let file = File::create(&old).unwrap();
    file.set_modified(SystemTime::now() - RUBBISH * 2).unwrap();
    folder.tidy().unwrap();
    assert!(!old.exists());
    assert_eq!(made(dir.path(), &sweep, "1/1"), 2);
    assert_eq!(files(dir.path()).len(), 2 + 1);
}

#[test]
fn shards_cover_all_parts_once() {
    let shards: Vec<Shard> = ["1/3", "2/3", "3/3"].map(|s| s.parse().unwrap()).into();
    for part in 0..7 {
        assert_eq!(shards.iter().filter(|shard| shard.has(part)).count(), 1);
    }
    for wrong in ["0/3", "4/3", "1/0", "1", "a/b", ""] {
        assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
    }
}

#[test]
fn results_are_those_of_the_experiment_run_at_each_point() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = sweep_of("2,[3],[4,5]", &[1, 2, 3]);
    made(dir.path(), &sweep, "1/2");
    let folder = Folder::open(dir.path()).unwrap();
    assert!(folder.status().done < folder.parts());
    made(dir.path(), &sweep, "2/2");
    let reports = Folder::open(dir.path()).unwrap().reports().unwrap();
    assert_eq!(reports.len(), 3);
    for (point, report) in reports {
        let change = ("run.hops", point.at["run.hops"].clone());
        let changed = sweep.experiment().with(&[change]).unwrap();
        let run = crate::ExperimentRun::new(changed)
            .unwrap()
            .seeds(vec![1, 2, 3]);
        let lab = crate::Lab::new(Some(NonZeroUsize::MIN)).unwrap();
        let direct = lab.report(&run, &|_| Continue(())).unwrap();
        let measured = |report: &thalweg_lab::experiment::Report| -> Vec<_> {
            report.results.iter().map(|r| r.measured.clone()).collect()
        };
        assert_eq!(measured(&report), measured(&direct));
        assert!(!report.results.is_empty());
    }
}

#[test]
fn networks_that_are_values_lie_in_the_folder_and_are_told_apart_by_what_they_are() {
    use super::super::networks::Networks;
    use thalweg_testbeds::LinkRow;
    let link = |src, dst, prr| LinkRow {
        src,
        dst,
        channel: None,
        prr,
        rssi_dbm: None,
    };
    let ring = |nodes: u16, prr: f64| -> std::sync::Arc<[LinkRow]> {
        let next = |n: u16| n % nodes + 1;
        let both = |n| [link(n, next(n), prr), link(next(n), n, prr)];
        (1..=nodes).flat_map(both).collect()
    };
    let sweep = |links, hops: &str| {
        let networks = Networks::default().and("mine", links).unwrap();
        let axes = [&format!("run.hops={hops}"), "run.testbed=mine"];
        let axes = axes.map(|axis| Axis::parse(axis).unwrap());
        let points = points(&axes, Design::Grid, 1).unwrap();
        Sweep::over(
            networks,
            measuring("rate", "ideal"),
            points,
            vec![1],
            program("one"),
        )
        .unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    let asked = sweep(ring(12, 0.1 + 0.2), "1,2");
    assert_eq!(made(dir.path(), &asked, "1/1"), 1);
    assert_eq!(made(dir.path(), &asked, "1/1"), 0);
    assert_eq!(
        made(dir.path(), &sweep(ring(12, 0.1 + 0.2), "1,2,3"), "1/1"),
        1
    );
    let other = fault(dir.path(), &sweep(ring(12, 0.5), "1,2"));
    assert!(other.contains("with files that have changed"), "{other}");
    // A part is made over the links that the folder keeps.
    let task = Folder::open(dir.path()).unwrap().task(0).unwrap();
    let go_on = |_| Continue(());
    assert!(task.run(dir.path(), &program("one"), &go_on).is_ok());
    let file = listed(dir.path()).unwrap();
    let file = file.iter().find(|name| name.ends_with(".links")).unwrap();
    fs::write(
        dir.path().join(file),
        "src,dst,channel,prr,rssi_dbm\n1,2,,0.5,\n",
    )
    .unwrap();
    let why = task.run(dir.path(), &program("one"), &go_on).unwrap_err();
    assert!(why.to_string().ends_with("the links were changed"), "{why}");
    let twice = Networks::default().and("mine", ring(3, 1.0)).unwrap();
    let why = twice.and("mine", ring(3, 0.9)).unwrap_err().to_string();
    assert_eq!(
        why,
        "two networks are called \"mine\": give one another name"
    );
}
