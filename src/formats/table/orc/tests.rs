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
fn broken_files_say_so() {
    assert!(table("malformed/cut_in_footer.orc").is_err());
    assert!(table("malformed/postscript_length.orc").is_err());
    let broken = table("malformed/broken_stripe.orc").unwrap();
    assert!(broken.read(&Task::new(), 0..10, &[0, 1, 2, 3]).is_err());
}
