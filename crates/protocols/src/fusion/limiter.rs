//! Source rate limiting by listening to what the parent forwards (Fusion, section 4.3).

use super::strategy::{Counts, Limit};
use thalweg_units::{Instant, NodeId};

/// The most sources kept apart; beyond them, the one heard longest ago is forgotten.
const MAX_SOURCES: usize = 128;

#[derive(Debug, Clone, Copy)]
struct Source {
    id: NodeId,
    at: Instant,
    /// The packet of it that was heard last.
    number: u16,
    /// Packets of it that the parent was heard forwarding; halved all together now and then.
    served: u16,
}

/// Counts the parent's packets and sources, and gives tokens.
#[derive(Debug)]
pub(super) struct Limiter {
    limit: Option<Limit>,
    sources: [Source; MAX_SOURCES],
    count: usize,
    /// Packets heard since the last token.
    since_token: u16,
    /// In the bucket.
    tokens: u8,
}

impl Limiter {
    /// Begins with an empty bucket.
    pub(super) const fn new(limit: Option<Limit>) -> Self {
        let none = Source {
            id: NodeId::MAX,
            at: Instant::ZERO,
            number: 0,
            served: 0,
        };
        Self {
            sources: [none; MAX_SOURCES],
            count: 0,
            since_token: 0,
            tokens: 0,
            limit,
        }
    }

    /// Whether a packet of the application's may be admitted. Where no source was heard for a whole window there is
    /// no one to share with: with N = 0 tokens are free.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let Some(limit) = self.limit else { return true };
        self.tokens > 0 || self.active(now, limit) == 0
    }
    /// N: sources that were heard within the window.
    fn active(&self, now: Instant, limit: Limit) -> usize {
        let is_active = |source: &&Source| now.since(source.at) <= limit.window;
        self.sources().filter(is_active).count()
    }
    /// One was admitted.
    pub(super) fn spend(&mut self) {
        self.tokens = self.tokens.saturating_sub(1);
    }

    /// The parent forwards packet `number` of `origin`; `me` is this node.
    pub(super) fn on_forward(&mut self, now: Instant, origin: NodeId, number: u16, me: NodeId) {
        let Some(limit) = self.limit else { return };
        if !self.note(now, origin, number) {
            return;
        }
        let mut for_a_token = self.active(now, limit).max(1);
        if limit.counts == Counts::LeastServed {
            if origin == me || !self.is_behind(now, limit, me) {
                return;
            }
            for_a_token /= 2;
        }
        self.since_token = self.since_token.saturating_add(1);
        if usize::from(self.since_token) >= for_a_token {
            self.since_token = 0;
            self.earn(limit);
        }
    }

    /// A node keeps up with the median of those that are being served, so that neither a crowded
    /// subtree nor a source that sends little decides for all.
    fn is_behind(&self, now: Instant, limit: Limit, me: NodeId) -> bool {
        let own = self.sources().find(|s| s.id == me);
        let mine = own.map_or(0, |s| s.served) + u16::from(self.tokens);
        let others = (self.sources()).filter(|s| s.id != me && now.since(s.at) <= limit.window);
        let above = others.clone().filter(|s| s.served > mine).count();
        above * 2 >= others.count()
    }
    fn earn(&mut self, limit: Limit) {
        self.tokens = (self.tokens + 1).min(limit.depth);
    }
    fn sources(&self) -> impl Iterator<Item = &Source> + Clone {
        self.sources.iter().take(self.count)
    }
    /// Remembers the packet; whether it is a new one.
    fn note(&mut self, now: Instant, id: NodeId, number: u16) -> bool {
        let count = self.count;
        if let Some(source) = self.sources.iter_mut().take(count).find(|s| s.id == id) {
            source.at = now;
            if source.number == number {
                return false;
            }
            source.number = number;
            source.served += 1;
            if source.served >= 256 {
                for source in self.sources.iter_mut().take(count) {
                    source.served /= 2;
                }
            }
            return true;
        }
        let fresh = Source {
            id,
            at: now,
            number,
            served: 1,
        };
        if let Some(slot) = self.sources.get_mut(count) {
            *slot = fresh;
            self.count += 1;
        } else if let Some(oldest) = self.sources.iter_mut().min_by_key(|s| s.at) {
            *oldest = fresh;
        }
        true
    }
}

#[cfg(test)]
#[path = "limiter_tests.rs"]
mod tests;
