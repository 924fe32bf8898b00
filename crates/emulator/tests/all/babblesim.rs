//! What BabbleSim's models and OSF's measurements say of the chip, as `docs` of the design lists it: sequences of
//! register accesses, and the times that must come out, each with its tolerance.
//!
//! Sources: BabbleSim ext_nRF_hw_models b0d807af; OSF b648d6f, measured with a logic analyser. Facts, not code. Where
//! the two disagree the model has a switch, and both are tested.

use thalweg_emulator::soc::{
    Act, Arrival, Carrier, Check, Deed, FrameStart, RadioState, RadioTimes, Setup, Soc,
};
use thalweg_emulator::{FICR_BASE, RAM_BASE};
use thalweg_units::{Channel, Dbm};

const CLOCK: u32 = 0x4000_0000;
const RADIO: u32 = 0x4000_1000;
const TIMER3: u32 = 0x4001_a000;
const PPI: u32 = 0x4001_f000;
const BUFFER: u32 = RAM_BASE + 0x100;
const TXEN: u32 = 0;
const RXEN: u32 = 4;
const START: u32 = 8;
const DISABLE: u32 = 0x10;
const RSSISTART: u32 = 0x14;
const EDSTART: u32 = 0x24;
const CCASTART: u32 = 0x2c;
const READY: u32 = 0x100;
const ADDRESS: u32 = 0x104;
const END: u32 = 0x10c;
const DISABLED: u32 = 0x110;
const RSSIEND: u32 = 0x11c;
const BCMATCH: u32 = 0x128;
const CRCOK: u32 = 0x130;
const CRCERROR: u32 = 0x134;
const FRAMESTART: u32 = 0x138;
const EDEND: u32 = 0x13c;
const CCAIDLE: u32 = 0x144;
const CCABUSY: u32 = 0x148;
const PHYEND: u32 = 0x16c;
const SHORTS: u32 = 0x200;
const STATE: u32 = 0x550;

/// Cycles as microseconds.
fn us(cycles: u64) -> f64 {
    cycles as f64 / 64.0
}
fn cycles(us: f64) -> u64 {
    (us * 64.0) as u64
}

struct Bench(Soc);

impl Bench {
    fn new(times: RadioTimes) -> Self {
        let mut soc = Soc::new(
            Setup {
                identity: 7,
                radio: times,
            },
            0,
        );
        soc.write(CLOCK, 1);
        soc.advance(cycles(400.0));
        let mut bench = Self(soc);
        for (offset, value) in [
            (0x510, 15),
            (0x650, 1),
            (0x508, 5),
            (0x504, BUFFER),
            (0x50c, 0),
        ] {
            bench.set(offset, value);
        }
        bench
    }
    fn typical() -> Self {
        Self::new(RadioTimes::TYPICAL)
    }
    fn set(&mut self, offset: u32, value: u32) {
        self.0.write(RADIO + offset, value);
    }
    fn get(&mut self, offset: u32) -> u32 {
        self.0.read(RADIO + offset)
    }
    fn state(&mut self) -> u32 {
        self.get(STATE)
    }
    /// Microseconds until an event, at most `limit`; the event is cleared.
    fn until(&mut self, event: u32, limit: f64) -> Option<f64> {
        let begin = self.0.now();
        let bit = 1 << ((event - READY) / 4);
        self.set(0x308, u32::MAX);
        self.set(0x304, bit);
        let lines = self.0.wait(1 << 1, begin + cycles(limit));
        self.set(event, 0);
        (lines != 0).then(|| us(self.0.now() - begin))
    }
    #[track_caller]
    fn expect(&mut self, event: u32, after: f64, tolerance: f64) {
        let took = self.until(event, after + 1_000.0);
        let near = took.is_some_and(|took| (took - after).abs() <= tolerance);
        assert!(
            near,
            "event {event:#x} after {took:?} us, not {after} +- {tolerance}"
        );
    }
    /// A frame of `psdu` bytes, check sequence included, in the buffer.
    fn frame(&mut self, psdu: u8) -> Vec<u8> {
        let bytes: Vec<u8> = (1..psdu - 1).collect();
        assert!(self
            .0
            .memory
            .write_ram(BUFFER, &[vec![psdu], bytes.clone()].concat()));
        bytes
    }
    fn acts(&mut self) -> Vec<Act> {
        self.0.devices.take_acts()
    }
    /// Brings the radio to a state.
    fn bring_to(&mut self, state: RadioState) {
        let (task, wait): (Option<u32>, f64) = match state {
            RadioState::Disabled => (None, 0.0),
            RadioState::RxRampUp => (Some(RXEN), 10.0),
            RadioState::TxRampUp => (Some(TXEN), 10.0),
            RadioState::RxIdle | RadioState::Rx | RadioState::RxDisable => (Some(RXEN), 50.0),
            RadioState::TxIdle | RadioState::Tx | RadioState::TxDisable => (Some(TXEN), 50.0),
        };
        if let Some(task) = task {
            self.set(task, 1);
        }
        self.0.advance(cycles(wait));
        match state {
            RadioState::Rx | RadioState::Tx => self.set(START, 1),
            RadioState::RxDisable | RadioState::TxDisable => self.set(DISABLE, 1),
            _ => (),
        }
        assert_eq!(self.state(), state as u32);
    }
    /// A frame whose first symbol is on the air now reaches the receiver, as a world tells it.
    fn receive(&mut self, mpdu: &[u8], check: Check) {
        let (begin, chain) = (self.0.now(), RadioTimes::TYPICAL.chain);
        let at = |us: f64| begin + cycles(us) + chain;
        let power = Dbm(-70.4);
        self.0.devices.arrive(at(160.0), Arrival::Sfd { power });
        let mpdu = mpdu.to_vec();
        let end = 192.0 + 32.0 * (mpdu.len() + 2) as f64;
        self.0.devices.arrive(at(192.0), Arrival::Header { mpdu });
        let lqi = 200;
        self.0.devices.arrive(at(end), Arrival::End { check, lqi });
    }
}

#[test]
fn ramp_up_takes_40_us_and_130_where_it_is_not_fast() {
    for task in [TXEN, RXEN] {
        let mut bench = Bench::typical();
        bench.set(task, 1);
        // BabbleSim 40, OSF 40.436.
        bench.expect(READY, 40.2, 0.3);
        let mut bench = Bench::typical();
        bench.set(0x650, 0);
        bench.set(task, 1);
        // BabbleSim 129 and 130.
        bench.expect(READY, 129.5, 1.0);
    }
}

#[test]
fn a_frame_leaves_the_antenna_1_us_after_start_and_its_delimiter_160_later() {
    for psdu in [5, 20, 127] {
        let mut bench = Bench::typical();
        let sent = bench.frame(psdu);
        // TXREADY_START, PHYEND_DISABLE.
        bench.set(SHORTS, 1 << 18 | 1 << 20);
        let begin = bench.0.now();
        bench.set(TXEN, 1);
        bench.expect(FRAMESTART, 41.0 + 160.0, 0.6);
        let air = 32.0 * f64::from(psdu) + 32.0;
        // END comes 17.3 us before the last symbol's end (BabbleSim; OSF agrees).
        bench.expect(END, air - 17.3, 0.6);
        bench.expect(PHYEND, 17.3, 0.1);
        // BabbleSim 21 us.
        bench.expect(DISABLED, 21.0, 0.5);
        assert_eq!(bench.state(), RadioState::Disabled as u32);
        let acts = bench.acts();
        let deed = Deed::Send {
            channel: Some(Channel::FIRST),
            power: Dbm(0.0),
            mpdu: sent,
        };
        assert_eq!(acts.len(), 1);
        assert_eq!(acts[0].deed, deed);
        let antenna = us(acts[0].at - begin);
        assert!((antenna - 41.0).abs() < 0.6, "{antenna}");
    }
}

#[test]
fn address_while_sending_may_come_20_us_early_as_osf_measured() {
    let mut bench = Bench::new(RadioTimes {
        tx_address_early: cycles(20.0),
        ..RadioTimes::TYPICAL
    });
    bench.frame(20);
    bench.set(SHORTS, 1 << 18);
    bench.set(TXEN, 1);
    bench.expect(READY, 40.0, 0.1);
    // OSF: READY to ADDRESS 140.06 us.
    bench.expect(ADDRESS, 140.06, 1.0);
}

#[test]
fn a_receiver_tells_22_us_after_the_air_under_both_readings_of_framestart() {
    for (frame_start, start) in [(FrameStart::Delimiter, 160.0), (FrameStart::Length, 192.0)] {
        for psdu in [5, 20, 127] {
            let mut bench = Bench::new(RadioTimes {
                frame_start,
                ..RadioTimes::TYPICAL
            });
            let sent: Vec<u8> = (1..psdu - 1).collect();
            bench.set(SHORTS, 1 << 19 | 1 << 20);
            bench.set(RXEN, 1);
            bench.expect(READY, 40.0, 0.5);
            bench.receive(&sent, Check::Right);
            // OSF: address to address 43.24 us less 20 to 20.3; END to END 39.16 less 17.3.
            bench.expect(FRAMESTART, start + 22.0, 1.0);
            let end = 192.0 + 32.0 * f64::from(psdu) - start;
            bench.expect(PHYEND, end, 0.1);
            // BabbleSim 0 us, others .5.
            bench.expect(DISABLED, 0.25, 0.3);
            assert_eq!((bench.get(CRCOK), bench.get(CRCERROR)), (1, 0));
            assert_eq!(bench.get(0x400), 1);
            let there = bench
                .0
                .memory
                .read(BUFFER, sent.len() + 2)
                .map(<[u8]>::to_vec);
            let wanted = [vec![psdu], sent, vec![200]].concat();
            assert_eq!(there, Some(wanted));
        }
    }
}

#[test]
fn a_wrong_check_sequence_is_told() {
    let mut bench = Bench::typical();
    bench.set(SHORTS, 1 << 19);
    bench.set(RXEN, 1);
    bench.expect(READY, 40.0, 0.5);
    bench.receive(&[1, 2, 3, 4], Check::Wrong);
    bench.expect(PHYEND, 192.0 + 32.0 * 6.0 + 22.0, 0.1);
    assert_eq!((bench.get(CRCOK), bench.get(CRCERROR)), (0, 1));
    assert_eq!(bench.get(0x400), 0);
}

#[test]
fn disable_ends_every_state() {
    use RadioState::{Disabled, Rx, RxDisable, RxIdle, RxRampUp, Tx, TxDisable, TxIdle, TxRampUp};
    // BabbleSim: nothing after receiving (the specification .5 us at most), 21 us after sending.
    let after = [
        (Disabled, 0.0),
        (RxRampUp, 0.25),
        (RxIdle, 0.25),
        (Rx, 0.25),
        (RxDisable, 0.25),
        (TxRampUp, 21.0),
        (TxIdle, 21.0),
        (Tx, 21.0),
        (TxDisable, 21.0),
    ];
    for (state, took) in after {
        let mut bench = Bench::typical();
        bench.frame(20);
        bench.bring_to(state);
        bench.set(DISABLE, 1);
        bench.expect(DISABLED, took, 0.5);
        assert_eq!(bench.state(), Disabled as u32, "{state:?}");
        assert_eq!(bench.until(DISABLED, 500.0), None, "{state:?} ends once");
    }
}

#[test]
fn bits_are_counted_from_framestart() {
    for (frame_start, begin, head) in [
        (FrameStart::Delimiter, 160.0, 7),
        (FrameStart::Length, 192.0, 8),
    ] {
        let mut bench = Bench::new(RadioTimes {
            frame_start,
            ..RadioTimes::TYPICAL
        });
        bench.set(SHORTS, 1 << 19 | 1 << 14);
        bench.set(0x560, 64);
        bench.set(RXEN, 1);
        bench.expect(READY, 40.0, 0.5);
        let sent: Vec<u8> = (1..60).collect();
        bench.receive(&sent, Check::Right);
        // 64 bits are 256 us.
        bench.expect(BCMATCH, begin + 22.0 + 256.0, 1.0);
        let there = bench
            .0
            .memory
            .read(BUFFER, 20)
            .map(<[u8]>::to_vec)
            .unwrap_or_default();
        assert_eq!(there[1..=head], sent[..head]);
        // Only what has arrived is there.
        assert_ne!(there[head + 1], sent[head]);
    }
}

/// What the channel gives to four looks: the receiver is told as a world tells it.
fn sense(bench: &mut Bench, task: u32, power: Dbm, carrier: Carrier) -> u64 {
    bench.set(RXEN, 1);
    bench.expect(READY, 40.0, 0.5);
    let begin = bench.0.now();
    bench.set(task, 1);
    let acts = bench.acts();
    let looks = acts.iter().find_map(|act| match act.deed {
        Deed::Sense { looks, .. } => Some(looks),
        _ => None,
    });
    let last = 32.0 * f64::from(looks.unwrap_or(1) - 1);
    let at = begin + cycles(last + 22.0);
    bench
        .0
        .devices
        .arrive(at, Arrival::Sensed { power, carrier });
    begin
}

#[test]
fn clear_channel_assessment_takes_128_us() {
    for (dbm, event, next) in [
        (-90.0, CCAIDLE, RadioState::TxRampUp),
        (-60.0, CCABUSY, RadioState::Disabled),
    ] {
        let mut bench = Bench::typical();
        // CCAIDLE_TXEN, CCABUSY_DISABLE; by energy, above -75 dBm.
        bench.set(SHORTS, 1 << 12 | 1 << 13);
        bench.set(0x66c, 18 << 8);
        sense(&mut bench, CCASTART, Dbm(dbm), Carrier::Absent);
        bench.expect(event, 128.0, 0.1);
        bench.0.advance(cycles(1.0));
        assert_eq!(bench.state(), next as u32);
    }
    let mut bench = Bench::typical();
    // By carrier.
    bench.set(0x66c, 1);
    sense(&mut bench, CCASTART, Dbm(-90.0), Carrier::Present);
    bench.expect(CCABUSY, 128.0, 0.1);
}

#[test]
fn energy_detection_takes_128_us_and_counts_from_93_dbm_below() {
    let mut bench = Bench::typical();
    sense(&mut bench, EDSTART, Dbm(-50.0), Carrier::Absent);
    bench.expect(EDEND, 128.0, 0.1);
    assert_eq!(bench.get(0x668), 43);
}

#[test]
fn signal_strength_of_a_frame_is_there_by_a_fork_from_its_start() {
    let mut bench = Bench::new(RadioTimes {
        frame_start: FrameStart::Delimiter,
        ..RadioTimes::TYPICAL
    });
    // TIMER3 at 16 MHz with 32 bits; channel 0: FRAMESTART to CAPTURE1, its fork to RSSISTART.
    for (address, value) in [
        (TIMER3 + 0x508, 3),
        (TIMER3 + 0x510, 0),
        (PPI + 0x510, RADIO + FRAMESTART),
        (PPI + 0x514, TIMER3 + 0x44),
        (PPI + 0x910, RADIO + RSSISTART),
        (PPI + 0x504, 1),
        (TIMER3, 1),
    ] {
        assert!(bench.0.write(address, value));
    }
    let origin = bench.0.now();
    bench.set(SHORTS, 1 << 19);
    bench.set(RXEN, 1);
    bench.expect(READY, 40.0, 0.5);
    bench.receive(&[1, 2, 3], Check::Right);
    bench.expect(RSSIEND, 182.0, 0.5);
    assert_eq!(bench.get(0x548), 70);
    let captured = f64::from(bench.0.read(TIMER3 + 0x544)) / 16.0;
    let told = us(bench.0.now() - origin);
    assert!((captured - told).abs() < 0.1, "{captured} {told}");
    assert_eq!(bench.0.devices.strangers(), [0u32; 0]);
}

#[test]
fn compare_starts_the_transmitter_on_its_tick() {
    let mut bench = Bench::typical();
    bench.frame(20);
    bench.set(SHORTS, 1 << 18 | 1 << 20);
    for (address, value) in [
        (TIMER3 + 0x508, 3),
        (TIMER3 + 0x510, 0),
        (TIMER3 + 0x540, 1_600),
        (PPI + 0x510, TIMER3 + 0x140),
        (PPI + 0x514, RADIO + TXEN),
        (PPI + 0x504, 1),
    ] {
        assert!(bench.0.write(address, value));
    }
    let origin = bench.0.now();
    bench.0.write(TIMER3, 1);
    bench.0.advance(cycles(500.0));
    let acts = bench.acts();
    let antenna = us(acts[0].at - origin);
    assert!((antenna - 141.0).abs() <= 0.0625, "{antenna}");
}

#[test]
fn small_peripherals_take_their_time() {
    // Base, task, event, microseconds and tolerance: RNG without and with correction, TEMP.
    for (base, setting, took) in [
        (0x4000_d000, Some((0x504, 0)), 30.0),
        (0x4000_d000, Some((0x504, 1)), 120.0),
        (0x4000_c000, None, 36.0),
    ] {
        let mut soc = Bench::typical().0;
        if let Some((offset, value)) = setting {
            soc.write(base + offset, value);
        }
        soc.write(base + 0x304, 1);
        let begin = soc.now();
        soc.write(base, 1);
        assert_ne!(soc.wait(u64::MAX, begin + cycles(1_000.0)), 0);
        assert!((us(soc.now() - begin) - took).abs() < 0.1);
    }
}

#[test]
fn the_crystal_starts_in_360_us() {
    let setup = Setup {
        identity: 0,
        radio: RadioTimes::TYPICAL,
    };
    let mut soc = Soc::new(setup, 0);
    soc.write(CLOCK + 0x304, 1);
    soc.write(CLOCK, 1);
    assert_eq!(soc.wait(1, cycles(1_000.0)), 1);
    assert!((us(soc.now()) - 360.0).abs() < 0.1);
    assert_eq!(soc.read(CLOCK + 0x40c), 1 << 16 | 1);
}

#[test]
fn flash_stops_the_processor() {
    const NVMC: u32 = 0x4001_e000;
    let mut soc = Bench::typical().0;
    assert!(!soc.write(0x8_0000, 0), "it is closed");
    soc.write(NVMC + 0x504, 1);
    let begin = soc.now();
    assert!(soc.write(0x8_0000, 0x1234_5678));
    // BabbleSim 42 us for a 52833, and 87.5 ms a page; the 52840's specification 41 and 85.
    assert!((us(soc.now() - begin) - 41.5).abs() < 1.0);
    assert!(soc.write(0x8_0000, 0xffff_00ff));
    assert_eq!(soc.read(0x8_0000), 0x1234_0078);
    soc.write(NVMC + 0x504, 2);
    let begin = soc.now();
    soc.write(NVMC + 0x508, 0x8_0000);
    assert!((us(soc.now() - begin) - 86_000.0).abs() < 2_000.0);
    assert_eq!(soc.read(0x8_0000), u32::MAX);
    assert_eq!(soc.read(FICR_BASE + 0x100), 0x52840);
}
