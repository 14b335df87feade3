//! A reader that panics in each of its methods, behind the guard.

use super::*;
use crate::bytes::error::ErrorKind;
use crate::bytes::source::{ReadAt, Source};
use crate::data::content::array::Stored;
use crate::data::content::{Array, Image, ImageInfo, Kind, Pixels, Rect, Rows, Table};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening, Options};
use crate::data::region::Region;
use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};

/// Panics wherever it reads.
struct Bad(SchemaRef, ImageInfo);

fn bad() -> Bad {
    Bad(Arc::new(Schema::empty()), ImageInfo { width: 1, height: 1, ..ImageInfo::default() })
}

impl Table for Bad {
    fn schema(&self) -> &SchemaRef {
        &self.0
    }
    fn rows(&self) -> Rows {
        panic!("rows")
    }
    fn read(&self, _: &Task, _: Range<u64>, _: &[usize]) -> Result<RecordBatch> {
        // As a decoder does on all cores: the panic is in a thread of the pool.
        rayon::join(|| panic!("read of {} rows", 3), || ()).0
    }
    fn facts(&self) -> crate::data::content::TableFacts {
        panic!("facts")
    }
}

impl Array for Bad {
    fn dtype(&self) -> &DType {
        &DType::U8
    }
    fn shape(&self) -> &[u64] {
        &[1 << 40]
    }
    fn read(&self, _: &Task, _: &Region, _: &mut [u8]) -> Result<()> {
        let none: Option<u8> = None;
        none.map(drop).ok_or(()).unwrap();
        Ok(())
    }
    fn stored(&self, _: &Task) -> Result<Option<Stored>> {
        panic!("stored")
    }
}

impl Image for Bad {
    fn info(&self) -> &ImageInfo {
        &self.1
    }
    fn read(&self, _: &Task, _: u64, _: u32, _: Rect) -> Result<Pixels> {
        panic!("pixels")
    }
}

impl Listing for Bad {
    fn count(&self) -> Option<u64> {
        None
    }
    fn page(&self, _: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        match range.start {
            0 => Ok(vec![Arc::new(Node::new("inner", "array").content(Content::Array(Arc::new(bad()))))]),
            _ => panic!("page"),
        }
    }
    fn resolve(&self, _: &Task) -> Result<Option<Arc<Node>>> {
        panic!("a date beyond the calendar")
    }
}

impl NodeStatistics for Bad {
    fn kind(&self) -> &'static str {
        "records"
    }
    fn statistics(&self, _: &Task) -> Result<Vec<(&'static str, serde_json::Value)>> {
        panic!("statistics")
    }
}

impl ReadAt for Bad {
    fn known_len(&self) -> Option<u64> {
        None
    }
    fn len(&self, _: &Task) -> Result<u64> {
        panic!("length")
    }
    fn read_at(&self, _: &Task, _: u64, _: &mut [u8]) -> Result<usize> {
        panic!("bytes")
    }
}

fn is_bug<T>(result: Result<T>, words: &str) {
    let error = result.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Bug, "{error}");
    let message = error.message();
    assert!(message.contains(words) && message.contains("src/data/guard/tests.rs:"), "{message}");
}

fn opened() -> Arc<Node> {
    fn open(_: &Opening) -> Result<Node> {
        let array = Node::new("array", "array").content(Content::Array(Arc::new(bad())));
        let image = Node::new("image", "image").content(Content::Image(Arc::new(bad())));
        let lazy = Node::new("lazy", "group").lazy(bad());
        let root = Node::new("", "file").content(Content::Table(Arc::new(bad()))).statistics(bad());
        Ok(root.listed(vec![array, image, lazy]))
    }
    static FORMAT: Format = Format::new("bad", "a bad format", open);
    let (task, source) = (Task::new(), Source::memory("f", &b"bytes"[..]));
    crate::data::open::open_as(&task, &source, &FORMAT, &Options::default()).unwrap().root
}

#[test]
fn every_method_of_a_reader_ends_in_an_error_with_its_place() {
    let (task, root) = (Task::new(), opened());
    let Some(Content::Table(table)) = &root.content else { panic!("no table") };
    is_bug(table.read(&task, 0..1, &[]), "read of 3 rows");
    is_bug(table.count(&task), "rows");
    is_bug(table.tail(&task, 1, &[]), "rows");
    assert_eq!((table.rows(), table.facts().row_groups), (Rows::AtLeast(0), None));
    is_bug(root.statistics.as_ref().unwrap().statistics(&task), "statistics");
    let children = root.child_page(&task, 0..9).unwrap();
    let kinds: Vec<Kind> = children.iter().map(|node| node.kind()).collect();
    assert_eq!(kinds, [Kind::Array, Kind::Image, Kind::Group]);
    let Some(Content::Array(array)) = &children[0].content else { panic!("no array") };
    is_bug(
        crate::data::content::array::read(array.as_ref(), &task, &Region::all(&[1])),
        "called `Result::unwrap()`",
    );
    is_bug(crate::data::stats::readable(array.as_ref(), &task, None), "stored");
    let Some(Content::Image(image)) = &children[1].content else { panic!("no image") };
    is_bug(crate::data::stats::image(image.as_ref(), &task), "pixels");
}

#[test]
fn what_lazy_lists_give_is_guarded_too() {
    let (task, root) = (Task::new(), opened());
    let lazy = &root.child_page(&task, 2..3).unwrap()[0];
    // What cannot be resolved is a node with a problem.
    is_bug::<()>(Err(lazy.resolved(&task).unwrap().problem.clone().unwrap()), "a date beyond the calendar");
    is_bug(lazy.child_page(&task, 5..6), "page");
    let inner = &lazy.child_page(&task, 0..1).unwrap()[0];
    let Some(Content::Array(array)) = &inner.content else { panic!("no array") };
    is_bug(array.stored(&task), "stored");
}

#[test]
fn streams_are_guarded_where_they_become_a_source() {
    let source = Source::memory("f", &b"bytes"[..]).stream("inner", Arc::new(bad())).unwrap();
    let task = Task::new();
    is_bug(source.len(&task), "length");
    is_bug(source.read(&task, 0..1), "bytes");
    is_bug(source.read_up_to(&task, 0, 1), "bytes");
    is_bug(crate::formats::open_source(&task, &source, &Options::default()), "bytes");
}

/// A method that is added to a trait and forgotten here would not be handed on at all.
#[test]
fn no_method_is_forgotten() {
    let methods = |text: &str, start: &str| -> Vec<String> {
        let body = text.split(start).nth(1).unwrap().split("\n}\n").next().unwrap();
        let names = body.lines().filter_map(|line| line.strip_prefix("    fn "));
        names.map(|line| line.split(['(', '<']).next().unwrap().to_owned()).collect()
    };
    let guards = include_str!("contents.rs");
    for (text, name) in [
        (include_str!("../content/table.rs"), "Table"),
        (include_str!("../content/array.rs"), "Array"),
        (include_str!("../content/image.rs"), "Image"),
        (include_str!("../content/text.rs"), "Text"),
    ] {
        let (of_trait, of_guard) = (
            methods(text, &format!("pub trait {name}: Send + Sync {{\n")),
            methods(guards, &format!("impl {name} for Guarded{name} {{\n")),
        );
        let missing: Vec<_> = of_trait.iter().filter(|method| !of_guard.contains(method)).collect();
        assert!(missing.is_empty() && !of_trait.is_empty(), "Guarded{name} has no {missing:?}");
    }
    let lists = methods(include_str!("../node.rs"), "pub trait Listing: Send + Sync {\n");
    let guarded = methods(include_str!("../guard.rs"), "impl Listing for GuardedListing {\n");
    assert!(lists.iter().all(|method| guarded.contains(method)), "{lists:?}");
}
