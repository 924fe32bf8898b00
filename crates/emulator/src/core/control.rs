//! Branches, special registers, hints, barriers (ARMv7-M ARM, A5.3.4, B5.2).

use super::system::SVCALL;
use super::{field, Core, Done, Fault, Flags, Peripherals, Sleep, LR, PC};

impl<P: Peripherals + 'static> Core<P> {
    /// The offset of `B.W` and `BL`.
    fn far(word: u32) -> u32 {
        let s = word >> 26 & 1;
        let i1 = (word >> 13 ^ s ^ 1) & 1;
        let i2 = (word >> 11 ^ s ^ 1) & 1;
        let offset =
            s << 24 | i1 << 23 | i2 << 22 | (word >> 16 & 0x3ff) << 12 | (word & 0x7ff) << 1;
        ((offset << 7) as i32 >> 7) as u32
    }
    pub(super) fn branch_far(&mut self, word: u32) -> Done {
        self.branch(self.get(PC).wrapping_add(Self::far(word)));
        Ok(())
    }
    pub(super) fn branch_link(&mut self, word: u32) -> Done {
        let target = self.get(PC).wrapping_add(Self::far(word));
        self.r[LR] = self.next | 1;
        self.branch(target);
        Ok(())
    }
    pub(super) fn branch_condition_wide(&mut self, word: u32) -> Done {
        if !self.holds(word >> 22 & 0xf) {
            return Ok(());
        }
        let (s, j1, j2) = (word >> 26 & 1, word >> 13 & 1, word >> 11 & 1);
        let offset =
            s << 20 | j2 << 19 | j1 << 18 | (word >> 16 & 0x3f) << 12 | (word & 0x7ff) << 1;
        let offset = ((offset << 11) as i32 >> 11) as u32;
        self.branch(self.get(PC).wrapping_add(offset));
        Ok(())
    }

    pub(super) fn supervisor_call(&mut self, _word: u32) -> Done {
        self.system.pend(SVCALL);
        self.nudge();
        Ok(())
    }

    /// `CPS` (B5.2.1): masks, or unmasks, by PRIMASK and FAULTMASK.
    pub(super) fn change_state(&mut self, op: u32) -> Done {
        let masks = op >> 4 & 1;
        if op & 2 != 0 {
            self.primask = masks;
        }
        if op & 1 != 0 {
            self.faultmask = masks;
        }
        self.nudge();
        Ok(())
    }

    /// `MRS` (B5.2.2).
    pub(super) fn read_special(&mut self, word: u32) -> Done {
        let (main, process) = self.stacks();
        let status = self.flags.bits();
        let exception = u32::from(self.exception);
        let value = match word & 0xff {
            0 | 2 => status,
            1 | 3 => status | exception,
            // EPSR reads as nought, so IEPSR is IPSR.
            5 | 7 => exception,
            6 => 0,
            8 => main,
            9 => process,
            16 => self.primask,
            17 | 18 => u32::from(self.basepri),
            19 => self.faultmask,
            20 => self.control,
            _ => return Err(Fault::Undefined { word }),
        };
        let value = match word & 0xff {
            // IAPSR and XPSR hold both, APSR and EAPSR only flags.
            0 | 2 => status,
            _ => value,
        };
        self.put(field(word, 8, 4), value);
        Ok(())
    }

    /// `MSR` (B5.2.3).
    pub(super) fn write_special(&mut self, word: u32) -> Done {
        let value = self.get(field(word, 16, 4));
        let basepri = (value & 0xe0) as u8;
        match word & 0xff {
            0..=3 => self.write_flags(word, value),
            5..=7 => (),
            8 => self.set_main_stack(value),
            9 => self.set_process_stack(value),
            16 => self.primask = value & 1,
            17 => self.basepri = basepri,
            // BASEPRI_MAX only raises (B1.4.3).
            18 if basepri != 0 && (self.basepri == 0 || basepri < self.basepri) => {
                self.basepri = basepri;
            }
            18 => (),
            19 => self.faultmask = value & 1,
            20 => self.set_control(value),
            _ => return Err(Fault::Undefined { word }),
        }
        self.nudge();
        Ok(())
    }
    fn write_flags(&mut self, word: u32, value: u32) {
        let mut bits = self.flags.bits();
        for (chosen, mask) in [(1 << 11, 0xf800_0000), (1 << 10, 0x000f_0000)] {
            if word & chosen != 0 {
                bits = bits & !mask | value & mask;
            }
        }
        self.flags = Flags::of(bits);
    }

    pub(super) fn hint_wide(&mut self, word: u32) -> Done {
        self.hint(word & 0xff)
    }
    /// `NOP`, `YIELD`, `WFE`, `WFI`, `SEV` and those that are reserved, which do nothing.
    pub(super) fn hint(&mut self, number: u32) -> Done {
        match number {
            2 if self.event => self.event = false,
            2 => self.sleep = Sleep::Event,
            3 => self.sleep = Sleep::Exception,
            4 => self.event = true,
            _ => return Ok(()),
        }
        self.nudge();
        Ok(())
    }
    pub(super) fn clear_exclusive(&mut self, _word: u32) -> Done {
        self.monitor = None;
        Ok(())
    }
    /// `DSB`, `DMB`, `ISB`: everything is in order here anyway.
    pub(super) fn barrier(&mut self, _word: u32) -> Done {
        Ok(())
    }
}
