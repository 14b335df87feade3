//! TensorFlow graphs: a GraphDef (`.pb`; a frozen graph has its weights as constants), or a MetaGraphDef (`.meta`, beside a
//! checkpoint), binary or as text (`.pbtxt`).
//!
//! Messages of Protocol Buffers, without a mark of their own: they are told by what their first fields hold.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/graph.proto>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/meta_graph.proto>
//!
//! Constants are slices of the file; those of functions stand below the functions. A meta graph has the variables of the
//! checkpoint beside it.

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Text};
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::delimited::{PlainText, encoding};
use crate::engines::protobuf::{Part, Value as Wire};
use crate::engines::tensorflow::bundle::{Bundle, File, file_of};
use crate::engines::tensorflow::document::{self, TextKind};
use crate::engines::tensorflow::messages::{GraphDef, MetaGraph};
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["pb", "meta", "pbtxt", "graphdef"],
    reads: &[Kind::Graph, Kind::Array, Kind::Text],
    sniff: Some(sniff),
    holds_weights: true,
    ..Format::new("tf_graphdef", "TensorFlow graph", open)
};

/// The most bytes of a name that is looked at.
const NAME: usize = 1 << 10;

/// A text that begins with a field of a graph, or a message whose first field is a node.
fn sniff(head: &Head) -> Match {
    if head.is_folder {
        return Match::No;
    }
    if head.is_text() && head.first.first() != Some(&0x0a) {
        let kind = document::text_kind(&head.first).filter(|kind| *kind != TextKind::Saved);
        let named = head.has_extension(&["pbtxt", "pb.txt"]);
        return match kind {
            Some(_) if named => Match::Yes,
            Some(TextKind::Graph) if is_node_text(&head.first) => Match::Yes,
            _ => Match::No,
        };
    }
    if begins_with_node(&head.first) {
        return Match::Yes;
    }
    let fits = matches!(head.first.first(), Some(0x0a | 0x12 | 0x18 | 0x22))
        && head.has_extension(FORMAT.extensions);
    if fits { Match::Maybe } else { Match::No }
}

/// Whether a text has a node's name and operator first.
fn is_node_text(first: &[u8]) -> bool {
    let text = String::from_utf8_lossy(first.get(..first.len().min(NAME)).unwrap_or_default()).into_owned();
    let words: Vec<&str> = text.split_whitespace().take(8).collect();
    words.contains(&"name:") && words.contains(&"op:") && text.trim_start().starts_with("node")
}

/// Whether the first field is a node: a name, an operator, then what else nodes have.
fn begins_with_node(first: &[u8]) -> bool {
    let Some(mut rest) = first.strip_prefix(&[0x0a]) else { return false };
    let Some(len) = crate::engines::tensorflow::table::varint(&mut rest) else { return false };
    let node = usize::try_from(len).ok().and_then(|len| rest.get(..len)).unwrap_or(rest);
    let mut fields = Part::decoded(node).fields();
    let mut text = |number: u32| -> Option<String> {
        let field = fields.next()?.ok()?;
        let is_text = field.number == number && matches!(field.value, Wire::Bytes(_));
        is_text.then(|| field.value.text()).filter(|text| !text.is_empty() && text.len() < NAME)
    };
    let (Some(name), Some(op)) = (text(1), text(2)) else { return false };
    let printable = name.chars().all(|c| !c.is_control());
    let is_operator = op.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && op.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '>' | '.'));
    let others = fields.map_while(Result::ok).take(16);
    let mut shapes =
        others.map(|field| (3..=7).contains(&field.number) && matches!(field.value, Wire::Bytes(_)));
    printable && is_operator && shapes.all(|fits| fits)
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let root = Node::new("", "file");
    if opening.head.is_text()
        && let Some(kind) = document::text_kind(&opening.head.first)
    {
        return text(task, root, source, kind);
    }
    let messages = document::binary(task, source)?;
    let def = GraphDef::parse(task, messages.whole())?;
    if def.is_likely() {
        return document::graph(task, root, &messages, def, Vec::new());
    }
    drop(def);
    let meta = MetaGraph::parse(task, messages.whole())?;
    if !meta.has_graph || meta.strange > 0 || meta.graph.strange > 0 {
        return Err(match meta.problem {
            Some(problem) if source.name().ends_with(".meta") => problem,
            _ => Error::other_format(""),
        });
    }
    let bundle = beside(task, source)?;
    document::model(task, root, Some((&messages, vec![meta])), bundle, Vec::new())
}

/// A text, which stands below the graph that it says.
fn text(task: &Task, mut root: Node, source: &Source, kind: TextKind) -> Result<Node> {
    let detected = encoding::detect(&source.read_up_to(task, 0, 1 << 16)?);
    let lines: Arc<dyn Text> = Arc::new(PlainText::new(source.clone(), detected.encoding));
    let after = vec![Node::new("text", "text").content(Content::Text(lines))];
    let (messages, problem) = document::textual(task, source, kind)?;
    if let Some(problem) = problem {
        document::blame(&mut root, problem);
    }
    if kind == TextKind::Graph {
        let def = GraphDef::parse(task, messages.whole())?;
        return document::graph(task, root, &messages, def, after);
    }
    let meta = MetaGraph::parse(task, messages.whole())?;
    document::model(task, root, Some((&messages, vec![meta])), beside(task, source)?, after)
}

/// The checkpoint that a meta graph lies beside.
fn beside(task: &Task, source: &Source) -> Result<Option<Bundle>> {
    let Some((prefix, File::Meta)) = file_of(source.name()) else { return Ok(None) };
    let Ok(index) = source.sibling(task, &format!("{prefix}.index")) else { return Ok(None) };
    match Bundle::open(task, &index).unless_cancelled()? {
        Ok(bundle) => Ok(Some(bundle)),
        Err(error) => Ok(Some(Bundle { problems: vec![error.of(index.name())], ..Bundle::default() })),
    }
}

#[cfg(test)]
mod tests;
