//! Values of small tensors, as far as they are known: shapes that nodes calculate with.

use crate::data::content::graph::Dimension;
use std::sync::Arc;

/// The most elements that are followed.
pub(in super::super) const MOST: u64 = 256;

/// Whole numbers, in one dimension or as a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Literal {
    pub(in super::super) items: Vec<Item>,
    pub(in super::super) is_scalar: bool,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum Item {
    Number(i64),
    /// An open length that has a name.
    Named(Arc<str>),
    Open,
}

impl Item {
    /// A length of a shape.
    pub(super) fn of(length: &Dimension) -> Item {
        match length {
            Dimension::Fixed(length) => i64::try_from(*length).map_or(Item::Open, Item::Number),
            Dimension::Named(name) => Item::Named(name.clone()),
            Dimension::Open => Item::Open,
        }
    }

    /// As a length of a shape; numbers below zero are none.
    pub(super) fn length(&self) -> Dimension {
        match self {
            Item::Number(number) => super::fixed(*number),
            Item::Named(name) => Dimension::Named(name.clone()),
            Item::Open => Dimension::Open,
        }
    }

    pub(super) fn number(&self) -> Option<i64> {
        if let Item::Number(number) = self { Some(*number) } else { None }
    }
}

impl Literal {
    pub(in super::super) fn numbers_of(numbers: Vec<i64>, is_scalar: bool) -> Literal {
        Literal { items: numbers.into_iter().map(Item::Number).collect(), is_scalar }
    }

    pub(super) fn list(items: Vec<Item>) -> Literal {
        Literal { items, is_scalar: false }
    }

    pub(super) fn scalar(item: Item) -> Literal {
        Literal { items: vec![item], is_scalar: true }
    }

    /// All of them, where all are known.
    pub(super) fn numbers(&self) -> Option<Vec<i64>> {
        self.items.iter().map(Item::number).collect()
    }

    /// The only one.
    pub(super) fn number(&self) -> Option<i64> {
        match self.items.as_slice() {
            [item] => item.number(),
            _ => None,
        }
    }
}
