//! Words for tabs of which several are called the same: with the file where files differ, with the module where that
//! does.

use std::collections::HashMap;

use egui_tiles::TileId;

use super::Pane;
use crate::gui::files::Files;

/// What a tab shows, as far as its words go.
#[derive(Clone, Debug)]
struct Named {
    id: TileId,
    title: String,
    file: String,
    path: String,
}

/// The words of those tabs that are not told apart by their own.
pub(super) fn distinct<'a>(
    panes: impl Iterator<Item = (TileId, &'a Pane)>,
    files: &Files,
) -> HashMap<TileId, String> {
    let mut groups: HashMap<String, Vec<Named>> = HashMap::new();
    for (id, pane) in panes {
        let Some(node) = pane.node() else { continue };
        let file = files.get(node.file).map(|file| file.name()).unwrap_or_default();
        let named = Named { id, title: pane.title().to_owned(), file, path: node.path.clone() };
        groups.entry(named.title.clone()).or_default().push(named);
    }
    groups.into_values().filter(|group| group.len() > 1).flat_map(|group| told_apart(&group)).collect()
}

/// The words of tabs of one name.
fn told_apart(group: &[Named]) -> Vec<(TileId, String)> {
    let files_differ = group.iter().any(|named| named.file != group[0].file);
    let words = |named: &Named| {
        let module = module(named, group);
        let mut title = match module {
            Some(module) => format!("{module}…{}", named.title),
            None => named.title.clone(),
        };
        if files_differ && named.file != named.title {
            title = format!("{title} · {}", named.file);
        }
        (named.id, title)
    };
    group.iter().map(words).collect()
}

/// The part of the path that others of the same file and name do not have: `layers.0`.
fn module(named: &Named, group: &[Named]) -> Option<String> {
    let split = |path: &str| path.split(['.', '/']).map(str::to_owned).collect::<Vec<String>>();
    let mine = split(&named.path);
    let others: Vec<Vec<String>> = group
        .iter()
        .filter(|other| other.file == named.file && other.path != named.path)
        .map(|other| split(&other.path))
        .collect();
    // From the end, since the beginning is the same in all of a model.
    let differs = |back: &usize| {
        let at = |path: &[String]| path.len().checked_sub(*back).and_then(|at| path.get(at).cloned());
        others.iter().any(|other| at(other) != at(&mine))
    };
    let back = (1..=mine.len()).find(differs).filter(|_| !others.is_empty())?;
    let at = mine.len().checked_sub(back)?;
    let segment = mine.get(at)?;
    let is_number = segment.bytes().all(|c| c.is_ascii_digit());
    // A number says nothing without what it counts.
    match at
        .checked_sub(1)
        .and_then(|before| mine.get(before))
        .filter(|before| is_number && !before.is_empty())
    {
        Some(before) => Some(format!("{before}.{segment}")),
        None => Some(segment.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(all: &[(&str, &str, &str)]) -> Vec<String> {
        let named = |(n, (title, file, path)): (usize, &(&str, &str, &str))| Named {
            id: TileId::from_u64(n as u64),
            title: (*title).to_owned(),
            file: (*file).to_owned(),
            path: (*path).to_owned(),
        };
        let group: Vec<Named> = all.iter().enumerate().map(named).collect();
        told_apart(&group).into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn tabs_of_one_name_say_their_module_and_their_file() {
        let weight = |layer: u64| format!("model.layers.{layer}.self_attn.v_proj.weight");
        let (first, second) = (weight(0), weight(11));
        let title = "v_proj.weight";
        assert_eq!(
            told(&[(title, "m.safetensors", &first), (title, "m.safetensors", &second)]),
            ["layers.0…v_proj.weight", "layers.11…v_proj.weight"]
        );
        assert_eq!(
            told(&[(title, "base.safetensors", &first), (title, "ft.safetensors", &first)]),
            ["v_proj.weight · base.safetensors", "v_proj.weight · ft.safetensors"]
        );
        assert_eq!(told(&[("x", "a.h5", "/train/x"), ("x", "a.h5", "/test/x")]), ["train…x", "test…x"]);
        // The same node twice, and files in different folders: nothing more is known.
        assert_eq!(told(&[("x", "a.h5", "/x"), ("x", "a.h5", "/x")]), ["x", "x"]);
    }
}
