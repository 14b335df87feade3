//! OME-NGFF: groups whose arrays are one image in several resolutions, with axes and units.
//! <https://ngff.openmicroscopy.org/0.4/>, <https://ngff.openmicroscopy.org/0.5/>

use super::json::Object;
use super::tree::{Found, Hierarchy};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::array::{self, Axis, Plain};
use crate::data::content::image::FrameChannel;
use crate::data::content::{Array, Image, ImageInfo, Pixels, Rect, Sample};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use crate::engines::keys::{is_inside, join};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The most resolutions of an image.
const LEVELS: usize = 64;

/// The group's OME attributes: in a member of their own since 0.5.
fn attributes(group: &Object) -> &Object {
    group.get("ome").and_then(Value::as_object).unwrap_or(group)
}

/// The specification's word for a group.
pub(super) fn label(group: &Object) -> Option<&'static str> {
    let has = |name: &str| attributes(group).contains_key(name);
    match () {
        () if has("multiscales") && has("image-label") => Some("label image"),
        () if has("multiscales") => Some("image"),
        () if has("plate") => Some("plate"),
        () if has("well") => Some("well"),
        () if has("labels") => Some("labels"),
        () => None,
    }
}

/// One resolution, as the attributes name it.
struct Dataset {
    path: String,
    scale: Vec<f64>,
    translation: Vec<f64>,
}

/// The first of a group's multiscale images.
struct Multiscale {
    axes: Vec<(String, String, Option<String>)>,
    datasets: Vec<Dataset>,
}

fn multiscale(group: &Object) -> Option<Multiscale> {
    let list = attributes(group).get("multiscales")?.as_array()?;
    let one = list.first()?.as_object()?;
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let axis = |value: &Value| match value {
        Value::String(name) => (name.clone(), kind_of(name).to_owned(), None),
        other => {
            let name = text(other, "name").unwrap_or_default();
            let kind = text(other, "type").unwrap_or_else(|| kind_of(&name).to_owned());
            (name, kind, text(other, "unit"))
        }
    };
    let axes = one.get("axes").and_then(Value::as_array).map(|axes| axes.iter().map(axis).collect());
    let common = transformation(one.get("coordinateTransformations"));
    let dataset = |value: &Value| {
        let path = text(value, "path")?.trim_matches('/').to_owned();
        let (scale, translation) = transformation(value.get("coordinateTransformations"));
        let scale = combined(&scale, &common.0, |a, b| a * b);
        // The common ones come after the dataset's: they scale its translation too, where it has one.
        let moved = match translation.is_empty() {
            true => translation,
            false => combined(&translation, &common.0, |a, b| a * b),
        };
        Some(Dataset { path, scale, translation: combined(&moved, &common.1, |a, b| a + b) })
    };
    let datasets = one.get("datasets")?.as_array()?.iter().take(LEVELS).filter_map(dataset).collect();
    Some(Multiscale { axes: axes.unwrap_or_default(), datasets })
}

/// The kind of an axis without one: versions before 0.4 name axes only.
fn kind_of(name: &str) -> &'static str {
    match name {
        "t" => "time",
        "c" => "channel",
        _ => "space",
    }
}

/// Scale and translation of a list of transformations; empty where there is none.
fn transformation(value: Option<&Value>) -> (Vec<f64>, Vec<f64>) {
    let (mut scale, mut translation) = (Vec::new(), Vec::new());
    for one in value.and_then(Value::as_array).into_iter().flatten() {
        let numbers = |key: &str| -> Vec<f64> {
            one.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_f64).collect()
        };
        match one.get("type").and_then(Value::as_str) {
            Some("scale") => scale = numbers("scale"),
            Some("translation") => translation = numbers("translation"),
            _ => {}
        }
    }
    (scale, translation)
}

/// Two lists element by element; the other one where one is not there.
fn combined(a: &[f64], b: &[f64], both: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { b.to_vec() } else { a.to_vec() };
    }
    a.iter().zip(b).map(|(a, b)| both(*a, *b)).collect()
}

impl Multiscale {
    /// The axes of a resolution of so many dimensions.
    fn axes_of(&self, dataset: &Dataset, rank: usize) -> Vec<Axis> {
        // Before 0.3 the order is fixed.
        let usual = ["t", "c", "z", "y", "x"];
        let axis = |n: usize| {
            let (name, unit) = match self.axes.get(n) {
                Some((name, _, unit)) => (name.clone(), unit.clone()),
                None => ((*usual.get((n + 5).saturating_sub(rank)).unwrap_or(&"")).to_owned(), None),
            };
            let number = |list: &[f64], usual| list.get(n).copied().unwrap_or(usual);
            // Channels are counted, whatever the scale says.
            let counted = self.axes.get(n).is_some_and(|(_, kind, _)| kind == "channel") || name == "c";
            let place = (number(&dataset.translation, 0.0), number(&dataset.scale, 1.0));
            Axis { name, unit, regular: (!counted).then_some(place), ..Axis::default() }
        };
        if !self.axes.is_empty() && self.axes.len() != rank {
            return Vec::new();
        }
        (0..rank).map(axis).collect()
    }
}

/// The multiscale's arrays below the group at `path`, with their axes, by their full paths.
pub(super) fn scales(group: &Object, path: &str) -> Option<HashMap<String, Vec<Axis>>> {
    let multiscale = multiscale(group)?;
    let named = multiscale.datasets.iter().filter(|dataset| is_inside(&dataset.path));
    // Before axes had names there were five of them.
    let rank = if multiscale.axes.is_empty() { 5 } else { multiscale.axes.len() };
    Some(named.map(|d| (join(path, &d.path), multiscale.axes_of(d, rank))).collect())
}

/// One resolution.
struct Level {
    array: Arc<dyn Array>,
}

/// The image of a multiscale.
struct Pyramid {
    info: ImageInfo,
    levels: Vec<Level>,
    /// Which dimensions are rows, columns and, where they are of one pixel, channels.
    rows: usize,
    columns: usize,
    channels: Option<usize>,
    /// The other dimensions, whose indices count frames, slowest first.
    others: Vec<usize>,
}

/// The pyramid of a group with multiscales; `None` for other groups.
///
/// # Errors
/// Why its arrays are no image.
pub(super) fn image(
    task: &Task,
    hierarchy: &Hierarchy,
    path: &str,
    group: &Object,
) -> Result<Option<Arc<dyn Image>>> {
    let Some(multiscale) = multiscale(group) else { return Ok(None) };
    let mut levels: Vec<Level> = Vec::new();
    for dataset in &multiscale.datasets {
        if !is_inside(&dataset.path) {
            return Err(Error::malformed(format!("multiscales: the path {:?} leads out", dataset.path)));
        }
        let full = join(path, &dataset.path);
        let Found::Array(meta) = hierarchy.look(task, &full)? else {
            return Err(Error::malformed(format!("multiscales: there is no array {:?}", dataset.path)));
        };
        let (array, problem) = hierarchy.array(task, &full, *meta)?;
        if let Some(problem) = problem {
            return Err(problem);
        }
        levels.push(Level { array });
    }
    let Some(first) = levels.first() else { return Ok(None) };
    let (dtype, shape) = (first.array.dtype().clone(), first.array.shape().to_vec());
    let same = |level: &Level| level.array.shape().len() == shape.len() && *level.array.dtype() == dtype;
    if !levels.iter().all(same) {
        return Err(Error::malformed("multiscales: its arrays are of different types or dimensions"));
    }
    let sample = sample_of(&dtype).ok_or_else(|| Error::unsupported(format!("pixels of {dtype}")))?;
    let axes = match multiscale.datasets.first() {
        Some(dataset) => multiscale.axes_of(dataset, shape.len()),
        None => Vec::new(),
    };
    Pyramid::new(levels, &shape, sample, &axes, group)
        .map(|pyramid| Some(Arc::new(pyramid) as Arc<dyn Image>))
}

fn sample_of(dtype: &DType) -> Option<Sample> {
    Some(match dtype {
        DType::U8 | DType::Bool => Sample::U8,
        DType::U16 => Sample::U16,
        DType::U32 => Sample::U32,
        DType::U64 => Sample::U64,
        DType::I8 => Sample::I8,
        DType::I16 => Sample::I16,
        DType::I32 => Sample::I32,
        DType::I64 => Sample::I64,
        DType::F16 => Sample::F16,
        DType::F32 => Sample::F32,
        DType::F64 => Sample::F64,
        DType::C64 => Sample::C64,
        DType::C128 => Sample::C128,
        _ => return None,
    })
}

/// Whether the channels are red, green and blue.
fn is_rgb(group: &Object) -> bool {
    let channels = attributes(group).get("omero").and_then(|omero| omero.get("channels")?.as_array());
    let colour =
        |channel: &Value| channel.get("color").and_then(Value::as_str).unwrap_or_default().to_uppercase();
    channels.is_some_and(|list| list.iter().map(colour).eq(["FF0000", "00FF00", "0000FF"]))
}

/// How channels are to be seen (*omero*).
fn frame_channels(group: &Object) -> Vec<FrameChannel> {
    /// More channels are not laid over each other.
    const MOST: usize = 1_000;
    let list = attributes(group).get("omero").and_then(|omero| omero.get("channels")?.as_array());
    let one = |channel: &Value| {
        let hex = channel.get("color").and_then(Value::as_str).filter(|text| text.len() == 6);
        let colour = hex.and_then(|text| u32::from_str_radix(text, 16).ok()).map(|number| {
            let [_, red, green, blue] = number.to_be_bytes();
            [red, green, blue]
        });
        let end = |key: &str| channel.get("window")?.get(key)?.as_f64();
        let window = end("start").zip(end("end")).filter(|(low, high)| high > low);
        let name =
            channel.get("label").and_then(Value::as_str).unwrap_or_default().chars().take(64).collect();
        let shown = channel.get("active").and_then(Value::as_bool).unwrap_or(true);
        FrameChannel { name, colour, window, shown }
    };
    list.into_iter().flatten().take(MOST).map(one).collect()
}

/// The names of the channels, where there is one for each.
fn channel_names(group: &Object, count: u64) -> Option<Arc<dyn Array>> {
    let list = attributes(group).get("omero")?.get("channels")?.as_array()?;
    let label = |channel: &Value| channel.get("label")?.as_str().map(str::to_owned);
    let names = list.iter().map(label).collect::<Option<Vec<String>>>()?;
    let names = Plain::names(&names).filter(|names| names.shape() == [count])?;
    Some(Arc::new(names))
}

impl Pyramid {
    fn new(levels: Vec<Level>, shape: &[u64], sample: Sample, axes: &[Axis], group: &Object) -> Result<Self> {
        let axis = |name: &str| axes.iter().position(|axis| axis.name == name);
        let (Some(last), Some(before)) = (shape.len().checked_sub(1), shape.len().checked_sub(2)) else {
            return Err(Error::malformed("multiscales: an image has two dimensions at least"));
        };
        let (rows, columns) = (axis("y").unwrap_or(before), axis("x").unwrap_or(last));
        if rows == columns {
            return Err(Error::malformed("multiscales: rows and columns are one dimension"));
        }
        let side = |axis: usize| shape.get(axis).copied().unwrap_or(1);
        let channels = axis("c").filter(|&c| c != rows && c != columns && side(c) == 3 && is_rgb(group));
        let others: Vec<usize> =
            (0..shape.len()).filter(|n| *n != rows && *n != columns && Some(*n) != channels).collect();
        let frames = limits::elements(&others.iter().map(|&axis| side(axis)).collect::<Vec<_>>())?;
        let size = |level: &Level| {
            let side = |axis: usize| level.array.shape().get(axis).copied().unwrap_or(1);
            (side(columns), side(rows))
        };
        let name = |n: &usize| {
            let name = axes.get(*n).map_or("", |axis| axis.name.as_str());
            format!("{} {}", if name.is_empty() { "axis" } else { name }, side(*n))
        };
        let mut details = Vec::new();
        if !others.is_empty() {
            details.push(("frames".to_owned(), others.iter().map(name).collect::<Vec<_>>().join(" × ")));
        }
        for &n in &[rows, columns] {
            if let Some(Axis { name, unit, regular: Some((_, step)), .. }) = axes.get(n) {
                let unit = unit.as_deref().unwrap_or("units");
                details.push((format!("pixel size along {name}"), format!("{step} {unit}")));
            }
        }
        let meant = |axis: usize| axes.get(axis).cloned().unwrap_or_default();
        let frame_axis = |&n: &usize| {
            let mut meant = meant(n);
            if axis("c") == Some(n) {
                meant.coordinate = channel_names(group, side(n));
            }
            (side(n), meant)
        };
        let info = ImageInfo {
            orientation: None,
            frame_times: Vec::new(),
            frame_axes: others.iter().map(frame_axis).collect(),
            frame_channels: if channels.is_some() { Vec::new() } else { frame_channels(group) },
            sides: [meant(rows), meant(columns)],
            width: side(columns),
            height: side(rows),
            channels: if channels.is_some() { 3 } else { 1 },
            bits: (sample.size() * 8) as u32,
            sample,
            alpha: false,
            frames,
            levels: levels.iter().map(size).collect(),
            details,
            ..ImageInfo::default()
        };
        Ok(Pyramid { info, levels, rows, columns, channels, others })
    }

    /// The region of a level's array that a rectangle of a frame is.
    fn region(&self, level: &Level, frame: u64, rect: Rect) -> Region {
        let (shape, full) = (level.array.shape(), self.levels.first().map_or(&[][..], |l| l.array.shape()));
        let mut spans: Vec<Span> = shape.iter().map(|&len| Span::all(len)).collect();
        let mut rest = frame;
        for &axis in self.others.iter().rev() {
            let side = |shape: &[u64]| shape.get(axis).copied().unwrap_or(1).max(1);
            let (there, here) = (side(full), side(shape));
            // Lower resolutions may have fewer planes: the one at the same height.
            let index = (rest % there).saturating_mul(here) / there;
            rest /= there;
            if let Some(span) = spans.get_mut(axis) {
                *span = Span::range(index.min(here - 1), 1);
            }
        }
        let mut put = |axis: usize, span: Span| {
            if let Some(place) = spans.get_mut(axis) {
                *place = span;
            }
        };
        put(self.rows, Span::range(rect.y, rect.height));
        put(self.columns, Span::range(rect.x, rect.width));
        Region(spans)
    }
}

impl Image for Pyramid {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        let chosen = self.levels.get(level as usize).zip(self.info.levels.get(level as usize));
        let (level, &(width, height)) = chosen
            .filter(|_| frame < self.info.frames)
            .ok_or_else(|| Error::bug("a level or frame that is not there"))?;
        let rect = rect.cut(width, height);
        let region = self.region(level, frame, rect);
        let samples = array::read(level.array.as_ref(), task, &region)?;
        let size = self.info.sample.size();
        // Distances in the result of the read.
        let shape = region.shape();
        let distance = |axis: usize| shape.iter().skip(axis + 1).product::<u64>() as usize;
        let (row, column) = (distance(self.rows), distance(self.columns));
        let channel = self.channels.map_or(0, distance);
        let channels = self.info.channels as usize;
        let plain =
            column == channels && row == column * rect.width as usize && (channels == 1 || channel == 1);
        let data = if plain {
            samples
        } else {
            let mut data = Vec::with_capacity(samples.len());
            for y in 0..rect.height as usize {
                for x in 0..rect.width as usize {
                    for c in 0..channels {
                        let at = (y * row + x * column + c * channel) * size;
                        data.extend_from_slice(samples.get(at..at + size).unwrap_or_default());
                    }
                }
            }
            data
        };
        Ok(Pixels {
            width: rect.width,
            height: rect.height,
            channels: self.info.channels,
            sample: self.info.sample,
            alpha: false,
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Start and step along each axis of the one dataset, with these transformations of all and of its own.
    fn places(common: Value, own: Value) -> Vec<Option<(f64, f64)>> {
        let kinds = [("t", "time"), ("c", "channel"), ("z", "space"), ("y", "space"), ("x", "space")];
        let axes: Vec<Value> = kinds.map(|(name, kind)| json!({ "name": name, "type": kind })).into();
        let group = json!({ "multiscales": [{
            "axes": axes,
            "datasets": [{ "path": "0", "coordinateTransformations": own }],
            "coordinateTransformations": common,
        }] });
        let found = multiscale(group.as_object().unwrap()).unwrap();
        found.axes_of(&found.datasets[0], 5).iter().map(|axis| axis.regular).collect()
    }

    #[test]
    fn a_common_scale_moves_no_axis() {
        // The example of the specification.
        let common = json!([{ "type": "scale", "scale": [0.1, 1.0, 1.0, 1.0, 1.0] }]);
        let own = json!([{ "type": "scale", "scale": [1.0, 1.0, 0.5, 0.5, 0.5] }]);
        let half = Some((0.0, 0.5));
        assert_eq!(places(common, own), [Some((0.0, 0.1)), None, half, half, half]);
    }

    #[test]
    fn common_transformations_come_after_those_of_a_dataset() {
        let list = |scale: f64, translation: f64| {
            json!([
                { "type": "scale", "scale": vec![scale; 5] },
                { "type": "translation", "translation": vec![translation; 5] },
            ])
        };
        assert_eq!(places(list(10.0, 1.0), list(2.0, 3.0))[4], Some((31.0, 20.0)));
        let scaled = json!([{ "type": "scale", "scale": vec![2.0; 5] }]);
        assert_eq!(places(list(10.0, 1.0), scaled.clone())[4], Some((1.0, 20.0)));
        assert_eq!(places(scaled, list(2.0, 3.0))[4], Some((6.0, 4.0)));
    }
}
