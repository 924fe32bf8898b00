//! Addresses and bits of the nRF52840's registers, after its product specification (v1.7; written from memory).

/// CLOCK and POWER share one block (5.3, 5.4).
pub mod clock {
    /// Base address.
    pub const BASE: u32 = 0x4000_0000;
    /// CLOCK 5.4.3: starts and stops the 64 MHz crystal, starts the 32.768 kHz clock.
    pub const HFCLKSTART: u32 = BASE;
    /// Stops the crystal; the chip goes on with its RC oscillator.
    pub const HFCLKSTOP: u32 = BASE + 0x004;
    /// Starts the low-frequency clock.
    pub const LFCLKSTART: u32 = BASE + 0x008;
    /// POWER 5.3.7: whether the chip makes VDD from VDDH.
    pub const MAINREGSTATUS: u32 = BASE + 0x640;
    /// Event: the crystal is stable.
    pub const HFCLKSTARTED: u32 = BASE + 0x100;
    /// Event: the low-frequency clock runs.
    pub const LFCLKSTARTED: u32 = BASE + 0x104;
    /// What the low-frequency clock comes from: 0 RC, 1 crystal, 2 the high-frequency clock.
    pub const LFCLKSRC: u32 = BASE + 0x518;
    /// POWER 5.3.7: constant latency of wake-ups.
    pub const CONSTLAT: u32 = BASE + 0x078;
    /// Stops the low-frequency clock, whose source can be changed only then (5.4.3).
    pub const LFCLKSTOP: u32 = BASE + 0x00C;
    /// Lowest power while asleep.
    pub const LOWPWR: u32 = BASE + 0x07C;
    /// Why the chip was reset; a bit is cleared by writing 1.
    pub const RESETREAS: u32 = BASE + 0x400;
    /// USB's supply (POWER 5.3.7): [`VBUSDETECT`] and [`OUTPUTRDY`].
    pub const USBREGSTATUS: u32 = BASE + 0x438;
    /// A host, or a charger, is plugged in.
    pub const VBUSDETECT: u32 = 1;
    /// The regulator of 3.3 V has settled.
    pub const OUTPUTRDY: u32 = 1 << 1;
    /// 1: the DC/DC converter of REG1 is on.
    pub const DCDCEN: u32 = BASE + 0x578;
}

/// RADIO 6.20.14.
pub mod radio {
    /// Base address.
    pub const BASE: u32 = 0x4000_1000;
    /// Task: to transmitting.
    pub const TXEN: u32 = BASE;
    /// Task: to receiving.
    pub const RXEN: u32 = BASE + 0x004;
    /// Task: off.
    pub const DISABLE: u32 = BASE + 0x010;
    /// Task: one sample of signal strength.
    pub const RSSISTART: u32 = BASE + 0x014;
    /// Event: off.
    pub const DISABLED: u32 = BASE + 0x110;
    /// Event: [`RSSISAMPLE`] is there.
    pub const RSSIEND: u32 = BASE + 0x11C;
    /// Event: as many bits as [`BCC`] says were received.
    pub const BCMATCH: u32 = BASE + 0x128;
    /// Event: a frame begins. At which of its bytes: see [`crate::radio`].
    pub const FRAMESTART: u32 = BASE + 0x138;
    /// Event: the channel is clear.
    pub const CCAIDLE: u32 = BASE + 0x144;
    /// Event: the channel is busy.
    pub const CCABUSY: u32 = BASE + 0x148;
    /// Event: the transmitter has ramped up.
    pub const TXREADY: u32 = BASE + 0x154;
    /// Event: the receiver has ramped up.
    pub const RXREADY: u32 = BASE + 0x158;
    /// Event: the last bit was sent, or received.
    pub const PHYEND: u32 = BASE + 0x16C;
    /// Shortcuts.
    pub const SHORTS: u32 = BASE + 0x200;
    /// Interrupts on.
    pub const INTENSET: u32 = BASE + 0x304;
    /// Interrupts off.
    pub const INTENCLR: u32 = BASE + 0x308;
    /// 1: the frame's check sequence was right.
    pub const CRCSTATUS: u32 = BASE + 0x400;
    /// Where the frame is in RAM.
    pub const PACKETPTR: u32 = BASE + 0x504;
    /// MHz above 2400.
    pub const FREQUENCY: u32 = BASE + 0x508;
    /// dBm, two's complement.
    pub const TXPOWER: u32 = BASE + 0x50C;
    /// 15: IEEE 802.15.4, 250 kbit/s.
    pub const MODE: u32 = BASE + 0x510;
    /// Packet configuration: lengths of fields.
    pub const PCNF0: u32 = BASE + 0x514;
    /// Packet configuration: the longest payload.
    pub const PCNF1: u32 = BASE + 0x518;
    /// Check sequence: length, and what it leaves out.
    pub const CRCCNF: u32 = BASE + 0x534;
    /// Its polynomial.
    pub const CRCPOLY: u32 = BASE + 0x538;
    /// Its first value.
    pub const CRCINIT: u32 = BASE + 0x53C;
    /// Signal strength, -dBm.
    pub const RSSISAMPLE: u32 = BASE + 0x548;
    /// What the radio is doing.
    pub const STATE: u32 = BASE + 0x550;
    /// Bits until [`BCMATCH`].
    pub const BCC: u32 = BASE + 0x560;
    /// Ramp-up and what is sent before a frame.
    pub const MODECNF0: u32 = BASE + 0x650;
    /// Start-of-frame delimiter.
    pub const SFD: u32 = BASE + 0x660;
    /// How clear channel assessment is done, and its thresholds.
    pub const CCACTRL: u32 = BASE + 0x66C;
    /// 0: no power, and no register keeps its value.
    pub const POWER: u32 = BASE + 0xFFC;

    /// Shortcuts: bits of [`SHORTS`].
    pub mod short {
        /// RXREADY to CCASTART.
        pub const RXREADY_CCASTART: u32 = 1 << 11;
        /// CCAIDLE to TXEN.
        pub const CCAIDLE_TXEN: u32 = 1 << 12;
        /// CCABUSY to DISABLE.
        pub const CCABUSY_DISABLE: u32 = 1 << 13;
        /// FRAMESTART to BCSTART.
        pub const FRAMESTART_BCSTART: u32 = 1 << 14;
        /// TXREADY to START.
        pub const TXREADY_START: u32 = 1 << 18;
        /// RXREADY to START.
        pub const RXREADY_START: u32 = 1 << 19;
        /// PHYEND to DISABLE.
        pub const PHYEND_DISABLE: u32 = 1 << 20;
    }
    /// Interrupts: bits of [`INTENSET`].
    pub mod interrupt {
        /// Of DISABLED.
        pub const DISABLED: u32 = 1 << 4;
        /// Of BCMATCH.
        pub const BCMATCH: u32 = 1 << 10;
        /// Of RXREADY.
        pub const RXREADY: u32 = 1 << 22;
    }
    /// Values of [`STATE`] (6.20.5).
    pub mod state {
        /// Off.
        pub const DISABLED: u32 = 0;
        /// The transmitter ramps up.
        pub const TX_RAMP_UP: u32 = 9;
        /// It has, and waits.
        pub const TX_IDLE: u32 = 10;
        /// It sends.
        pub const TX: u32 = 11;
        /// It goes off.
        pub const TX_DISABLE: u32 = 12;
    }
}

/// TIMER 6.30. TIMER3 has six compare registers, TIMER1 four.
pub mod timer {
    /// Base address of TIMER1, which counts a line's bytes.
    pub const TIMER1: u32 = 0x4000_9000;
    /// Base address of TIMER2, which is a base station's tick.
    pub const TIMER2: u32 = 0x4000_A000;
    /// Base address of TIMER3, which is the node's clock.
    pub const TIMER3: u32 = 0x4001_A000;
    /// Task: run.
    pub const START: u32 = 0x000;
    /// Task: stand still.
    pub const STOP: u32 = 0x004;
    /// Task: count one.
    pub const COUNT: u32 = 0x008;
    /// Task: back to 0.
    pub const CLEAR: u32 = 0x00C;
    /// Interrupts on.
    pub const INTENSET: u32 = 0x304;
    /// Interrupts off.
    pub const INTENCLR: u32 = 0x308;
    /// Shortcuts from events to tasks.
    pub const SHORTS: u32 = 0x200;
    /// 0: time; 2: counter of low power.
    pub const MODE: u32 = 0x504;
    /// 3: 32 bits.
    pub const BITMODE: u32 = 0x508;
    /// 16 MHz divided by 2 to this.
    pub const PRESCALER: u32 = 0x510;
    /// Task: the count into CC `n`.
    pub const fn capture(n: u32) -> u32 {
        0x040 + 4 * n
    }
    /// Event: the count has come to CC `n`.
    pub const fn compare(n: u32) -> u32 {
        0x140 + 4 * n
    }
    /// CC `n`.
    pub const fn cc(n: u32) -> u32 {
        0x540 + 4 * n
    }
    /// The interrupt of COMPARE `n`.
    pub const fn interrupt(n: u32) -> u32 {
        1 << (16 + n)
    }
}

/// RTC 6.22: 24 bits of 32.768 kHz.
pub mod rtc {
    /// Base address of RTC1.
    pub const BASE: u32 = 0x4001_1000;
    /// Task: run.
    pub const START: u32 = BASE;
    /// Task: stand still. The prescaler can be changed only then (RTC 6.22.1).
    pub const STOP: u32 = BASE + 0x004;
    /// Task: back to 0.
    pub const CLEAR: u32 = BASE + 0x008;
    /// Interrupts on.
    pub const INTENSET: u32 = BASE + 0x304;
    /// Interrupts off.
    pub const INTENCLR: u32 = BASE + 0x308;
    /// Events to PPI on.
    pub const EVTENSET: u32 = BASE + 0x344;
    /// The count.
    pub const COUNTER: u32 = BASE + 0x504;
    /// 32.768 kHz divided by this plus one.
    pub const PRESCALER: u32 = BASE + 0x508;
    /// Event: the count has come to CC `n`.
    pub const fn compare(n: u32) -> u32 {
        BASE + 0x140 + 4 * n
    }
    /// CC `n`. A value less than two ahead may be missed (6.22.7).
    pub const fn cc(n: u32) -> u32 {
        BASE + 0x540 + 4 * n
    }
    /// The interrupt, or the event to PPI, of COMPARE `n`.
    pub const fn bit(n: u32) -> u32 {
        1 << (16 + n)
    }
}

/// PPI 6.16: events to tasks without software.
pub mod ppi {
    /// Base address.
    pub const BASE: u32 = 0x4001_F000;
    /// Channels on.
    pub const CHENSET: u32 = BASE + 0x504;
    /// Channels off.
    pub const CHENCLR: u32 = BASE + 0x508;
    /// The event of channel `n`.
    pub const fn event(n: u32) -> u32 {
        BASE + 0x510 + 8 * n
    }
    /// The task of channel `n`.
    pub const fn task(n: u32) -> u32 {
        BASE + 0x514 + 8 * n
    }
    /// A second task of channel `n`.
    pub const fn fork(n: u32) -> u32 {
        BASE + 0x910 + 4 * n
    }
}

/// UARTE 6.34.
pub mod uarte {
    /// Base address of UARTE0.
    pub const BASE: u32 = 0x4000_2000;
    /// Task: receive into RXD.PTR.
    pub const STARTRX: u32 = BASE;
    /// Task: send from TXD.PTR.
    pub const STARTTX: u32 = BASE + 0x008;
    /// Event: a byte came in.
    pub const RXDRDY: u32 = BASE + 0x108;
    /// Event: all bytes were sent.
    pub const ENDTX: u32 = BASE + 0x120;
    /// Event: a receive buffer was begun, and the next one's address may be written.
    pub const RXSTARTED: u32 = BASE + 0x14C;
    /// Shortcuts.
    pub const SHORTS: u32 = BASE + 0x200;
    /// Interrupts on.
    pub const INTENSET: u32 = BASE + 0x304;
    /// 8: on.
    pub const ENABLE: u32 = BASE + 0x500;
    /// Pin of TXD.
    pub const PSEL_TXD: u32 = BASE + 0x50C;
    /// Pin of RXD.
    pub const PSEL_RXD: u32 = BASE + 0x514;
    /// Bits per second, times 2^32 / 16 MHz or so.
    pub const BAUDRATE: u32 = BASE + 0x524;
    /// Where received bytes go.
    pub const RXD_PTR: u32 = BASE + 0x534;
    /// How many at most.
    pub const RXD_MAXCNT: u32 = BASE + 0x538;
    /// Where bytes to send are.
    pub const TXD_PTR: u32 = BASE + 0x544;
    /// How many.
    pub const TXD_MAXCNT: u32 = BASE + 0x548;
    /// Shortcut: the end of a receive buffer begins the next.
    pub const ENDRX_STARTRX: u32 = 1 << 5;
    /// Interrupt of ENDTX.
    pub const INT_ENDTX: u32 = 1 << 8;
    /// Interrupt of RXSTARTED.
    pub const INT_RXSTARTED: u32 = 1 << 19;
}

/// NVMC 4.3.
pub mod nvmc {
    /// Base address.
    pub const BASE: u32 = 0x4001_E000;
    /// 1: nothing is being written or erased.
    pub const READY: u32 = BASE + 0x400;
    /// 0 to read, 1 to write, 2 to erase.
    pub const CONFIG: u32 = BASE + 0x504;
    /// Erases the page at the address written.
    pub const ERASEPAGE: u32 = BASE + 0x508;
    /// 1: the instruction cache is on.
    pub const ICACHECNF: u32 = BASE + 0x540;
}

/// WDT 6.36.
pub mod wdt {
    /// Base address.
    pub const BASE: u32 = 0x4001_0000;
    /// Task: run; nothing stops it.
    pub const START: u32 = BASE;
    /// 1: it runs.
    pub const RUNSTATUS: u32 = BASE + 0x400;
    /// Counts of 32.768 kHz until it bites, less one.
    pub const CRV: u32 = BASE + 0x504;
    /// Which reload registers are in use.
    pub const RREN: u32 = BASE + 0x508;
    /// Bit 0: it runs while the processor sleeps; bit 3: while a debugger has halted it.
    pub const CONFIG: u32 = BASE + 0x50C;
    /// Reload register `n`.
    pub const fn reload(n: u32) -> u32 {
        BASE + 0x600 + 4 * n
    }
    /// What is written there.
    pub const FOOD: u32 = 0x6E52_4635;
}

/// RNG 6.19.
pub mod rng {
    /// Base address.
    pub const BASE: u32 = 0x4000_D000;
    /// Task: draws bytes, one after the other.
    pub const START: u32 = BASE;
    /// Task: no more.
    pub const STOP: u32 = BASE + 0x004;
    /// Event: a byte is there.
    pub const VALRDY: u32 = BASE + 0x100;
    /// 1: corrected, so that nought and one are equally likely.
    pub const CONFIG: u32 = BASE + 0x504;
    /// The byte.
    pub const VALUE: u32 = BASE + 0x508;
}

/// ECB 6.7: AES-128, a block at a time.
pub mod ecb {
    /// Base address.
    pub const BASE: u32 = 0x4000_E000;
    /// Task: encrypts (6.7.3, TASKS_STARTECB).
    pub const STARTECB: u32 = BASE;
    /// Task: ends it, with ERRORECB (6.7.3, TASKS_STOPECB).
    pub const STOPECB: u32 = BASE + 0x004;
    /// Event: the block is there (6.7.3, EVENTS_ENDECB).
    pub const ENDECB: u32 = BASE + 0x100;
    /// Event: it was ended (6.7.3, EVENTS_ERRORECB).
    pub const ERRORECB: u32 = BASE + 0x104;
    /// Where key, block and encrypted block are (6.7.3, ECBDATAPTR; the data structure is 6.7.2's).
    pub const ECBDATAPTR: u32 = BASE + 0x504;
}

/// SAADC 6.23: the converter, of which the first channel is used.
pub mod saadc {
    /// Base address.
    pub const BASE: u32 = 0x4000_7000;
    /// Task: results go where [`RESULT`] says.
    pub const START: u32 = BASE;
    /// Task: measures once.
    pub const SAMPLE: u32 = BASE + 0x004;
    /// Task: no more.
    pub const STOP: u32 = BASE + 0x008;
    /// Event: the converter is ready.
    pub const STARTED: u32 = BASE + 0x100;
    /// Event: all results are in RAM.
    pub const END: u32 = BASE + 0x104;
    /// Event: it has stopped.
    pub const STOPPED: u32 = BASE + 0x114;
    /// 1: on.
    pub const ENABLE: u32 = BASE + 0x500;
    /// What is measured (CH\[0\].PSELP).
    pub const INPUT: u32 = BASE + 0x510;
    /// Against what (CH\[0\].PSELN): 0 is nothing.
    pub const INPUT_LOW: u32 = BASE + 0x514;
    /// Gain, reference, time to settle (CH\[0\].CONFIG).
    pub const CONFIG: u32 = BASE + 0x518;
    /// Bits of a result.
    pub const RESOLUTION: u32 = BASE + 0x5F0;
    /// Address of the results, and how many there are to be.
    pub const RESULT: u32 = BASE + 0x62C;
    /// See [`RESULT`].
    pub const RESULTS: u32 = BASE + 0x630;
    /// Of [`INPUT`]: VDD.
    pub const VDD: u32 = 9;
    /// Of [`INPUT`]: a fifth of VDDH.
    pub const VDDH_FIFTH: u32 = 13;
    /// Of [`CONFIG`]: 10 us; all else is 0.
    pub const SETTLE_10_US: u32 = 2 << 16;
    /// Of [`RESOLUTION`].
    pub const BITS_12: u32 = 2;
}

/// TEMP 6.28.
pub mod temp {
    /// Base address.
    pub const BASE: u32 = 0x4000_C000;
    /// Task: measures.
    pub const START: u32 = BASE;
    /// Event: it has.
    pub const DATARDY: u32 = BASE + 0x100;
    /// Quarters of a degree Celsius.
    pub const TEMP: u32 = BASE + 0x508;
}

/// The processor's own (ARMv7-M B3.2, B3.5, C1.6, C1.8).
pub mod system {
    /// Bit 24: the cycle counter may be used.
    pub const DEMCR: u32 = 0xE000_EDFC;
    /// Bit 0: it counts.
    pub const DWT_CTRL: u32 = 0xE000_1000;
    /// Cycles.
    pub const DWT_CYCCNT: u32 = 0xE000_1004;
    /// Why a fault was: of memory protection, the bus, an instruction (B3.2.15).
    pub const CFSR: u32 = 0xE000_ED28;
    /// MPU: on, and the ordinary map where no region is.
    pub const MPU_CTRL: u32 = 0xE000_ED94;
    /// A region's base, with its number and a bit that says that the number is there.
    pub const MPU_RBAR: u32 = 0xE000_ED9C;
    /// Its size and who may do what.
    pub const MPU_RASR: u32 = 0xE000_EDA0;
}

/// GPIO 6.9.
pub mod gpio {
    /// How a pin is set up; pins as in [`crate::uart::Pins`].
    pub const fn pin_cnf(pin: u8) -> u32 {
        0x5000_0700 + 0x300 * (pin as u32 / 32) + 4 * (pin as u32 % 32)
    }
    /// An input with its resistor to the supply.
    pub const PULL_UP: u32 = 3 << 2;
}

/// USBD 6.35.13; offsets as nrf-usbd 0.3 has them from Nordic's SVD. Endpoints `n` are 0 to 7.
pub mod usbd {
    /// Base address.
    pub const BASE: u32 = 0x4002_7000;
    /// Task: the data of IN endpoint `n` go from RAM to its buffer, for the host to fetch.
    pub const fn start_in(n: u32) -> u32 {
        BASE + 0x004 + 4 * n
    }
    /// Task: what OUT endpoint `n` has received goes from its buffer to RAM.
    pub const fn start_out(n: u32) -> u32 {
        BASE + 0x028 + 4 * n
    }
    /// Task: the data stage of a control write may come.
    pub const EP0RCVOUT: u32 = BASE + 0x04C;
    /// Task: the status stage of a control transfer may come.
    pub const EP0STATUS: u32 = BASE + 0x050;
    /// Task: the rest of a control transfer is refused.
    pub const EP0STALL: u32 = BASE + 0x054;
    /// Event: the host has reset the bus.
    pub const USBRESET: u32 = BASE + 0x100;
    /// Event: the DMA of IN endpoint `n` is over.
    pub const fn end_in(n: u32) -> u32 {
        BASE + 0x108 + 4 * n
    }
    /// Event: a packet of a control transfer's data stage has passed.
    pub const EP0DATADONE: u32 = BASE + 0x128;
    /// Event: the DMA of OUT endpoint `n` is over.
    pub const fn end_out(n: u32) -> u32 {
        BASE + 0x130 + 4 * n
    }
    /// Event: a control transfer begins.
    pub const EP0SETUP: u32 = BASE + 0x15C;
    /// Event: [`EPDATASTATUS`] has a new bit.
    pub const EPDATA: u32 = BASE + 0x160;
    /// Shortcuts.
    pub const SHORTS: u32 = BASE + 0x200;
    /// Interrupts on.
    pub const INTENSET: u32 = BASE + 0x304;
    /// Interrupts off.
    pub const INTENCLR: u32 = BASE + 0x308;
    /// Further events; a bit is cleared by writing 1.
    pub const EVENTCAUSE: u32 = BASE + 0x400;
    /// 1: IN endpoint `n` is stalled.
    pub const fn halted_in(n: u32) -> u32 {
        BASE + 0x420 + 4 * n
    }
    /// 1: OUT endpoint `n` is.
    pub const fn halted_out(n: u32) -> u32 {
        BASE + 0x444 + 4 * n
    }
    /// Packets that have passed: bit `n` of IN, bit 16 + `n` of OUT endpoints; cleared by writing 1.
    pub const EPDATASTATUS: u32 = BASE + 0x46C;
    /// Byte `n` of what began a control transfer.
    pub const fn setup(n: u32) -> u32 {
        BASE + 0x480 + 4 * n
    }
    /// Bytes that OUT endpoint `n` has received; writing it has the endpoint take a packet.
    pub const fn size_out(n: u32) -> u32 {
        BASE + 0x4A0 + 4 * n
    }
    /// 1: USBD is on.
    pub const ENABLE: u32 = BASE + 0x500;
    /// 1: the host sees a device.
    pub const USBPULLUP: u32 = BASE + 0x504;
    /// Which data packet an endpoint is at: endpoint as in [`EPSTALL`], and from bit 8 on 1 for DATA0.
    pub const DTOGGLE: u32 = BASE + 0x50C;
    /// IN endpoints that answer the host, a bit each.
    pub const EPINEN: u32 = BASE + 0x510;
    /// OUT endpoints that do.
    pub const EPOUTEN: u32 = BASE + 0x514;
    /// Stalls an endpoint or ends that: its number, bit 7 for IN, bit 8 to stall.
    pub const EPSTALL: u32 = BASE + 0x518;
    /// Where the data of IN endpoint `n` are; how many follows.
    pub const fn in_pointer(n: u32) -> u32 {
        BASE + 0x600 + 0x14 * n
    }
    /// Where those of OUT endpoint `n` go; how many follows.
    pub const fn out_pointer(n: u32) -> u32 {
        BASE + 0x700 + 0x14 * n
    }
    /// From a pointer to its count.
    pub const MAXCNT: u32 = 4;

    /// EVENTCAUSE: USBD is ready.
    pub const READY: u32 = 1 << 11;
    /// Shortcut: EP0DATADONE to EP0STATUS.
    pub const EP0DATADONE_EP0STATUS: u32 = 1 << 2;
    /// Interrupts of USBRESET, EP0DATADONE, EP0SETUP and EPDATA.
    pub const INTERRUPTS: u32 = 1 | 1 << 10 | 1 << 23 | 1 << 24;
}
