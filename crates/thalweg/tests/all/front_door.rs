//! The library as a stranger uses it.

use thalweg::{Error, ErrorKind, Network};
use thalweg_host::job::Progress;
use thalweg_units::NodeId;

fn line() -> Network {
    Network::open("line5").unwrap().seed(7).random_object(1_000)
}

#[test]
fn five_lines_bring_an_object_and_the_same_seed_the_same_one() {
    let got = line().collect(5).unwrap();
    let object = got.object().unwrap();
    assert_eq!((object.len(), got.summary().source.get()), (1_000, 5));
    assert!(got.summary().verified && got.summary().goodput_kbps > 0.0);
    let again = line().collect(5).unwrap();
    assert_eq!(
        (again.object(), again.summary()),
        (Some(object), got.summary())
    );
}

#[test]
fn what_cannot_be_asked_is_said_before_anything_runs() {
    let kind = |error: Error| (error.kind(), error.to_string());
    let (of, line_of_text) = kind(Network::open("nowhere").unwrap_err());
    assert_eq!(of, ErrorKind::Input);
    assert!(line_of_text.contains("nowhere"), "{line_of_text}");
    let unknown = line().protocol("p4").unwrap_err();
    assert!(unknown.to_string().contains("p3-best"), "{unknown}");
    let node = line().collect(99).unwrap_err();
    assert_eq!(node.kind(), ErrorKind::Input);
    let hops = line().protocol("rcrt").unwrap().hops(Some(3));
    let refused = hops.check_options().unwrap_err();
    assert_eq!(refused.to_string(), "hops is not for protocol rcrt");
    let nothing = line().random_object(0).collect(5).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::Input);
}

#[test]
fn an_observer_may_stop_it() {
    let stopped = line().run(&mut |_, _| std::ops::ControlFlow::Break(()));
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Stopped);
}

#[test]
fn a_plan_tells_who_relays() {
    let network = line().from(NodeId::new(5).ok());
    let known = network
        .links(&mut |_, _| std::ops::ControlFlow::Continue(()))
        .unwrap();
    let (plan, told) = network.plan(&known).unwrap();
    assert_eq!((told.source, plan.hops), (5, told.hops));
    assert!(told.paths.iter().all(|path| path.len() == told.hops + 1));
}

/// A row of nodes, each hop with links on its channels that carry `ratio` of all frames.
fn hops(folder: &std::path::Path, hops: &[&[u8]], ratio: f64) -> Network {
    use std::fmt::Write as _;
    let mut csv = String::from("src,dst,channel,prr\n");
    for (node, channels) in (1..).zip(hops) {
        for on in *channels {
            let next = node + 1;
            writeln!(
                csv,
                "{node},{next},{on},{ratio}\n{next},{node},{on},{ratio}"
            )
            .unwrap();
        }
    }
    let file = folder.join("row.csv");
    std::fs::write(&file, csv).unwrap();
    let row = Network::open(file.to_str().unwrap()).unwrap();
    row.to(NodeId::new(1).ok()).random_object(5_000)
}

/// Twelve nodes in a row whose links carry `ratio` of all frames: for minutes none, then nearly all.
fn row(folder: &std::path::Path, ratio: f64) -> Network {
    hops(folder, &[&[26][..]; 11], ratio).random_object(10_000)
}

#[test]
fn a_node_without_a_route_is_waited_for_while_links_are_dead() {
    let folder = tempfile::tempdir().unwrap();
    let row = row(folder.path(), 0.35).seed(1);
    let waits = std::cell::Cell::new(0);
    let far = row.clone().from(NodeId::new(9).ok());
    let report = far.run(&mut |_, progress| {
        let is_wait = matches!(progress, Progress::OutOfReach { .. });
        waits.set(waits.get() + u32::from(is_wait));
        std::ops::ControlFlow::Continue(())
    });
    let report = report.unwrap();
    assert!(report.summary().verified, "{:?}", report.summary().failure);
    // Else the seed has a route from the start, and nothing is tried here.
    assert!(waits.get() > 0);
    // A protocol as published has its one survey.
    let published = row.protocol("p3").unwrap().collect(9).unwrap_err();
    assert!(published.to_string().contains("no route"), "{published}");
}

/// The first route that is found carries nothing to the end, and neither does the second.
#[test]
fn links_are_measured_until_the_object_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let row = row(folder.path(), 0.4).seed(2);
    let report = row.collect(10).unwrap();
    assert!(report.summary().verified, "{:?}", report.summary().failure);
}

/// The object of the test before comes after many surveys.
#[test]
fn a_node_is_waited_for_no_longer_than_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let row = row(folder.path(), 0.4).seed(2);
    let hasty = row.patience(Some(thalweg_units::Duration::ZERO));
    let is_whole = hasty
        .collect(10)
        .is_ok_and(|report| report.summary().verified);
    assert!(!is_whole);
}

const CHANNELS: [u8; 4] = [15, 20, 25, 26];

#[test]
fn an_object_comes_over_forty_four_hops() {
    let folder = tempfile::tempdir().unwrap();
    let row = hops(folder.path(), &[&CHANNELS[..]; 44], 0.95);
    let report = row.collect(45).unwrap();
    assert!(report.summary().verified, "{:?}", report.summary().failure);
    assert_eq!(report.summary().hops, 44);
}

/// No flood crosses this row, whatever its channel.
#[test]
fn hops_on_different_channels_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let row = hops(folder.path(), &[&[15], &[20], &[25]], 0.95);
    for control in [15, 20] {
        let control = thalweg_units::Channel::new(control).ok();
        let row = row.clone().control_channel(control).unwrap();
        let report = row.collect(4).unwrap();
        assert!(report.summary().verified, "{:?}", report.summary().failure);
    }
    // Its file says which node is far, before any survey does.
    let far = row.run(&mut |_, _| std::ops::ControlFlow::Continue(()));
    assert_eq!(far.unwrap().summary().source.get(), 4);
}

/// Seven hops, each on another channel than the next: nodes are found hop after hop.
#[test]
fn a_long_row_on_different_channels_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let channels: Vec<&[u8]> = [&[15][..], &[20], &[25]]
        .into_iter()
        .cycle()
        .take(7)
        .collect();
    let row = hops(folder.path(), &channels, 1.0).seed(1);
    let report = row.collect(8).unwrap();
    assert!(report.summary().verified, "{:?}", report.summary().failure);
    let cold = report.summary().cold.unwrap();
    assert!(cold.survey_s < 3_600.0, "found after {} s", cold.survey_s);
}

/// 28 nodes are listed, of which 20 have no power.
#[test]
fn surveys_end_with_the_patience() {
    let folder = tempfile::tempdir().unwrap();
    let nodes: String = (1..=28)
        .map(|id| format!("[[nodes]]\nid = {id}\nx_m = {id}.0\ny_m = 0.0\n"))
        .collect();
    std::fs::write(
        folder.path().join("dead.toml"),
        "name = 'dead'\nsink = 1\n[links]\nfile = 'row.csv'\n".to_owned() + &nodes,
    )
    .unwrap();
    hops(folder.path(), &[&CHANNELS[..]; 7], 1.0);
    let dead = Network::open(folder.path().join("dead.toml").to_str().unwrap()).unwrap();
    let dead = dead.patience(Some(thalweg_units::Duration::from_secs(10)));
    let report = dead.collect(8).unwrap();
    assert!(report.summary().verified, "{:?}", report.summary().failure);
    assert_eq!(report.missing().len(), 20);
    let cold = report.summary().cold.unwrap();
    assert!(cold.survey_s < 40.0, "{} s", cold.survey_s);
    let mut silent = Vec::new();
    let off = dead.from(NodeId::new(20).ok()).run(&mut |_, progress| {
        if let Progress::Silent { nodes, .. } = progress {
            silent = nodes;
        }
        std::ops::ControlFlow::Continue(())
    });
    let off = off.unwrap_err().to_string();
    assert!(off.contains(" s of the network's time in vain"), "{off}");
    assert_eq!(silent.len(), 20);
}

/// Paths and links of one's own: the transfer goes over them, and what cannot be is refused in the network's names.
#[test]
fn a_transfer_goes_by_paths_that_are_given() {
    let network = line().from(NodeId::new(5).ok()).protocol("p3").unwrap();
    let mut go_on = |_: &str, _: Progress| std::ops::ControlFlow::Continue(());
    let links = network.links(&mut go_on).unwrap();
    let path = |ids: &[u16]| -> Vec<NodeId> {
        let ids = ids.iter().map(|id| NodeId::new(*id).unwrap());
        ids.collect()
    };
    // Nodes hear their neighbours on the line alone: no planner would skip any.
    let (plan, told) = network.plan_over(&links, &[path(&[5, 3, 1])]).unwrap();
    let silent = "no link was measured from node 5 to node 3";
    assert!(told.warnings.iter().any(|w| w == silent), "{told:?}");
    let mine = network.clone().going_by(Some(plan.into()));
    let got = mine.run(&mut go_on).unwrap();
    // As published, P3 goes on by a plan of its own where one breaks off.
    assert_eq!(got.summary().attempts, 2, "{:?}", got.summary());
    let (plan, told) = network
        .plan_over(&links, &[path(&[5, 4, 3, 2, 1])])
        .unwrap();
    assert_eq!((told.hops, told.paths.len()), (4, 1));
    let mine = network.clone().going_by(Some(plan.into()));
    let got = mine.run(&mut go_on).unwrap();
    let found = (got.summary().verified, got.summary().attempts);
    assert_eq!(found, (true, 1), "{:?}", got.summary());
    let refused = |paths: &[Vec<NodeId>]| {
        let error = network.plan_over(&links, paths).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        error.to_string()
    };
    assert!(refused(&[path(&[5, 4])]).contains("node 1"));
    assert!(refused(&[path(&[5, 9, 1])]).contains("no node 9"));
    let twice = refused(&[path(&[5, 4, 1]), path(&[5, 4, 1])]);
    assert!(twice.contains("path 2: node 4 is there already"), "{twice}");
    let elsewhere = mine.from(NodeId::new(4).ok()).run(&mut go_on).unwrap_err();
    assert_eq!(elsewhere.kind(), ErrorKind::Input);
}
