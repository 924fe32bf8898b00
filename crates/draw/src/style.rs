//! Typeface and colours of every picture. Colours that mean the same are the same everywhere.

/// The typeface.
pub(crate) const FONT: &str = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
/// Ink of text and axes.
pub const INK: &str = "#1f2933";
/// Ink of secondary text.
pub const FAINT: &str = "#66727f";
/// Ink of grid lines.
pub(crate) const GRID: &str = "#e3e7ec";
/// A curve that stands alone.
pub(crate) const CURVE: &str = "#2e86ab";
/// The ground of an area, such as a floor.
pub(crate) const AREA: &str = "#f6f8fa";
/// The edge of an area.
pub(crate) const EDGE: &str = "#d5dbe1";
/// Paper, and what is written on dark marks.
pub const PAPER: &str = "#fff";
/// Values of a paper beside ours.
pub(crate) const REFERENCE: &str = "#8a1c1c";

/// The node that data goes to.
pub const SINK: &str = "#c4161c";
/// The node that data comes from.
pub const SOURCE: &str = "#39424c";
/// A node that has no part in what is shown.
pub const IDLE: &str = "#c3c9ce";
/// A link, or packets of odd cycles.
pub const LINK: &str = "#2b5c8a";
/// A link of the other kind: between floors, or of even cycles.
pub const OTHER_LINK: &str = "#c07a1e";
/// Nodes by hops from the sink: near dark, far light.
pub const BY_HOPS: [&str; 7] = [
    "#c4161c", "#0b3c5d", "#1f6f8b", "#3a9d9d", "#7cc08c", "#c3d96b", "#f1e05a",
];

/// What kept a frame from bringing its packet on; neighbours differ in lightness too.
pub mod cause {
    /// A frame of the same transfer on the same channel.
    pub const SELF_INTERFERENCE: &str = "#882255";
    /// Another frame on the same channel.
    pub const COLLISION: &str = "#cc6677";
    /// A frame on another channel.
    pub const ADJACENT_CHANNEL: &str = "#aa4499";
    /// Foreign traffic.
    pub const EXTERNAL: &str = "#ddaa33";
    /// Synchronous senders that cancelled each other, or an acknowledgement that was lost.
    pub const CANCELLED: &str = "#d55e00";
    /// An acknowledgement that came too late.
    pub const LATE: &str = "#f0b27a";
    /// A receiver that was doing something else.
    pub const BUSY: &str = "#117733";
    /// A receiver that slept or listened elsewhere.
    pub const AWAY: &str = "#44aa99";
    /// A node that kept back what it had or could have acknowledged.
    pub const WITHHELD: &str = "#332288";
    /// A sender that did not send.
    pub const NOT_SENT: &str = "#6699cc";
    /// A sender that had nothing to send.
    pub const MISSING: &str = "#56b4e9";
    /// Too little power.
    pub const WEAK: &str = "#8a929a";
    /// None: the packet was brought on.
    pub const NONE: &str = "#9bbf9b";
}

/// Things that take time, by their places in a legend.
pub(crate) const TIMES: [&str; 11] = [
    "#d1495b", "#2e86ab", "#7f7f7f", "#cfd6de", "#6a4c93", "#8ac6d1", "#edae49", "#3d5a40",
    "#a3b18a", "#b8b0c8", "#dde5b6",
];

/// Colours that colour-blind eyes can distinguish, too (after Okabe and Ito, extended).
const SERIES: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e0a800", "#4d4d4d", "#7b4fc9",
    "#8a3c12", "#a5c814",
];

/// The colour of the series, channel or other kind of number `index`.
pub fn series(index: usize) -> &'static str {
    SERIES[index % SERIES.len()]
}

/// The ink that is read best on `fill`, a colour of six hexadecimal digits or [`PAPER`].
pub(crate) fn ink_on(fill: &str) -> &'static str {
    let part = |at: usize| {
        let digits = fill.get(at..at + 2);
        digits
            .and_then(|d| u32::from_str_radix(d, 16).ok())
            .unwrap_or(255)
    };
    // Weights of luma (ITU-R BT.601), in thousandths.
    match 299 * part(1) + 587 * part(3) + 114 * part(5) < 110_000 {
        true => PAPER,
        false => INK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_series_have_ten_colours() {
        let parts = |colour: &str| {
            let part = |at: usize| u32::from_str_radix(&colour[at..at + 2], 16).unwrap();
            [1, 3, 5].map(|at| f64::from(part(at)))
        };
        for (n, a) in SERIES.iter().enumerate() {
            for b in &SERIES[n + 1..] {
                let pairs = parts(a).into_iter().zip(parts(b));
                let distance = pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                assert!(distance > 70.0, "{a} {b}: {distance}");
            }
        }
    }
}
