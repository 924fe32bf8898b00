//! Reception ratios where only a level was measured: the ratio at which the board's radio receives frames of the
//! measured length at that level, alone on the air. Tests: `matrix_tests.rs`.

use thalweg_medium::chip::Chip;
use thalweg_medium::MeasuredFrame;
use thalweg_sim::boards;
use thalweg_units::Dbm;

use crate::testbed::{Measured, DEFAULT_BOARD};

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
        let chip = boards::telosb().chip;
        Self::new(DEFAULT_BOARD, chip, Measured::DEFAULT_FRAME_BYTES)
    }
}

impl Reception {
    /// That of frames of so many bytes of PSDU by the radio of a board.
    pub(crate) fn new(board_name: &str, chip: &'static Chip, psdu_bytes: u16) -> Self {
        Self {
            board_name: board_name.to_owned(),
            chip,
            frame: MeasuredFrame { psdu_bytes },
        }
    }
    /// The ratio at each level.
    pub(crate) fn ratios(&self) -> impl Fn(f64) -> f64 {
        let levels = self.frame.levels(self.chip);
        move |dbm| levels.ratio_at(Dbm(dbm))
    }
}
