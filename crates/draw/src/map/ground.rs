//! From places to pixels: a panel for each floor or column, and where nodes stand in it.

use super::{layout, margin, Place, Places, HEAD, SLIM};
use crate::span;

/// Between two floors, one above the other.
const FLOOR_GAP: f64 = 64.0;
/// Between two panels beside each other.
const PANEL_GAP: f64 = 10.0;
/// Around the nodes of a panel.
const INSET: f64 = 12.0;
/// Least height of a floor; a narrower one is stretched across.
const MIN_STRIP: f64 = 90.0;
/// Most height of all floors together, and the height where there are no metres.
const MAX_STRIPS: f64 = 560.0;

/// Where everything is in the picture, in pixels.
pub(super) struct Ground {
    /// Below the heading.
    pub(super) height: f64,
    /// Name and box of each panel: left, top, width, height.
    pub(super) panels: Vec<(String, [f64; 4])>,
    /// Pixels a metre along and across; none where there are no metres.
    pub(super) scale: Option<(f64, f64)>,
    places: Vec<Option<(f64, f64)>>,
}

impl Ground {
    /// The ground of `places` in a picture `width` pixels wide.
    pub(super) fn of(places: &Places, width: f64) -> Self {
        match places {
            Places::Known(places) => Self::of_floors(places, width),
            Places::ByLinks { neighbours, order } => Self::of_links(neighbours, order, width),
            Places::Columns(columns) => Self::of_columns(columns, width),
        }
    }

    /// Where node `index` stands, if it is drawn.
    pub(super) fn at(&self, index: usize) -> Option<(f64, f64)> {
        self.places.get(index).copied().flatten()
    }

    /// A panel for each floor: long ones below each other, the top floor on top, others beside each
    /// other.
    fn of_floors(placed: &[Place], picture: f64) -> Self {
        let (left, right) = span(placed.iter().map(|p| p.x_m));
        let (low, high) = span(placed.iter().map(|p| p.y_m));
        let (length, width) = ((right - left).max(0.1), (high - low).max(0.1));
        let mut floors: Vec<u16> = placed.iter().map(|p| p.floor).collect();
        floors.sort_unstable();
        floors.dedup();
        let is_slim = picture < SLIM;
        let (rows, columns) = match is_slim || length >= 1.5 * width {
            true => (floors.len() as f64, 1.0),
            false => (1.0, floors.len() as f64),
        };
        let whole = picture - 2.0 * margin(picture);
        let panel = (whole - (columns - 1.0) * PANEL_GAP) / columns;
        let inner = panel - 2.0 * INSET;
        let most = match is_slim {
            true => inner,
            false => (MAX_STRIPS - (rows - 1.0) * FLOOR_GAP).max(rows * MIN_STRIP) / rows,
        };
        // One row of nodes needs no stretching.
        let is_row = width < 1.0;
        let upright = if is_row { f64::INFINITY } else { most / width };
        let along = (inner / length).min(upright);
        let strip = (along * width).clamp(MIN_STRIP - 30.0, most);
        let upright = if is_row { along } else { f64::INFINITY };
        let across = upright.min(strip / width);
        let alternate = (inner - along * length, strip - across * width);
        let corner = |rank: usize| match rows > 1.0 {
            true => {
                let above = rows - 1.0 - rank as f64;
                let y = HEAD + above * (strip + 2.0 * INSET + FLOOR_GAP);
                (margin(picture), y)
            }
            false => (margin(picture) + rank as f64 * (panel + PANEL_GAP), HEAD),
        };
        let name = |floor: &u16| match floors.len() {
            1 => String::new(),
            _ => format!("floor {floor}"),
        };
        let panels = floors.iter().enumerate().map(|(rank, floor)| {
            let (x, y) = corner(rank);
            (name(floor), [x, y, panel, strip + 2.0 * INSET])
        });
        let places = placed.iter().map(|p| {
            let (x, y) = corner(floors.binary_search(&p.floor).ok()?);
            let x = x + INSET + alternate.0 / 2.0 + (p.x_m - left) * along;
            Some((x, y + INSET + alternate.1 / 2.0 + (high - p.y_m) * across))
        });
        Self {
            height: rows * (strip + 2.0 * INSET) + (rows - 1.0) * FLOOR_GAP,
            scale: Some((along, across)),
            panels: panels.collect(),
            places: places.collect(),
        }
    }

    fn of_links(neighbours: &[Vec<usize>], order: &[usize], width: f64) -> Self {
        let (inner, inset) = (width - 2.0 * margin(width), 24.0);
        let places = layout::places(neighbours, order).into_iter();
        let at = |(x, y): (f64, f64)| {
            let x = margin(width) + inset + x * (inner - 2.0 * inset);
            Some((x, HEAD + inset + y * (MAX_STRIPS - 2.0 * inset)))
        };
        Self {
            height: MAX_STRIPS,
            panels: Vec::new(),
            scale: None,
            places: places.map(at).collect(),
        }
    }

    fn of_columns(columns: &[(String, Vec<usize>)], picture: f64) -> Self {
        let most = columns.iter().flat_map(|(_, nodes)| nodes).max();
        let mut places = vec![None; most.map_or(0, |most| most + 1)];
        let width = (picture - 2.0 * margin(picture)) / columns.len().max(1) as f64;
        let mut panels = Vec::new();
        for (rank, (name, nodes)) in columns.iter().enumerate() {
            let x = margin(picture) + width * rank as f64;
            let inner = width - PANEL_GAP;
            panels.push((name.clone(), [x, HEAD, inner, MAX_STRIPS]));
            let row = MAX_STRIPS / nodes.len().max(1) as f64;
            for (place, node) in nodes.iter().enumerate() {
                places[*node] = Some((x + inner / 2.0, HEAD + row * (place as f64 + 0.5)));
            }
        }
        Self {
            height: MAX_STRIPS,
            panels,
            scale: None,
            places,
        }
    }
}
