//! A queue of fixed capacity, of which less may be used: a node's packet queue. Tests: at the end.

/// First in, first out, of at most `N`.
#[derive(Debug, Clone)]
pub(crate) struct Fifo<T, const N: usize> {
    items: [Option<T>; N],
    from: usize,
    len: usize,
    room: usize,
}

impl<T: Copy, const N: usize> Fifo<T, N> {
    /// An empty queue for `room` items, at most `N`.
    pub(crate) const fn new(room: usize) -> Self {
        Self {
            items: [None; N],
            from: 0,
            len: 0,
            room: if room < N { room } else { N },
        }
    }
    pub(crate) const fn len(&self) -> usize {
        self.len
    }
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }
    pub(crate) const fn is_full(&self) -> bool {
        self.len >= self.room
    }
    /// Whether one more item fills it.
    pub(crate) const fn is_nearly_full(&self) -> bool {
        self.len + 1 == self.room
    }
    /// Adds `item`, or gives it back where there is no room.
    pub(crate) fn push(&mut self, item: T) -> Result<(), T> {
        let at = (self.from + self.len) % N.max(1);
        match self.items.get_mut(at) {
            Some(place) if self.len < self.room => {
                *place = Some(item);
                self.len += 1;
                Ok(())
            }
            _ => Err(item),
        }
    }
    pub(crate) fn front(&self) -> Option<&T> {
        self.items.get(self.from)?.as_ref()
    }
    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = self.items.get_mut(self.from)?.take()?;
        self.from = (self.from + 1) % N.max(1);
        self.len -= 1;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_order_and_its_limit() {
        let mut fifo = Fifo::<u8, 4>::new(3);
        for round in 0..5 {
            for n in 0..3 {
                assert_eq!(fifo.push(round + n), Ok(()));
            }
            assert_eq!(
                (fifo.push(9), fifo.is_full(), fifo.len()),
                (Err(9), true, 3)
            );
            assert_eq!(fifo.front(), Some(&round));
            for n in 0..3 {
                assert_eq!(fifo.pop(), Some(round + n));
            }
            assert!(fifo.pop().is_none() && fifo.is_empty());
        }
        assert_eq!(Fifo::<u8, 4>::new(9).room, 4);
        assert_eq!(Fifo::<u8, 0>::new(9).push(1), Err(1));
    }
}
