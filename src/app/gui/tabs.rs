//! The tabs in the middle of the window, in splits that are made by drag. A tab is one view of what
//! [`TabContent`] says; the one preview tab (in italics) is replaced by the next preview.

mod banners;
mod bar;
mod capture;
mod pane;
mod pixels;
mod splits;
#[cfg(test)]
mod tests;
mod titles;
mod widget_states;

use std::collections::HashSet;

use egui::{Context, Ui};
use egui_tiles::{Container, Linear, LinearDir, Tile, TileId, Tiles, Tree};
use gander::jobs::Jobs;
use serde_json::Value;

use super::commands::{Action, Label, Where};
use super::files::Files;
use super::session::{KeptContent, Split, Tab};
use super::target::{NodeRef, QueryStart, Request, StoredValue, Subject, TabContent, Target};
use super::views::{Status, Workspace};
pub(crate) use capture::Purpose;
use pane::FocusRequest;
pub(crate) use pane::Pane;
use widget_states::WidgetStates;

/// Of so many nodes whose preview was replaced it is known how they were looked at.
const LEFT: usize = 64;

/// All tabs.
pub(crate) struct Tabs {
    tree: Tree<Pane>,
    active: Option<TileId>,
    next: u64,
    /// How the nodes were looked at whose preview was replaced, the last one at the end.
    left: Vec<(NodeRef, Value)>,
    states: WidgetStates,
}

/// What the tabs need to draw.
pub(crate) struct TabsCx<'a> {
    pub(crate) files: &'a Files,
    pub(crate) jobs: &'a Jobs,
    pub(crate) actions: &'a mut Vec<Action>,
    pub(crate) workspace: &'a mut Workspace,
    pub(crate) status: &'a mut Status,
    /// Whether keys mean the views.
    pub(crate) keyed: bool,
}

impl Default for Tabs {
    fn default() -> Self {
        let tree = Tree::empty(egui::Id::unique("tabs"));
        Tabs { tree, active: None, next: 0, left: Vec::new(), states: WidgetStates::default() }
    }
}

impl Tabs {
    /// Whether there is no tab.
    pub(crate) fn is_empty(&self) -> bool {
        self.panes().next().is_none()
    }

    /// How many tabs there are.
    pub(crate) fn len(&self) -> usize {
        self.panes().count()
    }

    fn panes(&self) -> impl Iterator<Item = (TileId, &Pane)> {
        self.tree.tiles.iter().filter_map(|(id, tile)| match tile {
            Tile::Pane(pane) => Some((*id, pane)),
            Tile::Container(_) => None,
        })
    }

    fn pane_mut(&mut self, id: TileId) -> Option<&mut Pane> {
        match self.tree.tiles.get_mut(id) {
            Some(Tile::Pane(pane)) => Some(pane),
            _ => None,
        }
    }

    /// The tab that keys and commands go to.
    pub(crate) fn active(&self) -> Option<&Pane> {
        self.active.and_then(|id| self.tree.tiles.get_pane(&id))
    }

    /// What the active tab shows.
    pub(crate) fn target(&self) -> Option<&Target> {
        self.active().and_then(Pane::target)
    }

    /// What of it the inspector should tell about.
    pub(crate) fn subject(&self) -> Subject {
        self.active().map_or(Subject::Node, Pane::subject)
    }

    /// The value under its cursor.
    pub(crate) fn value(&self) -> Option<StoredValue> {
        self.active().and_then(Pane::value)
    }

    fn at(&self, content: &TabContent) -> Option<TileId> {
        self.panes().find(|(_, pane)| pane.content() == content).map(|(id, _)| id)
    }

    fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Shows a node.
    pub(crate) fn show(&mut self, target: Target, which: Where) {
        let place = target.place();
        let found = self.at(&TabContent::Node(place.clone()));
        // Who walks through the explorer stays there.
        let focus_request = if which == Where::Preview { FocusRequest::IfFree } else { FocusRequest::Now };
        if let Some(id) = found.filter(|_| which != Where::Side) {
            self.activate(id, focus_request);
            if which == Where::Kept
                && let Some(pane) = self.pane_mut(id)
            {
                pane.preview = false;
            }
            return;
        }
        let preview = self.panes().find(|(_, pane)| pane.preview).map(|(id, _)| id);
        let state = self.recall(&place);
        let pane = Pane::of(self.next(), target, which == Where::Preview).with_state(state);
        match preview.filter(|_| which == Where::Preview) {
            Some(id) => {
                if let Some(old) = self.pane_mut(id) {
                    let old = std::mem::replace(old, pane);
                    self.remember(&old);
                }
                self.activate(id, focus_request);
            }
            None => self.insert(pane, which == Where::Side, focus_request),
        }
    }

    /// Shows a new query.
    pub(crate) fn show_query(&mut self, start: QueryStart) {
        let numbers = self.panes().filter_map(|(_, pane)| match pane.content() {
            TabContent::Query(number) => Some(*number),
            _ => None,
        });
        let query = numbers.max().map_or(1, |last| last.saturating_add(1));
        let pane = Pane::query(self.next(), query, start);
        self.insert(pane, false, FocusRequest::Now);
    }

    /// Shows something whose nodes may still have to be found, under this name until they are.
    pub(crate) fn show_later(&mut self, content: TabContent, name: &str) {
        if let Some(id) = self.at(&content) {
            self.activate(id, FocusRequest::Now);
            return;
        }
        let pane = Pane::later(self.next(), content, name);
        self.insert(pane, false, FocusRequest::Now);
    }

    /// Keeps how a node was looked at.
    fn remember(&mut self, pane: &Pane) {
        let state = pane.state();
        let Some(node) = pane.node().filter(|_| !state.is_null()) else { return };
        drop(self.recall(node));
        self.left.push((node.clone(), state));
        let spare = self.left.len().saturating_sub(LEFT);
        self.left.drain(..spare);
    }

    /// How a node was looked at, which then is no longer known here.
    fn recall(&mut self, node: &NodeRef) -> Option<Value> {
        let at = self.left.iter().position(|(of, _)| of == node)?;
        Some(self.left.remove(at).1)
    }

    /// Lets the tab of a file's root, which was not looked at yet, begin with another node of the file.
    pub(crate) fn begin_at(&mut self, file: u64, path: &str) {
        let waiting = self.at(&TabContent::Node(NodeRef::new(file, "")));
        if let Some(pane) = waiting.and_then(|id| self.pane_mut(id)).filter(|pane| pane.is_waiting()) {
            pane.begin_at(path);
        }
    }

    /// Puts a tab behind the active one, or to the side.
    fn insert(&mut self, pane: Pane, side: bool, focus_request: FocusRequest) {
        let id = self.tree.tiles.insert_pane(pane);
        let Some(root) = self.tree.root() else {
            let tabs = self.tree.tiles.insert_tab_tile(vec![id]);
            self.tree = Tree::new(egui::Id::unique("tabs"), tabs, std::mem::take(&mut self.tree.tiles));
            self.activate(id, focus_request);
            return;
        };
        if side {
            let tabs = self.tree.tiles.insert_tab_tile(vec![id]);
            self.beside(root, tabs);
        } else {
            let parent = self.active.and_then(|active| self.tree.tiles.parent_of(active));
            let parent = parent.or_else(|| self.any_tabs()).unwrap_or(root);
            let after = self.active;
            if let Some(Tile::Container(Container::Tabs(tabs))) = self.tree.tiles.get_mut(parent) {
                let at = after.and_then(|id| tabs.children.iter().position(|child| *child == id));
                let at = at.map_or(tabs.children.len(), |at| at + 1);
                tabs.children.insert(at, id);
                tabs.set_active(id);
            } else {
                let tabs = self.tree.tiles.insert_tab_tile(vec![id]);
                self.beside(root, tabs);
            }
        }
        self.activate(id, focus_request);
    }

    fn beside(&mut self, root: TileId, tabs: TileId) {
        if let Some(Tile::Container(Container::Linear(linear))) = self.tree.tiles.get_mut(root)
            && linear.dir == LinearDir::Horizontal
        {
            linear.add_child(tabs);
            return;
        }
        let linear = Linear::new(LinearDir::Horizontal, vec![root, tabs]);
        let root = self.tree.tiles.insert_container(linear);
        self.tree = Tree::new(egui::Id::unique("tabs"), root, std::mem::take(&mut self.tree.tiles));
    }

    fn any_tabs(&self) -> Option<TileId> {
        self.tree.tiles.iter().find_map(|(id, tile)| match tile {
            Tile::Container(Container::Tabs(_)) => Some(*id),
            _ => None,
        })
    }

    fn activate(&mut self, id: TileId, focus_request: FocusRequest) {
        self.active = Some(id);
        self.tree.make_active(|tile, _| tile == id);
        if let Some(pane) = self.pane_mut(id) {
            pane.focus_request = focus_request;
        }
    }

    /// Gives the keyboard to the active tab, where nothing else has it.
    pub(crate) fn offer_focus(&mut self) {
        if let Some(pane) = self.active.and_then(|id| self.pane_mut(id)) {
            pane.focus_request = FocusRequest::IfFree;
        }
    }

    /// Closes the active tab.
    pub(crate) fn close_active(&mut self) {
        if let Some(id) = self.active {
            self.close(id);
        }
    }

    fn close(&mut self, id: TileId) {
        let order = self.order();
        let at = order.iter().position(|tile| *tile == id);
        self.tree.remove_recursively(id);
        if self.active == Some(id) {
            let rest: Vec<TileId> = order.into_iter().filter(|tile| *tile != id).collect();
            self.active = None;
            if let Some(next) = at.and_then(|at| rest.get(at.min(rest.len().saturating_sub(1)))) {
                self.activate(*next, FocusRequest::Now);
            }
        }
    }

    /// Closes all tabs of a file.
    pub(crate) fn close_file(&mut self, file: u64) {
        let tabs: Vec<TileId> =
            self.panes().filter(|(_, pane)| pane.content().is_of(file)).map(|(id, _)| id).collect();
        tabs.into_iter().for_each(|id| self.close(id));
        self.left.retain(|(node, _)| node.file != file);
    }

    /// The next tab, or the one before.
    pub(crate) fn step(&mut self, forward: bool) {
        let order = self.order();
        let Some(at) = self.active.and_then(|id| order.iter().position(|tile| *tile == id)) else { return };
        let to = if forward { (at + 1) % order.len() } else { (at + order.len() - 1) % order.len() };
        self.activate(order[to], FocusRequest::Now);
    }

    /// All tabs in the order they stand.
    fn order(&self) -> Vec<TileId> {
        fn walk(tiles: &Tiles<Pane>, id: TileId, out: &mut Vec<TileId>) {
            match tiles.get(id) {
                Some(Tile::Pane(_)) => out.push(id),
                Some(Tile::Container(container)) => container.children().for_each(|id| walk(tiles, *id, out)),
                None => {}
            }
        }
        let mut out = Vec::new();
        if let Some(root) = self.tree.root() {
            walk(&self.tree.tiles, root, &mut out);
        }
        out
    }

    /// Keeps the active tab if it is the preview.
    pub(crate) fn keep_active(&mut self) {
        if let Some(pane) = self.active.and_then(|id| self.pane_mut(id)) {
            pane.preview = false;
        }
    }

    /// Passes a request to the active view; false where it means nothing there.
    pub(crate) fn request(&mut self, request: &Request, cx: &mut TabsCx<'_>) -> bool {
        let Some(pane) = self.active.and_then(|id| self.pane_mut(id)) else { return false };
        if pane.ask_later(request) {
            return true;
        }
        pane.request(request, cx)
    }

    /// What the inspector tells of an active view that is about no node.
    pub(crate) fn details(&self) -> Vec<(&'static str, String)> {
        self.active().map_or_else(Vec::new, Pane::details)
    }

    /// The commands of the active view.
    pub(crate) fn view_commands(&self) -> Vec<&'static Label> {
        self.active().map_or_else(Vec::new, Pane::commands)
    }

    /// Does one of them, by its place; false where it means nothing now.
    pub(crate) fn run(&mut self, at: usize, cx: &mut TabsCx<'_>) -> bool {
        self.active.and_then(|id| self.pane_mut(id)).is_some_and(|pane| pane.run(at, cx))
    }

    /// Exports or copies the next frame of the active tab with the drawing that it is; false where it is none.
    pub(crate) fn capture(&mut self, purpose: Purpose) -> bool {
        self.active.and_then(|id| self.pane_mut(id)).is_some_and(|pane| pane.capture(purpose))
    }

    /// Copies the picture of the active tab, one pixel an element; what is to be said where there is none.
    pub(crate) fn copy_pixels(&mut self) -> Result<(), String> {
        let pane = self.active.and_then(|id| self.pane_mut(id));
        pane.map_or_else(|| Err("Nothing is shown".to_owned()), Pane::copy_pixels)
    }

    /// What *Export…* of the active tab would write; `None` where there is nothing yet.
    pub(crate) fn export(&self) -> Option<Action> {
        self.active().and_then(Pane::export).map(Action::Export)
    }

    /// What loading what is shown would run, and its name.
    pub(crate) fn security(&self) -> Option<(String, std::sync::Arc<gander::data::security::Report>)> {
        self.active().and_then(Pane::security)
    }

    /// What a new query begins with.
    pub(crate) fn query_start(&self) -> QueryStart {
        self.active().map_or(QueryStart::Empty, Pane::query_start)
    }

    /// Lets go of what egui keeps of tabs that are gone, before anything of a frame is drawn.
    pub(crate) fn begin_frame(&mut self, ctx: &Context) {
        WidgetStates::free_keyboard(ctx);
        let there: HashSet<u64> = self.panes().map(|(_, pane)| pane.number()).collect();
        self.states.keep_only(ctx, |number| there.contains(&number));
    }

    /// To be called when all of a frame was drawn.
    pub(crate) fn end_frame(&mut self, ctx: &Context) {
        self.states.forget_widgets(ctx);
    }

    /// Draws what the active tab shows, without the bar of tabs.
    pub(crate) fn active_ui(&mut self, ui: &mut Ui, mut cx: TabsCx<'_>) {
        if let Some(pane) = self.active.and_then(|id| self.pane_mut(id)) {
            pane.ui(ui, &mut cx, true);
        }
    }

    /// Draws the tabs.
    pub(crate) fn ui(&mut self, ui: &mut Ui, cx: TabsCx<'_>) {
        if self.active().is_none() {
            self.active = self.order().first().copied();
        }
        let distinct = titles::distinct(self.panes(), cx.files);
        let (active, close, states) = (self.active, Vec::new(), &mut self.states);
        let mut behavior = bar::Behaviour { cx, active, close, distinct, states };
        self.tree.ui(&mut behavior, ui);
        let (active, close) = (behavior.active, behavior.close);
        self.active = active;
        close.into_iter().for_each(|id| self.close(id));
        // A click on a tab made it the open one of its group.
        if let Some(id) = self.active
            && !self.tree.is_visible_in_layout(id)
        {
            self.active = self.order().into_iter().find(|id| self.tree.tiles.rect(*id).is_some());
        }
    }
}
