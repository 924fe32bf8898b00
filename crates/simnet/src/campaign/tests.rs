//! Campaigns on one floor: small, whole, and the same every time.

use super::{CampaignError, InWave, Mode, Phase, Settings, Sources};
use crate::collect::Object;
use std::ops::ControlFlow::{self, Break, Continue};
use thalweg_host::job::Progress;
use thalweg_host::outcome::Outcome;
use thalweg_host::registry::Pipelined;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::ChannelSet;

const BYTES: u32 = 5_000;

fn empty(
    site: &Site,
    settings: &Settings,
    observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<super::Campaign, CampaignError> {
    super::empty(site, settings, observer, &mut |_, _| Continue(()))
}

const fn random(bytes: u32) -> Object {
    Object::Random { bytes }
}

fn floor(seed: u64) -> Site {
    Site::new(Testbed::load("floor21").unwrap(), seed)
}

fn mode(name: &str) -> Mode {
    Mode::named(name).unwrap()
}

#[test]
fn everything_arrives_once_and_time_adds_up() {
    let site = floor(1);
    for mode in ["paper", "both-ends-1-reuse"].map(mode) {
        let mut settings = mode.settings(&site, Pipelined::P3, ChannelSet::ALL, random(BYTES));
        // What is on trial here are waves, not routes.
        (
            settings.waves.route.min_paths,
            settings.waves.route.max_paths,
        ) = (2, Some(3));
        let mut waves = Vec::new();
        let campaign = empty(&site, &settings, &mut |step| {
            if let Progress::Wave { number, .. } = step {
                waves.push(number);
            }
            Continue(())
        })
        .unwrap();
        let mut delivered: Vec<u16> = (campaign.transfers.iter())
            .filter(|t| t.summary.verified)
            .map(|t| t.summary.source.get())
            .collect();
        let count = delivered.len();
        delivered.sort_unstable();
        delivered.dedup();
        assert_eq!(delivered.len(), count, "{mode:?}: somebody twice");
        assert!(count * 10 >= campaign.sources * 9, "{mode:?}: {count}");
        assert_eq!(campaign.bytes(), u64::from(BYTES) * count as u64);
        assert!(campaign.transfers.iter().all(|t| !t.details.wrong));
        for wave in 0..campaign.waves {
            let at_once = campaign.transfers.iter().filter(|t| t.details.wave == wave);
            assert!(at_once.count() <= campaign.radios);
        }
        assert!(campaign.phase_s(Phase::Transferring) > 0.0);
        assert!(campaign.busy_s >= 0.0 && campaign.network_energy_j > campaign.survey_energy_j);
        let parts = [
            Phase::Waiting,
            Phase::WakingUp,
            Phase::Transferring,
            Phase::Ending,
        ];
        let parts: f64 = parts.iter().map(|part| campaign.phase_s(*part)).sum();
        assert!((parts - campaign.download_s()).abs() < 1e-6);
        // Transfers of a wave take no longer together than one after the other.
        let alone: f64 = campaign
            .transfers
            .iter()
            .map(|t| t.summary.duration_s)
            .sum();
        let transferring_s = campaign.phase_s(Phase::Transferring);
        assert!(transferring_s <= alone);
        assert!(waves.iter().copied().eq(0..campaign.waves));
        if mode.stations() > 1 {
            assert!(campaign.busy_s > transferring_s, "{campaign:?}");
        }
    }
}

#[test]
fn pip_runs_over_one_path_and_is_counted_as_it_ends() {
    let site = floor(2);
    for mode in ["paper", "both-ends-1-reuse"].map(mode) {
        let mut settings = mode.settings(&site, Pipelined::PIP, ChannelSet::ALL, random(2_000));
        settings.sources = Sources::Spread(6);
        let campaign = empty(&site, &settings, &mut |_| Continue(())).unwrap();
        assert!(campaign.transfers.iter().any(|t| t.summary.verified));
        let planned = campaign.transfers.iter().filter(|t| t.summary.hops > 0);
        for (t, extra) in planned.map(|t| (&t.summary, t.details)) {
            assert_eq!((t.paths, t.active_nodes), (1, t.hops + 1), "{mode:?}");
            assert_eq!(t.verified, t.failure.is_none());
            assert!(!extra.wrong && extra.predicted_kbps < 110.0 || t.hops == 1);
        }
    }
}

#[test]
fn who_fails_in_all_its_waves_is_fetched_from_alone_at_the_end() {
    let site = floor(1);
    let thalweg = Pipelined::named("thalweg").unwrap();
    let object = random(40_000);
    let mut settings =
        mode("both-ends-1-reuse").settings(&site, thalweg, ChannelSet::ALL, object.clone());
    settings.sources = Sources::Spread(3);
    // No wave has time for such an object.
    settings.waves.transfer.deadline_s = 1;
    let (mut turns, mut whole) = (Vec::new(), 0);
    let mut over = |turn: &Outcome<InWave>, bytes: Option<&[u8]>| {
        turns.push(turn.summary.source);
        let offered = object.of(1, turn.summary.source);
        whole += usize::from(bytes == Some(&offered[..]));
        Continue(())
    };
    let campaign = super::empty(&site, &settings, &mut |_| Continue(()), &mut over).unwrap();
    turns.sort_unstable();
    turns.dedup();
    assert_eq!((turns.len(), whole), (3, 3));
    let (good, failed): (Vec<_>, Vec<_>) =
        (campaign.transfers.iter()).partition(|t| t.summary.verified);
    assert_eq!((good.len(), failed.len()), (3, 9));
    for one in good {
        assert!(one.summary.attempts > 3 && !one.details.wrong && one.summary.seed == 1);
        let wave = one.details.wave;
        let beside = campaign.transfers.iter().filter(|t| t.details.wave == wave);
        assert_eq!(beside.count(), 1);
    }
    assert_eq!(whole, campaign.sources);
}

#[test]
fn the_same_seed_gives_the_same_campaign() {
    let run = |seed| {
        let site = floor(seed);
        let mode = mode("both-ends-1-reuse");
        let mut settings = mode.settings(
            &site,
            Pipelined::named("p3-best").unwrap(),
            ChannelSet::ALL,
            random(2_000),
        );
        settings.sources = Sources::Spread(6);
        empty(&site, &settings, &mut |_| Continue(())).unwrap()
    };
    let campaign = run(3);
    assert_eq!(campaign, run(3));
    assert_ne!(campaign, run(4));
    assert_eq!((campaign.sources, campaign.radios), (6, 2));
}

#[test]
fn an_observer_may_stop_it() {
    let site = floor(1);
    let settings = mode("paper").settings(&site, Pipelined::P3, ChannelSet::ALL, random(BYTES));
    let stopped = empty(&site, &settings, &mut |_| Break(()));
    assert!(matches!(stopped, Err(CampaignError::Run(why)) if why.is_stop()));
}
