//! What writers of Blosc chunks may be told: what compresses, and what is sorted before.

use crate::bytes::codec::blosc::encode::{Codec, Shuffle};
use crate::bytes::error::Result;
use crate::data::format::{OptionSpec, Options};

/// What compresses.
pub const CNAME: OptionSpec =
    OptionSpec::new("cname", "What compresses inside of Blosc").one_of("lz4", &["lz4", "zstd", "zlib"]);
/// What comes before.
pub const SHUFFLE: OptionSpec = OptionSpec::new(
    "shuffle",
    "What Blosc sorts by its place in the element before it compresses: bytes, bits, nothing",
)
.one_of("byte", &["byte", "bit", "none"]);

/// The codec that was chosen.
///
/// # Errors
/// `Unsupported` for a word that is none.
pub fn codec(options: &Options) -> Result<Codec> {
    Ok(match options.choice(&CNAME)? {
        "zstd" => Codec::Zstd,
        "zlib" => Codec::Zlib,
        _ => Codec::Lz4,
    })
}

/// The order that was chosen.
///
/// # Errors
/// `Unsupported` for a word that is none.
pub fn shuffle(options: &Options) -> Result<Shuffle> {
    Ok(match options.choice(&SHUFFLE)? {
        "bit" => Shuffle::Bit,
        "none" => Shuffle::None,
        _ => Shuffle::Byte,
    })
}
