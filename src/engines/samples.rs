//! Rows of a table as the samples of a training set, for who writes containers of records: which column is the key, the
//! payload, the label and the split ([`Roles`]); columns without structs, in few types ([`Flat`], [`Column`]); files of
//! several with names that count them ([`shards`]); what is written through a compression ([`Coded`]).
//!
//! Payloads are copied: nothing here decodes a picture or a sound to encode it again.

pub mod classes;
pub mod coded;
pub mod columns;
pub mod folder;
mod numbered;
pub mod roles;
pub mod shards;
mod tar;
pub mod webdataset;

pub use classes::CLASSES;
pub use coded::{Coded, Coding};
pub use columns::{Column, Flat, Form, Leaf};
pub use numbered::Numbered;
pub use roles::{FILES, KEY, LABEL, PAYLOAD, Roles, extension};
