//! Which ears a sender reaches on one channel, for [`super::Ether`]: one row of ears per sender, those that
//! could receive it first, those that it merely disturbs after them. 8 bytes per link. Gains are
//! relative to 0 dBm nominal transmit power. Built of an [`Environment`], or of places and a path
//! loss through a grid, so that building is not quadratic in the number of nodes. Tests: `tests.rs`.

use crate::chip::Chip;
use crate::drift::World;
use crate::environment::Environment;
use crate::interference::Interference;
use crate::links::INAUDIBLE_FACTOR;
use crate::variation::Variation;
use crate::EarId;
use thalweg_units::{Channel, Db, Dbm, MilliWatts};

/// One sender at one ear. Inside the ether, ears go by their place in [`Order`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Path {
    pub(super) to: u32,
    /// Received milliwatts per nominal milliwatt sent.
    pub(super) gain: f32,
}

/// The order in which ears lie in memory: what hears one sender lies together, so that a frame finds
/// its ears in the cache. No result depends on it.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// Place by ear.
    places: Vec<u32>,
    /// Ear by place.
    ears: Vec<u32>,
}

impl Order {
    fn as_numbered(count: usize) -> Self {
        let same: Vec<u32> = (0..count as u32).collect();
        Self {
            places: same.clone(),
            ears: same,
        }
    }
    /// Along a curve that fills the plane (Morton): the bits of both coordinates in turn.
    fn by_position(positions: &[(f64, f64)]) -> Self {
        let mut order = Self::as_numbered(positions.len());
        let bounds = |along: fn(&(f64, f64)) -> f64| {
            let values = || positions.iter().map(along);
            let least = values().fold(f64::INFINITY, f64::min);
            (least, (values().fold(least, f64::max) - least).max(1.0))
        };
        let (x, y) = (bounds(|p| p.0), bounds(|p| p.1));
        let spread = |v: f64, (least, width): (f64, f64)| {
            let cell = ((v - least) / width * 65_535.0) as u64;
            (0..16).fold(0, |key, bit| key | (cell >> bit & 1) << (2 * bit))
        };
        let key = |ear: &u32| {
            let position = positions.get(*ear as usize);
            position.map_or(0, |p| spread(p.0, x) | spread(p.1, y) << 1)
        };
        order.ears.sort_by_cached_key(key);
        for (place, ear) in order.ears.iter().enumerate() {
            if let Some(slot) = order.places.get_mut(*ear as usize) {
                *slot = place as u32;
            }
        }
        order
    }
    /// The place of `ear`; past all others for one that there is not.
    #[inline]
    pub(super) fn place(&self, ear: EarId) -> u32 {
        let place = self.places.get(ear.0 as usize);
        place.copied().unwrap_or(u32::MAX)
    }
    #[inline]
    pub(super) fn ear(&self, place: u32) -> EarId {
        EarId(self.ears.get(place as usize).copied().unwrap_or(u32::MAX))
    }
}

/// The links of one channel, and the ears' effective noise floors.
#[derive(Debug, Clone)]
pub struct Reach {
    pub(super) chip: &'static Chip,
    pub(super) channel: Channel,
    pub(super) order: Order,
    /// Row `i` is `paths[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    /// In row `i`, the first `near[i]` ears could receive the sender.
    near: Vec<u32>,
    paths: Vec<Path>,
    /// Effective noise floor of each ear, by its place, milliwatts.
    pub(super) noise: Vec<f32>,
    pub(super) variation: Variation,
    pub(super) world: World,
    pub(super) interference: Interference,
}

impl Reach {
    /// The links of `env` on `channel` for senders at `power`.
    pub fn of_environment(
        env: &Environment,
        chip: &'static Chip,
        channel: Channel,
        power: Dbm,
    ) -> Self {
        let noise = env
            .ears
            .iter()
            .map(|ear| ear.noise_floor.milliwatts().0 as f32)
            .collect();
        let order = Order::as_numbered(env.ears.len());
        let mut build = Builder::new((chip, channel), order, noise, power, env.variation);
        for from in 0..env.ears.len() {
            let row = env.links.heard_by(EarId(from as u32), channel);
            build.row(row.iter().map(|link| Path {
                to: link.to.0,
                gain: link.gain_mw,
            }));
        }
        Self {
            world: env.world,
            interference: env.interference.clone(),
            ..build.reach
        }
    }

    /// Ears at `places` (metres), senders at `power`, path loss `loss_at_1m + loss_per_decade
    /// log10 d`, no shadowing, no variation, on the last channel: what benchmarks and bench set-ups
    /// ask for.
    pub fn of_places(
        places: &[(f64, f64)],
        chip: &'static Chip,
        loss_at_1m: Db,
        loss_per_decade: Db,
        power: Dbm,
    ) -> Self {
        let order = Order::by_position(places);
        Self::in_order(order, places, chip, (loss_at_1m, loss_per_decade), power)
    }

    /// The same, where ears lie in memory in the order of their numbers.
    #[cfg(test)]
    pub(crate) fn as_numbered(
        places: &[(f64, f64)],
        chip: &'static Chip,
        loss: (Db, Db),
        power: Dbm,
    ) -> Self {
        Self::in_order(Order::as_numbered(places.len()), places, chip, loss, power)
    }

    fn in_order(
        order: Order,
        places: &[(f64, f64)],
        chip: &'static Chip,
        (loss_at_1m, loss_per_decade): (Db, Db),
        power: Dbm,
    ) -> Self {
        let noise = vec![chip.noise_floor.milliwatts().0 as f32; places.len()];
        let in_order = order
            .ears
            .iter()
            .filter_map(|ear| places.get(*ear as usize));
        let places: Vec<(f64, f64)> = in_order.copied().collect();
        let audible = chip.noise_floor + Db::from_factor(INAUDIBLE_FACTOR);
        let range = Db((power - audible).0 - loss_at_1m.0);
        let range = libm::exp10(range.0 / loss_per_decade.0).max(1.0);
        let cell = |v: f64| (v / range).floor() as i64;
        let mut grid = std::collections::BTreeMap::<(i64, i64), Vec<u32>>::new();
        for (i, (x, y)) in places.iter().enumerate() {
            grid.entry((cell(*x), cell(*y))).or_default().push(i as u32);
        }
        let mut build = Builder::new((chip, Channel::LAST), order, noise, power, Variation::NONE);
        let mut row = Vec::new();
        for (from, (x, y)) in places.iter().enumerate() {
            row.clear();
            for dx in -1..=1 {
                for dy in -1..=1 {
                    let here = grid.get(&(cell(*x) + dx, cell(*y) + dy));
                    for &to in here.into_iter().flatten() {
                        let Some((tx, ty)) = places.get(to as usize) else {
                            continue;
                        };
                        let d = ((tx - x) * (tx - x) + (ty - y) * (ty - y)).sqrt();
                        if to as usize != from && d <= range {
                            let loss = loss_at_1m.0 + loss_per_decade.0 * libm::log10(d.max(1.0));
                            row.push(Path {
                                to,
                                gain: Db(-loss).factor() as f32,
                            });
                        }
                    }
                }
            }
            build.row(row.iter().copied());
        }
        build.reach
    }

    /// How many ears there are.
    pub fn len(&self) -> usize {
        self.noise.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.noise.is_empty()
    }
    /// How many links are kept.
    pub fn links(&self) -> usize {
        self.paths.len()
    }
    /// Mean received power at `to` of what `from` sends at 0 dBm nominal; none where inaudible.
    pub fn gain(&self, from: EarId, to: EarId) -> Option<Dbm> {
        let gain = self.gain_between(self.order.place(from), self.order.place(to));
        gain.map(|gain| MilliWatts(gain).dbm())
    }
    /// The same by the ears' places, in milliwatts.
    pub(super) fn gain_between(&self, from: u32, to: u32) -> Option<f64> {
        let (near, far) = self.row(from as usize);
        let ear = self.order.ear(to);
        let path = match near.binary_search_by_key(&ear, |path| self.order.ear(path.to)) {
            Ok(place) => near.get(place),
            Err(_) => far
                .binary_search_by_key(&to, |path| path.to)
                .ok()
                .and_then(|place| far.get(place)),
        }?;
        Some(f64::from(path.gain))
    }
    /// Where the paths of the sender at place `from` begin among all.
    #[inline]
    pub(super) fn start(&self, from: usize) -> usize {
        self.starts.get(from).copied().unwrap_or(0) as usize
    }
    /// The ears that could receive the sender at place `from`, and those that it only disturbs.
    #[inline]
    pub(super) fn row(&self, from: usize) -> (&[Path], &[Path]) {
        let bounds = (self.starts.get(from), self.starts.get(from + 1));
        let (Some(&start), Some(&end)) = bounds else {
            return (&[], &[]);
        };
        let near = self.near.get(from).copied().unwrap_or(0) as usize;
        self.paths
            .get(start as usize..end as usize)
            .and_then(|row| row.split_at_checked(near))
            .unwrap_or((&[], &[]))
    }
}

struct Builder {
    reach: Reach,
    power_mw: f32,
    /// What variation may add.
    headroom: f32,
    lock: f32,
}

impl Builder {
    fn new(
        (chip, channel): (&'static Chip, Channel),
        order: Order,
        noise: Vec<f32>,
        power: Dbm,
        variation: Variation,
    ) -> Self {
        Self {
            power_mw: power.milliwatts().0 as f32,
            headroom: variation.most().factor() as f32,
            lock: chip.lock_sinr.factor() as f32,
            reach: Reach {
                chip,
                channel,
                order,
                starts: vec![0],
                near: Vec::new(),
                paths: Vec::new(),
                noise,
                variation,
                world: World::default(),
                interference: Interference::none(),
            },
        }
    }
    fn row(&mut self, paths: impl Iterator<Item = Path>) {
        let from = self.reach.paths.len();
        let noise = |path: &Path| {
            let floor = self.reach.noise.get(path.to as usize);
            floor.copied().unwrap_or(f32::INFINITY)
        };
        let audible = |path: &Path| {
            path.gain * self.power_mw * self.headroom > INAUDIBLE_FACTOR as f32 * noise(path)
        };
        let mut row: Vec<Path> = paths.filter(audible).collect();
        let is_far =
            |path: &Path| path.gain * self.power_mw * self.headroom < self.lock * noise(path);
        // Ears that could receive come by number, the order of reports; the others as they lie.
        let order = &self.reach.order;
        row.sort_by_key(|path| match is_far(path) {
            false => (false, order.ear(path.to).0),
            true => (true, path.to),
        });
        let near = row.iter().filter(|path| !is_far(path)).count();
        self.reach.paths.extend_from_slice(&row);
        debug_assert!(self.reach.paths.len() >= from);
        self.reach.near.push(near as u32);
        self.reach.starts.push(self.reach.paths.len() as u32);
    }
}
