//! Surveys after a transfer that broke off: not before its relays have given it up, once more where nodes are
//! missing, and no more often than brings some of them.

use std::collections::VecDeque;
use std::ops::ControlFlow::{self, Continue};
use std::sync::Arc;

use thalweg_engine::BoardTiming;
use thalweg_host::collector::{
    Collector, Description, FetchRequest, LineLoss, Patience, Search, TransferObserver,
};
use thalweg_host::job::{Failure, Progress, Retry, Watch};
use thalweg_host::link_state::{LinkState, Place, PlanRequest};
use thalweg_host::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use thalweg_host::recovery::{settle, survey, Reports, Sought, Turn};
use thalweg_host::registry::Pipelined;
use thalweg_host::segments::Assembly;
use thalweg_host::survey::{Survey, SurveyJob, SurveyOutcome};
use thalweg_host::transfer::pipeline::{Order, SETTLING};
use thalweg_planner::{LinkQualities, RelayOrder};
use thalweg_protocols::collection::{LinkReport, Missing};
use thalweg_protocols::floodnet::{Event as Flood, Refused};
use thalweg_protocols::mote::{Command, Event};
use thalweg_protocols::pipeline::{self, End};
use thalweg_units::{Channel, ChannelSet, Dbm, Duration, Instant, NodeId};
use thalweg_wire::route::PayloadSize;
use thalweg_wire::seal::frame::Sealing;

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

/// How a survey of the script ends.
#[derive(Clone, Copy)]
enum Ends {
    /// With the tables of all but these many of the nodes 2, 3.
    Without(u16),
    /// The same, after the end of a transfer that a killed host had ordered.
    Held(u16),
    /// The station does not begin.
    Refused,
    /// Nobody says anything.
    Never,
}

/// A base station that surveys by a script.
struct Scripted {
    now: NetworkTime,
    script: VecDeque<Ends>,
    told: VecDeque<(NetworkTime, Event)>,
    /// When surveys and transfers began.
    began: Vec<NetworkTime>,
    /// Somebody asks to stop.
    cancelled: bool,
}

fn scripted(script: &[Ends]) -> Scripted {
    Scripted {
        now: NetworkTime::ZERO,
        script: script.iter().copied().collect(),
        told: VecDeque::new(),
        began: Vec::new(),
        cancelled: false,
    }
}

impl Clock for Scripted {
    fn when(&self, _station: NodeId, local: Instant) -> NetworkTime {
        NetworkTime::from_nanos(local.as_nanos())
    }
}

impl Network for Scripted {
    type Order = Order;
    type Event = Event;

    fn now(&self) -> NetworkTime {
        self.now
    }
    fn order(&mut self, _station: NodeId, order: Order) -> Result<(), NetworkFault> {
        if matches!(order, Command::Sweep(_) | Command::Fetch(_)) {
            self.began.push(self.now);
        }
        if !matches!(order, Command::Sweep(_)) {
            return Ok(());
        }
        let at = self.now + Duration::from_secs(1);
        let ends = self.script.pop_front();
        if let Some(Ends::Held(_)) = ends {
            let stopped = pipeline::Event::Finished(End::Stopped);
            self.told.push_back((at, Event::Pipeline(stopped)));
        }
        let mut tell = |event| self.told.push_back((at, Event::Floods(event)));
        let time = Duration::from_secs(1);
        match ends {
            Some(Ends::Without(missing) | Ends::Held(missing)) => {
                tell(Flood::Measured { nodes: 3, time });
                for node in missing..2 {
                    tell(Flood::Link(LinkReport {
                        from: id(2 + node),
                        to: id(1),
                        channel: Channel::LAST,
                        received: 2,
                        rssi: Dbm(-60.0),
                    }));
                }
                for node in 0..missing {
                    tell(Flood::Missing(Missing {
                        node: id(2 + node),
                        received: 0,
                        frames: None,
                    }));
                }
                let complete = 3 - missing;
                tell(Flood::Collected {
                    complete,
                    missing,
                    time,
                });
            }
            Some(Ends::Refused) => tell(Flood::Refused(Refused::Busy)),
            Some(Ends::Never) | None => {}
        }
        Ok(())
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Event>, NetworkFault> {
        if self.cancelled {
            return Ok(Notice::Cancelled);
        }
        match self.told.front() {
            Some((at, _)) if *at <= until => {
                let (at, event) = self.told.pop_front().unwrap();
                self.now = self.now.max(at);
                Ok(Notice::Event(at, id(1), event))
            }
            _ => {
                self.now = self.now.max(until);
                Ok(Notice::Nothing)
            }
        }
    }
    fn take(&mut self, _station: NodeId, _len: usize) -> Result<Vec<u8>, NetworkFault> {
        Ok(Vec::new())
    }
    fn joules(&mut self, _node: NodeId) -> Option<f64> {
        None
    }
}

fn surveyed(
    field: &mut Scripted,
    broken: Option<NetworkTime>,
    missed: &[NodeId],
) -> Result<SurveyOutcome, Failure> {
    let sought = Sought::all_but(missed);
    surveyed_for(field, (broken, sought), &mut |_| Continue(()))
}

fn surveyed_for(
    field: &mut Scripted,
    of: (Option<NetworkTime>, Sought<'_>),
    watch: Watch<'_>,
) -> Result<SurveyOutcome, Failure> {
    let ids = [id(1), id(2), id(3)];
    let kind = Survey::sweep(ChannelSet::ALL);
    let make = |_| SurveyJob::new(kind, &ids, None, &BoardTiming::IDEAL, id(1));
    survey(field, of, make, reports(&ids, &mut || 1), watch)
}

fn reports<'a>(ids: &'a [NodeId], number: &'a mut dyn FnMut() -> u16) -> Reports<'a> {
    Reports {
        ids,
        sink: id(1),
        floor: Dbm(-95.0),
        control: Channel::LAST,
        measured: ChannelSet::ALL,
        sealing: Sealing::Open,
        number,
    }
}

#[test]
fn silent_nodes_are_named_and_waited_for_no_longer_than_asked() {
    const ONE: [Ends; 12] = [Ends::Without(1); 12];
    let all = Sought::all_but(&[]);
    for (sought, surveys) in [
        (all, 6),
        (
            Sought {
                within: Duration::ZERO,
                ..all
            },
            1,
        ),
        (
            Sought {
                within: Duration::from_secs(7),
                ..all
            },
            2,
        ),
        (
            Sought {
                serves: &|_, made| made > 1,
                ..all
            },
            2,
        ),
    ] {
        let (mut field, mut silent) = (scripted(&ONE), Vec::new());
        let mut watch = |progress| {
            if let Progress::Silent { nodes, of } = progress {
                assert_eq!((nodes.as_slice(), of), (&[id(2)][..], 3));
                silent.push(nodes);
            }
            Continue(())
        };
        let brought = surveyed_for(&mut field, (None, sought), &mut watch).unwrap();
        assert_eq!(brought.missing, [id(2)]);
        assert_eq!((field.began.len(), silent.len()), (surveys, surveys));
    }
    let stopped = surveyed_for(
        &mut scripted(&ONE),
        (None, all),
        &mut |progress| match progress {
            Progress::Silent { .. } => ControlFlow::Break(()),
            _ => Continue(()),
        },
    );
    assert!(matches!(stopped, Err(Failure::Cancelled)));
}

#[test]
fn a_survey_begins_when_relays_have_given_up_and_not_before() {
    let began = NetworkTime::ZERO + Duration::from_secs(3);
    for (broken, first) in [
        (None, began),
        (Some(NetworkTime::ZERO), NetworkTime::ZERO + SETTLING),
        (Some(began), began + SETTLING),
    ] {
        let mut field = scripted(&[Ends::Without(0)]);
        field.now = began;
        assert!(surveyed(&mut field, broken, &[])
            .unwrap()
            .missing
            .is_empty());
        assert_eq!(field.began, [first]);
    }
}

#[test]
fn a_survey_that_lacks_nodes_is_made_again() {
    use Ends::{Never, Refused, Without};
    for (script, surveys, missing) in [
        (&[Without(1), Without(0)][..], 2, 0),
        (&[Without(2), Without(1), Without(0)], 3, 0),
        (&[Without(1), Without(2), Never], 3, 1),
        (&[Without(1); 12], 6, 1),
        (&[Without(1), Never], 2, 1),
        (&[Refused, Without(0)], 2, 0),
        (&[Without(0), Without(0)], 1, 0),
    ] {
        let mut field = scripted(script);
        let brought = surveyed(&mut field, None, &[]).unwrap();
        assert_eq!(field.began.len(), surveys);
        assert_eq!(brought.missing.len(), missing);
        if let [first, second] = field.began[..] {
            assert!(second >= first + SETTLING);
        }
    }
    let mut field = scripted(&[Without(1), Without(0)]);
    let brought = surveyed(&mut field, None, &[id(2)]).unwrap();
    assert_eq!((field.began.len(), brought.missing), (1, vec![id(2)]));
    let both = surveyed(&mut scripted(&[Without(1), Without(0)]), None, &[]).unwrap();
    assert_eq!(both.measuring, Duration::from_secs(2), "both count");
}

/// Its relays are deaf for a while, and no farther away than others.
#[test]
fn a_survey_after_a_killed_hosts_transfer_is_made_again_as_the_first() {
    for (first, second) in [
        (Ends::Held(1), Turn::First),
        (Ends::Without(1), Turn::Later),
    ] {
        let mut field = scripted(&[first, Ends::Without(0)]);
        let (ids, mut turns) = ([id(1), id(2), id(3)], Vec::new());
        let kind = Survey::sweep(ChannelSet::ALL);
        let make = |turn| {
            turns.push(turn);
            SurveyJob::new(kind, &ids, None, &BoardTiming::IDEAL, id(1))
        };
        let sought = (None, Sought::all_but(&[]));
        let watch: Watch<'_> = &mut |_| Continue(());
        let found = survey(&mut field, sought, make, reports(&ids, &mut || 1), watch);
        assert_eq!(found.unwrap().missing, []);
        assert_eq!(turns, [Turn::First, second]);
    }
}

#[test]
fn a_survey_that_does_not_end_fails_typed() {
    let never = surveyed(&mut scripted(&[Ends::Never]), None, &[]);
    assert!(matches!(never, Err(Failure::NoEnd(_))));
    let refused = surveyed(&mut scripted(&[Ends::Refused, Ends::Refused]), None, &[]);
    assert!(matches!(refused, Err(Failure::Refused(_))));
    let mut field = scripted(&[]);
    settle(&mut field, NetworkTime::ZERO).unwrap();
    assert_eq!(field.now, NetworkTime::ZERO + SETTLING);
}

/// Follows nothing, and keeps nothing.
struct Quiet;

impl TransferObserver<Scripted> for Quiet {
    type Error = Failure;

    fn progress(&mut self, _protocol: &str, _progress: Progress) -> ControlFlow<()> {
        Continue(())
    }
}

/// Nodes 1 and 2, whose link is good, and a request for the object of node 2.
fn pair() -> (Collector, LinkState, PlanRequest) {
    let description = Description {
        place: Place {
            labels: Default::default(),
            name: "pair".to_owned(),
            ids: vec![id(1), id(2)],
            channels: ChannelSet::ALL,
            order: RelayOrder::Random,
            floor: Dbm(-95.0),
            control: Channel::LAST,
            timing: None,
            currents: thalweg_planner::Currents::TELOSB,
        },
        positions: None,
        sink: id(1),
        beside: Vec::new(),
        channels: None,
        timing: BoardTiming::IDEAL,
        draw: (|seed, _, _| rand_pcg::Pcg64Mcg::new(u128::from(seed)), 1),
        keys: None,
    };
    let mut links = LinkQualities::new(2);
    for channel in Channel::all() {
        for (from, to) in [(0, 1), (1, 0)] {
            let level = Some(Dbm(-60.0));
            links.record(from, to, channel, 10, 10, level).unwrap();
        }
    }
    let link_state = description.link_state(links);
    let request = PlanRequest {
        from: Some(id(2)),
        bytes: 100,
        protocol: Pipelined::P3,
        payload: PayloadSize::MAX,
        paths: None,
        hops: None,
    };
    (
        Collector::new(description, 0, LineLoss::Ends),
        link_state,
        request,
    )
}

#[test]
fn a_cancel_while_relays_are_waited_for_does_not_shorten_the_wait_of_the_next_transfer() {
    let (mut collector, link_state, plan_request) = pair();
    let mut network = scripted(&[]);
    collector.note_broken_transfer(network.now);
    let request = FetchRequest {
        link_state: &link_state,
        plan_request,
        plan: Arc::new(link_state.plan(&plan_request).unwrap()),
        survey: None,
        retry: Retry::NEVER,
        patience: Some(Patience::of(Duration::ZERO)),
    };
    let mut fetch = |network: &mut Scripted| {
        let assembly = &mut Assembly::default();
        collector.fetch(network, &request, assembly, &mut Quiet)
    };
    network.cancelled = true;
    let cancelled = fetch(&mut network);
    assert!(matches!(cancelled, Err(Failure::Cancelled)));
    assert_eq!(network.began, []);
    network.cancelled = false;
    let report = fetch(&mut network).unwrap();
    assert!(!report.outcome.summary.verified);
    assert!(network.began[0] >= NetworkTime::ZERO + SETTLING);
}

#[test]
fn a_route_is_looked_for_after_pauses_that_double_and_for_so_long_as_was_asked_for() {
    let (mut collector, links, published) = pair();
    let request = PlanRequest {
        protocol: Pipelined::HOP_BY_HOP,
        ..published
    };
    let patience = Patience {
        known: Duration::from_secs(900),
        unknown: Duration::from_secs(300),
    };
    let nothing = LinkQualities::new(2);
    for (known, limit) in [
        (&nothing, patience.unknown),
        (links.links(), patience.known),
    ] {
        let (mut pauses, mut last) = (Vec::new(), Duration::ZERO);
        let mut watch = |progress| {
            if let Progress::OutOfReach { pause, waited, .. } = progress {
                pauses.push(pause);
                assert_eq!(waited.1, limit);
                last = waited.0;
            }
            Continue(())
        };
        let mut field = scripted(&[Ends::Without(1); 200]);
        let search = &mut Search::new(patience, known);
        let found = collector.find_route(&mut field, (&request, search), &mut watch);
        assert!(found.unwrap().is_none());
        let pause = |times| SETTLING * times;
        assert_eq!(pauses[..3], [Duration::ZERO, SETTLING, pause(2)]);
        assert!(last < limit, "none begins later");
        let next = pauses.last().map_or(Duration::ZERO, |pause| *pause * 2);
        assert!(
            field.now.since(NetworkTime::ZERO) + next >= limit,
            "and none that fits is left out"
        );
    }
    let search = || Search::new(Patience::of(Duration::ZERO), &nothing);
    let mut field = scripted(&[Ends::Without(1); 40]);
    let mut once = 0;
    let mut watch = |progress| {
        once += u32::from(matches!(progress, Progress::OutOfReach { .. }));
        Continue(())
    };
    let found = collector.find_route(&mut field, (&request, &mut search()), &mut watch);
    assert!(found.unwrap().is_none());
    assert_eq!(once, 1, "no patience is one more survey");
    let began = field.now;
    field.cancelled = true;
    let wanted = (&request, &mut search());
    let cancelled = collector.find_route(&mut field, wanted, &mut |_| Continue(()));
    assert!(matches!(cancelled, Err(Failure::Cancelled)));
    assert!(field.now < began + SETTLING);
    // What is published has its one survey.
    let wanted = (&published, &mut search());
    let none = collector.find_route(&mut field, wanted, &mut |_| Continue(()));
    assert!(none.unwrap().is_none());
}
