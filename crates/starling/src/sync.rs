//! What the threads of a connection share their state by. `tests/turns` puts the model checker's in
//! their place, under the same names.

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use std::time::Instant;
