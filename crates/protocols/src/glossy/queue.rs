//! A first-in, first-out queue of fixed capacity.

/// At most `N` things waiting. Engines drain their queues after every call, so `N` is what one
/// call can cause.
#[derive(Debug)]
pub(crate) struct Queue<T, const N: usize> {
    items: [Option<T>; N],
    first: usize,
    len: usize,
}

impl<T, const N: usize> Queue<T, N> {
    pub(crate) const fn new() -> Self {
        Self {
            items: [const { None }; N],
            first: 0,
            len: 0,
        }
    }
    /// Adds `item`; what does not fit is given back.
    pub(crate) fn push(&mut self, item: T) -> Result<(), T> {
        if self.len == N {
            return Err(item);
        }
        self.items[(self.first + self.len) % N] = Some(item);
        self.len += 1;
        Ok(())
    }
    /// Takes the oldest.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = self.items.get_mut(self.first)?.take()?;
        self.first = (self.first + 1) % N;
        self.len -= 1;
        Some(item)
    }
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        while self.pop().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_is_first_out_and_full_is_full() {
        let mut queue = Queue::<u8, 2>::new();
        for round in 0..3 {
            assert_eq!(queue.push(round), Ok(()));
            assert_eq!(queue.push(9), Ok(()));
            assert_eq!(queue.push(10), Err(10));
            assert_eq!(
                (queue.pop(), queue.pop(), queue.pop()),
                (Some(round), Some(9), None)
            );
        }
    }
}
