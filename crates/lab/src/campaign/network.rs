//! The ways of emptying a network that are compared (`p3.network`), each with the survey that it needs.

use super::run::Settings;
use thalweg_gateway::carry::pipeline::Terms;
use thalweg_gateway::job::{Again, Retry};
use thalweg_gateway::registry::Pipelined;
use thalweg_gateway::survey::Survey;
use thalweg_planner::concurrent::Reuse;
use thalweg_planner::RouteRequest;
use thalweg_planner::Style;
use thalweg_testbeds::{Site, Station};
use thalweg_units::{Channel, ChannelSet, Duration};
use thalweg_wire::route::Scheme;

/// A way of emptying a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One transfer after the other into the testbed's own sink, as P3, section IV-D3 counts: links
    /// measured on channel 26, ten beacons 100 ms apart; four channels that Wi-Fi leaves alone.
    Paper,
    /// One base station at one end of the building, with so many radios.
    OneEnd {
        /// Radios.
        radios: u16,
    },
    /// One base station in the middle of the building, with so many radios.
    Middle {
        /// Radios.
        radios: u16,
    },
    /// One base station at each end of the building, each with so many radios.
    BothEnds {
        /// Radios of each.
        radios: u16,
        /// Whether the ends may use the same channels.
        reuse: Reuse,
    },
}

impl Mode {
    /// Those that `p3.network` compares.
    pub const ALL: [Self; 8] = [
        Self::Paper,
        Self::OneEnd { radios: 1 },
        Self::Middle { radios: 1 },
        Self::Middle { radios: 2 },
        Self::BothEnds {
            radios: 1,
            reuse: Reuse::Never,
        },
        Self::BothEnds {
            radios: 1,
            reuse: Reuse::OutOfEarshot,
        },
        Self::BothEnds {
            radios: 2,
            reuse: Reuse::OutOfEarshot,
        },
        Self::BothEnds {
            radios: 4,
            reuse: Reuse::OutOfEarshot,
        },
    ];

    /// Its name in tables.
    pub fn name(self) -> String {
        match self {
            Self::Paper => "paper".to_owned(),
            Self::OneEnd { radios } => format!("one-end-{radios}"),
            Self::Middle { radios } => format!("middle-{radios}"),
            Self::BothEnds {
                radios,
                reuse: Reuse::Never,
            } => format!("both-ends-{radios}"),
            Self::BothEnds {
                radios,
                reuse: Reuse::OutOfEarshot,
            } => {
                format!("both-ends-{radios}-reuse")
            }
        }
    }
    /// The one of [`Mode::ALL`] with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
    /// Base stations.
    pub const fn stations(self) -> usize {
        match self {
            Self::BothEnds { .. } => 2,
            Self::Paper | Self::OneEnd { .. } | Self::Middle { .. } => 1,
        }
    }

    /// How `site` is emptied of `bytes` bytes a node this way, by `variant`, with
    /// the links on `channels` measured where that is not told by the mode or the variant.
    pub fn settings(
        self,
        site: &Site,
        variant: Pipelined,
        channels: ChannelSet,
        bytes: u32,
    ) -> Settings {
        /// The ends' stations stand a little inside.
        const END: f64 = 0.03;
        let put_up = |along, radios| Station::PutUp { along, radios };
        let mut route = RouteRequest::new(0, 0);
        route.rule.floor = site.board.chip.noise_floor;
        route.fallback = route.rule.weaker();
        let mut route = variant.request(&route);
        let packets = bytes.div_ceil(route.transfer.cycle.payload_bytes.max(1) as u32);
        route.transfer.packets = packets;
        let faithful = route.channels.clone();
        let (stations, reuse) = match self {
            Self::Paper => (vec![Station::Node(site.testbed.sink)], Reuse::Never),
            Self::OneEnd { radios } => (vec![put_up(END, radios)], Reuse::Never),
            Self::Middle { radios } => (vec![put_up(0.5, radios)], Reuse::Never),
            Self::BothEnds { radios, reuse } => {
                (vec![put_up(END, radios), put_up(1.0 - END, radios)], reuse)
            }
        };
        // A transfer that takes four times as long as a good one is better begun anew, with other
        // halves: the others of its wave wait for it.
        let good_s = (route.transfer.cycle.period() * u64::from(packets)).as_secs_f64();
        let patience = (good_s * 4.0).ceil().clamp(2.0, 600.0) as u16;
        let alone = stations.iter().map(Station::radios).sum::<usize>() == 1;
        let survey = match (alone, variant.style) {
            (true, Style::Paths) => Survey {
                channels: [Channel::LAST].into_iter().collect(),
                interval: Duration::from_millis(100),
                ..Survey::of(channels)
            },
            (true, Style::Chains) => Survey::of(faithful.iter().copied().collect()),
            (false, _) => Survey::of(channels),
        };
        if !alone {
            // So many relays fit into one flood, and leave some for the others. What runs over one
            // path takes no more than that.
            route.max_paths = match variant.scheme {
                Scheme::P3 => Some(route.min_paths),
                _ => Some(1),
            };
        }
        Settings {
            stations,
            survey,
            bytes,
            sources: None,
            scheme: variant.scheme,
            terms: variant.terms(Terms {
                deadline_s: patience,
                ..Terms::default()
            }),
            route,
            channels: alone.then_some(faithful),
            reuse,
            least_share: 0.6,
            candidates: 12,
            retry: Retry {
                attempts: 3,
                again: Again::Later,
            },
        }
    }
}
