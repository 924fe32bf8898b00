//! The ways of emptying a network that are compared (`p3.network`), each with the survey that it needs.

use super::run::{Settings, Sources};
use crate::collect::Object;
use thalweg_host::collector::Patience;
use thalweg_host::registry::Pipelined;
use thalweg_host::survey::Survey;
use thalweg_host::waves::{Air, Terms};
use thalweg_planner::concurrent::Reuse;
use thalweg_planner::Style;
use thalweg_testbeds::{Site, Station};
use thalweg_units::{ChannelSet, Duration};
use thalweg_wire::route::PayloadSize;

/// A way of emptying a network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// Its name in files and tables.
    pub name: &'static str,
    /// Where base stations are put up along the building, 0 to 1; none for the testbed's own sink alone, as
    /// P3, section IV-D3 counts: links measured on channel 26, ten beacons 100 ms apart; four channels that
    /// Wi-Fi leaves alone.
    along: &'static [f64],
    /// Radios of each.
    radios: u16,
    /// Whether they may use the same channels.
    reuse: Reuse,
}

/// The ends' stations stand a little inside.
const ONE_END: &[f64] = &[0.03];
const ENDS: &[f64] = &[0.03, 0.97];
const MIDDLE: &[f64] = &[0.5];

impl Mode {
    /// Those that `p3.network` compares.
    pub const ALL: [Self; 8] = [
        Self::new("paper", &[], 1, Reuse::Never),
        Self::new("one-end-1", ONE_END, 1, Reuse::Never),
        Self::new("middle-1", MIDDLE, 1, Reuse::Never),
        Self::new("middle-2", MIDDLE, 2, Reuse::Never),
        Self::new("both-ends-1", ENDS, 1, Reuse::Never),
        Self::new("both-ends-1-reuse", ENDS, 1, Reuse::OutOfEarshot),
        Self::new("both-ends-2-reuse", ENDS, 2, Reuse::OutOfEarshot),
        Self::new("both-ends-4-reuse", ENDS, 4, Reuse::OutOfEarshot),
    ];

    const fn new(name: &'static str, along: &'static [f64], radios: u16, reuse: Reuse) -> Self {
        Self {
            name,
            along,
            radios,
            reuse,
        }
    }
    /// The one of [`Mode::ALL`] with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name == name)
    }
    /// Base stations.
    pub fn stations(self) -> usize {
        self.along.len().max(1)
    }

    /// How `site` is emptied of `object` this way by `variant`. Links are measured on `channels` unless the mode or the
    /// variant says otherwise.
    pub fn settings(
        self,
        site: &Site,
        variant: Pipelined,
        channels: ChannelSet,
        object: Object,
    ) -> Settings {
        let (along, radios) = (self.along.iter(), self.radios);
        let stations: Vec<Station> = match self.along {
            [] => vec![Station::Node(site.testbed.sink)],
            _ => along
                .map(|&along| Station::PutUp { along, radios })
                .collect(),
        };
        let there = site.testbed.channels;
        let channels = match channels.iter().all(|channel| there.contains(channel)) {
            true => channels,
            false => there,
        };
        let settings = Settings::of(site, variant, stations, channels, object, PayloadSize::MAX);
        Settings {
            waves: Terms {
                reuse: self.reuse,
                ..settings.waves
            },
            ..settings
        }
    }
}

impl Settings {
    /// How `site` is emptied of `object` in packets of `payload` into `stations` by `variant`. Where there are
    /// several radios, the links on `channels` are measured, and transfers at once share those of them that
    /// link the network well; none is used twice at a time.
    pub fn of(
        site: &Site,
        variant: Pipelined,
        stations: Vec<Station>,
        channels: ChannelSet,
        object: Object,
        payload: PayloadSize,
    ) -> Self {
        let radios = stations.iter().map(Station::radios).sum::<usize>();
        let air = Air {
            floor: site.board.chip.noise_floor,
            control: site.testbed.control,
            there: site.testbed.channels,
            channels,
        };
        let waves = Terms::new(variant, air, (object.bytes(), payload), radios);
        let waves = waves.sealed(site.sealing());
        let survey = match (radios == 1, variant.style) {
            (true, Style::Paths) => Survey {
                channels: [waves.route.routing_channel].into_iter().collect(),
                interval: Duration::from_millis(100),
                ..Survey::of(channels)
            },
            (true, Style::Chains | Style::Hops) => {
                let named = waves.channels.iter().flatten().copied();
                variant.survey(match waves.channels {
                    Some(_) => named.collect(),
                    None => channels,
                })
            }
            (false, _) => variant.survey(channels),
        };
        Self {
            stations,
            survey,
            object,
            sources: Sources::All,
            waves,
            patience: Patience::DEFAULT,
        }
    }
}
