//! The folder in which IPython's `%store` keeps variables: a pickle a file, in folders by their names (`autorestore`),
//! as pickleshare writes them.
//! <https://github.com/pickleshare/pickleshare>

use crate::bytes::error::Result;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};

/// The descriptor.
pub static FORMAT: Format = Format {
    sniff: Some(sniff),
    reads: &[Kind::Group],
    ..Format::new("pickleshare", "IPython store (pickleshare)", open)
};

/// What IPython keeps in it under names of its own.
const FOLDERS: [&str; 3] = ["autorestore", "dhist", "rootmodules"];

fn sniff(head: &Head) -> Match {
    let known = |name: &str| head.entries.iter().any(|entry| entry.name == name);
    match head.is_folder && FOLDERS.iter().any(|name| known(name)) {
        true => Match::Yes,
        false => Match::No,
    }
}

/// A node for each file, with the folders as groups.
fn open(opening: &Opening) -> Result<Node> {
    let mut children = Vec::new();
    for entry in &opening.head.entries {
        let (source, name) = (opening.source.clone(), entry.name.clone());
        let label = if entry.is_folder { "folder" } else { "variable" };
        let options = opening.options.below(&entry.name);
        children.push(
            crate::formats::ALL
                .nested(entry.name.as_str(), label, options, move |task| source.child(task, &name)),
        );
    }
    Ok(Node::new(opening.source.name(), "store").listed(children))
}
