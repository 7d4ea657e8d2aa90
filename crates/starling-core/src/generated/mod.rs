//! Written by `cargo xtask generate`; see each file's first line.

pub mod exception_kind;
pub mod service;
mod services;
