//! What the tests of the writers of pictures share.

use super::image;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::ArrayImage;
use crate::data::content::array::Plain;
use crate::data::content::{Content, Image, Pixels, Rect, Sample};
use crate::data::dtype::DType;
use crate::data::format::{ArrayPictures, Data, Options, Payload, WriteTo, Writer};
use crate::data::open::Document;
use proptest::test_runner::TestCaseError;
use std::io::Cursor;
use std::sync::Arc;

/// Pictures of any samples: frames × height × width × channels.
pub(in crate::formats::media::image) fn array(dtype: &DType, shape: &[u64], seed: u8, flat: bool) -> Payload {
    let len = shape.iter().product::<u64>() * dtype.size();
    let mut state = u32::from(seed) + 1;
    let mut byte = |n: u64| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if flat { (n / 97) as u8 } else { (state >> 24) as u8 }
    };
    let bytes: Vec<u8> = (0..len).map(&mut byte).collect();
    let plain = Plain::new(Source::memory("a", bytes), 0, dtype.clone(), shape.to_vec()).unwrap();
    const ALL: &[Sample] = &[
        Sample::U8,
        Sample::U16,
        Sample::U32,
        Sample::U64,
        Sample::I8,
        Sample::I16,
        Sample::I32,
        Sample::I64,
        Sample::F16,
        Sample::F32,
        Sample::F64,
        Sample::C64,
        Sample::C128,
    ];
    let takes = ArrayPictures { samples: ALL, frames: true };
    let image = ArrayImage::of(Arc::new(plain), takes, "last").unwrap();
    Payload::plain(Data::Image(Arc::new(image)))
}

/// What a writer makes of a payload.
pub(in crate::formats::media::image) fn written(
    writer: &Writer,
    set: &[(&str, &str)],
    payload: &Payload,
) -> Result<Vec<u8>> {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    (writer.check)(payload)?;
    let mut out = Cursor::new(Vec::new());
    match writer.write {
        WriteTo::File(file) | WriteTo::Either { file, .. } => {
            file(&Task::new(), payload, &options, &mut out)?
        }
        WriteTo::Folder(_) => panic!("a folder"),
    }
    Ok(out.into_inner())
}

/// The picture of a file.
pub(in crate::formats::media::image) fn back(name: &str, bytes: Vec<u8>) -> (Document, Arc<dyn Image>) {
    let source = Source::memory(name, bytes);
    let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
    assert!(document.root.problem.is_none(), "{:?}", document.root.problem);
    let Some(Content::Image(image)) = &document.root.content else { panic!("no picture") };
    let image = image.clone();
    (document, image)
}

/// All pixels of a frame.
pub(in crate::formats::media::image) fn pixels(image: &dyn Image, frame: u64) -> Pixels {
    let info = image.info();
    image.read(&Task::new(), frame, 0, Rect::all(info.width, info.height)).unwrap()
}

/// Writes pictures, opens what was written, and compares all frames.
pub(in crate::formats::media::image) fn there_and_back(
    writer: &Writer,
    set: &[(&str, &str)],
    name: &str,
    payload: &Payload,
) -> std::result::Result<(), TestCaseError> {
    let bytes = written(writer, set, payload).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let (_, to) = back(name, bytes);
    let from = image(payload).unwrap();
    let told = |image: &dyn Image| {
        let info = image.info();
        (info.frames, info.width, info.height, info.channels, info.sample)
    };
    proptest::prop_assert_eq!(told(to.as_ref()), told(from.as_ref()));
    for frame in 0..from.info().frames {
        // Whether two channels end with alpha is not said by every format.
        proptest::prop_assert!(pixels(to.as_ref(), frame).data == pixels(from.as_ref(), frame).data);
    }
    Ok(())
}
