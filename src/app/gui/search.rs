//! Finding nodes in open files: by parts of their name, `dtype:bf16`, `shape:4096`, `kind:table`.

use std::sync::Arc;

use gander::bytes::error::{Result, UnlessCancelled};
use gander::bytes::limits;
use gander::bytes::task::Task;
use gander::data::content::Content;
use gander::data::node::{Children, Node};
use gander::data::open::Document;

use super::facts;

/// A node that was found.
#[derive(Clone)]
pub(crate) struct Found {
    /// The number of its file.
    pub(crate) file: u64,
    /// Its file.
    pub(crate) document: Arc<Document>,
    /// Its path.
    pub(crate) path: String,
    /// The node, not looked into.
    pub(crate) node: Arc<Node>,
    /// How well it fits.
    pub(crate) score: i32,
}

/// What a search found.
#[derive(Default)]
pub(crate) struct Hits {
    /// The best ones first.
    pub(crate) list: Vec<Found>,
    /// Whether there was more than was kept or looked at.
    pub(crate) cut: bool,
}

/// What is searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    words: Vec<String>,
    dtype: Option<String>,
    shape: Vec<u64>,
    kind: Option<String>,
}

impl Query {
    /// Reads what the person typed.
    pub(crate) fn parse(text: &str) -> Self {
        let mut query = Query::default();
        for word in text.split_whitespace() {
            let word = word.to_lowercase();
            match word.split_once(':') {
                Some(("dtype", dtype)) => query.dtype = Some(dtype.to_owned()),
                Some(("kind", kind)) => query.kind = Some(kind.to_owned()),
                Some(("shape", shape)) => {
                    let sides = shape.split(['x', '×', ',', '*']);
                    query.shape.extend(sides.filter_map(|side| side.parse::<u64>().ok()));
                }
                _ => query.words.push(word),
            }
        }
        query
    }

    /// Whether nothing was typed.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Query::default()
    }

    /// How well a node fits; `None` where it does not. Of several words some may be parts of the name of its `file`:
    /// they narrow what is found.
    pub(crate) fn score_in(&self, file: &str, node: &Node, path: &str) -> Option<i32> {
        if self.words.len() < 2 {
            return self.score(node, path);
        }
        let file = file.to_lowercase();
        let full = if path.is_empty() { node.name.as_str() } else { path };
        let strong = |word: &String| fuzzy(word, full).filter(|score| *score > 0);
        let (of_file, of_node): (Vec<String>, Vec<String>) =
            self.words.iter().cloned().partition(|word| file.contains(word) && strong(word).is_none());
        if of_file.is_empty() || of_node.is_empty() {
            return self.score(node, path);
        }
        // What lies in that file stands before whatever else has these letters somewhere.
        let of_file = i32::try_from(of_file.len()).unwrap_or(0);
        Query { words: of_node, ..self.clone() }.score(node, path).map(|score| score + 200 * of_file)
    }

    /// How well a node fits by itself; `None` where it does not.
    pub(crate) fn score(&self, node: &Node, path: &str) -> Option<i32> {
        let array = match &node.content {
            Some(Content::Array(array)) => Some(array),
            Some(
                Content::Table(_)
                | Content::Image(_)
                | Content::Text(_)
                | Content::Graph(_)
                | Content::Bytes(_),
            )
            | None => None,
        };
        if let Some(kind) = &self.kind
            && !node.kind().word().starts_with(kind.as_str())
        {
            return None;
        }
        if let Some(wanted) = &self.dtype {
            let dtype = array?.dtype();
            let fits = |word: String| word.starts_with(wanted.as_str());
            if !fits(dtype.to_string()) && !fits(facts::short_dtype(dtype)) {
                return None;
            }
        }
        if !self.shape.is_empty() {
            let shape = array?.shape();
            if !self.shape.iter().all(|side| shape.contains(side)) {
                return None;
            }
        }
        let full = if path.is_empty() { node.name.as_str() } else { path };
        // What holds values stands before the modules that hold it.
        let first = if node.content.is_some() { 60 } else { 0 };
        self.words.iter().try_fold(first, |sum, word| fuzzy(word, full).map(|score| sum + score))
    }
}

/// How well `needle` (lower case) fits into `text` as a subsequence; more is better. Whole runs, word
/// beginnings and the last part of a path count more, long texts a little less.
pub(crate) fn fuzzy(needle: &str, text: &str) -> Option<i32> {
    let lower = text.to_lowercase();
    let length = i32::try_from(lower.len().min(1000)).unwrap_or(1000) / 8;
    if let Some(at) = lower.rfind(needle) {
        let begins = at == 0 || !lower[..at].ends_with(char::is_alphanumeric);
        let last = !lower[at..].contains(['/', '.']);
        return Some(200 + 60 * i32::from(begins) + 40 * i32::from(last) - length);
    }
    let mut score = 0;
    let mut run = 0;
    let mut letters = lower.chars();
    for wanted in needle.chars() {
        loop {
            let letter = letters.next()?;
            if letter == wanted {
                run += 1;
                score += run.min(8);
                break;
            }
            run = 0;
        }
    }
    Some(score - length)
}

/// How many nodes are looked at, and how many are kept.
const LOOKED: u64 = 500_000;
const KEPT: usize = 1_000;

/// How many files in folders and archives are opened: archives for the names in them, and others where it
/// takes that to see whether they fit a condition.
const OPENED: u64 = 300;
/// How many folders in folders are listed.
const LISTED: u64 = 20_000;

/// Finds nodes in all these files. Files inside others are found by their names; where a type, a shape or a
/// kind is asked for, some of them are opened.
pub(crate) fn find(task: &Task, documents: &[(u64, Arc<Document>)], query: &Query) -> Result<Hits> {
    let mut hits = Hits::default();
    let conditions = query.dtype.is_some() || query.kind.is_some() || !query.shape.is_empty();
    let mut budget = Budget { nodes: LOOKED, folders: LISTED, files: OPENED, any: conditions, cut: false };
    for (file, document) in documents {
        let from = hits.list.len();
        let place = Place { query, file: document.source.name() };
        below(task, &place, &document.root, "", &mut budget, &mut |path, node, score| {
            hits.list.push(Found { file: *file, document: document.clone(), path, node, score });
        })?;
        if hits.list.len() - from > KEPT {
            hits.list[from..].sort_by_key(|found| std::cmp::Reverse(found.score));
            hits.list.truncate(from + KEPT);
            hits.cut = true;
        }
    }
    hits.cut |= budget.cut;
    hits.list.sort_by_key(|found| std::cmp::Reverse(found.score));
    Ok(hits)
}

/// What is searched for, and the name of the file that is searched.
struct Place<'a> {
    query: &'a Query,
    file: &'a str,
}

/// What a search may still do.
struct Budget {
    /// Nodes to look at.
    nodes: u64,
    /// Folders to list.
    folders: u64,
    /// Files to open.
    files: u64,
    /// Whether all kinds of files are opened, or archives only.
    any: bool,
    /// Whether something was left out.
    cut: bool,
}

impl Budget {
    /// Whether a node that nobody looked into yet is worth it and affordable.
    fn opens(&mut self, node: &Node) -> bool {
        let left = if node.label == "folder" {
            &mut self.folders
        } else if self.any || is_archive(&node.name) {
            &mut self.files
        } else {
            return false;
        };
        self.cut |= *left == 0;
        let opens = *left > 0;
        *left = left.saturating_sub(1);
        opens
    }
}

/// Whether a file has a list of files in it, by its name.
fn is_archive(name: &str) -> bool {
    let name = name.to_lowercase();
    let ends = |extension: &&str| name.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.'));
    let formats = ["zip", "tar"].into_iter().filter_map(gander::formats::by_id);
    formats.flat_map(|format| format.extensions).any(ends)
        || [".tar.", ".tgz"].iter().any(|e| name.contains(e))
}

fn below(
    task: &Task,
    place: &Place<'_>,
    node: &Arc<Node>,
    path: &str,
    budget: &mut Budget,
    keep: &mut dyn FnMut(String, Arc<Node>, i32),
) -> Result<()> {
    task.check()?;
    if budget.nodes == 0 {
        budget.cut = true;
        return Ok(());
    }
    budget.nodes -= 1;
    let node = &real(task, node, budget)?;
    if let Some(score) = place.query.score_in(place.file, node, path) {
        keep(path.to_owned(), node.clone(), score);
    }
    match &node.children {
        Children::None => {}
        Children::Listed(list) => {
            for child in list.iter() {
                below(task, place, child, &node.child_path(path, child), budget, keep)?;
            }
        }
        // Of a lazy list only what is counted is looked through: the others were not worth opening.
        Children::Lazy(list) if list.count().is_some() => {
            let mut start = 0;
            while budget.nodes > 0 {
                let page = list.page(task, start..start + limits::PRINTED)?;
                if page.is_empty() {
                    break;
                }
                start += page.len() as u64;
                for child in &page {
                    below(task, place, child, &node.child_path(path, child), budget, keep)?;
                }
            }
        }
        Children::Lazy(_) => {}
    }
    Ok(())
}

/// What a node that stands for another file really is, if that is known or worth finding out.
fn real(task: &Task, node: &Arc<Node>, budget: &mut Budget) -> Result<Arc<Node>> {
    let Children::Lazy(list) = &node.children else { return Ok(node.clone()) };
    if list.count().is_none() && !budget.opens(node) {
        return Ok(node.clone());
    }
    // What cannot be opened is found by its name.
    Ok(node.resolved(task).unless_cancelled()?.unwrap_or_else(|_| node.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_order_fit_and_whole_words_fit_best() {
        assert!(fuzzy("qpw", "layers.2.q_proj.weight").is_some());
        assert!(fuzzy("wpq", "layers.2.q_proj.weight").is_none());
        assert!(fuzzy("weight", "a.weight") > fuzzy("weight", "weight.a"));
        assert!(fuzzy("proj", "q_proj") > fuzzy("pj", "q_proj"));
    }

    #[test]
    fn a_query_has_words_and_conditions() {
        let query = Query::parse("proj dtype:BF16 shape:4096x11008 kind:array");
        assert_eq!(query.words, ["proj"]);
        assert_eq!(query.dtype.as_deref(), Some("bf16"));
        assert_eq!(query.shape, [4096, 11008]);
        assert_eq!(query.kind.as_deref(), Some("array"));
        assert!(query.score(&Node::new("q_proj", "tensor"), "q_proj").is_none());
        // The file narrows, where the word is not in the path.
        let node = Node::new("q_proj", "tensor");
        let scored = |file: &str| Query::parse("ft q_proj").score_in(file, &node, "layers.0.q_proj");
        assert!(scored("model_ft.safetensors").is_some() && scored("base.safetensors").is_none());
        // What holds values stands before its module, and all of that file before what has its letters elsewhere.
        let values = gander::data::content::Content::Bytes(gander::Source::memory("x", vec![0]));
        let tensor = Node::new("weight", "tensor").content(values);
        let query = Query::parse("ft q_proj");
        let path = "model.layers.0.self_attn.q_proj";
        let weight = format!("{path}.weight");
        let in_file = query.score_in("ft.safetensors", &tensor, &weight);
        let module = query.score_in("ft.safetensors", &node, path);
        let elsewhere = query.score_in("base.safetensors", &tensor, &weight);
        assert!(in_file > module && module > elsewhere, "{in_file:?} {module:?} {elsewhere:?}");
        assert!(Query::parse("qp").score(&Node::new("q_proj", "tensor"), "").is_some());
    }

    #[test]
    fn names_in_folders_that_nobody_looked_into_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("needle.csv"), "x\n1\n").unwrap();
        std::fs::write(folder.path().join("other.csv"), "x\n1\n").unwrap();
        let task = Task::new();
        let document = gander::open(&task, folder.path(), &gander::data::format::Options::default()).unwrap();
        let hits = find(&task, &[(1, Arc::new(document))], &Query::parse("needle")).unwrap();
        let paths: Vec<&str> = hits.list.iter().map(|found| found.path.as_str()).collect();
        assert_eq!((paths, hits.cut), (vec!["/a/b/needle.csv"], false));
        assert!(is_archive("x.TAR.gz") && is_archive("y.zip") && !is_archive("zip"));
    }
}
