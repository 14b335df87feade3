//! Writes MAT-files of version 5 ("7" where variables are compressed): each array a variable, its elements in column
//! order. <https://www.mathworks.com/help/pdf_doc/matlab/matfile_format.pdf>
//!
//! Everything that is written is measured before, since each element begins with its length; texts, whose lengths only
//! reading tells, are read twice.

mod names;
mod put;
mod texts;
mod variable;

use crate::bytes::codec::deflating::{Deflating, Wrapper};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Array, Kind};
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, Sink, Writer, loss, note};
use crate::data::scan::put as put_bytes;
use put::{Out, head};
use std::io::SeekFrom;
use std::sync::Arc;
use variable::{Shaping, Variable};

const COMPRESSION: OptionSpec =
    OptionSpec::new("compression", "How variables are compressed: zlib is MATLAB's -v7, none its -v6")
        .one_of("zlib", &["zlib", "none"]);
const LEVEL: OptionSpec = OptionSpec::new("level", "How hard zlib tries: 1 is fast, 9 is small")
    .one_of("6", &["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
const ONED: OptionSpec = OptionSpec::new(
    "oned",
    "What arrays of one dimension become, which MATLAB has not: a row (1 × N) or a column (N × 1)",
)
.one_of("row", &["row", "column"]);
const TEXTS: OptionSpec = OptionSpec::new(
    "texts",
    "What texts become: a matrix of characters, filled with blanks, or a cell array of texts; auto: cells where \
     they are of any length",
)
.one_of("auto", &["auto", "char", "cell"]);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    many: true,
    variable: true,
    options: &[COMPRESSION, LEVEL, ONED, TEXTS],
    check,
    ..Writer::new(&[Kind::Array], losses, write)
};

/// What an element's length must stay below: MATLAB reads no longer variable of these versions.
const LARGEST: u64 = 1 << 31;

/// Refuses what leaves nothing to write.
fn check(payload: &Payload) -> Result<()> {
    let arrays = payload.arrays()?;
    let mut refused = None;
    for (name, array) in arrays {
        match Variable::plan(array, &Shaping::default()) {
            Ok(_) => return Ok(()),
            Err(error) => refused.get_or_insert(error.in_node(name)),
        };
    }
    refused.map_or(Ok(()), Err)
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let (Ok(arrays), Ok(shaping)) = (payload.arrays(), Shaping::of(options)) else { return Vec::new() };
    let names = names::valid(arrays.iter().map(|(name, _)| name.as_str()));
    let mut losses = Vec::new();
    for ((name, array), valid) in arrays.iter().zip(&names) {
        match Variable::plan(array, &shaping) {
            Ok(variable) => losses.extend(variable.losses.into_iter().map(|loss| loss.at(name))),
            Err(error) => {
                let what = format!("it is left out: {}", error.what());
                losses.push(loss(LossKind::Type, what).at(name));
                continue;
            }
        }
        if name != valid {
            // Where there is but one nobody looks for it by its name.
            let renamed =
                note(LossKind::Name, format!("it is called {valid}")).at(name).called(valid.as_str());
            losses.push(if arrays.len() == 1 { renamed.if_any() } else { renamed });
        }
    }
    losses
}

impl Shaping {
    fn of(options: &Options) -> Result<Self> {
        Ok(Shaping {
            is_column: options.choice(&ONED)? == "column",
            texts: match options.choice(&TEXTS)? {
                "char" => Some(false),
                "cell" => Some(true),
                _ => None,
            },
        })
    }
}

/// The 128 bytes before the variables: a text, no subsystem, version 1.0 and the mark of the byte order.
fn file_head() -> Vec<u8> {
    let mut head = format!("{:<116}", "MATLAB 5.0 MAT-file, written by Gander").into_bytes();
    head.extend([b' '; 8]);
    head.extend([0, 1]);
    head.extend(b"IM");
    head
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let shaping = Shaping::of(options)?;
    let level = match options.choice(&COMPRESSION)? {
        "zlib" => Some(options.choice(&LEVEL)?.parse().unwrap_or(6)),
        _ => None,
    };
    let arrays = payload.arrays()?;
    let names = names::valid(arrays.iter().map(|(name, _)| name.as_str()));
    let mut planned: Vec<(&str, String, Variable)> = Vec::new();
    for ((name, array), valid) in arrays.iter().zip(names) {
        // Those that cannot be held were named before.
        if let Ok(variable) = Variable::plan(array, &shaping) {
            planned.push((name, valid, variable));
        }
    }
    if planned.is_empty() && !arrays.is_empty() {
        return Err(Error::unsupported("none of the arrays is one that MATLAB has"));
    }
    let total = planned.iter().fold(0u64, |total, (_, _, variable)| total.saturating_add(variable.work()));
    put_bytes(sink, &file_head())?;
    task.set_total(total);
    for (name, valid, mut variable) in planned {
        task.set_message(name);
        let mut one = || {
            variable.measure(task)?;
            match level {
                Some(level) => packed(task, &variable, &valid, level, sink),
                None => variable.put(task, &valid, &mut |bytes| put_bytes(sink, bytes)),
            }
        };
        one().map_err(|error| error.in_node(name))?;
    }
    task.set_message("");
    Ok(())
}

/// A variable as one zlib stream, whose length is known once it is written.
fn packed(task: &Task, variable: &Variable, name: &str, level: u32, sink: &mut dyn Sink) -> Result<()> {
    let start = sink.stream_position()?;
    put_bytes(sink, &head(super::element::COMPRESSED, 0)?)?;
    let mut stream = Deflating::new(&mut *sink, Wrapper::Zlib, level)?;
    let out: &mut Out<'_> = &mut |bytes| stream.put(bytes);
    variable.put(task, name, out)?;
    let (_, written) = stream.finish()?;
    sink.seek(SeekFrom::Start(start))?;
    put_bytes(sink, &head(super::element::COMPRESSED, written)?)?;
    sink.seek(SeekFrom::End(0))?;
    Ok(())
}

/// An array of the sizes that are given, for messages.
fn too_large(array: &Arc<dyn Array>, bytes: u64) -> Error {
    let shape = crate::bytes::display::shape(array.shape());
    Error::unsupported(format!(
        "{shape} takes {bytes} bytes: a variable of these MAT-files is below 2147483648 (2 GiB); MATLAB 7.3 \
         files, which are HDF5, have no such limit"
    ))
}

#[cfg(test)]
mod tests;
