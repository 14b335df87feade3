//! What a session keeps of the tabs: those of each group, and how the groups stand.

use std::collections::BTreeMap;
use std::path::Path;

use egui_tiles::{Container, Linear, LinearDir, Tile, TileId, Tiles, Tree};

use super::{KeptContent, NodeRef, Pane, Split, Tab, TabContent, Tabs};
use crate::gui::files::Files;

/// The tabs of a group, and the one that is open.
type Group = (Vec<TileId>, Option<TileId>);

impl Tabs {
    /// What the session keeps: the tabs of each group from left to right, which one is active, how the groups
    /// stand.
    pub(crate) fn keep(&self, files: &Files) -> (Vec<Tab>, Option<Split>) {
        let mut groups: Vec<Option<TileId>> = Vec::new();
        let mut out = Vec::new();
        for id in self.order() {
            let parent = self.tree.tiles.parent_of(id);
            let group = groups.iter().position(|g| *g == parent).unwrap_or_else(|| {
                groups.push(parent);
                groups.len() - 1
            });
            let Some(pane) = self.tree.tiles.get_pane(&id) else { continue };
            let open = match parent.and_then(|parent| self.tree.tiles.get_container(parent)) {
                Some(Container::Tabs(tabs)) => tabs.active == Some(id),
                _ => true,
            };
            out.extend(pane.keep(files, group, open, self.active == Some(id)));
        }
        let split = self.tree.root().and_then(|root| split(&self.tree.tiles, root, &groups));
        (out, split)
    }

    /// Puts back the tabs of a session; `file` finds or opens a file.
    pub(crate) fn restore(
        &mut self,
        tabs: &[Tab],
        split: Option<&Split>,
        mut file: impl FnMut(&Path) -> Option<u64>,
    ) {
        let mut tiles = std::mem::take(&mut self.tree.tiles);
        let (mut groups, mut active): (BTreeMap<usize, Group>, _) = (BTreeMap::new(), None);
        for tab in tabs {
            let content = match &tab.content {
                KeptContent::Node(path, node) => {
                    file(path).map(|file| NodeRef::new(file, node)).map(TabContent::Node)
                }
                KeptContent::Query(number) => Some(TabContent::Query(*number)),
            };
            let Some(content) = content else { continue };
            let id = tiles.insert_pane(Pane::restored(self.next(), content, tab));
            let (list, open) = groups.entry(tab.group).or_default();
            list.push(id);
            if tab.open || tab.active {
                *open = Some(id);
            }
            active = if tab.active { Some(id) } else { active.or(Some(id)) };
        }
        let mut parts: Vec<TileId> = self.tree.root().into_iter().collect();
        parts.extend(split.and_then(|split| tile(&mut tiles, split, &mut groups)));
        // Those of an older session stand side by side.
        parts.extend(groups.into_values().map(|group| tabs_of(&mut tiles, group)));
        let root = match parts.as_slice() {
            [] => return,
            [one] => *one,
            _ => tiles.insert_horizontal_tile(parts),
        };
        self.tree = Tree::new(egui::Id::unique("tabs"), root, tiles);
        if let Some(id) = active {
            self.activate(id, super::FocusRequest::Now);
        }
    }
}

/// How the groups below a tile stand.
fn split(tiles: &Tiles<Pane>, id: TileId, groups: &[Option<TileId>]) -> Option<Split> {
    if let Some(group) = groups.iter().position(|group| *group == Some(id)) {
        return Some(Split::Group(group));
    }
    let Some(Tile::Container(container)) = tiles.get(id) else { return None };
    let share = |child: TileId| match container {
        Container::Linear(linear) => linear.shares[child],
        _ => 1.0,
    };
    let part = |child: &TileId| Some((share(*child), split(tiles, *child, groups)?));
    let parts: Vec<(f32, Split)> = container.children().filter_map(part).collect();
    match container {
        _ if parts.is_empty() => None,
        Container::Linear(linear) if linear.dir == LinearDir::Vertical => Some(Split::Below(parts)),
        _ => Some(Split::Beside(parts)),
    }
}

/// The tile of groups that stand like this; each group goes into it once.
fn tile(tiles: &mut Tiles<Pane>, split: &Split, groups: &mut BTreeMap<usize, Group>) -> Option<TileId> {
    let (dir, parts) = match split {
        Split::Group(group) => return groups.remove(group).map(|group| tabs_of(tiles, group)),
        Split::Beside(parts) => (LinearDir::Horizontal, parts),
        Split::Below(parts) => (LinearDir::Vertical, parts),
    };
    let mut linear = Linear::new(dir, Vec::new());
    for (share, part) in parts {
        let Some(id) = tile(tiles, part, groups) else { continue };
        linear.add_child(id);
        if share.is_finite() && *share > 0.0 {
            linear.shares.set_share(id, *share);
        }
    }
    match linear.children.as_slice() {
        [] => None,
        [one] => Some(*one),
        _ => Some(tiles.insert_container(linear)),
    }
}

fn tabs_of(tiles: &mut Tiles<Pane>, (list, open): Group) -> TileId {
    let id = tiles.insert_tab_tile(list);
    if let (Some(open), Some(Tile::Container(Container::Tabs(tabs)))) = (open, tiles.get_mut(id)) {
        tabs.set_active(open);
    }
    id
}
