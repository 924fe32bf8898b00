//! A job on the emulated network, and the same job on the simulated one.

use std::fs;
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::sync::Arc;
use thalweg::Network;
use thalweg_emulator::network::Line;
use thalweg_emulator::perturbation::Perturbation;
use thalweg_emulator::world::SentFrame;
use thalweg_host::line::{SteppedNetwork, Steps as _};
use thalweg_host::network::{Layered, Network as Net, NetworkFault, NetworkTime, NoticeOf};
use thalweg_host::transfer::pipeline::{Node, Order};
use thalweg_medium::random::derive;
use thalweg_nrf52840::layout::BootLoader;
use thalweg_protocols::mote::{Command, Event};
use thalweg_simnet::emulated::{Emulated, Images, Program};
use thalweg_simnet::motes::{Motes, SimNetwork};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Duration, NodeId, SimTime};

/// The farthest of `motes20`.
const SOURCE: u16 = 20;
/// All motes rest by then: the last is on after half a second, records for two and stays awake for ten.
const AT_REST: SimTime = SimTime::from_nanos(15_000_000_000);
/// How often the host looks at the line.
pub(crate) const TURN: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(10);

/// What a job did, from the order to the object.
pub(crate) struct Run {
    /// As reports have it.
    pub(crate) goodput_kbps: f64,
    /// The share of packets that arrived in the first round; none of what came hop by hop.
    pub(crate) first_round: Option<f64>,
    /// Frames sent since the network was first asked for the object: all but those that roused it and measured links,
    /// of which there are as many as motes happened to hear a train early.
    pub(crate) transfer_frames: u64,
    pub(crate) frames: u64,
    /// As planned.
    pub(crate) hops: u32,
    /// Of all nodes.
    pub(crate) joules: f64,
    pub(crate) is_whole: bool,
    /// When it began.
    pub(crate) began: SimTime,
}

pub(crate) fn motes20() -> Testbed {
    Testbed::load("motes20").unwrap()
}

/// The same corridor, whose access points are on, and motes on channels of which they disturb three.
pub(crate) fn beside_wifi() -> Testbed {
    let quiet = include_str!("../../../../../testbeds/motes20.toml");
    assert!(quiet.contains("wifi = false\n") && quiet.contains("sink = 1\n"));
    let text = quiet.replace("wifi = false\n", "").replace(
        "sink = 1\n",
        "sink = 1\nchannels = [12, 18, 22, 26]\ncontrol_channel = 26\n",
    );
    Testbed::from_toml(&text, "motes20").unwrap()
}

/// The images of motes and of base stations, and where their identities go.
pub(crate) fn images() -> ([Vec<u8>; 2], u32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/images");
    let images = ["mote.elf", "station.elf"].map(|name| {
        let path = folder.join(name);
        fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
    });
    (images, BootLoader::None.layout().identity.first)
}

/// What an image records where it has no recording.
fn sample() -> Vec<u8> {
    (0..59_000u32).map(|n| (n as u8).wrapping_mul(7)).collect()
}

/// A network that counts what it spends.
trait Metered: Net<Order = Order, Event = Event> {
    fn frames(&self) -> u64;
}
impl Metered for SteppedNetwork<Emulated> {
    fn frames(&self) -> u64 {
        self.station.network.counts().sent
    }
}
impl Metered for SimNetwork<Node> {
    fn frames(&self) -> u64 {
        self.net.stats().air_frames
    }
}

/// Notes how many frames there were when the object was first asked for.
struct Watched<'a, N> {
    inner: &'a mut N,
    before_transfer: Option<u64>,
}
impl<N: Metered> Layered for Watched<'_, N> {
    type Inner = N;

    fn inner(&self) -> &N {
        self.inner
    }
    fn inner_mut(&mut self) -> &mut N {
        self.inner
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<N>, NetworkFault> {
        self.inner.next(until)
    }
    fn pass_on(&mut self, station: NodeId, order: Order) -> Result<(), NetworkFault> {
        if let Command::Fetch(_) | Command::FetchHops(_) = order {
            self.before_transfer.get_or_insert(self.inner.frames());
        }
        self.inner.order(station, order)
    }
}

/// Survey, plan and fetch, as over a line.
fn collect(testbed: &Testbed, seed: u64, network: &mut impl Metered) -> Run {
    let nodes: Vec<NodeId> = testbed.nodes.iter().map(|node| node.id).collect();
    let all_joules = |network: &mut dyn FnMut(NodeId) -> Option<f64>| -> f64 {
        nodes.iter().map(|node| network(*node).unwrap()).sum()
    };
    let (began, frames) = (network.now(), network.frames());
    let joules = all_joules(&mut |node| network.joules(node));
    let job = Network::of(testbed.clone())
        .seed(seed)
        .from(NodeId::new(SOURCE).ok());
    let mut watched = Watched {
        inner: network,
        before_transfer: None,
    };
    let report = job
        .remote(&mut watched, (testbed.sink, 0), None, &mut |_, _| {
            Continue(())
        })
        .unwrap();
    let before = watched.before_transfer.unwrap();
    let summary = &report.outcome.summary;
    Run {
        goodput_kbps: summary.goodput_kbps,
        first_round: summary.first_round_reliability,
        transfer_frames: network.frames() - before,
        frames: network.frames() - frames,
        hops: summary.hops,
        joules: all_joules(&mut |node| network.joules(node)) - joules,
        is_whole: summary.verified && report.object.as_deref() == Some(&sample()),
        began,
    }
}

/// On emulated chips, by a host that looks at the line once in a `turn`; with the frames from then on where `frames` are
/// kept.
pub(crate) fn emulated(
    testbed: &Testbed,
    (seed, perturbation): (u64, Perturbation),
    turn: Duration,
    frames: Option<&mut Vec<SentFrame>>,
) -> Run {
    emulated_from(AT_REST, testbed, (seed, perturbation), turn, frames)
}

/// The same, by a job that begins at `begin`.
pub(crate) fn emulated_from(
    begin: SimTime,
    testbed: &Testbed,
    (seed, perturbation): (u64, Perturbation),
    turn: Duration,
    frames: Option<&mut Vec<SentFrame>>,
) -> Run {
    let (images, identity) = images();
    let [mote, station] = images.each_ref().map(|elf| Program { elf, identity });
    let site = Site::new(testbed.clone(), seed);
    let network = Emulated::open(
        &site,
        (None, Line::Uart),
        &Images {
            mote,
            station,
            keys: None,
        },
        perturbation,
    );
    let mut network = network.unwrap();
    network.run(begin).unwrap();
    if frames.is_some() {
        network.network.world_mut().record();
    }
    let motes = network.len();
    let mut network = SteppedNetwork::open(network, turn, PATIENCE).unwrap();
    let run = collect(testbed, seed, &mut network);
    if let Some(frames) = frames {
        *frames = network.station.network.world_mut().take_frames();
    }
    let resets = (0..motes).map(|mote| network.station.network.resets(mote));
    assert_eq!(resets.sum::<u64>(), 0, "seed {seed}: motes were reset");
    run
}

/// Simulated, in the air of the emulated chips: it fades alike and is disturbed alike. Its job begins as late.
pub(crate) fn simulated(testbed: &Testbed, seed: u64, began: SimTime) -> Run {
    let site = Site::new(testbed.clone(), seed).idling(Some(Duration::from_secs(86_400)));
    let mut motes = Motes::open(&site, derive(seed, "air", &[])).unwrap();
    let object: Arc<[u8]> = sample().into();
    let source = testbed.index_of(NodeId::new(SOURCE).unwrap());
    motes.offer(source.unwrap(), object);
    motes.nodes.hear(&[testbed.sink_index()]);
    while motes.nodes.now() < began {
        motes.nodes.next(began).unwrap();
    }
    collect(testbed, seed, &mut motes.nodes)
}
