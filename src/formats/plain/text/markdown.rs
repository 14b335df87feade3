//! Writes small tables as tables of Markdown, as GitHub and most other programs read them:
//! <https://github.github.com/gfm/#tables-extension->. What Markdown would take for more than a text is escaped
//! (<https://spec.commonmark.org/0.31.2/#backslash-escapes>).

use super::pages::{self, MOST, NULL};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Loss, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::scan::{put, scan};
use crate::engines::json::value_text::{plain, whole};
use arrow::array::{ArrayRef, RecordBatch};

const ALIGN: OptionSpec = OptionSpec::new("align", "Whether numbers stand at the right of their columns")
    .one_of("yes", &["yes", "no"]);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    many: true,
    options: &[MOST, NULL, ALIGN],
    check: pages::check,
    ..Writer::new(&[Kind::Table], losses, write)
};

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    pages::losses(
        payload,
        options,
        "Markdown",
        "spaces at the ends of cells, line ends and control characters are kept as HTML",
    )
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let null = options.get(NULL.name).unwrap_or(NULL.default);
    let align = options.choice(&ALIGN)? == "yes";
    for (n, (name, table)) in payload.tables()?.into_iter().enumerate() {
        pages::count(task, table.as_ref(), options, "Markdown")?;
        let mut out = String::new();
        if !name.is_empty() {
            out += if n > 0 { "\n## " } else { "## " };
            escaped(name, &mut out);
            out += "\n\n";
        }
        let fields = table.schema().fields();
        line(fields.iter().map(|field| Some(field.name().as_str())), null, &mut out);
        for field in fields {
            out += if align && pages::is_number(field.data_type()) { "| ---: " } else { "| --- " };
        }
        out += "|\n";
        put(sink, out.as_bytes())?;
        let rows = |batch: RecordBatch| -> Result<String> {
            let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect();
            let mut out = String::new();
            for row in 0..batch.num_rows() {
                let cells: Vec<Option<String>> =
                    columns.iter().map(|column| whole(column.as_ref(), row)).collect();
                line(cells.iter().map(Option::as_deref), null, &mut out);
            }
            Ok(out)
        };
        scan(task, table.as_ref(), rows, |text| put(sink, text.as_bytes()))?;
    }
    Ok(())
}

/// Appends a row.
fn line<'a>(cells: impl Iterator<Item = Option<&'a str>>, null: &str, out: &mut String) {
    for cell in cells {
        *out += "| ";
        escaped(cell.unwrap_or(null), out);
        out.push(' ');
    }
    *out += "|\n";
}

/// Appends a text that is nothing but a text.
fn escaped(text: &str, out: &mut String) {
    let ends = (text.trim_start_matches(' ').len(), text.trim_end_matches(' ').len());
    let mut before = ' ';
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map_or(' ', |(_, c)| *c);
        match c {
            ' ' if text.len() - at > ends.0 || at >= ends.1 => *out += "&#32;",
            '\r' if next == '\n' => {}
            '\n' | '\r' => *out += "<br>",
            '\t' => *out += "&#9;",
            '\0' => out.push('\u{fffd}'),
            c if c.is_control() => *out += &format!("&#{};", c as u32),
            '&' if is_entity(text.get(at..).unwrap_or_default()) => *out += "&amp;",
            // Within a word it marks nothing.
            '_' if before.is_alphanumeric() && next.is_alphanumeric() => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
        before = c;
    }
}

/// Whether a text that begins with `&` begins with a character reference.
fn is_entity(text: &str) -> bool {
    let name = text.get(1..).and_then(|rest| rest.split_once(';')).map_or("", |(name, _)| name);
    let name = name.strip_prefix('#').unwrap_or(name);
    !name.is_empty() && name.len() < 40 && name.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::super::pages::tests::{table, written};
    use super::*;
    use proptest::prelude::*;

    /// The cells of a row as GitHub's rules have them: split at bars without a backslash, trimmed, and then read as
    /// inline text.
    fn cells(line: &str) -> Vec<String> {
        let inner = line.strip_prefix('|').unwrap().strip_suffix('|').unwrap();
        let (mut all, mut cell, mut chars) = (Vec::new(), String::new(), inner.chars());
        while let Some(c) = chars.next() {
            match c {
                '\\' => {
                    cell.push(c);
                    cell.extend(chars.next());
                }
                '|' => all.push(std::mem::take(&mut cell)),
                c => cell.push(c),
            }
        }
        all.push(cell);
        all.iter().map(|cell| text_of(cell.trim_matches(' '))).collect()
    }

    fn text_of(cell: &str) -> String {
        let (mut out, mut rest) = (String::new(), cell);
        while let Some(c) = rest.chars().next() {
            let entity = rest.strip_prefix('&').and_then(|r| r.split_once(';')).filter(|_| is_entity(rest));
            if let Some(more) = rest.strip_prefix("<br>") {
                out.push('\n');
                rest = more;
            } else if let Some((name, more)) = entity {
                match name {
                    "amp" => out.push('&'),
                    code => out.push(char::from_u32(code[1..].parse().unwrap()).unwrap()),
                }
                rest = more;
            } else if c == '\\' {
                out.push(rest.chars().nth(1).unwrap());
                rest = &rest[2..];
            } else {
                assert!(!"`*[]<>~|$".contains(c), "{c} in {cell}");
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        out
    }

    proptest! {
        #[test]
        fn any_text_reads_back(texts in prop::collection::vec("[ a|\\\\*_<&;#\\[`1~\t\u{1}\\PC]{0,9}", 1..8)) {
            let out = written(&WRITER, &table(&texts), &[]).unwrap();
            let lines: Vec<&str> = out.lines().collect();
            prop_assert_eq!(lines[1], "| --- | ---: |");
            for (n, text) in texts.iter().enumerate() {
                prop_assert_eq!(cells(lines[n + 2]), [text.clone(), n.to_string()]);
            }
        }
    }

    #[test]
    fn many_rows_want_to_be_asked_for() {
        let long = table(&vec![String::new(); 10_001]);
        let error = written(&WRITER, &long, &[]).unwrap_err().to_string();
        assert!(error.contains("10,001 rows") && error.contains("max_rows=0"), "{error}");
        assert_eq!(written(&WRITER, &long, &[("max_rows", "0")]).unwrap().lines().count(), 10_003);
        assert_eq!(
            written(&WRITER, &table(&["a\r\nb".into()]), &[("align", "no")]).unwrap(),
            "| t | n |\n| --- | --- |\n| a<br>b | 0 |\n"
        );
    }
}
