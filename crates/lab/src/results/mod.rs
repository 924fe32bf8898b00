//! Results: what is measured of rows, judged against the papers' claims (`papers/*.toml`) and drawn.
//! Nothing here knows what made a row. Tests: beside each file, and `../experiment/tests.rs`.

mod claims;
mod columns;
mod figure;
mod filtered;
mod metric;
mod pivot;
mod row;

pub use claims::{Claim, Claims, ClaimsError, Judged, DECIDED};
pub(crate) use columns::{unknown, Asked};
pub use figure::{Axis, FigureSpec, Mark, Over, ReferenceSpec};
pub use filtered::{filtered, why_nothing, Filtered};
pub use metric::{
    mean_and_interval, median, Best, Confidence, Measured, MetricSpec, Statistic, SEED,
};
pub use pivot::{columns, ranks, Line, Pivot, Rank};
pub use row::{csv, name_of, Row, Value};
