//! `Format`: the descriptor of one file format, as a value — how to recognise it, open it, and, where
//! Gander writes it, how. And `Writer`: what a format can write.

use crate::bytes::error::{Error, Result};
use crate::bytes::source::{Growth, Source};
use crate::bytes::task::Task;
use crate::data::content::graph::Graph;
use crate::data::content::{Array, Image, Kind, Sample, Table};
use crate::data::dtype::{Blocks, DType};
use crate::data::node::{Node, Value};
use crate::data::security::Report;
use crate::data::sniff::{Head, Magic, Match};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{Seek, Write};
use std::ops::Range;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

mod loss;

pub use loss::{Loss, LossKind, Worded, loss, note, unturned, worded};

/// One file format.
pub struct Format {
    /// The short name in commands and JSON: `npy`.
    pub id: &'static str,
    /// The name for people: `NumPy array`.
    pub name: &'static str,
    /// File name endings without the dot, lower case, the usual one first; may have dots inside.
    pub extensions: &'static [&'static str],
    /// MIME types, for the desktop's file associations.
    pub mime: &'static [&'static str],
    /// Bytes that only this format has. Its extensions then are a promise: a file of such a name that is opened as text
    /// or bytes is said to be damaged or misnamed, also where `sniff` decides.
    pub magic: &'static [Magic],
    /// Decides where magic alone does not, and then in its place: `magic` is not looked at unless it does so itself. Pure; sees only the
    /// head. `Yes` wins in the order of the list, `Maybe` needs the extension.
    pub sniff: Option<fn(&Head) -> Match>,
    /// Takes nearly any bytes or text: a file whose name promises a format with a magic of its own was damaged or
    /// misnamed if it ends up here.
    pub takes_any: bool,
    /// Whether a file without any bytes is one of its files, where the name says so: it holds nothing yet.
    pub may_be_empty: bool,
    /// How its files change while they are read, by programs that write them.
    pub growth: Growth,
    /// The kinds of content that its nodes hold.
    pub reads: &'static [Kind],
    /// Its arrays are the parameters of a model: what a look at a file begins with.
    pub holds_weights: bool,
    /// The library whose tensors it holds, by the word that safetensors has for it (`pt`), where that is sure.
    pub framework: Option<&'static str>,
    /// What may be set when opening (a CSV's delimiter).
    pub options: &'static [OptionSpec],
    /// What loading a file as this format's would run, asked of files that are recognised as others: one file can be
    /// both. `None` where it is none of this format, or would run nothing.
    pub disguised: Option<fn(&Task, &Source, &Head) -> Result<Option<Report>>>,
    /// Reads headers and makes the tree.
    pub open: fn(&Opening) -> Result<Node>,
    /// How it is written, if Gander writes it.
    pub targets: &'static [Target],
}

impl Format {
    /// A format with nothing but a name and a way to open it; the rest by struct update.
    pub const fn new(id: &'static str, name: &'static str, open: fn(&Opening) -> Result<Node>) -> Self {
        Format {
            id,
            name,
            extensions: &[],
            mime: &[],
            magic: &[],
            sniff: None,
            takes_any: false,
            may_be_empty: false,
            growth: Growth::Fixed,
            reads: &[],
            holds_weights: false,
            framework: None,
            options: &[],
            disguised: None,
            open,
            targets: &[],
        }
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Format({})", self.id)
    }
}

/// Formats in the order in which they are asked; the last one opens anything.
#[derive(Clone, Copy)]
pub struct Formats(pub &'static [&'static Format]);

impl Formats {
    /// The format of this id.
    pub fn by_id(self, id: &str) -> Option<&'static Format> {
        self.0.iter().find(|format| format.id == id).copied()
    }
}

/// What a format's `open` is given.
pub struct Opening<'a> {
    /// Permission to block.
    pub task: &'a Task,
    /// The bytes or folder.
    pub source: &'a Source,
    /// The first and last bytes, already read.
    pub head: &'a Head,
    /// What the user set.
    pub options: &'a Options,
}

/// An option of a reader or writer, for help texts and dialogs.
#[derive(Debug)]
pub struct OptionSpec {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, as a sentence without a full stop.
    pub help: &'static str,
    /// The possible values; empty where any text may stand.
    pub values: &'static [&'static str],
    /// What holds when it is not set, as it would be written.
    pub default: &'static str,
    /// The kinds of content that it changes something for; empty where that is all that the writer takes.
    pub kinds: &'static [Kind],
}

impl OptionSpec {
    /// An option for which any text may stand, and without a default.
    pub const fn new(name: &'static str, help: &'static str) -> Self {
        OptionSpec { name, help, values: &[], default: "", kinds: &[] }
    }

    /// An option for content of these kinds alone, of all that a writer takes.
    pub const fn of_kinds(self, kinds: &'static [Kind]) -> Self {
        OptionSpec { kinds, ..self }
    }

    /// With this default.
    pub const fn default(self, default: &'static str) -> Self {
        OptionSpec { default, ..self }
    }

    /// One of `values`, this one where it is not set.
    pub const fn one_of(self, default: &'static str, values: &'static [&'static str]) -> Self {
        OptionSpec { values, default, ..self }
    }
}

/// Option values that were set, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(pub BTreeMap<String, String>);

impl Options {
    /// The value of an option, if it was set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Sets an option.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// The options of the file at a path inside this one, each called `PATH:NAME` here.
    pub fn below(&self, path: &str) -> Options {
        let inner = |(name, value): (&String, &String)| {
            let rest = name.strip_prefix(path)?.strip_prefix([':', '/'])?;
            Some((rest.to_owned(), value.clone()))
        };
        Options(self.0.iter().filter_map(inner).collect())
    }

    /// The whole number that `spec` is set to, one of `range`; `usual` where it is not set or `auto`.
    ///
    /// # Errors
    /// `Unsupported` for another text, with the range.
    pub fn within(&self, spec: &OptionSpec, usual: i32, range: RangeInclusive<i32>) -> Result<i32> {
        let text = self.get(spec.name).unwrap_or("auto").trim();
        if text == "auto" || text.is_empty() {
            return Ok(usual);
        }
        text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            Error::unsupported(format!("{}={text}: it is a number from {low} to {high} here", spec.name))
        })
    }

    /// The number that `spec` is set to, or its default, if it is one that `fits`; else an error that says `what` it is.
    pub fn number<T: FromStr>(&self, spec: &OptionSpec, what: &str, fits: impl Fn(&T) -> bool) -> Result<T> {
        let text = self.get(spec.name).unwrap_or(spec.default);
        let number = text.trim().parse().ok().filter(fits);
        number.ok_or_else(|| Error::unsupported(format!("{}={text}: {what}", spec.name)))
    }

    /// The value of `spec`, or its default; an error if it is none of the possible ones.
    pub fn choice<'a>(&'a self, spec: &'a OptionSpec) -> Result<&'a str> {
        let value = self.get(spec.name).unwrap_or(spec.default);
        if spec.values.is_empty() || spec.values.contains(&value) {
            return Ok(value);
        }
        Err(Error::unsupported(format!("{}={value}: it is one of {}", spec.name, spec.values.join(", "))))
    }
}

/// A file type that can be written: a writer and what is set for it from the start.
pub struct Target {
    /// The short name on the command line.
    pub id: &'static str,
    /// The name for people.
    pub name: &'static str,
    /// File name endings that mean it, the usual one first.
    pub extensions: &'static [&'static str],
    /// The writer.
    pub writer: &'static Writer,
    /// Options that this type has set.
    pub presets: &'static [(&'static str, &'static str)],
}

impl Target {
    /// A file type with nothing set.
    pub const fn new(
        id: &'static str,
        name: &'static str,
        extensions: &'static [&'static str],
        writer: &'static Writer,
    ) -> Self {
        Target { id, name, extensions, writer, presets: &[] }
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Target({})", self.id)
    }
}

/// What a format can write.
pub struct Writer {
    /// The kinds of payload that it takes.
    pub accepts: &'static [Kind],
    /// Whether it holds several arrays in one file; of a writer of tables, whether it holds several of those.
    pub many: bool,
    /// What it keeps of attributes, names of dimensions and groups.
    pub metadata: Metadata,
    /// Whether its arrays may be of texts and bytes of any length, so that such columns of a table become arrays too.
    pub variable: bool,
    /// Whether the coordinates of a dimension are marked as such.
    pub scales: bool,
    /// Whether it writes the bytes of the data as they are and little more, so that the size of the file is known.
    pub plain: bool,
    /// Whether a table that becomes one array becomes records with the names of the columns, by these options.
    pub records: fn(&Options) -> bool,
    /// Whether it holds texts only, so that the text columns of a source stay as they are.
    pub texts: bool,
    /// Whether it holds quantised elements as the blocks of this kind that they are stored in, with these options; what it
    /// does not hold is given to it as float32.
    pub blocks: fn(Blocks, &Options) -> bool,
    /// Which arrays it takes as pictures, where it takes pictures.
    pub pictures: ArrayPictures,
    /// Whether it writes sounds: frames by channels, which are the dimensions of a sound.
    pub sounds: bool,
    /// What may be set.
    pub options: &'static [OptionSpec],
    /// Whether it can hold this of the kinds that it takes, asked when a conversion is planned: `Unsupported`, with what
    /// it has, where not. Looks at types and shapes only. What is refused here is not offered.
    pub check: fn(&Payload) -> Result<()>,
    /// What would not survive. Looks at types and names only, never at values.
    pub losses: fn(&Payload, &Options) -> Vec<Loss>,
    /// What a reader is to be told to read what is written with these options, where the bytes do not say it.
    pub reading: fn(&Options) -> Options,
    /// Whether it writes from front to back and never goes back, so that it can write to a pipe.
    pub streams: bool,
    /// Writes everything, streaming; reports progress on the task.
    pub write: WriteTo,
    /// How it adds to what is there already, where it can.
    pub append: Option<Append>,
}

/// Which arrays a writer of pictures takes as such.
#[derive(Clone, Copy, Debug)]
pub struct ArrayPictures {
    /// The types of elements that are samples.
    pub samples: &'static [Sample],
    /// Whether dimensions before rows and columns are frames; where a folder is written they always are.
    pub frames: bool,
}

/// What the last dimension of an array is that becomes pictures; an option of writers that hold several of them.
pub const CHANNELS: OptionSpec = OptionSpec::new(
    "channels",
    "Whether the last dimension of an array is that of the channels; auto: where it has at most 4 elements and two others are left",
)
.one_of("auto", &["auto", "last", "none"]);

/// How a writer writes.
#[derive(Clone, Copy)]
pub enum WriteTo {
    /// One file.
    File(WriteFile),
    /// The files of a folder.
    Folder(WriteFiles),
    /// One file, or the files of a folder where the options ask for that.
    Either {
        /// Whether they do.
        is_folder: fn(&Options) -> bool,
        /// Writes the file.
        file: WriteFile,
        /// Writes the folder.
        folder: WriteFiles,
    },
}

impl WriteTo {
    /// Whether a folder is written with these options.
    pub fn is_folder(&self, options: &Options) -> bool {
        match self {
            WriteTo::File(_) => false,
            WriteTo::Folder(_) => true,
            WriteTo::Either { is_folder, .. } => is_folder(options),
        }
    }
}

/// Writes one file.
pub type WriteFile = fn(&Task, &Payload, &Options, &mut dyn Sink) -> Result<()>;
/// Writes the files of a folder.
pub type WriteFiles = fn(&Task, &Payload, &Options, &mut dyn Files) -> Result<()>;

impl Writer {
    /// A writer of these kinds of payload, one to a file, that keeps nothing but values and has no options; the rest
    /// by struct update.
    pub const fn new(
        accepts: &'static [Kind],
        losses: fn(&Payload, &Options) -> Vec<Loss>,
        write: WriteFile,
    ) -> Self {
        Writer {
            accepts,
            many: false,
            metadata: Metadata::None,
            variable: false,
            scales: false,
            plain: false,
            records: |_| false,
            texts: false,
            blocks: |_, _| false,
            pictures: ArrayPictures { samples: &[Sample::U8, Sample::U16], frames: false },
            sounds: false,
            options: &[],
            check: |_| Ok(()),
            losses,
            reading: |_| Options::default(),
            streams: false,
            write: WriteTo::File(write),
            append: None,
        }
    }
}

/// How a writer adds to a folder that is there.
#[derive(Clone, Copy)]
pub struct Append {
    /// Writes what is added and makes it belong to the folder, as its last act.
    pub write: WriteAdditions,
    /// Which of some files the folder speaks of.
    pub known: KnownFiles,
}

/// Writes what is added to a folder, and [commits](Additions::commit) it.
pub type WriteAdditions = fn(&Task, &Payload, &Options, &mut dyn Additions) -> Result<()>;
/// Which of these files, named by their paths in a folder, it speaks of in whatever state it has. The others are what
/// a process left that ended before it was done: they are removed.
pub type KnownFiles = fn(&Task, &Source, &[String]) -> Result<HashSet<String>>;

/// What a format keeps beside values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// Nothing.
    None,
    /// Pairs of texts, which belong to the file.
    Texts,
    /// Pairs of a text and a value with its type, which belong to the file.
    Values,
    /// Some, by names of its own: the writer says which it does not keep ([`Payload::kept_texts`]).
    Own,
    /// Groups; attributes of groups and arrays; the names of an array's dimensions.
    Tree,
    /// What its headers have a place for: the writer is handed all that there is — attributes, what is known of arrays,
    /// what stored numbers stand for — and says itself, in [`Writer::losses`], what of it does not stay.
    Header,
}

/// A file that a writer writes to.
pub trait Sink: Write + Seek + Send {
    /// That so many bytes will be written in all, so that a lack of room is said before.
    ///
    /// # Errors
    /// `Io` where the disk has less.
    fn expect(&mut self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// Writes a range of a source as it is; in the kernel alone where both are files, which holds none of it in memory.
    /// Reports progress in bytes.
    ///
    /// # Errors
    /// Those of reading and writing.
    fn copy(&mut self, task: &Task, source: &Source, range: Range<u64>) -> Result<()> {
        copy_by_pieces(self, task, source, range)
    }

    /// The file behind it, for a library that writes files itself; it is still empty, and stays locked and
    /// temporary until all is written. `None` where there is no file.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// The name that the file will have once it is written, where it is known: its ending may say how it is packed.
    fn name(&self) -> Option<&str> {
        None
    }

    /// The file that belongs to it and lies beside it under the same name with this extension (an index), begun when it
    /// is first asked for. `None` where there is no file.
    ///
    /// # Errors
    /// Those of making it.
    fn beside(&mut self, _extension: &str) -> Result<Option<&mut dyn Sink>> {
        Ok(None)
    }
}

/// The files of a folder that is being written.
pub trait Files: Send {
    /// Writes a whole file under a path of its own in the folder, with `/` between its parts.
    ///
    /// # Errors
    /// Those of writing; `Unsupported` for names that the file system has not.
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<()>;

    /// Begins a file that is written piece by piece; it is to be flushed at the end.
    ///
    /// # Errors
    /// As [`put`](Files::put); where whole files only are taken.
    fn file(&mut self, path: &str) -> Result<Box<dyn Sink>> {
        Err(Error::bug(format!("{path}: this folder takes whole files only")))
    }

    /// The name of the folder, without an extension: what files in it are called after.
    fn stem(&self) -> String {
        "data".to_owned()
    }

    /// Where the folder will be, as an absolute path. `None` where it is no folder of its own.
    fn place(&self) -> Option<PathBuf> {
        None
    }
}

/// A folder that is there and is added to. Files that are begun in it belong to nothing until a last one speaks of
/// them, which appears whole or not at all; without it they are removed again, if not at once, then when somebody adds
/// to the folder the next time.
pub trait Additions: Files {
    /// The folder as it is now.
    ///
    /// # Errors
    /// Those of opening it.
    fn source(&self, task: &Task) -> Result<Source>;

    /// Makes what was written belong to the folder: all of it goes to the disk, and then this file appears under its
    /// path, if there is none of that path yet. Returns whether it did: `false` where somebody else came first.
    ///
    /// # Errors
    /// Those of writing; that the work was cancelled: then nothing belongs to the folder.
    fn commit(&mut self, task: &Task, path: &str, bytes: &[u8]) -> Result<bool>;

    /// The same by a file that takes the place of one that is there. After a [`commit`](Additions::commit) it is a word
    /// more about what is there already.
    ///
    /// # Errors
    /// As those of `commit`.
    fn replace(&mut self, task: &Task, path: &str, bytes: &[u8]) -> Result<()>;

    /// Puts a file that may be there already. Another of its path is replaced at once: the new one must say the same as
    /// the old to whoever reads the folder as it was. What was begun belongs to nothing still.
    ///
    /// # Errors
    /// As those of [`put`](Files::put).
    fn overwrite(&mut self, path: &str, bytes: &[u8]) -> Result<()>;

    /// Takes back a file that was begun here.
    fn take_back(&mut self, path: &str);
}

impl Sink for std::io::Cursor<Vec<u8>> {}

/// Reads a range of a source piece by piece and writes it. Reports progress in bytes.
///
/// # Errors
/// Those of reading and writing.
pub fn copy_by_pieces(
    to: &mut (impl Write + ?Sized),
    task: &Task,
    source: &Source,
    range: Range<u64>,
) -> Result<()> {
    /// Bytes that are read at once.
    const PIECE: u64 = 4 << 20;
    let mut buffer = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let piece = PIECE.min(range.end - at);
        buffer.resize(piece as usize, 0);
        source.read_into(task, at, &mut buffer)?;
        to.write_all(&buffer)?;
        at += piece;
        task.advance(piece)?;
    }
    Ok(())
}

/// What is written: content of a kind that the writer accepts, with the attributes that go along.
#[derive(Clone)]
pub struct Payload {
    /// The content.
    pub data: Data,
    /// The attributes of the whole: of the only node, else of the file or group that all comes from.
    pub attributes: Attributes,
    /// The attributes of each of several arrays and of the groups that they lie in, by name. Groups stand here
    /// also without attributes.
    pub parts: BTreeMap<String, Attributes>,
    /// The library whose tensors the arrays are, where that is known (see [`Format::framework`]).
    pub framework: Option<&'static str>,
}

/// Attributes with the types of their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    /// Names and values, in order.
    pub list: Vec<(String, Value)>,
    /// The types of those values that are typed more narrowly than JSON; of lists that of an element.
    pub types: BTreeMap<String, DType>,
    /// Where values lie in their file, for a writer of the same format: it has them to the bit, also those that are too
    /// long for the list.
    pub encoded: BTreeMap<String, Encoded>,
}

/// A value as its file has it.
#[derive(Clone)]
pub struct Encoded {
    /// The id of the format that has it so.
    pub format: &'static str,
    /// The file.
    pub source: Source,
    /// Where it begins.
    pub at: u64,
    /// Whether its numbers are big-endian.
    pub big: bool,
    /// The version of the format.
    pub version: u32,
}

impl PartialEq for Encoded {
    fn eq(&self, other: &Self) -> bool {
        self.format == other.format && self.at == other.at && self.source.is(&other.source)
    }
}

impl std::fmt::Debug for Encoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Encoded({} at {})", self.format, self.at)
    }
}

impl From<Vec<(String, Value)>> for Attributes {
    fn from(list: Vec<(String, Value)>) -> Self {
        Attributes { list, ..Attributes::default() }
    }
}

impl Attributes {
    /// The attributes of a node.
    pub fn of(node: &Node) -> Self {
        let (list, types) = (node.attributes.clone(), node.attribute_types.clone());
        Attributes { list, types, encoded: node.attribute_places.clone() }
    }

    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.list.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Removes attributes.
    pub fn remove(&mut self, names: &[&str]) {
        self.list.retain(|(name, _)| !names.contains(&name.as_str()));
    }

    /// Takes in what others say that nothing here says otherwise; the names of the others.
    pub fn join(&mut self, other: Attributes) -> Vec<String> {
        let mut clashes = Vec::new();
        for (name, value) in other.list {
            match self.get(&name) {
                Some(known) if *known == value => {}
                Some(_) => clashes.push(name),
                None => {
                    if let Some(dtype) = other.types.get(&name) {
                        self.types.insert(name.clone(), dtype.clone());
                    }
                    if let Some(encoded) = other.encoded.get(&name) {
                        self.encoded.insert(name.clone(), encoded.clone());
                    }
                    self.list.push((name, value));
                }
            }
        }
        clashes
    }

    /// A value as its type has it: the double that a float32 is, which the shortest text is not.
    pub fn exact(&self, name: &str, value: &Value) -> serde_json::Value {
        use serde_json::Value as Json;
        fn widen(json: &Json, dtype: &DType) -> Json {
            match (json, dtype) {
                (Json::Array(items), _) => items.iter().map(|item| widen(item, dtype)).collect(),
                (Json::Number(number), DType::F32) => {
                    number.as_f64().map_or(Json::Null, |n| Json::from(f64::from(n as f32)))
                }
                (Json::Number(number), DType::F64) => number.as_f64().map_or(Json::Null, Json::from),
                _ => json.clone(),
            }
        }
        match (value, self.types.get(name)) {
            (Value::Text(text), _) => Json::from(text.as_str()),
            (Value::Json(json), Some(dtype)) => widen(json, dtype),
            (Value::Json(json), None) => json.clone(),
        }
    }
}

/// Content for a writer.
#[derive(Clone)]
pub enum Data {
    /// A table.
    Table(Arc<dyn Table>),
    /// Named tables, for writers that hold several.
    Tables(Vec<(String, Arc<dyn Table>)>),
    /// One or more named arrays.
    Arrays(Vec<(String, Arc<dyn Array>)>),
    /// An image.
    Image(Arc<dyn Image>),
    /// A graph.
    Graph(Arc<Graph>),
    /// Bytes as they are.
    Bytes(Source),
}

impl Data {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Data::Table(_) | Data::Tables(_) => Kind::Table,
            Data::Arrays(_) => Kind::Array,
            Data::Image(_) => Kind::Image,
            Data::Graph(_) => Kind::Graph,
            Data::Bytes(_) => Kind::Bytes,
        }
    }
}

impl Payload {
    /// Data without attributes.
    pub fn plain(data: Data) -> Self {
        Payload { data, attributes: Default::default(), parts: Default::default(), framework: None }
    }

    /// The table of a payload for a writer of tables.
    pub fn table(&self) -> Result<&Arc<dyn Table>> {
        match &self.data {
            Data::Table(table) => Ok(table),
            Data::Tables(tables) => {
                Err(Error::unsupported(format!("{} tables in a file that holds one", tables.len())))
            }
            _ => Err(Error::bug("a writer of tables was given something else")),
        }
    }

    /// The tables of a payload for a writer of several, with their names; the only one has none.
    pub fn tables(&self) -> Result<Vec<(&str, &Arc<dyn Table>)>> {
        match &self.data {
            Data::Table(table) => Ok(vec![("", table)]),
            Data::Tables(tables) => Ok(tables.iter().map(|(name, table)| (name.as_str(), table)).collect()),
            _ => Err(Error::bug("a writer of tables was given something else")),
        }
    }

    /// The arrays of a payload for a writer of arrays.
    pub fn arrays(&self) -> Result<&[(String, Arc<dyn Array>)]> {
        match &self.data {
            Data::Arrays(arrays) => Ok(arrays),
            _ => Err(Error::bug("a writer of arrays was given something else")),
        }
    }

    /// The names of all groups that are written around the arrays `kept`: those that have attributes or stand in
    /// `parts`, and those that anything lies in. The root is not among them.
    ///
    /// # Errors
    /// `Unsupported` for two arrays of one name and for an array in an array.
    pub fn groups<'a>(&'a self, kept: impl Iterator<Item = &'a str>) -> Result<BTreeSet<&'a str>> {
        let all: BTreeSet<&str> = self.arrays()?.iter().map(|(name, _)| name.as_str()).collect();
        let mut arrays = BTreeSet::new();
        for name in kept {
            if !arrays.insert(name) {
                return Err(Error::unsupported(format!("two arrays are called {name:?}")));
            }
        }
        let named = self.parts.keys().map(String::as_str);
        let mut groups: BTreeSet<&str> =
            named.filter(|name| !name.is_empty() && !all.contains(name)).collect();
        for name in arrays.iter().copied().chain(groups.clone()) {
            let mut at = name;
            while let Some((group, _)) = at.rsplit_once('/') {
                if arrays.contains(group) {
                    return Err(Error::unsupported(format!(
                        "{group:?} is an array and holds the array {name:?}"
                    )));
                }
                groups.insert(group);
                at = group;
            }
        }
        Ok(groups)
    }

    /// What is said of attributes where the file has a place, for texts, for those that `keeps` names.
    pub fn kept_texts(&self, keeps: impl Fn(&str, &str) -> bool) -> Vec<Loss> {
        let mut losses = Vec::new();
        let mut gone: Vec<&str> = Vec::new();
        for (name, value) in &self.attributes.list {
            match value {
                _ if !keeps(name, &value.to_string()) => gone.push(name),
                Value::Json(json) if json.is_array() || json.is_object() => {
                    let what = "a list or an object in the metadata is kept as JSON text";
                    losses.push(note(LossKind::Metadata, what).of(name).if_any());
                }
                Value::Json(json) if !json.is_string() => {
                    losses
                        .push(note(LossKind::Metadata, "a number in the metadata is kept as text").of(name));
                }
                _ => {}
            }
        }
        if !gone.is_empty() {
            let shown = gone.iter().take(6).copied().collect::<Vec<_>>().join(", ");
            let more = gone.len().saturating_sub(6);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            losses.push(note(LossKind::Metadata, format!("the metadata are not kept ({shown}{rest})")));
        }
        losses
    }

    /// The only array of a payload for a writer of one array.
    pub fn array(&self) -> Result<&Arc<dyn Array>> {
        match self.arrays()? {
            [(_, array)] => Ok(array),
            arrays => Err(Error::unsupported(format!("{} arrays in a file that holds one", arrays.len()))),
        }
    }
}
