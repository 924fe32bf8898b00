//! Results: what is measured of rows, judged against the papers' claims (`papers/*.toml`) and drawn.
//! Nothing here knows what made a row. Tests: beside each file, and `../experiment/tests.rs`.

mod claims;
mod column;
mod figure;
mod filtered;
mod interval;
mod metric;
mod pivot;
mod row;
mod tally;
mod uses;
mod verdict;
mod words;

pub use claims::{Claim, Claims, ClaimsError};
pub(crate) use column::{columns, unfit};
pub use column::{Column, ColumnKind};
pub use figure::{Axis, FigureSpec, Mark, Over, ReferenceSpec};
pub use filtered::{filtered, of_some_seeds, why_nothing, Filtered};
pub use interval::{mean_and_interval, median, Confidence};
pub use metric::{Best, Measured, MetricSpec, MostSpec, Ratio, Spread, Statistic, SEED};
pub use pivot::{columns, ranks, Line, Pivot, Rank};
pub use row::{csv, csv_of, name_of, Row, Value};
pub use tally::{Count, Tally};
pub(crate) use uses::{unknown, ColumnUse};
pub use verdict::{Basis, Excuse, Extent, Fit, Judged, Verdict, Window, DECIDED};
pub use words::{excused, fitted, mark, short, span, spread_of};
