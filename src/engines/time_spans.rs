//! Stretches of time with a text, as tables: chapters of sounds and films, subtitles.

use crate::bytes::error::Result;
use crate::data::content::Content;
use crate::data::content::array::Chapter;
use crate::data::content::table::{MemoryTable, batch};
use crate::data::node::Node;
use arrow::array::{ArrayRef, Float64Array, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use std::sync::Arc;

/// More chapters of one file are not read.
pub const CHAPTERS: usize = 10_000;

/// A table with a row for each stretch: `start` and `end` in seconds, `text`.
///
/// # Errors
/// `Bug` where the columns do not fit together.
pub fn table<'a>(spans: impl Iterator<Item = (f64, Option<f64>, &'a str)> + Clone) -> Result<Content> {
    let schema = Schema::new(vec![
        Field::new("start", DataType::Float64, false),
        Field::new("end", DataType::Float64, true),
        Field::new("text", DataType::Utf8, false),
    ]);
    let starts = Float64Array::from_iter_values(spans.clone().map(|span| span.0));
    let ends = Float64Array::from_iter(spans.clone().map(|span| span.1));
    let texts = StringArray::from_iter_values(spans.clone().map(|span| span.2));
    let columns: Vec<ArrayRef> = vec![Arc::new(starts), Arc::new(ends), Arc::new(texts)];
    let rows = spans.count();
    Ok(Content::Table(Arc::new(MemoryTable::new(batch(&Arc::new(schema), &[0, 1, 2], columns, rows)?))))
}

/// The node of chapters; `None` where there are none.
///
/// # Errors
/// Those of [`table`].
pub fn chapters_node(list: &[Chapter]) -> Result<Option<Node>> {
    if list.is_empty() {
        return Ok(None);
    }
    let spans = list.iter().map(|chapter| (chapter.start, chapter.end, chapter.title.as_str()));
    Ok(Some(Node::new("chapters", "chapters").content(table(spans)?)))
}

/// A sound with its chapters below it, where there are any.
///
/// # Errors
/// Those of [`table`].
pub fn with_chapters(sound: Node, list: &[Chapter]) -> Result<Node> {
    Ok(match chapters_node(list)? {
        Some(chapters) => sound.listed(vec![chapters]),
        None => sound,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::task::Task;

    #[test]
    fn chapters_end_where_the_next_begins() {
        let chapter = |start, end, title: &str| Chapter { start, end, title: title.to_owned() };
        let list = Chapter::in_order(vec![chapter(2.5, Some(4.0), "two"), chapter(0.0, None, "one")]);
        let node = chapters_node(&list).unwrap().unwrap();
        let Some(Content::Table(table)) = &node.content else { panic!("no table") };
        let batch = table.read(&Task::new(), 0..2, &[0, 1, 2]).unwrap();
        let cell = |column: usize, row: usize| crate::data::cell::text(batch.column(column), row);
        assert_eq!(
            [cell(1, 0), cell(1, 1), cell(2, 1)],
            [Some("2.5".into()), Some("4.0".into()), Some("two".into())]
        );
        assert!(chapters_node(&[]).unwrap().is_none());
    }
}
