//! Elements in nested lists, as they come in C order: as JSON, or for people with one innermost list a line.

use super::out::Out;
use arrow::datatypes::DataType;
use gander::bytes::limits;
use gander::data::cell;
use gander::data::content::{Array, Image, Rect};
use gander::data::dtype::DType;
use gander::data::region::{Region, Span, pieces};
use gander::{Error, Task};
use serde::Serialize;
use serde_json::Value as Json;

/// Bytes of elements that are read at once.
pub(super) const PIECE: u64 = 8 << 20;
/// Elements of any length that are read at once.
const ELEMENTS: u64 = 4_096;

/// The brackets and separators around elements.
pub(super) struct Lists {
    shape: Vec<u64>,
    /// The index of the last element.
    index: Option<Vec<u64>>,
    json: bool,
    /// For people: elements that are lists themselves stand on lines of their own.
    broad: bool,
    texts: Texts,
}

/// The texts of elements: of all different bytes, else of the element before.
#[derive(Default)]
struct Texts {
    of_bytes: Vec<Vec<u8>>,
    element: Vec<u8>,
    text: Vec<u8>,
}

impl Texts {
    fn of(&mut self, dtype: &DType, element: &[u8], json: bool) -> &[u8] {
        if let ([byte], None) = (element, dtype.record()) {
            if self.of_bytes.is_empty() {
                let text = |byte| {
                    let mut text = Vec::new();
                    write_element(dtype, &[byte], json, &mut text);
                    text
                };
                self.of_bytes = (0..=u8::MAX).map(text).collect();
            }
            return self.of_bytes.get(usize::from(*byte)).map_or(&[], Vec::as_slice);
        }
        if self.text.is_empty() || element != self.element {
            self.element.clear();
            self.element.extend_from_slice(element);
            self.text.clear();
            write_element(dtype, element, json, &mut self.text);
        }
        &self.text
    }
}

/// Appends the text of an element.
fn write_element(dtype: &DType, element: &[u8], json: bool, text: &mut Vec<u8>) {
    match (dtype.record().is_some(), json) {
        (true, _) => append(&cell::structured(dtype, element), text),
        (false, true) => append(&cell::element(dtype, element), text),
        (false, false) => text.extend_from_slice(cell::element(dtype, element).as_bytes()),
    }
}

impl Lists {
    /// Lists of this shape, none of whose sides is 0.
    pub(super) fn new(shape: &[u64], json: bool) -> Self {
        Lists { shape: shape.to_vec(), index: None, json, broad: false, texts: Texts::default() }
    }

    /// Appends what stands before the next element.
    fn before(&mut self, out: &mut Vec<u8>) {
        let Some(index) = &mut self.index else {
            out.resize(out.len() + self.shape.len(), b'[');
            self.index = Some(vec![0; self.shape.len()]);
            return;
        };
        let mut ended = 0;
        for (at, side) in index.iter_mut().zip(&self.shape).rev() {
            *at += 1;
            if *at < *side {
                break;
            }
            *at = 0;
            ended += 1;
        }
        out.resize(out.len() + ended, b']');
        match (self.json, ended) {
            (true, _) => out.push(b','),
            (false, 0) if !self.broad => out.push(b' '),
            (false, _) => {
                out.push(b'\n');
                out.resize(out.len() + self.shape.len().saturating_sub(ended), b' ');
            }
        }
        out.resize(out.len() + ended, b'[');
    }

    /// Appends the brackets that are open.
    pub(super) fn end(&self, out: &mut Vec<u8>) {
        if self.index.is_some() {
            out.resize(out.len() + self.shape.len(), b']');
        }
    }

    /// Appends elements of a type, little-endian as arrays deliver them.
    fn elements(&mut self, dtype: &DType, bytes: &[u8], out: &mut Out) -> Result<(), Error> {
        let size = (dtype.size() as usize).max(1);
        let mut rest = bytes;
        while let Some((element, behind)) = rest.split_at_checked(size) {
            self.before(out.text());
            let text = self.texts.of(dtype, element, self.json);
            out.text().extend_from_slice(text);
            rest = behind;
            if behind.get(..size) == Some(element) {
                // Much of what is stored repeats: the same text up to the end of the innermost list.
                let (Some(side), Some(at)) =
                    (self.shape.last(), self.index.as_mut().and_then(|index| index.last_mut()))
                else {
                    continue;
                };
                let left = (side - 1 - *at) as usize;
                let same = behind.chunks_exact(size).take(left).take_while(|next| *next == element).count();
                *at += same as u64;
                rest = behind.get(same * size..).unwrap_or_default();
                for _ in 0..same {
                    out.text().push(if self.json { b',' } else { b' ' });
                    out.text().extend_from_slice(text);
                }
            }
            out.pass()?;
        }
        Ok(())
    }

    /// Appends the cells of a column.
    fn cells(&mut self, column: &dyn arrow::array::Array, out: &mut Out) -> Result<(), Error> {
        self.broad = matches!(
            column.data_type(),
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _) | DataType::Map(_, _)
        );
        for row in 0..column.len() {
            self.before(out.text());
            let value = cell::json(column, row);
            match self.json {
                true => append(&value, out.text()),
                false => out.put(&rows_of(&value, self.shape.len())),
            }
            out.pass()?;
        }
        Ok(())
    }

    /// Reads `region` of an array by pieces and appends its elements. Reports progress in elements.
    pub(super) fn array(
        &mut self,
        task: &Task,
        array: &dyn Array,
        region: &Region,
        out: &mut Out,
    ) -> Result<(), Error> {
        let (dtype, shape) = (array.dtype(), region.shape());
        task.set_total(region.elements()?);
        let most = if dtype.is_variable() { ELEMENTS } else { (PIECE / dtype.size().max(1)).max(1) };
        let mut buffer = Vec::new();
        for piece in pieces(&shape, most) {
            let part = Region(piece.0.iter().zip(&region.0).map(|(part, all)| all.part(part)).collect());
            if dtype.is_variable() {
                self.cells(&array.column(task, &part)?, out)?;
            } else {
                let bytes = limits::bytes(&piece.shape(), dtype.size())?;
                buffer.resize(limits::check(bytes, limits::CHUNK, "a part of the array")?, 0);
                array.read(task, &part, &mut buffer)?;
                self.elements(dtype, &buffer, out)?;
            }
            task.advance(piece.elements()?)?;
        }
        Ok(())
    }

    /// Reads rows and columns of an image's first frame by stripes and appends their samples.
    pub(super) fn image(
        &mut self,
        task: &Task,
        image: &dyn Image,
        (rows, columns): (Span, Span),
        out: &mut Out,
    ) -> Result<(), Error> {
        let info = image.info();
        let pixel = u64::from(info.channels) * info.sample.size() as u64;
        let (left, wide) = (columns.start, columns.end() - columns.start);
        let most = if rows.step == 1 { (PIECE / (wide * pixel).max(1)).max(1) } else { 1 };
        let mut at = 0;
        task.set_total(rows.count);
        while at < rows.count {
            let height = most.min(rows.count - at);
            let rect = Rect { x: left, y: rows.index(at), width: wide, height };
            let pixels = image.read(task, 0, 0, rect)?;
            let size = pixels.channels as usize * pixels.sample.size();
            let dtype = pixels.sample.dtype();
            if columns.step == 1 {
                self.elements(&dtype, &pixels.data, out)?;
            } else {
                for line in pixels.data.chunks_exact((size * wide as usize).max(1)) {
                    for pixel in line.chunks_exact(size.max(1)).step_by(columns.step as usize) {
                        self.elements(&dtype, pixel, out)?;
                    }
                }
            }
            at += height;
            task.advance(height)?;
        }
        Ok(())
    }
}

/// Appends a value as JSON; writing to memory cannot fail.
pub(super) fn append<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, value);
}

/// Nested lists for people, one innermost list a line.
pub(super) fn rows_of(values: &Json, level: usize) -> String {
    match values {
        Json::Array(items) if items.iter().any(Json::is_array) => {
            let inner: Vec<String> = items.iter().map(|item| rows_of(item, level + 1)).collect();
            format!("[{}]", inner.join(&format!("\n{}", " ".repeat(level + 1))))
        }
        Json::Array(items) => {
            let inner: Vec<String> = items.iter().map(|item| rows_of(item, level)).collect();
            format!("[{}]", inner.join(" "))
        }
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers from 0 on in lists of a shape, as they are written piece by piece and at once.
    fn both(shape: &[u64], json: bool) -> (String, String) {
        let count = shape.iter().product::<u64>();
        let bytes: Vec<u8> = (0..count).flat_map(|n| (n as u16).to_le_bytes()).collect();
        let (mut out, mut lists) = (Out::default(), Lists::new(shape, json));
        for piece in bytes.chunks(6) {
            lists.elements(&DType::U16, piece, &mut out).unwrap();
        }
        lists.end(out.text());
        let whole = cell::nested(&DType::U16, shape, &bytes).unwrap();
        let whole = if json { whole.to_string() } else { rows_of(&whole, 0) };
        (String::from_utf8(out.text().clone()).unwrap(), whole)
    }

    #[test]
    fn elements_that_repeat_are_written_as_often() {
        for json in [true, false] {
            let bytes: Vec<u8> =
                [vec![7; 9_000], vec![0; 9_001], (0..200).collect(), vec![1; 1_799]].concat();
            let shape = [4, 5_000];
            let (mut out, mut lists) = (Out::default(), Lists::new(&shape, json));
            for piece in bytes.chunks(6_000) {
                lists.elements(&DType::U8, piece, &mut out).unwrap();
            }
            lists.end(out.text());
            let whole = cell::nested(&DType::U8, &shape, &bytes).unwrap();
            let whole = if json { whole.to_string() } else { rows_of(&whole, 0) };
            assert!(String::from_utf8(out.text().clone()).unwrap() == whole, "json {json}");
        }
    }

    #[test]
    fn lists_are_the_same_piece_by_piece() {
        for shape in [&[][..], &[1], &[7], &[2, 3], &[3, 1], &[1, 1, 1], &[2, 3, 4], &[3, 2, 1, 2]] {
            for json in [true, false] {
                let (pieces, whole) = both(shape, json);
                assert_eq!(pieces, whole, "{shape:?}");
            }
        }
    }
}
