//! What a node knows of its neighbours: how many of their frames arrive, how many of its own arrive
//! there, and which routes they advertise.

use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::tree::Route;

use super::distance::{Distance, COST_UNIT};

/// Neighbours that are kept; a newcomer takes the place of the worst.
const MAX_NEIGHBOURS: usize = 48;
/// A link is judged after so many frames that were heard or missed.
const LEAST_FRAMES: u16 = 4;
/// Counts are halved when they reach this, so that old frames count less.
const HALVED_AT: u16 = 64;
/// A link on which fewer frames arrive is not used, of 255.
const LEAST_RECEIVED: u8 = 26;

#[derive(Debug, Clone, Copy)]
pub(super) struct Neighbour {
    /// Who.
    pub(super) id: NodeId,
    /// How many of our frames it hears, of 255, if it has said so.
    pub(super) reverse: Option<u8>,
    last: u8,
    heard: u16,
    missed: u16,
    /// Of `missed`, those that were only presumed since it was heard last.
    presumed: u16,
    at: Instant,
    /// That it advertised last, and when.
    pub(super) route: Option<(Route, Instant)>,
    /// The nearest that it has said to be to the sink of `route`.
    pub(super) nearest: Option<Distance>,
}

impl Neighbour {
    /// Whose frame number `last` was heard first.
    const fn new(id: NodeId, last: u8, at: Instant) -> Self {
        Self {
            id,
            reverse: None,
            last,
            heard: 0,
            missed: 0,
            presumed: 0,
            at,
            route: None,
            nearest: None,
        }
    }
    /// How many of its frames arrive, of 255.
    pub(super) fn received(&self) -> u8 {
        let total = self.heard + self.missed;
        if total < LEAST_FRAMES {
            return 0;
        }
        (u32::from(self.heard) * 255 / u32::from(total)) as u8
    }
    /// Expected transmissions over the link, in sixteenths; none where it is not known both ways,
    /// or too bad.
    pub(super) fn etx(&self) -> Option<u16> {
        let (df, dr) = (self.reverse?, self.received());
        if df < LEAST_RECEIVED || dr < LEAST_RECEIVED {
            return None;
        }
        let product = u32::from(df) * u32::from(dr);
        Some((u32::from(COST_UNIT) * 255 * 255 / product) as u16)
    }
    pub(super) fn advertise(&mut self, now: Instant, routes: impl Iterator<Item = Route>) {
        let before = self.route.map(|(route, _)| route.sink);
        self.route = routes.min_by_key(|route| route.cost).map(|r| (r, now));
        self.nearest = self.route.map(|(route, _)| {
            let said = Distance::of(&route);
            let known = self.nearest.filter(|_| before == Some(route.sink));
            known.map_or(said, |known| known.or_nearer(said))
        });
    }
}

#[derive(Debug)]
pub(super) struct Links {
    list: [Neighbour; MAX_NEIGHBOURS],
    len: usize,
}

impl Links {
    pub(super) fn new() -> Self {
        Self {
            list: [Neighbour::new(NodeId::MAX, 0, Instant::ZERO); MAX_NEIGHBOURS],
            len: 0,
        }
    }
    pub(super) fn all(&self) -> &[Neighbour] {
        self.list.get(..self.len).unwrap_or_default()
    }
    fn all_mut(&mut self) -> &mut [Neighbour] {
        self.list.get_mut(..self.len).unwrap_or_default()
    }
    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Neighbour> {
        self.all_mut().iter_mut().find(|n| n.id == id)
    }

    /// Frame number `sequence` of `id` was heard. The first one only begins the count.
    pub(super) fn heard(&mut self, now: Instant, id: NodeId, sequence: u8) {
        if let Some(n) = self.get_mut(id) {
            let gap = u16::from(sequence.wrapping_sub(n.last));
            if gap == 0 {
                return; // a retransmission
            }
            let missed = (gap - 1).saturating_sub(n.presumed);
            // Half the numbers missed: it restarted.
            if gap < 128 {
                n.missed += missed;
                n.heard += 1;
            }
            (n.last, n.at, n.presumed) = (sequence, now, 0);
            if n.heard + n.missed >= HALVED_AT {
                (n.heard, n.missed) = (n.heard / 2, n.missed / 2);
            }
            return;
        }
        let fresh = Neighbour::new(id, sequence, now);
        if let Some(slot) = self.list.get_mut(self.len) {
            *slot = fresh;
            self.len += 1;
        } else if let Some(worst) = self.all_mut().iter_mut().min_by_key(|n| n.received()) {
            *worst = fresh;
        }
    }

    /// Presumes a frame missed of every neighbour not heard for longer than an interval.
    pub(super) fn expect(&mut self, now: Instant, interval: Duration) {
        for n in self.all_mut() {
            let silent = now.since(n.at) / (interval + interval / 4);
            let presumed = silent.min(64) as u16;
            if presumed > n.presumed {
                n.missed += presumed - n.presumed;
                n.presumed = presumed;
            }
        }
    }
}
