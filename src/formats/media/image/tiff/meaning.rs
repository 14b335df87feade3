//! What descriptions and fields say of the pages: OME-XML (<https://ome-model.readthedocs.io/>), ImageJ's stacks, and places
//! on the earth (GeoTIFF, OGC 19-008).

use super::ifd::{Directory, Order};
use super::page::Page;
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::axes::Heading;
use crate::data::content::ImageInfo;
use crate::data::content::array::{Array, Axis, Plain, Scaling};
use crate::data::content::image::FrameChannel;
use crate::engines::xml;
use std::sync::Arc;

/// Pages of one stack of ImageJ.
const STACK: u64 = 1 << 20;

/// How the pages of one picture go through its axes.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    /// What the picture is called.
    pub(super) name: String,
    /// Slowest first, each with its length.
    pub(super) axes: Vec<(u64, Axis)>,
    pub(super) sides: [Axis; 2],
    /// What channels are called, and in which colours they are to be seen.
    pub(super) channels: Vec<FrameChannel>,
}

impl Stack {
    /// How many pages it has.
    pub(super) fn pages(&self) -> u64 {
        self.axes.iter().map(|(len, _)| *len).product()
    }

    /// Gives its axes to a picture of as many frames.
    pub(super) fn tell(&self, info: &mut ImageInfo) {
        if self.pages() == info.frames && info.frames > 1 {
            info.frame_axes = self.axes.iter().filter(|(len, _)| *len > 1).cloned().collect();
        }
        info.sides = self.sides.clone();
        if !self.channels.is_empty() {
            let names: Vec<&str> = self.channels.iter().map(|channel| channel.name.as_str()).collect();
            if names.iter().any(|name| !name.is_empty()) {
                info.details.push(("channels".to_owned(), names.join(", ")));
            }
            info.frame_channels = self.channels.clone();
        }
    }
}

/// The description of a page.
fn description(task: &Task, source: &Source, order: Order, directory: &Directory) -> Result<String> {
    match directory.field(270) {
        Some(field) => Ok(field.words(task, source, order).unless_cancelled()?.unwrap_or_default()),
        None => Ok(String::new()),
    }
}

/// The pictures that the first page describes, in the order of their pages; none where it describes none.
///
/// # Errors
/// `Cancelled`.
pub(super) fn stacks(
    task: &Task,
    source: &Source,
    order: Order,
    directory: &Directory,
) -> Result<Vec<Stack>> {
    let text = description(task, source, order, directory)?;
    if text.contains("<OME") {
        return ome(task, &text);
    }
    Ok(image_j(&text).into_iter().collect())
}

fn ome(task: &Task, text: &str) -> Result<Vec<Stack>> {
    let parsed = xml::parse(task, text)?;
    let Some(root) = parsed.root else { return Ok(Vec::new()) };
    let mut stacks = Vec::new();
    for image in root.all("Image") {
        let Some(pixels) = image.child("Pixels") else { continue };
        let number = |name: &str| pixels.attribute(name).and_then(|text| text.parse::<f64>().ok());
        let length = |letter: char| number(&format!("Size{letter}")).map_or(1, |n| n.clamp(1.0, 1e9) as u64);
        let samples: u64 = pixels
            .all("Channel")
            .filter_map(|channel| channel.attribute("SamplesPerPixel")?.parse::<u64>().ok())
            .max()
            .unwrap_or(1);
        let axis = |letter: char, name: &str| {
            let step = number(&format!("PhysicalSize{letter}"));
            let unit = pixels.attribute(&format!("PhysicalSize{letter}Unit")).unwrap_or("µm");
            Axis {
                name: name.to_owned(),
                unit: step.map(|_| unit.to_owned()),
                regular: step.map(|step| (0.0, step)),
                ..Axis::default()
            }
        };
        let time = || {
            let step = number("TimeIncrement");
            let unit = pixels.attribute("TimeIncrementUnit").unwrap_or("s");
            Axis {
                name: "time".to_owned(),
                unit: step.map(|_| unit.to_owned()),
                regular: step.map(|step| (0.0, step)),
                ..Axis::default()
            }
        };
        // The order names the fastest first; rows and columns are the page.
        let order = pixels.attribute("DimensionOrder").unwrap_or("XYZCT");
        let channels: Vec<FrameChannel> = pixels.all("Channel").map(channel).collect();
        let mut axes = Vec::new();
        for letter in order.chars().rev() {
            axes.push(match letter {
                'Z' => (length('Z'), axis('Z', "z")),
                'C' => {
                    let count = length('C').div_ceil(samples.max(1));
                    let names: Vec<String> = channels.iter().map(|channel| channel.name.clone()).collect();
                    let names = Plain::names(&names).filter(|names| names.shape() == [count]);
                    let coordinate = names.map(|names| Arc::new(names) as Arc<dyn Array>);
                    (count, Axis { name: "channel".to_owned(), coordinate, ..Axis::default() })
                }
                'T' => (length('T'), time()),
                _ => continue,
            });
        }
        let name = image.attribute("Name").unwrap_or_default().to_owned();
        stacks.push(Stack { name, axes, sides: [axis('Y', "y"), axis('X', "x")], channels });
    }
    Ok(stacks)
}

/// A channel of OME: its colour is a number of red, green, blue and alpha.
fn channel(element: &xml::Element) -> FrameChannel {
    let colour = element.attribute("Color").and_then(|text| text.trim().parse::<i64>().ok());
    let colour = colour.map(|number| {
        let [red, green, blue, _] = (number as u32).to_be_bytes();
        [red, green, blue]
    });
    let name = element.attribute("Name").unwrap_or_default().to_owned();
    FrameChannel { name, colour, window: None, shown: true }
}

fn image_j(text: &str) -> Option<Stack> {
    if !text.starts_with("ImageJ=") {
        return None;
    }
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let number = |key: &str| value(key).and_then(|text| text.trim().parse::<u64>().ok());
    let images = number("images").unwrap_or(1).clamp(1, STACK);
    let unit = value("unit").map(|unit| unit.trim().replace("\\u00B5", "µ"));
    let spacing = value("spacing").and_then(|text| text.trim().parse::<f64>().ok());
    let named = |name: &str| Axis { name: name.to_owned(), ..Axis::default() };
    let depth =
        Axis { unit: spacing.and(unit.clone()), regular: spacing.map(|step| (0.0, step)), ..named("z") };
    let interval = value("finterval").and_then(|text| text.trim().parse::<f64>().ok());
    let time = Axis {
        unit: interval.map(|_| "s".to_owned()),
        regular: interval.map(|step| (0.0, step)),
        ..named("time")
    };
    let (channels, slices, frames) =
        (number("channels").unwrap_or(1), number("slices").unwrap_or(1), number("frames").unwrap_or(1));
    let mut axes = vec![(frames, time), (slices, depth), (channels, named("channel"))];
    let whole = axes.iter().fold(1u64, |all, (len, _)| all.saturating_mul(*len));
    if whole != images {
        axes = vec![(images, named("image"))];
    }
    Some(Stack { axes, sides: [named("y"), named("x")], ..Stack::default() })
}

/// The pages of a stack of which only the first has a directory: their samples follow each other.
pub(super) fn following(page: &Page, count: u64, len: u64, at: u64) -> Vec<Page> {
    let bits =
        page.width.saturating_mul(page.height).saturating_mul(page.channels).saturating_mul(page.bits.into());
    let bytes = (bits / 8).max(1);
    // No more than the file has bytes for.
    let most = len.saturating_sub(at) / bytes;
    (0..count.min(most)).map(|n| Page { shift: n * bytes, ..page.clone() }).collect()
}

/// Numbers of a field.
fn floats(task: &Task, source: &Source, order: Order, directory: &Directory, tag: u16) -> Result<Vec<f64>> {
    match directory.field(tag) {
        Some(field) => Ok(field.floats(task, source, order).unless_cancelled()?.unwrap_or_default()),
        None => Ok(Vec::new()),
    }
}

/// Keys of places by their numbers (GeoTIFF 1.1, annex), and what the commonest values mean.
const KEYS: [(u64, &str); 18] = [
    (1024, "GTModelType"),
    (1025, "GTRasterType"),
    (1026, "GTCitation"),
    (2048, "GeodeticCRS"),
    (2049, "GeodeticCitation"),
    (2050, "GeodeticDatum"),
    (2052, "GeogLinearUnits"),
    (2054, "GeogAngularUnits"),
    (2056, "Ellipsoid"),
    (2057, "EllipsoidSemiMajorAxis"),
    (2059, "EllipsoidInvFlattening"),
    (3072, "ProjectedCRS"),
    (3073, "ProjectedCitation"),
    (3074, "Projection"),
    (3075, "ProjMethod"),
    (3076, "ProjLinearUnits"),
    (4096, "Vertical"),
    (4099, "VerticalUnits"),
];

/// Places on the earth: axes of rows and columns, keys in words, the value that means *missing*.
///
/// # Errors
/// `Cancelled`.
pub(super) fn geography(
    task: &Task,
    source: &Source,
    order: Order,
    directory: &Directory,
    info: &mut ImageInfo,
) -> Result<Vec<(String, String)>> {
    if let Some(field) = directory.field(42113)
        && let Ok(text) = field.words(task, source, order).unless_cancelled()?
        && let Ok(missing) = text.trim().parse::<f64>()
    {
        info.scaling = Some(Scaling { scale: 1.0, offset: 0.0, fill: vec![missing], valid: None });
    }
    let Some(field) = directory.field(34735) else { return Ok(Vec::new()) };
    let Ok(directory_of_keys) = field.numbers(task, source, order).unless_cancelled()? else {
        return Ok(Vec::new());
    };
    let doubles = floats(task, source, order, directory, 34736)?;
    let texts = match directory.field(34737) {
        Some(field) => field.words(task, source, order).unless_cancelled()?.unwrap_or_default(),
        None => String::new(),
    };
    let mut said = Vec::new();
    let (mut model, mut raster) = (0, 1);
    for entry in directory_of_keys.get(4..).unwrap_or_default().as_chunks::<4>().0 {
        let [number, place, count, value] = *entry;
        let name = KEYS.iter().find(|(known, _)| *known == number).map(|(_, name)| *name);
        let text = match place {
            0 => {
                match number {
                    1024 => model = value,
                    1025 => raster = value,
                    _ => {}
                }
                meant(number, value)
            }
            34736 => {
                let numbers = doubles.iter().skip(value as usize).take(count as usize);
                numbers.map(|n| crate::data::cell::float64(*n)).collect::<Vec<_>>().join(", ")
            }
            34737 => {
                let part: String = texts.chars().skip(value as usize).take(count as usize).collect();
                part.trim_end_matches(['|', '\0']).to_owned()
            }
            _ => continue,
        };
        said.push((name.map_or_else(|| format!("GeoKey {number}"), str::to_owned), text));
    }
    let scale = floats(task, source, order, directory, 33550)?;
    let tie = floats(task, source, order, directory, 33922)?;
    let matrix = floats(task, source, order, directory, 34264)?;
    let placed = match (scale.as_slice(), tie.as_slice(), matrix.as_slice()) {
        ([x, y, ..], [i, j, _, east, north, ..], _) => Some((*x, -*y, east - i * x, north + j * y)),
        (_, _, [a, b, _, d, e, f, _, h, ..]) if *b == 0.0 && *e == 0.0 => Some((*a, *f, *d, *h)),
        _ => None,
    };
    if let Some((x, y, east, north)) = placed {
        // Of pixels that are areas the coordinates are those of their middles.
        let half = if raster == 2 { 0.0 } else { 0.5 };
        let (names, unit) = match model {
            2 => (["latitude", "longitude"], "°"),
            1 => (["y", "x"], "m"),
            _ => (["y", "x"], ""),
        };
        let axis = |name: &str, start: f64, step: f64, heading| Axis {
            name: name.to_owned(),
            unit: Some(unit.to_owned()).filter(|unit| !unit.is_empty()),
            regular: Some((start + half * step, step)),
            heading: Some(heading),
            ..Axis::default()
        };
        info.sides = [
            axis(names[0], north, y, if y < 0.0 { Heading::South } else { Heading::North }),
            axis(names[1], east, x, if x < 0.0 { Heading::West } else { Heading::East }),
        ];
    }
    Ok(said)
}

/// What a value of a key means.
fn meant(key: u64, value: u64) -> String {
    let word = match (key, value) {
        (1024, 1) => "projected",
        (1024, 2) => "geographic",
        (1024, 3) => "geocentric",
        (1025, 1) => "pixel is area",
        (1025, 2) => "pixel is point",
        (_, 32767) => "user-defined",
        (2048 | 3072 | 4096, _) => return format!("EPSG:{value}"),
        (2052 | 3076 | 4099, 9001) => "metre",
        (2052 | 3076 | 4099, 9002) => "foot",
        (2054, 9102) => "degree",
        _ => return value.to_string(),
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dtype::DType;

    #[test]
    fn stacks_of_ome_go_through_their_axes() {
        let text = "<?xml version='1.0'?><OME xmlns='x'><Image Name='cells'><Pixels DimensionOrder='XYCZT' SizeX='5' SizeY='4' SizeC='2' \
                    SizeZ='3' SizeT='6' PhysicalSizeX='0.5' PhysicalSizeXUnit='nm'><Channel Name='DAPI' Color='65535'/><Channel Name='GFP'/></Pixels></Image></OME>";
        let stacks = ome(&Task::new(), text).unwrap();
        let [stack] = stacks.as_slice() else { panic!("{stacks:?}") };
        let axes: Vec<(u64, &str)> =
            stack.axes.iter().map(|(len, axis)| (*len, axis.name.as_str())).collect();
        assert_eq!(axes, [(6, "time"), (3, "z"), (2, "channel")]);
        assert_eq!((stack.pages(), stack.name.as_str()), (36, "cells"));
        assert_eq!(stack.sides[1].regular, Some((0.0, 0.5)));
        let names = stack.axes[2].1.coordinate.as_ref().unwrap();
        assert_eq!((names.shape(), names.dtype()), (&[2u64][..], &DType::Str(4)));
        let channels: Vec<_> = stack.channels.iter().map(|c| (c.name.as_str(), c.colour)).collect();
        assert_eq!(channels, [("DAPI", Some([0, 0, 255])), ("GFP", None)]);
    }

    #[test]
    fn stacks_of_image_j() {
        let stack =
            image_j("ImageJ=1.53\nimages=10\nchannels=2\nslices=5\nhyperstack=true\nspacing=2.5\nunit=um\n")
                .unwrap();
        let axes: Vec<(u64, &str)> =
            stack.axes.iter().map(|(len, axis)| (*len, axis.name.as_str())).collect();
        assert_eq!(axes, [(1, "time"), (5, "z"), (2, "channel")]);
        assert_eq!(stack.axes[1].1.regular, Some((0.0, 2.5)));
        // Numbers that do not fit together: only the count of pages is taken.
        assert_eq!(image_j("ImageJ=1.53\nimages=7\nslices=5\n").unwrap().pages(), 7);
    }
}
