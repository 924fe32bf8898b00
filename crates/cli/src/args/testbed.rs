//! Networks: list and show them, and import links of other programs. Tests: `tests/all/help.rs`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::values;

#[derive(Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// The built-in networks.
    List {
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// One network: nodes, links, degrees and hops.
    #[command(after_help = "\
Examples:
  thalweg testbed show indriya --svg indriya.svg
  thalweg testbed show links.csv --json")]
    Show {
        /// A built-in name, a testbed TOML, a K7 link trace, a CSV of links or what `import` reads.
        #[arg(value_name = "NAME|FILE", value_parser = values::name)]
        testbed: String,
        /// The seed that draws what the testbed leaves open.
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// Draw the map as an SVG file.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
        /// Replace files that another program wrote.
        #[arg(long)]
        force: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Turn links that another program wrote into a CSV.
    ///
    /// Reads spreadsheets (XLSX), Cooja simulations with DGRM edges, zigbee2mqtt network maps, OpenThread diagnostics,
    /// raw rows of mercator, Contiki-NG logs and TOSSIM gains, as well as K7 traces and CSVs. What has no reception ratio
    /// gets one by a rule that is printed and kept at the head of the CSV. --testbed takes all these as they are.
    #[command(after_help = "\
Examples:
  thalweg testbed import links.xlsx -o links.csv
  thalweg testbed import map.json | less")]
    Import {
        /// The file; `-` is standard input.
        #[arg(value_name = "FILE", value_parser = values::name)]
        file: String,
        /// Where the CSV goes; standard output if not given.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace a file that another program wrote.
        #[arg(long)]
        force: bool,
        /// Print one JSON object about it. The CSV is written with -o only.
        #[arg(long)]
        json: bool,
    },
}
