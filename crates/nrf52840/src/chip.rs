//! The seam between driver and chip: words at absolute addresses.
//!
//! Everything else in this crate is safe code over [`Registers`]. A model of the chip implements it natively; `Chip`,
//! where the target is one, is the chip itself.

/// The memory map of an nRF52840 as words: peripherals, and the RAM that their DMA reads and writes.
///
/// Addresses are those of the product specification's memory map (4.2.3), and multiples of four.
pub trait Registers {
    /// The word at `address`.
    fn read(&mut self, address: u32) -> u32;
    /// Puts `value` at `address`.
    fn write(&mut self, address: u32, value: u32);
    /// The bytes from `address` on, which may be any: memory's, not a peripheral's.
    fn read_bytes(&mut self, address: u32, into: &mut [u8]) {
        let mut word = [0; 4];
        for (at, byte) in (address..).zip(into) {
            if at == address || at % 4 == 0 {
                word = self.read(at & !3).to_le_bytes();
            }
            *byte = word[(at % 4) as usize];
        }
    }
}

impl<R: Registers + ?Sized> Registers for &mut R {
    fn read(&mut self, address: u32) -> u32 {
        (**self).read(address)
    }
    fn write(&mut self, address: u32, value: u32) {
        (**self).write(address, value);
    }
    fn read_bytes(&mut self, address: u32, into: &mut [u8]) {
        (**self).read_bytes(address, into);
    }
}

/// The chip that this code runs on.
#[cfg(target_arch = "arm")]
#[derive(Debug, Clone, Copy)]
pub struct Chip(());

#[cfg(target_arch = "arm")]
#[allow(unsafe_code)] // Registers are addresses: this is where they become accesses.
impl Chip {
    /// The chip.
    ///
    /// # Safety
    /// The code runs on an nRF52840, nobody else uses the peripherals that drivers made with it use, and each
    /// [`crate::dma::Region`] lies in RAM that nobody else reads or writes.
    pub const unsafe fn new() -> Self {
        Self(())
    }
}

#[cfg(target_arch = "arm")]
#[allow(unsafe_code)] // As above.
impl Registers for Chip {
    #[inline(always)]
    fn read(&mut self, address: u32) -> u32 {
        // SAFETY: as `new` demands, `address` is a register or a word of a DMA buffer.
        let value = unsafe { core::ptr::read_volatile(address as usize as *const u32) };
        // What DMA has brought is read after the event that says so.
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
        value
    }
    #[inline(always)]
    fn write(&mut self, address: u32, value: u32) {
        // What DMA will take is there before the task that starts it.
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
        // SAFETY: as above.
        unsafe { core::ptr::write_volatile(address as usize as *mut u32, value) }
    }
    #[inline(always)]
    fn read_bytes(&mut self, address: u32, into: &mut [u8]) {
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
        // SAFETY: as above; the drivers read memory so while no DMA writes it, and `into` is nobody's DMA memory.
        unsafe {
            // What is there changes unseen, so the compiler is not to know which variable it is.
            let from = core::hint::black_box(address as usize) as *const u8;
            core::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len());
        }
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    }
}
