//! Why a base station on a line cannot be talked to.

use crate::network::NetworkFault;
use thalweg_units::NodeId;
use thalweg_wire::host::{Unread, Version, VERSION};
use thalweg_wire::WireError;

/// Why a line does not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// There is no such line, or another program has it.
    #[error("{address}: cannot be opened: {why}")]
    Open {
        /// The line.
        address: String,
        /// Why not.
        why: String,
    },
    /// No base station greeted.
    #[error("{address}: no base station answers{}", said(.heard.as_deref()))]
    NoAnswer {
        /// The line.
        address: String,
        /// The last line of text that came instead: printable ASCII.
        heard: Option<String>,
    },
    /// The base station speaks another version.
    #[error("{address}: the base station speaks version {theirs} of the line's protocol, this program {}; replace the older one", VERSION)]
    Version {
        /// The line.
        address: String,
        /// The station's.
        theirs: Version,
    },
    /// There is no session at present.
    #[error("{address}: the line to the base station is down")]
    Down {
        /// The line.
        address: String,
    },
    /// The queue of orders is full.
    #[error("{address}: orders do not get through")]
    Full {
        /// The line.
        address: String,
    },
    /// An order cannot be written.
    #[error("an order cannot be sent: {0}")]
    Unfit(#[from] WireError),
    /// The base station has room for less than an order needs.
    #[error("an order of {bytes} bytes; the base station has room for {room}")]
    TooLong {
        /// The order's length.
        bytes: usize,
        /// The longest that the station takes.
        room: u16,
    },
    /// Another node is the base station.
    #[error("node {0} is no base station")]
    NoStation(NodeId),
    /// The base station did not understand an order.
    #[error("the base station did not understand an order: {0:?}")]
    Unread(Unread),
    /// The thread that keeps the line is gone.
    #[error("the line's thread ended")]
    Ended,
}

fn said(heard: Option<&str>) -> String {
    heard.map_or(String::new(), |text| {
        format!("; what is there says: {text}")
    })
}

impl From<LineError> for NetworkFault {
    fn from(error: LineError) -> Self {
        match error {
            LineError::NoStation(node) => Self::NoStation(node),
            error => Self::Broken(Box::new(error)),
        }
    }
}
