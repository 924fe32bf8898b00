//! The 2.4 GHz O-QPSK PHY: sizes and times on the air (IEEE 802.15.4-2006, 6.3 and 6.5).

use thalweg_units::Duration;

/// One symbol carries four bits and takes 16 us (6.5.2.2: 62.5 ksymbol/s).
pub const SYMBOL: Duration = Duration::from_micros(16);
/// One byte takes two symbols.
pub const BYTE: Duration = Duration::from_micros(32);
/// Preamble (6.3.1: 32 bits).
pub const PREAMBLE_BYTES: usize = 4;
/// Start-of-frame delimiter (6.3.2).
pub const SFD_BYTES: usize = 1;
/// Frame length field (6.3.3).
pub const PHR_BYTES: usize = 1;
/// Frame check sequence, appended by hardware (7.2.1.9).
pub const FCS_BYTES: usize = 2;
/// The longest PSDU, FCS included (6.4.1: aMaxPHYPacketSize).
pub const MAX_PSDU: usize = 127;
/// The longest MAC frame without its FCS: what engines hand to a radio.
pub const MAX_MPDU: usize = MAX_PSDU - FCS_BYTES;
/// From the first preamble symbol to the end of the SFD: what an SFD time stamp refers to.
pub const SFD_OFFSET: Duration = Duration::from_micros(160);
/// Turnaround between receiving and transmitting (6.4.1: aTurnaroundTime, 12 symbols).
pub const TURNAROUND: Duration = Duration::from_micros(192);
/// The PHY's bit rate in bit/s (6.5.1).
pub const BIT_RATE_BPS: u32 = 250_000;

/// Time on the air, first preamble symbol to last FCS symbol, of a frame of `mpdu_bytes` without
/// FCS.
pub const fn air_time(mpdu_bytes: usize) -> Duration {
    let bytes = PREAMBLE_BYTES + SFD_BYTES + PHR_BYTES + mpdu_bytes + FCS_BYTES;
    Duration::from_micros(32 * bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_frame_takes_4256_us() {
        assert_eq!(air_time(MAX_MPDU), Duration::from_micros(4256));
    }
}
