//! Messages of a type that a schema describes: a `.proto` file, which is compiled, or a descriptor set as `protoc` makes it.
//! <https://protobuf.dev/programming-guides/proto3/>,
//! <https://github.com/protocolbuffers/protobuf/blob/main/src/google/protobuf/descriptor.proto>
//!
//! Fields become columns of their types: enumerations by the names of their values, messages as structs, repeated fields
//! as lists, maps as maps. A field that says whether it is set is null where it is not; another has its default value
//! then. Where a type is in itself again it is text from there on, in the JSON of Protocol Buffers.

mod arrays;
mod json;

use super::Part;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::{Formats, Options};
use crate::data::node::Node;
use crate::engines::records::container::{Builder, Columns, Problems, Record};
use arrow::array::ArrayRef;
use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use prost_reflect::{DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, Value};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use std::path::Path;
use std::sync::Arc;

/// The largest schema, in bytes.
const LARGEST: u64 = 64 << 20;
/// Message types that are named where one has to be chosen.
const NAMED: usize = 20;
/// Values of a list that become nodes.
const NODES: usize = 10_000;

/// The type of messages.
pub struct Schema {
    message: MessageDescriptor,
}

/// Finds the files that a schema imports: beside it, never outside of its folder.
struct Beside {
    task: Task,
    schema: Source,
    name: String,
}

impl FileResolver for Beside {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let read = || -> Result<String> {
            let source = match name == self.name {
                true => self.schema.clone(),
                false => self.schema.sibling(&self.task, name)?,
            };
            text(&self.task, &source)
        };
        match read() {
            Ok(text) => File::from_source(name, &text),
            Err(error) if name == self.name => Err(protox::Error::new(error)),
            Err(_) => Err(protox::Error::file_not_found(name)),
        }
    }
}

fn whole(task: &Task, source: &Source) -> Result<bytes::Bytes> {
    let len = source.len(task)?;
    limits::check(len, LARGEST, "a schema of messages")?;
    source.read(task, 0..len)
}

fn text(task: &Task, source: &Source) -> Result<String> {
    String::from_utf8(whole(task, source)?.to_vec())
        .map_err(|_| Error::malformed(format!("{}: it is no text", source.name())))
}

impl Schema {
    /// The message type `message` of the schema at `path`, which lies beside `of` or anywhere: the only type that no other
    /// one holds where none is named.
    ///
    /// # Errors
    /// Where there is no such file or type, or the schema is wrong.
    pub fn open(task: &Task, of: &Source, path: &str, message: Option<&str>) -> Result<Schema> {
        let place = Path::new(path);
        let source = match place.is_absolute() {
            true => Source::open(task, place)?,
            false => of.sibling(task, path).or_else(|_| Source::open(task, place))?,
        };
        let is_proto = place.extension().is_some_and(|end| end.eq_ignore_ascii_case("proto"));
        let pool = if is_proto { compiled(task, &source)? } else { described(task, &source)? };
        Ok(Schema { message: chosen(&pool, path, message)? })
    }

    /// The full name of the type.
    pub fn message_name(&self) -> String {
        self.message.full_name().to_owned()
    }

    fn decode(&self, bytes: &[u8]) -> Result<DynamicMessage> {
        let name = self.message.full_name();
        DynamicMessage::decode(self.message.clone(), bytes)
            .map_err(|error| Error::malformed(format!("{name}: {error}")))
    }

    /// A record as a node with its fields below it.
    ///
    /// # Errors
    /// `Malformed` where it is no such message.
    pub fn node(&self, formats: Formats, name: &str, source: &Source, record: Part) -> Result<Node> {
        let message = self.decode(record.bytes()).map_err(|error| error.at(record.span().start))?;
        let node = Node { name: name.to_owned(), ..of_message(formats, source, "record", &message) };
        Ok(node)
    }
}

/// A `.proto` file with what it imports.
fn compiled(task: &Task, source: &Source) -> Result<DescriptorPool> {
    let wrong = |error: protox::Error| Error::malformed(format!("schema {}: {error}", source.name()));
    let name = source.name().to_owned();
    let mut resolver = ChainFileResolver::new();
    resolver.add(Beside { task: task.clone(), schema: source.clone(), name: name.clone() });
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true);
    compiler.open_file(&name).map_err(wrong)?;
    Ok(compiler.descriptor_pool())
}

/// A descriptor set.
fn described(task: &Task, source: &Source) -> Result<DescriptorPool> {
    let wrong = |error| Error::malformed(format!("descriptor set {}: {error}", source.name()));
    DescriptorPool::decode(whole(task, source)?).map_err(wrong)
}

/// The type of this name, or the only one that it can be.
fn chosen(pool: &DescriptorPool, path: &str, name: Option<&str>) -> Result<MessageDescriptor> {
    let own =
        |message: &MessageDescriptor| !message.is_map_entry() && message.package_name() != "google.protobuf";
    let list = |messages: &[MessageDescriptor]| {
        let names: Vec<&str> = messages.iter().take(NAMED).map(MessageDescriptor::full_name).collect();
        let more = if messages.len() > NAMED { ", …" } else { "" };
        format!("{}{more}", names.join(", "))
    };
    let all: Vec<MessageDescriptor> = pool.all_messages().filter(own).collect();
    if let Some(name) = name {
        let found = pool.get_message_by_name(name.trim_start_matches('.'));
        let short = || all.iter().find(|message| message.name() == name).cloned();
        let what = || Error::unsupported(format!("{path} has no message {name}; it has {}", list(&all)));
        return found.or_else(short).ok_or_else(what);
    }
    let holds = |outer: &MessageDescriptor, inner: &MessageDescriptor| {
        let mut kinds = outer.fields().map(|field| field.kind());
        outer != inner && kinds.any(|kind| kind.as_message() == Some(inner))
    };
    let is_outer = |message: &&MessageDescriptor| {
        message.parent_message().is_none() && !all.iter().any(|outer| holds(outer, message))
    };
    let outer: Vec<MessageDescriptor> = all.iter().filter(is_outer).cloned().collect();
    match outer.as_slice() {
        [only] => Ok(only.clone()),
        [] if all.is_empty() => Err(Error::unsupported(format!("{path} has no messages"))),
        _ => {
            let which = list(if outer.is_empty() { &all } else { &outer });
            Err(Error::unsupported(format!("{path} has several messages; option message: one of {which}")))
        }
    }
}

/// A message as a node: its fields, those without a value left out.
fn of_message(formats: Formats, source: &Source, label: &'static str, message: &DynamicMessage) -> Node {
    let fields = message.fields();
    let children = fields.map(|(field, value)| of_field(formats, source, &field, value)).collect();
    Node::new("", label).listed(children)
}

fn of_field(formats: Formats, source: &Source, field: &FieldDescriptor, value: &Value) -> Node {
    let named = |node: Node, name: String| Node { name, ..node };
    let one = |value: &Value| of_value(formats, source, &field.kind(), value);
    let node = match value {
        Value::List(values) => {
            let items = values.iter().take(NODES).enumerate();
            let items = items.map(|(n, value)| named(one(value), n.to_string())).collect();
            Node::new("", "repeated").listed(items)
        }
        Value::Map(entries) => {
            let kind = field.kind().as_message().map(|entry| entry.map_entry_value_field().kind());
            let mut items: Vec<Node> = entries
                .iter()
                .take(NODES)
                .filter_map(|(key, value)| {
                    let node = of_value(formats, source, kind.as_ref()?, value);
                    Some(named(node, json::key(key)))
                })
                .collect();
            items.sort_by(|a, b| crate::bytes::display::natural_order(&a.name, &b.name));
            Node::new("", "map").listed(items)
        }
        value => one(value),
    };
    named(node, field.name().to_owned())
}

fn of_value(formats: Formats, source: &Source, kind: &Kind, value: &Value) -> Node {
    match value {
        Value::Message(message) => of_message(formats, source, "message", message),
        Value::Bytes(bytes) if bytes.is_empty() => Node::new("", "bytes").value(""),
        Value::Bytes(bytes) => {
            let (source, bytes) = (source.clone(), bytes.clone());
            let make = move |_: &Task| source.inflated("bytes", bytes.clone());
            formats.nested("", "bytes", Options::default(), make)
        }
        Value::EnumNumber(_) => Node::new("", "enum").value(json::text(kind, value)),
        value => Node::new("", "field").value(json::text(kind, value)),
    }
}

/// The fields of messages as columns.
pub struct MessageColumns {
    of: Arc<Schema>,
    schema: SchemaRef,
    problems: Arc<Problems>,
}

impl MessageColumns {
    /// Of this type; what is wrong with records is said among `problems`.
    pub fn new(of: Arc<Schema>, problems: Arc<Problems>) -> Self {
        let fields: Vec<_> = of.message.fields().map(|field| arrays::field(&field, &[&of.message])).collect();
        MessageColumns { of, schema: Arc::new(ArrowSchema::new(fields)), problems }
    }
}

impl Columns for MessageColumns {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn wants_payloads(&self, columns: &[usize]) -> bool {
        !columns.is_empty()
    }

    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>> {
        Ok(Box::new(MessageBuilder { of: self, columns: columns.to_vec(), messages: Vec::new() }))
    }
}

struct MessageBuilder<'a> {
    of: &'a MessageColumns,
    columns: Vec<usize>,
    messages: Vec<Option<DynamicMessage>>,
}

impl Builder for MessageBuilder<'_> {
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()> {
        let message = match payload.map(|bytes| self.of.of.decode(bytes)).transpose() {
            Ok(message) => message,
            Err(error) => {
                let error = error.of(&format!("record {}", record.number)).at(record.span.start);
                self.of.problems.add(error);
                None
            }
        };
        self.messages.push(message);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>> {
        let fields: Vec<FieldDescriptor> = self.of.of.message.fields().collect();
        let column = |&column: &usize| {
            let (field, target) = (fields.get(column), self.of.schema.fields().get(column));
            let (Some(field), Some(target)) = (field, target) else {
                return Err(Error::bug(format!("column {column} was asked for")));
            };
            let messages: Vec<Option<&DynamicMessage>> = self.messages.iter().map(Option::as_ref).collect();
            arrays::of_field(field, &messages, target.data_type())
        };
        self.columns.iter().map(column).collect()
    }
}
