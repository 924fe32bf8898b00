//! A mote: it listens for floods, takes part in transfers, and hands out its recordings.
//!
//! RADIO, TIMER3 and RTC1 interrupt with one priority; the main loop waits, and tidies flash while the radio sleeps.
#![no_std]
#![no_main]

use core::cell::RefCell;
use core::mem::MaybeUninit;
use core::num::NonZeroU32;
use cortex_m::interrupt::{free, CriticalSection, Mutex};
use cortex_m_rt::{entry, exception};
use thalweg_firmware::{chip, interrupt, remains, reset, LAYOUT};
use thalweg_nrf52840::chip::Chip;
use thalweg_nrf52840::clock::LowFrequency;
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::flash::Flash;
use thalweg_nrf52840::host::{BootError, Fault, Node};
use thalweg_nrf52840::identity::Identity;
use thalweg_nrf52840::radio::{Radio, Usage, TIMING};
use thalweg_nrf52840::recording::Recording;
use thalweg_nrf52840::registers::{clock, nvmc};
use thalweg_nrf52840::reset::{Kind, Reason, Remains, StackMark};
use thalweg_nrf52840::watchdog::{Feeder, Watchdog};
use thalweg_nrf52840::Registers;
use thalweg_protocols::floodnet;
use thalweg_protocols::mote::Mote;

/// Bytes that wait for flash while the radio is in use.
const WAITING: usize = 8_192;
type Recorder = Recording<'static, Chip>;
type Whole = Node<Mote<Recorder, 40, 0>, Chip>;

/// What the interrupt handlers and the main loop share.
struct Shared {
    node: &'static mut Whole,
    dog: Watchdog,
}

/// A reference, so that the node itself is in memory that start-up clears, and not in an image of it in flash.
static SHARED: Mutex<RefCell<Option<Shared>>> = Mutex::new(RefCell::new(None));
/// Words below the stack that tell whether it ran over.
const MARK_WORDS: u32 = 64;
/// The watchdog's patience, of time that the processor runs.
const PATIENCE: NonZeroU32 = NonZeroU32::MIN.saturating_add(7);

#[entry]
fn main() -> ! {
    let mut chip = chip();
    // What they say has no way to a host yet: a debugger sees it.
    let _before = (Reason::take(&mut chip), Remains::take(&mut chip, remains()));
    chip.write(clock::DCDCEN, 1);
    chip.write(nvmc::ICACHECNF, 1);
    let mark = Region::at(cortex_m_rt::heap_start() as usize as u32, MARK_WORDS);
    let mark = StackMark::put(&mut chip, mark);
    let Ok(identity) = Identity::read(&mut chip, LAYOUT.identity.first) else {
        // Nobody's node: it keeps still, and sleeps.
        loop {
            cortex_m::asm::wfi();
        }
    };
    start(chip, identity);
    loop {
        free(serve);
        if mark.left(&mut chip).is_none() {
            reset(Kind::StackOverflow, format_args!("the stack ran over"));
        }
    }
}

fn start(chip: Chip, identity: Identity) {
    let Some(flash) = Flash::of(LAYOUT.recordings) else {
        reset(Kind::Panic, format_args!("the recordings' flash is none"));
    };
    let memory = cortex_m::singleton!(: [u32; Radio::DMA_BYTES as usize / 4] = [0; Radio::DMA_BYTES as usize / 4]);
    let memory = memory.map_or(Region::at(0, 0), |words| Region::of(words));
    let mut config = floodnet::Config::default();
    config.glossy.channel = identity.floods;
    config.idle = floodnet::Idle::Rests;
    let place = cortex_m::singleton!(: MaybeUninit<Whole> = MaybeUninit::uninit());
    let buffer = cortex_m::singleton!(: [u8; WAITING] = [0; WAITING]);
    let (Some(place), Some(buffer)) = (place, buffer) else {
        reset(Kind::Panic, format_args!("the node's memory is taken"));
    };
    let hardware = (memory, LowFrequency::Crystal);
    let node = match Node::new(place, chip, hardware, || {
        let recorder = Recorder::new(chip, flash, buffer);
        Mote::new(identity.node, config, TIMING, recorder)
    }) {
        Ok(node) => node,
        // Its text has numbers with fractions, and the code for them takes 6 kB.
        Err(BootError::Misfit(_)) => reset(Kind::Panic, format_args!("the radio lacks an ability")),
        Err(BootError::NoMemory) => reset(Kind::Panic, format_args!("the radio has no memory")),
        Err(BootError::Clock(error)) => reset(Kind::Panic, format_args!("{error}")),
    };
    let (recorder, _) = node.recording();
    if cfg!(feature = "sample") && recorder.sealed().is_none() {
        record_sample(recorder);
    }
    free(|cs| {
        let mut chip = chip;
        let dog = Watchdog::start(&mut chip, PATIENCE);
        SHARED.borrow(cs).replace(Some(Shared { node, dog }));
        with(cs, |shared| shared.node.start(|_| {}));
        let all = [interrupt::RADIO, interrupt::RTC1, interrupt::TIMER3];
        let bits = all.into_iter().fold(0, |bits, n| bits | 1 << n);
        chip.write(interrupt::ENABLE, bits);
    });
}

/// Does something with the node; a fault of it resets.
fn with(cs: &CriticalSection, act: impl FnOnce(&mut Shared) -> Result<(), Fault>) {
    if let Some(shared) = SHARED.borrow(cs).borrow_mut().as_mut() {
        if let Err(fault) = act(shared) {
            reset(Kind::Panic, format_args!("{fault}"));
        }
    }
}

/// A turn of the main loop. Interrupts wait until it is over, and end its waiting.
fn serve(cs: &CriticalSection) {
    with(cs, |shared| {
        let Shared { node, dog } = shared;
        dog.feed(node.registers(), Feeder::Loop);
        let (recorder, usage) = node.recording();
        if usage == Usage::Asleep {
            // What cannot be done now is done at another turn.
            let _later = recorder.flush(usage).and_then(|()| recorder.tidy(usage));
        }
        node.wait(cortex_m::asm::wfi)
    });
}

#[exception]
#[allow(unsafe_code)] // The signature is cortex-m-rt's.
unsafe fn DefaultHandler(_number: i16) {
    free(|cs| {
        with(cs, |shared| {
            let Shared { node, dog } = shared;
            dog.feed(node.registers(), Feeder::Interrupt);
            node.interrupt(|_| {})
        });
    });
}

/// 59,000 bytes that anyone can check: byte n is 7 n.
fn record_sample(recorder: &mut Recorder) {
    let mut next = 0_u32;
    while next < 59_000 {
        let mut block = [0; 100];
        for byte in &mut block {
            *byte = (next as u8).wrapping_mul(7);
            next += 1;
        }
        let recorded = recorder.write(&block);
        if recorded
            .and_then(|()| recorder.flush(Usage::Asleep))
            .is_err()
        {
            return;
        }
    }
    // Without it the node has nothing to hand out, and is a relay.
    let _sealed = recorder.seal(Usage::Asleep);
}
