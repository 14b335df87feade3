//! What pictures carry beside their pixels, whatever file they are in: EXIF, XMP, IPTC and ICC profiles, each as a tree
//! below the picture's node; larger ones are made when somebody looks into them.

pub mod exif;
mod icc;
mod iptc;
mod xmp;

pub use icc::{description, photoshop};

use crate::bytes::error::Result;
use crate::data::node::Node;
use bytes::Bytes;

/// Bytes of a profile that are read.
pub const PROFILE: u64 = 16 << 20;

/// The blocks that a file has, as they stand in it.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// A TIFF structure with EXIF's directories, perhaps behind `Exif\0\0`.
    pub exif: Option<Bytes>,
    /// XMP packets, one after the other.
    pub xmp: Vec<Bytes>,
    /// Data sets of IPTC's Information Interchange Model.
    pub iptc: Option<Bytes>,
    /// An ICC profile.
    pub profile: Option<Bytes>,
}

impl Blocks {
    /// A node for each block.
    pub fn nodes(&self) -> Vec<Node> {
        let mut nodes = Vec::new();
        if let Some(block) = self.exif.clone() {
            nodes.push(Node::deferred("EXIF", "metadata", move |task| exif::node(task, &block)));
        }
        if !self.xmp.is_empty() {
            let packets = self.xmp.clone();
            nodes.push(Node::deferred("XMP", "metadata", move |task| xmp::node(task, &packets)));
        }
        // These two are small, and have nothing below them.
        let shown = |node: Result<Node>, name: &str, label: &'static str| {
            node.unwrap_or_else(|error| Node::new(name, label).problem(error))
        };
        nodes.extend(self.iptc.as_ref().map(|block| shown(iptc::node(block), "IPTC", "metadata")));
        nodes.extend(self.profile.as_ref().map(|block| shown(icc::node(block), "ICC profile", "profile")));
        nodes
    }

    /// Puts them below a picture that has its other children already.
    pub fn below(&self, root: Node, mut children: Vec<Node>) -> Node {
        children.extend(self.nodes());
        if children.is_empty() { root } else { root.listed(children) }
    }
}

#[cfg(test)]
mod tests {
    use crate::bytes::task::Task;
    use crate::data::format::Options;
    use crate::data::node::Node;
    use std::path::Path;

    fn said(node: &Node, name: &str) -> Option<String> {
        node.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.to_string())
    }

    #[test]
    fn every_format_has_the_same_trees() {
        let task = Task::new();
        let files = [
            ("jpeg/metadata.jpg", true),
            ("tiff/metadata.tif", true),
            ("png/metadata_blocks.png", false),
            ("webp/metadata.webp", false),
            ("heic/grid.heic", false),
        ];
        for (name, has_iptc) in files {
            let path = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
            let document = crate::open(&task, Path::new(&path), &Options::default()).unwrap();
            let below = |path: &str| {
                let found = document.root.find(&task, path).unwrap();
                found.unwrap_or_else(|| panic!("{name}: no {path}")).resolved(&task).unwrap()
            };
            assert_eq!(said(&below("/EXIF/Image"), "Make").as_deref(), Some("\"Gander\""), "{name}");
            assert_eq!(said(&below("/EXIF/Photo"), "ExposureTime").as_deref(), Some("1/125 s"), "{name}");
            let place = below("/EXIF/GPS");
            assert_eq!(said(&place, "GPSLatitude").as_deref(), Some("47 deg 22 min 3 sec N"), "{name}");
            assert_eq!(said(&below("/XMP"), "dc:title").as_deref(), Some("A goose"), "{name}");
            assert_eq!(said(&below("/XMP/exif:Flash"), "exif:Fired").as_deref(), Some("False"), "{name}");
            assert_eq!(said(&below("/ICC profile"), "description").as_deref(), Some("Gander wide"), "{name}");
            if has_iptc {
                assert_eq!(said(&below("/IPTC"), "city").as_deref(), Some("Zürs"), "{name}");
                assert_eq!(
                    said(&below("/IPTC"), "keywords").as_deref(),
                    Some("[\"bird\",\"water\"]"),
                    "{name}"
                );
            }
        }
    }
}
