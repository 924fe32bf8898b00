//! A mote in a main loop that sleeps until its radio or its timer wakes it: `cargo run -p thalweg-protocols --example loop_host`.
//! In firmware `Board` is the chip, and `sleep` waits for an interrupt.

#[path = "board/mod.rs"]
mod board;

use board::{node, order, Board, Cause};
use std::error::Error;
use thalweg_engine::{Caps, Driver};

fn main() -> Result<(), Box<dyn Error>> {
    let mut board = Board::default();
    // What the chip can do is compared with what the mote wants, before anything runs.
    let mut driver = Driver::new(node()?, &[Caps::IDEAL])?;
    board.due = driver.start().drain(&mut board)?;
    board.due = driver.command(board.now, order()?).drain(&mut board)?;
    while !board.is_done {
        let now = board.now;
        // One call for each cause, and a drain after each: operations, events, the next time-out.
        let undrained = match board.poll() {
            Some(Cause::Radio(radio, event)) => driver.radio(now, radio, event),
            Some(Cause::Timer) => driver.timer(now),
            None if board.sleep() => continue,
            None => break,
        };
        board.due = undrained.drain(&mut board)?;
    }
    Ok(())
}
