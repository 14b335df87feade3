//! What NetCDF of any version holds of a payload: dimensions that variables share, variables of its types, attributes,
//! and names as it has them; with what is lost on the way. Two writers lay it out: NetCDF classic, and NetCDF-4 in HDF5.
//! <https://docs.unidata.ucar.edu/nug/current/netcdf_data_model.html>
//!
//! | room | what is in it |
//! |---|---|
//! | [`names`] | names that are valid, and told apart |
//! | [`types`] | types of elements and what others become |
//! | [`dimensions`] | dimensions by name, length and group; made up where they have no name |
//! | [`attributes`](mod@attributes) | attributes in NetCDF's types |
//! | [`cells`] | elements in the types of the file, with values that stand for null |

pub mod attributes;
pub mod cells;
pub mod dimensions;
pub mod names;
pub mod types;

use crate::data::dtype::{DType, TimeBase};
use crate::data::format::{Attributes, Loss, LossKind, Payload, loss, note};
use crate::data::node::Value;
use crate::engines::attributes::Encoded;
use crate::engines::variables::{Values, Variable, Variables};
use dimensions::{Along, Dimension, Dimensions, Wanted, join};
use names::{unique, valid};
use std::collections::{BTreeMap, BTreeSet};
use types::Stored;

/// What stands between the names of a group and of what is in it, where there are no groups.
pub const FLAT: &str = "__";
/// The dimension of the parts of complex numbers, as nc-complex knows it.
pub const COMPLEX: &str = "ri";

/// The attribute that says how characters are coded.
pub const ENCODING: &str = "_Encoding";

/// A version of NetCDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// NetCDF classic, by its number: 1, 2 or 5.
    Classic(u8),
    /// NetCDF-4.
    Four,
}

impl Version {
    /// Whether it has integers without sign and of 64 bits.
    pub fn is_wide(self) -> bool {
        matches!(self, Version::Four | Version::Classic(5))
    }

    /// Whether it has groups.
    pub fn has_groups(self) -> bool {
        self == Version::Four
    }

    /// Whether it has texts of any length.
    pub fn has_strings(self) -> bool {
        self == Version::Four
    }
}

/// A variable in the file.
pub struct Kept {
    /// Its path; without groups its name.
    pub path: String,
    /// The numbers of its dimensions; those of texts as characters are not among them.
    pub dimensions: Vec<usize>,
    /// How its elements are kept.
    pub stored: Stored,
    /// Its attributes.
    pub attributes: Vec<(String, Encoded)>,
    /// Where its values come from.
    pub source: Variable,
}

/// Everything that is in the file.
#[derive(Default)]
pub struct Model {
    /// Groups and their attributes by path, those above first.
    pub groups: BTreeMap<String, Vec<(String, Encoded)>>,
    /// The attributes of the file.
    pub attributes: Vec<(String, Encoded)>,
    /// Dimensions.
    pub dimensions: Vec<Dimension>,
    /// Variables, in the order of the payload.
    pub variables: Vec<Kept>,
    /// What is lost.
    pub losses: Vec<Loss>,
}

/// What was set.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The version.
    pub version: Version,
    /// Whether null texts and truth values are filled.
    pub fill: bool,
    /// The names of dimensions that can grow.
    pub unlimited: Vec<String>,
}

/// The names that groups and variables got.
struct Naming {
    version: Version,
    /// What is there, by the path of its group.
    taken: BTreeMap<String, BTreeSet<String>>,
    /// The groups by their names in the payload.
    groups: BTreeMap<Vec<String>, String>,
}

impl Naming {
    /// The path of a group; made where it is not there.
    fn group(&mut self, path: &[String]) -> String {
        let Some((name, above)) = path.split_last() else { return String::new() };
        if let Some(known) = self.groups.get(path) {
            return known.clone();
        }
        let above = self.group(above);
        let own = match self.version.has_groups() {
            true => join(&above, &unique(self.taken.entry(above.clone()).or_default(), &valid(name))),
            // Only where dimensions lie: two of the same name are one.
            false => join(&above, &valid(name)),
        };
        self.groups.insert(path.to_vec(), own.clone());
        own
    }

    /// The group and the name of a variable.
    fn variable(&mut self, path: &[String]) -> (String, String) {
        let Some((name, above)) = path.split_last() else { return (String::new(), String::new()) };
        let group = self.group(above);
        match self.version.has_groups() {
            true => {
                let name = unique(self.taken.entry(group.clone()).or_default(), &valid(name));
                (group, name)
            }
            false => {
                let flat = valid(&flat(&group, &valid(name)));
                (group, unique(self.taken.entry(String::new()).or_default(), &flat))
            }
        }
    }
}

/// The name of something in a group, where there are none.
pub fn flat(group: &str, name: &str) -> String {
    join(group, name).replace('/', FLAT)
}

impl Model {
    /// What is in the file of a payload whose table has so many `rows`.
    pub fn of(payload: &Payload, rows: u64, rules: &Rules) -> Self {
        let version = rules.version;
        let all = Variables::of(payload, rows);
        let mut model = Model { losses: all.losses.clone(), ..Model::default() };
        let is_table = payload.table().is_ok();
        let alone = all.list.len() == 1 && !is_table;
        if is_table {
            model.losses.push(note(LossKind::Type, "each column becomes a variable along the dimension row"));
        }
        let mut naming = Naming { version, taken: BTreeMap::new(), groups: BTreeMap::new() };
        for (path, item, own) in &all.groups {
            model.group(&mut naming, path, item, own, version);
        }
        let mut homes = Vec::new();
        for variable in all.list {
            let Some(stored) = types::stored(&variable.dtype, version) else {
                let what = format!("NetCDF has no {}: it is left out", variable.dtype);
                model.losses.push(variable.say(loss(LossKind::Type, what)));
                continue;
            };
            if let Some(what) = unfit(&variable, version) {
                model.losses.push(variable.say(loss(LossKind::Type, what)));
                continue;
            }
            let (group, name) = naming.variable(&variable.path);
            let path = if version.has_groups() { join(&group, &name) } else { name.clone() };
            let was = match variable.is_part() || is_table {
                true => variable.path.join("/"),
                false => variable.item.clone(),
            };
            if path != was {
                let what = format!("it is called {path} in the file");
                let said = variable.say(note(LossKind::Name, what).called(&path));
                model.losses.push(if alone || variable.is_part() && !is_table {
                    said.if_any()
                } else {
                    said
                });
            }
            homes.push((group, variable.path.last().map(|name| valid(name)).unwrap_or_default()));
            model.variable(path, stored, variable, rules);
        }
        if version.has_groups() {
            for path in naming.groups.values() {
                model.groups.entry(path.clone()).or_default();
            }
        }
        let (own, lost) = attributes::kept(&all.attributes, None, version);
        // What groups had stands behind the file's own.
        let of_groups = std::mem::replace(&mut model.attributes, own);
        model.attributes.extend(of_groups);
        model.losses.extend(lost);
        let groups = naming.groups.values().cloned().collect();
        model.dimensions(&homes, &groups, rules);
        model
    }

    fn group(
        &mut self,
        naming: &mut Naming,
        path: &[String],
        item: &str,
        own: &Attributes,
        version: Version,
    ) {
        let made = naming.group(path);
        let (kept, losses) = attributes::kept(own, None, version);
        if version.has_groups() {
            if made != path.join("/") {
                let what = format!("it is called {made} in the file");
                self.losses.push(note(LossKind::Name, what).at(item).called(&made));
            }
            self.losses.extend(losses.into_iter().map(|loss| loss.at(item)));
            self.groups.insert(made, kept);
            return;
        }
        if !kept.is_empty() {
            let what = "its attributes become attributes of the file whose names begin with its own";
            self.losses.push(note(LossKind::Attribute, what).at(item));
        }
        self.losses.push(note(LossKind::Metadata, "NetCDF classic has no groups").at(item).if_any());
        self.attributes.extend(kept.into_iter().map(|(name, value)| (valid(&flat(&made, &name)), value)));
    }

    fn variable(&mut self, path: String, stored: Stored, source: Variable, rules: &Rules) {
        let version = rules.version;
        for loss in types::told(&source.dtype, &stored, version, source.is_part()) {
            self.losses.push(source.say(loss));
        }
        if let (Values::Column(_), true) = (&source.values, source.shape.len() > 1) {
            let what = "lists of one length lie along one more dimension";
            self.losses.push(source.say(note(LossKind::Type, what)));
        }
        self.nulls(&source, &stored, rules);
        let mut own = source.attributes.clone();
        let added = said_of(&source.dtype, &stored);
        for (name, value) in added.iter().filter(|(name, value)| source.attributes.get(name) != Some(value)) {
            own.remove(&[*name]);
            own.types.remove(*name);
            own.list.push(((*name).to_owned(), value.clone()));
            let what = "an attribute says what its numbers are";
            let loss = note(LossKind::Attribute, what).at(&source.item);
            self.losses.push(if source.is_part() { loss.if_any() } else { loss.of(*name) });
        }
        let (mut kept, lost) = attributes::kept(&own, Some((&source.dtype, &stored)), version);
        if stored == Stored::Text && !version.has_strings() && own.get(ENCODING).is_none() {
            // As xarray says that characters are text; readers of text apply it.
            kept.push((ENCODING.to_owned(), Encoded::Text("utf-8".to_owned())));
        }
        let is_signed = matches!(&stored, Stored::Number(n) if added.iter().any(|(name, _)| *name == "_Unsigned") && n.dtype != source.dtype);
        if is_signed {
            let what = "attributes that are compared with elements have a sign";
            self.losses.push(note(LossKind::Attribute, what).at(&source.item).if_any());
        }
        self.losses.extend(lost.into_iter().map(|loss| loss.at(&source.item)));
        self.variables.push(Kept { path, dimensions: Vec::new(), stored, attributes: kept, source });
    }

    /// What is said of nulls.
    fn nulls(&mut self, source: &Variable, stored: &Stored, rules: &Rules) {
        if !source.nullable {
            return;
        }
        let mut say = |loss: Loss| self.losses.push(source.say(loss).if_any());
        match stored {
            Stored::Number(_) if matches!(source.dtype, DType::DateTime(_) | DType::TimeDelta(_)) => {
                say(note(LossKind::Null, "null cells become not-a-time"));
            }
            Stored::Number(number) if number.dtype.is_float() => {
                say(note(LossKind::Null, "null cells become NaN"));
            }
            Stored::Number(number) if source.dtype != DType::Bool => {
                let filler = crate::data::cell::element(&number.dtype, &types::fill(&number.dtype));
                let what = format!("null cells become {filler}, which _FillValue says");
                for kind in [LossKind::Null, LossKind::Scale] {
                    say(note(kind, what.clone()));
                }
                self.losses.push(note(LossKind::Attribute, what).at(&source.item).if_any());
            }
            _ if rules.fill => say(loss(LossKind::Null, "null cells become empty text or false")),
            _ => say(note(LossKind::Null, "a null cell, if there is one, stops the conversion")),
        }
    }

    /// Gives every variable its dimensions.
    fn dimensions(&mut self, homes: &[(String, String)], groups: &BTreeSet<String>, rules: &Rules) {
        let shapes: Vec<&[u64]> = self.variables.iter().map(|kept| kept.source.shape.as_slice()).collect();
        let wanted = self.variables.iter().zip(homes).zip(&shapes);
        let wanted: Vec<Wanted<'_>> = wanted
            .map(|((kept, (group, name)), shape)| Wanted { group, name, shape, axes: &kept.source.axes })
            .collect();
        let beside = if rules.version.has_groups() { groups.clone() } else { BTreeSet::new() };
        let (mut all, along) = Dimensions::of(&wanted, &beside, &rules.unlimited);
        let mut said = Vec::new();
        for (kept, along) in self.variables.iter_mut().zip(along) {
            said.extend(told(&kept.source, &along, rules.version));
            kept.dimensions = along.dimensions;
            if let Stored::Number(number) = &kept.stored
                && let Some(inner) = number.inner
            {
                let is_complex = kept.source.dtype.is_complex();
                let name = match kept.source.dtype {
                    DType::Bytes(_) => format!("string{inner}"),
                    _ if is_complex => COMPLEX.to_owned(),
                    _ => format!("bytes{inner}"),
                };
                kept.dimensions.push(all.named("", &name, inner).0);
            }
        }
        self.losses.extend(said);
        self.dimensions = all.list;
        if !rules.version.has_groups() {
            let mut taken = BTreeSet::new();
            for dimension in &mut self.dimensions {
                let name = valid(&flat(&dimension.group, &dimension.name));
                (dimension.group, dimension.name) = (String::new(), unique(&mut taken, &name));
            }
            self.renamed();
        }
    }

    /// Says which names of dimensions are other ones in a file without groups.
    fn renamed(&mut self) {
        let mut said = Vec::new();
        for kept in self.variables.iter().filter(|kept| !kept.source.is_part()) {
            for (axis, number) in kept.source.axes.iter().zip(&kept.dimensions) {
                let Some(dimension) = self.dimensions.get(*number) else { continue };
                if !axis.is_empty() && *axis != dimension.name {
                    let what = format!("its dimension {axis} is called {}", dimension.name);
                    said.push(note(LossKind::Name, what).at(&kept.source.item));
                }
            }
        }
        for loss in said {
            if !self.losses.contains(&loss) {
                self.losses.push(loss);
            }
        }
    }

    /// Whether there is something to write.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }
}

/// What is said of a variable's dimensions.
fn told(source: &Variable, along: &Along, version: Version) -> Vec<Loss> {
    if source.is_part() || matches!(source.values, Values::Column(_)) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (name, new) in along.renamed.iter().filter(|_| version.has_groups()) {
        all.push(note(LossKind::Name, format!("its dimension {name} is called {new}")).at(&source.item));
    }
    if !along.made_up.is_empty() {
        let names = along.made_up.join(", ");
        let what = format!("its dimensions without a name get one ({names})");
        all.push(note(LossKind::Name, what).at(&source.item));
    }
    all
}

/// Why a variable has no place in a version.
fn unfit(variable: &Variable, version: Version) -> Option<String> {
    let inner = variable.shape.get(1..).unwrap_or_default();
    (!version.has_groups() && inner.contains(&0))
        .then(|| "NetCDF classic has no dimension of length 0 but the first: it is left out".to_owned())
}

/// Attributes that say what numbers of other types are.
fn said_of(dtype: &DType, stored: &Stored) -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::from(text);
    match (dtype, stored) {
        (DType::Bool, _) => vec![("dtype", text("bool"))],
        (DType::DateTime(unit), _) if unit.base != TimeBase::Generic => {
            let word = types::unit(*unit, true).unwrap_or_default();
            vec![
                ("units", Value::Text(format!("{word} since 1970-01-01"))),
                ("calendar", text("proleptic_gregorian")),
            ]
        }
        (DType::TimeDelta(unit), _) if unit.base != TimeBase::Generic => {
            vec![("units", text(types::unit(*unit, false).unwrap_or_default()))]
        }
        (DType::U8 | DType::U16 | DType::U32, Stored::Number(number)) if number.dtype != *dtype => {
            vec![("_Unsigned", text("true"))]
        }
        _ => Vec::new(),
    }
}

/// The attribute that says which number stands for null.
pub fn fill_attribute(dtype: &DType) -> (String, Encoded) {
    ("_FillValue".to_owned(), Encoded::Numbers(dtype.clone(), types::fill(dtype), None))
}

/// The names in an option that is a list of them.
pub fn listed(text: &str) -> Vec<String> {
    text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}
