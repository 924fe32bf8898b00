//! The one queue of fixed capacity, of which less may be used: packets, orders, events that wait.
//! Tests: `ring_tests.rs`.

/// First in, first out, of at most `N`.
#[derive(Debug, Clone)]
pub(crate) struct Fifo<T, const N: usize> {
    items: [Option<T>; N],
    from: u16,
    len: u16,
    room: u16,
}

impl<T, const N: usize> Fifo<T, N> {
    /// An empty queue, of which all may be used.
    pub(crate) const EMPTY: Self = Self::new(N);

    /// An empty queue for `room` items, at most `N`.
    pub(crate) const fn new(room: usize) -> Self {
        let room = if room < N { room } else { N };
        Self {
            items: [const { None }; N],
            from: 0,
            len: 0,
            room: if room < u16::MAX as usize {
                room as u16
            } else {
                u16::MAX
            },
        }
    }
    /// How many items wait.
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }
    /// How many may wait.
    pub(crate) const fn room(&self) -> usize {
        self.room as usize
    }
    /// Whether none waits.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Whether there is no room for another.
    pub(crate) const fn is_full(&self) -> bool {
        self.len >= self.room
    }
    /// Adds `item`, or gives it back where there is no room.
    pub(crate) fn push(&mut self, item: T) -> Result<(), T> {
        let at = (usize::from(self.from) + self.len()) % N.max(1);
        match self.items.get_mut(at) {
            Some(place) if self.len < self.room => {
                *place = Some(item);
                self.len += 1;
                Ok(())
            }
            _ => Err(item),
        }
    }
    /// Adds an event, for which there always is room: a driver takes all after each call, and none causes more.
    pub(crate) fn tell(&mut self, event: T) {
        let full = self.push(event).is_err();
        debug_assert!(!full, "events are drained after every call");
    }
    /// Adds `item`, for which the oldest makes room where there is none.
    pub(crate) fn remember(&mut self, item: T) {
        if self.is_full() {
            self.pop();
        }
        let _ = self.push(item);
    }
    /// The item that is next.
    pub(crate) fn front(&self) -> Option<&T> {
        self.items.get(usize::from(self.from))?.as_ref()
    }
    /// Takes the item that is next.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let from = usize::from(self.from);
        let item = self.items.get_mut(from)?.take()?;
        self.from = ((from + 1) % N.max(1)) as u16;
        self.len -= 1;
        Some(item)
    }
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        while self.pop().is_some() {}
    }
    /// All items, next first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> + '_ {
        let (last, first) = self.items.split_at(usize::from(self.from).min(N));
        first.iter().chain(last).flatten()
    }
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
