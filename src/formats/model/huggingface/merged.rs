//! The weights of a base model as an adapter makes them: W + scaling · B · A, computed as they are read.
//!
//! A read takes from the base the region that is asked for, and of the two matrices the rows and columns that belong to
//! it. The sum is made in 64 bits and rounded once, to the type of the base; PEFT's own merging rounds the product to
//! that type first, and may differ from it in the last place. With DoRA each row of the sum gets the length that the adapter
//! has for it; that length needs whole rows, and is kept.

use super::lora::Module;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::array;
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use parking_lot::Mutex;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Elements that are computed at a time.
const STEP: u64 = 1 << 20;
/// The highest rank that is believed.
const RANK: u64 = 1 << 16;
/// Lengths of rows that are kept.
const KEPT: usize = 1 << 20;

/// How the sides of a weight belong to those of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Outputs first, as linear layers and convolutions have it.
    Outputs,
    /// Inputs first, as GPT-2's layers and embeddings have it.
    Inputs,
}

impl Form {
    /// The form of a weight of this shape. A square one has the form that the adapter says.
    pub(super) fn of(module: &Module, shape: &[u64], fan_in_fan_out: bool) -> Form {
        let outputs = module.b.shape().first();
        let fits = |form| expected(module, form).as_deref() == Some(shape);
        match (fits(Form::Outputs), fits(Form::Inputs)) {
            _ if module.is_embedding || outputs.is_none() => Form::Inputs,
            (true, true) if fan_in_fan_out => Form::Inputs,
            (false, true) => Form::Inputs,
            _ => Form::Outputs,
        }
    }
}

/// The shape of the product in a form.
fn expected(module: &Module, form: Form) -> Option<Vec<u64>> {
    let (inputs, outputs) = (module.a.shape().get(1..)?, *module.b.shape().first()?);
    match form {
        Form::Outputs => Some([&[outputs], inputs].concat()),
        Form::Inputs if inputs.len() == 1 => Some([inputs, &[outputs]].concat()),
        Form::Inputs => None,
    }
}

/// A merged weight.
pub(super) struct Merged {
    base: Arc<dyn Array>,
    a: Arc<dyn Array>,
    b: Arc<dyn Array>,
    magnitude: Option<Arc<dyn Array>>,
    form: Form,
    scaling: f64,
    rank: u64,
    /// What each row of the sum is multiplied with, as far as it is known, by its output; of DoRA.
    factors: Mutex<HashMap<u64, f64>>,
}

impl Merged {
    /// The weight `base` as a module's matrices change it.
    ///
    /// # Errors
    /// `Unsupported` where shapes or types do not fit.
    pub(super) fn new(base: Arc<dyn Array>, module: &Module, form: Form) -> Result<Merged> {
        let (a, b) = (module.a.shape(), module.b.shape());
        let wrong = |what: String| Err(Error::unsupported(what));
        let shape = crate::bytes::display::shape;
        let rank = module.rank().unwrap_or(0);
        let fits = b.len() == a.len() && b.get(1) == Some(&rank) && b.iter().skip(2).all(|side| *side == 1);
        if !fits || rank == 0 || rank > RANK {
            return wrong(format!("matrices of the shapes {} and {} have no product", shape(a), shape(b)));
        }
        if expected(module, form).as_deref() != Some(base.shape()) {
            return wrong(format!(
                "the base has the shape {}, the adapter {} and {}",
                shape(base.shape()),
                shape(a),
                shape(b)
            ));
        }
        if !base.dtype().is_float() || !module.a.dtype().is_real() || !module.b.dtype().is_real() {
            return wrong(format!("weights of the type {} are not merged", base.dtype()));
        }
        if let Some(magnitude) = &module.magnitude {
            if module.is_embedding {
                return wrong("an embedding with DoRA is not merged".to_owned());
            }
            let count = limits::elements(magnitude.shape())?;
            if b.first() != Some(&count) || !magnitude.dtype().is_real() {
                return wrong(format!("a magnitude of the shape {}", shape(magnitude.shape())));
            }
        }
        Ok(Merged {
            base,
            a: module.a.clone(),
            b: module.b.clone(),
            magnitude: module.magnitude.clone(),
            form,
            scaling: module.scaling,
            rank,
            factors: Mutex::new(HashMap::new()),
        })
    }

    /// The dimension of the base that the outputs lie along.
    fn outputs(&self) -> usize {
        match self.form {
            Form::Outputs => 0,
            Form::Inputs => 1,
        }
    }

    /// W + scaling · B · A of a region, in C order.
    fn sum(&self, task: &Task, region: &Region) -> Result<Vec<f64>> {
        let mut sum = numbers(self.base.as_ref(), task, region)?;
        let all = Span::all(self.rank);
        let (outputs, inputs): (Span, Vec<Span>) = match (self.form, region.0.as_slice()) {
            (Form::Outputs, [outputs, inputs @ ..]) => (*outputs, inputs.to_vec()),
            (Form::Inputs, [inputs, outputs]) => (*outputs, vec![*inputs]),
            _ => return Err(Error::bug(format!("region {:?} of a merged weight", region.0))),
        };
        let ones = self.b.shape().len().saturating_sub(2);
        let b = Region([vec![outputs, all], vec![Span::all(1); ones]].concat());
        let b = numbers(self.b.as_ref(), task, &b)?;
        let a = numbers(self.a.as_ref(), task, &Region([vec![all], inputs].concat()))?;
        let rank = self.rank as usize;
        let width = a.len().checked_div(rank).unwrap_or(0).max(1);
        // Row after row of outputs: so is the sum, or its transpose.
        let row = |b: &[f64]| {
            let mut row = vec![0.0; width];
            for (factor, a) in b.iter().zip(a.chunks_exact(width)) {
                row.iter_mut().zip(a).for_each(|(sum, a)| *sum += factor * a);
            }
            row
        };
        match self.form {
            Form::Outputs => {
                sum.par_chunks_mut(width).zip(b.par_chunks(rank)).for_each(|(sum, b)| {
                    sum.iter_mut().zip(row(b)).for_each(|(sum, product)| *sum += self.scaling * product);
                });
            }
            Form::Inputs => {
                let count = b.len().checked_div(rank).unwrap_or(0).max(1);
                let rows: Vec<Vec<f64>> = b.par_chunks(rank).map(row).collect();
                for (output, row) in rows.iter().enumerate() {
                    let column = sum.iter_mut().skip(output).step_by(count);
                    column.zip(row).for_each(|(sum, product)| *sum += self.scaling * product);
                }
            }
        }
        task.check()?;
        Ok(sum)
    }

    /// Multiplies each row of a sum with what gives it the length that the adapter has for it.
    fn directed(&self, task: &Task, magnitude: &dyn Array, region: &Region, sum: &mut [f64]) -> Result<()> {
        let axis = self.outputs();
        let span = region.0.get(axis).copied().unwrap_or(Span::all(0));
        let mut factors = Vec::with_capacity(span.count as usize);
        for n in 0..span.count {
            factors.push(self.factor(task, magnitude, span.index(n))?);
        }
        let inner: u64 = region.0.iter().skip(axis + 1).map(|span| span.count).product();
        let (inner, count) = (inner.max(1) as usize, factors.len().max(1));
        for (n, value) in sum.iter_mut().enumerate() {
            *value *= factors.get(n / inner % count).copied().unwrap_or(1.0);
        }
        Ok(())
    }

    /// Magnitude / length of one row of the sum.
    fn factor(&self, task: &Task, magnitude: &dyn Array, output: u64) -> Result<f64> {
        if let Some(factor) = self.factors.lock().get(&output) {
            return Ok(*factor);
        }
        // Neighbours are asked for next, as a rule.
        let axis = self.outputs();
        let outputs = self.base.shape().get(axis).copied().unwrap_or(0);
        let length: u64 = limits::elements(self.base.shape())?.checked_div(outputs).unwrap_or(1).max(1);
        let count = (STEP / length).clamp(1, 1024).min(outputs.saturating_sub(output));
        let mut region = Region::all(self.base.shape());
        if let Some(span) = region.0.get_mut(axis) {
            *span = Span::range(output, count);
        }
        let sum = self.sum(task, &region)?;
        let squares = |n: usize| -> f64 {
            let square = |value: &f64| value * value;
            match self.form {
                Form::Outputs => {
                    sum.chunks_exact(length as usize).nth(n).into_iter().flatten().map(square).sum()
                }
                Form::Inputs => sum.iter().skip(n).step_by(count as usize).map(square).sum(),
            }
        };
        // A vector, or with sides of 1 around it.
        let mut place = Region::all(magnitude.shape());
        if let Some(span) = place.0.iter_mut().max_by_key(|span| span.count) {
            *span = Span::range(output, count);
        }
        let magnitudes = numbers(magnitude, task, &place)?;
        let mut factors = self.factors.lock();
        if factors.len() > KEPT {
            factors.clear();
        }
        for (n, magnitude) in magnitudes.into_iter().enumerate() {
            factors.insert(output + n as u64, magnitude / squares(n).sqrt());
        }
        factors.get(&output).copied().ok_or_else(|| Error::bug("a row without a length"))
    }
}

/// The elements of a region as numbers.
fn numbers(array: &dyn Array, task: &Task, region: &Region) -> Result<Vec<f64>> {
    let bytes = array::read(array, task, region)?;
    let mut values =
        Vec::with_capacity(bytes.len().checked_div(array.dtype().size().max(1) as usize).unwrap_or(0));
    array.dtype().decode(&bytes, &mut values);
    Ok(values)
}

impl Array for Merged {
    fn dtype(&self) -> &DType {
        self.base.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.base.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(self.shape())?;
        let Some((first, rest)) = region.0.split_first() else { return Ok(()) };
        let row: u64 = rest.iter().map(|span| span.count).product();
        let rows = (STEP / row.max(1)).max(1);
        let size = self.dtype().size().saturating_mul(row) as usize;
        let mut done = 0;
        while done < first.count && size > 0 {
            task.check()?;
            let count = rows.min(first.count - done);
            let part = Region([&[first.part(&Span::range(done, count))], rest].concat());
            let mut sum = self.sum(task, &part)?;
            if let Some(magnitude) = &self.magnitude {
                self.directed(task, magnitude.as_ref(), &part, &mut sum)?;
            }
            let to = out.get_mut(done as usize * size..(done + count) as usize * size);
            let to = to.ok_or_else(|| Error::bug("room for fewer elements than the region has"))?;
            if !self.dtype().encode(&sum, to) {
                return Err(Error::unsupported(format!("numbers as {}", self.dtype())));
            }
            done += count;
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        let shape = |array: &Arc<dyn Array>| crate::bytes::display::shape(array.shape());
        let mut details = vec![
            ("computed".to_owned(), "base + scaling · B · A".to_owned()),
            ("rank".to_owned(), self.rank.to_string()),
            ("scaling".to_owned(), crate::data::cell::float64(self.scaling)),
            ("A".to_owned(), shape(&self.a)),
            ("B".to_owned(), shape(&self.b)),
        ];
        if self.magnitude.is_some() {
            details.push(("DoRA".to_owned(), "each row scaled to the adapter's magnitude".to_owned()));
        }
        ArrayFacts { details, ..ArrayFacts::default() }
    }
}
