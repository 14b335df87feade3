//! Conventions on top of HDF5, told by attributes: NetCDF-4, NeXus, PyTables, AnnData, Keras, pandas. They
//! name what a group or dataset is; its values are the same.

use crate::data::cf;
use crate::data::grouped;
use crate::data::node::{Node, Value};

/// What a file as a whole is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// HDF5 with nothing special about it.
    #[default]
    Plain,
    /// NetCDF-4: attributes with one value are that value.
    NetCdf,
}

/// The words of the NeXus classes that are met most, <https://manual.nexusformat.org/classes/base_classes>.
const NEXUS: [&str; 16] = [
    "NXroot",
    "NXentry",
    "NXsubentry",
    "NXdata",
    "NXinstrument",
    "NXdetector",
    "NXsample",
    "NXsource",
    "NXmonochromator",
    "NXmonitor",
    "NXprocess",
    "NXcollection",
    "NXuser",
    "NXlog",
    "NXnote",
    "NXevent_data",
];

/// The classes of PyTables with better words, <https://www.pytables.org/usersguide/file_format.html>.
const PYTABLES: [(&str, &str); 6] = [
    ("TABLE", "table"),
    ("ARRAY", "array"),
    ("CARRAY", "chunked array"),
    ("EARRAY", "enlargeable array"),
    ("VLARRAY", "array of rows of any length"),
    ("UNIMPLEMENTED", "dataset"),
];

/// The convention's word for a node with these attributes.
pub fn label(attributes: &[(String, Value)]) -> Option<&'static str> {
    let text = |name: &str| cf::text(attributes, name);
    if text("NAME").is_some_and(|name| name.starts_with(super::axes::NO_VARIABLE)) {
        return Some("dimension");
    }
    if text("CLASS").as_deref() == Some("DIMENSION_SCALE") {
        return Some("dimension scale");
    }
    if let Some(word) = super::matlab::label(attributes) {
        return Some(word);
    }
    if let Some(class) = text("NX_class") {
        return Some(NEXUS.into_iter().find(|known| *known == class).unwrap_or("NeXus group"));
    }
    if let Some(class) = text("CLASS").filter(|_| text("VERSION").is_some()) {
        return PYTABLES.into_iter().find(|(known, _)| *known == class).map(|(_, word)| word);
    }
    grouped::label(attributes)
}

/// What HDF5 keeps dimension scales in, and what NetCDF-4's library marks its files with
/// (<https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html#netcdf_4_spec>).
const RESERVED: [&str; 7] = [
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "DIMENSION_LABELS",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "_NCProperties",
];

/// Puts the attributes that are bookkeeping apart from those that say something of the data.
pub fn reserve(node: &mut Node) {
    let is_scale = cf::text(&node.attributes, "CLASS").as_deref() == Some("DIMENSION_SCALE");
    let scale = cf::text(&node.attributes, "NAME").filter(|_| is_scale);
    node.bare_dimension = scale.as_ref().is_some_and(|name| name.starts_with(super::axes::NO_VARIABLE));
    // A scale may have another name than its dataset; that is told by nothing else.
    let named = node.bare_dimension || scale.is_some_and(|name| name == node.name);
    let is_reserved = |name: &str| match name {
        "CLASS" => is_scale,
        "NAME" => named,
        other => RESERVED.contains(&other),
    };
    let all = std::mem::take(&mut node.attributes);
    (node.reserved, node.attributes) = all.into_iter().partition(|(name, _)| is_reserved(name));
    node.attribute_types.retain(|name, _| !is_reserved(name));
}

/// Says of a root group which convention its file follows and what wrote it.
pub fn describe(root: &mut Node) {
    let (attributes, reserved) = (root.attributes.as_slice(), root.reserved.as_slice());
    let text = |name: &str| cf::text(attributes, name).or_else(|| cf::text(reserved, name));
    let told = if let Some(properties) = text("_NCProperties") {
        let libraries = properties.split(',').filter(|part| !part.starts_with("version="));
        let libraries: Vec<String> = libraries.map(|part| part.replace('=', " ")).collect();
        Some(("written by", libraries.join(", ")))
    } else if let Some(version) = text("keras_version") {
        let backend = text("backend").map_or(String::new(), |backend| format!(" on {backend}"));
        Some(("written by", format!("Keras {version}{backend}")))
    } else if let Some(version) = text("PYTABLES_FORMAT_VERSION") {
        Some(("convention", format!("PyTables {version}")))
    } else if text("encoding-type").as_deref() == Some("anndata") {
        Some(("convention", format!("AnnData {}", text("encoding-version").unwrap_or_default())))
    } else {
        text("NeXus_version").map(|version| ("convention", format!("NeXus {version}")))
    };
    root.reader.extend(told.map(|(name, words)| (name.to_owned(), words.into())));
}

/// The names that a NeXus group has for the axes of its signal: (signal, axes).
pub fn signal(attributes: &[(String, Value)]) -> Option<(String, Vec<String>)> {
    Some((cf::text(attributes, "signal")?, axes(attributes)))
}

/// The names in the attribute `axes` of a group, or, in older files, of the signal itself.
pub fn axes(attributes: &[(String, Value)]) -> Vec<String> {
    match attributes.iter().find(|(name, _)| name == "axes").map(|(_, value)| value) {
        Some(Value::Text(one)) => {
            one.trim_matches(['[', ']']).split([':', ',']).map(|name| name.trim().to_owned()).collect()
        }
        Some(Value::Json(serde_json::Value::Array(list))) => {
            list.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_from_the_conventions() {
        let attributes = |list: &[(&str, &str)]| -> Vec<(String, Value)> {
            list.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
        };
        assert_eq!(label(&attributes(&[("CLASS", "CARRAY"), ("VERSION", "1.1")])), Some("chunked array"));
        assert_eq!(label(&attributes(&[("CLASS", "CARRAY")])), None);
        assert_eq!(label(&attributes(&[("NX_class", "NXdata")])), Some("NXdata"));
        assert_eq!(label(&attributes(&[("NX_class", "NXown")])), Some("NeXus group"));
        assert_eq!(label(&attributes(&[("encoding-type", "csr_matrix")])), Some("csr_matrix"));
        let axes = signal(&attributes(&[("signal", "counts"), ("axes", "two_theta:time")]));
        assert_eq!(axes, Some(("counts".to_owned(), vec!["two_theta".to_owned(), "time".to_owned()])));
    }
}
