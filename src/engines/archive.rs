//! The members of an archive as a tree: folders from the members' paths, each folder's children in natural
//! order, by pages, found by name without listing them all. Made for archives of a million members: building
//! it looks at each path once, a folder is sorted when somebody looks into it.
//!
//! Names are shown as they are. One that leads out of the archive (`../x`, `/x`) makes no folders and stands
//! at the root as a whole. A name that occurs again in its folder gets its number: `x (2)`.

use crate::bytes::display::natural_order;
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::node::{Listing, Node};
use rayon::slice::ParallelSliceMut;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most folders that are made from paths; members beyond it stand at the root under their whole path.
const FOLDERS: usize = 4 << 20;
/// How many members are looked at between two looks at the task.
const STEP: usize = 1 << 14;

/// What a tree is made of.
pub trait Members: Send + Sync + 'static {
    /// How many there are.
    fn count(&self) -> usize;
    /// The path of a member, `/` between folders; empty where there is no such member.
    fn path(&self, index: usize) -> &str;
    /// Whether it is a folder.
    fn is_folder(&self, index: usize) -> bool;
    /// The node of a member that is no folder, under this name.
    fn node(&self, index: usize, name: &str) -> Node;
}

/// The tree.
pub struct Tree<M> {
    members: M,
    folders: Vec<Folder>,
}

#[derive(Default)]
struct Folder {
    name: Box<str>,
    items: Vec<Item>,
    sorted: OnceLock<Box<[Item]>>,
}

/// A child of a folder, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Folder(u32),
    Member(u32),
}

/// One folder of the tree as children of a node.
struct View<M> {
    tree: Arc<Tree<M>>,
    folder: u32,
}

/// The members as children of `root`.
pub fn attach<M: Members>(task: &Task, root: Node, members: M) -> Result<Node> {
    let tree = Arc::new(Tree::build(task, members)?);
    Ok(root.lazy(View { tree, folder: 0 }))
}

/// The members as a listing.
pub fn listing<M: Members>(task: &Task, members: M) -> Result<impl Listing + 'static> {
    Ok(View { tree: Arc::new(Tree::build(task, members)?), folder: 0 })
}

/// Whether a path leads out of where it is put.
fn leads_out(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.contains('\\');
    path.starts_with(['/', '\\']) || drive || path.split('/').any(|part| part == "..")
}

/// The parts of a path that mean something.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// The last part.
fn last_part(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty() && *part != ".").unwrap_or_default()
}

/// Whether a member stands at the root under its whole path.
fn is_flat(path: &str) -> bool {
    leads_out(path) || path.bytes().filter(|&b| b == b'/').count() > limits::DEPTH
}

/// Makes folders from paths.
struct Builder<'a> {
    folders: Vec<Folder>,
    /// Folders by their parent and name.
    known: HashMap<(u32, &'a str), u32>,
    /// The folder of the path that was placed last: neighbours usually share it.
    last: (&'a str, u32),
}

impl<'a> Builder<'a> {
    fn add(&mut self, folder: u32, item: Item) {
        if let Some(folder) = self.folders.get_mut(folder as usize) {
            folder.items.push(item);
        }
    }

    /// The folder of these parts; `None` if there are too many folders.
    fn folder(&mut self, path: &'a str) -> Option<u32> {
        if path == self.last.0 {
            return Some(self.last.1);
        }
        let mut at = 0;
        for part in parts(path) {
            at = match self.known.get(&(at, part)) {
                Some(&known) => known,
                None if self.folders.len() >= FOLDERS => return None,
                None => {
                    let new = u32::try_from(self.folders.len()).ok()?;
                    self.folders.push(Folder { name: part.into(), ..Folder::default() });
                    self.known.insert((at, part), new);
                    self.add(at, Item::Folder(new));
                    new
                }
            };
        }
        self.last = (path, at);
        Some(at)
    }
}

impl<M: Members> Tree<M> {
    fn build(task: &Task, members: M) -> Result<Self> {
        let mut builder = Builder { folders: vec![Folder::default()], known: HashMap::new(), last: ("", 0) };
        for index in 0..members.count() {
            if index % STEP == 0 {
                task.check()?;
            }
            let path = members.path(index);
            let Ok(member) = u32::try_from(index).map(Item::Member) else { break };
            if is_flat(path) {
                builder.add(0, member);
            } else if members.is_folder(index) {
                builder.folder(path);
            } else {
                let folder = path.trim_end_matches('/').rsplit_once('/').map_or("", |(folder, _)| folder);
                let folder = builder.folder(folder).unwrap_or(0);
                builder.add(folder, member);
            }
        }
        let folders = builder.folders;
        Ok(Tree { members, folders })
    }

    /// The name of a child of `folder`.
    fn name(&self, folder: u32, item: Item) -> &str {
        match item {
            Item::Folder(n) => self.folders.get(n as usize).map_or("", |folder| &folder.name),
            Item::Member(n) => {
                let path = self.members.path(n as usize);
                // At the root stand also those whose folders were not made, under their whole paths.
                let whole = folder == 0 && (is_flat(path) || parts(path).nth(1).is_some());
                if whole { path } else { last_part(path) }
            }
        }
    }

    /// The children of a folder in order.
    fn items(&self, folder: u32) -> &[Item] {
        let Some(inner) = self.folders.get(folder as usize) else { return &[] };
        inner.sorted.get_or_init(|| {
            let mut items = inner.items.clone();
            let order = |a: &Item, b: &Item| natural_order(self.name(folder, *a), self.name(folder, *b));
            // Archives are usually in order; the sort is stable, so the same name keeps the file's.
            if !items.is_sorted_by(|a, b| order(a, b).is_le()) {
                items.par_sort_by(order);
            }
            items.into()
        })
    }

    /// How often the name at `at` came before it in the folder.
    fn earlier(&self, folder: u32, items: &[Item], at: usize) -> usize {
        let Some(&item) = items.get(at) else { return 0 };
        let name = self.name(folder, item);
        let before = items.get(..at).unwrap_or_default().iter().rev();
        before.take_while(|item| self.name(folder, **item) == name).count()
    }
}

impl<M: Members> View<M> {
    /// The node of a child whose name came `earlier` times before it.
    fn node(&self, item: Item, earlier: usize) -> Arc<Node> {
        let name = self.tree.name(self.folder, item);
        let shown = if earlier == 0 { name.to_owned() } else { format!("{name} ({})", earlier + 1) };
        let node = match item {
            Item::Folder(folder) => Node::new(shown, "folder").lazy(View { tree: self.tree.clone(), folder }),
            Item::Member(index) => {
                let mut node = self.tree.members.node(index as usize, &shown);
                if leads_out(self.tree.members.path(index as usize)) {
                    node = node.remark("its name leads out of the archive; nothing is written there");
                }
                if earlier > 0 {
                    node = node.remark(format!("the name {name:?} is there {} times so far", earlier + 1));
                }
                node
            }
        };
        Arc::new(node)
    }
}

impl<M: Members> Listing for View<M> {
    fn count(&self) -> Option<u64> {
        self.tree.folders.get(self.folder as usize).map(|folder| folder.items.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        task.check()?;
        let items = self.tree.items(self.folder);
        let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(items.len());
        let most = range.end.saturating_sub(range.start).min(limits::LISTED) as usize;
        let mut earlier = self.tree.earlier(self.folder, items, start);
        let mut before: Option<&str> = None;
        let mut nodes = Vec::with_capacity(most.min(items.len() - start));
        for &item in items.get(start..).unwrap_or_default().iter().take(most) {
            let name = self.tree.name(self.folder, item);
            match before {
                Some(before) if before == name => earlier += 1,
                Some(_) => earlier = 0,
                None => {}
            }
            before = Some(name);
            nodes.push(self.node(item, earlier));
        }
        Ok(nodes)
    }

    fn find(&self, _task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let items = self.tree.items(self.folder);
        let nth = |name: &str, nth: usize| {
            let at =
                items.partition_point(|item| natural_order(self.tree.name(self.folder, *item), name).is_lt());
            let item = *items.get(at.checked_add(nth)?)?;
            (self.tree.name(self.folder, item) == name).then(|| self.node(item, nth))
        };
        let numbered = || {
            let (name, number) = name.strip_suffix(')')?.rsplit_once(" (")?;
            nth(name, number.parse::<usize>().ok()?.checked_sub(1).filter(|&n| n > 0)?)
        };
        Ok(nth(name, 0).or_else(numbered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Names(Vec<String>);

    impl Members for Names {
        fn count(&self) -> usize {
            self.0.len()
        }
        fn path(&self, index: usize) -> &str {
            self.0.get(index).map_or("", String::as_str)
        }
        fn is_folder(&self, index: usize) -> bool {
            self.path(index).ends_with('/')
        }
        fn node(&self, index: usize, name: &str) -> Node {
            Node::new(name, "member").read_as("index", index.to_string())
        }
    }

    fn root(names: &[&str]) -> Arc<Node> {
        let names = Names(names.iter().map(|&name| name.to_owned()).collect());
        Arc::new(attach(&Task::new(), Node::new("", "file").separator(""), names).unwrap())
    }

    /// All paths, depth first.
    fn paths(root: &Arc<Node>) -> Vec<String> {
        let mut paths = Vec::new();
        let mut visit = |_: &Arc<Node>, path: &str, level: usize| {
            if level > 0 {
                paths.push(path.to_owned());
            }
            Ok(true)
        };
        crate::data::open::walk(&Task::new(), root, "", 16, &mut visit).unwrap();
        paths
    }

    #[test]
    fn folders_come_from_paths_and_names_in_natural_order() {
        let root = root(&["b/10.txt", "./b/2.txt", "a", "b//c/d", "b/", "empty/", "./"]);
        let expected = ["a", "b", "b/2.txt", "b/10.txt", "b/c", "b/c/d", "empty"];
        assert_eq!(paths(&root), expected);
    }

    #[test]
    fn names_that_lead_out_stand_as_they_are() {
        let root = root(&["../up", "/etc/passwd", "C:\\x", "a/../../b", "a/c"]);
        assert_eq!(paths(&root), ["../up", "/etc/passwd", "a", "a/c", "a/../../b", "C:\\x"]);
        let task = Task::new();
        for name in ["../up", "/etc/passwd", "C:\\x", "a/../../b"] {
            let node = root.find(&task, name).unwrap().unwrap();
            assert_eq!((node.name.as_str(), node.remarks.len()), (name, 1));
        }
    }

    #[test]
    fn the_same_name_twice_is_two_children() {
        let root = root(&["x/a", "x/b", "x/a", "x/a", "x/a/inner"]);
        assert_eq!(paths(&root), ["x", "x/a", "x/a (2)", "x/a (3)", "x/a (4)", "x/a (4)/inner", "x/b"]);
        let task = Task::new();
        let second = root.find(&task, "x/a (2)").unwrap().unwrap();
        assert_eq!(second.reader[0].1.to_string(), "2");
        assert!(root.find(&task, "x/a (9)").unwrap().is_none());
    }

    #[test]
    fn a_million_members_are_paged_and_found() {
        let names = (0..1_000_000).map(|n| format!("{:03}/{n}.png", n % 7)).collect();
        let task = Task::new();
        let root = Arc::new(attach(&task, Node::new("", "file").separator(""), Names(names)).unwrap());
        assert_eq!(root.child_count(), Some(7));
        let folder = root.find(&task, "003").unwrap().unwrap();
        assert_eq!(folder.child_count(), Some(142_857));
        let page = folder.child_page(&task, 100_000..100_003).unwrap();
        let names: Vec<&str> = page.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["700003.png", "700010.png", "700017.png"]);
        assert_eq!(root.find(&task, "003/700010.png").unwrap().unwrap().name, "700010.png");
        assert_eq!(folder.child_page(&task, 142_856..u64::MAX).unwrap().len(), 1);
    }
}
