//! Clicks in the pictures of a column's values: one value or range at a time, with Ctrl or Shift several.

use gander::query::{Condition, Test};

use super::RowFilter;

impl RowFilter {
    /// A value or a range that was clicked, in place of the one of the same column; with `more` besides it.
    pub(in super::super) fn pick(&mut self, condition: Condition, more: bool) {
        let (column, fields) = (condition.column.clone(), condition.fields.clone());
        let same =
            |other: &Condition| other.column == column && other.fields == fields && is_picked(&other.test);
        let conditions = &mut self.query.filter.conditions;
        let Some(at) = conditions.iter().position(same) else { return self.add(condition) };
        let joined = if more { joined(&conditions[at].test, &condition.test) } else { None };
        conditions[at] = Condition { test: joined.unwrap_or(condition.test), ..conditions[at].clone() };
        let mut seen = 0;
        conditions.retain(|other| {
            seen += usize::from(same(other));
            !same(other) || seen == 1
        });
    }
}

/// Whether a click can have asked this.
fn is_picked(test: &Test) -> bool {
    matches!(test, Test::Equals(_) | Test::In(_) | Test::Between { .. } | Test::Null)
}

/// What lets through whatever one of two tests does: a list of values, or a range with what is between.
fn joined(one: &Test, other: &Test) -> Option<Test> {
    if let (Some(mut list), Some(more)) = (values(one), values(other)) {
        more.into_iter().for_each(|value| {
            if !list.contains(&value) {
                list.push(value);
            }
        });
        return Some(Test::In(list));
    }
    let (
        Test::Between { low: low1, high: high1, closed: closed1 },
        Test::Between { low: low2, high: high2, closed: closed2 },
    ) = (one, other)
    else {
        return None;
    };
    let low = low1.as_ref().zip(low2.as_ref()).map(|(a, b)| if is_less(b, a) { b } else { a }.clone());
    let (high, closed) = match (high1, high2) {
        (Some(a), Some(b)) if is_less(a, b) => (Some(b.clone()), *closed2),
        (Some(a), Some(b)) if is_less(b, a) => (Some(a.clone()), *closed1),
        (Some(a), Some(_)) => (Some(a.clone()), *closed1 || *closed2),
        _ => (None, true),
    };
    Some(Test::Between { low, high, closed })
}

fn values(test: &Test) -> Option<Vec<Option<String>>> {
    match test {
        Test::Equals(value) => Some(vec![Some(value.clone())]),
        Test::Null => Some(vec![None]),
        Test::In(list) => Some(list.clone()),
        _ => None,
    }
}

/// Whether a value is less than another, as numbers where they are; dates are written so that they compare.
fn is_less(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a < b,
        _ => a < b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: &str, high: &str, closed: bool) -> Test {
        Test::Between { low: Some(low.into()), high: Some(high.into()), closed }
    }

    #[test]
    fn another_value_replaces_the_first_or_goes_beside_it() {
        let mut row_filter = RowFilter::default();
        row_filter.add(Condition::new("b", Test::Equals("x".into())));
        let tests = |row_filter: &RowFilter| -> Vec<Test> {
            row_filter
                .filter()
                .conditions
                .iter()
                .filter(|c| c.column == "a")
                .map(|c| c.test.clone())
                .collect()
        };
        let equals = |value: &str| Test::Equals(value.into());
        row_filter.pick(Condition::new("a", equals("1")), false);
        row_filter.pick(Condition::new("a", equals("2")), false);
        assert_eq!(tests(&row_filter), [equals("2")]);
        row_filter.pick(Condition::new("a", equals("3")), true);
        row_filter.pick(Condition::new("a", equals("2")), true);
        assert_eq!(tests(&row_filter), [Test::In(vec![Some("2".into()), Some("3".into())])]);
        row_filter.pick(Condition::new("a", range("10", "20", false)), false);
        row_filter.pick(Condition::new("a", range("9", "10", false)), true);
        assert_eq!(tests(&row_filter), [range("9", "20", false)]);
        row_filter.pick(Condition::new("a", range("20", "30", true)), true);
        assert_eq!(tests(&row_filter), [range("9", "30", true)]);
        // What was asked otherwise stays.
        row_filter.add(Condition::new("a", Test::NotNull));
        row_filter.pick(Condition::new("a", equals("5")), false);
        assert_eq!(tests(&row_filter), [equals("5"), Test::NotNull]);
        assert_eq!(row_filter.filter().conditions[0].column, "b");
    }
}
