//! Charts as SVG text: lines, bars and scatter over numbers or categories, with the papers'
//! reference values drawn beside ours (dashed lines, hollow marks) and 95 % intervals as
//! whiskers. Self-contained SVG without scripts or fonts; the same chart gives the same bytes.
//! Values that are not finite are not drawn. Tests: `tests.rs`.

mod axis;
mod mark;
mod picture;
#[cfg(test)]
mod tests;

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What is to be seen, in a few words.
    pub title: String,
    /// A second, smaller line: the conditions; may be empty.
    pub subtitle: String,
    /// Name and unit of the horizontal axis.
    pub x_label: String,
    /// Name and unit of the vertical axis.
    pub y_label: String,
    /// The horizontal axis.
    pub x_axis: XAxis,
    /// Where the vertical axis begins.
    pub base: Base,
    /// What was measured.
    pub series: Vec<Series>,
    /// What it is held against.
    pub references: Vec<Reference>,
    /// Width of the picture in pixels, at least 240.
    pub width: u32,
    /// Height of the picture in pixels, at least 160.
    pub height: u32,
}

/// Where the vertical axis begins. A chart that says so has it beside the axis's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base {
    /// At zero, without a word.
    #[default]
    Zero,
    /// At zero, and says so.
    ToldZero,
    /// Below the least value, and says where: for values that are never near zero, such as a battery's.
    ToldLeast,
}

/// What the horizontal axis counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum XAxis {
    /// Numbers, evenly spaced.
    #[default]
    Linear,
    /// Names; the `x` of a point is the place of its name: 0, 1, 2...
    Categories(Vec<String>),
}

/// One set of values with one colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend; an empty one has no legend entry.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// How much it stands out.
    pub weight: Weight,
    /// Its values; lines connect them in this order.
    pub points: Vec<Point>,
}

/// How much a series stands out; what stands out comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Weight {
    /// What the chart is about.
    #[default]
    Full,
    /// What stands beside it: thin lines, small dots, pale bars, no intervals.
    Light,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A line with a dot at each value.
    Line,
    /// A line that stays at a value until the next, as of counts and distributions.
    Steps,
    /// Bars from zero, side by side with the other bar series'.
    Bars,
    /// Dots.
    Scatter,
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Across: a number, or the place of a category.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Ends of the interval of confidence of `y`.
    pub interval: Option<(f64, f64)>,
}

impl Point {
    /// A value without interval.
    pub const fn new(x: f64, y: f64) -> Self {
        let interval = None;
        Self { x, y, interval }
    }
    /// The same value with its interval of confidence.
    #[must_use]
    pub const fn within(mut self, low: f64, high: f64) -> Self {
        self.interval = Some((low, high));
        self
    }
}

/// A value from elsewhere, as a paper's.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// What it is, as "P3 paper, mean 178.5".
    pub name: String,
    /// Where it lies.
    pub at: ReferenceAt,
}

/// Where a reference lies.
#[derive(Debug, Clone, PartialEq)]
pub enum ReferenceAt {
    /// One level: a dashed line across.
    Level(f64),
    /// Values of `(x, y)`: hollow diamonds.
    Points(Vec<(f64, f64)>),
}

impl Chart {
    /// A chart without series, 720 by 400 pixels, over numbers.
    pub fn new(
        title: impl Into<String>,
        x_label: impl Into<String>,
        y_label: impl Into<String>,
    ) -> Self {
        Self {
            title: title.into(),
            subtitle: String::new(),
            x_label: x_label.into(),
            y_label: y_label.into(),
            x_axis: XAxis::Linear,
            base: Base::Zero,
            series: Vec::new(),
            references: Vec::new(),
            width: 720,
            height: 400,
        }
    }

    /// The same chart with one series more.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        mark: Mark,
        points: impl IntoIterator<Item = Point>,
    ) -> Self {
        self.series.push(Series {
            name: name.into(),
            mark,
            weight: Weight::Full,
            points: points.into_iter().collect(),
        });
        self
    }

    /// The same chart with its last series drawn lightly.
    #[must_use]
    pub fn lightly(mut self) -> Self {
        if let Some(last) = self.series.last_mut() {
            last.weight = Weight::Light;
        }
        self
    }

    /// The same chart with one reference more.
    #[must_use]
    pub fn beside(mut self, name: impl Into<String>, at: ReferenceAt) -> Self {
        let name = name.into();
        self.references.push(Reference { name, at });
        self
    }

    /// The series with their places in the list, backmost first: light ones lie behind what stands
    /// out, except for dots, which would not be seen there.
    fn in_depth(&self) -> Vec<(usize, &Series)> {
        let mut series: Vec<(usize, &Series)> = self.series.iter().enumerate().collect();
        series.sort_by_key(|(_, s)| match (s.weight, s.mark) {
            (Weight::Light, Mark::Line | Mark::Steps | Mark::Bars) => 0,
            (Weight::Full, _) => 1,
            (Weight::Light, Mark::Scatter) => 2,
        });
        series
    }

    /// The chart as one `<svg>` element.
    pub fn to_svg(&self) -> String {
        picture::draw(self)
    }
}
