//! A node on the model: a whole mote, and an engine that sleeps.

use crate::bench::model::{Chip, State, RAM, US};
use core::mem::MaybeUninit;
use thalweg_engine::{
    Abilities, Ability, Caps, Driver, Engine, OpId, RadioEvent, RadioId, RadioOp, Request, Wants,
};
use thalweg_nrf52840::clock::LowFrequency;
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::flash::Flash;
use thalweg_nrf52840::host::{BootError, Node};
use thalweg_nrf52840::radio::{Radio, Usage, CAPS, TIMING};
use thalweg_nrf52840::recording::Recording;
use thalweg_nrf52840::registers::radio;
use thalweg_protocols::floodnet;
use thalweg_protocols::member::{Member, Packets};
use thalweg_protocols::object::{Lends, ObjectStore};
use thalweg_protocols::rcrt::source::Source;
use thalweg_units::{BatteryLevel, Channel, Duration, Instant, NodeId};

const MEMORY: Region = Region::at(RAM, Radio::DMA_BYTES / 4);

type Recorder = Recording<'static, Chip>;
type Sends = Source<Packets<<Recorder as Lends>::Loan>>;
type Whole = Member<Recorder, Sends, 40, 0>;

fn mote(chip: &Chip) -> Whole {
    let flash = Flash::at(0x8_0000, 8).unwrap();
    let store = Recorder::new(chip.clone(), flash, Vec::leak(vec![0; 512]));
    let id = NodeId::new(7).unwrap();
    Member::new(id, floodnet::Config::default(), TIMING, store)
}

#[test]
fn a_mote_wants_no_more_than_the_chip_has() {
    let chip = Chip::new();
    assert!(Driver::new(mote(&chip), &[CAPS]).is_ok());
    let preamble = Abilities::of(&[Ability::Preamble]);
    assert_eq!(CAPS.abilities, Abilities::ALL.without(preamble));
    assert_eq!(TIMING.relay_gap(), Duration::from_micros(160));
    assert_ne!(CAPS, Caps::IDEAL);
}

#[test]
fn a_mote_listens_for_floods_and_records() {
    let chip = Chip::new();
    let mut place = MaybeUninit::uninit();
    let hardware = (MEMORY, LowFrequency::Crystal);
    let node = Node::new(&mut place, chip.clone(), hardware, || mote(&chip)).unwrap();
    node.start(|_| {}).unwrap();
    for _ in 0..100 {
        chip.run(chip.now() + 1_000 * US);
        node.interrupt(|_| {}).unwrap();
    }
    assert_eq!(chip.0.borrow().state, State::Rx);
    assert_eq!(node.usage(), Usage::Listening);
    let (recording, usage) = node.recording();
    recording.write(&[1, 2, 3]).unwrap();
    assert!(
        recording.seal(usage).is_err(),
        "a page is erased while the radio sleeps"
    );
    recording.seal(Usage::Asleep).unwrap();
    assert_eq!(recording.info().len, 3);
    node.set_battery(BatteryLevel::of_millivolts(2_980));
    // It has heard its own channel only: no frame, no answer.
    assert_eq!(node.radio().counters().received, 0);
    assert!(chip.0.borrow().sent.is_empty());
}

#[test]
fn too_little_memory_is_said() {
    let chip = Chip::new();
    let short = Region::at(RAM, 10);
    let (mut place, hardware) = (MaybeUninit::uninit(), (short, LowFrequency::Rc));
    let error = Node::new(&mut place, chip.clone(), hardware, || mote(&chip)).map(|_| ());
    assert_eq!(error, Err(BootError::NoMemory));
}

/// Listens for 2 ms each second, and sleeps between.
#[derive(Default)]
struct Dozer {
    due: Instant,
    listens: bool,
    op: Option<RadioOp<'static>>,
    /// When it was woken, and when its receiver was on.
    woken: Vec<Instant>,
    on: Vec<Instant>,
}

impl Engine for Dozer {
    type Command = ();
    type Event = ();
    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio == RadioId(0)).then(|| Wants::of(&[]))
    }
    fn handle_command(&mut self, now: Instant, (): ()) {
        self.due = now;
    }
    fn handle_radio(&mut self, at: Instant, _: RadioId, event: RadioEvent<'_>) {
        if matches!(event, RadioEvent::Done { op: OpId(1) }) {
            self.on.push(at);
        }
    }
    fn handle_timeout(&mut self, at: Instant) {
        self.listens = !self.listens;
        let channel = Channel::LAST;
        (self.op, self.due) = match self.listens {
            true => {
                self.woken.push(at);
                let (head_bytes, ms) = (0, 2);
                let op = RadioOp::Listen {
                    channel,
                    head_bytes,
                };
                (Some(op), self.due + Duration::from_millis(ms))
            }
            false => (Some(RadioOp::Sleep), self.due + Duration::from_millis(998)),
        };
    }
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let op = self.op.take()?;
        let id = if op == RadioOp::Sleep {
            OpId(2)
        } else {
            OpId(1)
        };
        Some(Request::new(id, op))
    }
    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.due)
    }
    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

#[test]
fn a_node_that_sleeps_is_awake_when_it_is_due() {
    let chip = Chip::new();
    let mut place = MaybeUninit::uninit();
    let hardware = (MEMORY, LowFrequency::Crystal);
    let node = Node::new(&mut place, chip.clone(), hardware, Dozer::default).unwrap();
    node.start(|()| {}).unwrap();
    let (mut asleep, begun) = (0, chip.now());
    while chip.now() < begun + 10_000_000 * US {
        let from = chip.now();
        node.wait(|| {
            chip.run(u64::MAX);
        })
        .unwrap();
        let slept = chip.now() - from;
        if slept > 100_000 * US {
            asleep += slept;
        }
        node.interrupt(|()| {}).unwrap();
    }
    let dozer = node.engine();
    assert!(dozer.woken.len() >= 10);
    for (n, woken) in dozer.woken.iter().enumerate() {
        let due = Instant::from_nanos(n as u64 * 1_000_000_000);
        // In time, and the receiver is on its ramp-up later: the crystal was there before.
        assert!(
            *woken >= due && woken.since(due) < Duration::from_micros(200),
            "{n}: {woken}"
        );
        let on = dozer.on[n].since(*woken);
        assert!(on < Duration::from_micros(60), "{on}");
    }
    // A radio without power forgets what it was set to.
    let set_up = (radio::MODE, 15);
    let model = chip.0.borrow();
    let times = model.log.iter().filter(|write| **write == set_up).count();
    assert!(times >= 10, "{times}");
    drop(model);
    let share = asleep as f64 / (chip.now() - begun) as f64;
    assert!(share > 0.99, "{share}");
}
