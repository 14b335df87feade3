//! One element, read by a job when nothing has it in memory.

use std::sync::Arc;

use gander::bytes::display::short_number as short;
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::{Array, array};
use gander::data::quantised::{Block, Code, Quant};
use gander::data::region::{Region, Span};
use gander::jobs::{JobSpec, Jobs, Slot};

/// Reads the element that was asked for last.
#[derive(Default)]
pub(crate) struct Probe(Slot<Vec<u64>, Vec<u8>>);

impl Probe {
    /// The bytes of an element, if they are there by now.
    pub(crate) fn get(&self, jobs: &Jobs, array: &Arc<dyn Array>, index: &[u64]) -> Option<Arc<Vec<u8>>> {
        let (key, array, at) = (index.to_vec(), array.clone(), index.to_vec());
        let shown = self.0.get(jobs, &key, JobSpec::view("one element"), move |task| {
            let region = Region(at.iter().map(|&at| Span::range(at, 1)).collect());
            array::read(&*array, task, &region)
        });
        shown.ready()
    }
}

/// Reads what is stored for the element that was asked for last, where the array is quantised.
#[derive(Default)]
pub(crate) struct StoredProbe(Slot<Vec<u64>, Vec<String>>);

impl StoredProbe {
    /// Its bits, level, scale and block in words, a line each; nothing where they are not there yet, and for arrays that
    /// are not quantised.
    pub(crate) fn get(&self, jobs: &Jobs, array: &Arc<dyn Array>, index: &[u64]) -> Vec<String> {
        if array.quantised().is_none() {
            return Vec::new();
        }
        let (key, array, at) = (index.to_vec(), array.clone(), index.to_vec());
        let shown = self
            .0
            .get(jobs, &key, JobSpec::view("one element"), move |task| stored_lines(&*array, task, &at));
        shown.ready().map(|lines| lines.to_vec()).unwrap_or_default()
    }
}

/// What an element is made of.
fn stored_lines(array: &dyn Array, task: &Task, index: &[u64]) -> Result<Vec<String>> {
    let Some(quantised) = array.quantised() else { return Ok(Vec::new()) };
    let region = Region(index.iter().map(|&at| Span::range(at, 1)).collect());
    let quants = quantised.quants(task, &region)?;
    let Some(quant) = quants.first() else { return Ok(Vec::new()) };
    let mut lines = vec![quant_words(quant, quantised.code(task, index)?)];
    if let Some(block) = quantised.block(task, index)? {
        let count = block.elements.end - block.elements.start;
        let flat = gander::bytes::strides::ravel(index, array.shape());
        let number = flat.saturating_sub(block.elements.start);
        lines.push(format!("block at {:#x}: element {number} of {count}", block.span.start));
        lines.push(hex(&block));
    }
    Ok(lines)
}

/// `bits 1101 → level 5 × scale 0.0123 − 0.1`.
pub(super) fn quant_words(quant: &Quant, code: Option<Code>) -> String {
    let bits = code.map(|code| format!("bits {code} → ")).unwrap_or_default();
    let level = short(f64::from(quant.level));
    format!("{bits}level {level} × scale {}{}", short(f64::from(quant.scale)), offset_words(quant))
}

/// ` − 0.1`: what is added, where the type has that.
pub(super) fn offset_words(quant: &Quant) -> String {
    match quant.offset {
        Some(offset) if offset.is_sign_negative() => format!(" − {}", short(f64::from(-offset))),
        Some(offset) => format!(" + {}", short(f64::from(offset))),
        None => String::new(),
    }
}

/// The first bytes of a block.
fn hex(block: &Block) -> String {
    const MOST: usize = 24;
    let bytes: Vec<String> = block.bytes.iter().take(MOST).map(|byte| format!("{byte:02x}")).collect();
    let more =
        if block.bytes.len() > MOST { format!(" … ({} bytes)", block.bytes.len()) } else { String::new() };
    format!("{}{more}", bytes.join(" "))
}

/// `[3, 17]`.
pub(crate) fn place(index: &[u64]) -> String {
    let numbers: Vec<String> = index.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(", "))
}
