//! Writes NPZ: a ZIP archive of NPY files, as `np.savez` and `np.savez_compressed` do.
//! <https://numpy.org/doc/stable/reference/generated/numpy.savez.html>

use crate::bytes::archive::write::{archive, member};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::{Array, Kind};
use crate::data::format::{Loss, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::names;
use crate::data::scan::{array_bytes, made_elements};
use crate::engines::numpy as npy;
use std::io::Write;
use std::sync::Arc;

const COMPRESSION: OptionSpec =
    OptionSpec::new("compression", "How members are compressed").one_of("none", &["none", "deflate"]);

/// The writer.
pub const WRITER: Writer =
    Writer { many: true, options: &[COMPRESSION], ..Writer::new(&[Kind::Array], losses, write) };

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    let arrays = payload.arrays().unwrap_or_default();
    for ((name, array), new) in arrays.iter().zip(members(arrays)) {
        npy::losses_of(name, "", array.dtype(), &mut losses);
        losses.extend(names::renamed(name, &new, "the names of arrays are different"));
    }
    losses
}

/// The names of the members.
fn members(arrays: &[(String, Arc<dyn Array>)]) -> Vec<String> {
    /// The bytes that a name in an archive can have, without its ending.
    const MOST: usize = 65_000;
    names::settled(arrays.iter().map(|(name, _)| name.as_str()), &[], |name, end| names::cut(name, end, MOST))
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let deflate = options.choice(&COMPRESSION)? == "deflate";
    let arrays = payload.arrays()?;
    let bytes = arrays.iter().map(|(_, array)| array_bytes(array.as_ref())).collect::<Result<Vec<_>>>()?;
    task.set_total(bytes.into_iter().fold(0, u64::saturating_add));
    archive(sink, |zip| {
        for ((_, array), name) in arrays.iter().zip(members(arrays)) {
            task.set_message(name.clone());
            member(zip, &format!("{name}.npy"), deflate)?;
            zip.write_all(&npy::header(array.dtype(), array.shape())?)?;
            made_elements(task, array.as_ref(), 1, Ok, |bytes: Vec<u8>| Ok(zip.write_all(&bytes)?))?;
        }
        Ok(())
    })
}
