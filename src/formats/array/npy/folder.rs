//! Writes a folder of NPY files: the array `a/b` as the file `a/b.npy`.

use super::write::header_and_elements;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::{Array, Kind};
use crate::data::format::{Files, Loss, LossKind, Options, Payload, WriteTo, Writer, loss};
use crate::data::names;
use crate::data::scan::array_bytes;
use crate::engines::numpy::{header, losses_of};
use std::sync::Arc;

/// The writer.
pub const WRITER: Writer = Writer {
    many: true,
    plain: true,
    check,
    write: WriteTo::Folder(write),
    ..Writer::new(&[Kind::Array], losses, |_, _, _, _| Ok(()))
};

/// The ending of a file.
const END: &str = ".npy";
/// Bytes that the name of a file or a folder can have without its ending.
const PART: usize = 240;

/// A name as the path of a file: parts that lead elsewhere or that no file can have get other letters.
fn path(name: &str, ending: &str) -> String {
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    let last = parts.len().saturating_sub(1);
    let safe = |(n, part): (usize, &&str)| {
        let ending = if n == last { ending } else { "" };
        let clean: String = part.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let clean = if clean.chars().all(|c| c == '.') { clean.replace('.', "_") } else { clean };
        // A file that begins with a dot is not seen.
        let clean = if clean.starts_with('.') { format!("_{clean}") } else { clean };
        // What ends as a file of an array would clash with the array of its name.
        let clean = match clean.strip_suffix(END) {
            Some(stem) if n != last => format!("{stem}_npy"),
            _ => clean,
        };
        names::cut(&clean, ending, PART)
    };
    match parts.is_empty() {
        true => format!("array{ending}"),
        false => parts.iter().enumerate().map(safe).collect::<Vec<_>>().join("/"),
    }
}

/// Letters that the names of files have on every system.
fn is_plain(c: char) -> bool {
    !c.is_control() && !matches!(c, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
}

/// The arrays that NPY has a type for, with their paths; and the others.
type Sorted<'a> = (Vec<(&'a str, &'a Arc<dyn Array>, String)>, Vec<(&'a str, String)>);

fn sorted(payload: &Payload) -> Result<Sorted<'_>> {
    let (mut kept, mut others) = (Vec::new(), Vec::new());
    for (name, array) in payload.arrays()? {
        match header(array.dtype(), array.shape()) {
            Ok(_) => kept.push((name.as_str(), array, String::new())),
            Err(error) => others.push((name.as_str(), error.what().to_owned())),
        }
    }
    let paths = names::settled(kept.iter().map(|(name, ..)| *name), &[], path);
    kept.iter_mut().zip(paths).for_each(|(one, path)| one.2 = path);
    Ok((kept, others))
}

fn check(payload: &Payload) -> Result<()> {
    match payload.arrays()? {
        [(_, only)] => header(only.dtype(), only.shape()).map(drop),
        _ => Ok(()),
    }
}

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let Ok((kept, others)) = sorted(payload) else { return Vec::new() };
    let mut losses = Vec::new();
    for (name, why) in others {
        losses.push(loss(LossKind::Type, format!("{why}: it is left out")).at(name));
    }
    for (name, array, path) in kept {
        losses_of(name, "", array.dtype(), &mut losses);
        losses.extend(names::renamed(name, &path, "names become the paths of files"));
    }
    losses
}

fn write(task: &Task, payload: &Payload, _options: &Options, files: &mut dyn Files) -> Result<()> {
    let (kept, _) = sorted(payload)?;
    let bytes = kept.iter().map(|(_, array, _)| array_bytes(array.as_ref())).collect::<Result<Vec<_>>>()?;
    task.set_total(bytes.into_iter().fold(0, u64::saturating_add));
    for (name, array, path) in kept {
        task.set_message(name.to_owned());
        let mut file = files.file(&format!("{path}{END}"))?;
        header_and_elements(task, array.as_ref(), file.as_mut())?;
        file.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::convert::output::Folder;
    use crate::data::content::Content;
    use crate::data::content::array::{Plain, read};
    use crate::data::dtype::DType;
    use crate::data::format::Data;
    use crate::data::region::Region;
    use proptest::prelude::*;

    fn arrays(names: &[String]) -> Payload {
        let plain = |n: usize| Plain::new(Source::memory("a", vec![n as u8; 6]), 0, DType::U8, vec![2, 3]);
        let one = |(n, name): (usize, &String)| (name.clone(), Arc::new(plain(n).unwrap()) as Arc<dyn Array>);
        Payload::plain(Data::Arrays(names.iter().enumerate().map(one).collect()))
    }

    proptest! {
        #[test]
        fn any_names_become_files_that_hold_their_arrays(names in prop::collection::vec("[ab./\\\\ :ü\u{1}]{0,6}", 1..12)) {
            let (payload, task) = (arrays(&names), Task::new());
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("out");
            let mut files = Folder::create(&target).unwrap();
            write(&task, &payload, &Options::default(), &mut files).unwrap();
            files.commit().unwrap();
            let (kept, _) = sorted(&payload).unwrap();
            for (n, (_, _, path)) in kept.iter().enumerate() {
                let file = target.join(format!("{path}.npy"));
                let document = crate::open(&task, &file, &Options::default()).unwrap();
                let Some(Content::Array(array)) = &document.root.content else { panic!("no array") };
                prop_assert_eq!(read(array.as_ref(), &task, &Region::all(&[2, 3])).unwrap(), vec![n as u8; 6]);
            }
            let said = losses(&payload, &Options::default()).len();
            prop_assert_eq!(said, kept.iter().filter(|(name, _, path)| name != path).count());
        }
    }

    #[test]
    fn paths_stay_in_the_folder() {
        let plain = |name: &str| path(name, "");
        assert_eq!(plain("layers/0/kernel:0"), "layers/0/kernel_0");
        assert_eq!(plain("/../a//b"), "__/a/b");
        assert_eq!(
            (plain(""), plain(".hidden"), plain("a.npy/b")),
            ("array".into(), "_.hidden".into(), "a_npy/b".into())
        );
        assert!(plain(&"x".repeat(900)).len() <= PART);
    }
}
