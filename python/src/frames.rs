//! What was on the air, as a table: a row for each frame sent, and for each that arrived. Tests: `tests/test_network.py`.

use crate::table::{Columns, Table};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_sim::{Capture, CaptureError, Captured, Side};
use thalweg_testbeds::Testbed;
use thalweg_units::{SimTime, Tuning};

/// Frames of a transfer, in the order in which they ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Frame>>>);

#[derive(Debug)]
struct Frame {
    sfd: SimTime,
    on: Tuning,
    side: Side,
    mpdu: Box<[u8]>,
}

impl Capture for Log {
    fn frame(&mut self, frame: &Captured<'_>) -> Result<(), CaptureError> {
        let frame = Frame {
            sfd: frame.sfd,
            on: frame.on,
            side: frame.side,
            mpdu: frame.mpdu.into(),
        };
        let mut frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        frames.push(frame);
        Ok(())
    }
    fn flush(&mut self) -> Result<(), CaptureError> {
        Ok(())
    }
}

impl Log {
    /// The frames so far, nodes by their numbers in `testbed`.
    pub(crate) fn table(&self, testbed: &Testbed) -> PyResult<Table> {
        let frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let node = |side| match side {
            Side::Sent { node } | Side::Received { node, .. } => {
                testbed.nodes.get(node).map(|node| i64::from(node.id.get()))
            }
        };
        let received = |side| match side {
            Side::Sent { .. } => None,
            Side::Received { rssi, lqi, .. } => Some((rssi.0, i64::from(lqi))),
        };
        let side = |side| received(side).map_or("sent", |_| "received");
        let each = || frames.iter();
        Columns::default()
            .whole(
                "sfd_ns",
                each().map(|f| i64::try_from(f.sfd.as_nanos()).ok()),
            )
            .whole("node", each().map(|f| node(f.side)))
            .texts("side", each().map(|f| Some(side(f.side))))
            .texts("band", each().map(|f| Some(tuned(f.on).0)))
            .whole("channel", each().map(|f| Some(tuned(f.on).1)))
            .numbers("rssi_dbm", each().map(|f| received(f.side).map(|r| r.0)))
            .whole("lqi", each().map(|f| received(f.side).map(|r| r.1)))
            .bytes("mpdu", each().map(|f| Some(&f.mpdu)))
            .table()
    }
}

/// The band and the channel's number in it.
fn tuned(on: Tuning) -> (&'static str, i64) {
    match on {
        Tuning::Ghz2_4(channel) => ("2.4 GHz", i64::from(channel.number())),
        Tuning::Mhz900(channel) => ("900 MHz", i64::from(channel.number())),
    }
}
