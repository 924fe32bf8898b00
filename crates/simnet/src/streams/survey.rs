//! The survey of nodes with two radios: one band after the other, as in P3 (section IV-D1: beacons in turn, tables
//! collected by floods).
//!
//! Time base: simulated time; each band is a network of its own, switched on afresh. Invariant: a planner
//! learns of links only what the base station received. Tests: `crates/simnet/tests/all/streams/survey.rs`.

use super::CollectError;
use crate::collect::ProgressObserver;
use crate::motes::Motes;
use serde::Serialize;
use thalweg_host::job::Progress;
use thalweg_host::survey::{Survey, SurveyCost};
use thalweg_medium::random::derive;
use thalweg_planner::streams::{Radio, Radios, StreamRequest};
use thalweg_planner::{LinkModel, LinkQualities};
use thalweg_protocols::fastforward::Config as FastForwardConfig;
use thalweg_protocols::floodnet;
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Channel900, ChannelSet, Tuning};

/// Links of both bands, as measured.
#[derive(Debug, Clone)]
pub struct DualLinks {
    bands: [Band; 2],
    /// Nodes that paths avoid.
    avoided: Vec<usize>,
}

#[derive(Debug, Clone)]
struct Band {
    links: LinkQualities,
    channels: ChannelSet,
    /// Learned from the survey: ten beacons cannot separate a good link from a fair one, the signal level can.
    model: LinkModel,
}

/// The cost of the survey.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DualSurveyCost {
    /// At 2.4 GHz.
    pub ghz2_4: SurveyCost,
    /// At 900 MHz; none where one radio is enough.
    pub mhz900: Option<SurveyCost>,
}

impl DualSurveyCost {
    /// Seconds of both bands, one after the other.
    pub fn seconds(&self) -> f64 {
        self.bands().map(SurveyCost::seconds).sum()
    }
    /// Energy of all nodes over both, in joules: of each the radio that measures, and the microcontroller.
    pub fn network_joules(&self) -> Option<f64> {
        self.bands().map(|cost| cost.network_energy_j).sum()
    }
    fn bands(&self) -> impl Iterator<Item = &SurveyCost> {
        [&self.ghz2_4].into_iter().chain(&self.mhz900)
    }
}

impl DualLinks {
    /// Has the nodes of `site` measure the links on the channels that streams over `radios` may have, and
    /// report them to node `sink`. Losses that were injected come later.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn measure(
        site: &Site,
        radios: Radios,
        sink: usize,
        observer: ProgressObserver<'_>,
    ) -> Result<(Self, DualSurveyCost), CollectError> {
        let channels = site.testbed.channels;
        let first = Site::new(site.testbed.clone(), site.seed);
        let (one, ghz2_4) = FIRST.survey(&first, sink, channels, &mut *observer)?;
        let second = site
            .second_radio()
            .filter(|_| radios == Radios::Alternating);
        let (two, mhz900) = match second {
            None => {
                let nothing = Band {
                    links: LinkQualities::new(site.testbed.len()),
                    channels: ChannelSet::default(),
                    model: LinkModel::UNKNOWN,
                };
                (nothing, None)
            }
            Some(second) => {
                let channels = channels_900(channels.len());
                let (two, cost) = SECOND.survey(&second, sink, channels, observer)?;
                (two, Some(cost))
            }
        };
        let bands = [one, two];
        let avoided = Vec::new();
        Ok((Self { bands, avoided }, DualSurveyCost { ghz2_4, mhz900 }))
    }

    fn band(&self, on: Tuning) -> &Band {
        let [first, second] = &self.bands;
        match on {
            Tuning::Ghz2_4(_) => first,
            Tuning::Mhz900(_) => second,
        }
    }

    /// Leaves `nodes` out of paths that are planned from now on.
    pub(super) fn avoid(&mut self, nodes: impl IntoIterator<Item = usize>) {
        self.avoided.extend(nodes);
    }

    /// `request` on the channels that were measured.
    pub(super) fn measured(&self, request: &StreamRequest) -> StreamRequest {
        let is_measured = |on: Tuning| self.band(on).channels.contains(on.place());
        let mut request = request.clone();
        request.ghz2_4.retain(|c| is_measured(Tuning::Ghz2_4(*c)));
        request.mhz900.retain(|c| is_measured(Tuning::Mhz900(*c)));
        request
    }
}

impl Radio for DualLinks {
    fn nodes(&self) -> usize {
        self.bands[0].links.nodes()
    }
    fn reception(&self, from: usize, to: usize, on: Tuning) -> f64 {
        if [from, to].iter().any(|n| self.avoided.contains(n)) {
            return 0.0;
        }
        let band = self.band(on);
        let quality = band.links.quality(from, to, on.place());
        quality.map_or(0.0, |quality| band.model.delivery(&quality))
    }
    fn unheard(&self, on: Tuning) -> f64 {
        self.band(on).model.unheard().0
    }
    fn level(&self, from: usize, to: usize, on: Tuning) -> Option<f64> {
        let rssi = self.band(on).links.rssi(from, to, on.place());
        rssi.map(|rssi| rssi.0)
    }
}

/// As many channels of 900 MHz as of 2.4 GHz, spread over the band, and that on which nodes are called.
fn channels_900(most: usize) -> ChannelSet {
    let all: Vec<Channel> = (1..=Channel900::COUNT as u8)
        .filter_map(Channel900::new)
        .map(Tuning::Mhz900)
        .filter(|on| *on != FastForwardConfig::CALLING)
        .map(Tuning::place)
        .collect();
    let take = most.clamp(2, all.len());
    let spread = (0..take).filter_map(|n| all.get(n * all.len() / take).copied());
    spread.chain([FastForwardConfig::CALLING.place()]).collect()
}

/// How one radio measures.
struct Measuring {
    /// The name of its band.
    band: &'static str,
    /// Names its random stream.
    purpose: &'static str,
}

const FIRST: Measuring = Measuring {
    band: "2.4 GHz",
    purpose: "survey",
};
const SECOND: Measuring = Measuring {
    band: "900 MHz",
    purpose: "survey of the second radio",
};

impl Measuring {
    /// Has the nodes of `site`, each with one radio, measure `channels` and report to node `sink`.
    fn survey(
        &self,
        site: &Site,
        sink: usize,
        channels: ChannelSet,
        observer: ProgressObserver<'_>,
    ) -> Result<(Band, SurveyCost), CollectError> {
        let mut config = floodnet::Config::default();
        // Floods go over the last channel that is measured.
        let flooding = channels.iter().last().unwrap_or(Channel::LAST);
        config.glossy.channel = flooding;
        let config = config.on(&site.board.timing);
        let seed = derive(site.seed, self.purpose, &[]);
        let mut session = Motes::open_with(site, config, seed)?;
        let mut watch = |step: Progress| observer(self.band, step);
        let surveyed = session.survey(sink, Survey::of(channels), &mut watch)?;
        let cost = surveyed.cost(flooding);
        let band = Band {
            model: LinkModel::learned(&surveyed.links, site.board.chip.noise_floor),
            links: surveyed.links,
            channels,
        };
        Ok((band, cost))
    }
}
