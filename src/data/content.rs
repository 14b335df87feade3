//! `Content`: what a node holds, in one of a closed list of kinds. Views, commands and writers
//! match it exhaustively; formats produce it.

pub mod array;
pub mod graph;
pub mod image;
pub mod sample;
pub mod statistics;
pub mod table;
pub mod text;

pub use array::{Array, ArrayFacts};
pub use graph::Graph;
pub use image::{Image, ImageInfo, Pixels, Rect, Sample};
pub use sample::Picked;
pub use statistics::{ColumnStatistics, RowRanges};
pub use table::{Rows, Table, TableFacts};
pub use text::Text;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use std::sync::Arc;

/// The kinds of content, each with the word for it in JSON and on screen. Whoever does something for each kind matches
/// [`Content`] or [`Kind`] without a wildcard, so that a new line here is a compile error until all know it.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($value:ty) = $word:literal,)*) => {
        /// What a node holds.
        #[derive(Clone)]
        pub enum Content {
            $($(#[$doc])* $kind($value),)*
        }

        /// The kinds of content; `Group` is a node without any.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "see `Content`")]
        pub enum Kind {
            Group,
            $($kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[Kind::Group, $(Kind::$kind),*];

            /// The word used in JSON and on screen.
            pub fn word(self) -> &'static str {
                match self {
                    Kind::Group => "group",
                    $(Kind::$kind => $word,)*
                }
            }
        }

        impl Content {
            /// Its kind.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Content::$kind(_) => Kind::$kind,)*
                }
            }
        }
    };
}

kinds! {
    /// Rows and named, typed columns.
    Table(Arc<dyn Table>) = "table",
    /// Elements of one type in n dimensions.
    Array(Arc<dyn Array>) = "array",
    /// Pixels.
    Image(Arc<dyn Image>) = "image",
    /// Lines of text.
    Text(Arc<dyn Text>) = "text",
    /// Operators and the tensors between them.
    Graph(Arc<Graph>) = "graph",
    /// Bytes that nothing else is known of.
    Bytes(Source) = "bytes",
}

/// How content is laid out in its file: row groups, chunks, record batches, shards.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The format's word for one block.
    pub unit: &'static str,
    /// The blocks, in the order of the data; those of a chunk grid in C order of their coordinates.
    pub blocks: Vec<Block>,
    /// How many blocks lie along each dimension, for chunked arrays; else empty.
    pub grid: Vec<u64>,
}

impl Layout {
    /// The layout of the chunks of a grid of `grid` chunks along each dimension; `block` is asked for each of them with
    /// its number and its coordinates.
    ///
    /// # Errors
    /// `Limit` for more than `most`, in words for whoever wanted to see the map: each chunk has to be looked up.
    pub fn of_grid(
        task: &Task,
        unit: &'static str,
        grid: Vec<u64>,
        most: u64,
        mut block: impl FnMut(u64, &[u64]) -> Result<Block>,
    ) -> Result<Self> {
        let count = limits::elements(&grid)?;
        if count > most {
            return Err(Error::limit(format!(
                "a map of {} {unit}s, each of which would have to be looked up; up to {} are drawn",
                crate::bytes::display::count(count),
                crate::bytes::display::count(most)
            )));
        }
        let each = |n: u64| {
            task.check()?;
            block(n, &strides::unravel(n, &grid))
        };
        let blocks = (0..count).map(each).collect::<Result<_>>()?;
        Ok(Layout { unit, blocks, grid })
    }
}

/// One block of a layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its name where it has one (a file, chunk coordinates); else empty.
    pub name: String,
    /// The first row (tables) or element along the split (arrays).
    pub first: u64,
    /// How many rows or elements.
    pub count: u64,
    /// Bytes in the file.
    pub stored: u64,
    /// Bytes when decoded; 0 where unknown.
    pub raw: u64,
    /// Whether the file lacks it.
    pub missing: bool,
}
