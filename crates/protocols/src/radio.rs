//! Operations that most engines ask for in the same words.

use thalweg_engine::{Cca, RadioOp, TxSlot, When};
use thalweg_units::Channel;

/// Listens on `channel`, without a look at the beginning of frames.
pub(crate) const fn listen(channel: Channel) -> RadioOp<'static> {
    let head_bytes = 0;
    RadioOp::Listen {
        channel,
        head_bytes,
    }
}

/// Copies `mpdu` to the radio and sends it, without carrier sense.
pub(crate) const fn stream(mpdu: &[u8], channel: Channel, when: When) -> RadioOp<'_> {
    RadioOp::Stream {
        mpdu,
        channel,
        when,
        cca: Cca::Skip,
    }
}

/// Sends what the radio has, without copying it again.
pub(crate) const fn transmit(channel: Channel, cca: Cca) -> RadioOp<'static> {
    RadioOp::Transmit {
        slot: TxSlot(0),
        channel,
        when: When::Now,
        cca,
    }
}
