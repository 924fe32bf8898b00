//! Experiments as a stranger runs them.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::ops::ControlFlow::{Break, Continue};
use thalweg::{
    results_of, Error, ErrorKind, Experiment, ExperimentRun, Extent, Lab, LinkRow, RunOption, Step,
    Testbed,
};

fn quick(name: &str) -> ExperimentRun {
    ExperimentRun::of(name).unwrap().quick().unwrap()
}

#[test]
fn a_run_is_judged_by_its_paper_and_in_another_network_by_nobody() {
    let own = quick("cit.fig6");
    let lab = Lab::new(None).unwrap();
    let report = lab.report(&own, &|_| Continue(())).unwrap();
    assert!(report.results.iter().any(|r| r.within.is_some()));
    let few = RunOption::Routes(1);
    let elsewhere = RunOption::Testbed("ring12".to_owned());
    let other = quick("cit.fig6").with(&[elsewhere]).unwrap();
    let report = lab.report(&other.seeds(vec![1]), &|_| Continue(()));
    assert!(report.unwrap().results.iter().all(|r| r.within.is_none()));
    let refused = own.with(&[few]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cit.fig6: routes is not for experiments of this kind"
    );
}

#[test]
fn results_come_in_order_and_the_same_run_is_made_once() {
    let lab = Lab::new(None).unwrap();
    let runs = ["cit.fig6", "cit.bounds", "cit.fig6"].map(quick);
    let (awaited, mut rows) = (RefCell::new(Vec::new()), Vec::new());
    let waits = |run: &ExperimentRun| awaited.borrow_mut().push(run.experiment().id.clone());
    let each = |run: &ExperimentRun, of: Vec<_>| {
        rows.push((run.experiment().id.clone(), of));
        Ok::<_, Error>(())
    };
    lab.each(&runs, &|_| Continue(()), waits, each).unwrap();
    let ids: Vec<&str> = rows.iter().map(|(id, _)| &**id).collect();
    assert_eq!(ids, ["cit.fig6", "cit.bounds", "cit.fig6"]);
    assert_eq!(awaited.into_inner(), ids);
    assert!(!rows[0].1.is_empty() && rows[0] == rows[2]);
}

#[test]
fn an_observer_stops_all_that_runs() {
    let stop = |step: Step<'_>| match step {
        Step::Done { .. } => Break(()),
        _ => Continue(()),
    };
    let stopped = Lab::new(None).unwrap().rows(&quick("cit.fig6"), &stop);
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Stopped);
}

#[test]
fn results_are_found_by_paper_and_by_name() {
    let (all, none) = results_of(&["cit".to_owned()], Extent::Full).unwrap();
    assert!(all.len() > 3 && none.is_empty());
    assert!(all.iter().all(|e| e.paper.as_deref() == Some("cit")));
    let unknown = results_of(&["nope".to_owned()], Extent::Quick).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Input);
    assert!(unknown.to_string().contains("rcrt"), "{unknown}");
}

/// A testbed that is a value takes a name; the digest of a run tells it from a file of that name, and from other losses.
#[test]
fn experiments_run_over_links_that_are_values() {
    let link = |(src, dst)| LinkRow {
        src,
        dst,
        channel: None,
        prr: 1.0,
        rssi_dbm: None,
    };
    let links: Vec<LinkRow> = [(1, 2), (2, 1), (2, 3), (3, 2)].map(link).to_vec();
    let mine = Testbed::of_links("mine", &links).unwrap();
    let changes = [
        ("run.testbed", "mine".into()),
        ("run.routes", 1.into()),
        ("run.packets", 20.into()),
        (
            "run.route",
            "{ min_hops = 1, min_paths = 1, floors = 'any' }"
                .parse()
                .unwrap(),
        ),
        ("seeds", 1.into()),
    ];
    let text =
        "id = 'mine'\ntitle = 'mine'\n[run]\nkind = 'transfers'\ntestbed = 'x'\nprotocols = 'pip'";
    let experiment: Experiment = text.parse().unwrap();
    let run = ExperimentRun::new(experiment.with(&changes).unwrap()).unwrap();
    let lab = Lab::new(NonZeroUsize::new(1)).unwrap();
    let unknown = lab.rows(&run, &|_| Continue(())).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Input);
    let digest = lab.digest(&run);
    let lab = lab.knowing("mine", mine).unwrap();
    assert_ne!(lab.digest(&run), digest);
    let rows = lab.rows(&run, &|_| Continue(())).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].number("verified"), Some(1.0), "{rows:?}");
}
