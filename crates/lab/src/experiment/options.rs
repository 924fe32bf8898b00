//! Options of `thalweg run` that change what a run does, and which runs use them. An option that a run
//! has no use for is refused. A kind of run that uses one has an arm here. Tests: at the end.

use super::forwarding::Measure;
use super::spec::Run;
use crate::streams::psdu_bytes;
use std::fmt;
use thalweg_wire::phy;

/// An option, with its value where a run keeps that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOption {
    /// How many nodes a benchmark has.
    Nodes,
    /// So many routes (or links, or sources) per seed.
    Routes(u32),
    /// The network, by name or file.
    Testbed(String),
    /// Losses on links.
    Loss,
    /// Where packets were lost.
    Explain,
    /// The frames of the first run, in a file.
    Pcap,
    /// Rows, results and figures, in a folder.
    Out,
}

impl fmt::Display for RunOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nodes => "--nodes",
            Self::Routes(_) => "--routes",
            Self::Testbed(_) => "--testbed",
            Self::Loss => "--loss",
            Self::Explain => "--explain",
            Self::Pcap => "--pcap",
            Self::Out => "--out",
        })
    }
}

/// A run has no use for an option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not for experiments of this kind")]
pub struct NotUsed(pub RunOption);

impl Run {
    /// Does what `option` asks for from now on.
    ///
    /// # Errors
    /// [`NotUsed`] where that would change nothing.
    pub fn take(&mut self, option: RunOption) -> Result<(), NotUsed> {
        let used = match &option {
            RunOption::Routes(routes) => self.set_routes(*routes),
            RunOption::Testbed(name) => self.testbed().map(|testbed| testbed.clone_from(name)),
            RunOption::Loss => self.lossy_frame_bytes().map(|_| ()),
            RunOption::Explain => matches!(self, Self::Transfers(_)).then_some(()),
            RunOption::Pcap => matches!(self, Self::Convergecast(_)).then_some(()),
            RunOption::Out => Some(()),
            RunOption::Nodes => None,
        };
        used.ok_or(NotUsed(option))
    }

    /// Where its network stands; none where none is simulated.
    fn testbed(&mut self) -> Option<&mut String> {
        Some(match self {
            Self::Transfers(t) => &mut t.testbed,
            Self::LinkChannels(l) => &mut l.testbed,
            Self::Correlation(c) => &mut c.testbed,
            Self::Overhead(o) => &mut o.testbed,
            Self::Asymmetry(a) => &mut a.transfers.testbed,
            Self::ControlLoss(c) => &mut c.transfers.testbed,
            Self::Network(n) => &mut n.testbed,
            Self::Forwarding(f) if f.measure != Measure::Bounds => &mut f.testbed,
            Self::Pipelines(p) => &mut p.testbed,
            Self::Convergecast(c) => &mut c.testbed,
            Self::Neighbourhood(n) => &mut n.testbed,
            Self::Streams(s) => &mut s.testbed,
            Self::Stages(s) => &mut s.testbed,
            Self::Forwarding(_) | Self::StreamBounds(_) => return None,
        })
    }

    /// Draws `routes` routes, links or sources per seed; none where the kind draws none.
    fn set_routes(&mut self, routes: u32) -> Option<()> {
        match self {
            Self::Transfers(t) => t.routes = routes,
            Self::LinkChannels(l) => l.links = routes,
            Self::Asymmetry(a) => a.transfers.routes = routes,
            Self::ControlLoss(c) => c.transfers.routes = routes,
            Self::Overhead(o) => o.sources = Some(routes),
            Self::Network(n) => n.sources = Some(routes),
            _ => return None,
        }
        Some(())
    }

    /// Frames (bytes, FCS included) that a share of losses injected on links is of: those of data, full,
    /// or the longest where their length varies. None where it runs without the medium that knows
    /// injected losses.
    pub fn lossy_frame_bytes(&self) -> Option<usize> {
        match self {
            Self::Transfers(_)
            | Self::LinkChannels(_)
            | Self::Correlation(_)
            | Self::Overhead(_)
            | Self::Asymmetry(_)
            | Self::ControlLoss(_)
            | Self::Network(_) => Some(phy::MAX_PSDU),
            Self::Forwarding(f) => (f.measure != Measure::Bounds).then_some(phy::MAX_PSDU),
            Self::Streams(s) => Some(psdu_bytes(s.payload)),
            Self::Stages(s) => Some(psdu_bytes(s.payload)),
            Self::Pipelines(_)
            | Self::Convergecast(_)
            | Self::Neighbourhood(_)
            | Self::StreamBounds(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use std::collections::BTreeMap;
    use std::mem::discriminant;

    /// One built-in experiment of each kind, and of those that simulate nothing.
    const USES: [(&str, &str); 15] = [
        ("p3.fig5", "--routes --testbed --loss --explain --out"),
        ("p3.table1", "--routes --testbed --loss --out"),
        ("p3.table2", "--testbed --loss --out"),
        ("p3.overhead", "--routes --testbed --loss --out"),
        ("p3.asym", "--routes --testbed --loss --out"),
        ("p3.control", "--routes --testbed --loss --out"),
        ("p3.network", "--routes --testbed --loss --out"),
        ("cit.fig4", "--testbed --loss --out"),
        ("cit.bounds", "--out"),
        ("cit.pip", "--testbed --out"),
        ("fusion.fig5_2", "--testbed --pcap --out"),
        ("fusion.fig2_5", "--testbed --out"),
        ("ff.fig5", "--testbed --loss --out"),
        ("ff.p3dual", "--testbed --loss --out"),
        ("ff.bounds", "--out"),
    ];

    #[test]
    fn every_kind_takes_what_changes_its_run_and_refuses_the_rest() {
        let all = [
            RunOption::Nodes,
            RunOption::Routes(9_999),
            RunOption::Testbed("nowhere".to_owned()),
            RunOption::Loss,
            RunOption::Explain,
            RunOption::Pcap,
            RunOption::Out,
        ];
        let mut kinds: BTreeMap<String, _> = BTreeMap::new();
        for experiment in Experiment::built_in().unwrap() {
            kinds.insert(experiment.id.clone(), experiment.run);
        }
        let tried: Vec<_> = USES
            .iter()
            .map(|(id, _)| discriminant(&kinds[*id]))
            .collect();
        assert!(kinds.values().all(|run| tried.contains(&discriminant(run))));
        for (id, uses) in USES {
            let mut used = Vec::new();
            for option in &all {
                let mut run = kinds[id].clone();
                let taken = run.take(option.clone());
                let keeps = matches!(option, RunOption::Routes(_) | RunOption::Testbed(_));
                assert_eq!(run != kinds[id], keeps && taken.is_ok(), "{id} {option}");
                match taken {
                    Ok(()) => used.push(option.to_string()),
                    Err(why) => assert!(why.to_string().starts_with(&option.to_string())),
                }
            }
            assert_eq!(used.join(" "), uses, "{id}");
        }
    }
}
