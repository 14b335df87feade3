//! The only integration test binary: what is true of the whole house.

mod cli;
mod fixtures;
mod tidy;
