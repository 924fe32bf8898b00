//! The unchanging part of a simulated site: its ears, links, interference, variation. Shared by
//! all runs on it (`Arc`); what a run draws belongs to [`crate::Medium`]. Tests: here, `building.rs`,
//! `measured.rs`.

use crate::chip::Chip;
use crate::drift::World;
use crate::geometry::Placement;
use crate::interference::Interference;
use crate::links::{Link, Links, LinksBuilder};
use crate::modem::Demodulator;
use crate::random::{stream, uniform};
use crate::variation::{Factors, Variation};
use crate::EarId;
use std::sync::Arc;
use thalweg_units::{Channel, Db, Dbm, Duration};

/// One radio: its receiver and its sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ear {
    /// Where it is, where that is known.
    pub placement: Option<Placement>,
    /// Its chip.
    pub chip: &'static Chip,
    /// Its effective noise floor: the chip's with this one's spread.
    pub noise_floor: Dbm,
    /// By how much it sends stronger than set; already in the gains of [`Links`].
    pub tx_offset: Db,
    /// By how much its carrier is off, in hertz.
    pub carrier_offset_hz: f64,
    /// By how much its RSSI register is off.
    pub rssi_bias: Db,
}

impl Ear {
    /// An ear exactly as its chip's data sheet says, somewhere; its carrier offset drawn from
    /// `seed` and its `number`.
    pub fn nominal(chip: &'static Chip, number: usize, seed: u64) -> Self {
        let mut rng = stream(seed, "carrier", &[number as u64]);
        let ppm = chip.carrier_ppm * (2.0 * uniform(&mut rng) - 1.0);
        Self {
            placement: None,
            chip,
            noise_floor: chip.noise_floor,
            tx_offset: Db(0.0),
            // Parts per million of the band's middle.
            carrier_offset_hz: ppm * 2_440.0,
            rssi_bias: Db(0.0),
        }
    }
}

/// A simulated site.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Its radios, by [`EarId`].
    pub ears: Vec<Ear>,
    /// Which ear hears which.
    pub links: Arc<Links>,
    /// Foreign traffic.
    pub interference: Interference,
    /// Variation of received power.
    pub variation: Variation,
    /// The world whose links so vary, and how old it is.
    pub world: World,
    demodulator: Demodulator,
}

impl Environment {
    /// Of given parts.
    pub fn new(
        ears: Vec<Ear>,
        links: Links,
        interference: Interference,
        variation: Variation,
    ) -> Self {
        Self {
            ears,
            links: Arc::new(links),
            interference,
            variation,
            world: World::default(),
            demodulator: Demodulator::default(),
        }
    }

    /// The same in the world that `seed` draws: how its links change in time.
    #[must_use]
    pub fn in_world(self, seed: u64) -> Self {
        let world = World { seed, ..self.world };
        Self { world, ..self }
    }

    /// The same `by` later.
    #[must_use]
    pub fn later(mut self, by: Duration) -> Self {
        self.world.age += by;
        self
    }

    /// `count` ears that all hear each other at `rssi` on every channel (at 0 dBm transmit power),
    /// without variation or interference: for tests and bench setups.
    pub fn full_mesh(count: usize, chip: &'static Chip, rssi: Dbm, seed: u64) -> Self {
        Self::from_gains(count, chip, seed, |_, _, _| Some(rssi))
    }

    /// `count` ears whose mean received power (at 0 dBm transmit power) is `gain(from, to,
    /// channel)`, without variation or interference: for tests and bench setups.
    pub fn from_gains(
        count: usize,
        chip: &'static Chip,
        seed: u64,
        mut gain: impl FnMut(usize, usize, Channel) -> Option<Dbm>,
    ) -> Self {
        let ears: Vec<Ear> = (0..count).map(|n| Ear::nominal(chip, n, seed)).collect();
        let mut links = LinksBuilder::new(count);
        for from in 0..count {
            for to in (0..count).filter(|&to| to != from) {
                for channel in Channel::all() {
                    if let Some(rssi) = gain(from, to, channel) {
                        let link = Link {
                            to: EarId(to as u32),
                            gain_mw: rssi.milliwatts().0 as f32,
                            delay_ns: 0.0,
                            erasure: 0.0,
                        };
                        links.add(EarId(from as u32), channel, link);
                    }
                }
            }
        }
        Self::new(ears, links.build(), Interference::none(), Variation::NONE)
    }

    /// This site's radios and then those of `other`, which stand at the same places in another
    /// band: neither hears the other. Power varies as it does here.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        let own = self.ears.len();
        let others = Arc::unwrap_or_clone(other.links);
        let links = Arc::unwrap_or_clone(self.links).beside(own, others, other.ears.len());
        let interference = self.interference.beside(own, other.interference);
        let ears = self.ears.into_iter().chain(other.ears).collect();
        Self {
            world: self.world,
            ..Self::new(ears, links, interference, self.variation)
        }
    }

    /// The same where what `to` hears of `from` is lost for another reason than power, on any
    /// channel: a share `loss` (0 to less than 1) of frames of `psdu_bytes` (FCS included), fewer
    /// of shorter ones.
    #[must_use]
    pub fn with_loss(mut self, from: EarId, to: EarId, loss: f64, psdu_bytes: usize) -> Self {
        if let Some(ear) = self.ears.get(to.0 as usize) {
            let single = SingleLink {
                chip: ear.chip,
                noise_mw: 1.0,
            };
            let hazard = -libm::log1p(-loss.clamp(0.0, 0.999_999)) / single.symbols(psdu_bytes);
            Arc::make_mut(&mut self.links).erase(from, to, hazard as f32);
        }
        self
    }

    /// What turns powers into hazards.
    pub fn demodulator(&self) -> &Demodulator {
        &self.demodulator
    }

    /// Mean received power at 0 dBm nominal transmit power; `None` where it cannot be heard.
    pub fn mean_rssi(&self, from: EarId, to: EarId, channel: Channel) -> Option<Dbm> {
        self.links.mean_rssi(from, to, channel)
    }

    /// Reception ratio of frames of `psdu_bytes` (FCS included) sent at `power` with nothing else
    /// on the air: the closed form's mean over variation. For maps and tests, never for protocols.
    pub fn prr(
        &self,
        from: EarId,
        to: EarId,
        channel: Channel,
        psdu_bytes: usize,
        power: Dbm,
    ) -> f64 {
        self.expected(psdu_bytes, power)(from, to, channel)
    }

    /// [`Environment::prr`] of many links: what all links share is worked out once.
    pub fn expected(
        &self,
        psdu_bytes: usize,
        power: Dbm,
    ) -> impl Fn(EarId, EarId, Channel) -> f64 + '_ {
        let factors = Factors::new(self.variation.total());
        let power_mw = power.milliwatts().0;
        move |from, to, channel| {
            let (Some(link), Some(ear)) = (
                self.links.between(from, to, channel),
                self.ears.get(to.0 as usize),
            ) else {
                return 0.0;
            };
            let single = SingleLink {
                chip: ear.chip,
                noise_mw: ear.noise_floor.milliwatts().0,
            };
            single.prr(
                &self.demodulator,
                f64::from(link.gain_mw) * power_mw,
                f64::from(link.erasure),
                psdu_bytes,
                &factors,
            )
        }
    }
}

/// A receiver with one sender and nothing else, in closed form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SingleLink {
    pub(crate) chip: &'static Chip,
    pub(crate) noise_mw: f64,
}

impl SingleLink {
    /// Symbols of a frame of `psdu_bytes` that must be right.
    pub(crate) fn symbols(&self, psdu_bytes: usize) -> f64 {
        let phy = &self.chip.phy;
        let mpdu = psdu_bytes.saturating_sub(phy.fcs_bytes as usize);
        f64::from(phy.air_symbols(mpdu) - phy.first_counted())
    }

    /// Reception ratio at mean power `mean_mw`.
    pub(crate) fn prr(
        &self,
        demodulator: &Demodulator,
        mean_mw: f64,
        erasure: f64,
        psdu_bytes: usize,
        factors: &Factors,
    ) -> f64 {
        let symbols = self.symbols(psdu_bytes);
        let lock = self.chip.lock_sinr.factor();
        let (mut sum, mut count) = (0.0, 0.0);
        // Well above sensitivity all factors have the same hazard.
        let (mut last, mut share) = (0.0, 1.0);
        for factor in factors.sample(8) {
            let g = mean_mw * factor / self.noise_mw;
            count += 1.0;
            if g > lock {
                let hazard = demodulator.hazard(self.chip.modem, g) + erasure;
                if hazard != last {
                    (last, share) = (hazard, libm::exp(-symbols * hazard));
                }
                sum += share;
            }
        }
        sum / count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::CC2420;

    #[test]
    fn the_closed_form_knows_near_from_far() {
        let env = Environment::from_gains(3, &CC2420, 1, |from, to, _| {
            Some(Dbm(if from + to == 1 { -60.0 } else { -96.6 }))
        });
        let prr = |a, b| env.prr(EarId(a), EarId(b), Channel::LAST, 127, Dbm(0.0));
        assert!(prr(0, 1) > 0.999_999);
        assert!((prr(0, 2) - 0.5).abs() < 0.05);
        assert_eq!(
            env.prr(EarId(0), EarId(7), Channel::LAST, 127, Dbm(0.0)),
            0.0
        );
        assert!(prr(0, 2) < env.prr(EarId(0), EarId(2), Channel::LAST, 20, Dbm(0.0)));
    }
}
