//! Tables whose rows lie in many files: several tables as one ([`mod@concat`]), and those whose schema and list of files
//! stand in metadata ([`lake`]).

pub mod concat;
pub mod lake;
