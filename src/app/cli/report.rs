//! Reports as files: what a command found as JSON, as CSV or as a page of HTML, the same bytes for the same findings.

use gander::Error;
use gander::convert::output::{Output, check_target};
use gander::engines::html::{BEGIN, END, escaped, style};
use serde_json::Value as Json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where a report goes: the same for every command that makes one.
#[derive(clap::Args, Default)]
pub(crate) struct ReportArgs {
    /// Write a report instead of printing: its extension (json, csv, html) says in which form
    #[arg(short, long = "output", value_name = "REPORT")]
    output: Option<PathBuf>,
    /// Replace the report if it exists
    #[arg(long, requires = "output")]
    overwrite: bool,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Csv,
    Html,
}

/// A report that is to be written.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    /// Its form.
    pub(crate) form: Form,
    path: &'a Path,
    overwrite: bool,
}

impl ReportArgs {
    /// The report that is asked for, if one is.
    ///
    /// # Errors
    /// An extension that says no form, and a file that cannot be written.
    pub(crate) fn wanted(&self) -> Result<Option<Wanted<'_>>, super::Stop> {
        let Some(path) = self.output.as_deref() else { return Ok(None) };
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let form = match ending.as_str() {
            "json" => Form::Json,
            "csv" => Form::Csv,
            "html" | "htm" => Form::Html,
            _ => {
                let what = format!("-o {}: a report ends in .json, .csv or .html", path.display());
                return Err(super::Stop::Usage(what));
            }
        };
        // Said before hours of work.
        check_target(path, self.overwrite).map_err(|error| error.in_file(path.display()))?;
        Ok(Some(Wanted { form, path, overwrite: self.overwrite }))
    }
}

impl Wanted<'_> {
    /// Writes it: whole or not at all.
    ///
    /// # Errors
    /// Those of writing.
    pub(crate) fn write(&self, text: &str) -> Result<(), Error> {
        let mut output = Output::create(self.path, self.overwrite)?;
        output.write_all(text.as_bytes())?;
        output.commit().map(drop)
    }
}

/// Findings as the rows of a table.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    text: String,
    is_number: bool,
}

impl From<&Json> for Cell {
    fn from(json: &Json) -> Self {
        match json {
            Json::Null => Cell::default(),
            Json::String(text) => Cell { text: text.clone(), is_number: false },
            other => Cell { text: other.to_string(), is_number: other.is_number() },
        }
    }
}

impl Rows {
    /// No rows yet, with columns that stand first.
    pub(crate) fn new(first: &[&str]) -> Self {
        Rows { header: first.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row: values by the names of their columns; those that are new stand behind the others. Objects are a column
    /// a member.
    pub(crate) fn add(&mut self, values: &[(String, &Json)]) {
        let mut row = vec![Cell::default(); self.header.len()];
        for (name, value) in values {
            self.put(&mut row, name, value);
        }
        self.rows.push(row);
    }

    fn put(&mut self, row: &mut Vec<Cell>, name: &str, value: &Json) {
        if let Json::Object(members) = value {
            return members
                .iter()
                .for_each(|(member, value)| self.put(row, &format!("{name}.{member}"), value));
        }
        let at = match self.header.iter().position(|known| known == name) {
            Some(at) => at,
            None => {
                self.header.push(name.to_owned());
                self.header.len() - 1
            }
        };
        row.resize(self.header.len(), Cell::default());
        row[at] = Cell::from(value);
    }

    /// The columns that hold something, in their order, and all cells of a row in them.
    fn used(&self) -> Vec<usize> {
        let holds = |column: &usize| {
            self.rows.iter().any(|row| row.get(*column).is_some_and(|cell| !cell.text.is_empty()))
        };
        (0..self.header.len()).filter(holds).collect()
    }

    /// As CSV (RFC 4180), with a header also where nothing was found.
    pub(crate) fn csv(&self) -> String {
        let quoted = |text: &str| match text.contains([',', '"', '\n', '\r'])
            || text.starts_with(' ')
            || text.ends_with(' ')
        {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
        let mut out = self.header.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",") + "\n";
        for row in &self.rows {
            let cell = |column| row.get(column).map_or(String::new(), |cell: &Cell| quoted(&cell.text));
            out += &((0..self.header.len()).map(cell).collect::<Vec<_>>().join(",") + "\n");
        }
        out
    }

    /// As a page that stands alone: a title, lines above the table, the table.
    pub(crate) fn html(&self, title: &str, lines: &[String]) -> String {
        let mut out = format!("{BEGIN}<title>");
        escaped(title, &mut out);
        out += &format!("</title>\n{}</head>\n<body>\n<h1>", style());
        escaped(title, &mut out);
        out += "</h1>\n";
        for line in lines {
            out += "<p>";
            escaped(line, &mut out);
            out += "</p>\n";
        }
        let used = self.used();
        if !used.is_empty() {
            out += "<table>\n<thead>\n<tr>";
            for name in used.iter().filter_map(|column| self.header.get(*column)) {
                out += "<th scope=\"col\">";
                escaped(name, &mut out);
                out += "</th>";
            }
            out += "</tr>\n</thead>\n<tbody>\n";
            for row in &self.rows {
                out += "<tr>";
                for column in &used {
                    let cell = row.get(*column).cloned().unwrap_or_default();
                    out += if cell.is_number { "<td class=\"n\">" } else { "<td>" };
                    escaped(&cell.text, &mut out);
                    out += "</td>";
                }
                out += "</tr>\n";
            }
            out += "</tbody>\n</table>\n";
        }
        out + END
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_have_the_columns_of_all() {
        let mut rows = Rows::new(&["path", "kind"]);
        let (path, count, scaled) = (json!("a,\"b\"<"), json!(7), json!({ "min": 0.5 }));
        rows.add(&[("path".to_owned(), &path), ("count".to_owned(), &count)]);
        rows.add(&[("scaled".to_owned(), &scaled), ("path".to_owned(), &json!(null))]);
        assert_eq!(rows.csv(), "path,kind,count,scaled.min\n\"a,\"\"b\"\"<\",,7,\n,,,0.5\n");
        let page = rows.html("A & B", &["x".to_owned()]);
        assert!(page.contains("<h1>A &amp; B</h1>\n<p>x</p>"), "{page}");
        assert!(page.contains("<th scope=\"col\">count</th>") && !page.contains(">kind<"), "{page}");
        assert!(page.contains("<td>a,&quot;b&quot;&lt;</td><td class=\"n\">7</td><td></td>"), "{page}");
    }

    #[test]
    fn an_extension_says_the_form() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.HTML");
        let args = ReportArgs { output: Some(path.clone()), overwrite: false };
        let wanted = args.wanted().unwrap().unwrap();
        assert_eq!(wanted.form, Form::Html);
        wanted.write("x").unwrap();
        assert!(matches!(args.wanted(), Err(super::super::Stop::Failed(_))));
        let args = ReportArgs { output: Some(folder.path().join("r.txt")), overwrite: false };
        assert!(matches!(args.wanted(), Err(super::super::Stop::Usage(_))));
        assert!(ReportArgs::default().wanted().unwrap().is_none());
    }
}
