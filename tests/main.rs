//! The only integration test binary: what is true of the whole house.

#![allow(clippy::disallowed_methods, reason = "tests read their fixtures whole")]

mod bombs;
mod cli;
mod convert;
mod fixtures;
mod golden;
mod hdf5;
mod isolated;
mod json;
mod lazy;
mod losses;
mod media;
mod memory;
mod mutations;
mod origins;
mod query;
mod reading;
mod roundtrip;
mod samples;
mod seeds;
mod stops;
mod tables;
mod tidy;
