//! Pictures and texts.

use super::rows;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::text::Line;
use crate::data::content::{Image, ImageInfo, Pixels, Rect, Rows, Text};
use crate::worker::calls::Call;
use crate::worker::link::Handle;
use crate::worker::wire::{In, Out, Wire, wrong};
use std::ops::Range;
use std::sync::Arc;

/// A picture in a worker.
pub(in crate::worker) struct RemoteImage {
    handle: Arc<Handle>,
    info: ImageInfo,
}

impl RemoteImage {
    pub(in crate::worker) fn describe(image: &dyn Image, out: &mut Out<'_>) {
        image.info().put(out);
    }

    pub(in crate::worker) fn described(handle: Arc<Handle>, from: &mut In<'_>) -> Result<Self> {
        Ok(RemoteImage { handle, info: ImageInfo::read(from)? })
    }

    /// The pixels, if they are of a part that was asked for.
    fn within(pixels: Pixels, rect: Rect) -> Result<Pixels> {
        match pixels.width <= rect.width && pixels.height <= rect.height {
            true => Ok(pixels),
            false => Err(wrong("more pixels than were asked for")),
        }
    }
}

impl Image for RemoteImage {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        Self::within(self.handle.call(task, &Call::ImageRead { frame, level, rect })?, rect)
    }

    fn reduced(&self, task: &Task, frame: u64, width: u64, height: u64) -> Result<Option<Pixels>> {
        self.handle.call(task, &Call::ImageReduced { frame, width, height })
    }

    fn stored(&self, task: &Task, frame: u64, rect: Rect) -> Result<Option<Pixels>> {
        let pixels: Option<Pixels> = self.handle.call(task, &Call::ImageStored { frame, rect })?;
        pixels.map(|pixels| Self::within(pixels, rect)).transpose()
    }

    fn unstored_rows(&self, task: &Task, frame: u64, y: u64) -> Result<u64> {
        self.handle.call(task, &Call::ImageUnstoredRows { frame, y })
    }
}

/// A text in a worker.
pub(in crate::worker) struct RemoteText {
    handle: Arc<Handle>,
    source: Source,
    encoding: String,
}

impl RemoteText {
    pub(in crate::worker) fn describe(text: &dyn Text, out: &mut Out<'_>) {
        text.source().put(out);
        text.encoding().put(out);
    }

    pub(in crate::worker) fn described(handle: Arc<Handle>, from: &mut In<'_>) -> Result<Self> {
        let (source, encoding) = Wire::read(from)?;
        Ok(RemoteText { handle, source, encoding })
    }
}

impl Text for RemoteText {
    fn source(&self) -> &Source {
        &self.source
    }

    fn encoding(&self) -> String {
        self.encoding.clone()
    }

    fn lines(&self) -> Rows {
        rows(&self.handle)
    }

    fn beginnings(&self, task: &Task, range: Range<u64>) -> Result<Vec<Line>> {
        let most = range.end.saturating_sub(range.start);
        let lines: Vec<Line> = self.handle.call(task, &Call::TextBeginnings { range })?;
        match lines.len() as u64 <= most {
            true => Ok(lines),
            false => Err(wrong("more lines than were asked for")),
        }
    }

    fn each(
        &self,
        task: &Task,
        start: u64,
        longest: usize,
        each: &mut dyn FnMut(u64, Line) -> Result<bool>,
    ) -> Result<()> {
        let mut start = start;
        loop {
            let (lines, whole): (Vec<(u64, Line)>, bool) =
                self.handle.call(task, &Call::TextEach { start, longest })?;
            let next = lines.last().map(|(number, _)| number.saturating_add(1));
            for (number, line) in lines {
                if !each(number, line)? {
                    return Ok(());
                }
            }
            match next {
                Some(next) if !whole && next > start => start = next,
                Some(_) if !whole => return Err(wrong("lines that do not go on")),
                _ => return Ok(()),
            }
        }
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.handle.call(task, &Call::TextCount)
    }

    fn characters(&self, task: &Task) -> Result<u64> {
        self.handle.call(task, &Call::TextCharacters)
    }

    fn read(&self, task: &Task, range: Range<u64>) -> Result<Vec<String>> {
        let most = range.end.saturating_sub(range.start);
        let lines: Vec<String> = self.handle.call(task, &Call::TextRead { range })?;
        match lines.len() as u64 <= most {
            true => Ok(lines),
            false => Err(wrong("more lines than were asked for")),
        }
    }
}
