use super::*;
use crate::format::Options;
use crate::open::open_source;

fn table(name: &str) -> Result<Arc<dyn Table>> {
    let path = format!("{}/fixtures/orc/{name}", env!("CARGO_MANIFEST_DIR"));
    let task = Task::new();
    let document = open_source(&task, &Source::open(&task, path.as_ref()).unwrap(), &Options::default())?;
    match &document.root.content {
        Some(Content::Table(table)) => Ok(table.clone()),
        _ => Err(Error::bug("no table")),
    }
}

#[test]
fn rows_across_blocks() {
    let table = table("blocks.orc").unwrap();
    assert!(table.rows().exact().unwrap() > BLOCK);
    let task = Task::new();
    for rows in [0..9000, 8190..8194, 5000..5001, 8999..20_000, 3..3] {
        let got = table.read(&task, rows.clone(), &[1, 0]).unwrap();
        assert_eq!(got.num_rows() as u64, rows.end.min(9000) - rows.start);
        for n in [0, got.num_rows().saturating_sub(1)].into_iter().filter(|n| *n < got.num_rows()) {
            let id = crate::cell::text(got.column(1), n).unwrap();
            assert_eq!(id, (rows.start + n as u64).to_string());
            assert!(crate::cell::text(got.column(0), n).is_none_or(|name| name == format!("row {id}")));
        }
    }
    assert_eq!(table.statistics(0).unwrap().max.as_deref(), Some("8999"));
}

#[test]
fn the_footer_names_the_ends_of_texts_and_times() {
    let table = table("types.orc").unwrap();
    let ends = |name: &str| {
        let known = table.statistics(table.schema().index_of(name).unwrap()).unwrap();
        (known.min.unwrap(), known.max.unwrap(), known.nulls.unwrap(), known.bounds)
    };
    assert_eq!(ends("string"), ("goose".into(), "東京 🪿".into(), 1, false));
    assert_eq!(ends("date"), ("1969-12-31".into(), "2024-02-29".into(), 1, false));
    let (min, max, nulls, bounds) = ends("stamp");
    assert_eq!((min.as_str(), nulls, bounds), ("1969-12-31T23:59:59", 1, true));
    assert!(max.starts_with("2024-01-31T12:00:00.123"), "{max}");
}

#[test]
fn an_end_that_is_not_there_is_none() {
    let of = |known: TypeStatistics, data_type: DataType| ends(Some(&known), &data_type);
    let text = TypeStatistics::String {
        lower_bound: String::new(),
        upper_bound: "z".into(),
        sum: 0,
        is_exact_min: false,
        is_exact_max: false,
    };
    assert_eq!(of(text, DataType::Utf8), (None, Some("z".into()), true));
    let local = TypeStatistics::Timestamp { min: 7, max: 9, min_utc: 0, max_utc: 0 };
    let kind = DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, None);
    assert_eq!(of(local, kind), (None, None, false));
}

#[test]
fn broken_files_say_so() {
    assert!(table("malformed/cut_in_footer.orc").is_err());
    assert!(table("malformed/postscript_length.orc").is_err());
    let broken = table("malformed/broken_stripe.orc").unwrap();
    assert!(broken.read(&Task::new(), 0..10, &[0, 1, 2, 3]).is_err());
}
