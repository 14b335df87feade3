//! Writes small tables as a page of HTML that stands alone: no scripts, nothing from elsewhere
//! (<https://html.spec.whatwg.org/multipage/tables.html>).

use super::pages::{self, MOST, NULL};
use crate::bytes::display;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::{Kind, Table};
use crate::data::format::{Loss, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::scan::{put, scan};
use crate::engines::html::{BEGIN, END, escaped, style};
use crate::engines::json::value_text::{plain, whole};
use arrow::array::{ArrayRef, RecordBatch};

const TITLE: OptionSpec = OptionSpec::new(
    "title",
    "The title of the page and the caption of the table; several tables have their names",
);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    many: true,
    options: &[MOST, NULL, TITLE],
    check: pages::check,
    ..Writer::new(&[Kind::Table], losses, write)
};

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    pages::losses(
        payload,
        options,
        "HTML",
        "control characters become U+FFFD, which stands for what cannot be shown",
    )
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let tables = payload.tables()?;
    let title = options.get(TITLE.name).unwrap_or_default();
    let mut out = String::from(BEGIN);
    out += "<title>";
    escaped(if title.is_empty() { "Table" } else { title }, &mut out);
    out += "</title>\n";
    out += &style();
    out += "</head>\n<body>\n";
    put(sink, out.as_bytes())?;
    for (name, table) in tables {
        let rows = pages::count(task, table.as_ref(), options, "HTML")?;
        let mut out = String::from("<table>\n<caption>");
        let caption = if name.is_empty() { title } else { name };
        escaped(caption, &mut out);
        if !caption.is_empty() {
            out += ": ";
        }
        let columns = table.schema().fields().len() as u64;
        out += &format!(
            "{} of {}</caption>\n",
            display::plural(rows, "row"),
            display::plural(columns, "column")
        );
        header(table.as_ref(), &mut out);
        put(sink, out.as_bytes())?;
        body(task, table.as_ref(), options.get(NULL.name).unwrap_or(NULL.default), sink)?;
        put(sink, b"</tbody>\n</table>\n")?;
    }
    put(sink, END.as_bytes())
}

fn header(table: &dyn Table, out: &mut String) {
    *out += "<thead>\n<tr>";
    for field in table.schema().fields() {
        let number = if pages::is_number(field.data_type()) { " class=\"n\"" } else { "" };
        *out += &format!("<th scope=\"col\"{number} title=\"");
        escaped(&display::arrow_type(field.data_type()), out);
        *out += "\">";
        escaped(field.name(), out);
        *out += "</th>";
    }
    *out += "</tr>\n</thead>\n<tbody>\n";
}

fn body(task: &Task, table: &dyn Table, null: &str, sink: &mut dyn Sink) -> Result<()> {
    let rows = |batch: RecordBatch| -> Result<String> {
        let fields = batch.schema();
        let columns: Vec<(ArrayRef, &str)> = batch
            .columns()
            .iter()
            .zip(fields.fields())
            .map(|(column, field)| {
                (plain(column), if pages::is_number(field.data_type()) { "<td class=\"n\">" } else { "<td>" })
            })
            .collect();
        let mut out = String::new();
        for row in 0..batch.num_rows() {
            out += "<tr>";
            for (column, tag) in &columns {
                match whole(column.as_ref(), row) {
                    Some(text) => {
                        out += tag;
                        escaped(&text, &mut out);
                    }
                    None => {
                        out += "<td class=\"null\">";
                        escaped(null, &mut out);
                    }
                }
                out += "</td>";
            }
            out += "</tr>\n";
        }
        Ok(out)
    };
    scan(task, table, rows, |text| put(sink, text.as_bytes())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::pages::tests::{table, written};
    use super::*;
    use proptest::prelude::*;

    /// The texts of all elements of this name.
    fn elements(page: &str, name: &str) -> Vec<String> {
        let start = format!("<{name}");
        let parts = page.split(&start).skip(1);
        let inner = |part: &str| {
            let (_, rest) = part.split_once('>').unwrap();
            let text = rest.split_once(&format!("</{name}>")).unwrap().0;
            assert!(!text.contains(['<', '>']), "{text}");
            let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
            text.replace("&#13;", "\r").replace("&amp;", "&")
        };
        parts.map(inner).collect()
    }

    proptest! {
        #[test]
        fn any_text_reads_back(texts in prop::collection::vec("[ a<>&;\"'\r\n\t\\PC]{0,9}", 1..8)) {
            let page = written(&WRITER, &table(&texts), &[("title", "a<b")]).unwrap();
            let cells: Vec<String> = texts.iter().enumerate().flat_map(|(n, t)| [t.clone(), n.to_string()]).collect();
            prop_assert_eq!(elements(&page, "td"), cells);
        }
    }

    #[test]
    fn a_page_has_a_caption_and_no_scripts() {
        let page = written(&WRITER, &table(&["\0".into(), "b".into()]), &[("title", "<x>")]).unwrap();
        assert!(page.contains("<caption>&lt;x&gt;: 2 rows of 2 columns</caption>"), "{page}");
        assert!(page.contains(
            "<th scope=\"col\" title=\"string\">t</th><th scope=\"col\" class=\"n\" title=\"int64\">n</th>"
        ));
        assert!(page.contains("<td>\u{fffd}</td>") && !page.contains("<script"));
    }
}
