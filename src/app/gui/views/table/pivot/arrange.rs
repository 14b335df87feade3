//! Which column stands in which well, and how it gets there.

use arrow::datatypes::{DataType, Schema};
use egui::{Context, DragAndDrop};
use gander::query::pivot::{Aggregate, By, Key, Measure, Pivot};

/// A place for columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Well {
    Rows,
    Across,
    Values,
}

impl Well {
    pub(super) const ALL: [Well; 3] = [Well::Rows, Well::Across, Well::Values];

    /// What stands before it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Well::Rows => "Rows",
            Well::Across => "Columns",
            Well::Values => "Values",
        }
    }
}

/// What is dragged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// A column of the table.
    Column(usize),
    /// What stands at a place of a well.
    Chip(Well, usize),
}

/// What is dragged in a window, and of which groups: others, in another split, are no place for it.
pub(super) struct Dragged {
    of: usize,
    carried: Carried,
}

impl Dragged {
    /// Begins a drag.
    pub(super) fn begin(ctx: &Context, pivot: &Pivot, carried: Carried) {
        DragAndDrop::set_payload(ctx, Dragged { of: place(pivot), carried });
    }

    /// What of these groups is dragged.
    pub(super) fn of(ctx: &Context, pivot: &Pivot) -> Option<Carried> {
        DragAndDrop::payload::<Dragged>(ctx).filter(|it| it.of == place(pivot)).map(|it| it.carried)
    }

    /// The same, which is dropped.
    pub(super) fn take(ctx: &Context, pivot: &Pivot) -> Option<Carried> {
        Dragged::of(ctx, pivot)?;
        DragAndDrop::take_payload::<Dragged>(ctx).map(|it| it.carried)
    }
}

fn place(pivot: &Pivot) -> usize {
    std::ptr::from_ref(pivot) as usize
}

/// What a column is, wherever it stands.
struct Held {
    /// Rows are counted without one.
    column: Option<String>,
    by: Option<By>,
    aggregate: Option<Aggregate>,
}

/// The type of a column by its name.
pub(super) fn type_of<'a>(schema: &'a Schema, column: &str) -> Option<&'a DataType> {
    schema.field_with_name(column).ok().map(|field| field.data_type())
}

fn held(pivot: &Pivot, schema: &Schema, carried: Carried) -> Option<Held> {
    let key = |key: &Key| Held { column: Some(key.column.clone()), by: Some(key.by), aggregate: None };
    match carried {
        Carried::Column(index) => {
            let field = schema.fields().get(index)?;
            Some(Held { column: Some(field.name().clone()), by: None, aggregate: None })
        }
        Carried::Chip(Well::Rows, at) => pivot.rows.get(at).map(key),
        Carried::Chip(Well::Across, _) => pivot.across.as_ref().map(key),
        Carried::Chip(Well::Values, at) => {
            let measure = pivot.values.get(at)?;
            Some(Held { column: measure.column.clone(), by: None, aggregate: Some(measure.aggregate) })
        }
    }
}

/// What it is called while it is dragged.
pub(super) fn name(pivot: &Pivot, schema: &Schema, carried: Carried) -> String {
    held(pivot, schema, carried).and_then(|held| held.column).unwrap_or_else(|| "rows".to_owned())
}

/// Whether it may stand there.
pub(super) fn fits(pivot: &Pivot, schema: &Schema, carried: Carried, well: Well) -> bool {
    let Some(held) = held(pivot, schema, carried) else { return false };
    let Some(column) = held.column else { return well == Well::Values };
    let Some(data_type) = type_of(schema, &column) else { return false };
    match well {
        Well::Rows | Well::Across => !By::of(data_type).is_empty(),
        Well::Values => true,
    }
}

/// Puts it into a well, before what stands at `at`; takes it away from where it was.
pub(super) fn put(pivot: &mut Pivot, schema: &Schema, carried: Carried, well: Well, at: usize) {
    if !fits(pivot, schema, carried, well) {
        return;
    }
    let Some(held) = held(pivot, schema, carried) else { return };
    let mut at = at;
    if let Carried::Chip(from, was) = carried {
        remove(pivot, from, was);
        if from == well && was < at {
            at -= 1;
        }
    }
    let Some(column) = held.column else {
        pivot.values.insert(at.min(pivot.values.len()), Measure::rows());
        return;
    };
    let Some(data_type) = type_of(schema, &column) else { return };
    match well {
        Well::Rows => {
            let taken = |by: By| pivot.rows.iter().any(|key| key.column == column && key.by == by);
            let usual = held.by.unwrap_or_else(|| usual_by(data_type));
            let by = std::iter::once(usual).chain(By::of(data_type)).find(|by| !taken(*by));
            let Some(by) = by else { return };
            pivot.rows.insert(at.min(pivot.rows.len()), Key { column, by });
        }
        Well::Across => {
            let by = held.by.unwrap_or_else(|| usual_by(data_type));
            // What stood there goes where the other came from.
            let old = pivot.across.replace(Key { column, by });
            if let (Some(old), Carried::Chip(Well::Rows, was)) = (old, carried) {
                pivot.rows.insert(was.min(pivot.rows.len()), old);
            }
        }
        Well::Values => {
            let possible = Aggregate::of(data_type);
            let usual = held.aggregate.unwrap_or_else(|| usual_aggregate(data_type));
            let taken = |aggregate: Aggregate| {
                pivot.values.iter().any(|m| m.aggregate == aggregate && m.column.as_ref() == Some(&column))
            };
            let aggregate = std::iter::once(usual).chain(possible).find(|aggregate| !taken(*aggregate));
            let Some(aggregate) = aggregate else { return };
            let at = at.min(pivot.values.len());
            pivot.values.insert(at, Measure { aggregate, column: Some(column) });
        }
    }
}

/// Takes away what stands there.
pub(super) fn remove(pivot: &mut Pivot, well: Well, at: usize) {
    match well {
        Well::Rows if at < pivot.rows.len() => drop(pivot.rows.remove(at)),
        Well::Values if at < pivot.values.len() => drop(pivot.values.remove(at)),
        Well::Across => pivot.across = None,
        _ => {}
    }
}

/// How a column is grouped at first: dates by month, fractions in bins.
fn usual_by(data_type: &DataType) -> By {
    let possible = By::of(data_type);
    let fraction = data_type.is_floating() || matches!(data_type, DataType::Decimal128(_, 1..));
    if possible.contains(&By::Month) {
        By::Month
    } else if fraction {
        By::Bins(None)
    } else {
        By::Value
    }
}

/// What is computed of a column at first.
fn usual_aggregate(data_type: &DataType) -> Aggregate {
    match data_type {
        DataType::Boolean => Aggregate::Mean,
        kind if Aggregate::of(kind).contains(&Aggregate::Sum) => Aggregate::Sum,
        _ => Aggregate::Count,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{Field, TimeUnit};

    use super::*;

    fn schema() -> Schema {
        let list = DataType::List(std::sync::Arc::new(Field::new("item", DataType::Int8, true)));
        Schema::new(vec![
            Field::new("pay", DataType::Utf8, true),
            Field::new("at", DataType::Timestamp(TimeUnit::Second, None), true),
            Field::new("fare", DataType::Float64, true),
            Field::new("tags", list, true),
        ])
    }

    fn words(pivot: &Pivot) -> String {
        let key = |key: &Key| format!("{} by {}", key.column, key.by.words());
        let rows: Vec<String> = pivot.rows.iter().map(key).collect();
        let across = pivot.across.as_ref().map_or(String::new(), key);
        let values: Vec<String> = pivot.values.iter().map(Measure::words).collect();
        format!("{} / {across} / {}", rows.join(", "), values.join(", "))
    }

    #[test]
    fn columns_come_in_as_what_they_are() {
        let (mut pivot, schema) = (Pivot::default(), schema());
        for (column, well) in [(0, Well::Rows), (1, Well::Rows), (2, Well::Across), (2, Well::Values)] {
            put(&mut pivot, &schema, Carried::Column(column), well, 9);
        }
        assert_eq!(words(&pivot), "pay by each value, at by month / fare by bins / sum(fare)");
        // The same once more is something else of it.
        put(&mut pivot, &schema, Carried::Column(1), Well::Rows, 1);
        put(&mut pivot, &schema, Carried::Column(2), Well::Values, 0);
        assert_eq!(
            words(&pivot),
            "pay by each value, at by each value, at by month / fare by bins / count(fare), sum(fare)"
        );
        assert!(!fits(&pivot, &schema, Carried::Column(3), Well::Rows));
        put(&mut pivot, &schema, Carried::Column(3), Well::Rows, 0);
        assert_eq!(pivot.rows.len(), 3);
        put(&mut pivot, &schema, Carried::Column(3), Well::Values, 0);
        assert_eq!(pivot.values[0].words(), "count(tags)");
    }

    #[test]
    fn chips_move_within_and_between_wells() {
        let (mut pivot, schema) = (Pivot::default(), schema());
        for column in [0, 1, 2] {
            put(&mut pivot, &schema, Carried::Column(column), Well::Rows, 9);
        }
        let columns = |pivot: &Pivot| pivot.rows.iter().map(|key| key.column.clone()).collect::<Vec<_>>();
        put(&mut pivot, &schema, Carried::Chip(Well::Rows, 0), Well::Rows, 2);
        assert_eq!(columns(&pivot), ["at", "pay", "fare"]);
        put(&mut pivot, &schema, Carried::Chip(Well::Rows, 2), Well::Rows, 0);
        assert_eq!(columns(&pivot), ["fare", "at", "pay"]);
        put(&mut pivot, &schema, Carried::Chip(Well::Rows, 1), Well::Across, 0);
        assert_eq!(words(&pivot), "fare by bins, pay by each value / at by month / ");
        // A second one changes places with it.
        put(&mut pivot, &schema, Carried::Chip(Well::Rows, 1), Well::Across, 0);
        assert_eq!(words(&pivot), "fare by bins, at by month / pay by each value / ");
        put(&mut pivot, &schema, Carried::Chip(Well::Across, 0), Well::Values, 0);
        assert_eq!(words(&pivot), "fare by bins, at by month /  / count(pay)");
        remove(&mut pivot, Well::Rows, 0);
        remove(&mut pivot, Well::Rows, 7);
        assert_eq!(words(&pivot), "at by month /  / count(pay)");
        pivot.values.push(Measure::rows());
        assert!(!fits(&pivot, &schema, Carried::Chip(Well::Values, 1), Well::Rows));
    }
}
