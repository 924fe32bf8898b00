//! The columns of link files, whatever the file calls them: one vocabulary for link matrices and K7 traces.
//! A heading counts without case, quotes and units, so `PRR (%)` is `prr`. Tests: below.

/// A column of a link file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// What it is called here.
    pub(crate) name: &'static str,
    /// All its names, that one first.
    names: &'static [&'static str],
}

impl Column {
    /// A column of another program's files, under the first of `names` in errors.
    pub(crate) const fn foreign(names: &'static [&'static str]) -> Self {
        let name = match names {
            [first, ..] => first,
            [] => "",
        };
        Self { name, names }
    }
    pub(crate) const fn names(&self) -> &'static [&'static str] {
        self.names
    }
    /// The column as an error that misses it calls it.
    pub(crate) fn wanted(&self) -> String {
        let others = self.names.get(1..).unwrap_or_default().join(", ");
        match (self.name, others.as_str()) {
            (name, "") => format!("the column `{name}`"),
            ("prr", others) => {
                format!(
                    "the column `prr` (or {others}; or `sent` and `received`; or `rssi_dbm` alone)"
                )
            }
            (name, others) => format!("the column `{name}` (or {others})"),
        }
    }
}

macro_rules! columns {
    ($($(#[$doc:meta])* $id:ident = $name:literal $($alias:literal)*;)*) => {
        $($(#[$doc])* pub(crate) const $id: Column = Column { name: $name, names: &[$name $(, $alias)*] };)*
        /// All of them.
        #[cfg(test)]
        const ALL: &[&Column] = &[$(&$id),*];
    };
}

columns! {
    /// The sender's number.
    SRC = "src" "from" "source" "sender" "tx";
    /// The receiver's number.
    DST = "dst" "to" "dest" "destination" "receiver" "rx" "target";
    /// The channel, or a list as `[11;12]`; all of them where it is empty.
    CHANNEL = "channel" "channels" "ch";
    /// The packet reception ratio.
    PRR = "prr" "pdr" "mean_prr" "mean_pdr";
    /// The mean RSSI of the frames received.
    RSSI = "rssi_dbm" "mean_rssi" "mean_rssi_dbm" "rssi";
    /// Frames that the ratio stands on.
    TX_COUNT = "tx_count" "sent" "frames" "numtxpackets";
    /// Of these, those that arrived.
    RECEIVED = "received" "rx_count" "acked";
    /// Of these, those that did not.
    FAILED = "failed" "lost" "numtxfailures";
    /// The link quality indication of the frames received.
    LQI = "lqi" "linkquality" "link_quality";
    /// The node whose table of neighbours a row is of.
    NODE = "node" "moteid";
    /// Its neighbour.
    NEIGHBOUR = "neighbour" "neighbor" "neighborid";
    /// When it was measured.
    DATETIME = "datetime" "timestamp" "time" "date" "day";
}

/// German headings, and the name of their column here.
const GERMAN: &[(&str, &str)] = &[
    ("absender", "src"),
    ("quelle", "src"),
    ("von", "src"),
    ("empfänger", "dst"),
    ("empfaenger", "dst"),
    ("ziel", "dst"),
    ("nach", "dst"),
    ("an", "dst"),
    ("kanal", "channel"),
    ("knoten", "node"),
    ("nachbar", "neighbour"),
    ("empfangsrate", "prr"),
    ("paketempfangsrate", "prr"),
    ("zustellrate", "pdr"),
    ("pegel", "rssi_dbm"),
    ("empfangspegel", "rssi_dbm"),
    ("signalstärke", "rssi_dbm"),
    ("gesendet", "sent"),
    ("empfangen", "received"),
    ("verloren", "lost"),
    ("zeit", "datetime"),
    ("zeitstempel", "datetime"),
    ("datum", "datetime"),
];

/// Whether `heading` is that name of a column, or German for it.
pub(crate) fn is_called(heading: &str, name: &str) -> bool {
    let plain = plain(heading);
    let german = plain.strip_suffix("_dbm").unwrap_or(&plain);
    plain == name || GERMAN.contains(&(german, name))
}

/// `heading` without what is no letter and no number, and without the words of `in percent`.
pub(crate) fn plain(heading: &str) -> String {
    let words = heading.split(|c: char| !c.is_alphanumeric());
    let is_name = |w: &&str| !w.is_empty() && !is_percent(w) && !w.eq_ignore_ascii_case("in");
    let words: Vec<&str> = words.filter(is_name).collect();
    words.join("_")
}

/// Whether `heading` says that the column holds percent.
pub(crate) fn says_percent(heading: &str) -> bool {
    let mut words = heading.split(|c: char| !c.is_ascii_alphanumeric());
    heading.contains('%') || words.any(is_percent)
}

fn is_percent(word: &str) -> bool {
    let percent = ["percent", "pct", "prozent"];
    percent.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether `value` says that there is none.
pub(crate) fn is_nothing(value: &str) -> bool {
    if value.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    // The last ones are those of pandas, and of spreadsheets in English and German.
    [
        "", "-", "null", "none", "nan", "na", "n/a", "<na>", "nat", "#n/a", "#nv", "#div/0!",
    ]
    .iter()
    .any(|no| value.eq_ignore_ascii_case(no))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_told_without_case_and_units() {
        assert_eq!(plain("rssi (dbm)"), "rssi_dbm");
        assert_eq!(plain("prr [%]"), "prr");
        assert_eq!(plain("pdr_percent"), "pdr");
        assert_eq!(
            (plain("pdr in %"), plain("rssi in dbm")),
            ("pdr".into(), "rssi_dbm".into())
        );
        assert!(says_percent("prr_pct") && says_percent("prr%") && !says_percent("prr"));
    }

    #[test]
    fn a_german_heading_is_a_name_of_a_column() {
        assert!(is_called("empfänger", "dst") && is_called("pegel [dbm]", "rssi_dbm"));
        assert!(is_called("empfangsrate [prozent]", "prr") && !is_called("empfänger", "src"));
        for (german, name) in GERMAN {
            let names = ALL.iter().flat_map(|c| c.names());
            assert!(names.clone().any(|known| known == name), "{name}");
            assert!(!names.clone().any(|known| known == german), "{german}");
        }
    }

    #[test]
    fn no_two_columns_share_a_name_and_the_guide_has_all() {
        let guide = include_str!("../../../docs/testbeds.md");
        let mut names: Vec<&str> = ALL.iter().flat_map(|c| c.names()).copied().collect();
        for name in &names {
            assert!(
                guide.contains(&format!("`{name}`")),
                "docs/testbeds.md lacks `{name}`"
            );
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
