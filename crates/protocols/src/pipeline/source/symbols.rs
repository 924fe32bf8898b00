//! What the source does while symbols that it needs are being made: it sends what is there, then waits,
//! and where its stages would take silence for a change of channels, sends a packet again meanwhile.
//! A host that never finishes a job is waited for as long as a destination that does not answer.
//! Tests: `../tests/making.rs`.

use super::{Doing, Source, Supply};
use crate::object::ObjectStore;
use crate::pipeline::context::Context;
use crate::pipeline::events::End;
use thalweg_units::{Duration, Instant};
use thalweg_wire::phy::SFD_OFFSET;

impl Source {
    /// Has the next symbols made, if any are to be.
    pub(super) fn plan_making<S: ObjectStore>(&self, cx: &mut Context<'_, S>) {
        if let Supply::Blocks(supply) = &self.supply {
            let is_ready = |maker: &_, number| supply.is_ready(maker, number);
            cx.maker.plan(supply.coded(), cx.packets, is_ready);
        }
    }

    /// Whether this round goes on with what is not there yet.
    pub(super) fn is_making<S: ObjectStore>(&self, cx: &Context<'_, S>) -> bool {
        let limit = cx.session.limit(self.stretch);
        let over = limit.is_some_and(|limit| self.sent_in_round >= limit);
        matches!(self.supply, Supply::Blocks(_)) && !over && cx.packets.first_from(0).is_some()
    }

    /// Waits for a symbol: it would be sent at `self.sfd`.
    pub(super) fn wait_for_symbol<S: ObjectStore>(&mut self, cx: &Context<'_, S>) {
        let since = *self.making.get_or_insert(self.sfd);
        let patience = since + cx.session.policy.inactivity;
        let until = match &*cx.tuner {
            Some(_) => patience.min(self.sfd + cx.cadence.silence() / 2),
            None => patience,
        };
        self.doing = Doing::Making {
            until: until.saturating_sub(SFD_OFFSET),
        };
    }

    /// A symbol is overdue; the next packet could be sent `soon`.
    pub(super) fn still_making<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>, soon: Instant) {
        let since = self.making.unwrap_or(soon);
        if soon >= since + cx.session.policy.inactivity {
            return self.release(cx, soon + cx.cadence.cycle(), End::TimedOut);
        }
        self.catch_up(cx, soon);
        let number = self.repeats % self.packets.max(1);
        self.repeats = self.repeats.wrapping_add(1);
        self.send_data(cx, number);
    }

    /// A job is done.
    pub(in crate::pipeline) fn made<S: ObjectStore>(
        &mut self,
        cx: &mut Context<'_, S>,
        at: Instant,
        symbols: u16,
    ) {
        let waited = self.making.take();
        if let Supply::Blocks(supply) = &mut self.supply {
            let waited = waited.map_or(Duration::ZERO, |since| at.since(since));
            supply.waited(waited, symbols, cx.cadence.data_period());
            supply.reconsider(cx.maker, cx.packets);
        }
        match self.doing {
            Doing::Making { .. } => {
                self.catch_up(cx, at + cx.cadence.lead());
                self.order_data(cx, 0);
            }
            _ => self.plan_making(cx),
        }
    }

    /// Moves `self.sfd` on by whole slots of two cycles, not to be before `soon`.
    fn catch_up<S: ObjectStore>(&mut self, cx: &Context<'_, S>, soon: Instant) {
        let step = cx.cadence.relay_period();
        let late = soon.since(self.sfd);
        self.sfd += step * late.as_nanos().div_ceil(step.as_nanos().max(1));
    }
}
