//! What all images share: where things are in flash, and how an image ends.
#![no_std]

mod fault;
mod memory;
pub mod mote;
pub mod queue;
pub mod ticker;

use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use cortex_m::peripheral::SCB;
use thalweg_nrf52840::chip::Chip;
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::fault::guard_stack;
use thalweg_nrf52840::identity::RECORD_BYTES;
use thalweg_nrf52840::layout::{BootLoader, Layout};
use thalweg_nrf52840::registers::{clock, nvmc};
use thalweg_nrf52840::reset::{Before, Kind, Remains, BLOCK_WORDS};
use thalweg_nrf52840::uart::Pins;
use thalweg_nrf52840::keys::BadKeys;
use thalweg_nrf52840::recording::Veil;
use thalweg_nrf52840::Registers;
use thalweg_units::NodeId;
#[cfg(any(feature = "dongle", feature = "uf2", feature = "uf2-s7"))]
use thalweg_protocols::seals::Unsealed;
#[cfg(not(any(feature = "dongle", feature = "uf2", feature = "uf2-s7")))]
use {
    thalweg_nrf52840::ecb::Ecb,
    thalweg_nrf52840::flash::Flash,
    thalweg_nrf52840::keys::KeyRecord,
    thalweg_nrf52840::numbers::{Numbers, Sealer},
    thalweg_protocols::seals::Seals,
};

/// The boot loader that the image was linked for.
pub const BOOT_LOADER: BootLoader = if cfg!(feature = "dongle") {
    BootLoader::Dongle
} else if cfg!(feature = "uf2") {
    BootLoader::Uf2
} else if cfg!(feature = "uf2-s7") {
    BootLoader::Uf2S7
} else {
    BootLoader::None
};
/// Where things are in flash.
pub const LAYOUT: Layout = BOOT_LOADER.layout();
/// Words of RAM for the cipher's DMA.
#[cfg(not(any(feature = "dongle", feature = "uf2", feature = "uf2-s7")))]
const ECB_WORDS: usize = Ecb::<Chip>::DMA_BYTES as usize / 4;
/// Where the board has its line to a host.
pub const PINS: Pins = match BOOT_LOADER {
    BootLoader::None => Pins::DEVELOPMENT_KIT,
    BootLoader::Dongle => Pins::DONGLE,
    BootLoader::Uf2 => Pins::FEATHER,
    BootLoader::Uf2S7 => Pins::XIAO,
};

/// Interrupts by number (product specification 4.2.4), and the register that lets them through (ARMv7-M B3.4.4).
pub mod interrupt {
    /// RADIO.
    pub const RADIO: u32 = 1;
    /// UARTE0.
    pub const UARTE0: u32 = 2;
    /// TIMER2.
    pub const TIMER2: u32 = 10;
    /// RTC1.
    pub const RTC1: u32 = 17;
    /// TIMER3.
    pub const TIMER3: u32 = 26;
    /// USBD.
    pub const USBD: u32 = 39;
    /// RTC2.
    pub const RTC2: u32 = 36;
    /// NVIC_ICER0: the registers that hold them back.
    pub const DISABLE: u32 = 0xE000_E180;
    /// NVIC_ISER0: a bit for each of the first 32.
    pub const ENABLE: u32 = 0xE000_E100;
    /// NVIC_ISER1, NVIC_ICER1 and NVIC_ICPR1: the same for the next 32; none lets through, none waits.
    pub const ENABLE_HIGH: u32 = 0xE000_E104;
    /// See [`ENABLE_HIGH`].
    pub const DISABLE_HIGH: u32 = 0xE000_E184;
    /// See [`ENABLE_HIGH`].
    pub const FORGET_HIGH: u32 = 0xE000_E284;
}

/// Where `thalweg firmware` puts the identity: erased flash. Programs read the flash, never this.
#[used]
#[allow(unsafe_code)] // The section is the linker script's: nothing else is there.
#[unsafe(link_section = ".identity")]
static IDENTITY: [u8; RECORD_BYTES] = [0xFF; RECORD_BYTES];

/// Says what the image is, behind its identity: `thalweg firmware` asks.
#[macro_export]
macro_rules! mark {
    ($program:ident) => {
        #[used]
        #[allow(unsafe_code)] // As the identity's.
        #[unsafe(link_section = ".identity.mark")]
        static MARK: [u8; $crate::MARK_BYTES] = $crate::mark($crate::Program::$program);
    };
}
pub use thalweg_nrf52840::mark::{mark, Program, MARK_BYTES};

/// Left alone by start-up code: what the program before left.
#[allow(unsafe_code)] // The section is the linker script's: nothing is put there.
#[unsafe(link_section = ".uninit.remains")]
static REMAINS: MaybeUninit<[u32; BLOCK_WORDS as usize]> = MaybeUninit::uninit();

/// Where it is. It is read and written as registers are, never as a variable.
pub fn remains() -> Region {
    Region::at(REMAINS.as_ptr() as usize as u32, BLOCK_WORDS)
}

/// The chip.
pub fn chip() -> Chip {
    // SAFETY: images run on an nRF52840; each peripheral has one driver in an image, and DMA memory is made by
    // `cortex_m::singleton!` or lies in `.uninit`.
    #[allow(unsafe_code)] // See above.
    unsafe {
        Chip::new()
    }
}

/// What every image does first. Gives what it found of the program before.
pub fn begin() -> Before {
    let mut chip = chip();
    let before = Before::take(&mut chip, remains());
    chip.write(clock::DCDCEN, 1);
    chip.write(nvmc::ICACHECNF, 1);
    // Where a heap would begin, statics end.
    guard_stack(&mut chip, cortex_m_rt::heap_start() as usize as u32);
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
    before
}

/// What guards a node: its seals, beside a boot loader that leaves room for keys.
#[cfg(not(any(feature = "dongle", feature = "uf2", feature = "uf2-s7")))]
pub type Guard = Option<Seals<Sealer<Chip>>>;
/// The same beside one that leaves none.
#[cfg(any(feature = "dongle", feature = "uf2", feature = "uf2-s7"))]
pub type Guard = Unsealed;

/// What a node has of keys in its flash.
pub struct Secrets {
    /// For its frames.
    pub guard: Guard,
    /// For its recordings; none in an open network.
    pub veil: Option<Veil<Chip>>,
}

/// Reads the keys of `node`. Before the radio is on: flash may be erased.
///
/// # Errors
/// [`BadKeys`]: the node is not to run.
#[cfg(not(any(feature = "dongle", feature = "uf2", feature = "uf2-s7")))]
#[inline(never)]
pub fn secrets(node: NodeId) -> Result<Secrets, BadKeys> {
    let mut chip = chip();
    let open = Secrets {
        guard: Guard::default(),
        veil: None,
    };
    let Some(areas) = LAYOUT.keys else {
        return Ok(open);
    };
    let Some(record) = KeyRecord::read(&mut chip, areas.page.first, node)? else {
        return Ok(open);
    };
    let words = cortex_m::singleton!(: [u32; ECB_WORDS] = [0; ECB_WORDS]);
    let words = words.map_or(Region::at(0, 0), |words| Region::of(words));
    let (Some(mut ecb), Some(flash)) = (Ecb::new(chip, words), Flash::of(areas.numbers)) else {
        reset(format_args!("the cipher has no memory"));
    };
    let mut numbers = match Numbers::open(chip, flash) {
        Ok(numbers) => numbers,
        Err(why) => reset(format_args!("{why}")),
    };
    let veil = Veil::new(record.own.objects(&mut ecb), ecb.clone());
    let kept = numbers.kept();
    let sealer = Sealer { ecb, numbers };
    Ok(Secrets {
        guard: Some(Seals::new(sealer, record.group, kept)),
        veil: Some(veil),
    })
}
/// There are none.
///
/// # Errors
/// None.
#[cfg(any(feature = "dongle", feature = "uf2", feature = "uf2-s7"))]
pub fn secrets(_node: NodeId) -> Result<Secrets, BadKeys> {
    Ok(Secrets {
        guard: Guard::default(),
        veil: None,
    })
}

/// The program cannot go on: it leaves word of why, and resets.
pub fn reset(told: core::fmt::Arguments<'_>) -> ! {
    leave(&Remains::new(Kind::Panic, told))
}
fn leave(told: &Remains) -> ! {
    told.leave(&mut chip(), remains());
    SCB::sys_reset()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    reset(format_args!("{info}"))
}
