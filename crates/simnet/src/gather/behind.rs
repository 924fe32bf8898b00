//! The same behind a base station's line: sources say what they have, and nothing is simulated.

use super::report::{Context, Seen};
use super::{Collection, GatherError, Observer, Progress, Report};
use crate::collect::{check, CollectError};
use std::collections::BTreeMap;
use thalweg_host::job::{run, Failure};
use thalweg_host::line::{LineNetwork, LineSession};
use thalweg_host::network::{Layered, Network, NetworkFault, NetworkTime, Notice, NoticeOf};
use thalweg_host::transfer::rcrt::{Gathered, Objects};
use thalweg_host::transfer::session::Session;
use thalweg_protocols::rcrt::{Handed, Send};
use thalweg_testbeds::Testbed;
use thalweg_units::NodeId;
use thalweg_wire::seal::frame::Sealing;

/// A session whose packets and answers are counted.
struct Counted<'a> {
    session: LineSession<'a>,
    /// Of each source, the links that its last packet crossed, and answers to it.
    seen: BTreeMap<NodeId, (u8, u32)>,
}

impl<'a> Layered for Counted<'a> {
    type Inner = LineSession<'a>;

    fn inner(&self) -> &LineSession<'a> {
        &self.session
    }
    fn inner_mut(&mut self) -> &mut LineSession<'a> {
        &mut self.session
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<Self::Inner>, NetworkFault> {
        let notice = self.session.next(until)?;
        if let Notice::Event(_, _, Handed::Packet { origin, hops, .. }) = &notice {
            self.seen.entry(*origin).or_default().0 = *hops;
        }
        Ok(notice)
    }
    fn pass_on(&mut self, station: NodeId, order: Send) -> Result<(), NetworkFault> {
        self.seen.entry(order.to).or_default().1 += 1;
        self.session.order(station, order)
    }
}

impl Collection {
    /// Gathers from `testbed`'s nodes behind `line`, as [`Self::gather`] does from simulated ones. Packets are as long as nodes
    /// make them, and objects are what nodes have; of `seed` only the report tells.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn behind(
        &self,
        line: &mut LineNetwork,
        (testbed, seed): (&Testbed, u64),
        observer: Observer<'_>,
    ) -> Result<Report, GatherError> {
        self.request.check()?;
        if testbed.sealing == Sealing::Sealed {
            return Err(GatherError::NotSealedYet);
        }
        let sink = line.station().map_or(testbed.sink, |about| about.node);
        for source in self.request.nodes() {
            check(testbed, (Some(source), Some(sink))).map_err(CollectError::from)?;
        }
        let sources = self.request.nodes();
        let sources: Vec<_> = sources.map(|id| (id, self.request.demand_of(id))).collect();
        let session = line.session(sink, &sources)?;
        let seen = BTreeMap::new();
        let mut network = Counted { session, seen };
        let begins = network.now();
        let wanted = sources.iter().map(|(id, _)| (*id, None));
        let keeper = Objects::new(begins, wanted, |progress| {
            observer(Progress::Packets(progress))
        });
        let mut job = Session::new((sink, begins), &self.request, None, self.rates, keeper)?;
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        let result = run(&mut network, &mut job, go_on);
        let (objects, shown) = job.finish(network.now());
        match result.and(shown) {
            Ok(()) | Err(Failure::Cancelled) => {}
            Err(why) => return Err(why.into()),
        }
        let context = Context {
            testbed,
            collection: self,
            sink,
            seed,
            settled: None,
            begins,
            sealing: Sealing::Open,
        };
        let seen = |one: &Gathered| {
            let (hops, feedbacks) = network.seen.get(&one.source).copied().unwrap_or_default();
            let packets = one.bytes.div_ceil(u64::from(self.payload));
            Some(Seen {
                hops: u32::from(hops),
                repaired_share: one.repaired as f64 / packets.max(1) as f64,
                feedbacks,
            })
        };
        Ok(Report::new(&context, objects.finish(), seen))
    }
}
