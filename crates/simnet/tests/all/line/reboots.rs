//! A base station that is killed and started again: what it was at ends typed, and is tried again.

use super::bench::{assert_whole, collect, line, setup, site, Place, Station};
use std::ops::ControlFlow::Continue;
use std::time::{Duration, Instant};
use thalweg_host::job::{run, Failure, Job, Progress};
use thalweg_host::network::{Network, Notice};
use thalweg_host::survey::{Survey, SurveyJob};
use thalweg_simnet::basestation::Setup;
use thalweg_units::ChannelSet;

const BYTES: u32 = 30_000;

#[test]
fn a_transfer_that_a_reboot_breaks_off_is_tried_again_and_is_whole() {
    let site = site("pair");
    // Not so fast that it is over before it is broken off.
    let slow = |boot| Setup {
        boot,
        speed: 2.0,
        ..setup(BYTES)
    };
    let mut station = Some(Station::start(&site, slow(1)));
    let place = Place::of(station.as_ref().unwrap());
    let mut field = line(place.clone()).unwrap();
    let source = site.testbed.nodes.iter().map(|node| node.id);
    let source = source.filter(|id| *id != site.testbed.sink);
    let sources: Vec<u16> = source.take(1).map(|id| id.get()).collect();
    let (mut boots, mut begun) = (1, 0);
    let reports = collect(
        &mut field,
        &site,
        (&sources, BYTES),
        |progress| match progress {
            Progress::WakingUp => begun += 1,
            Progress::Packets { received, .. } if received > 20 && boots == 1 => {
                station.take().unwrap().kill();
                boots = 2;
                station = Some(Station::start(&site, slow(2)));
                place.moved(station.as_ref().unwrap());
            }
            _ => {}
        },
    );
    let reports = reports.unwrap();
    assert_eq!(boots, 2, "it was killed in the middle");
    assert!(begun >= 2, "it was begun again");
    assert_whole(&reports[0], BYTES);
    assert_eq!(field.station().unwrap().boot, 2);
}

#[test]
fn a_job_is_told_of_silence_and_then_of_the_new_boot() {
    let site = site("pair");
    let station = Station::start(&site, setup(100));
    let place = Place::of(&station);
    let mut field = line(place.clone()).unwrap();
    station.kill();
    let second = thalweg_units::Duration::from_secs(1);
    let sink = site.testbed.sink;
    let news = field.next(field.now() + second * 5).unwrap();
    assert_eq!(news, Notice::Silent(sink));
    let again = Station::start(
        &site,
        Setup {
            boot: 9,
            ..setup(100)
        },
    );
    place.moved(&again);
    let news = field.next(field.now() + second * 5).unwrap();
    assert_eq!(news, Notice::Restarted(sink));
    assert_eq!(field.wait(Duration::from_secs(5)).unwrap().boot, 9);
}

#[test]
fn a_survey_of_a_base_station_that_goes_away_fails_typed() {
    let site = site("pair");
    let mut station = Some(Station::start(
        &site,
        Setup {
            speed: 1.0,
            ..setup(100)
        },
    ));
    let mut field = line(Place::of(station.as_ref().unwrap())).unwrap();
    let ids: Vec<_> = site.testbed.nodes.iter().map(|node| node.id).collect();
    let sink = site.testbed.sink;
    let survey = Survey::of(ChannelSet::ALL);
    let mut job = SurveyJob::new(survey, &ids, None, &site.board.timing, sink).unwrap();
    let began = Instant::now();
    let failed = run(&mut field, &mut job, &mut |_| {
        drop(station.take());
        Continue(())
    });
    let why = failed.map(|_| ()).unwrap_err();
    assert!(
        matches!(why, Failure::Silent(node) if node == sink),
        "{why}"
    );
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(!job.stop().is_empty());
}
