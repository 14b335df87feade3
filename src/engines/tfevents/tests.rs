//! Values equal to those that TensorBoard's own readers give for the same files, and records in any order.

use super::kind::Kind;
use super::log::{Marks, Place};
use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::cell;
use crate::data::content::{Content, Table, array};
use crate::data::format::Options;
use crate::data::region::Region;
use proptest::prelude::*;
use std::ops::Range;
use std::sync::Arc;

fn root(name: &str) -> Arc<Node> {
    let path = format!("{}/fixtures/tensorboard/{name}", env!("CARGO_MANIFEST_DIR"));
    let document = crate::formats::open(&Task::new(), path.as_ref(), &Options::default()).unwrap();
    assert_eq!((document.format.id, document.remarks.len()), ("tensorboard", 0), "{name}");
    document.root
}

fn at(root: &Arc<Node>, path: &str) -> Arc<Node> {
    root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path}"))
}

fn table(node: &Node) -> Arc<dyn Table> {
    match &node.content {
        Some(Content::Table(table)) => table.clone(),
        _ => panic!("{} is no table", node.name),
    }
}

/// The cells of some rows as texts.
fn rows(table: &dyn Table, rows: Range<u64>) -> Vec<Vec<String>> {
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), rows, &columns).unwrap();
    let cell =
        |row: usize| move |column: &Arc<dyn arrow::array::Array>| cell::text(column, row).unwrap_or_default();
    (0..batch.num_rows()).map(|row| batch.columns().iter().map(cell(row)).collect()).collect()
}

fn all(root: &Arc<Node>, path: &str) -> Vec<Vec<String>> {
    let table = table(&at(root, path));
    let count = table.count(&Task::new()).unwrap();
    rows(table.as_ref(), 0..count)
}

fn names(node: &Arc<Node>) -> Vec<String> {
    node.child_page(&Task::new(), 0..100).unwrap().iter().map(|node| node.name.clone()).collect()
}

const FIRST: &str = "events.out.tfevents.1700000000.tensorflow1";
const SECOND: &str = "events.out.tfevents.1700000100.tensorflow2.v2";

#[test]
fn values_of_tensorflow_1() {
    let root = root(FIRST);
    let kinds = ["scalars", "histograms", "images", "audio", "graphs", "run_metadata", "tags", "events"];
    assert_eq!(names(&root), kinds);
    let loss = all(&root, "/scalars/loss");
    let values: Vec<&str> = loss.iter().map(|row| row[4].as_str()).collect();
    let of = |value: f32| cell::float64(f64::from(value));
    let wanted = [of(1.0), of(1.0 / 11.0), of(1.0 / 21.0), of(1.0 / 31.0), of(1.0 / 41.0)];
    assert_eq!(values, [&wanted[..], &["nan".to_owned(), "-inf".to_owned()]].concat());
    assert_eq!(loss[1][..4], ["loss", "10", "1700000002.75", "2.5"]);
    let all_scalars = all(&root, "/scalars");
    assert_eq!(all_scalars.len(), 12);
    assert_eq!(all_scalars[3][..2], ["train/learning_rate", "10"]);
    // The outer edges are the least and the largest value, as TensorBoard has it; empty histograms have no rows.
    let histogram = all(&root, "/histograms/layer1/weights");
    assert_eq!(
        (histogram.len(), &*histogram[1][2], &*histogram[1][3], &*histogram[1][4]),
        (12, "-2.0", "-1.0", "11.0")
    );
    assert!(histogram[0][2].starts_with("-2.568") && histogram[5][3].starts_with("2.3839"), "{histogram:?}");
    assert_eq!(all(&root, "/images/input/image/0")[1][..4], ["20", "1700000007.25", "8", "6"]);
    assert_eq!(all(&root, "/audio/speech/audio/0")[0][2..], ["8000.0", "1", "40", "audio/wav", "124"]);
    assert_eq!(names(&at(&root, "/graphs")), ["graph_def", "meta_graph_def"]);
    let Some(Content::Bytes(graph)) = &at(&root, "/graphs/graph_def").content else { panic!() };
    assert_eq!(graph.read(&Task::new(), 0..5).unwrap(), &b"\x0a\x03\x0a\x01a"[..]);
    let events = all(&root, "/events");
    assert_eq!(events.len(), 18);
    assert_eq!(events[0][4..], ["file_version", "0", "", "brain.Event:2"]);
    assert_eq!(events[17][4..], ["log_message", "0", "", "slow input"]);
}

#[test]
fn pictures_are_read_as_what_they_are() {
    let (first, second) = (root(FIRST), root(SECOND));
    for (root, path, width) in [
        (&first, "/images/input/image/0/20", 8),
        (&second, "/images/samples/generated/1.1", 8),
        (&second, "/images/samples/generated/2", 12),
    ] {
        let node = at(root, path);
        let Some(Content::Image(image)) = &node.content else { panic!("{path}") };
        assert_eq!(image.info().width, width);
        image.read(&Task::new(), 0, 0, crate::data::content::Rect::all(8, 6)).unwrap();
    }
}

#[test]
fn values_of_tensorflow_2() {
    let root = root(SECOND);
    let column = |path: &str, n: usize| {
        all(&root, path).into_iter().map(|mut row| row.swap_remove(n)).collect::<Vec<_>>()
    };
    assert_eq!(column("/scalars/epoch_loss", 4)[..2], ["2.0", "1.0"]);
    assert_eq!(
        column("/scalars/validation/accuracy", 4),
        ["0.0", "0.1", "0.2", "0.30000000000000004", "0.4"]
    );
    assert_eq!(column("/scalars/half", 4), ["0.5", "1.5", "2.5", "3.5", "4.5"]);
    assert_eq!(column("/scalars/samples", 4)[4], cell::float64((1_u64 << 40) as f64 + 4.0));
    assert_eq!(
        column("/scalars", 0)[..5],
        ["epoch_loss", "validation/accuracy", "half", "samples", "epoch_loss"]
    );
    let counts: f64 =
        column("/histograms/dense/kernel", 4).iter().map(|count| count.parse::<f64>().unwrap()).sum();
    assert_eq!(counts, 400.0);
    assert_eq!(column("/text/notes", 3), ["# Run 7\nwith **markdown** and naïve café", "a", "b", "c", "|d|"]);
    assert_eq!(column("/audio/voice", 5), ["first *clip*", ""]);
    assert_eq!(at(&root, "/scalars/epoch_loss").attributes[1], ("display_name".to_owned(), "Loss".into()));
    assert_eq!(all(&root, "/tensors/pr")[0][2..], ["float32", "6×3", "72"]);
    assert_eq!(all(&root, "/tensors/debug/texts/4"), [["0", "x"], ["1", "yy"]]);
    for (name, dtype, values) in [
        ("matrix", "float32", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0][..]),
        ("bytes", "uint8", &[1.0, 2.0, 255.0]),
        ("one", "int16", &[7.0]),
        ("last_repeated", "float32", &[1.5, 2.5, 2.5, 2.5]),
        ("bfloat16", "bfloat16", &[1.0, -2.0]),
    ] {
        let node = at(&root, &format!("/tensors/debug/{name}/4"));
        let Some(Content::Array(array)) = &node.content else { panic!("{name}") };
        let bytes = array::read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
        let mut read = Vec::new();
        array.dtype().decode(&bytes, &mut read);
        assert_eq!((array.dtype().to_string().as_str(), &read[..]), (dtype, values));
    }
}

#[test]
fn hyper_parameters_of_a_session() {
    let root = root("events.out.tfevents.1700000200.hparams");
    let mut values = all(&root, "/hparams");
    values.sort();
    let wanted = [
        ["dropout", "float64", "0.25"],
        ["learning_rate", "float64", "0.001"],
        ["nesterov", "bool", "true"],
        ["optimiser", "string", "adam"],
    ];
    assert_eq!(values, wanted);
    let node = at(&root, "/hparams");
    let said =
        |name: &str| node.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.to_string());
    assert_eq!(said("status").as_deref(), Some("success"));
    assert_eq!(said("end_time").as_deref(), Some("2023-11-14T22:14:20.250Z"));
    assert_eq!(
        all(&root, "/hparams/definitions")[0],
        ["learning_rate", "Rate", "of the optimiser", "float64", "0.0001 to 0.1"]
    );
    assert_eq!(all(&root, "/hparams/definitions")[1][4], r#"["adam","sgd"]"#);
    assert_eq!(
        all(&root, "/hparams/metrics")[0],
        ["validation", "epoch_loss", "Loss", "on held out data", "validation"]
    );
}

#[test]
fn what_is_broken_is_named_and_the_rest_is_read() {
    let task = Task::new();
    for (name, problem, remarks, scalars) in [
        ("still_written", None, 1, 15),
        ("head_cut", None, 1, 18),
        ("record_checksum", Some(52), 0, 15),
        ("length_checksum", Some(40), 0, 15),
        ("length_huge", Some(40), 0, 15),
        ("first_record_broken", Some(12), 0, 18),
        ("two_broken", Some(52), 1, 12),
        ("no_event", Some(52), 0, 1),
        ("tensors", None, 0, 1),
        ("values", None, 0, 1),
    ] {
        let root = root(&format!("malformed/events.out.tfevents.1.{name}"));
        let found = root.problem_now();
        assert_eq!(found.as_ref().and_then(crate::Error::offset), problem, "{name}: {found:?}");
        assert!(found.is_none_or(|error| error.kind() == ErrorKind::Malformed));
        assert_eq!(root.remarks_now().len(), remarks, "{name}: {:?}", root.remarks_now());
        assert_eq!(table(&at(&root, "/scalars")).count(&task).unwrap(), scalars, "{name}");
        assert_eq!(all(&root, "/scalars").len() as u64, scalars, "{name}");
    }
    let root = root("malformed/events.out.tfevents.1.tensors");
    let problem =
        |name: &str| at(&root, &format!("/tensors/{name}/1")).problem.as_ref().map(crate::Error::kind);
    assert_eq!(problem("shape_huge"), Some(ErrorKind::Malformed));
    assert_eq!(problem("content_short"), Some(ErrorKind::Malformed));
    assert_eq!(problem("type_unknown"), Some(ErrorKind::Unsupported));
    assert_eq!(problem("fine"), None);
    assert_eq!(all(&root, "/scalars")[0][4], "");
}

#[test]
fn many_values_are_found_from_any_row() {
    let root = root("events.out.tfevents.1700000400.many");
    let all = all(&root, "/scalars/tag/1");
    assert_eq!(all.len(), 300);
    let table = table(&at(&root, "/scalars/tag/1"));
    for start in [0, 1, 37, 299] {
        assert_eq!(
            rows(table.as_ref(), start..start + 20),
            all[start as usize..(start as usize + 20).min(300)]
        );
    }
    assert!(rows(table.as_ref(), 300..400).is_empty());
    let summary = root.statistics.as_ref().unwrap().statistics(&Task::new()).unwrap();
    assert_eq!(summary[0], ("records", 301.into()));
}

#[test]
fn opening_goes_through_the_beginning_only() {
    let path =
        format!("{}/fixtures/tensorboard/events.out.tfevents.1700000400.many", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read(path).unwrap();
    let source = || Source::memory("x.tfevents", file.repeat(100));
    let log = Log::open(&Task::new(), crate::formats::ALL, vec![source()]).unwrap();
    assert!(!log.now().ended && log.now().bytes < 600 << 10, "{}", log.now().bytes);
    log.finish(&Task::new()).unwrap();
    assert!(log.now().ended && log.now().scalars.rows == 90_000);
    // Rows of the beginning are there without the rest.
    let root =
        Arc::new(run(&Task::new(), crate::formats::ALL, Node::new("r", "run"), vec![source()]).unwrap());
    let table = table(&at(&root, "/scalars/tag/1"));
    assert_eq!(rows(table.as_ref(), 0..2).len(), 2);
    assert!(table.rows().exact().is_none());
    let cancelled = Task::new();
    cancelled.cancel();
    assert!(table.count(&cancelled).is_err_and(|error| error.is_cancelled()));
    assert_eq!(table.count(&Task::new()).unwrap(), 30_000);
    assert_eq!(rows(table.as_ref(), 29_999..40_000)[0][1], "299");
}

#[test]
fn events_are_told_from_other_records() {
    let read = |name: &str| {
        std::fs::read(format!("{}/fixtures/tensorboard/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    assert!(begins(&read(FIRST)) && begins(&read(SECOND)[..40]));
    // A `tf.train.Example`: a message in the first field.
    let example = b"\x0a\x05\x0a\x03\x0a\x01a";
    let head = (example.len() as u64).to_le_bytes();
    let file = [
        &head[..],
        &tfrecord::masked(&head).to_le_bytes(),
        example,
        &tfrecord::masked(example).to_le_bytes(),
    ]
    .concat();
    assert!(!begins(&file) && tfrecord::length(&file).is_some());
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn field(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(number << 3 | 2);
    varint(bytes.len() as u64, out);
    out.extend(bytes);
}

/// A record of scalars: its time, its step, tags and values.
fn record(step: u64, values: &[(u8, f32)], out: &mut Vec<u8>) {
    let mut summary = Vec::new();
    for (tag, number) in values {
        let mut value = Vec::new();
        field(1, format!("t/{tag}").as_bytes(), &mut value);
        value.push(0x15);
        value.extend(number.to_le_bytes());
        field(1, &value, &mut summary);
    }
    let mut event = vec![0x09];
    event.extend((1e9 + step as f64).to_le_bytes());
    event.push(0x10);
    varint(step, &mut event);
    field(5, &summary, &mut event);
    let head = (event.len() as u64).to_le_bytes();
    out.extend(head);
    out.extend(tfrecord::masked(&head).to_le_bytes());
    out.extend(&event);
    out.extend(tfrecord::masked(&event).to_le_bytes());
}

proptest! {
    #[test]
    fn every_scalar_is_a_row(
        records in prop::collection::vec((prop::collection::vec((0u8..4, any::<f32>()), 0..5), any::<bool>()), 1..60),
        ranges in prop::collection::vec((0u64..120, 0u64..40), 1..5),
        files in 1usize..4,
    ) {
        let mut sources = vec![Vec::new(); files];
        let mut wanted: Vec<(u8, usize, f32)> = Vec::new();
        for (step, (values, broken)) in records.iter().enumerate() {
            let Some(file) = sources.get_mut(step * files / records.len()) else { unreachable!() };
            let start = file.len();
            record(step as u64 + 1, values, file);
            if *broken {
                // A bit of the payload: the record is passed by.
                file[start + 14] ^= 1;
            } else {
                wanted.extend(values.iter().map(|(tag, value)| (*tag, step + 1, *value)));
            }
        }
        let sources = sources.into_iter().enumerate().map(|(n, file)| Source::memory(format!("{n}.tfevents"), file));
        let root = Arc::new(run(&Task::new(), crate::formats::ALL, Node::new("r", "run"), sources.collect()).unwrap());
        let row = |(tag, step, value): &(u8, usize, f32)| {
            vec![format!("t/{tag}"), step.to_string(), cell::float64(f64::from(*value))]
        };
        let shown = |rows: Vec<Vec<String>>| -> Vec<Vec<String>> {
            rows.into_iter().map(|row| vec![row[0].clone(), row[1].clone(), row[4].clone()]).collect()
        };
        let all_rows: Vec<Vec<String>> = wanted.iter().map(row).collect();
        if !wanted.is_empty() {
            prop_assert_eq!(shown(all(&root, "/scalars")), all_rows.clone());
            for (start, count) in ranges {
                let end = (start + count).min(all_rows.len() as u64) as usize;
                let part = rows(table(&at(&root, "/scalars")).as_ref(), start..start + count);
                prop_assert_eq!(shown(part), all_rows[(start as usize).min(end)..end].to_vec());
            }
        }
        for tag in 0..4 {
            let of_tag: Vec<_> = wanted.iter().filter(|(t, _, _)| *t == tag).map(row).collect();
            if !of_tag.is_empty() {
                prop_assert_eq!(shown(all(&root, &format!("/scalars/t/{tag}"))), of_tag);
            }
        }
    }

    #[test]
    fn marks_stand_before_their_rows(counts in prop::collection::vec(0u64..4, 1..300), most in 2usize..20) {
        let mut marks = Marks::default();
        let mut firsts = Vec::new();
        for (n, count) in counts.iter().enumerate() {
            firsts.push((marks.rows, *count));
            marks.push(Place { file: 0, at: n as u64 }, *count, most);
        }
        for row in 0..marks.rows {
            let (first, place) = marks.before(row);
            prop_assert!(first <= row);
            prop_assert_eq!(firsts[place.at as usize].0, first);
        }
    }

    #[test]
    fn any_bytes_end_as_a_tree(bytes in prop::collection::vec(any::<u8>(), 0..200), framed in any::<bool>()) {
        let mut file = Vec::new();
        match framed {
            false => file = bytes,
            true => {
                let head = (bytes.len() as u64).to_le_bytes();
                file.extend(head);
                file.extend(tfrecord::masked(&head).to_le_bytes());
                file.extend(&bytes);
                file.extend(tfrecord::masked(&bytes).to_le_bytes());
            }
        }
        let source = Source::memory("x.tfevents", file);
        let root = run(&Task::new(), crate::formats::ALL, Node::new("r", "run"), vec![source]).unwrap();
        let mut visit = |_: &Arc<Node>, _: &str, _: usize| Ok(true);
        crate::data::open::walk(&Task::new(), &Arc::new(root), "", 5, &mut visit).unwrap();
    }
}

#[test]
fn kinds_are_listed_in_their_order() {
    assert!(Kind::ALL.is_sorted());
}
