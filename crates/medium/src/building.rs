//! A building as a radio environment: path loss, shadowing, fading, spread of nodes, foreign
//! traffic. The defaults are an office building like Indriya's (P3, section V-A: 139 TelosB on
//! three floors), fitted to its degree, its tree depth and the per-channel reception of P3's
//! Table I. Tests: `building_tests.rs`.

use crate::chip::Chip;
use crate::environment::{Ear, Environment};
use crate::fading::Fading;
use crate::geometry::Placement;
use crate::interference::{Interference, Source, BANDS};
use crate::links::{Link, LinksBuilder, INAUDIBLE_FACTOR};
use crate::random::{derive, normal, stream, uniform};
use crate::variation::Variation;
use crate::EarId;
use thalweg_units::{Channel, Db, Dbm, Duration};

/// Nanoseconds per metre of propagation.
const DELAY_NS_PER_M: f64 = 3.336;

/// Wi-Fi around a building.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WifiModel {
    /// Mean over nodes of the power that a node receives in its 2 MHz during a burst.
    pub power: Dbm,
    /// Standard deviation of that power over nodes and Wi-Fi channels.
    pub power_spread: Db,
    /// Least long-term probability that a burst touches a frame of `reference_air`; drawn
    /// uniformly per floor and Wi-Fi channel.
    pub hit_least: f64,
    /// Most of it.
    pub hit_most: f64,
    /// Air time of the frame that `hit_least` and `hit_most` speak of.
    pub reference_air: Duration,
    /// Bursts per second under load.
    pub on_rate_hz: f64,
    /// Bursts per second otherwise.
    pub off_rate_hz: f64,
    /// Mean length of a burst.
    pub mean_burst: Duration,
    /// Load comes and goes in steps of this.
    pub load_period: Duration,
}

impl Default for WifiModel {
    fn default() -> Self {
        Self {
            power: Dbm(-73.0),
            power_spread: Db(8.0),
            hit_least: 0.37,
            hit_most: 0.67,
            reference_air: Duration::from_micros(4256),
            on_rate_hz: 400.0,
            off_rate_hz: 12.0,
            mean_burst: Duration::from_millis(1),
            load_period: Duration::from_secs(1),
        }
    }
}

/// Rare bursts that a whole floor sees where there is no Wi-Fi: on the channels between Wi-Fi's (15, 20, 25, 26), and in
/// a building without Wi-Fi on all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CleanBurstsModel {
    /// Share of time in which they occur.
    pub on_share: f64,
    /// Share of frames of `WifiModel::reference_air` that they touch then.
    pub hit: f64,
    /// Power at a node: mean.
    pub power: Dbm,
    /// Power at a node: standard deviation.
    pub power_spread: Db,
    /// Mean length of a burst.
    pub mean_burst: Duration,
}

impl Default for CleanBurstsModel {
    /// A tenth of the frames in 4 % of the time: 0.4 % on average. Fitted to the two measurements of clean
    /// channels in the papers together: P3's Table II, where four fifths of the pairs of receivers correlate with less
    /// than 0.2, and FastForward's 95.1 % of packets over eleven hops, six of them at 2.4 GHz (section V-B).
    fn default() -> Self {
        Self {
            on_share: 0.04,
            hit: 0.10,
            power: Dbm(-55.0),
            power_spread: Db(5.0),
            mean_burst: Duration::from_micros(500),
        }
    }
}

/// All constants of a building.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildingModel {
    /// Path loss at one metre.
    pub loss_at_1m: Db,
    /// Path loss per factor of ten in distance.
    pub loss_per_decade: Db,
    /// Loss of each floor in between.
    pub loss_per_floor: Db,
    /// Standard deviation of shadowing per pair, the same both ways and on all channels.
    pub shadowing: Db,
    /// Fading between nodes of one floor.
    pub same_floor: Fading,
    /// Fading between floors.
    pub between_floors: Fading,
    /// Standard deviation of transmit power over nodes.
    pub tx_spread: Db,
    /// Standard deviation of the noise floor over nodes.
    pub noise_spread: Db,
    /// RSSI registers are off by up to this, uniformly.
    pub rssi_bias: Db,
    /// Variation around the mean of a link.
    pub variation: Variation,
    /// Foreign traffic on channels 11-14, 16-19 and 21-24.
    pub wifi: Option<WifiModel>,
    /// Common bursts where there is no Wi-Fi.
    pub clean_bursts: Option<CleanBurstsModel>,
}

impl Default for BuildingModel {
    fn default() -> Self {
        Self {
            loss_at_1m: Db(39.3),
            loss_per_decade: Db(40.5),
            loss_per_floor: Db(14.3),
            shadowing: Db(2.7),
            same_floor: Fading {
                rice_k: Some(Db(4.6)),
                taps: 10,
                mean_delay: Duration::from_nanos(60),
                lognormal: Db(0.0),
                coherence_channels: 1.5,
            },
            between_floors: Fading {
                rice_k: None,
                taps: 10,
                mean_delay: Duration::from_nanos(60),
                lognormal: Db(9.0),
                coherence_channels: 1.5,
            },
            tx_spread: Db(1.0),
            noise_spread: Db(1.0),
            rssi_bias: Db(1.0),
            variation: Variation::default(),
            wifi: Some(WifiModel::default()),
            clean_bursts: Some(CleanBurstsModel::default()),
        }
    }
}

/// Fading above its mean that is still looked for when deciding whether a pair can matter, in
/// decibels plus standard deviations of the lognormal part.
const FADING_HEADROOM: (f64, f64) = (8.0, 3.0);

impl BuildingModel {
    /// A place without walls, fading or foreign traffic: `loss_at_1m + 10 exponent log10 d`, with
    /// shadowing and node spread. What the CSMA testbeds are modelled with.
    pub fn open_plan(loss_at_1m: Db, loss_per_decade: Db, shadowing: Db, asymmetry: Db) -> Self {
        let flat = Fading {
            rice_k: Some(Db(60.0)),
            taps: 0,
            mean_delay: Duration::ZERO,
            lognormal: Db(0.0),
            coherence_channels: 1.0,
        };
        Self {
            loss_at_1m,
            loss_per_decade,
            shadowing,
            same_floor: flat,
            between_floors: flat,
            tx_spread: asymmetry,
            noise_spread: asymmetry,
            wifi: None,
            ..Self::default()
        }
    }

    /// Mean loss between two places.
    pub fn path_loss(&self, a: &Placement, b: &Placement) -> Db {
        let distance = a.position.distance_m(&b.position).max(1.0);
        let floors = f64::from(a.floor.abs_diff(b.floor));
        Db(self.loss_at_1m.0
            + self.loss_per_decade.0 * libm::log10(distance)
            + self.loss_per_floor.0 * floors)
    }

    fn interference(&self, ears: &[Ear], seed: u64) -> Interference {
        if self.wifi.is_none() && self.clean_bursts.is_none() {
            return Interference::none();
        }
        let floor_of = |ear: &Ear| ear.placement.map_or(0, |p| p.floor);
        let floors = ears.iter().map(floor_of).max().map_or(0, |floor| floor + 1);
        let sources = (0..floors)
            .map(|floor| {
                core::array::from_fn::<_, BANDS, _>(|band| {
                    let id = u64::from(floor) * BANDS as u64 + band as u64;
                    match self.wifi.filter(|_| band < BANDS - 1) {
                        Some(wifi) => Some(wifi.source(id, seed)),
                        None => self.clean_bursts.map(|clean| clean.source(id, self.wifi)),
                    }
                })
            })
            .collect();
        let powers = ears
            .iter()
            .enumerate()
            .map(|(number, ear)| {
                let mut rng = stream(seed, "foreign power", &[number as u64]);
                let powers = core::array::from_fn::<_, BANDS, _>(|band| {
                    let z = normal(&mut rng);
                    let level = match self.wifi.filter(|_| band < BANDS - 1) {
                        Some(wifi) => Some(wifi.power + Db(wifi.power_spread.0 * z)),
                        None => (self.clean_bursts).map(|c| c.power + Db(c.power_spread.0 * z)),
                    };
                    level.map_or(0.0, |level| level.milliwatts().0 as f32)
                });
                (floor_of(ear), powers)
            })
            .collect();
        Interference::new(sources, powers)
    }
}

/// How often bursts at `rate_hz` of mean length `burst` touch a frame of `air`.
fn hit_probability(rate_hz: f64, air: Duration, burst: Duration) -> f64 {
    1.0 - libm::exp(-rate_hz * (air + burst).as_secs_f64())
}

impl WifiModel {
    fn source(&self, id: u64, seed: u64) -> Source {
        let mut rng = stream(seed, "wifi load", &[id]);
        let hit = self.hit_least + (self.hit_most - self.hit_least) * uniform(&mut rng);
        let on = hit_probability(self.on_rate_hz, self.reference_air, self.mean_burst);
        let off = hit_probability(self.off_rate_hz, self.reference_air, self.mean_burst);
        Source {
            id,
            on_share: ((hit - off) / (on - off)).clamp(0.0, 1.0),
            on_rate_hz: self.on_rate_hz,
            off_rate_hz: self.off_rate_hz,
            mean_burst: self.mean_burst,
            load_period: self.load_period,
        }
    }
}

impl CleanBurstsModel {
    fn source(&self, id: u64, wifi: Option<WifiModel>) -> Source {
        let wifi = wifi.unwrap_or_default();
        let window = (wifi.reference_air + self.mean_burst).as_secs_f64();
        Source {
            id,
            on_share: self.on_share,
            on_rate_hz: -libm::log1p(-self.hit) / window,
            off_rate_hz: 0.0,
            mean_burst: self.mean_burst,
            load_period: wifi.load_period,
        }
    }
}

impl Environment {
    /// A building of `model` with one ear of `chip` at each of `placements`. Every random part is
    /// drawn from `seed` and the pair or ear that it belongs to.
    pub fn from_building(
        model: &BuildingModel,
        placements: &[Placement],
        chip: &'static Chip,
        seed: u64,
    ) -> Self {
        let ears: Vec<Ear> = placements
            .iter()
            .enumerate()
            .map(|(number, placement)| {
                let mut rng = stream(seed, "ear", &[number as u64]);
                let nominal = Ear::nominal(chip, number, seed);
                Ear {
                    placement: Some(*placement),
                    tx_offset: Db(model.tx_spread.0 * normal(&mut rng)),
                    noise_floor: nominal.noise_floor + Db(model.noise_spread.0 * normal(&mut rng)),
                    rssi_bias: Db(model.rssi_bias.0 * (2.0 * uniform(&mut rng) - 1.0)),
                    ..nominal
                }
            })
            .collect();
        let mut links = LinksBuilder::new(ears.len());
        for (i, a) in ears.iter().enumerate() {
            for (j, b) in ears.iter().enumerate().skip(i + 1) {
                let (Some(here), Some(there)) = (a.placement, b.placement) else {
                    continue;
                };
                model.link_pair(&mut links, chip, (i, a, &here), (j, b, &there), seed);
            }
        }
        let interference = model.interference(&ears, derive(seed, "foreign", &[]));
        Self::new(ears, links.build(), interference, model.variation).in_world(derive(
            seed,
            "world",
            &[],
        ))
    }
}

impl BuildingModel {
    fn link_pair(
        &self,
        links: &mut LinksBuilder,
        chip: &Chip,
        (i, a, here): (usize, &Ear, &Placement),
        (j, b, there): (usize, &Ear, &Placement),
        seed: u64,
    ) {
        let fading = if here.floor == there.floor {
            &self.same_floor
        } else {
            &self.between_floors
        };
        let mean = Dbm(0.0) - self.path_loss(here, there);
        // What each ear needs to hear the other at all.
        let threshold = |ear: &Ear, sender: &Ear| {
            ear.noise_floor + Db::from_factor(INAUDIBLE_FACTOR)
                - Db(chip.max_tx_power.0)
                - sender.tx_offset
        };
        let (to_a, to_b) = (threshold(a, b), threshold(b, a));
        let headroom =
            FADING_HEADROOM.0 + FADING_HEADROOM.1 * (fading.lognormal.0 + self.shadowing.0);
        if (mean + Db(headroom)).0 < to_a.0.min(to_b.0) {
            return;
        }
        let mut rng = stream(seed, "pair", &[i as u64, j as u64]);
        let mean = mean + Db(self.shadowing.0 * normal(&mut rng));
        let delay_ns = here.position.distance_m(&there.position) * DELAY_NS_PER_M;
        for (channel, fading) in Channel::all().zip(fading.draw(&mut rng)) {
            let level = mean + fading;
            for (from, sender, to, threshold) in [(i, a, j, to_b), (j, b, i, to_a)] {
                if level >= threshold {
                    let link = Link {
                        to: EarId(to as u32),
                        gain_mw: (level + sender.tx_offset).milliwatts().0 as f32,
                        delay_ns: delay_ns as f32,
                        erasure: 0.0,
                    };
                    links.add(EarId(from as u32), channel, link);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "building_tests.rs"]
mod tests;
