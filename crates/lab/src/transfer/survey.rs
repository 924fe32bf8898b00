//! The survey: the network measures its own links and reports them to the sink (P3, section
//! IV-D1). Time base: the sink's node for what it tells, simulated time for how long it may take.

use super::session::{told, Observer, Session, SessionError, Step};
use std::ops::ControlFlow::{Break, Continue};
use thalweg_planner::LinkQualities;
use thalweg_protocols::collection::Collect;
use thalweg_protocols::floodnet;
use thalweg_protocols::linkprobe::{Measure, NodeList};
use thalweg_protocols::mote;
use thalweg_units::{ChannelSet, Duration, NodeId};
use thalweg_wire::phy;

/// How links are measured (P3, equation 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survey {
    /// On which channels.
    pub channels: ChannelSet,
    /// Beacons of each node on each channel, N_b.
    pub beacons: u8,
    /// Between beacons, IPI; longer on boards that need longer to write and read one.
    pub interval: Duration,
}

impl Survey {
    /// Ten beacons (N_b of P3, section IV-D1) every 10 ms on each of `channels`.
    pub fn of(channels: ChannelSet) -> Self {
        Self {
            channels,
            beacons: 10,
            interval: Duration::from_millis(10),
        }
    }
}

/// What a survey brought, and what it cost.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// The links.
    pub links: LinkQualities,
    /// Time of the measurement.
    pub measuring: Duration,
    /// Time of the collection.
    pub collecting: Duration,
    /// Nodes whose tables did not come in.
    pub missing: Vec<NodeId>,
}

impl Session {
    /// Has the network measure its links and report them to node `sink`.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn survey(
        &mut self,
        sink: usize,
        survey: Survey,
        observer: Observer<'_>,
    ) -> Result<Surveyed, SessionError> {
        let ids = self.ids.clone();
        let timing = &self.board.timing;
        let interval = floodnet::beacon_interval(survey.interval, phy::MAX_MPDU, timing);
        let survey = Survey { interval, ..survey };
        let nodes = NodeList::of(ids.iter().copied())
            .map_err(|why| SessionError::Refused(why.to_string()))?;
        let measure = Measure::new(
            nodes.clone(),
            survey.channels,
            survey.beacons,
            survey.interval,
        )?;
        let mut surveyed = Surveyed {
            links: LinkQualities::new(ids.len()),
            measuring: Duration::ZERO,
            collecting: Duration::ZERO,
            missing: Vec::new(),
        };
        if let Some(places) = self.places.clone() {
            // One place for each node: both come from the environment.
            let _ = surveyed.links.set_places(places);
        }
        // Twice equation 1 and a minute: a bound, not a schedule.
        let turn = Duration::from_millis(10)
            + survey.interval * u64::from(survey.beacons) * survey.channels.len() as u64;
        let patience = turn * (2 * ids.len() as u64) + Duration::from_secs(60);
        self.order(
            sink,
            mote::Command::Measure(measure),
            patience,
            |_, event| match event {
                mote::Event::Floods(floodnet::Event::Probing { turn, of, .. }) => {
                    told(observer(Step::Measuring { turn, of }))
                }
                mote::Event::Floods(floodnet::Event::Measured { time, .. }) => {
                    surveyed.measuring = time;
                    Break(Ok(()))
                }
                _ => Continue(()),
            },
        )?;
        let index = |id: NodeId| ids.iter().position(|i| *i == id);
        let sent = u32::from(survey.beacons);
        let collect = mote::Command::Collect(Collect { nodes, floor: 1 });
        self.order(sink, collect, patience * 4, |_, event| match event {
            mote::Event::Floods(floodnet::Event::Link(link)) => {
                if let (Some(from), Some(to)) = (index(link.from), index(link.to)) {
                    let (received, rssi) = (u32::from(link.received).min(sent), Some(link.rssi));
                    // Both nodes are in the table, and no more is received than was sent.
                    let _ = surveyed
                        .links
                        .record(from, to, link.channel, received, sent, rssi);
                }
                Continue(())
            }
            mote::Event::Floods(floodnet::Event::Progress { complete, of }) => {
                told(observer(Step::Collecting { complete, of }))
            }
            mote::Event::Floods(floodnet::Event::Missing(missing)) => {
                surveyed.missing.push(missing.node);
                Continue(())
            }
            mote::Event::Floods(floodnet::Event::Collected { time, .. }) => {
                surveyed.collecting = time;
                Break(Ok(()))
            }
            _ => Continue(()),
        })?;
        Ok(surveyed)
    }
}
