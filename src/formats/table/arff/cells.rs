//! A row: values with commas between them, or `{index value, …}`; quotes, escapes, missing values and weights.

/// A value as it stands in a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    /// As it stands.
    Plain(&'a str),
    /// It stood in quotes.
    Quoted(String),
    /// In braces, at the end of a row: its weight.
    Braced(&'a str),
}

impl Cell<'_> {
    /// The value; `None` where it is missing.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Cell::Plain("?" | "") => None,
            Cell::Plain(text) | Cell::Braced(text) => Some(text),
            Cell::Quoted(text) => Some(text),
        }
    }

    pub(super) fn into_text(self) -> String {
        match self {
            Cell::Plain(text) | Cell::Braced(text) => text.to_owned(),
            Cell::Quoted(text) => text,
        }
    }
}

/// The value of a row, and its weight if it has one.
#[derive(Debug, PartialEq)]
pub(super) enum Row<'a> {
    Dense(Vec<Cell<'a>>),
    /// Columns with their values, in order of the row.
    Sparse(Vec<(usize, Cell<'a>)>, Option<&'a str>),
}

/// A text in quotes with its escapes undone, and what follows; `None` where the quote is not closed.
pub(super) fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next()?;
    let (mut out, mut rest) = (String::new(), text.get(1..)?);
    loop {
        let at = rest.find([quote, '\\'])?;
        out.push_str(rest.get(..at)?);
        let found = rest.get(at..)?;
        if found.starts_with(quote) {
            return Some((out, found.get(1..)?));
        }
        let escaped = found.get(1..)?;
        let (char, taken) = unescaped(escaped)?;
        out.push(char);
        rest = escaped.get(taken..)?;
    }
}

/// The character behind a backslash, and how many bytes it takes.
fn unescaped(text: &str) -> Option<(char, usize)> {
    let first = text.chars().next()?;
    let code = |digits: Option<&str>, radix| char::from_u32(u32::from_str_radix(digits?, radix).ok()?);
    if first == 'u'
        && let Some(char) = code(text.get(1..5), 16)
    {
        return Some((char, 5));
    }
    if let Some(char) = code(text.get(..3), 8) {
        return Some((char, 3));
    }
    let char = match first {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\u{8}',
        'f' => '\u{c}',
        other => other,
    };
    Some((char, first.len_utf8()))
}

/// Values with commas between them.
pub(super) fn cells(text: &str) -> Result<Vec<Cell<'_>>, &'static str> {
    let (mut all, mut rest) = (Vec::new(), text.trim());
    loop {
        let (cell, after) = cell(rest, |text| text.find(',').unwrap_or(text.len()))?;
        all.push(cell);
        match after.trim_start().strip_prefix(',') {
            Some(behind) => rest = behind.trim_start(),
            None if after.trim().is_empty() => return Ok(all),
            None => return Err("something stands behind a closing quote"),
        }
    }
}

/// Values with spaces or tabs between them.
fn spaced(text: &str) -> Result<Vec<Cell<'_>>, &'static str> {
    let (mut all, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let (cell, after) = cell(rest, |text| text.find(char::is_whitespace).unwrap_or(text.len()))?;
        all.push(cell);
        rest = after.trim_start();
    }
    Ok(all)
}

/// The first value, whose end `end` tells, and what is behind it.
fn cell(text: &str, end: impl Fn(&str) -> usize) -> Result<(Cell<'_>, &str), &'static str> {
    if text.starts_with(['"', '\'']) {
        let (text, rest) = quoted(text).ok_or("a quote is not closed")?;
        return Ok((Cell::Quoted(text), rest));
    }
    if let Some(inner) = text.strip_prefix('{') {
        let (inner, rest) = inner.split_once('}').ok_or("a brace is not closed")?;
        return Ok((Cell::Braced(inner.trim()), rest));
    }
    let (cell, rest) = text.split_at_checked(end(text)).unwrap_or((text, ""));
    Ok((Cell::Plain(cell.trim()), rest))
}

/// A row of a table of so many columns.
pub(super) fn row(text: &str, columns: usize) -> Result<Row<'_>, &'static str> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('{') {
        return sparse(inner, columns);
    }
    let all = cells(text)?;
    if all.len() == 1 && columns > 1 && text.contains(char::is_whitespace) {
        return spaced(text).map(Row::Dense);
    }
    Ok(Row::Dense(all))
}

fn sparse(inner: &str, columns: usize) -> Result<Row<'_>, &'static str> {
    let (mut all, mut rest) = (Vec::new(), inner.trim_start());
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            let weight = after.trim().trim_start_matches(',').trim();
            let weight = weight.strip_prefix('{').and_then(|weight| weight.strip_suffix('}')).map(str::trim);
            return Ok(Row::Sparse(all, weight));
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (index, behind) = rest.split_at_checked(digits).unwrap_or((rest, ""));
        let index: usize = index.parse().map_err(|_| "a value of a sparse row has no index")?;
        if index >= columns {
            return Err("an index of a sparse row is beyond the last attribute");
        }
        let (cell, after) = cell(behind.trim_start(), |text| text.find([',', '}']).unwrap_or(text.len()))?;
        all.push((index, cell));
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(behind) => behind.trim_start(),
            None if after.starts_with('}') => after,
            None => return Err("a sparse row has no closing brace"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_split() {
        let plain = |texts: &[&'static str]| texts.iter().map(|text| Cell::Plain(text)).collect::<Vec<_>>();
        assert_eq!(row("1, 2 ,?,", 4), Ok(Row::Dense(plain(&["1", "2", "?", ""]))));
        assert_eq!(row("1 2\t3", 3), Ok(Row::Dense(plain(&["1", "2", "3"]))));
        assert_eq!(row("a b", 1), Ok(Row::Dense(plain(&["a b"]))));
        let quotes = row(r#"'it\'s', "a,\"b\"" ,'\u00e9\101\n\\'"#, 3);
        let expected = ["it's", "a,\"b\"", "éA\n\\"].map(|text| Cell::Quoted(text.to_owned()));
        assert_eq!(quotes, Ok(Row::Dense(expected.to_vec())));
        assert_eq!(row("1,{ 0.5 }", 1), Ok(Row::Dense(vec![Cell::Plain("1"), Cell::Braced("0.5")])));
        let sparse = Row::Sparse(vec![(1, Cell::Plain("7")), (3, Cell::Quoted("x y".to_owned()))], Some("2"));
        assert_eq!(row("{1 7, 3 'x y'}, {2}", 4), Ok(sparse));
        assert_eq!(row("{}", 4), Ok(Row::Sparse(Vec::new(), None)));
        for wrong in ["'a", "'a'b,1", "{1 2", "{x 2}", "{9 1}", "{1 2 3 4", "1,{2"] {
            assert!(row(wrong, 4).is_err(), "{wrong}");
        }
        assert_eq!((Cell::Plain("?").text(), Cell::Quoted("?".to_owned()).text()), (None, Some("?")));
    }
}
