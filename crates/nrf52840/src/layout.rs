//! Where things are in flash, by what boot loader the board keeps. Pages of 4 kB (NVMC 4.3).
//!
//! The one place that says so: images are linked by it (`firmware/build.rs` includes this file, so it uses nothing but
//! core), run by it, and given their identity by it. No boot loader has been tried with these images.

/// Bytes of a page.
pub const PAGE_BYTES: u32 = 4_096;

/// Pages of flash that belong to one use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// Its first address, a page's.
    pub first: u32,
    /// How many pages.
    pub pages: u16,
}

impl Area {
    const fn from_to(first: u32, end: u32) -> Self {
        let pages = ((end - first) / PAGE_BYTES) as u16;
        Self { first, pages }
    }
    /// The address behind its last.
    pub const fn end(self) -> u32 {
        self.first + self.pages as u32 * PAGE_BYTES
    }
}

/// What starts the image, and stays in flash beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootLoader {
    /// Nothing: the chip does. Nordic's development kit.
    None,
    /// Nordic's open boot loader behind its MBR: the dongle PCA10059.
    Dongle,
    /// Adafruit's boot loader with SoftDevice S140 6.1: boards that show up as a drive.
    Uf2,
    /// The same with SoftDevice S140 7, which is a page longer.
    Uf2S7,
}

/// Where a node's keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyAreas {
    /// Its keys: a page that nothing but a programmer writes.
    pub page: Area,
    /// The numbers of floods.
    pub numbers: Area,
}

/// What is where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The program, its vector table first.
    pub program: Area,
    /// The identity's page (`crate::identity`).
    pub identity: Area,
    /// Keys (`crate::keys`, `crate::numbers`), where there is room: recordings have all other pages beside a boot loader.
    pub keys: Option<KeyAreas>,
    /// Room for a second program: an update, which the dongle's boot loader puts behind the first.
    pub second: Area,
    /// Recordings.
    pub recordings: Area,
}

impl Layout {
    /// Behind a SoftDevice that ends at `first`: S140 6.1 at 0x26000, 7 at 0x27000. Old boot loaders write no block from
    /// 0xAD000 on, new ones none from 0xEA000 on (Adafruit_nRF52_Bootloader, src/usb/uf2/uf2cfg.h); data may lie there.
    const fn behind(first: u32) -> Self {
        let program = Area::from_to(first, first + 0x3_1000);
        let identity = Area::from_to(program.end(), program.end() + PAGE_BYTES);
        let second = Area::from_to(identity.end(), identity.end() + 0x3_1000);
        Self {
            program,
            identity,
            keys: None,
            second,
            recordings: Area::from_to(second.end(), 0xE_A000),
        }
    }
}

impl BootLoader {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Dongle, Self::Uf2, Self::Uf2S7];

    /// Where things are beside it.
    pub const fn layout(self) -> Layout {
        match self {
            // A base station with keys has more than 0x30000 bytes. A second program is a mote's, and so has less room.
            Self::None => Layout {
                program: Area::from_to(0, 0x3_4000),
                second: Area::from_to(0x3_4000, 0x6_2000),
                recordings: Area::from_to(0x6_2000, 0xF_C000),
                keys: Some(KeyAreas {
                    numbers: Area::from_to(0xF_C000, 0xF_E000),
                    page: Area::from_to(0xF_E000, 0xF_F000),
                }),
                identity: Area::from_to(0xF_F000, 0x10_0000),
            },
            // The MBR has the first page, the boot loader all from 0xE0000 on (Zephyr's board nrf52840dongle says both). An
            // update is put on the page behind the present image before it takes its place (nRF5 SDK, nrf_dfu_utils.c), so
            // recordings begin beyond.
            Self::Dongle => Layout {
                program: Area::from_to(0x1000, 0x3_2000),
                identity: Area::from_to(0x3_2000, 0x3_3000),
                keys: None,
                second: Area::from_to(0x3_3000, 0x6_5000),
                recordings: Area::from_to(0x6_5000, 0xE_0000),
            },
            Self::Uf2 => Layout::behind(0x2_6000),
            Self::Uf2S7 => Layout::behind(0x2_7000),
        }
    }

    /// The boot loader whose images begin at `address`.
    pub const fn of_program(address: u32) -> Option<Self> {
        let mut n = 0;
        while n < Self::ALL.len() {
            if Self::ALL[n].layout().program.first == address {
                return Some(Self::ALL[n]);
            }
            n += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn areas_are_apart_and_leave_the_boot_loader_its_own() {
        for boot_loader in BootLoader::ALL {
            let layout = boot_loader.layout();
            let Layout {
                program,
                identity,
                keys,
                second,
                recordings,
            } = layout;
            let mut areas = vec![program, identity, second, recordings];
            areas.extend(keys.into_iter().flat_map(|keys| [keys.page, keys.numbers]));
            areas.sort_by_key(|area| area.first);
            for pair in areas.windows(2) {
                assert!(pair[0].end() <= pair[1].first, "{boot_loader:?}");
            }
            let (first, end) = match boot_loader {
                BootLoader::None => (0, 1 << 20),
                BootLoader::Dongle => (0x1000, 0xE_0000),
                BootLoader::Uf2 => (0x2_6000, 0xE_A000),
                BootLoader::Uf2S7 => (0x2_7000, 0xE_A000),
            };
            assert!(areas[0].first >= first && areas[areas.len() - 1].end() <= end);
            assert!(areas.iter().all(|area| area.first % PAGE_BYTES == 0));
            assert_eq!(
                BootLoader::of_program(layout.program.first),
                Some(boot_loader)
            );
        }
        // What every UF2 boot loader writes.
        assert!(BootLoader::Uf2S7.layout().identity.end() <= 0xA_D000);
        assert_eq!(BootLoader::of_program(0x2000), None);
    }
}
