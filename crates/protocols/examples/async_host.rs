//! The same mote as an async task: `cargo run -p thalweg-protocols --example async_host`. In firmware an executor such as
//! Embassy's polls `task`, and the chip's interrupts wake it; here a loop of a few lines does both.

#[path = "board/mod.rs"]
mod board;

use board::{node, order, Board, Cause};
use std::cell::RefCell;
use std::error::Error;
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use thalweg_engine::{Caps, Driver};

/// The mote: it waits for radio or timer, whichever comes first, and handles it.
async fn task(board: &RefCell<Board>) -> Result<(), Box<dyn Error>> {
    let mut driver = Driver::new(node()?, &[Caps::IDEAL])?;
    {
        let board = &mut *board.borrow_mut();
        board.due = driver.start().drain(board)?;
        board.due = driver.command(board.now, order()?).drain(board)?;
    }
    loop {
        let cause = woken(board).await;
        let board = &mut *board.borrow_mut();
        let undrained = match cause {
            Cause::Radio(radio, event) => driver.radio(board.now, radio, event),
            Cause::Timer => driver.timer(board.now),
        };
        board.due = undrained.drain(board)?;
        if board.is_done {
            return Ok(());
        }
    }
}

/// What happens next. A chip would keep the waker for its interrupt handlers.
async fn woken(board: &RefCell<Board>) -> Cause {
    poll_fn(|_| match board.borrow_mut().poll() {
        Some(cause) => Poll::Ready(cause),
        None => Poll::Pending,
    })
    .await
}

fn main() -> Result<(), Box<dyn Error>> {
    let board = RefCell::new(Board::default());
    let mut task = pin!(task(&board));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(ended) = task.as_mut().poll(&mut context) {
            return ended;
        }
        if !board.borrow_mut().sleep() {
            return Ok(());
        }
    }
}
