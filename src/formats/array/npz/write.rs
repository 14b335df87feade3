//! Writes NPZ: a ZIP archive of NPY files, as `np.savez` and `np.savez_compressed` do.
//! <https://numpy.org/doc/stable/reference/generated/numpy.savez.html>

use crate::bytes::archive::write::{archive, member};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Array, Kind};
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, Sink, Writer, loss};
use crate::data::names;
use crate::data::scan::{array_bytes, made_elements};
use crate::engines::numpy as npy;
use std::io::Write;

const COMPRESSION: OptionSpec =
    OptionSpec::new("compression", "How members are compressed").one_of("none", &["none", "deflate"]);

/// The writer.
pub const WRITER: Writer =
    Writer { many: true, options: &[COMPRESSION], check, ..Writer::new(&[Kind::Array], losses, write) };

/// An array on its way.
struct Member<'a> {
    name: &'a str,
    array: &'a dyn Array,
    header: Vec<u8>,
    /// The name of the member, without its ending.
    member: String,
}

/// The arrays that NumPy has a type for; and the names of the others, with the reasons.
type Sorted<'a> = (Vec<Member<'a>>, Vec<(&'a str, Error)>);

fn sorted(payload: &Payload) -> Result<Sorted<'_>> {
    /// The bytes that a name in an archive can have, without its ending.
    const MOST: usize = 65_000;
    let (mut kept, mut others) = (Vec::new(), Vec::new());
    for (name, array) in payload.arrays()? {
        match npy::header(array.dtype(), array.shape()) {
            Ok(header) => kept.push(Member { name, array: array.as_ref(), header, member: String::new() }),
            Err(error) => others.push((name.as_str(), error)),
        }
    }
    let names = names::settled(kept.iter().map(|one| one.name), &[], |name, end| names::cut(name, end, MOST));
    kept.iter_mut().zip(names).for_each(|(one, name)| one.member = name);
    Ok((kept, others))
}

/// Refuses what NumPy has no type for, where there is nothing else.
fn check(payload: &Payload) -> Result<()> {
    match sorted(payload)? {
        (kept, others) if kept.is_empty() => match others.into_iter().next() {
            Some((name, error)) => Err(error.in_node(name)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let Ok((kept, others)) = sorted(payload) else { return Vec::new() };
    let mut losses = Vec::new();
    for (name, why) in others {
        losses.push(loss(LossKind::Type, format!("{}: it is left out", why.what())).at(name));
    }
    for one in kept {
        npy::losses_of(one.name, "", one.array.dtype(), &mut losses);
        losses.extend(names::renamed(one.name, &one.member, "the names of arrays are different"));
    }
    losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let deflate = options.choice(&COMPRESSION)? == "deflate";
    check(payload)?;
    let (arrays, _) = sorted(payload)?;
    let bytes = arrays.iter().map(|one| array_bytes(one.array)).collect::<Result<Vec<_>>>()?;
    task.set_total(bytes.into_iter().fold(0, u64::saturating_add));
    archive(sink, |zip| {
        for one in &arrays {
            task.set_message(one.member.clone());
            member(zip, &format!("{}.npy", one.member), deflate)?;
            zip.write_all(&one.header)?;
            made_elements(task, one.array, 1, Ok, |bytes: Vec<u8>| Ok(zip.write_all(&bytes)?))?;
        }
        Ok(())
    })
}
