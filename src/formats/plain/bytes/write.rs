//! Writes bytes as they are: a member, a text, a record; or the elements of an array, little-endian, in C
//! order, without a header.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::note;
use crate::data::format::{Data, Loss, LossKind, Options, Payload, Sink, Writer};
use crate::data::scan::{array_bytes, elements, put};

/// Bytes copied at once.
const PIECE: usize = 4 << 20;

/// The writer.
pub const WRITER: Writer =
    Writer { plain: true, streams: true, ..Writer::new(&[Kind::Bytes, Kind::Array], losses, write) };

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    if let Ok(array) = payload.array() {
        let what = format!("type and shape ({} {:?}) are not kept", array.dtype(), array.shape());
        losses.push(note(LossKind::Type, what));
    }
    losses
}

fn write(task: &Task, payload: &Payload, _options: &Options, sink: &mut dyn Sink) -> Result<()> {
    match &payload.data {
        Data::Arrays(_) => {
            let array = payload.array()?;
            task.set_total(array_bytes(array.as_ref())?);
            elements(task, array.as_ref(), &mut |bytes| put(sink, bytes))
        }
        Data::Bytes(source) => {
            task.set_total(source.known_len().unwrap_or(0));
            let mut at = 0;
            loop {
                // The end of a stream is known when nothing more comes.
                let part = source.read_up_to(task, at, PIECE)?;
                if part.is_empty() {
                    return Ok(());
                }
                put(sink, &part)?;
                at += part.len() as u64;
                task.advance(part.len() as u64)?;
            }
        }
        _ => Err(Error::bug("the writer of bytes was given something else")),
    }
}
