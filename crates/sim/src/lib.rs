//! Thalweg's simulator: event queue, clocks, boards, energy, capture.
