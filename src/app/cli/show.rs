//! `gander show`: values — rows of a table, elements of an array, lines of a text, pixels.

mod lists;
mod node;
mod out;
mod stored;

use super::terminal::say;
use super::{json, progress};
use arrow::array::RecordBatch;
use gander::bytes::display;
use gander::bytes::error::UnlessCancelled;
use gander::bytes::limits;
use gander::bytes::source::Source;
use gander::data::cell;
use gander::data::content::{Array, Content, Image, Rect, Rows, Table, Text};
use gander::data::node::Node;
use gander::data::region::Region;
use gander::{Document, Error, Task};
use lists::{Lists, append};
use out::Out;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::process::ExitCode;

/// Why columns could not be read, by their numbers.
type Notes = BTreeMap<usize, String>;

/// Arguments of `gander show`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A file, or one node of it: PATH#NODE
    pub(crate) target: String,
    /// Rows A..B, 0-based, end excluded; -5.. counts from the end
    #[arg(long, allow_hyphen_values = true)]
    rows: Option<String>,
    /// Columns, by name
    #[arg(long, value_delimiter = ',')]
    columns: Vec<String>,
    /// A slice as in NumPy: I,A..B,A..B..S
    #[arg(long, allow_hyphen_values = true)]
    slice: Option<String>,
    /// One node of a graph, by number or name, with what its operator does
    #[arg(long)]
    node: Option<String>,
    /// Where in the file a value lies: a cell as ROW,COLUMN (a number or a name), an element by its indices, `@NAME`
    /// for an attribute, `node` for the node as a whole
    #[arg(long = "where", value_name = "PLACE")]
    place: Option<String>,
    /// What the byte at this offset of the file belongs to (0x… for hexadecimal)
    #[arg(long, value_name = "OFFSET", conflicts_with = "place")]
    byte: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    opening: super::OpenArgs,
}

/// Rows and lines printed when none are asked for.
const ROWS: u64 = 20;
/// Elements of an array printed as text.
const ELEMENTS: u64 = 1_000;
/// Rows of a table and lines of a text that are read at once, at first.
const STEP: u64 = 4_096;
/// About how many bytes of rows are read at once then.
const STEP_BYTES: u64 = 16 << 20;
/// Bytes of a file that are read at once.
const PIECE: u64 = 64 << 10;

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let slice = args.slice.as_deref();
    let rows = match (wanted(args.rows.as_deref()), slice.map_or(Ok(()), super::is_slice)) {
        (Ok(rows), Ok(())) => rows,
        (Err(words), _) | (_, Err(words)) => return Ok(super::usage(words)),
    };
    let task = Task::new();
    let (path, _) = super::split_target(&args.target);
    let path = path.display().to_string();
    let (document, node) = match super::open(&task, &args.target, &args.opening) {
        Ok((document, node, _)) => (document, node),
        Err(stop) => return stop.say(&path, args.json),
    };
    if let Some(slice) = slice
        && let Err(words) = fits(slice, &node)
    {
        return Ok(super::usage(words));
    }
    if args.place.is_some() || args.byte.is_some() {
        return located(&task, args, &document, &node, &path);
    }
    if let Some(wanted) = &args.node {
        return one_node(args, &document, &node, wanted);
    }
    let (mut notes, mut out) = (Notes::new(), Out::default());
    let bytes = document.source.known_len();
    let printed = progress::with_progress(&task, || {
        let shown =
            gander::bytes::guard::guarded(|| values(&task, args, rows, &node, bytes, &mut out, &mut notes));
        let rest = if shown.is_ok() || out.has_begun() { out.print() } else { Ok(()) };
        shown.and(rest)
    });
    notes.values().for_each(|note| say!("{note}"));
    match printed {
        // A closed pipe is no error.
        Err(_) if out.is_closed() => Ok(ExitCode::SUCCESS),
        Ok(()) => {
            let cut = super::wrong(&node, &path);
            let status = super::status(&document);
            Ok(if cut { ExitCode::from(1) } else { status })
        }
        // With JSON the error is the end of what was printed of the object.
        Err(error) => super::failed(&error, &path, args.json && !out.has_begun()),
    }
}

/// Prints where a value lies, or what a byte belongs to.
fn located(
    task: &Task,
    args: &Args,
    document: &Document,
    node: &std::sync::Arc<Node>,
    path: &str,
) -> anyhow::Result<ExitCode> {
    let place = match (&args.place, &args.byte) {
        (Some(place), _) => stored::Place::of(place, node).map(|place| (place, 0)),
        (None, byte) => {
            stored::offset(byte.as_deref().unwrap_or_default()).map(|at| (stored::Place::Byte, at))
        }
    };
    let (place, offset) = match place {
        Ok(place) => place,
        Err(words) => return Ok(super::usage(words)),
    };
    let mut out = Out::default();
    let shown = progress::with_progress(task, || {
        gander::bytes::guard::guarded(|| {
            stored::show(task, (document, node), &place, offset, args.json, &mut out)
        })
    });
    match shown {
        Err(error) => super::failed(&error, path, args.json),
        Ok(()) => match out.print() {
            Err(error) if !out.is_closed() => Err(error.into()),
            _ => Ok(super::status(document)),
        },
    }
}

/// Prints one node of the graph that a node of the tree is.
fn one_node(args: &Args, document: &Document, node: &Node, wanted: &str) -> anyhow::Result<ExitCode> {
    let Some(Content::Graph(graph)) = &node.content else {
        return Ok(super::usage(format!("--node {wanted}: what is shown is no graph")));
    };
    let nested = node.formats.last().or(document.root.formats.last());
    let format = nested.copied().unwrap_or(document.format);
    let mut out = Out::default();
    match node::show(graph, format.id, wanted, args.json, &mut out) {
        Err(words) => Ok(super::usage(words)),
        Ok(()) => match out.print() {
            Err(error) if !out.is_closed() => Err(error.into()),
            _ => Ok(super::status(document)),
        },
    }
}

/// Whether a slice fits what a node holds, where it is of it.
fn fits(slice: &str, node: &Node) -> Result<(), String> {
    match &node.content {
        Some(Content::Array(array)) => super::fits_slice(slice, array.shape()),
        Some(Content::Image(image)) => {
            let info = image.info();
            super::fits_slice(slice, &[info.height, info.width])
        }
        None | Some(Content::Table(_) | Content::Text(_) | Content::Graph(_) | Content::Bytes(_)) => Ok(()),
    }
}

/// Prints the values of a node, which lies in a file of so many bytes. What could not be read of them is added
/// to `notes`.
fn values(
    task: &Task,
    args: &Args,
    rows: Wanted,
    node: &Node,
    file: Option<u64>,
    out: &mut Out,
    notes: &mut Notes,
) -> Result<(), Error> {
    match &node.content {
        Some(Content::Table(t)) => table(task, args, rows, t.as_ref(), out, notes),
        Some(Content::Array(a)) => array(task, args, a.as_ref(), file, out),
        Some(Content::Text(t)) => lines(task, args, rows, t.as_ref(), out),
        Some(Content::Image(i)) => pixels(task, args, i.as_ref(), out),
        Some(Content::Graph(graph)) if args.json => {
            out.put(&format!("{}\n", super::json::graph_whole(graph)));
            Ok(())
        }
        Some(Content::Graph(graph)) => {
            table(task, args, rows, gander::data::adapt::graph::nodes(graph)?.as_ref(), out, notes)
        }
        Some(Content::Bytes(s)) => bytes(task, args, rows, s, out),
        None => match (&node.problem, &node.value) {
            (_, Some(value)) => {
                out.put(&if args.json {
                    format!("{}\n", json!({ "value": value }))
                } else {
                    format!("{value}\n")
                });
                Ok(())
            }
            (Some(problem), None) => Err(problem.clone()),
            (None, None) => Err(Error::unsupported(
                "this node is a group without values; `gander tree` lists what is in it",
            )),
        },
    }
}

/// What rows are asked for.
enum Wanted {
    Range(Range<u64>),
    Last(u64),
}

fn wanted(rows: Option<&str>) -> Result<Wanted, String> {
    let Some(text) = rows else { return Ok(Wanted::Range(0..ROWS)) };
    let wrong = || format!("--rows {text}: it is not of the form A..B, A.., ..B or -N..");
    match text.strip_prefix('-') {
        None => super::range(text).map(Wanted::Range).map_err(|_| wrong()),
        Some(last) => {
            let last = last.strip_suffix("..").ok_or_else(wrong)?;
            last.parse().map(Wanted::Last).map_err(|_| wrong())
        }
    }
}

fn table(
    task: &Task,
    args: &Args,
    rows: Wanted,
    table: &dyn Table,
    out: &mut Out,
    notes: &mut Notes,
) -> Result<(), Error> {
    let schema = table.schema();
    let mut columns: Vec<usize> = (0..schema.fields().len()).collect();
    if !args.columns.is_empty() {
        columns = Vec::new();
        for name in &args.columns {
            let index = schema.fields().iter().position(|f| f.name() == name);
            columns.push(index.ok_or_else(|| Error::io(format!("there is no column {name:?}")))?);
        }
    }
    let (first, batch, rest) = match rows {
        Wanted::Last(count) => {
            let (first, batch) = last(table, task, count, &columns, notes)?;
            (first, batch, 0..0)
        }
        Wanted::Range(rows) => {
            // Rows behind the known ones of an estimated count would only be near ones.
            if let Rows::About { known, .. } = table.rows()
                && rows.start > known
            {
                table.count(task)?;
            }
            // For people columns are aligned, so all rows are read first.
            let end = if args.json { rows.end.min(rows.start.saturating_add(STEP)) } else { rows.end };
            let batch = read_partly(table, task, rows.start..end, &columns, notes)?;
            (Some(rows.start), batch, end..rows.end)
        }
    };
    if !args.json {
        table.read_headers(task, super::LOOKED_AT)?;
        out.put(&aligned(table, &columns, first, &batch));
        return Ok(());
    }
    let names: Vec<&str> = columns.iter().map(|&c| schema.field(c).name().as_str()).collect();
    out.put(&format!("{{\"columns\":{},\"first_row\":{},\"rows\":[", json!(names), json!(first)));
    let all = rows_as_json(task, table, &columns, batch, rest, out, notes);
    out.put("]");
    let all = all.and_then(|()| table.read_headers(task, super::LOOKED_AT));
    out.end_object(all, |out| out.put(&format!(",\"total\":{}", json!(table.rows().exact()))))
}

/// Writes the rows of `batch` as lists of texts, and after them those of `rest` as they are read.
fn rows_as_json(
    task: &Task,
    table: &dyn Table,
    columns: &[usize],
    mut batch: RecordBatch,
    mut rest: Range<u64>,
    out: &mut Out,
    notes: &mut Notes,
) -> Result<(), Error> {
    let mut is_first = true;
    let mut step = STEP;
    loop {
        for row in 0..batch.num_rows() {
            if !std::mem::take(&mut is_first) {
                out.put(",");
            }
            let cells: Vec<Option<String>> =
                batch.columns().iter().map(|c| cell::text(c.as_ref(), row)).collect();
            append(&cells, out.text());
            out.pass()?;
        }
        if batch.num_rows() == 0 || rest.start >= rest.end {
            return Ok(());
        }
        let (count, bytes) = (batch.num_rows() as u64, batch.get_array_memory_size() as u64);
        step = (STEP_BYTES * count / bytes.max(1)).clamp(64, step.saturating_mul(8));
        let end = rest.start.saturating_add(step.min(table.scan_step(rest.start)).max(1)).min(rest.end);
        batch = read_partly(table, task, rest.start..end, columns, notes)?;
        rest.start = end;
    }
}

/// The last rows, and the number of the first of them where it is known. A column that cannot be read is null,
/// with a word about it among the notes.
fn last(
    table: &dyn Table,
    task: &Task,
    count: u64,
    columns: &[usize],
    notes: &mut Notes,
) -> Result<(Option<u64>, RecordBatch), Error> {
    match table.tail(task, count, columns) {
        Err(error) if !error.is_cancelled() && columns.len() > 1 => {
            // By their numbers each column can be read by itself.
            let total = table.count(task).map_err(|_| error)?;
            let first = total.saturating_sub(count);
            Ok((Some(first), read_partly(table, task, first..total, columns, notes)?))
        }
        other => other,
    }
}

/// A batch in which a column that cannot be read is null, with a word about it among the notes.
fn read_partly(
    table: &dyn Table,
    task: &Task,
    rows: Range<u64>,
    columns: &[usize],
    notes: &mut Notes,
) -> Result<RecordBatch, Error> {
    let first_error = match table.read(task, rows.clone(), columns).unless_cancelled()? {
        Ok(batch) => return Ok(batch),
        Err(error) => error,
    };
    let each = gander::data::content::table::read_each(table, task, rows, columns)?;
    let Some(len) = each.iter().find_map(|c| c.as_ref().ok().map(|c| c.len())) else {
        return Err(first_error);
    };
    let schema = gander::data::content::table::project(table.schema(), columns)?;
    let mut arrays = Vec::with_capacity(each.len());
    let mut fields = Vec::with_capacity(each.len());
    for ((result, field), &column) in each.into_iter().zip(schema.fields()).zip(columns) {
        fields.push(field.as_ref().clone().with_nullable(true));
        arrays.push(result.unwrap_or_else(|error| {
            // Of many steps the first that fails tells.
            notes.entry(column).or_insert_with(|| format!("column {}: {}", field.name(), error.message()));
            arrow::array::new_null_array(field.data_type(), len)
        }));
    }
    Ok(RecordBatch::try_new(std::sync::Arc::new(arrow::datatypes::Schema::new(fields)), arrays)?)
}

/// For people: columns aligned, numbers to the right, long cells cut with `…`.
pub(crate) fn aligned(
    table: &dyn Table,
    columns: &[usize],
    first: Option<u64>,
    batch: &RecordBatch,
) -> String {
    const WIDEST: usize = 40;
    let cut = |text: String| match text.chars().count() {
        n if n > WIDEST => text.chars().take(WIDEST - 1).chain(['…']).collect(),
        _ => text.replace('\n', "⏎"),
    };
    let label = |row: usize| first.map_or("?".to_owned(), |f| display::count(f + row as u64));
    let mut grid: Vec<Vec<String>> = vec![(0..batch.num_rows()).map(label).collect()];
    let mut heads = vec![(String::new(), true)];
    for (&index, column) in columns.iter().zip(batch.columns()) {
        let field = table.schema().field(index);
        let text = |row| cut(cell::text(column.as_ref(), row).unwrap_or_else(|| "∅".to_owned()));
        grid.push((0..batch.num_rows()).map(text).collect());
        heads.push((cut(field.name().clone()), table.column_type(index).is_numeric()));
    }
    let width = |i: usize| grid[i].iter().chain([&heads[i].0]).map(|t| t.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..grid.len()).map(width).collect();
    let mut out = String::new();
    let mut line = |texts: &mut dyn Iterator<Item = &String>| {
        for (i, text) in texts.enumerate() {
            let pad = " ".repeat(widths[i].saturating_sub(text.chars().count()));
            out.push_str(&if heads[i].1 { format!("{pad}{text}  ") } else { format!("{text}{pad}  ") });
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    };
    line(&mut heads.iter().map(|h| &h.0));
    for row in 0..batch.num_rows() {
        line(&mut grid.iter().map(|column| &column[row]));
    }
    out.push_str(&format!("{} of {} rows\n", display::count(batch.num_rows() as u64), table.rows()));
    out
}

fn array(task: &Task, args: &Args, array: &dyn Array, file: Option<u64>, out: &mut Out) -> Result<(), Error> {
    let shape = array.shape();
    let (mut region, single) = Region::parse(args.slice.as_deref().unwrap_or(""), shape)?;
    let mut cut = String::new();
    if args.slice.is_none() && !args.json {
        // A large array is shown by its corner, and the last line says so.
        while region.elements()? > ELEMENTS {
            let Some(longest) = region.0.iter_mut().max_by_key(|span| span.count) else { break };
            longest.count = longest.count.div_ceil(2);
            cut = format!("cut; the shape is {}; ask for more by --slice\n", display::shape(shape));
        }
    }
    let kept: Vec<u64> =
        region.0.iter().zip(&single).filter(|(_, one)| !**one).map(|(span, _)| span.count).collect();
    // Elements without bytes may be any number: they are not listed.
    let no_bytes = array.dtype().size() == 0 && !array.dtype().is_variable();
    let nothing = region.elements()? == 0 || no_bytes;
    if nothing && !args.json {
        out.put(&format!("no elements; the shape is {}\n", display::shape(shape)));
        return Ok(());
    }
    claimed(&region, array, file)?;
    let mut lists = Lists::new(&kept, args.json);
    if !args.json {
        let shown = lists.array(task, array, &region, out);
        lists.end(out.text());
        out.put(&format!("\n{cut}"));
        return shown;
    }
    let head = json!({
        "dtype": json::dtype(array.dtype()), "shape": kept, "slice": region.text(shape, &single),
    });
    begin_values(&head, out);
    if nothing {
        // Without elements the outer sides may still be huge: their empty lists are left out then.
        let lists = kept.iter().fold(1u64, |product, &side| product.saturating_mul(side.max(1)));
        let empty = if lists > ELEMENTS { None } else { cell::nested(array.dtype(), &kept, &[]) };
        out.put(&format!("{}}}\n", empty.unwrap_or_else(|| json!([]))));
        return Ok(());
    }
    let shown = lists.array(task, array, &region, out);
    lists.end(out.text());
    out.end_object(shown, |_| {})
}

/// Begins an object with these members and one more, `values`, which follows.
fn begin_values(head: &Json, out: &mut Out) {
    let head = head.to_string();
    out.put(head.strip_suffix('}').unwrap_or(&head));
    out.put(",\"values\":");
}

/// Refuses to list more elements than a file of so many bytes can hold: what a few bytes claim would never end.
fn claimed(region: &Region, array: &dyn Array, file: Option<u64>) -> Result<(), Error> {
    let bytes = region.elements()?.saturating_mul(array.dtype().size().max(1));
    let most = file.unwrap_or(0).saturating_mul(limits::RATIO).max(limits::READ);
    if bytes <= most {
        return Ok(());
    }
    let (count, shape) = (display::count(region.elements()?), display::shape(array.shape()));
    Err(Error::limit(format!(
        "{count} elements of the shape {shape} are more than its file can hold; ask for some by --slice"
    )))
}

fn lines(task: &Task, args: &Args, rows: Wanted, text: &dyn Text, out: &mut Out) -> Result<(), Error> {
    let range = match rows {
        Wanted::Range(range) => range,
        Wanted::Last(count) => {
            let total = text.count(task)?;
            total.saturating_sub(count)..total
        }
    };
    let first = range.start;
    if args.json {
        out.put(&format!("{{\"first_line\":{first},\"lines\":["));
    }
    let mut at = first;
    let mut read = || {
        while at < range.end {
            let lines = text.read(task, at..range.end.min(at.saturating_add(STEP)))?;
            for line in &lines {
                match args.json {
                    true if at > first => out.put(","),
                    _ => {}
                }
                match args.json {
                    true => append(line, out.text()),
                    false => out.put(&format!("{line}\n")),
                }
                at += 1;
                out.pass()?;
            }
            if lines.is_empty() {
                break;
            }
        }
        Ok(())
    };
    let shown = read();
    if args.json {
        out.put("]");
        return out.end_object(shown, |_| {});
    }
    shown?;
    if at == first {
        out.put("\n");
    }
    let total = text.lines();
    if total.exact() != Some(at) && args.rows.is_none() {
        let count = at - first;
        out.put(&format!("… {count} of {total} lines; ask for more by --rows\n"));
    }
    Ok(())
}

fn pixels(task: &Task, args: &Args, image: &dyn Image, out: &mut Out) -> Result<(), Error> {
    let info = image.info();
    let (width, height, channels) = (info.width, info.height, info.channels);
    let (region, _) = Region::parse(args.slice.as_deref().unwrap_or(""), &[height, width])?;
    let (y, x) = (region.0[0], region.0[1]);
    let dtype = info.sample.dtype();
    if args.slice.is_none() && !args.json {
        readable(task, image)?;
        out.put(&format!(
            "image {width}×{height}, {channels} channels of {dtype}; --slice Y,X prints pixels\n"
        ));
        return Ok(());
    }
    let shape = [y.count, x.count, u64::from(channels)];
    let mut lists = Lists::new(&shape, args.json);
    if args.json {
        let slice = region.text(&[height, width], &[false, false]);
        begin_values(&json!({ "dtype": dtype.to_string(), "shape": shape, "slice": slice }), out);
    }
    if region.elements()? == 0 {
        out.put(if args.json { "[]}\n" } else { "[]\n" });
        return Ok(());
    }
    let shown = lists.image(task, image, (y, x), out);
    lists.end(out.text());
    if args.json {
        return out.end_object(shown, |_| {});
    }
    out.put("\n");
    shown
}

/// Reads a picture's first frame, by bands of rows: only the decoder holds all of it.
fn readable(task: &Task, image: &dyn Image) -> Result<(), Error> {
    let info = image.info();
    let row = info.width.saturating_mul(u64::from(info.channels) * info.sample.size() as u64).max(1);
    let mut y = 0;
    while y < info.height {
        let alike = image.unstored_rows(task, 0, y)?;
        let height = (lists::PIECE / row).clamp(1, info.height - y);
        image.read(task, 0, 0, Rect { x: 0, y, width: info.width, height })?;
        y = y.saturating_add(height.max(alike));
    }
    Ok(())
}

/// A hex dump of 16 bytes a line.
fn bytes(task: &Task, args: &Args, rows: Wanted, source: &Source, out: &mut Out) -> Result<(), Error> {
    let len = source.len(task)?;
    let range = match rows {
        Wanted::Range(lines) => {
            lines.start.saturating_mul(16).min(len)..lines.end.saturating_mul(16).min(len)
        }
        Wanted::Last(count) => (len.div_ceil(16).saturating_sub(count) * 16)..len,
    };
    if args.json {
        out.put(&format!("{{\"first_line\":{},\"lines\":[", range.start / 16));
    }
    let mut at = range.start;
    let mut read = || {
        while at < range.end {
            let data = source.read(task, at..range.end.min(at + PIECE))?;
            for row in data.chunks(16) {
                let hex: Vec<String> = row.iter().map(|b| format!("{b:02x}")).collect();
                let ascii: String =
                    row.iter().map(|&b| if (32..127).contains(&b) { b as char } else { '·' }).collect();
                let line = format!("{at:08x}  {:<47}  {ascii}", hex.join(" "));
                match args.json {
                    true => {
                        out.put(if at > range.start { "," } else { "" });
                        append(&line, out.text());
                    }
                    false => out.put(&format!("{line}\n")),
                }
                at += row.len() as u64;
                out.pass()?;
            }
        }
        Ok(())
    };
    let shown = read();
    if args.json {
        out.put("]");
        return out.end_object(shown, |out| out.put(&format!(",\"length\":{len}")));
    }
    shown?;
    let rest = len.saturating_sub(range.end);
    if rest > 0 {
        out.put(&format!("… {} more bytes; ask for them by --rows (16 bytes a row)", display::count(rest)));
    }
    if rest > 0 || range.is_empty() {
        out.put("\n");
    }
    Ok(())
}
