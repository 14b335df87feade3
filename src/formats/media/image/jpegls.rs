//! JPEG-LS (ITU-T T.87, ISO 14495-1), lossless and near-lossless. <https://www.itu.int/rec/T-REC-T.87>
//!
//! Names of variables are those of the recommendation.

use super::picture::blank;
use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::numbers::be;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};

/// How long runs are, by the index of the run (A.7.1.2).
const J: [u32; 32] =
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// Contexts of regular samples.
const CONTEXTS: usize = 365;

fn malformed(what: &str, at: usize) -> Error {
    Error::malformed(format!("JPEG-LS: {what}")).at(at as u64)
}

/// Parameters of a scan.
#[derive(Clone, Copy, Default)]
struct Parameters {
    maxval: i32,
    near: i32,
    t: [i32; 3],
    reset: i32,
    range: i32,
    qbpp: u32,
    limit: u32,
}

impl Parameters {
    /// Those of the preset where it gives them, else the defaults of C.2.4.1.1.
    fn of(precision: u32, near: i32, preset: [i32; 5]) -> Self {
        let [maxval, t1, t2, t3, reset] = preset;
        let maxval = if maxval > 0 { maxval } else { (1 << precision) - 1 };
        let clamp = |value: i32, low: i32| if value > maxval || value < low { low } else { value };
        let usual = if maxval >= 128 {
            let factor = (maxval.min(4095) + 128) / 256;
            [factor + 2, factor * 4 + 3, factor * 17 + 4]
        } else {
            let factor = 256 / (maxval + 1);
            [2.max(3 / factor), 3.max(7 / factor), 4.max(21 / factor)]
        };
        let first = if t1 > 0 { t1 } else { clamp(usual[0] + 3 * near, near + 1) };
        let second = if t2 > 0 { t2 } else { clamp(usual[1] + 5 * near, first) };
        let third = if t3 > 0 { t3 } else { clamp(usual[2] + 7 * near, second) };
        let range = (maxval + 2 * near) / (2 * near + 1) + 1;
        let bits = |n: i32| 32 - (n.max(1) as u32 - 1).leading_zeros();
        let bpp = bits(maxval + 1).max(2);
        Parameters {
            maxval,
            near,
            t: [first, second, third],
            reset: if reset > 0 { reset } else { 64 },
            range,
            qbpp: bits(range),
            limit: 2 * (bpp + bpp.max(8)),
        }
    }

    /// Which of nine regions a gradient lies in (A.3.3).
    fn quantise(&self, d: i32) -> i32 {
        let size = d.abs();
        let [t1, t2, t3] = self.t;
        let region = match size {
            _ if size <= self.near => 0,
            _ if size < t1 => 1,
            _ if size < t2 => 2,
            _ if size < t3 => 3,
            _ => 4,
        };
        if d < 0 { -region } else { region }
    }

    /// A sample from its prediction and its error (A.4.5 and A.5.4).
    fn sample(&self, predicted: i32, error: i32) -> i32 {
        let step = 2 * self.near + 1;
        let mut value = predicted.wrapping_add(error.wrapping_mul(step));
        if value < -self.near {
            value = value.wrapping_add(self.range * step);
        } else if value > self.maxval + self.near {
            value = value.wrapping_sub(self.range * step);
        }
        value.clamp(0, self.maxval)
    }
}

#[derive(Clone, Copy)]
struct Context {
    a: i32,
    b: i32,
    c: i32,
    n: i32,
}

/// Bits of a scan: behind a byte of ones the next has seven.
struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    held: u64,
    count: u32,
    was_ones: bool,
    beyond: u32,
}

impl Bits<'_> {
    fn fill(&mut self) {
        while self.count <= 48 {
            let byte = self.data.get(self.at).copied();
            let bits = if self.was_ones { 7 } else { 8 };
            let byte = match byte {
                // Behind a byte of ones a set bit is a marker.
                Some(byte) if !(self.was_ones && byte & 0x80 != 0) => {
                    self.at += 1;
                    byte
                }
                _ => {
                    self.beyond += bits;
                    self.held <<= bits;
                    self.count += bits;
                    continue;
                }
            };
            self.held = self.held << bits | u64::from(byte);
            self.count += bits;
            self.was_ones = byte == 0xff;
        }
    }

    fn bits(&mut self, n: u32) -> u32 {
        if n == 0 {
            return 0;
        }
        if self.count < n {
            self.fill();
        }
        self.count -= n;
        (self.held >> self.count & ((1 << n) - 1)) as u32
    }

    /// Zeros before the next one; as many as `most` at most.
    fn zeros(&mut self, most: u32) -> u32 {
        let mut zeros = 0;
        while zeros < most && self.bits(1) == 0 {
            zeros += 1;
        }
        zeros
    }

    /// A number in a Golomb code of limited length (A.5.3).
    fn golomb(&mut self, k: u32, limit: u32, qbpp: u32) -> i32 {
        let most = limit.saturating_sub(qbpp + 1);
        let zeros = self.zeros(most + 1);
        match zeros < most {
            true => (zeros << k.min(24) | self.bits(k.min(24))) as i32,
            false => self.bits(qbpp) as i32 + 1,
        }
    }

    fn is_over(&self) -> bool {
        self.beyond > self.count + 64
    }
}

/// Samples of one component: a row above and the one that is being decoded, with a column beside each end.
#[derive(Default)]
struct Rows {
    above: Vec<i32>,
    row: Vec<i32>,
    run: usize,
}

impl Rows {
    fn new(width: usize) -> Self {
        Rows { above: vec![0; width + 2], row: vec![0; width + 2], run: 0 }
    }

    fn begin(&mut self, width: usize) {
        let last = self.above.get(width).copied().unwrap_or(0);
        if let Some(place) = self.above.get_mut(width + 1) {
            *place = last;
        }
        let first = self.above.get(1).copied().unwrap_or(0);
        if let Some(place) = self.row.first_mut() {
            *place = first;
        }
    }

    /// Left, above, above to the left, above to the right.
    fn around(&self, x: usize) -> [i32; 4] {
        let at = |rows: &[i32], x: usize| rows.get(x).copied().unwrap_or(0);
        [at(&self.row, x - 1), at(&self.above, x), at(&self.above, x - 1), at(&self.above, x + 1)]
    }

    fn put(&mut self, x: usize, value: i32) {
        if let Some(place) = self.row.get_mut(x) {
            *place = value;
        }
    }
}

struct Scan<'a> {
    p: Parameters,
    bits: Bits<'a>,
    contexts: Vec<Context>,
    /// Contexts of samples that end runs; `b` counts negative errors.
    runs: [Context; 2],
}

impl<'a> Scan<'a> {
    fn new(p: Parameters, data: &'a [u8], at: usize) -> Self {
        let a = ((p.range + 32) / 64).max(2);
        let fresh = Context { a, b: 0, c: 0, n: 1 };
        let bits = Bits { data, at, held: 0, count: 0, was_ones: false, beyond: 0 };
        Scan { p, bits, contexts: vec![fresh; CONTEXTS], runs: [fresh; 2] }
    }

    /// The context of the gradients around a sample, and its sign; `None` where all are flat.
    fn context(&self, [ra, rb, rc, rd]: [i32; 4]) -> Option<(usize, i32)> {
        let q = [rd - rb, rb - rc, rc - ra].map(|d| self.p.quantise(d));
        let q = 81 * q[0] + 9 * q[1] + q[2];
        (q != 0).then(|| (q.unsigned_abs() as usize, q.signum()))
    }

    fn regular(&mut self, around: [i32; 4], q: usize, sign: i32) -> i32 {
        let [ra, rb, rc, _] = around;
        let p = self.p;
        let Some(context) = self.contexts.get_mut(q) else { return 0 };
        let edge = match rc {
            _ if rc >= ra.max(rb) => ra.min(rb),
            _ if rc <= ra.min(rb) => ra.max(rb),
            _ => ra + rb - rc,
        };
        let predicted = (edge + sign * context.c).clamp(0, p.maxval);
        let k = growth(context.n, context.a);
        let mapped = self.bits.golomb(k, p.limit, p.qbpp);
        let turned = p.near == 0 && k == 0 && 2 * context.b <= -context.n;
        let error = match (turned, mapped & 1 == 1) {
            (true, true) => (mapped - 1) / 2,
            (true, false) => -(mapped / 2) - 1,
            (false, true) => -((mapped + 1) / 2),
            (false, false) => mapped / 2,
        };
        context.learn(error, &p);
        p.sample(predicted, sign * error)
    }

    /// A sample that ends a run (A.7.2).
    fn ends_run(&mut self, ra: i32, rb: i32, kind: usize, run: usize) -> i32 {
        let p = self.p;
        let Some(context) = self.runs.get_mut(kind) else { return 0 };
        let size = if kind == 1 { context.a + (context.n >> 1) } else { context.a };
        let k = growth(context.n, size);
        let limit = p.limit.saturating_sub(J.get(run).copied().unwrap_or(0) + 1);
        let mapped = self.bits.golomb(k, limit, p.qbpp);
        let whole = mapped + kind as i32;
        let odd = whole & 1;
        let size = (whole + odd) / 2;
        let negative = (k != 0 || 2 * context.b >= context.n) == (odd == 1);
        let error = if negative { -size } else { size };
        if error < 0 {
            context.b += 1;
        }
        context.a = context.a.saturating_add((mapped + 1 - kind as i32) >> 1);
        if context.n == p.reset {
            context.a >>= 1;
            context.n >>= 1;
            context.b >>= 1;
        }
        context.n += 1;
        let (predicted, sign) = if kind == 1 { (ra, 1) } else { (rb, if ra > rb { -1 } else { 1 }) };
        p.sample(predicted, sign * error)
    }

    /// How many samples a run has, of `rest` at most, and whether a sample ends it.
    fn run(&mut self, rest: usize, index: &mut usize) -> (usize, bool) {
        let mut count = 0;
        while self.bits.bits(1) == 1 {
            let long = 1usize << J.get(*index).copied().unwrap_or(0);
            if count + long > rest || self.bits.is_over() {
                return (rest, false);
            }
            count += long;
            *index = (*index + 1).min(31);
            if count == rest {
                return (rest, false);
            }
        }
        count += self.bits.bits(J.get(*index).copied().unwrap_or(0)) as usize;
        (count.min(rest.saturating_sub(1)), true)
    }

    fn row(&mut self, rows: &mut Rows, width: usize) {
        rows.begin(width);
        let mut x = 1;
        while x <= width {
            let around = rows.around(x);
            if let Some((q, sign)) = self.context(around) {
                let value = self.regular(around, q, sign);
                rows.put(x, value);
                x += 1;
                continue;
            }
            let (count, ends) = self.run(width + 1 - x, &mut rows.run);
            (x..x + count).for_each(|x| rows.put(x, around[0]));
            x += count;
            if ends {
                let [ra, rb, ..] = rows.around(x);
                let kind = usize::from((ra - rb).abs() <= self.p.near);
                let value = self.ends_run(ra, rb, kind, rows.run);
                rows.put(x, value);
                rows.run = rows.run.saturating_sub(1);
                x += 1;
            }
        }
    }

    /// A row of pixels whose components are coded one beside the other.
    fn pixels(&mut self, all: &mut [Rows], width: usize) {
        all.iter_mut().for_each(|rows| rows.begin(width));
        let mut x = 1;
        let mut run = all.first().map_or(0, |rows| rows.run);
        while x <= width {
            if all.iter().any(|rows| self.context(rows.around(x)).is_some()) {
                for rows in all.iter_mut() {
                    let around = rows.around(x);
                    let value = match self.context(around) {
                        Some((q, sign)) => self.regular(around, q, sign),
                        None => self.regular(around, 0, 1),
                    };
                    rows.put(x, value);
                }
                x += 1;
                continue;
            }
            let (count, ends) = self.run(width + 1 - x, &mut run);
            for rows in all.iter_mut() {
                let left = rows.around(x)[0];
                (x..x + count).for_each(|x| rows.put(x, left));
            }
            x += count;
            if ends {
                for rows in all.iter_mut() {
                    let [ra, rb, ..] = rows.around(x);
                    let value = self.ends_run(ra, rb, 0, run);
                    rows.put(x, value);
                }
                run = run.saturating_sub(1);
                x += 1;
            }
        }
        if let Some(rows) = all.first_mut() {
            rows.run = run;
        }
    }
}

/// The number of bits that makes `n` at least `a`.
fn growth(n: i32, a: i32) -> u32 {
    let mut k = 0;
    while k < 24 && i64::from(n) << k < i64::from(a) {
        k += 1;
    }
    k
}

impl Context {
    /// Takes an error into account (A.6).
    fn learn(&mut self, error: i32, p: &Parameters) {
        self.b = self.b.saturating_add(error.saturating_mul(2 * p.near + 1));
        self.a = self.a.saturating_add(error.abs());
        if self.n == p.reset {
            self.a >>= 1;
            self.b = if self.b >= 0 { self.b >> 1 } else { -((1 - self.b) >> 1) };
            self.n >>= 1;
        }
        self.n += 1;
        if self.b <= -self.n {
            self.b += self.n;
            self.c = (self.c - 1).max(-128);
            self.b = self.b.max(1 - self.n);
        } else if self.b > 0 {
            self.b -= self.n;
            self.c = (self.c + 1).min(127);
            self.b = self.b.min(0);
        }
    }
}

/// The samples of a picture: bytes of up to 8 bits a sample, two bytes of more; with the bits of a sample.
///
/// # Errors
/// `Malformed` for damage, unless `partial`; `Limit` for too many pixels; `Unsupported` for palettes and restarts.
pub(super) fn decode(task: &Task, bytes: &[u8], partial: bool) -> Result<(Pixels, u32)> {
    let mut picture = None;
    let done = read(task, bytes, &mut picture);
    match (done, picture) {
        (Ok(()), Some(picture)) => Ok(picture),
        (Err(error), Some(picture)) if partial && !error.is_cancelled() => Ok(picture),
        (Err(error), _) => Err(error),
        (Ok(()), None) => Err(malformed("it ends without a frame header", bytes.len())),
    }
}

fn read(task: &Task, bytes: &[u8], picture: &mut Option<(Pixels, u32)>) -> Result<()> {
    let (mut at, mut preset, mut ids) = (0usize, [0i32; 5], Vec::new());
    loop {
        task.check()?;
        let Some(found) = memchr::memchr(0xff, bytes.get(at..).unwrap_or_default()) else { return Ok(()) };
        at += found + 1;
        let Some(&marker) = bytes.get(at) else { return Ok(()) };
        match marker {
            0xff => continue,
            // Bytes of a scan, whose eighth bit is no marker's; and the start.
            0..=0x7f | 0xd8 => {
                at += 1;
                continue;
            }
            0xd9 => return Ok(()),
            _ => {}
        }
        at += 1;
        let len = usize::from(be::<u16>(bytes, at).ok_or_else(|| malformed("it is cut off", at))?).max(2);
        let body = bytes.get(at + 2..(at + len).min(bytes.len())).unwrap_or_default();
        let wrong = || malformed("a header makes no sense", at);
        match marker {
            0xf7 => {
                let &[precision, a, b, c, d, count] = body.first_chunk().ok_or_else(wrong)?;
                if !(2..=16).contains(&precision) || picture.is_some() {
                    return Err(wrong());
                }
                let (height, width) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                let listed = body.get(6..).unwrap_or_default().as_chunks::<3>().0;
                ids = listed.iter().take(count.into()).map(|part| part[0]).collect();
                if ids.len() != usize::from(count) || count == 0 || width == 0 || height == 0 {
                    return Err(wrong());
                }
                let sample = if precision <= 8 { Sample::U8 } else { Sample::U16 };
                let pixels = blank(width.into(), height.into(), count.into(), sample, false)?;
                *picture = Some((pixels, precision.into()));
            }
            0xf8 if body.first() == Some(&1) => {
                preset = std::array::from_fn(|n| be::<u16>(body, 1 + n * 2).unwrap_or(0).into());
            }
            0xf8 => {
                return Err(Error::unsupported("JPEG-LS with a palette or with large sides").at(at as u64));
            }
            0xdd if be::<u16>(body, 0) != Some(0) => {
                return Err(Error::unsupported("JPEG-LS with restart markers").at(at as u64));
            }
            0xda => {
                let (pixels, precision) = picture.as_mut().ok_or_else(wrong)?;
                at = scan(task, bytes, at + len, body, (pixels, *precision, preset, &ids))?;
                continue;
            }
            _ => {}
        }
        at += len;
    }
}

/// Decodes a scan; where it ends.
fn scan(
    task: &Task,
    bytes: &[u8],
    at: usize,
    body: &[u8],
    (pixels, precision, preset, ids): (&mut Pixels, u32, [i32; 5], &[u8]),
) -> Result<usize> {
    let wrong = || malformed("a scan header makes no sense", at);
    let (&count, rest) = body.split_first().ok_or_else(wrong)?;
    let listed = rest.as_chunks::<2>().0.get(..count.into()).ok_or_else(wrong)?;
    let &[near, interleaved] =
        rest.get(usize::from(count) * 2..).and_then(|rest| rest.first_chunk()).ok_or_else(wrong)?;
    let place = |part: &[u8; 2]| ids.iter().position(|id| *id == part[0]).ok_or_else(wrong);
    let places: Vec<usize> = listed.iter().map(place).collect::<Result<_>>()?;
    if places.is_empty() || interleaved > 2 || interleaved == 0 && places.len() > 1 {
        return Err(wrong());
    }
    let p = Parameters::of(precision, near.into(), preset);
    if p.maxval > 0xffff || p.near * 2 > p.maxval {
        return Err(wrong());
    }
    let mut scan = Scan::new(p, bytes, at);
    let width = pixels.width as usize;
    let (size, channels) = (pixels.sample.size(), pixels.channels as usize);
    let mut rows: Vec<Rows> = places.iter().map(|_| Rows::new(width)).collect();
    for line in pixels.data.chunks_exact_mut((width * channels * size).max(1)) {
        task.check()?;
        match interleaved {
            2 => scan.pixels(&mut rows, width),
            _ => rows.iter_mut().for_each(|rows| scan.row(rows, width)),
        }
        if scan.bits.is_over() {
            let what = malformed("its pixels end too early; the file may be cut off", at);
            return Err(what.with_defect(Defect::Truncated));
        }
        for (rows, place) in rows.iter_mut().zip(&places) {
            let samples = line.chunks_exact_mut(size).skip(*place).step_by(channels.max(1));
            for (sample, value) in samples.zip(rows.row.iter().skip(1)) {
                sample.copy_from_slice(value.to_le_bytes().get(..size).unwrap_or_default());
            }
            std::mem::swap(&mut rows.above, &mut rows.row);
        }
    }
    // What was read ahead ends within the next marker.
    Ok(scan.bits.at - usize::from(scan.bits.was_ones))
}
