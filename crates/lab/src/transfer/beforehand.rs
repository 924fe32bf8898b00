//! Repair symbols that a source makes when its object is written, long before a transfer: its node by
//! itself, at its board's price, with nothing on the air. Neither time nor radio of a transfer is in
//! it; the energy is the object's. Tests: `crates/lab/tests/robustness/codes.rs`.

use super::fetch::Terms;
use super::object::Memory;
use super::session::{Session, SessionError};
use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;
use thalweg_medium::Environment;
use thalweg_protocols::blocks::Blocks;
use thalweg_protocols::object::{Coded, ObjectStore, Part};
use thalweg_protocols::pipeline::{Command, Event, Pipeline, Preparation};
use thalweg_sim::{Board, Network};
use thalweg_units::{Duration, SimTime};
use thalweg_wire::route::{ObjectRange, Recovery};

/// Longer than the largest object takes.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// What making symbols took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beforehand {
    /// Time of the microcontroller, all of it its own.
    pub time: Duration,
    /// Energy of microcontroller and flash, in joules.
    pub joules: f64,
    /// Repair symbols of each block.
    pub rows: u16,
}

impl Session {
    /// Has node `source` make the symbols that `terms` want beforehand of the object that it offers;
    /// none where they want none or it has them.
    ///
    /// # Errors
    /// [`SessionError`] where the simulation fails.
    pub fn make_beforehand(
        &mut self,
        source: usize,
        terms: &Terms,
    ) -> Result<Option<Beforehand>, SessionError> {
        let (Recovery::Blocks { most, .. }, Some(share)) = (terms.recovery, terms.beforehand)
        else {
            return Ok(None);
        };
        let order = Preparation {
            range: ObjectRange::ALL,
            payload: terms.payload,
            most,
            share,
        };
        let offered = self.net.engine(source).pipeline().store().offer_alone();
        if rows(&offered, &order) > 0 {
            return Ok(None);
        }
        let (store, took) = make(&self.board, offered, order, self.seed)?;
        let memory = self.net.engine_mut(source).store_mut();
        memory.take_repairs(&store);
        Ok(took)
    }
}

/// How many rows of what `order` wants `store` has.
fn rows(store: &Memory, order: &Preparation) -> u16 {
    let len = store.info().len;
    let packets = len.div_ceil(u32::from(order.payload.bytes()));
    let Ok(packets) = u16::try_from(packets) else {
        return 0;
    };
    store.stored_rows(&Coded {
        part: Part { offset: 0, len },
        blocks: Blocks::new(packets, order.most),
        symbol_bytes: order.payload.bytes(),
    })
}

/// `store` with what `order` wants, made on `board`; nothing is made of an object of too many packets.
fn make(
    board: &Board,
    store: Memory,
    order: Preparation,
    seed: u64,
) -> Result<(Memory, Option<Beforehand>), SessionError> {
    let alone = Arc::new(Environment::from_gains(1, board.chip, 1, |_, _, _| None));
    let node = Pipeline::new(board.timing, store);
    let mut net = Network::new(alone, std::slice::from_ref(board), vec![node], seed)?;
    net.command(0, Command::Prepare(order));
    let mut made = None;
    net.run_until(SimTime::ZERO + PATIENCE, |_, _, event| match event {
        Event::Prepared { rows } => {
            made = Some(rows);
            Break(())
        }
        Event::Refused(_) => Break(()),
        _ => Continue(()),
    })?;
    let energy = net.energy(0);
    let took = made.map(|rows| Beforehand {
        time: energy.mcu_active,
        joules: energy.mcu_joules() + energy.flash_joules(),
        rows,
    });
    Ok((net.engine(0).store().offer_alone(), took))
}
