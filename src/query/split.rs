//! Where the statements of a text begin and end.

use std::ops::Range;

/// The places of the statements of a text, without the semicolons between them and without blanks around
/// them. What holds nothing but comments is none.
pub fn statements(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut start, mut at, mut any) = (0, 0, false);
    while let Some(first) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        let (len, counts) = match skipped(rest) {
            Some((len, counts)) => (len, counts),
            None if first == ';' => {
                close(text, start..at, any, &mut out);
                (start, any) = (at + 1, false);
                (1, false)
            }
            None => (first.len_utf8(), !first.is_whitespace()),
        };
        any |= counts;
        at += len.max(1);
    }
    close(text, start..text.len(), any, &mut out);
    out
}

/// The statement at a place: the one that it lies in, or the one that ended before it.
pub fn statement_at(text: &str, at: usize) -> Option<Range<usize>> {
    let all = statements(text);
    // Right behind its semicolon a place still belongs to a statement.
    let within = |range: &&Range<usize>| {
        let rest = text.get(range.end..at).unwrap_or_default();
        range.start <= at && (at <= range.end || rest.trim_matches([';', ' ', '\t']).is_empty())
    };
    all.iter().find(within).or_else(|| all.iter().rfind(|r| r.end <= at)).or(all.first()).cloned()
}

fn close(text: &str, range: Range<usize>, any: bool, out: &mut Vec<Range<usize>>) {
    let part = text.get(range.clone()).unwrap_or_default();
    if any {
        let blank = part.len() - part.trim_start().len();
        out.push(range.start + blank..range.start + part.trim_end().len());
    }
}

/// How long the comment or the quoted text is that `rest` begins with, and whether it is more than a comment.
pub(super) fn skipped(rest: &str) -> Option<(usize, bool)> {
    let until = |from: usize, end: &str| {
        let found = rest.get(from..).and_then(|inner| inner.find(end));
        found.map_or(rest.len(), |at| from + at + end.len())
    };
    if rest.starts_with("--") {
        return Some((rest.find('\n').unwrap_or(rest.len()), false));
    }
    if rest.starts_with("/*") {
        return Some((comment(rest), false));
    }
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"' | '`'))?;
    // Two quotes within a text are one of its characters: two texts without anything between them.
    Some((until(1, quote.encode_utf8(&mut [0; 4])), true))
}

/// How long a comment is that may hold others.
fn comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        let here = rest.get(at..).unwrap_or_default();
        let (len, by) = match here {
            here if here.starts_with("/*") => (2, 1),
            here if here.starts_with("*/") => (2, -1),
            here => (here.chars().next().map_or(1, char::len_utf8), 0),
        };
        at += len;
        depth = depth.saturating_add_signed(by);
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(sql: &str) -> Vec<&str> {
        statements(sql).into_iter().map(|range| &sql[range]).collect()
    }

    #[test]
    fn semicolons_part_statements_but_not_within_quotes_and_comments() {
        assert_eq!(texts("SELECT 1; SELECT 2"), ["SELECT 1", "SELECT 2"]);
        assert_eq!(texts("SELECT ';' , \"a;b\";\n\n;-- end;\n"), ["SELECT ';' , \"a;b\""]);
        assert_eq!(
            texts("SELECT 'it''s; me'; -- one; two\nSELECT 2"),
            ["SELECT 'it''s; me'", "-- one; two\nSELECT 2"]
        );
        assert_eq!(texts("/* a /* b; */ c; */ SELECT 1"), ["/* a /* b; */ c; */ SELECT 1"]);
        assert_eq!(texts("SELECT 'open; SELECT 2"), ["SELECT 'open; SELECT 2"]);
        assert!(texts(" ; -- nothing\n /* at all */").is_empty());
    }

    #[test]
    fn the_statement_at_the_cursor() {
        let sql = "SELECT 1;\n\nSELECT 22;\n";
        let at = |place: usize| statement_at(sql, place).map(|range| &sql[range]);
        assert_eq!(at(0), Some("SELECT 1"));
        assert_eq!(at(9), Some("SELECT 1"));
        assert_eq!(at(11), Some("SELECT 22"));
        assert_eq!(at(sql.len()), Some("SELECT 22"));
        assert_eq!(statement_at("  ", 1), None);
    }

    proptest! {
        #[test]
        fn statements_are_whole_and_in_order(sql in "[a;'\"`/*\\- \n\u{fc}]{0,60}") {
            let mut end = 0;
            for range in statements(&sql) {
                prop_assert!(range.start >= end && range.start < range.end);
                prop_assert_eq!(sql[range.clone()].trim(), &sql[range.clone()]);
                end = range.end;
            }
        }
    }
}
