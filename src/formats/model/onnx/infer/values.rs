//! Shapes that a graph calculates: the values of small tensors of whole numbers, followed from node to node. Open lengths
//! go along by their names.

use super::layout::cut;
use super::literal::{Item, Literal, MOST};
use super::{Step, place};
use crate::data::content::graph::Attribute;

impl Step<'_> {
    /// The values of the outputs, as far as they are known.
    pub(super) fn literals(&self) -> Vec<Option<Literal>> {
        match &*self.node.operator {
            "Split" => self.parts().unwrap_or_default().into_iter().map(Some).collect(),
            _ => match self.value() {
                Some(literal) if literal.items.len() as u64 <= MOST => vec![Some(literal)],
                _ => Vec::new(),
            },
        }
    }

    fn value(&self) -> Option<Literal> {
        match &*self.node.operator {
            "Shape" => Some(Literal::list(self.part_of_shape()?.iter().map(Item::of).collect())),
            "Size" => self.size(),
            "Constant" => match self.node.attributes.first()? {
                (name, Attribute::Int(value)) if &**name == "value_int" => {
                    Some(Literal::scalar(Item::Number(*value)))
                }
                (name, Attribute::Ints(values)) if &**name == "value_ints" => {
                    Some(Literal::numbers_of(values.clone(), false))
                }
                _ => None,
            },
            "Identity" => self.literal(0),
            // To int32, int64 or bool.
            "Cast" if matches!(self.int("to"), Some(6 | 7)) => self.literal(0),
            "Add" | "Sub" | "Mul" | "Div" | "Mod" | "Min" | "Max" | "Equal" | "Less" | "Greater"
            | "GreaterOrEqual" | "LessOrEqual" | "And" | "Or" => self.pairwise(),
            "Neg" | "Abs" | "Not" | "Sign" => self.each(),
            "Where" => self.chosen(),
            "Gather" => self.gathered(),
            "Concat" => self.joined(),
            "Slice" => self.sliced(),
            "Unsqueeze" => {
                let literal = self.literal(0)?;
                let one = self.numbers("axes", 1).ok()??.len() == 1;
                (literal.is_scalar && one).then(|| Literal::list(literal.items))
            }
            "Squeeze" => {
                let literal = self.literal(0)?;
                (!literal.is_scalar && literal.items.len() == 1)
                    .then_some(Literal { is_scalar: true, ..literal })
            }
            "Reshape" => {
                let literal = self.literal(0)?;
                match self.numbers("shape", 1).ok()??.as_slice() {
                    [] => Some(Literal { is_scalar: true, ..literal }),
                    [_] => Some(Literal::list(literal.items)),
                    _ => None,
                }
            }
            "ReduceProd" | "ReduceSum" | "ReduceMax" | "ReduceMin" => self.reduced_value(),
            "Range" => self.counted(),
            "ConstantOfShape" | "Expand" | "Tile" => self.repeated_value(),
            _ => None,
        }
    }

    fn size(&self) -> Option<Literal> {
        let items: Option<Vec<i64>> = self.shape(0)?.iter().map(|length| Item::of(length).number()).collect();
        let size = items?.into_iter().try_fold(1i64, i64::checked_mul)?;
        Some(Literal::scalar(Item::Number(size)))
    }

    /// Two operands element by element; one of a single element goes with every other.
    fn pairwise(&self) -> Option<Literal> {
        let [Some(a), Some(b)] = [self.literal(0), self.literal(1)] else { return None };
        if self.node.inputs.len() != 2 || self.attribute("broadcast").is_some() {
            return None;
        }
        let count = match (a.items.len(), b.items.len()) {
            (one, other) if one == other => one,
            (1, other) | (other, 1) => other,
            _ => return None,
        };
        let at = |literal: &Literal, n: usize| {
            let n = if literal.items.len() == 1 { 0 } else { n };
            literal.items.get(n).cloned().unwrap_or(Item::Open)
        };
        let operator = &*self.node.operator;
        let items = (0..count).map(|n| calculated(operator, &at(&a, n), &at(&b, n))).collect();
        Some(Literal { items, is_scalar: a.is_scalar && b.is_scalar })
    }

    fn each(&self) -> Option<Literal> {
        let literal = self.literal(0)?;
        let operator = &*self.node.operator;
        let one = |item: &Item| {
            let Item::Number(number) = item else { return Item::Open };
            let changed = match operator {
                "Neg" => number.checked_neg(),
                "Abs" => number.checked_abs(),
                "Sign" => Some(number.signum()),
                _ => Some(i64::from(*number == 0)),
            };
            changed.map_or(Item::Open, Item::Number)
        };
        Some(Literal { items: literal.items.iter().map(one).collect(), is_scalar: literal.is_scalar })
    }

    fn chosen(&self) -> Option<Literal> {
        let (which, yes, no) = (self.literal(0)?, self.literal(1)?, self.literal(2)?);
        let count = which.items.len().max(yes.items.len()).max(no.items.len());
        let at = |literal: &Literal, n: usize| {
            literal.items.get(if literal.items.len() == 1 { 0 } else { n }).cloned()
        };
        let mut items = Vec::with_capacity(count);
        for n in 0..count {
            items.push(match at(&which, n)? {
                Item::Number(0) => at(&no, n)?,
                Item::Number(_) => at(&yes, n)?,
                _ => Item::Open,
            });
        }
        Some(Literal { items, is_scalar: which.is_scalar && yes.is_scalar && no.is_scalar })
    }

    fn gathered(&self) -> Option<Literal> {
        let (literal, indices) = (self.literal(0)?, self.literal(1)?);
        if literal.is_scalar || self.shape(1)?.len() > 1 {
            return None;
        }
        let mut items = Vec::with_capacity(indices.items.len());
        for index in indices.numbers()? {
            items.push(literal.items.get(place(index, literal.items.len())?)?.clone());
        }
        Some(Literal { items, is_scalar: indices.is_scalar })
    }

    /// Parts that are not known are as many open items as they have elements.
    fn joined(&self) -> Option<Literal> {
        let mut items = Vec::new();
        for input in 0..self.node.inputs.len() {
            match self.literal(input) {
                Some(literal) if !literal.is_scalar => items.extend(literal.items),
                Some(_) => return None,
                None => match self.shape(input)?.as_slice() {
                    [crate::data::content::graph::Dimension::Fixed(count)] if *count <= MOST => {
                        items.extend((0..*count).map(|_| Item::Open));
                    }
                    _ => return None,
                },
            }
            if items.len() as u64 > MOST {
                return None;
            }
        }
        Some(Literal::list(items))
    }

    fn sliced(&self) -> Option<Literal> {
        let literal = self.literal(0).filter(|literal| !literal.is_scalar)?;
        let bound = |attribute: &str, input: usize| match self.numbers(attribute, input).ok()?.as_deref() {
            Some([bound]) => Some(*bound),
            _ => None,
        };
        let (start, end) = (bound("starts", 1)?, bound("ends", 2)?);
        let step = match self.numbers("", 4).ok()? {
            Some(steps) => *steps.first()?,
            None => 1,
        };
        let length = literal.items.len() as i64;
        let count = cut(length, start, end, step)?;
        let start = if start < 0 { start.saturating_add(length) } else { start };
        // Backwards the first index is at most the last one.
        let start = if step < 0 { start.min(length - 1) } else { start.clamp(0, length) };
        let item = |n: i64| {
            let at = usize::try_from(start.checked_add(n.checked_mul(step)?)?).ok()?;
            literal.items.get(at).cloned()
        };
        Some(Literal::list((0..count).map(item).collect::<Option<_>>()?))
    }

    fn parts(&self) -> Option<Vec<Literal>> {
        let literal = self.literal(0).filter(|literal| !literal.is_scalar)?;
        let lengths = match self.numbers("split", 1).ok()? {
            Some(lengths) => lengths,
            None => {
                let part = literal.items.len().div_ceil(self.node.outputs.len().max(1));
                vec![part as i64; self.node.outputs.len()]
            }
        };
        let mut rest = literal.items.as_slice();
        let mut parts = Vec::new();
        for length in lengths.into_iter().take(self.node.outputs.len()) {
            let (part, behind) = rest.split_at_checked(usize::try_from(length).ok()?.min(rest.len()))?;
            parts.push(Literal::list(part.to_vec()));
            rest = behind;
        }
        Some(parts)
    }

    fn reduced_value(&self) -> Option<Literal> {
        let numbers = self.literal(0)?.numbers()?;
        let all = match &*self.node.operator {
            "ReduceProd" => numbers.into_iter().try_fold(1i64, i64::checked_mul)?,
            "ReduceSum" => numbers.into_iter().try_fold(0i64, i64::checked_add)?,
            "ReduceMax" => numbers.into_iter().max()?,
            _ => numbers.into_iter().min()?,
        };
        if self.int("noop_with_empty_axes") == Some(1) && self.numbers("axes", 1).ok()?.is_none() {
            return self.literal(0);
        }
        let keeps = self.int("keepdims").unwrap_or(1) != 0;
        let is_scalar = !keeps || self.literal(0)?.is_scalar;
        Some(Literal { items: vec![Item::Number(all)], is_scalar })
    }

    fn counted(&self) -> Option<Literal> {
        let one = |input: usize| self.literal(input)?.number();
        let (start, end, step) = (one(0)?, one(1)?, one(2)?);
        let mut items = Vec::new();
        let mut at = start;
        while (step > 0 && at < end) || (step < 0 && at > end) {
            if items.len() as u64 >= MOST {
                return None;
            }
            items.push(Item::Number(at));
            at = at.checked_add(step)?;
        }
        Some(Literal::list(items))
    }

    /// One value, several times.
    fn repeated_value(&self) -> Option<Literal> {
        let (value, count) = match &*self.node.operator {
            "ConstantOfShape" => {
                let tensor = self.filling()?;
                (tensor.literal(self.task, self.files)?.items.first()?.clone(), self.literal(0)?)
            }
            _ => {
                let literal = self.literal(0)?;
                match literal.items.as_slice() {
                    [item] => (item.clone(), self.literal(1)?),
                    _ => return None,
                }
            }
        };
        match count.numbers()?.as_slice() {
            [] => Some(Literal::scalar(value)),
            [count] => {
                let count = u64::try_from(*count).ok().filter(|count| *count <= MOST)?;
                Some(Literal::list(vec![value; count as usize]))
            }
            _ => None,
        }
    }
}

/// Two items. A length with a name stays itself where nothing is done to it.
fn calculated(operator: &str, a: &Item, b: &Item) -> Item {
    let (Item::Number(x), Item::Number(y)) = (a, b) else {
        return match (operator, a, b) {
            ("Add", item, Item::Number(0)) | ("Add", Item::Number(0), item) => item.clone(),
            ("Mul", item, Item::Number(1)) | ("Mul", Item::Number(1), item) => item.clone(),
            ("Sub", item, Item::Number(0)) | ("Div", item, Item::Number(1)) => item.clone(),
            // No length is below zero.
            ("Equal", Item::Named(_), Item::Number(..0)) | ("Equal", Item::Number(..0), Item::Named(_)) => {
                Item::Number(0)
            }
            _ => Item::Open,
        };
    };
    let (x, y) = (*x, *y);
    let result = match operator {
        "Add" => x.checked_add(y),
        "Sub" => x.checked_sub(y),
        "Mul" => x.checked_mul(y),
        // Towards zero, as integers are divided.
        "Div" => x.checked_div(y),
        // Of numbers below zero it depends on an attribute.
        "Mod" => x.checked_rem(y).filter(|_| x >= 0 && y > 0),
        "Min" => Some(x.min(y)),
        "Max" => Some(x.max(y)),
        "Equal" => Some(i64::from(x == y)),
        "Less" => Some(i64::from(x < y)),
        "Greater" => Some(i64::from(x > y)),
        "GreaterOrEqual" => Some(i64::from(x >= y)),
        "LessOrEqual" => Some(i64::from(x <= y)),
        "And" => Some(i64::from(x != 0 && y != 0)),
        "Or" => Some(i64::from(x != 0 || y != 0)),
        _ => None,
    };
    result.map_or(Item::Open, Item::Number)
}
