//! What all nodes of a network agree on.

use crate::glossy::{self, flood_time, Ntx};
use thalweg_engine::BoardTiming;
use thalweg_units::Duration;
use thalweg_wire::beacon::TIME_STEP;
use thalweg_wire::phy;

/// What all nodes of a network agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Of the floods below.
    pub glossy: glossy::Config,
    /// N_tx of the sink's floods.
    pub n_tx: Ntx,
    /// N_tx of reports: their losses are asked for again.
    pub report_n_tx: Ntx,
    /// T_o, the slot of an announcement's flood. P3, section IV-D1 assumes 10 ms.
    pub control: Duration,
    /// How many hops a slot of the collection has room for: the network's diameter, or little
    /// less, as a flood's last repetitions at the far end matter to nobody.
    pub reach: u8,
    /// Bytes of a beacon's MAC frame without FCS, as long as the frames whose links matter.
    pub beacon_bytes: u8,
    /// After how many silent rounds in a row a node is given up.
    pub tries: u8,
}

impl Default for Config {
    /// N_tx = 3, reports twice, T_o = 10 ms, six hops, beacons of full length, five tries.
    fn default() -> Self {
        Self {
            glossy: glossy::Config::default(),
            n_tx: Ntx::THREE,
            report_n_tx: Ntx::TWO,
            control: Duration::from_millis(10),
            reach: 6,
            beacon_bytes: phy::MAX_MPDU as u8,
            tries: 5,
        }
    }
}

impl Config {
    /// The slot of a schedule's flood of frames of `mpdu_bytes`, in whole [`TIME_STEP`]s.
    pub fn schedule_slot(&self, mpdu_bytes: usize, timing: &BoardTiming) -> Duration {
        round_up(flood_time(mpdu_bytes, self.reach, self.n_tx, timing))
    }
    /// The slot of one frame of a report, in whole [`TIME_STEP`]s.
    pub fn report_slot(&self, timing: &BoardTiming) -> Duration {
        round_up(flood_time(
            phy::MAX_MPDU,
            self.reach,
            self.report_n_tx,
            timing,
        ))
    }
}

fn round_up(time: Duration) -> Duration {
    TIME_STEP * time.as_nanos().div_ceil(TIME_STEP.as_nanos())
}
