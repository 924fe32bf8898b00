//! Reception ratios where only a level was measured: the ratio at which the board's radio receives frames of the
//! measured length at that level, alone on the air. Tests: `matrix_tests.rs`.

use thalweg_medium::chip::Chip;
use thalweg_medium::MeasuredFrame;
use thalweg_sim::boards;
use thalweg_units::Dbm;

use crate::testbed::Measured;

/// What the links of a file were measured with.
#[derive(Debug, Clone)]
pub(crate) struct Reception {
    pub(crate) board_name: String,
    pub(crate) chip: &'static Chip,
    pub(crate) frame: MeasuredFrame,
}

impl Default for Reception {
    /// That of a file that says nothing of it.
    fn default() -> Self {
        Self {
            board_name: crate::testbed::DEFAULT_BOARD.to_owned(),
            chip: boards::telosb().chip,
            frame: MeasuredFrame {
                psdu_bytes: Measured::DEFAULT_FRAME_BYTES,
            },
        }
    }
}

impl Reception {
    /// The ratio at each level.
    pub(crate) fn ratios(&self) -> impl Fn(f64) -> f64 {
        let levels = self.frame.levels(self.chip);
        move |dbm| levels.ratio_at(Dbm(dbm))
    }
}
