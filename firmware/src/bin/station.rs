//! A base station: a mote on mains power, whose orders come by the line and whose events and objects go there.
//!
//! RADIO, RTC1, TIMER3 (the node), UARTE0 and TIMER2 (the line's tick) interrupt with one priority. The line is served in
//! the main loop with interrupts on: check sums and stuffing take longer than a relay's gap. USB is, too, and has no
//! handler. The line is USB while a program at a host has its port open, and UARTE0 otherwise. Invariant: the queue between
//! node and line is bounded; object bytes that do not fit are refused, and the source sends them again.
#![no_std]
#![no_main]

use core::cell::RefCell;
use core::mem::MaybeUninit;
use core::num::{NonZeroU16, NonZeroU32};
use cortex_m::interrupt::{free, CriticalSection, Mutex};
use cortex_m_rt::{entry, exception};
use thalweg_firmware::queue::{Item, Queue};
#[cfg(not(any(feature = "dongle", feature = "uf2", feature = "uf2-s7")))]
use thalweg_firmware::secrets;
use thalweg_firmware::{begin, chip, interrupt, reset, Guard, LAYOUT, PINS};
use thalweg_nrf52840::chip::Chip;
use thalweg_nrf52840::clock::LowFrequency;
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::host::{BootError, Fault, Node};
use thalweg_nrf52840::identity::{Identity, Role};
use thalweg_nrf52840::keys::BadKeys;
use thalweg_nrf52840::radio::{Radio, TIMING};
use thalweg_nrf52840::random;
use thalweg_nrf52840::reset::Before;
use thalweg_nrf52840::tick::Tick;
use thalweg_nrf52840::uart::Uart;
use thalweg_nrf52840::usb::{Allocator, Turn, Usb};
use thalweg_nrf52840::watchdog::{Feeder, Watchdog};
use thalweg_nrf52840::Registers;
use thalweg_protocols::floodnet;
use thalweg_protocols::line::desk::{Desk, Outbox, Waiting, Wanted};
use thalweg_protocols::line::station::{max_order_bytes, Event, Order};
use thalweg_protocols::member::{Command, Member};
use thalweg_protocols::mote;
use thalweg_protocols::object::{NoRoom, ObjectInfo, ObjectStore};
use thalweg_protocols::rcrt::Base;
use thalweg_units::{Instant, NodeId};
use thalweg_wire::host::{About, Carries, Limits, Name, MAX_STUFFED};
use thalweg_wire::{FrameBuf, Writer};

/// Nodes that an order may name, and neighbours in the station's table.
const NODES: usize = 256;
const NEIGHBOURS: usize = 160;
const ORDER: usize = max_order_bytes(NODES);
/// Words of RAM for the line's DMA.
const LINE_WORDS: usize = Uart::DMA_BYTES as usize / 4;
const CABLE_WORDS: usize = Cable::DMA_BYTES as usize / 4;
/// The line's own waits are no shorter.
const TICK_US: NonZeroU16 = NonZeroU16::MIN.saturating_add(1_999);
/// The watchdog's patience, of time that the processor runs.
const PATIENCE: NonZeroU32 = NonZeroU32::MIN.saturating_add(7);

/// Where device identifiers begin (FICR 4.4.1).
const DEVICE_ID: u32 = 0x1000_0060;
/// Digits of the device identifier, which is USB's serial number.
const SERIAL: usize = 16;

type Cable = Usb<'static, Chip>;
type Whole = Node<Member<Spool, Base, NEIGHBOURS, NODES, Guard>, Chip>;

/// What interrupt handlers and the main loop share.
struct Shared {
    node: &'static mut Whole,
    uart: Uart,
    tick: Tick,
    dog: Watchdog,
}

/// A reference, so that the node itself is in memory that start-up clears.
static SHARED: Mutex<RefCell<Option<Shared>>> = Mutex::new(RefCell::new(None));
static QUEUE: Mutex<RefCell<Queue>> = Mutex::new(RefCell::new(Queue::new()));

/// A base station offers nothing; what it collects goes to the queue.
struct Spool;

impl ObjectStore for Spool {
    fn info(&self) -> ObjectInfo {
        ObjectInfo::NONE
    }
    fn read(&self, _offset: u32, into: &mut [u8]) {
        into.fill(0);
    }
    fn begin(&mut self) {
        free(|cs| QUEUE.borrow(cs).borrow_mut().begin());
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom> {
        free(|cs| QUEUE.borrow(cs).borrow_mut().write(offset, bytes))
    }
}

/// The queue as the desk sees it: the front item is the loop's own, so that interrupts may add others meanwhile.
struct Staged(Option<Item>);

impl Staged {
    fn refill(&mut self) {
        if self.0.is_none() {
            self.0 = free(|cs| QUEUE.borrow(cs).borrow_mut().pop());
        }
    }
}

impl Outbox for Staged {
    fn front(&self) -> Option<Waiting<'_>> {
        self.0.as_ref().map(Item::waiting)
    }
    fn take(&mut self, bytes: usize) {
        self.0 = self.0.take().and_then(|item| item.without(bytes));
        self.refill();
    }
}

thalweg_firmware::mark!(BaseStation);

#[entry]
fn main() -> ! {
    let before = begin();
    let mut chip = chip();
    let identity = match Identity::read_as(&mut chip, LAYOUT.identity.first, Role::BaseStation) {
        Ok(identity) => identity,
        Err(why) => complain(&mut chip, format_args!("{why}")),
    };
    let node = make(chip, identity, &before);
    let carries = match give_keys(node, identity.node) {
        Ok(carries) => carries,
        Err(why) => complain(&mut chip, format_args!("{why}")),
    };
    let now = start(chip, node);
    serve((identity, carries), &before, now)
}

/// Nobody's node: it says so on its line, as text, whenever a host has said something.
fn complain(chip: &mut Chip, why: core::fmt::Arguments<'_>) -> ! {
    let words = cortex_m::singleton!(: [u32; LINE_WORDS] = [0; LINE_WORDS]);
    let words = words.map_or(Region::at(0, 0), |words| Region::of(words));
    let Some(mut uart) = Uart::start(chip, PINS, words) else {
        reset(format_args!("the line has no memory"));
    };
    let told: Name<100> = Name::lossy(why);
    let text = told.as_str().as_bytes();
    let mut line = [b'\n'; 101];
    line.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
    loop {
        uart.interrupt(chip);
        let asked = uart.read(chip, &mut [0; 64]) > 0;
        if asked && uart.is_free() {
            // It is free, and the text fits.
            let _all = uart.send(chip, line.get(..=text.len()).unwrap_or(&line));
        }
    }
}

/// Makes the node, where it stays. Not inlined: its stack is free once it is done.
#[inline(never)]
fn make(chip: Chip, identity: Identity, before: &Before) -> &'static mut Whole {
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
        Member::unguarded(identity.node, config, TIMING, Spool)
    }) {
        Ok(node) => node,
        Err(BootError::Misfit(_)) => reset(format_args!("the radio lacks an ability")),
        Err(BootError::NoMemory) => reset(format_args!("the radio has no memory")),
        Err(BootError::Clock(error)) => reset(format_args!("{error}")),
    };
    node.set_before(before);
    // Nobody knows for how long the network has idled.
    node.set_idled();
    node
}

/// Beside a boot loader there are none.
#[cfg(any(feature = "dongle", feature = "uf2", feature = "uf2-s7"))]
fn give_keys(_node: &mut Whole, _id: NodeId) -> Result<Carries, BadKeys> {
    Ok(Carries::PipelinesAndSessions)
}
/// Gives the node the keys that are in its flash, and says what it carries then: sessions have no seals yet.
#[cfg(not(any(feature = "dongle", feature = "uf2", feature = "uf2-s7")))]
#[inline(never)]
fn give_keys(node: &mut Whole, id: NodeId) -> Result<Carries, BadKeys> {
    let secrets = secrets(id)?;
    let is_open = secrets.veil.is_none();
    node.engine_mut().set_guard(secrets.guard);
    Ok(match is_open {
        true => Carries::PipelinesAndSessions,
        false => Carries::Pipelines,
    })
}

/// Starts the node, the line and interrupts; gives the time.
fn start(chip: Chip, node: &'static mut Whole) -> Instant {
    let words = cortex_m::singleton!(: [u32; LINE_WORDS] = [0; LINE_WORDS]);
    let words = words.map_or(Region::at(0, 0), |words| Region::of(words));
    free(|cs| {
        let mut chip = chip;
        let Some(uart) = Uart::start(&mut chip, PINS, words) else {
            reset(format_args!("the line has no memory"));
        };
        let tick = Tick::start(&mut chip, TICK_US);
        let dog = Watchdog::start(&mut chip, PATIENCE);
        let shared = Shared {
            node,
            uart,
            tick,
            dog,
        };
        SHARED.borrow(cs).replace(Some(shared));
        with(cs, |shared| shared.node.start(|_| {}));
        let all = [
            interrupt::RADIO,
            interrupt::UARTE0,
            interrupt::TIMER2,
            interrupt::RTC1,
            interrupt::TIMER3,
        ];
        let bits = all.into_iter().fold(0, |bits, n| bits | 1 << n);
        chip.write(interrupt::ENABLE, bits);
        time(cs)
    })
}

/// Does something with what is shared; a fault of the node resets.
fn with(cs: &CriticalSection, act: impl FnOnce(&mut Shared) -> Result<(), Fault>) {
    if let Some(shared) = SHARED.borrow(cs).borrow_mut().as_mut() {
        if let Err(fault) = act(shared) {
            reset(format_args!("{fault}"));
        }
    }
}

fn time(cs: &CriticalSection) -> Instant {
    let mut now = Instant::ZERO;
    with(cs, |shared| {
        now = shared.node.now();
        Ok(())
    });
    now
}

/// Queues an event of the node's for the host.
fn tell(cs: &CriticalSection, at: Instant, event: Event) {
    QUEUE.borrow(cs).borrow_mut().event(at, |bytes| {
        let mut w = Writer::new(bytes);
        event.emit(&mut w).map_or(0, |()| w.len())
    });
}

/// The line's main loop.
fn serve((identity, carries): (Identity, Carries), before: &Before, now: Instant) -> ! {
    let about = About {
        // The time of the start is the same at each.
        boot: random::draw(&mut chip()).unwrap_or(now.as_nanos() as u32),
        node: identity.node,
        carries,
        board: Name::new("nRF52840").unwrap_or(Name::EMPTY),
        limits: Limits {
            nodes: NODES as u16,
            order_bytes: ORDER as u16,
            object_bytes: Queue::ROOM_BYTES,
        },
        last_words: { before.remains.as_ref() }.map_or(Name::EMPTY, |remains| {
            Name::lossy(format_args!("{}", remains.message()))
        }),
    };
    let desk = cortex_m::singleton!(: Desk<ORDER, NODES> = Desk::new(about, now));
    let Some(desk) = desk else {
        reset(format_args!("the desk is taken"));
    };
    let mut cable = cable();
    let mut staged = Staged(None);
    loop {
        let turn = cable.poll();
        let mut bytes = [0; 64];
        let mut len = cable.read(&mut bytes);
        free(|cs| {
            with(cs, |shared| {
                if !cable.is_open() {
                    len = shared.uart.read(shared.node.registers(), &mut bytes);
                }
                shared.dog.feed(shared.node.registers(), Feeder::Loop);
                Ok(())
            });
        });
        hear(desk, &mut staged, bytes.get(..len).unwrap_or(&[]));
        if !desk.is_up() {
            end_session();
        }
        staged.refill();
        desk.fill_window(&mut staged);
        let sent = send(desk, &mut cable);
        if len == 0 && !sent && turn == Turn::Quiet {
            rest();
        }
    }
}

/// The line over USB, which needs the crystal: a base station's node never sleeps, so it runs.
fn cable() -> Cable {
    let words = cortex_m::singleton!(: [u32; CABLE_WORDS] = [0; CABLE_WORDS]);
    let words = words.map_or(Region::at(0, 0), |words| Region::of(words));
    let bus = Cable::bus(chip(), words).and_then(|bus| {
        let place = cortex_m::singleton!(: Option<Allocator<Chip>> = None)?;
        Some(&*place.insert(bus))
    });
    let digits = cortex_m::singleton!(: [u8; SERIAL] = [b'0'; SERIAL]);
    let serial = digits.and_then(|digits| {
        // The last digit is the lowest.
        for (n, digit) in (0..).zip(digits.iter_mut().rev()) {
            let word = chip().read(DEVICE_ID + 4 * (n / 8));
            *digit = b"0123456789ABCDEF"[(word >> (4 * (n % 8)) & 0xF) as usize];
        }
        core::str::from_utf8(digits).ok()
    });
    let cable = bus.zip(serial).map(|(bus, serial)| Cable::new(bus, serial));
    match cable {
        Some(Ok(cable)) => cable,
        Some(Err(_)) | None => reset(format_args!("USB has no memory")),
    }
}

/// Sleeps until an interrupt, or until USB has something. USB's is let through while the processor sleeps and never
/// taken, so it cannot delay the radio's.
fn rest() {
    free(|_| {
        let mut chip = chip();
        let usb = 1 << (interrupt::USBD - 32);
        chip.write(interrupt::FORGET_HIGH, usb);
        chip.write(interrupt::ENABLE_HIGH, usb);
        cortex_m::asm::wfi();
        chip.write(interrupt::DISABLE_HIGH, usb);
        // It is off before interrupts are taken again.
        cortex_m::asm::dsb();
    });
}

/// Carries out what the host wants by `bytes`.
fn hear(desk: &mut Desk<ORDER, NODES>, staged: &mut Staged, bytes: &[u8]) {
    let now = free(time);
    desk.timeout(now);
    let mut rest = bytes;
    while let Some(wanted) = desk.receive(now, &mut rest, || free(time)) {
        match wanted {
            Wanted::Fresh => {
                staged.0 = None;
                free(|cs| QUEUE.borrow(cs).borrow_mut().clear());
                end_session();
            }
            Wanted::Order(Order::Mote(command)) => order(Command::Mote(command)),
            Wanted::Order(Order::Session(sources)) => {
                // More than a frame holds are more than are called: none begin.
                let sources = sources.mustered().unwrap_or(FrameBuf::EMPTY);
                order(Command::Session(sources));
            }
            Wanted::Order(Order::Send(send)) => order(Command::Send(send)),
        }
    }
}

/// Has the node carry out an order.
fn order(command: Command<NODES>) {
    free(|cs| {
        with(cs, |shared| {
            let at = shared.node.now();
            shared.node.command(command, |event| tell(cs, at, event))
        });
    });
}

/// Ends the session of a host that is gone.
fn end_session() {
    let mut runs = false;
    free(|cs| {
        with(cs, |shared| {
            runs = shared.node.engine().has_session();
            Ok(())
        });
    });
    if runs {
        order(Command::Mote(mote::Command::Stop));
    }
}

/// Gives the line its next frame, where it is free. Says whether it did.
fn send(desk: &mut Desk<ORDER, NODES>, cable: &mut Cable) -> bool {
    let by_cable = cable.is_open();
    let mut is_free = by_cable && cable.is_free();
    free(|cs| {
        with(cs, |shared| {
            is_free |= !by_cable && shared.uart.is_free();
            Ok(())
        });
    });
    if !is_free {
        return false;
    }
    let mut frame = [0; MAX_STUFFED];
    let len = desk.transmit(free(time), &mut frame);
    let frame = frame.get(..len).unwrap_or(&[]);
    if frame.is_empty() {
        return false;
    }
    // It was free, and nobody else sends.
    if by_cable {
        let _all = cable.send(frame);
        return true;
    }
    free(|cs| {
        with(cs, |shared| {
            let _all = shared.uart.send(shared.node.registers(), frame);
            Ok(())
        });
    });
    true
}

#[exception]
#[allow(unsafe_code)] // The signature is cortex-m-rt's.
unsafe fn DefaultHandler(number: i16) {
    free(|cs| {
        with(cs, |shared| {
            let Shared {
                node,
                uart,
                tick,
                dog,
            } = shared;
            dog.feed(node.registers(), Feeder::Interrupt);
            match number as u32 {
                interrupt::UARTE0 => {
                    uart.interrupt(node.registers());
                    Ok(())
                }
                interrupt::TIMER2 => {
                    tick.interrupt(node.registers());
                    Ok(())
                }
                _ => {
                    let at = node.now();
                    node.interrupt(|event| tell(cs, at, event))
                }
            }
        });
    });
}
