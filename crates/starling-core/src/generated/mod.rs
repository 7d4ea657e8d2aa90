//! Written by `cargo xtask generate`; see each file's first line.

mod callback;
pub mod exception_kind;
pub mod service;
mod services;
