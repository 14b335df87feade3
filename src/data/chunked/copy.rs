//! From chunks into the result: runs of bytes as long as they are contiguous on both sides.

use super::grid::Cut;
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
    /// The outer dimensions: (count, distance in the chunk, distance in the result), in elements.
    outer: Vec<(u64, u64, u64)>,
    /// The first element in the chunk and in the result.
    first: (u64, u64),
    /// Elements of one run, and their distance in the chunk.
    pub(super) len: u64,
    pub(super) step: u64,
}

impl Runs {
    /// What `cuts` take of a chunk of the shape `chunk` into a result of the shape `out`.
    pub(super) fn new(chunk: &[u64], cuts: &[Cut], out: &[u64]) -> Self {
        let mut runs = Runs { outer: Vec::with_capacity(cuts.len()), first: (0, 0), len: 1, step: 1 };
        let (mut in_chunk, mut in_out) = (1u64, 1u64);
        let mut joined = true;
        for (axis, cut) in cuts.iter().enumerate().rev() {
            let (side, width) = (chunk.get(axis).copied().unwrap_or(1), out.get(axis).copied().unwrap_or(1));
            runs.first.0 += cut.from * in_chunk;
            runs.first.1 += cut.out * in_out;
            let innermost = axis + 1 == cuts.len();
            if joined && (cut.step == 1 || innermost) {
                (runs.len, runs.step) =
                    if innermost { (cut.count, cut.step) } else { (runs.len * cut.count, 1) };
            } else if cut.count != 1 {
                runs.outer.push((cut.count, cut.step * in_chunk, in_out));
            }
            // The next dimension continues the run where this one is taken whole on both sides.
            joined &= cut.step == 1 && cut.count == side && cut.count == width;
            in_chunk = in_chunk.saturating_mul(side);
            in_out = in_out.saturating_mul(width);
        }
        runs
    }

    /// Calls `run` with the place of each run in the chunk and in the result, in elements.
    pub(super) fn each(&self, mut run: impl FnMut(u64, u64)) {
        let mut index = vec![0u64; self.outer.len()];
        let (mut from, mut to) = self.first;
        loop {
            run(from, to);
            let mut axis = 0;
            loop {
                let (Some(at), Some(&(count, in_chunk, in_out))) =
                    (index.get_mut(axis), self.outer.get(axis))
                else {
                    return;
                };
                *at += 1;
                from += in_chunk;
                to += in_out;
                if *at < count {
                    break;
                }
                from -= in_chunk * count;
                to -= in_out * count;
                *at = 0;
                axis += 1;
            }
        }
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
        if runs.step == 1 {
            if let Some(from) = from.get(..to.len()) {
                to.copy_from_slice(from);
            }
        } else {
            strided(from, to, runs.step as usize * size, size);
        }
    });
}

/// Copies elements that lie `step` bytes apart.
fn strided(from: &[u8], to: &mut [u8], step: usize, size: usize) {
    fn fixed<const N: usize>(from: &[u8], to: &mut [u8], step: usize) {
        for (to, from) in to.as_chunks_mut::<N>().0.iter_mut().zip(from.chunks(step)) {
            if let Some(from) = from.first_chunk::<N>() {
                *to = *from;
            }
        }
    }
    match size {
        1 => fixed::<1>(from, to, step),
        2 => fixed::<2>(from, to, step),
        4 => fixed::<4>(from, to, step),
        8 => fixed::<8>(from, to, step),
        _ => {
            for (to, from) in to.chunks_exact_mut(size).zip(from.chunks(step)) {
                if let Some(from) = from.get(..size) {
                    to.copy_from_slice(from);
                }
            }
        }
    }
}

/// Fills all of the result with the element `value`.
pub(super) fn fill_all(value: &[u8], canvas: &Canvas) {
    // SAFETY: nobody else writes before this ends.
    let all = unsafe { canvas.part(0, canvas.len) };
    match value.iter().all(|byte| *byte == 0) {
        true => all.fill(0),
        false => all.chunks_exact_mut(value.len().max(1)).for_each(|element| element.copy_from_slice(value)),
    }
}

/// Fills the place of a chunk that is not there with the element `value`.
pub(super) fn fill(value: &[u8], cuts: &[Cut], canvas: &Canvas, out: &[u64]) {
    // Seen as a chunk that is exactly what is taken of it.
    let chunk: Vec<u64> = cuts.iter().map(|cut| cut.count).collect();
    let cuts: Vec<Cut> = cuts.iter().map(|cut| Cut { from: 0, step: 1, ..*cut }).collect();
    let runs = Runs::new(&chunk, &cuts, out);
    let len = runs.len as usize * value.len();
    let same = value.first().copied().filter(|first| value.iter().all(|byte| byte == first));
    runs.each(|_, to| {
        // SAFETY: one run at a time, and this chunk's runs overlap no other chunk's.
        let to = unsafe { canvas.part(to as usize * value.len(), len) };
        match same {
            Some(byte) => to.fill(byte),
            None => to.chunks_exact_mut(value.len()).for_each(|element| element.copy_from_slice(value)),
        }
    });
}
