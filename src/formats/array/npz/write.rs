//! Writes NPZ: a ZIP archive of NPY files, as `np.savez` and `np.savez_compressed` do.
//! <https://numpy.org/doc/stable/reference/generated/numpy.savez.html>

use crate::bytes::archive::write::{archive, member};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Loss, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::scan::{array_bytes, elements};
use crate::engines::numpy as npy;
use std::collections::HashSet;
use std::io::Write;

const COMPRESSION: OptionSpec =
    OptionSpec::new("compression", "How members are compressed").one_of("none", &["none", "deflate"]);

/// The writer.
pub const WRITER: Writer =
    Writer { many: true, options: &[COMPRESSION], ..Writer::new(&[Kind::Array], losses, write) };

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (name, array) in payload.arrays().unwrap_or_default() {
        npy::losses_of(name, "", array.dtype(), &mut losses);
    }
    losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let deflate = options.choice(&COMPRESSION)? == "deflate";
    let (mut names, mut total) = (HashSet::new(), 0u64);
    for (name, array) in payload.arrays()? {
        if !names.insert(name) {
            return Err(Error::unsupported(format!("two arrays are called {name:?}")));
        }
        total = total.saturating_add(array_bytes(array.as_ref())?);
    }
    task.set_total(total);
    archive(sink, |zip| {
        for (name, array) in payload.arrays()? {
            task.set_message(name.clone());
            member(zip, &format!("{name}.npy"), deflate)?;
            zip.write_all(&npy::header(array.dtype(), array.shape())?)?;
            elements(task, array.as_ref(), &mut |bytes| Ok(zip.write_all(bytes)?))?;
        }
        Ok(())
    })
}
