//! The only integration test binary: what is true of the whole house.

mod cli;
mod roundtrip;
mod tidy;
