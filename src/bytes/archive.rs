//! Containers that several formats are made of: their bytes, without a meaning. A format that *is* such
//! a container (ZIP) and one that is built *on* it (NPZ) both read it from here, since formats do not
//! know each other.

pub mod compound;
mod inflate;
mod member;
pub mod tar;
pub mod write;
pub mod zip;
