//! Plain aligned tables for the terminal.

/// A terminal's usual width.
pub(crate) const NARROW: usize = 80;
/// The last column has as much room in any case.
const LEAST: usize = 20;

/// Where a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table: a heading and rows of as many cells.
#[derive(Debug)]
pub(crate) struct Table {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this heading.
    pub(crate) fn new<S: Into<String>>(heading: impl IntoIterator<Item = (S, Align)>) -> Self {
        let heading = heading
            .into_iter()
            .map(|(name, align)| (name.into(), align));
        let (names, align) = heading.unzip();
        let rows = vec![names];
        Self { align, rows }
    }
    /// A table with this heading, in which `>` stands before the names of columns of numbers.
    pub(crate) fn of(heading: &[&str]) -> Self {
        Self::new(heading.iter().map(|name| match name.strip_prefix('>') {
            Some(name) => (name, Align::Right),
            None => (*name, Align::Left),
        }))
    }
    /// Adds a row.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
    /// The same no wider than a terminal usually is: words of the last column go on in the next line.
    pub(crate) fn render_narrow(mut self) -> String {
        let last = self.align.len().saturating_sub(1);
        let widest = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let before: usize = (0..last).map(|at| widest(at) + 2).sum();
        let room = NARROW.saturating_sub(before).max(LEAST);
        for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(last)) {
            *cell = folded(cell, room);
        }
        self.render()
    }

    /// The table as text: columns two spaces apart, a rule under the heading, whose names may have several lines.
    pub(crate) fn render(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let lines = cells.flat_map(|cell| cell.split('\n'));
            lines.map(|line| line.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.align.len()).map(width).collect();
        let mut text = String::new();
        for (place, row) in self.rows.iter().enumerate() {
            let lines = row.iter().map(|cell| cell.split('\n').count());
            let high = lines.max().unwrap_or(1);
            for n in 0..high {
                // Names in the heading stand at the foot, cells at the head.
                let part = |cell: &String| {
                    let lines: Vec<&str> = cell.split('\n').collect();
                    let line = match place {
                        0 => (n + lines.len()).checked_sub(high),
                        _ => Some(n),
                    };
                    let line = line.and_then(|line| lines.get(line));
                    line.copied().unwrap_or_default().to_owned()
                };
                let row: Vec<String> = row.iter().map(part).collect();
                text.push_str(self.line(&row, &widths).trim_end());
                text.push('\n');
            }
            if place == 0 {
                let rule: Vec<String> = widths.iter().map(|&w| "-".repeat(w)).collect();
                text.push_str(&rule.join("  "));
                text.push('\n');
            }
        }
        text
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cells = row.iter().zip(widths).zip(&self.align);
        let cells = cells.map(|((cell, width), align)| match align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    }
}

/// `text` in lines of at most `width` letters, broken between words. A longer word has a line to itself.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + length <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Lines of `text` no wider than a terminal usually is. What is left of a row goes on below `last`, the name that ends the
/// heading; what is left of another line, below its third letter.
pub(crate) fn hanging(text: &str, last: &str) -> String {
    let column = |line: &str| line.find(last).filter(|_| line.ends_with(last));
    let below = text.lines().find_map(column).unwrap_or(2);
    let mut lines = String::new();
    for line in text.lines() {
        let is_row = line
            .get(..below)
            .is_some_and(|before| before.ends_with("  "));
        let indent = if is_row { below } else { 2 };
        // Once more for what goes on, which has less room.
        let first = folded(line, NARROW);
        let (first, rest) = first.split_once('\n').unwrap_or((&first, ""));
        lines = lines + first + "\n";
        if !rest.is_empty() {
            let rest = folded(&rest.replace('\n', " "), NARROW.saturating_sub(indent));
            for line in rest.lines() {
                lines = lines + &" ".repeat(indent) + line + "\n";
            }
        }
    }
    lines
}

/// A number times `factor` with `digits` behind the point, or a dash where there is none.
pub(crate) fn number(value: Option<f64>, factor: f64, digits: usize) -> String {
    match value {
        Some(value) if value.is_finite() => format!("{:.digits$}", value * factor),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_words_to_the_left() {
        let mut table = Table::of(&["name", ">good-\nput", "note"]);
        table.row(["p3", "178.5", "x"]);
        table.row(["a longer one", "-", ""]);
        let expected = "              good-
name            put  note
------------  -----  ----
p3            178.5  x
a longer one      -
";
        assert_eq!(table.render(), expected);
    }

    #[test]
    fn long_cells_are_folded_between_words() {
        assert_eq!(folded("one two  three", 7), "one two\n three");
        assert_eq!(folded("", 5), "");
        assert_eq!(folded("incomprehensible is", 5), "incomprehensible\nis");
        let mut table = Table::of(&["name", "what"]);
        table.row(["a".to_owned(), folded("two lines", 6)]);
        assert!(
            table.render().ends_with("a     two\n      lines\n"),
            "{}",
            table.render()
        );
    }

    #[test]
    fn what_is_left_of_a_row_goes_on_below_its_last_column() {
        let causes = "Wi-Fi, external 123, beat null 45, ".repeat(3);
        let text =
            format!("hop   lost by\nto 1  {causes}weak 7\nround 1: {causes}weak 7\n\nround 2\n");
        let shown = hanging(&text, "lost by");
        assert!(shown.lines().all(|line| line.len() <= NARROW), "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines[2].starts_with("      ") && !lines[2].starts_with("       "),
            "{shown}"
        );
        assert!(
            lines[4].starts_with("  ") && !lines[4].starts_with("   "),
            "{shown}"
        );
        assert_eq!(lines[5..], ["", "round 2"]);
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&shown), words(&text));
    }

    #[test]
    fn words_that_do_not_fit_go_on_below_their_column() {
        let mut table = Table::of(&["name", "what it is"]);
        table.row(["a", &"word ".repeat(30)]);
        let text = table.render_narrow();
        assert!(text.lines().all(|line| line.len() <= NARROW), "{text}");
        assert_eq!(text.split_whitespace().filter(|w| *w == "word").count(), 30);
        let third = text.lines().nth(3).unwrap();
        assert!(third.starts_with("      word word"), "{text}");
    }
}
