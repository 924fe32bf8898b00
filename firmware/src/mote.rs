//! A mote: it listens for floods, takes part in transfers, and hands out what its application records.
//!
//! RADIO, TIMER3 and RTC1 interrupt with one priority; the main loop waits, and tidies flash while the radio sleeps. An
//! application has a turn of it after each interrupt.
use crate::{begin, chip, interrupt, reset, secrets, Guard, Secrets, LAYOUT};
use core::cell::RefCell;
use core::mem::MaybeUninit;
use core::num::NonZeroU32;
use cortex_m::interrupt::{free, CriticalSection, Mutex};
use thalweg_nrf52840::chip::Chip;
use thalweg_nrf52840::clock::LowFrequency;
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::flash::Flash;
use thalweg_nrf52840::gauge;
use thalweg_nrf52840::host::{BootError, Fault, Node};
use thalweg_nrf52840::identity::{Identity, Role};
use thalweg_nrf52840::keys::BadKeys;
#[cfg(not(any(feature = "dongle", feature = "uf2", feature = "uf2-s7")))]
use thalweg_nrf52840::numbers::Numbers;
use thalweg_nrf52840::radio::{Radio, Usage, TIMING};
use thalweg_nrf52840::recording::Recording;
use thalweg_nrf52840::reset::Before;
use thalweg_nrf52840::watchdog::{Feeder, Watchdog};
use thalweg_nrf52840::Registers;
use thalweg_protocols::floodnet;
use thalweg_protocols::member::{Member, Packets};
use thalweg_protocols::object::Lends;
use thalweg_protocols::rcrt::source::Source;
use thalweg_units::NodeId;

/// What applications record into.
pub type Recorder = Recording<'static, Chip>;
/// What it sends in a session of RCRT.
type Sends = Source<Packets<<Recorder as Lends>::Loan>>;
type Whole = Node<Member<Recorder, Sends, 40, 0, Guard>, Chip>;

/// What the interrupt handlers and the main loop share.
struct Shared {
    node: &'static mut Whole,
    dog: Watchdog,
    /// For the battery's measurement, and how many turns ago it was made.
    gauge: (Region, u8),
}

/// A reference, so that the node itself is in memory that start-up clears, and not in an image of it in flash.
static SHARED: Mutex<RefCell<Option<Shared>>> = Mutex::new(RefCell::new(None));
/// Interrupts of the node.
const OWN: [u32; 3] = [interrupt::RADIO, interrupt::RTC1, interrupt::TIMER3];
/// The battery is measured every so many turns in which the radio sleeps: at rest each minute or so.
const TURNS: u8 = 128;
/// The watchdog's patience, of time that the processor runs.
const PATIENCE: NonZeroU32 = NonZeroU32::MIN.saturating_add(7);

/// A mote of whose recording `$waiting` bytes wait in RAM while the radio is in use, as flash cannot be written then. Its
/// application is `$turn`, called with the recording and what the radio is in use for, after each interrupt. It
/// has some milliseconds, but while [`Usage::Active`] some microseconds. `$first` is called once, before the radio is on.
#[macro_export]
macro_rules! mote {
    ($waiting:expr, $first:expr, $turn:expr) => {
        $crate::mark!(Mote);
        #[cortex_m_rt::entry]
        fn main() -> ! {
            let waiting = cortex_m::singleton!(: [u8; $waiting] = [0; $waiting]);
            $crate::mote::run(waiting.map_or(&mut [], |bytes| bytes), $first, $turn)
        }
        #[cortex_m_rt::exception]
        #[allow(unsafe_code)] // The signature is cortex-m-rt's.
        unsafe fn DefaultHandler(number: i16) {
            $crate::mote::interrupt(number);
        }
    };
}

/// Runs the mote: what the macro `mote` begins with.
pub fn run(
    waiting: &'static mut [u8],
    first: impl FnOnce(&mut Recorder),
    mut turn: impl FnMut(&mut Recorder, Usage),
) -> ! {
    let before = begin();
    let mut chip = chip();
    let identity = Identity::read_as(&mut chip, LAYOUT.identity.first, Role::Mote).ok();
    let Some(identity) = identity else {
        // Nobody's node, or a base station's.
        keep_still();
    };
    let node = make((chip, waiting), identity, &before);
    if give_keys(node, identity.node).is_err() {
        keep_still();
    }
    share(node, first);
    switch_on();
    loop {
        free(|cs| serve(cs, &mut turn));
    }
}

/// It keeps still, and sleeps.
fn keep_still() -> ! {
    loop {
        cortex_m::asm::wfi();
    }
}

/// Makes the node, where it stays. Not inlined: the stack that it takes, 3 kB, is free once it is done.
#[inline(never)]
fn make(
    (chip, waiting): (Chip, &'static mut [u8]),
    identity: Identity,
    before: &Before,
) -> &'static mut Whole {
    let Some(flash) = Flash::of(LAYOUT.recordings) else {
        reset(format_args!("the recordings' flash is none"));
    };
    let memory = cortex_m::singleton!(: [u32; Radio::DMA_BYTES as usize / 4] = [0; Radio::DMA_BYTES as usize / 4]);
    let memory = memory.map_or(Region::at(0, 0), |words| Region::of(words));
    let mut config = floodnet::Config::default();
    config.glossy.channel = identity.floods;
    config.idle = floodnet::Idle::Rests;
    let place = cortex_m::singleton!(: MaybeUninit<Whole> = MaybeUninit::uninit());
    let Some(place) = place else {
        reset(format_args!("the node's memory is taken"));
    };
    let hardware = (memory, LowFrequency::Crystal);
    let node = match Node::new(place, chip, hardware, || {
        let recorder = Recorder::new(chip, flash, waiting);
        Member::unguarded(identity.node, config, TIMING, recorder)
    }) {
        Ok(node) => node,
        // Its text has numbers with fractions, and the code for them takes 6 kB.
        Err(BootError::Misfit(_)) => reset(format_args!("the radio lacks an ability")),
        Err(BootError::NoMemory) => reset(format_args!("the radio has no memory")),
        Err(BootError::Clock(error)) => reset(format_args!("{error}")),
    };
    node.set_before(before);
    node
}

/// Gives the node the keys that are in its flash. Not inlined: its stack is free before the node runs.
#[inline(never)]
fn give_keys(node: &mut Whole, id: NodeId) -> Result<(), BadKeys> {
    let Secrets { guard, veil } = secrets(id)?;
    node.engine_mut().set_guard(guard);
    if let Some(veil) = veil {
        node.recording().0.set_veil(veil);
    }
    Ok(())
}

/// Lets interrupts and the main loop have the node, after its application's `first`.
fn share(node: &'static mut Whole, first: impl FnOnce(&mut Recorder)) {
    let word = cortex_m::singleton!(: [u32; 1] = [0]);
    let word = word.map_or(Region::at(0, 0), |word| Region::of(word));
    measure(node, word);
    let (recorder, _) = node.recording();
    first(recorder);
    free(|cs| {
        let mut chip = chip();
        let dog = Watchdog::start(&mut chip, PATIENCE);
        let gauge = (word, 0);
        SHARED.borrow(cs).replace(Some(Shared { node, dog, gauge }));
    });
}

/// Measures the battery for the next survey. 30 us, while the radio sleeps.
fn measure(node: &mut Whole, word: Region) {
    if let Some(level) = gauge::supply(node.registers(), word) {
        node.set_battery(level);
    }
}

/// Encrypts the packet that is due next, while one is on the air.
#[cfg(not(any(feature = "dongle", feature = "uf2", feature = "uf2-s7")))]
fn encrypt_ahead(node: &mut Whole) {
    if let Some(upcoming) = node.engine().upcoming() {
        node.recording().0.encrypt_ahead(upcoming);
    }
}
/// Sees that the numbers of the next orders find room in flash.
#[cfg(not(any(feature = "dongle", feature = "uf2", feature = "uf2-s7")))]
fn tidy_numbers(usage: Usage) {
    let flash = LAYOUT.keys.and_then(|areas| Flash::of(areas.numbers));
    // What cannot be done now is done at another turn.
    let _later = flash.map(|flash| Numbers::at(chip(), flash).tidy(usage));
}
#[cfg(any(feature = "dongle", feature = "uf2", feature = "uf2-s7"))]
fn encrypt_ahead(_node: &mut Whole) {}
#[cfg(any(feature = "dongle", feature = "uf2", feature = "uf2-s7"))]
fn tidy_numbers(_usage: Usage) {}

/// Lets the node run, once what made it is off the stack.
#[inline(never)]
fn switch_on() {
    free(|cs| {
        with(cs, |shared| shared.node.start(|_| {}));
        let bits = OWN.into_iter().fold(0, |bits, n| bits | 1 << n);
        chip().write(interrupt::ENABLE, bits);
    });
}

/// Does something with the node; a fault of it resets.
fn with(cs: &CriticalSection, act: impl FnOnce(&mut Shared) -> Result<(), Fault>) {
    if let Some(shared) = SHARED.borrow(cs).borrow_mut().as_mut() {
        if let Err(fault) = act(shared) {
            reset(format_args!("{fault}"));
        }
    }
}

/// A turn of the main loop. Interrupts wait until it is over, and end its waiting.
fn serve(cs: &CriticalSection, turn: &mut impl FnMut(&mut Recorder, Usage)) {
    with(cs, |shared| {
        let Shared { node, dog, gauge } = shared;
        dog.feed(node.registers(), Feeder::Loop);
        let (recorder, usage) = node.recording();
        turn(recorder, usage);
        if usage == Usage::Asleep {
            // What cannot be done now is done at another turn.
            let _later = recorder.flush(usage).and_then(|()| recorder.tidy(usage));
            gauge.1 = (gauge.1 + 1) % TURNS;
            if gauge.1 == 0 {
                measure(node, gauge.0);
                tidy_numbers(usage);
            }
        }
        encrypt_ahead(node);
        node.wait(cortex_m::asm::wfi)
    });
}

/// An interrupt: what the macro `mote` ends with. One of the application's own devices is held back until that has quieted
/// it, in its turn.
pub fn interrupt(number: i16) {
    let number = number as u32;
    // Compared one by one: a search through `OWN` takes as long as a copied frame's quarter.
    if !matches!(
        number,
        interrupt::RADIO | interrupt::TIMER3 | interrupt::RTC1
    ) {
        let register = interrupt::DISABLE + number / 32 * 4;
        return chip().write(register, 1 << (number % 32));
    }
    free(|cs| {
        with(cs, |shared| {
            let Shared { node, dog, .. } = shared;
            // What the interrupt is for has a gap's time; the watchdog has seconds.
            let done = node.interrupt(|_| {});
            dog.feed(node.registers(), Feeder::Interrupt);
            done
        });
    });
}
