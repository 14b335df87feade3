use super::made::{self, DATA, LENGTH, PRESENT, SECONDARY, kind, literals, signed};
use super::table::BLOCK;
use super::*;
use crate::bytes::error::{Error, ErrorKind};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Table;
use crate::data::format::Options;
use crate::formats::open_source;

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
            let id = crate::data::cell::text(got.column(1), n).unwrap();
            assert_eq!(id, (rows.start + n as u64).to_string());
            assert!(crate::data::cell::text(got.column(0), n).is_none_or(|name| name == format!("row {id}")));
        }
    }
    assert_eq!(table.statistics(0).unwrap().max_text().as_deref(), Some("8999"));
}

#[test]
fn the_footer_names_the_ends_of_texts_and_times() {
    let table = table("types.orc").unwrap();
    let ends = |name: &str| {
        let known = table.statistics(table.schema().index_of(name).unwrap()).unwrap();
        (known.min_text().unwrap(), known.max_text().unwrap(), known.null_count().unwrap(), !known.exact)
    };
    assert_eq!(ends("string"), ("goose".into(), "東京 🪿".into(), 1, false));
    assert_eq!(ends("date"), ("1969-12-31".into(), "2024-02-29".into(), 1, false));
    let (min, max, nulls, bounds) = ends("stamp");
    assert_eq!((min.as_str(), nulls, bounds), ("1969-12-31T23:59:59", 1, true));
    assert!(max.starts_with("2024-01-31T12:00:00.123"), "{max}");
}

/// The texts of a column.
fn column(table: &dyn Table, name: &str) -> Vec<Option<String>> {
    let batch = table.read(&Task::new(), 0..100, &[table.schema().index_of(name).unwrap()]).unwrap();
    (0..batch.num_rows()).map(|row| crate::data::cell::text(batch.column(0), row)).collect()
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}

#[test]
fn times_beyond_nanoseconds_are_in_microseconds() {
    let table = table("times.orc").unwrap();
    let wide = ["2020-01-01T00:00:00", "9999-12-31T00:00:00", "0001-01-01T00:00:00.000001"];
    assert_eq!(column(&*table, "wide")[..3], some(&wide));
    let fine =
        ["1970-01-01T00:00:00.000000001", "2020-09-13T12:26:40.123456789", "1969-12-31T23:59:58.499999999"];
    assert_eq!(column(&*table, "fine")[..3], some(&fine));
    assert_eq!(column(&*table, "moment")[2].as_deref(), Some("1600-01-01T00:00:00+00:00"));
    assert_eq!(column(&*table, "list")[1].as_deref(), Some("[\"9999-01-01T00:00:00\",null]"));
    assert_eq!(column(&*table, "nulls"), [None, None, None, None]);
    // Only where it is needed: the others keep their digits.
    let unit = |name: &str| table.schema().field_with_name(name).unwrap().data_type().to_string();
    assert_eq!([unit("fine"), unit("nulls")], ["Timestamp(ns)", "Timestamp(ns)"]);
}

#[test]
fn without_statistics_the_times_themselves_decide() {
    let table = table("times_without_statistics.orc").unwrap();
    let far = ["9999-12-31T00:00:00.123456", "1970-01-01T00:00:00"];
    assert_eq!(column(&*table, "far"), some(&far), "on the clock in Los Angeles");
    let near = ["2015-01-01T00:00:00.123456789", "2015-06-30T01:00:00.500"];
    assert_eq!(column(&*table, "near"), some(&near));
}

#[test]
fn what_older_and_newer_writers_make() {
    let only = |name: &str| {
        let table = table(name).unwrap();
        column(&*table, table.schema().field(0).name())
    };
    assert_eq!(only("narrow_wraps.orc"), some(&["-3073", "-1"]));
    assert_eq!(only("no_metadata_length.orc"), some(&["7", "-8"]));
    assert_eq!(only("root_is_no_struct.orc"), some(&["1", "-2", "4611686018427387904"]));
    let decimals =
        ["123.450000000000000000", "-7.000000000000000000", "1.000000000000000001", "0.000000000000000000"];
    assert_eq!(only("hive_decimals.orc"), some(&decimals));
    let decimals = ["123.45", "123.45", "123.45", "-1.50", "-0.75", "0.00", "0.75"];
    assert_eq!(only("decimals_as_integers.orc"), some(&decimals));
    let wrapped = [
        "9223372036854775805",
        "9223372036854775806",
        "-9223372036854775553",
        "-9223372036854775808",
        "-9223372036854775807",
    ];
    assert_eq!(only("patched_base_wraps.orc"), some(&wrapped));
}

#[test]
fn a_read_from_anywhere_goes_on_from_where_another_ended() {
    let path = format!("{}/fixtures/orc/blocks.orc", env!("CARGO_MANIFEST_DIR"));
    let task = Task::new();
    let fresh = || OrcTable::open(&task, &Source::open(&task, path.as_ref()).unwrap()).unwrap();
    let whole = fresh().read(&task, 0..9000, &[0, 1, 2, 3]).unwrap();
    // The second block alone, without the first; then the first.
    let table = fresh();
    for rows in [8192..9000, 8190..8200, 0..10] {
        let part = table.read(&task, rows.clone(), &[0, 1, 2, 3]).unwrap();
        assert_eq!(part, whole.slice(rows.start as usize, (rows.end - rows.start) as usize));
    }
}

#[test]
fn every_count_of_a_stripe_is_held_against_its_bytes() {
    // 10^15 rows in the footer of a file of integers, which are two in truth.
    let path = format!("{}/fixtures/orc/no_metadata_length.orc", env!("CARGO_MANIFEST_DIR"));
    let whole = std::fs::read(path).unwrap();
    let at = whole.windows(4).position(|w| w == [0x28, 2, 0x22, 0x07]).expect("rows of the stripe");
    let mut rows = vec![0x28];
    let mut left = 10u64.pow(15);
    while left >= 0x80 {
        rows.push(left as u8 | 0x80);
        left >>= 7;
    }
    rows.push(left as u8);
    let more = (rows.len() - 2) as u8;
    let mut bytes = whole[..at].to_vec();
    bytes.extend(&rows);
    bytes.extend(&whole[at + 2..]);
    // The lengths around it: of the stripe's message, and of the footer in the postscript.
    let stripe = bytes[..at].iter().rposition(|byte| *byte == 0x1a).unwrap() + 1;
    bytes[stripe] += more;
    let postscript = bytes.len() - 1 - usize::from(*bytes.last().unwrap());
    bytes[postscript + 1] += more;
    let error = OrcTable::open(&Task::new(), &Source::memory("x.orc", bytes)).err().unwrap();
    assert!(error.to_string().contains("rows"), "{error}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]
    #[test]
    fn flipped_bytes_end_in_errors_not_panics(
        file in 0usize..4,
        flips in proptest::collection::vec((0usize..100_000, 0u8..=255), 1..6),
    ) {
        let name = ["types", "times", "hive_decimals", "patched_base_wraps"][file];
        let path = format!("{}/fixtures/orc/{name}.orc", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = std::fs::read(path).unwrap();
        for (at, byte) in flips {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let task = Task::new();
        if let Ok(table) = OrcTable::open(&task, &Source::memory("x.orc", bytes)) {
            for column in 0..table.schema().fields().len() {
                let _ = table.read(&task, 0..10, &[column]);
            }
        }
    }
}

/// A struct of one column.
fn of_one(number: u64) -> Vec<Vec<u8>> {
    vec![kind(12, &[1]), kind(number, &[])]
}

/// A struct with a column that is a struct without fields.
fn hollow() -> Vec<Vec<u8>> {
    vec![kind(12, &[1]), kind(12, &[2]), kind(12, &[])]
}

#[test]
fn a_summer_of_a_leap_year_far_ahead_has_the_clock_of_today() {
    // Noon on the clock in Moscow, where base and moment are as far from UTC.
    let noon = [2_222_164_800i64, 2_190_542_400].map(|seconds| seconds - 1_420_070_400);
    let streams = vec![(DATA, 1, signed(&noon)), (SECONDARY, 1, literals(&[0, 0]))];
    let table = made::table(&of_one(9), &[(2, streams)], "Europe/Moscow").unwrap();
    assert_eq!(column(&table, "a"), some(&["2040-06-01T12:00:00", "2039-06-01T12:00:00"]));
}

#[test]
fn decimals_finer_than_their_type_are_rounded_and_that_is_told() {
    let digits = |numbers: &[i64]| numbers.iter().flat_map(|n| made::zigzag(*n)).collect::<Vec<u8>>();
    let make = |of: Vec<u8>, numbers: &[i64], scales: &[i64]| {
        let streams = vec![(DATA, 1, digits(numbers)), (SECONDARY, 1, signed(scales))];
        made::table(&[kind(12, &[1]), of], &[(numbers.len() as u64, streams)], "GMT").unwrap()
    };
    let of_two = || [kind(14, &[]), made::int(5, 5), made::int(6, 2)].concat();
    let told = |table: &OrcTable| table.facts().details.iter().any(|(name, _)| name == "rounded");
    let table = make(of_two(), &[125, 1255, -1255, 12549], &[2, 3, 3, 4]);
    assert!(table.remarks.is_empty() && !told(&table));
    assert_eq!(column(&table, "a"), some(&["1.25", "1.26", "-1.26", "1.25"]));
    assert!(told(&table));
    // Of Hive 0.11: any number of digits after the point.
    let table = make(kind(14, &[]), &[15, 1_234_567_890_123_456_789], &[1, 20]);
    assert!(table.remarks.iter().any(|remark| remark.contains("without a stated scale")));
    assert_eq!(column(&table, "a"), some(&["1.500000000000000000", "0.012345678901234568"]));
    // What does not fit is an error all the same.
    let table = make(kind(14, &[]), &[i64::MAX], &[-20]);
    assert!(table.read(&Task::new(), 0..1, &[0]).is_err());
    // Nothing is told where nothing was lost.
    let table = make(of_two(), &[12500], &[4]);
    assert_eq!(column(&table, "a"), some(&["1.25"]));
    assert!(!told(&table));
}

#[test]
fn a_far_date_behind_what_is_looked_at_decides_too() {
    // A stripe of more bytes than are looked at, and two more; one is broken.
    let many = signed(&vec![300_000_000; 1_000_000]);
    assert!(many.len() > 4 << 20);
    let far = 253_402_214_400i64 - 1_420_070_400;
    let stripes = vec![
        (1_000_000, vec![(DATA, 1, many.clone())]),
        (1, vec![(DATA, 1, vec![0x80])]),
        (2, vec![(DATA, 1, signed(&[far, 0])), (SECONDARY, 1, literals(&[0, 0]))]),
    ];
    let table = made::table(&of_one(9), &stripes, "GMT").unwrap();
    let batch = table.read(&Task::new(), 1_000_001..1_000_003, &[0]).unwrap();
    assert_eq!(crate::data::cell::text(batch.column(0), 0).as_deref(), Some("9999-12-31T00:00:00"));
    // One that nothing told of does not claim that statistics said otherwise.
    let mut late = many;
    late.extend(signed(&[far]));
    let table = made::table(&of_one(9), &[(1_000_001, vec![(DATA, 1, late)])], "GMT").unwrap();
    let unit = table.schema().field(0).data_type().to_string();
    assert_eq!(unit, "Timestamp(ns)");
}

#[test]
fn texts_too_long_for_one_block_hide_no_others() {
    // 9,000 rows of two bytes, of which one claims a gigabyte and more.
    let mut lengths = vec![2u64; 9000];
    lengths[8000] = 3 << 29;
    let streams = vec![(DATA, 1, b"ab".repeat(8000)), (LENGTH, 1, literals(&lengths))];
    let table = made::table(&of_one(7), &[(9000, streams)], "GMT").unwrap();
    let task = Task::new();
    let some_rows = table.read(&task, 7990..8000, &[0]).unwrap();
    assert_eq!(crate::data::cell::text(some_rows.column(0), 9).as_deref(), Some("ab"));
    for rows in [7990..8001, 0..BLOCK, 0..9000] {
        let error = table.read(&task, rows, &[0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
    // Lists likewise.
    let types = [kind(12, &[1]), kind(10, &[2]), kind(1, &[])];
    let streams = vec![(DATA, 2, [0xfe, 7, 8].to_vec()), (LENGTH, 1, literals(&[1, 1, 1 << 40]))];
    let table = made::table(&types, &[(3, streams)], "GMT").unwrap();
    assert_eq!(table.read(&task, 1..2, &[0]).unwrap().num_rows(), 1);
    assert_eq!(table.read(&task, 0..3, &[0]).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn lists_of_nothing_are_passed_over_at_once() {
    // list<struct<>>, whose first row has 2^62 of them.
    let types = [kind(12, &[1]), kind(10, &[2]), kind(12, &[])];
    let mut lengths = vec![1u64 << 62];
    lengths.extend(vec![3; 9000]);
    let table = made::table(&types, &[(9001, vec![(LENGTH, 1, literals(&lengths))])], "GMT").unwrap();
    let batch = table.read(&Task::new(), 9000..9001, &[0]).unwrap();
    assert_eq!(crate::data::cell::text(batch.column(0), 0).as_deref(), Some("[{},{},{}]"));
    // A list of what is stored ends with its bytes.
    let types = [kind(12, &[1]), kind(10, &[2]), kind(1, &[])];
    let streams = vec![(LENGTH, 1, literals(&lengths)), (DATA, 2, vec![0xff, 1])];
    let table = made::table(&types, &[(9001, streams)], "GMT").unwrap();
    assert!(table.read(&Task::new(), 9000..9001, &[0]).unwrap_err().message().contains("ends before"));
}

#[test]
fn rows_without_bytes_cost_nothing_however_many() {
    let task = Task::new();
    let many = 1u64 << 60;
    let table = made::table(&hollow(), &[(many, Vec::new()), (5, Vec::new())], "GMT").unwrap();
    assert_eq!(
        [0, 7, many - 1, many, many + 5].map(|at| table.equal_rows(&task, at).unwrap()),
        [many, many - 7, 1, 5, 0]
    );
    let batch = table.read(&task, many - 2..many + 2, &[0]).unwrap();
    assert_eq!(crate::data::cell::text(batch.column(0), 3).as_deref(), Some("{\"a\":{}}"));
    let stats = crate::data::stats::table(&table, &task, &[0]).unwrap();
    assert_eq!((stats.rows, stats.columns[0].as_ref().unwrap().nulls), (many + 5, 0));
    // Where some may be null, they are read: the bitmap ends, and so does the pass.
    let nulls = vec![(PRESENT, 1, vec![0xff, 0b1010_0000])];
    let table = made::table(&hollow(), &[(1 << 39, nulls)], "GMT").unwrap();
    assert_eq!(table.equal_rows(&task, 0).unwrap(), 0);
    let stats = crate::data::stats::table(&table, &task, &[0]).unwrap();
    assert!(stats.columns[0].is_err());
    assert!(table.read(&task, (1 << 39) - 1..1 << 39, &[0]).is_err(), "far rows neither");
    let nulls = vec![(PRESENT, 1, vec![0xff, 0b1010_0000])];
    let table = made::table(&hollow(), &[(3, nulls)], "GMT").unwrap();
    let stats = crate::data::stats::table(&table, &task, &[0]).unwrap();
    assert_eq!(stats.columns[0].as_ref().unwrap().nulls, 1);
}

#[test]
fn broken_files_say_so() {
    assert!(table("malformed/cut_in_footer.orc").is_err());
    assert!(table("malformed/postscript_length.orc").is_err());
    let broken = table("malformed/broken_stripe.orc").unwrap();
    assert!(broken.read(&Task::new(), 0..10, &[0, 1, 2, 3]).is_err());
}
