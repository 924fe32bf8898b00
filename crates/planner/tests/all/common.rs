//! Made-up networks for tests: random geometric ones on floors, with links that fade by distance
//! and channel.

use rand::{Rng, SeedableRng};
use thalweg_planner::{LinkQualities, Place};
use thalweg_units::{Channel, Dbm};

pub(crate) type Rand = rand_pcg::Pcg64Mcg;

pub(crate) fn rng(seed: u64) -> Rand {
    Rand::seed_from_u64(seed)
}

fn normal(rng: &mut Rand) -> f64 {
    // The sum of twelve uniform draws is normal enough here.
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// `nodes` nodes on three floors of a corridor building; all 16 channels; links of 20 beacons.
pub(crate) fn building(nodes: usize, seed: u64) -> LinkQualities {
    let mut rng = rng(seed);
    let per_floor = nodes.div_ceil(3);
    let places: Vec<Place> = (0..nodes)
        .map(|node| {
            let floor = node / per_floor;
            let cell = 153.0 / per_floor as f64;
            Place {
                x_m: ((node % per_floor) as f64 + rng.random::<f64>()) * cell,
                y_m: rng.random::<f64>() * 8.0,
                z_m: floor as f64 * 3.5,
                floor: floor as u16,
            }
        })
        .collect();
    let mut links = LinkQualities::new(nodes);
    for a in 0..nodes {
        for b in 0..a {
            let (p, q) = (places[a], places[b]);
            let (dx, dy, dz) = (p.x_m - q.x_m, p.y_m - q.y_m, p.z_m - q.z_m);
            let d = (dx * dx + dy * dy + dz * dz).sqrt().max(1.0);
            let floors = f64::from(p.floor.abs_diff(q.floor));
            let mean = -39.3 - 40.5 * libm::log10(d) - 14.3 * floors + 2.7 * normal(&mut rng);
            let spread = if floors > 0.0 { 9.0 } else { 3.0 };
            for channel in Channel::all() {
                let rssi = mean + spread * normal(&mut rng);
                for (from, to) in [(a, b), (b, a)] {
                    let rssi = rssi + normal(&mut rng);
                    let prr = 1.0 / (1.0 + libm::exp(-(rssi + 96.0) * 2.0));
                    let received = (0..20).filter(|_| rng.random::<f64>() < prr).count() as u32;
                    if received > 0 {
                        links
                            .record(from, to, channel, received, 20, Some(Dbm(rssi)))
                            .unwrap();
                    }
                }
            }
        }
    }
    links.set_places(places).unwrap();
    links
}
