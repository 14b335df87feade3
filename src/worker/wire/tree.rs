//! Nodes, content and sources: what they say crosses as it is; what reads stays in the worker, kept under a key, and is
//! a proxy in the other process.
//!
//! The table of kinds is [`Content`]'s `put`: a kind of content without its line does not compile.

use super::{In, Out, Wire, choice, record, wrong};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::{Growth, Packed, Source};
use crate::bytes::task::Task;
use crate::data::content::array::{ArrayFacts, Axis, World};
use crate::data::content::graph::{self, Attribute, Builder, Dimension, Graph, Operation, Port, ValueId};
use crate::data::content::image::{FrameChannel, Video};
use crate::data::content::{Array, Content, Image, ImageInfo, Table, Text};
use crate::data::format::Encoded;
use crate::data::location::{Location, Owner, Part};
use crate::data::node::{Children, Findings, Listing, Node, NodeStatistics, Places, Timeline, Versions};
use crate::data::quantised::StoredBlocks;
use crate::worker::link::{Adopter, Handle};
use crate::worker::objects::Object;
use crate::worker::proxy;
use ::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a source in memory that are sent along rather than asked for.
const INLINE: u64 = 256 << 10;
/// How deep listed children are sent along; below that they are asked for.
const LEVELS: u32 = 48;
/// Bytes of an answer from which on listed children are asked for.
const EAGER: usize = 24 << 20;

/// Keeps what reads in the worker, under the next key of the answer.
fn keep(object: Object, out: &mut Out<'_>) {
    let state = object.state();
    match out.keeper.as_mut() {
        Some(keeper) => {
            let ordinal = keeper.keep(object, &state);
            ordinal.put(out);
            state.put(out);
        }
        None => out.fail(Error::bug("something that reads was sent to a worker")),
    }
}

/// A handle on what was kept.
fn kept(from: &mut In<'_>) -> Result<Arc<Handle>> {
    let (ordinal, state) = (u32::read(from)?, Wire::read(from)?);
    Ok(adopter(from)?.handle(ordinal, state))
}

fn adopter<'a>(from: &In<'a>) -> Result<&'a Adopter> {
    from.adopter.ok_or_else(|| Error::bug("something that reads outside of an answer"))
}

/// What reads, and the proxy for it: as one line a trait.
macro_rules! kept {
    ($($trait:ident => $object:ident, $proxy:ident;)+) => {$(
        impl Wire for Arc<dyn $trait> {
            fn put(&self, out: &mut Out<'_>) {
                keep(Object::$object(self.clone()), out);
                proxy::$proxy::describe(self.as_ref(), out);
            }

            fn read(from: &mut In<'_>) -> Result<Self> {
                let handle = kept(from)?;
                from.deeper(|from| Ok(Arc::new(proxy::$proxy::described(handle, from)?) as Arc<dyn $trait>))
            }
        }
    )+};
}

kept! {
    Table => Table, RemoteTable;
    Array => Array, RemoteArray;
    Image => Image, RemoteImage;
    Text => Text, RemoteText;
    Listing => Listing, RemoteListing;
    Findings => Findings, RemoteFindings;
    Places => Places, RemotePlaces;
    NodeStatistics => Statistics, RemoteStatistics;
    Versions => Versions, RemoteVersions;
    World => World, RemoteWorld;
}

choice!(Content { 0 Table(table); 1 Array(array); 2 Image(image); 3 Text(text); 4 Graph(graph); 5 Bytes(source); });

record!(ArrayFacts {
    word,
    chunks,
    codecs,
    byte_order,
    bytes_stored,
    byte_each,
    details,
    unit,
    times,
    axes,
    world,
    scaling,
    window,
    value_names,
    sound,
});
record!(Axis { name, unit, coordinate, regular, times, heading });
record!(ImageInfo {
    width,
    height,
    channels,
    bits,
    sample,
    alpha,
    frames,
    frame_times,
    frame_axes,
    frame_channels,
    sides,
    levels,
    orientation,
    scaling,
    window,
    chunk,
    planar,
    profile,
    video,
    details,
});
record!(FrameChannel { name, colour, window, shown });
record!(Video { codec, fps, seconds, keys, times, can_decode });
record!(Timeline { versions, at });
record!(Encoded { format, source, at, big, version });
record!(Packed { source, range, codec });
record!(StoredBlocks { source, span, big });
record!(Owner { unit, cell, element, exact });
record!(Part { what, location });

/// Which columns have inferred types, and these.
pub(in crate::worker) fn put_inferred(table: &dyn Table, out: &mut Out<'_>) {
    let columns = table.schema().fields().len();
    let types: Vec<(usize, &DataType)> = (0..columns).filter_map(|n| Some((n, table.inferred(n)?))).collect();
    types.iter().map(|(n, _)| *n).collect::<Vec<usize>>().put(out);
    if !types.is_empty() {
        let fields: Vec<Field> =
            types.iter().map(|(_, kind)| Field::new("", (*kind).clone(), true)).collect();
        Arc::new(Schema::new(fields)).put(out);
    }
}

pub(in crate::worker) fn take_inferred(columns: usize, from: &mut In<'_>) -> Result<Vec<Option<DataType>>> {
    let places = Vec::<usize>::read(from)?;
    let mut types = vec![None; if places.is_empty() { 0 } else { columns }];
    if places.is_empty() {
        return Ok(types);
    }
    let schema = SchemaRef::read(from)?;
    for (place, field) in places.iter().zip(schema.fields()) {
        let slot = types.get_mut(*place).ok_or_else(|| wrong("the type of a column that there is not"))?;
        *slot = Some(field.data_type().clone());
    }
    Ok(types)
}

impl Wire for Children {
    fn put(&self, out: &mut Out<'_>) {
        match self {
            Children::None => out.bytes.push(0),
            Children::Listed(list) if out.level < LEVELS && out.bytes.len() < EAGER => {
                out.bytes.push(1);
                out.level += 1;
                list.put(out);
                out.level -= 1;
            }
            Children::Listed(list) => {
                out.bytes.push(2);
                (Arc::new(proxy::Listed(list.clone())) as Arc<dyn Listing>).put(out);
            }
            Children::Lazy(list) => {
                out.bytes.push(2);
                list.put(out);
            }
        }
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(match from.byte()? {
            0 => Children::None,
            1 => Children::Listed(Wire::read(from)?),
            2 => Children::Lazy(Wire::read(from)?),
            _ => return Err(wrong("children of no kind")),
        })
    }
}

/// A file that grows, which is to be known as such on both sides.
struct Growing(Source);

impl Wire for Growing {
    fn put(&self, out: &mut Out<'_>) {
        self.0.put(out);
        self.0.may_grow().put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let source = <Source as Wire>::read(from)?;
        if bool::read(from)? {
            source.grows(Growth::Appended)?;
        }
        Ok(Growing(source))
    }
}

impl Wire for Node {
    fn put(&self, out: &mut Out<'_>) {
        (self.name.clone(), self.label, self.type_name.clone(), self.length).put(out);
        (self.separator, self.value.clone(), self.scalar.clone()).put(out);
        self.attributes.put(out);
        self.attribute_types.put(out);
        self.attribute_places.put(out);
        self.reserved.put(out);
        self.reader.put(out);
        self.formats.put(out);
        (self.bare_dimension, self.children_are_parts, self.derived, self.shows_attributes).put(out);
        self.content.put(out);
        self.children.put(out);
        self.problem.put(out);
        self.remarks.put(out);
        self.findings.put(out);
        self.span.put(out);
        self.places.put(out);
        self.statistics.put(out);
        self.security.put(out);
        self.timeline.put(out);
        self.presentation.put(out);
        self.start.put(out);
        self.media_folder.put(out);
        self.growing.clone().map(Growing).put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let (name, label, type_name, length) = Wire::read(from)?;
        let (separator, value, scalar) = Wire::read(from)?;
        let (attributes, attribute_types, attribute_places) =
            (Wire::read(from)?, Wire::read(from)?, Wire::read(from)?);
        let (reserved, reader, formats) = (Wire::read(from)?, Wire::read(from)?, Wire::read(from)?);
        let (bare_dimension, children_are_parts, derived, shows_attributes) = Wire::read(from)?;
        Ok(Node {
            name,
            label,
            type_name,
            length,
            separator,
            value,
            scalar,
            attributes,
            attribute_types,
            attribute_places,
            reserved,
            reader,
            formats,
            bare_dimension,
            children_are_parts,
            derived,
            shows_attributes,
            content: Wire::read(from)?,
            children: from.deeper(Wire::read)?,
            problem: Wire::read(from)?,
            remarks: Wire::read(from)?,
            findings: Wire::read(from)?,
            span: Wire::read(from)?,
            places: Wire::read(from)?,
            statistics: Wire::read(from)?,
            security: Wire::read(from)?,
            timeline: Wire::read(from)?,
            presentation: Wire::read(from)?,
            start: Wire::read(from)?,
            media_folder: Wire::read(from)?,
            growing: Option::<Growing>::read(from)?.map(|growing| growing.0),
            // What is behind it is guarded where it reads, in the worker.
            guarded: true,
        })
    }
}

/// Whether the bytes lie in a file as they are, so that the other process reads them itself.
pub(in crate::worker) fn is_in_a_file(source: &Source) -> bool {
    source.base(0..0).0.path().is_some() && !source.is_folder()
}

impl Wire for Source {
    fn put(&self, out: &mut Out<'_>) {
        let document = out.keeper.as_ref().map(|keeper| keeper.document().clone());
        let (base, start) = self.base(0..0);
        let len = self.known_len();
        match (self.path(), len) {
            _ if document.as_ref().is_some_and(|document| document.is(self)) => out.bytes.push(0),
            (Some(path), _) => {
                out.bytes.push(1);
                path.to_owned().put(out);
            }
            (None, Some(len)) if !base.is(self) && base.path().is_some() => {
                out.bytes.push(2);
                base.put(out);
                (start.start..start.start.saturating_add(len)).put(out);
                self.name().to_owned().put(out);
            }
            (None, Some(len)) if len <= INLINE && !self.is_stream() => {
                out.bytes.push(3);
                self.name().to_owned().put(out);
                match self.read(&Task::new(), 0..len) {
                    Ok(bytes) => bytes.put(out),
                    Err(error) => out.fail(error),
                }
                self.origin().put(out);
            }
            _ => {
                out.bytes.push(4);
                self.name().to_owned().put(out);
                self.origin().put(out);
                keep(Object::Source(self.clone()), out);
            }
        }
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let link = adopter(from)?.link().clone();
        Ok(match from.byte()? {
            0 => link.source().clone(),
            1 => link.side_file(&std::path::PathBuf::read(from)?)?,
            2 => {
                let base = from.deeper(<Source as Wire>::read)?;
                let (range, name): (Range<u64>, String) = Wire::read(from)?;
                base.member(name, range)?
            }
            3 => {
                let (name, bytes): (String, bytes::Bytes) = Wire::read(from)?;
                let origin = from.deeper(Option::<Packed>::read)?;
                packed(link.source().inflated(name, bytes)?, origin)
            }
            4 => {
                let name = String::read(from)?;
                let origin = from.deeper(Option::<Packed>::read)?;
                let handle = kept(from)?;
                packed(link.source().stream(name, Arc::new(proxy::RemoteBytes(handle)))?, origin)
            }
            _ => return Err(wrong("bytes of no kind")),
        })
    }
}

fn packed(source: Source, origin: Option<Packed>) -> Source {
    match origin {
        Some(packed) => source.unpacked_from(&packed.source, packed.range, packed.codec),
        None => source,
    }
}

impl Wire for Location {
    fn put(&self, out: &mut Out<'_>) {
        self.source.put(out);
        self.range.put(out);
        (self.unit, self.name.clone(), self.codecs.clone(), self.encoding.clone()).put(out);
        (self.within.clone(), self.fields.clone(), self.absent).put(out);
        out.level += 1;
        if out.level < LEVELS {
            self.parts.put(out);
        } else {
            Vec::<Part>::new().put(out);
        }
        out.level -= 1;
        self.is_plain().put(out);
        if !self.is_plain() {
            keep(Object::Location(Box::new(self.clone())), out);
        }
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let (source, range) = (<Source as Wire>::read(from)?, Wire::read(from)?);
        let (unit, name, codecs, encoding): (_, String, _, _) = Wire::read(from)?;
        let mut location = Location::new(source, range, unit, name);
        let (within, fields, absent) = Wire::read(from)?;
        let parts = Wire::read(from)?;
        if !bool::read(from)? {
            let handle = kept(from)?;
            location = location.decoded_by(codecs, move |task, _| proxy::decoded(&handle, task));
        } else {
            location.codecs = codecs;
        }
        // A new field is to be told here, too: the other end has the same list.
        (location.encoding, location.within, location.fields) = (encoding, within, fields);
        (location.parts, location.absent) = (parts, absent);
        Ok(location)
    }
}

choice!(Dimension { 0 Fixed(length); 1 Named(name); 2 Open; });
choice!(Attribute {
    0 Int(value); 1 Float(value); 2 Text(text); 3 Ints(items); 4 Floats(items); 5 Texts(items); 6 Tensor(path, text);
    7 Graph(name);
});
record!(graph::Value { name, dtype, shape, is_inferred, weight, elements });

/// A port with the number of its value.
struct Numbered {
    name: Arc<str>,
    value: Option<u32>,
    is_control: bool,
}

record!(Numbered { name, value, is_control });

fn number(id: &ValueId) -> u32 {
    id.index() as u32
}

fn put_ports(ports: &[Port], out: &mut Out<'_>) {
    let numbered = |port: &Port| Numbered {
        name: port.name.clone(),
        value: port.value.as_ref().map(number),
        is_control: port.is_control,
    };
    ports.iter().map(numbered).collect::<Vec<_>>().put(out);
}

fn id_of(ids: &[ValueId], number: u32) -> Result<ValueId> {
    ids.get(number as usize).copied().ok_or_else(|| wrong("a value that its graph has not"))
}

fn take_ports(ids: &[ValueId], from: &mut In<'_>) -> Result<Vec<Port>> {
    let one = |port: Numbered| {
        let value = port.value.map(|number| id_of(ids, number)).transpose()?;
        Ok(Port { name: port.name, value, is_control: port.is_control })
    };
    Vec::<Numbered>::read(from)?.into_iter().map(one).collect()
}

/// A graph that may be the body of several nodes: it is sent once, and named after that. (Bodies of bodies would be sent
/// as often as there are ways to them.)
fn put_shared(graph: &Arc<Graph>, out: &mut Out<'_>) {
    let known = out.graphs.iter().position(|other| Arc::ptr_eq(other, graph));
    known.map(|at| at as u32).put(out);
    if known.is_none() {
        graph.put(out);
        out.graphs.push(graph.clone());
    }
}

fn take_shared(from: &mut In<'_>) -> Result<Arc<Graph>> {
    if let Some(at) = Option::<u32>::read(from)? {
        return from.graphs.get(at as usize).cloned().ok_or_else(|| wrong("a graph that was not sent"));
    }
    let graph: Arc<Graph> = Wire::read(from)?;
    from.graphs.push(graph.clone());
    Ok(graph)
}

/// Made anew from its nodes and values, so that who makes and who takes a value is concluded here.
impl Wire for Graph {
    fn put(&self, out: &mut Out<'_>) {
        self.name.put(out);
        self.names_are_labels.put(out);
        super::put_count(self.values().len(), out);
        graph::Value::put_all(self.values(), out);
        for list in [&self.inputs, &self.outputs] {
            list.iter().map(number).collect::<Vec<u32>>().put(out);
        }
        super::put_count(self.nodes().len(), out);
        for node in self.nodes() {
            (node.name.clone(), node.operator.clone(), node.domain.clone(), node.group.clone()).put(out);
            put_ports(&node.inputs, out);
            put_ports(&node.outputs, out);
            node.attributes.put(out);
            super::put_count(node.subgraphs.len(), out);
            for (name, graph) in &node.subgraphs {
                name.put(out);
                put_shared(graph, out);
            }
            node.function.put(out);
        }
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let mut builder = Builder::new(String::read(from)?);
        if bool::read(from)? {
            builder.label_edges();
        }
        let count = from.count()?;
        let ids: Vec<ValueId> =
            (0..count).map(|_| builder.unnamed(graph::Value::read(from)?)).collect::<Result<_>>()?;
        for number in Vec::<u32>::read(from)? {
            builder.input(id_of(&ids, number)?);
        }
        for number in Vec::<u32>::read(from)? {
            builder.output(id_of(&ids, number)?);
        }
        for _ in 0..from.count()? {
            let (name, operator, domain, group) = Wire::read(from)?;
            let (inputs, outputs) = (take_ports(&ids, from)?, take_ports(&ids, from)?);
            let attributes = Wire::read(from)?;
            let subgraphs = (0..from.count()?)
                .map(|_| Ok((Wire::read(from)?, from.deeper(take_shared)?)))
                .collect::<Result<_>>()?;
            let function = Wire::read(from)?;
            builder.node(Operation {
                name,
                operator,
                domain,
                group,
                inputs,
                outputs,
                attributes,
                subgraphs,
                function,
            })?;
        }
        Ok(builder.finish())
    }
}
