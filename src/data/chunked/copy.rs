//! From chunks into the result: runs of bytes as long as they are contiguous on both sides.

use super::grid::Cut;
use crate::bytes::strides::{self, Axis};
use std::marker::PhantomData;

/// The result of a read, which several threads write to, each its own part.
pub(super) struct Canvas<'a> {
    start: *mut u8,
    len: usize,
    bytes: PhantomData<&'a mut [u8]>,
}

// SAFETY: the threads of one read write to parts that do not overlap (see `part`).
unsafe impl Sync for Canvas<'_> {}

impl<'a> Canvas<'a> {
    /// All of `out`.
    pub(super) fn new(out: &'a mut [u8]) -> Self {
        Canvas { start: out.as_mut_ptr(), len: out.len(), bytes: PhantomData }
    }

    /// The bytes `at..at + len`; empty where that is not inside.
    ///
    /// # Safety
    /// No other part that is alive may overlap it. Parts of different chunks of one plan never do, since
    /// each index of a region belongs to one cut, and within one chunk they are taken one after another.
    #[allow(clippy::mut_from_ref, reason = "that is what it is for; the callers keep the parts apart")]
    unsafe fn part(&self, at: usize, len: usize) -> &mut [u8] {
        if at.checked_add(len).is_none_or(|end| end > self.len) {
            return &mut [];
        }
        // SAFETY: it lies in the buffer, which is borrowed for 'a, and overlaps no other part.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}

/// Runs of one chunk: elements that are contiguous in the result and in the chunk, or lie `step` apart
/// in the chunk.
pub(super) struct Runs {
    /// The outer dimensions, with distances in elements.
    outer: Vec<Axis>,
    /// The first element in the chunk and in the result.
    first: (u64, u64),
    /// Elements of one run, and their distance in the chunk.
    pub(super) len: u64,
    pub(super) step: u64,
}

impl Runs {
    /// What `cuts` take of a chunk of the shape `chunk` into a result of the shape `out`.
    pub(super) fn new(chunk: &[u64], cuts: &[Cut], out: &[u64]) -> Self {
        let axes = strides::c_order(cuts.len());
        let (near, far) = (strides::dense(chunk, &axes, 1), strides::dense(out, &axes, 1));
        let each = cuts.iter().zip(near.iter().zip(&far));
        let first = each
            .clone()
            .fold((0, 0), |(from, to), (cut, (near, far))| (from + cut.from * near, to + cut.out * far));
        let mut outer = strides::joined(each.map(|(cut, (near, far))| Axis {
            count: cut.count,
            from: cut.step * near,
            to: *far,
        }));
        let run = outer.pop_if(|axis| axis.to == 1).unwrap_or(Axis { count: 1, from: 1, to: 1 });
        Runs { outer, first, len: run.count, step: run.from }
    }

    /// Calls `run` with the place of each run in the chunk and in the result, in elements.
    pub(super) fn each(&self, mut run: impl FnMut(u64, u64)) {
        strides::walk(&self.outer, self.first, &mut run);
    }
}

/// Copies what `cuts` take of `bytes`, a chunk of the shape `chunk`, to its place in the result.
pub(super) fn copy(bytes: &[u8], chunk: &[u64], cuts: &[Cut], canvas: &Canvas, out: &[u64], size: usize) {
    let runs = Runs::new(chunk, cuts, out);
    let len = runs.len as usize * size;
    runs.each(|from, to| {
        // SAFETY: one run at a time, and this chunk's runs overlap no other chunk's.
        let to = unsafe { canvas.part(to as usize * size, len) };
        let from = bytes.get(from as usize * size..).unwrap_or_default();
        let (size, step) = (size as u64, runs.step * size as u64);
        strides::copy(from, to, &[Axis { count: runs.len, from: step, to: size }], size as usize);
    });
}

/// Fills all of the result with the element `value`.
pub(super) fn fill_all(value: &[u8], canvas: &Canvas) {
    // SAFETY: nobody else writes before this ends.
    strides::fill(unsafe { canvas.part(0, canvas.len) }, value);
}

/// Fills the place of a chunk that is not there with the element `value`.
pub(super) fn fill(value: &[u8], cuts: &[Cut], canvas: &Canvas, out: &[u64]) {
    // Seen as a chunk that is exactly what is taken of it.
    let chunk: Vec<u64> = cuts.iter().map(|cut| cut.count).collect();
    let cuts: Vec<Cut> = cuts.iter().map(|cut| Cut { from: 0, step: 1, ..*cut }).collect();
    let runs = Runs::new(&chunk, &cuts, out);
    let len = runs.len as usize * value.len();
    runs.each(|_, to| {
        // SAFETY: one run at a time, and this chunk's runs overlap no other chunk's.
        strides::fill(unsafe { canvas.part(to as usize * value.len(), len) }, value);
    });
}
