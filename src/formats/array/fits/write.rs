//! Writes FITS 4.0: an array in the primary unit, several as image extensions, tables as binary tables, each with its
//! attributes as cards and with checksums. <https://fits.gsfc.nasa.gov/fits_standard.html>
//!
//! Headers are made before anything is written and read by the reader of this format: what they say otherwise than the
//! source is what is reported.

mod cards;
mod cells;
mod checksum;
mod column;
mod image;
mod measure;
mod packed;
mod table;
mod unit;

use super::{tiles, wcs};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::ArrayTable;
use crate::data::chunked::write::sides;
use crate::data::content::array::Axis;
use crate::data::content::{Array, ArrayFacts, Kind};
use crate::data::format::{
    Attributes, Data, Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer, loss, note,
};
use crate::data::node::Value;
use crate::data::scan::array_bytes;
use crate::engines::headers::{attribute_losses, axis_losses, kept, names};
use cards::Cards;
use image::Pixels;
use packed::{Method, Packing};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use table::{Plan, Strings};

const COMPRESSION: OptionSpec = OptionSpec::new(
    "compression",
    "How the tiles of images are compressed, always without loss: RICE_1 takes integers of up to 32 bits, other \
     numbers are GZIP_2 then",
)
.one_of("none", &["none", "RICE_1", "GZIP_1", "GZIP_2"]);
const LEVEL: OptionSpec = OptionSpec::new("level", "How hard gzip tries: 1 is fast, 9 is small")
    .one_of("6", &["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
const TILE: OptionSpec = OptionSpec::new(
    "tile",
    "The shape of a compressed tile, the slowest dimension first, as 1,100; auto: rows of about 256 KB",
)
.default("auto");
const STRINGS: OptionSpec = OptionSpec::new(
    "strings",
    "Texts of a table in fields of one width, or of any length behind the rows; auto: the latter where most of the \
     fields would be empty",
)
.one_of("auto", &["auto", "fixed", "variable"]);
const NAME: OptionSpec = OptionSpec::new("name", "The name (EXTNAME) of a table that is written alone");

/// The writer.
pub(super) const WRITER: Writer = Writer {
    many: true,
    metadata: Metadata::Header,
    options: &[COMPRESSION, LEVEL, TILE, STRINGS, NAME],
    check,
    ..Writer::new(&[Kind::Array, Kind::Table], losses, write)
};

/// Refuses what leaves nothing to write.
fn check(payload: &Payload) -> Result<()> {
    let (units, left_out) = units(payload, &Settings::default())?;
    if units.iter().any(Unit::is_content) { Ok(()) } else { refused(&left_out) }
}

/// What was set.
struct Settings {
    packing: Option<Packing>,
    strings: Strings,
    name: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { packing: None, strings: Strings::Auto, name: String::new() }
    }
}

impl Settings {
    fn of(options: &Options) -> Result<Self> {
        let method = match options.choice(&COMPRESSION)? {
            "RICE_1" => Some(Method::Rice),
            "GZIP_1" => Some(Method::Gzip),
            "GZIP_2" => Some(Method::Shuffled),
            _ => None,
        };
        let level = options.choice(&LEVEL)?.parse().unwrap_or(6);
        let tile = sides(TILE.name, options.choice(&TILE)?)?;
        let strings = match options.choice(&STRINGS)? {
            "fixed" => Strings::Fixed,
            "variable" => Strings::Variable,
            _ => Strings::Auto,
        };
        let packing = method.map(|method| Packing { method, level, tile });
        Ok(Settings { packing, strings, name: options.choice(&NAME)?.to_owned() })
    }
}

/// What a unit holds.
enum Content {
    Nothing,
    Image(Pixels),
    Tiles(Pixels, Packing),
    Table(Plan),
}

/// A unit (HDU) that will be written.
struct Unit {
    /// What it is called in the source; empty for the whole.
    path: String,
    /// `EXTNAME`, where it has one.
    name: Option<String>,
    is_primary: bool,
    attributes: Attributes,
    content: Content,
    /// What is known of the axes of the array that it came from.
    facts: ArrayFacts,
    rank: usize,
    losses: Vec<Loss>,
}

/// The units of a payload, the primary one first, and what is left out.
fn units(payload: &Payload, settings: &Settings) -> Result<(Vec<Unit>, Vec<Loss>)> {
    let (mut list, mut left_out) = (Vec::new(), Vec::new());
    let (primary, mut parts) =
        (payload.parts.get("PRIMARY").cloned().unwrap_or_default(), payload.parts.clone());
    let mut first = Unit::new("", None, payload.attributes.clone());
    first.is_primary = true;
    let arrays = match &payload.data {
        Data::Table(table) => {
            let mut unit = Unit::new("", Some(settings.name.clone()), std::mem::take(&mut first.attributes));
            unit.name = unit.extname(&settings.name, 1);
            unit.content = Content::Table(Plan::new(table, settings.strings)?);
            return Ok((vec![first, unit], left_out));
        }
        Data::Arrays(arrays) => arrays,
        _ => return Err(Error::bug("FITS was given neither arrays nor a table")),
    };
    for (n, (name, array)) in arrays.iter().enumerate() {
        let own = parts.remove(name).unwrap_or_default();
        let mut unit = Unit::new(name, None, own);
        match unit.fill(array, settings) {
            Ok(()) => {}
            Err(error) => {
                let what = format!("it is left out: {}", error.what());
                left_out.push(loss(LossKind::Type, what).at(name));
                continue;
            }
        }
        let may_lead = n == 0 && (arrays.len() == 1 || name == "PRIMARY");
        if may_lead && matches!(unit.content, Content::Image(_)) {
            unit.is_primary = true;
            unit.attributes.join(std::mem::take(&mut first.attributes));
            first = unit;
            continue;
        }
        unit.name = unit.extname(name, n + 1);
        // What the reader calls units without a name.
        let made = unit.name.clone().unwrap_or_else(|| format!("HDU {}", list.len() + 1));
        if made != *name && !unit.is_twin(name) {
            let renamed = note(LossKind::Name, format!("it is called {made}")).called(made);
            unit.losses.push(if arrays.len() == 1 { renamed.if_any() } else { renamed });
        }
        list.push(unit);
    }
    if first.path != "PRIMARY" {
        first.attributes.join(primary);
    }
    parts.remove("PRIMARY");
    for (name, own) in parts.iter().filter(|(_, own)| !own.list.is_empty()) {
        let all: Vec<&str> = own.list.iter().map(|(name, _)| name.as_str()).collect();
        let what = format!("FITS has no groups: its attributes are not kept ({})", names(&all));
        left_out.push(note(LossKind::Attribute, what).at(name));
    }
    list.insert(0, first);
    number_twins(&mut list);
    Ok((list, left_out))
}

/// Units of one name, whatever the case of its letters, are told apart by `EXTVER`.
fn number_twins(units: &mut [Unit]) {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for unit in units {
        let Some(name) = &unit.name else { continue };
        let times = seen.entry(name.to_ascii_uppercase()).or_insert(0);
        *times += 1;
        if *times > 1 && unit.attributes.get("EXTVER").is_none() {
            unit.attributes.list.push(("EXTVER".to_owned(), Value::Json((*times).into())));
        }
    }
}

/// The error where nothing can be written.
fn refused(left_out: &[Loss]) -> Result<()> {
    let what = left_out.first().map_or_else(|| "nothing is left to write".to_owned(), ToString::to_string);
    Err(Error::unsupported(what))
}

impl Unit {
    fn new(path: &str, name: Option<String>, attributes: Attributes) -> Self {
        let (path, facts) = (path.to_owned(), ArrayFacts::default());
        let content = Content::Nothing;
        Unit { path, name, is_primary: false, attributes, content, facts, rank: 0, losses: Vec::new() }
    }

    fn is_content(&self) -> bool {
        !matches!(self.content, Content::Nothing)
    }

    /// Takes an array: as an image, or where its elements are no numbers as a table.
    fn fill(&mut self, array: &Arc<dyn Array>, settings: &Settings) -> Result<()> {
        (self.facts, self.rank) = (array.facts(), array.shape().len());
        if let Some(mut pixels) = Pixels::plan(array)? {
            self.losses.append(&mut pixels.losses);
            self.content = match &settings.packing {
                Some(packing) if !pixels.shape().contains(&0) => {
                    packing.tile(&pixels)?;
                    Content::Tiles(pixels, packing.clone())
                }
                _ => Content::Image(pixels),
            };
            return Ok(());
        }
        let table = Arc::new(ArrayTable::new(&self.path, array.clone())?);
        let table: Arc<dyn crate::data::content::Table> = table;
        let mut plan = Plan::new(&table, settings.strings)?;
        let are_rows = array.dtype().record().is_some() || is_table(array.as_ref());
        if !is_table(array.as_ref()) {
            let what = if are_rows {
                "its records are the rows of a table"
            } else {
                "it becomes a table of its elements"
            };
            self.losses.push(note(LossKind::Type, what));
        }
        self.losses.append(&mut plan.losses);
        self.content = Content::Table(plan);
        Ok(())
    }

    /// Whether the name of a node is one that the reader made of `EXTNAME` to tell twins apart.
    fn is_twin(&self, name: &str) -> bool {
        let told = self.attributes.get("EXTNAME").map(|value| value.to_string());
        told.is_some_and(|told| {
            name.strip_prefix(&told).is_some_and(|rest| rest.starts_with(" (") && rest.ends_with(')'))
        })
    }

    /// `EXTNAME` for the `n`-th extension of a name.
    fn extname(&self, name: &str, n: usize) -> Option<String> {
        if self.is_twin(name) {
            return self.attributes.get("EXTNAME").map(|value| value.to_string());
        }
        let told = self.attributes.get("EXTNAME").map(|value| value.to_string());
        let name = match name.trim() {
            "" => told?,
            // What the reader calls units without a name.
            unnamed if unnamed == format!("HDU {n}") && told.is_none() => return None,
            name => name.to_owned(),
        };
        let plain: String = name.chars().map(|c| if (' '..='~').contains(&c) { c } else { '_' }).collect();
        Some(plain)
    }

    /// The header, before the checksums; `sizes` are those of the heap and of its longest tile, where there are tiles.
    fn cards(&self, settled: Option<&table::Settled>, sizes: (u64, u64), follows: bool) -> Result<Cards> {
        let mut cards = Cards::default();
        let mut is_cut = false;
        let mut is_described = false;
        match &self.content {
            Content::Image(pixels) => {
                start(self.is_primary, pixels.bits, &mut cards);
                pixels.put_sides("NAXIS", &mut cards);
                end(self.is_primary, follows, &mut cards);
                pixels.put_meaning(&self.attributes, &mut cards);
                is_cut = image::is_cut(&self.attributes, &pixels.shape());
            }
            Content::Tiles(pixels, packing) => {
                cards = packing.cards(pixels, sizes.0, sizes.1)?;
                pixels.put_meaning(&self.attributes, &mut cards);
                is_cut = image::is_cut(&self.attributes, &pixels.shape());
            }
            Content::Table(plan) => {
                is_described = plan.is_described(&self.attributes);
                let settled = settled.ok_or_else(|| Error::bug("a table that was not measured"))?;
                cards = plan.cards(settled, !is_described);
            }
            Content::Nothing => {
                start(self.is_primary, 8, &mut cards);
                cards.say("NAXIS", 0, "no data");
                end(self.is_primary, follows, &mut cards);
            }
        }
        if let Some(name) = self.name.as_ref().filter(|_| !self.is_primary) {
            cards.say("EXTNAME", name.as_str(), "");
        }
        for (name, value) in &self.attributes.list {
            let is_gone = is_structural(name)
                || name == "EXTNAME" && !self.is_primary
                || is_cut && image::is_world(name)
                || !is_described && is_of_column(name);
            if !is_gone {
                cards.attribute(name, &self.attributes.exact(name, value), "");
            }
        }
        Ok(cards)
    }

    /// What a reader will find in the header: attributes and axes.
    fn outline(&self, follows: bool) -> Result<(Vec<(String, Value)>, Vec<Axis>)> {
        let settled = match &self.content {
            Content::Table(plan) => Some(plan.outline()?),
            _ => None,
        };
        let header = self.cards(settled.as_ref(), (0, 0), follows)?.read()?;
        Ok(match &self.content {
            Content::Image(pixels) => (header.attributes(), wcs::axes(&header, pixels.shape().len())),
            Content::Tiles(pixels, _) => {
                (tiles::attributes(&header), wcs::axes(&header, pixels.shape().len()))
            }
            _ => (header.attributes(), Vec::new()),
        })
    }
}

/// Whether an array stands for the rows of a table.
fn is_table(array: &dyn Array) -> bool {
    let is_record =
        |kind: &crate::data::dtype::Variable| matches!(kind.arrow, arrow::datatypes::DataType::Struct(_));
    matches!(array.dtype(), crate::data::dtype::DType::Variable(kind) if is_record(kind))
        && array.shape().len() == 1
}

/// The first cards of an image.
fn start(is_primary: bool, bits: i64, cards: &mut Cards) {
    match is_primary {
        true => cards.say("SIMPLE", true, "conforms to the FITS standard"),
        false => cards.say("XTENSION", "IMAGE", "image extension"),
    }
    cards.say("BITPIX", bits, "bits of a value; below zero floats");
}

/// Those behind the sides of an image.
fn end(is_primary: bool, follows: bool, cards: &mut Cards) {
    if !is_primary {
        cards.say("PCOUNT", 0, "");
        cards.say("GCOUNT", 1, "");
    } else if follows {
        cards.say("EXTEND", true, "extensions follow");
    }
}

/// The number at the end of a keyword's prefix.
fn has_number(name: &str, prefixes: &[&str]) -> bool {
    let digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    prefixes.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(digits))
}

/// Whether a keyword describes how the data lie, which the writer says itself.
fn is_structural(name: &str) -> bool {
    const ALONE: [&str; 30] = [
        "SIMPLE", "XTENSION", "BITPIX", "NAXIS", "EXTEND", "PCOUNT", "GCOUNT", "GROUPS", "TFIELDS", "THEAP",
        "BSCALE", "BZERO", "BLANK", "END", "CONTINUE", "HIERARCH", "CHECKSUM", "DATASUM", "ZIMAGE",
        "ZCMPTYPE", "ZQUANTIZ", "ZDITHER0", "ZBLANK", "ZSCALE", "ZZERO", "ZTABLE", "ZHECKSUM", "ZDATASUM",
        "ZBITPIX", "ZNAXIS",
    ];
    ALONE.contains(&name)
        || has_number(
            name,
            &[
                "NAXIS", "TTYPE", "TFORM", "TDIM", "TNULL", "TSCAL", "TZERO", "TBCOL", "ZNAXIS", "ZTILE",
                "ZNAME", "ZVAL", "ZFORM", "ZCTYP", "PTYPE", "PSCAL", "PZERO",
            ],
        )
}

/// Whether a keyword says something of a column of a table.
fn is_of_column(name: &str) -> bool {
    has_number(
        name,
        &[
            "TUNIT", "TDISP", "TCOMM", "TUCD", "TUTYP", "TCTYP", "TCUNI", "TCRVL", "TCRPX", "TCDLT", "TMIN",
            "TMAX", "TDMIN", "TDMAX", "TLMIN", "TLMAX",
        ],
    )
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok((units, mut losses)) = Settings::of(options).and_then(|settings| units(payload, &settings)) else {
        return Vec::new();
    };
    let (mut new, mut may_change) = (BTreeSet::new(), false);
    let follows = units.len() > 1;
    for unit in &units {
        losses.extend(unit.losses.iter().cloned().map(|loss| loss.at(&unit.path)));
        if let Content::Table(plan) = &unit.content {
            losses.extend(plan.losses.iter().cloned().map(|loss| loss.at(&unit.path)));
        }
        let Ok((there, axes)) = unit.outline(follows) else { continue };
        let mut found = kept(&unit.attributes, &there);
        new.extend(found.new.drain(..));
        new.extend(
            ["CHECKSUM", "DATASUM"]
                .map(str::to_owned)
                .into_iter()
                .filter(|name| unit.attributes.get(name).is_none()),
        );
        may_change |= unit.attributes.get("DATASUM").is_some() || matches!(unit.content, Content::Table(_));
        // What describes the data is said once for all.
        let of_data = |name: &String| is_structural(name);
        let changed = found.changed.iter().map(|(name, _)| name).chain(&found.gone);
        new.extend(changed.filter(|name| of_data(name)).cloned());
        found.gone.retain(|name| !of_data(name));
        found.changed.retain(|(name, _)| !of_data(name));
        attribute_losses(&found, "FITS", &unit.path, &mut losses);
        axis_losses(&unit.facts, unit.rank, &axes, &unit.path, &mut losses);
    }
    if !new.is_empty() || may_change {
        let some: Vec<&String> = new.iter().collect();
        let what = match some.is_empty() {
            true => "the cards that describe the data are made anew".to_owned(),
            false => format!("the cards that describe the data are FITS's own ({})", names(&some)),
        };
        let made = note(LossKind::Metadata, what);
        losses.push(if new.is_empty() { made.if_any() } else { made });
    }
    losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let settings = Settings::of(options)?;
    let (units, left_out) = units(payload, &settings)?;
    if !units.iter().any(Unit::is_content) {
        return refused(&left_out);
    }
    let bytes = |unit: &Unit| match &unit.content {
        Content::Image(pixels) | Content::Tiles(pixels, _) => array_bytes(pixels.array.as_ref()).unwrap_or(0),
        _ => 0,
    };
    task.set_total(units.iter().fold(0u64, |total, unit| total.saturating_add(bytes(unit))));
    let follows = units.len() > 1;
    for unit in &units {
        task.set_message(unit.path.clone());
        one(task, unit, follows, sink).map_err(|error| error.in_node(&unit.path))?;
    }
    task.set_message("");
    Ok(())
}

/// Writes one unit.
fn one(task: &Task, unit: &Unit, follows: bool, sink: &mut dyn Sink) -> Result<()> {
    let settled = match &unit.content {
        Content::Table(plan) => Some(plan.settle(task)?),
        _ => None,
    };
    let cards = unit.cards(settled.as_ref(), (0, 0), follows)?;
    unit::write(sink, &cards, |data| {
        match (&unit.content, &settled) {
            (Content::Image(pixels), _) => pixels.put(task, data)?,
            (Content::Tiles(pixels, packing), _) => {
                let sizes = packing.put(task, pixels, data)?;
                return unit.cards(None, sizes, follows);
            }
            (Content::Table(plan), Some(settled)) => plan.put(task, settled, data)?,
            _ => {}
        }
        Ok(cards.clone())
    })
}

#[cfg(test)]
mod tests;
