//! From link qualities to routes, groups, channels and predictions.
