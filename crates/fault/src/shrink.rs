//! The smallest script that breaks the same: what does not matter is left out, piece by piece.
//!
//! Invariant: what is given back breaks with the same kind of breach as what was given. Tests: `run_tests.rs`.

use crate::breach::{Breach, BreachKind};
use crate::script::{Fault, Idle, Script, Step};

/// At most so many runs.
const RUNS: u32 = 600;

/// The smallest script found that breaks as `script` does by `run`, and its breach. `None` where `script` does not break.
pub fn shrink(
    script: &Script,
    mut run: impl FnMut(&Script) -> Option<Breach>,
) -> Option<(Script, Breach)> {
    let breach = run(script)?;
    let mut search = Search {
        kind: breach.kind(),
        best: (script.clone(), breach),
        left: RUNS,
    };
    loop {
        let before = search.best.0.clone();
        search.without(|script| &mut script.strikes, &mut run);
        search.without(|script| &mut script.fades, &mut run);
        search.without(|script| &mut script.steps, &mut run);
        search.without_last_node(&mut run);
        search.without(|script| &mut script.links, &mut run);
        search.simpler(&mut run);
        if search.best.0 == before || search.left == 0 {
            return Some(search.best);
        }
    }
}

struct Search {
    kind: BreachKind,
    best: (Script, Breach),
    left: u32,
}

impl Search {
    /// Takes `script` where it breaks the same; whether it does.
    fn try_out(&mut self, script: Script, run: &mut impl FnMut(&Script) -> Option<Breach>) -> bool {
        let is_new = script != self.best.0;
        // A script that cannot be read is none, and without a path nothing can arrive.
        let can_arrive = self.kind != BreachKind::Undelivered || script.has_paths();
        let is_one = can_arrive && Script::parse(&script.to_text()).is_ok();
        if !is_new || self.left == 0 || !is_one {
            return false;
        }
        self.left -= 1;
        match run(&script) {
            Some(breach) if breach.kind() == self.kind => {
                self.best = (script, breach);
                true
            }
            _ => false,
        }
    }
    /// Leaves out entries of a list: half of them at once, then fewer, then one by one.
    fn without<T: Clone>(
        &mut self,
        list: impl Fn(&mut Script) -> &mut Vec<T>,
        run: &mut impl FnMut(&Script) -> Option<Breach>,
    ) {
        let mut size = list(&mut self.best.0).len();
        while size > 0 {
            let mut from = 0;
            while from < list(&mut self.best.0).len() {
                let mut script = self.best.0.clone();
                let entries = list(&mut script);
                let until = (from + size).min(entries.len());
                entries.drain(from..until);
                if !self.try_out(script, run) {
                    from += size;
                }
            }
            size /= 2;
        }
    }
    /// Leaves out the last node, as long as that breaks the same.
    fn without_last_node(&mut self, run: &mut impl FnMut(&Script) -> Option<Breach>) {
        loop {
            let mut script = self.best.0.clone();
            let last = script.nodes;
            script.nodes -= 1;
            script.links.retain(|link| link.a != last && link.b != last);
            script.fades.retain(|fade| fade.a != last && fade.b != last);
            script.strikes.retain(|strike| strike.node != last);
            if !self.try_out(script, run) {
                return;
            }
        }
    }
    /// Makes simpler what is left.
    fn simpler(&mut self, run: &mut impl FnMut(&Script) -> Option<Breach>) {
        let plain = |script: &mut Script| {
            script.foreign_traffic = 0.0;
            script.idle = Idle::Listens;
            "telosb".clone_into(&mut script.board);
        };
        let mut script = self.best.0.clone();
        plain(&mut script);
        self.try_out(script, run);
        for at in 0..self.best.0.steps.len() {
            for bytes in [1, 100, 500, 2_000] {
                let mut script = self.best.0.clone();
                if let Some(Step::Fetch { bytes: more, .. }) = script.steps.get_mut(at) {
                    *more = bytes.min(*more);
                }
                if self.try_out(script, run) {
                    break;
                }
            }
        }
        for at in 0..self.best.0.strikes.len() {
            for count in [1, 2, 4] {
                let mut script = self.best.0.clone();
                if let Some(Fault::Frames { count: more, .. }) =
                    script.strikes.get_mut(at).map(|strike| &mut strike.what)
                {
                    *more = count.min(*more);
                }
                if self.try_out(script, run) {
                    break;
                }
            }
        }
    }
}
