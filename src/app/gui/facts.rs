//! What is known of a node in a few words, without reading: for tree rows, tool tips and lists.

use std::collections::HashMap;
use std::sync::Arc;

use gander::bytes::display;
use gander::bytes::limits;
use gander::data::content::{Content, Kind};
use gander::data::dtype::DType;
use gander::data::node::{Children, Node};
use gander::formats::FORMATS;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::icons::Icon;

/// The icon of a node.
pub(crate) fn icon(node: &Node) -> Icon {
    match (&node.content, &node.problem) {
        (None, Some(_)) => Icon::Warning,
        (Some(Content::Table(_)), _) => Icon::Table,
        (Some(Content::Array(array)), _) => match array.shape().len() {
            0 => Icon::Scalar,
            1 => Icon::Vector,
            2 => Icon::Array,
            _ => Icon::Tensor,
        },
        (Some(Content::Image(_)), _) => Icon::Image,
        (Some(Content::Text(_)), _) => Icon::Document,
        (Some(Content::Graph(_)), _) => Icon::Module,
        (Some(Content::Bytes(_)), _) => Icon::Binary,
        (None, None) => match node.label {
            "folder" => Icon::Folder,
            "archive" => Icon::Archive,
            "module" => Icon::Module,
            "sheet" => Icon::Table,
            "file" | "member" | "record" => guess(&node.name),
            _ => Icon::Group,
        },
    }
}

/// The icon of a file that was not looked into, by its name.
fn guess(name: &str) -> Icon {
    let lower = name.to_lowercase();
    let fits = |extension: &&str| lower.strip_suffix(*extension).is_some_and(|stem| stem.ends_with('.'));
    let format = FORMATS.iter().find(|format| format.extensions.iter().any(&fits));
    match format.and_then(|format| format.reads.first()) {
        Some(Kind::Table) => Icon::Table,
        Some(Kind::Array) => Icon::Tensor,
        Some(Kind::Image) => Icon::Image,
        Some(Kind::Text) => Icon::Document,
        Some(Kind::Group) => Icon::Archive,
        Some(Kind::Graph) => Icon::Module,
        Some(Kind::Bytes) | None => Icon::File,
    }
}

/// The short word for an element type: `bf16`, `u8`, `f32`; the whole name where there is no short one.
pub(crate) fn short_dtype(dtype: &DType) -> String {
    let short = match dtype {
        DType::I8 => "i8",
        DType::I16 => "i16",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U8 => "u8",
        DType::U16 => "u16",
        DType::U32 => "u32",
        DType::U64 => "u64",
        DType::F16 => "f16",
        DType::BF16 => "bf16",
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::C32 => "c32",
        DType::C64 => "c64",
        DType::C128 => "c128",
        DType::Struct(_) => "struct",
        other => return other.to_string(),
    };
    short.to_owned()
}

/// Characters of a scalar's value in a tree row.
const VALUE: usize = 40;

/// What stands faintly at the right of a tree row; without the size of a large group until a job has summed it up.
pub(crate) fn short(node: &Node, sums: &mut Sums, jobs: &Jobs) -> String {
    if let Some(problem) = &node.problem
        && node.content.is_none()
    {
        return first_words(&problem.to_string());
    }
    if let Some(value) = &node.value {
        let head: String = value.chars().take(VALUE).map(|c| if c == '\n' { '⏎' } else { c }).collect();
        return if value.chars().nth(VALUE).is_some() { format!("{head}…") } else { head };
    }
    match &node.content {
        Some(Content::Table(table)) => {
            let rows = table.rows();
            let mark = rows.to_string().chars().next().filter(|c| !c.is_ascii_digit());
            let mark = mark.map_or(String::new(), |mark| format!("{mark} "));
            format!("{mark}{} × {}", display::short_count(rows.number()), table.schema().fields().len())
        }
        Some(Content::Array(array)) => {
            format!("{} {}", display::shape(array.shape()), short_dtype(array.dtype()))
        }
        Some(Content::Image(image)) => {
            let info = image.info();
            let frames = if info.frames > 1 { format!(" × {}", info.frames) } else { String::new() };
            format!("{}×{}{frames}", info.width, info.height)
        }
        Some(Content::Text(text)) => text.source().known_len().map_or(String::new(), display::bytes),
        Some(Content::Graph(graph)) => display::plural(graph.nodes().len() as u64, "node"),
        Some(Content::Bytes(source)) => source.known_len().map_or(String::new(), display::bytes),
        None => group(node, sums, jobs),
    }
}

fn group(node: &Node, sums: &mut Sums, jobs: &Jobs) -> String {
    match &node.children {
        Children::None => node.span.as_ref().map_or(String::new(), |s| display::bytes(s.end - s.start)),
        Children::Listed(list) => match sums.bytes_soon(list, jobs) {
            None => String::new(),
            Some(0) => display::count(list.len() as u64),
            Some(bytes) => display::bytes(bytes),
        },
        Children::Lazy(list) => match list.count() {
            // What is told of once it is read.
            Some(0) => String::new(),
            Some(count) => display::count(count),
            None => node.span.as_ref().map_or(String::new(), |s| display::bytes(s.end - s.start)),
        },
    }
}

/// The beginning of a sentence, for a place that is short.
pub(crate) fn first_words(text: &str) -> String {
    let text = text.rsplit_once(": ").map_or(text, |(_, last)| last);
    if text.chars().count() <= 28 {
        return text.to_owned();
    }
    let cut: String = text.chars().take(27).collect();
    format!("{}…", cut.trim_end())
}

/// Bytes of an array or what else has a size; 0 where that is not known.
pub(crate) fn bytes(node: &Node) -> u64 {
    match &node.content {
        Some(Content::Array(array)) => {
            let elements = limits::elements(array.shape()).unwrap_or(0);
            (u128::from(elements) * u128::from(array.dtype().bits()) / 8).min(u128::from(u64::MAX)) as u64
        }
        Some(Content::Bytes(source)) => source.known_len().unwrap_or(0),
        Some(Content::Text(text)) if node.span.is_none() => text.source().known_len().unwrap_or(0),
        Some(Content::Text(_) | Content::Table(_) | Content::Image(_) | Content::Graph(_)) | None => {
            node.span.as_ref().map_or(0, |span| span.end.saturating_sub(span.start))
        }
    }
}

type Listed = Arc<Vec<Arc<Node>>>;

/// Groups of at most so many nodes, with those below, are summed up at once; others by a job.
const SOON: usize = 2_000;

/// Summed bytes of groups, worked out once each.
#[derive(Default)]
pub(crate) struct Sums {
    known: HashMap<usize, (Listed, u64)>,
    /// Those that jobs sum up. The lists are kept, so that no other one gets the address of one.
    coming: HashMap<usize, (Listed, Slot<(), u64>)>,
}

/// Whether no more than `left` nodes lie below a list; counts them off.
fn few(list: &Listed, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(list.len()) else { return false };
    *left = rest;
    list.iter().all(|node| match &node.children {
        Children::Listed(below) if node.kind() == Kind::Group => few(below, left),
        _ => true,
    })
}

impl Sums {
    /// The same for a frame: where that is much a job does it, and until then there is nothing.
    pub(crate) fn bytes_soon(&mut self, list: &Listed, jobs: &Jobs) -> Option<u64> {
        let key = Arc::as_ptr(list) as usize;
        if let Some((_, sum)) = self.known.get(&key) {
            return Some(*sum);
        }
        if !self.coming.contains_key(&key) && few(list, &mut { SOON }) {
            return Some(self.bytes(list));
        }
        let (_, slot) = self.coming.entry(key).or_insert_with(|| (list.clone(), Slot::default()));
        let source = list.clone();
        let shown = slot.get(jobs, &(), JobSpec::view(""), move |_| Ok(Sums::default().bytes(&source)));
        let sum = *shown.ready()?;
        self.coming.remove(&key);
        self.known.insert(key, (list.clone(), sum));
        Some(sum)
    }

    /// The bytes of all that is listed below, as far as it is known without reading.
    pub(crate) fn bytes(&mut self, list: &Listed) -> u64 {
        let key = Arc::as_ptr(list) as usize;
        if let Some((_, sum)) = self.known.get(&key) {
            return *sum;
        }
        // The nodes are in memory; a group of groups takes its sums from below.
        let mut sum = 0u64;
        for node in list.iter() {
            let below = match &node.children {
                Children::Listed(below) if node.kind() == Kind::Group => self.bytes(below),
                _ => bytes(node),
            };
            sum = sum.saturating_add(below);
        }
        // The list is kept, so that no other one gets its address.
        self.known.insert(key, (list.clone(), sum));
        sum
    }

    /// Forgets all, when a file was closed.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.coming.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_many_is_summed_up_by_a_job() {
        let leaf = |n: usize| Node::new(n.to_string(), "tensor").span(0..10);
        let group = |count: usize| {
            Node::new("g", "group")
                .listed(vec![Node::new("h", "group").listed((0..count).map(leaf).collect())])
        };
        let (mut sums, jobs) = (Sums::default(), Jobs::new(|| {}));
        let Children::Listed(small) = group(100).children else { panic!("no list") };
        assert_eq!(sums.bytes_soon(&small, &jobs), Some(1000));
        let Children::Listed(large) = group(100_000).children else { panic!("no list") };
        assert_eq!(sums.bytes_soon(&large, &jobs), None, "nothing is summed up in the frame");
        let started = std::time::Instant::now();
        let sum = loop {
            assert!(started.elapsed().as_secs() < 60);
            match sums.bytes_soon(&large, &jobs) {
                Some(sum) => break sum,
                None => std::thread::sleep(std::time::Duration::from_millis(2)),
            }
        };
        assert_eq!((sum, sums.coming.len()), (1_000_000, 0));
    }
}
