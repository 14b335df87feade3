//! One line: `label qid:7 3:0.5 8:1 # comment`.

/// What stands on a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Line<'a> {
    /// One, of several classes also more or none.
    pub(super) labels: Vec<f64>,
    pub(super) query: Option<i64>,
    pub(super) indices: Vec<u64>,
    pub(super) values: Vec<f64>,
    /// What follows `#`.
    pub(super) comment: Option<&'a str>,
    /// What is wrong with it; all before that is there.
    pub(super) wrong: Option<&'static str>,
}

/// Whether a line is no row: blank, or a comment alone.
pub(super) fn is_none(line: &[u8]) -> bool {
    line.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|byte| *byte == b'#')
}

/// A number as C and Python write it.
pub(super) fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let named = || {
        let name = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
        ["nan", "inf", "infinity"].contains(&name.as_str())
    };
    text.parse().ok().filter(|_| plain || named())
}

impl<'a> Line<'a> {
    /// Reads a line.
    pub(super) fn read(bytes: &'a [u8]) -> Line<'a> {
        let mut line = Line::default();
        let Ok(text) = std::str::from_utf8(bytes) else {
            // A comment may be in any encoding; what is before it is not.
            let hash = bytes.iter().position(|byte| *byte == b'#').unwrap_or(0);
            let before = bytes.get(..hash).and_then(|bytes| std::str::from_utf8(bytes).ok());
            match before.filter(|_| hash > 0) {
                Some(before) => line.fill(before),
                None => line.wrong = Some("it is no text"),
            }
            return line;
        };
        let (data, comment) = match text.split_once('#') {
            Some((data, comment)) => (data, Some(comment.trim())),
            None => (text, None),
        };
        line.comment = comment;
        line.fill(data);
        line
    }

    fn fill(&mut self, data: &str) {
        let mut tokens = data.split_ascii_whitespace().peekable();
        // A row of no class begins with its features.
        if let Some(labels) = tokens.next_if(|token| !token.contains(':')) {
            for label in labels.split(',').filter(|label| !label.is_empty()) {
                match number(label) {
                    Some(label) => self.labels.push(label),
                    None => return self.wrong = Some("its label is no number"),
                }
            }
        }
        if let Some(query) = tokens.next_if(|token| token.starts_with("qid:")) {
            self.query = query.get(4..).and_then(|text| text.parse().ok());
            if self.query.is_none() {
                return self.wrong = Some("its qid is no integer");
            }
        }
        let mut before = None;
        for token in tokens {
            let Some((index, value)) = token.split_once(':') else {
                return self.wrong = Some("a feature is not of the form index:value");
            };
            let (Ok(index), Some(value)) = (index.parse::<u64>(), number(value)) else {
                return self.wrong = Some("a feature is not of the form index:value");
            };
            if before.is_some_and(|before| before >= index) {
                self.wrong = Some("the indices of its features do not rise");
            }
            before = Some(index);
            self.indices.push(index);
            self.values.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let line = Line::read(b"+1 qid:3 1:0.5 7:-1e-3 9:nan # doc 7\t");
        assert_eq!((line.labels, line.query, line.comment), (vec![1.0], Some(3), Some("doc 7")));
        assert_eq!(line.indices, [1, 7, 9]);
        assert!(line.values[..2] == [0.5, -1e-3] && line.values[2].is_nan() && line.wrong.is_none());
        assert_eq!(Line::read(b"1,3, 0:1").labels, [1.0, 3.0]);
        let none = Line::read(b" 2:1 3:4");
        assert_eq!((none.labels.len(), none.indices.len(), none.wrong), (0, 2, None));
        assert_eq!(Line::read(b"5").labels, [5.0]);
        for (line, features) in [
            ("x 1:1", 0),
            ("1 a:1", 0),
            ("1 1:1 2:x 3:3", 1),
            ("1 1", 0),
            ("1 3:1 2:5", 2),
            ("1 -1:1", 0),
            ("1 qid:a", 0),
            ("1 1:1:1", 0),
        ] {
            let read = Line::read(line.as_bytes());
            assert!(read.wrong.is_some() && read.indices.len() == features, "{line}: {read:?}");
        }
        assert!(is_none(b"  ") && is_none(b"# x") && is_none(b"") && !is_none(b" 1 # x"));
    }
}
