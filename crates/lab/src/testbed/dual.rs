//! Sites of nodes with two radios: the same places in two bands. Tests: at the end.

use super::{Physics, Testbed};
use thalweg_medium::chip::{Band, Chip};
use thalweg_medium::random::derive;
use thalweg_medium::{corridor_layout, BuildingModel, Environment, Placement};
use thalweg_units::Db;

/// Path loss at one metre is less in the 900 MHz band by 20 log10(2440 / 915).
const LESS_AT_900: Db = Db(8.5);

impl Testbed {
    /// The site with a radio of each of `chips` at each node: first the ears of the first chip, by
    /// node, then those of the second. Walls, distances and fading are one model's; foreign traffic is
    /// that of 2.4 GHz, where Wi-Fi is. None where links were measured, of one band only.
    pub fn realise_dual(&self, chips: [&'static Chip; 2], seed: u64) -> Option<Environment> {
        let [first, second] = self.realise_bands(chips, seed)?;
        Some(first.beside(second))
    }

    /// The same, each band by itself: what one radio of every node sees of the site.
    pub fn realise_bands(&self, chips: [&'static Chip; 2], seed: u64) -> Option<[Environment; 2]> {
        let model = match &self.physics {
            Physics::Generated { model, .. } | Physics::Placed { model } => model,
            Physics::Measured(_) => return None,
        };
        let placements: Vec<Placement> = match &self.physics {
            Physics::Generated { building: b, .. } => corridor_layout(
                b.floors,
                self.nodes.len(),
                b.length_m,
                b.width_m,
                b.floor_height_m,
                seed,
            ),
            _ => (self.nodes.iter())
                .map(|n| n.placement.unwrap_or_default())
                .collect(),
        };
        Some([0, 1].map(|which: usize| {
            let chip = chips[which];
            let seed = match which {
                0 => seed,
                _ => derive(seed, "second radio", &[]),
            };
            Environment::from_building(&in_band(model, chip.band), &placements, chip, seed)
        }))
    }

    /// The site with another chip at every node, for boards that a testbed does not name.
    pub fn realise_with(&self, chip: &'static Chip, seed: u64) -> Option<Environment> {
        match &self.physics {
            Physics::Placed { model } => {
                let placements: Vec<Placement> = (self.nodes.iter())
                    .map(|n| n.placement.unwrap_or_default())
                    .collect();
                Some(Environment::from_building(model, &placements, chip, seed))
            }
            _ => None,
        }
    }
}

fn in_band(model: &BuildingModel, band: Band) -> BuildingModel {
    let mut model = model.clone();
    if band == Band::Mhz900 {
        model.loss_at_1m = model.loss_at_1m - LESS_AT_900;
        model.wifi = None;
        model.clean_bursts = None;
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_medium::chip::{AT86RF212, AT86RF231};
    use thalweg_medium::EarId;
    use thalweg_units::Channel;

    #[test]
    fn bands_share_places_and_nothing_else() {
        let testbed = Testbed::load("office12").unwrap();
        let chips = [&AT86RF231, &AT86RF212];
        let site = testbed.realise_dual(chips, 3).unwrap();
        assert_eq!(site.ears.len(), 24);
        assert_eq!(site.ears[0].placement, site.ears[12].placement);
        assert_eq!(
            (site.ears[11].chip, site.ears[12].chip),
            (chips[0], chips[1])
        );
        let rssi = |a: u32, b: u32| site.mean_rssi(EarId(a), EarId(b), Channel::FIRST);
        assert!(rssi(0, 1).is_some() && rssi(12, 13).is_some());
        assert!((0..12).all(|a| (12..24).all(|b| rssi(a, b).is_none() && rssi(b, a).is_none())));
        // The first band is the testbed's own site, unchanged.
        let alone = testbed.realise(3);
        assert_eq!(alone.mean_rssi(EarId(4), EarId(5), Channel::LAST), {
            site.mean_rssi(EarId(4), EarId(5), Channel::LAST)
        });
    }
}
