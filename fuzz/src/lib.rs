//! Fuzz targets, one for each family of readers ([`families`]). How they are run stands in Gander's crate documentation.

pub mod families;
#[path = "../../tests/reading.rs"]
mod reading;

use gander::data::format::Options;
use gander::{ErrorKind, Source, Task};

/// Opens an input and reads what is in it: its first byte names the format of the family, the others are the file.
///
/// # Panics
/// Where a reader panicked, which libFuzzer then reports.
pub fn open(family: &str, data: &[u8]) {
    let Some((&selector, file)) = data.split_first() else { return };
    let formats = families::formats(family);
    let mut options = Options::default();
    let mut name = "input".to_owned();
    if let Some(id) = formats.get(usize::from(selector) % (formats.len() + 1)) {
        options.set("format", *id);
        let extension = gander::formats::by_id(id).and_then(|format| format.extensions.first());
        name.extend(extension.map(|extension| format!(".{extension}")));
    }
    let source = Source::memory(name, file.to_vec());
    let errors = match gander::formats::open_source(&Task::new(), &source, &options) {
        Ok(document) => reading::read_all(&document).unwrap_or_else(|error| vec![error]),
        Err(error) => vec![error],
    };
    if let Some(bug) = errors.iter().find(|error| error.kind() == ErrorKind::Bug) {
        panic!("{bug}");
    }
}
