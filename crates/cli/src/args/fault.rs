//! The options of `thalweg fault`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;

/// Try small networks in which everything goes wrong, and check what must hold.
///
/// A seed makes a network of two to eight nodes, objects to fetch, and what goes wrong meanwhile: frames that are lost,
/// doubled, late or changed, nodes that die, restart or hear nothing, links that fade, foreign traffic. It runs packet by
/// packet. What must hold is checked at every step (docs/robustness.md). For a seed that breaks something, the smallest script
/// that does so is printed, too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg fault                         2000 scenarios, or the first that breaks something
  thalweg fault --scenarios 1000000 --go-on --json > campaign.json
  thalweg fault --seed 4711             one scenario; where it breaks something, its smallest script
  thalweg fault --seed 4711 --script > scenario.toml
  thalweg fault --replay scenario.toml  the same again, as it was or edited
  thalweg fault --outsider              what somebody with a radio and no key can break today
  thalweg fault --secure                the same, where nodes have keys: nothing
  thalweg fault --captured              the same, where he has one node's keys
  thalweg fault --power                 the store, at every instant at which power may fail

Exit status: 0 everything held, 1 something broke, 2 bad usage or bad input.")]
pub(crate) struct FaultArgs {
    /// Run this seed alone.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run this many seeds [default: 2000; points with --power: 10000].
    #[arg(long, value_name = "N", conflicts_with_all = ["seed", "replay"])]
    pub(crate) scenarios: Option<NonZeroU64>,
    /// The first of them.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["seed", "replay"])]
    pub(crate) first: u64,
    /// Run the scenario in this file; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "outsider", "secure", "captured"])]
    pub(crate) replay: Option<PathBuf>,
    /// Run nothing; print the scenario of --seed as a file for --replay.
    #[arg(long, requires = "seed")]
    pub(crate) script: bool,
    /// Add an outsider, who replays and forges frames. What it breaks because frames have no keys is counted separately, and is no failure.
    #[arg(long)]
    pub(crate) outsider: bool,
    /// Add an outsider, and give all nodes keys, of which he has none: he breaks nothing, and nothing is counted separately.
    #[arg(long, conflicts_with = "outsider")]
    pub(crate) secure: bool,
    /// Add an outsider who has the keys of a mote that he captured: he reads no object and makes none. Where he has the nodes refuse all further orders, that is counted separately.
    #[arg(long, conflicts_with_all = ["outsider", "secure"])]
    pub(crate) captured: bool,
    /// Continue after a seed that breaks something.
    #[arg(long, conflicts_with_all = ["seed", "replay"])]
    pub(crate) go_on: bool,
    /// Try the object store instead: power fails between any two writes, and what was not synced is lost or torn.
    #[arg(long, conflicts_with_all = ["seed", "replay", "outsider", "secure", "captured", "go_on"])]
    pub(crate) power: bool,
    /// Do what --power records to the store in this folder.
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) power_workload: Option<PathBuf>,
    /// Run this many at a time [default: as many as there are cores].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors on standard error.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
