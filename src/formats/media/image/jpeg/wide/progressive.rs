//! Progressive frames (T.81, annex G): scans add bands of coefficients and bits of them; samples are made at the end.

use super::bits::{Bits, Huffman};
use super::transform::put;
use super::{Decoder, ZIGZAG, malformed};
use crate::bytes::error::{Defect, Result};
use crate::bytes::task::Task;

/// What a scan adds: coefficients from `first` to `last`, their bits from `low` on, the first ones or one more.
pub(super) struct Band {
    first: usize,
    last: usize,
    refines: bool,
    low: u32,
}

impl Band {
    /// From the bytes of a scan header; `None` for those that make no sense.
    pub(super) fn new(first: u8, last: u8, bits: u8) -> Option<Self> {
        let (high, low) = (bits >> 4, bits & 15);
        let fits = first <= last && last < 64 && (first > 0 || last == 0) && low < 14;
        let follows = high == 0 || high == low + 1;
        (fits && follows).then_some(Band {
            first: first.into(),
            last: last.into(),
            refines: high > 0,
            low: low.into(),
        })
    }
}

impl Decoder {
    /// Adds what a scan has.
    pub(super) fn refine(
        &mut self,
        task: &Task,
        parts: &[(usize, usize, usize)],
        bits: &mut Bits<'_>,
        band: &Band,
    ) -> Result<()> {
        // Bands of other than the first coefficient come one component at a time.
        if band.first > 0 && parts.len() != 1 {
            return Err(malformed("a scan header makes no sense", bits.at));
        }
        let (across, down, alone) = self.units(parts, 8);
        let (mut before, mut empty, mut unit) = ([0i32; 4], 0u32, 0usize);
        for y in 0..down {
            task.check()?;
            for x in 0..across {
                if self.interval > 0 && unit > 0 && unit.is_multiple_of(self.interval) {
                    bits.restart();
                    (before, empty) = ([0; 4], 0);
                }
                unit += 1;
                if bits.is_over() && empty == 0 {
                    let what = malformed("its pixels end too early; the file may be cut off", bits.at);
                    return Err(what.with_defect(Defect::Truncated));
                }
                for &(n, dc, ac) in parts {
                    let none = Huffman::default();
                    let (dc, ac) = (self.dc.get(dc).unwrap_or(&none), self.ac.get(ac).unwrap_or(&none));
                    let Some(c) = self.components.get_mut(n) else { continue };
                    let (h, v) = if alone { (1, 1) } else { (c.h, c.v) };
                    for k in 0..h * v {
                        let at = (y * v + k / h) * (c.wide / 8) + x * h + k % h;
                        let Some(block) = c.blocks.get_mut(at) else { continue };
                        let done = match (band.first, band.refines) {
                            (0, false) => {
                                before.get_mut(n).and_then(|before| start(bits, dc, before, block, band.low))
                            }
                            (0, true) => {
                                block[0] |= (bits.bits(1) as i32) << band.low;
                                Some(())
                            }
                            (_, false) => more(bits, ac, block, band, &mut empty),
                            (_, true) => better(bits, ac, block, band, &mut empty),
                        };
                        done.ok_or_else(|| malformed("its pixels are damaged", bits.at))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Samples of the coefficients of a progressive frame.
    pub(super) fn transform(&mut self, task: &Task) -> Result<()> {
        for c in self.components.iter_mut().filter(|_| self.progressive) {
            let quantiser = self.quantisation.get(c.table).filter(|table| table.len() == 64);
            let wide = (c.wide / 8).max(1);
            for (n, mut block) in std::mem::take(&mut c.blocks).into_iter().enumerate() {
                if n.is_multiple_of(4_096) {
                    task.check()?;
                }
                for (place, factor) in ZIGZAG.iter().zip(quantiser.into_iter().flatten()) {
                    if let Some(value) = block.get_mut(usize::from(*place)) {
                        *value = value.wrapping_mul(i32::from(*factor));
                    }
                }
                put(c, n % wide, n / wide, &block, self.precision);
            }
        }
        Ok(())
    }
}

/// The first bits of the first coefficient (G.1.2.1).
fn start(bits: &mut Bits<'_>, dc: &Huffman, before: &mut i32, block: &mut [i32; 64], low: u32) -> Option<()> {
    let size = bits.code(dc).filter(|size| *size <= 16)?;
    *before = before.wrapping_add(bits.signed(size.into()));
    block[0] = before.wrapping_shl(low);
    Some(())
}

/// The first bits of a band (G.1.2.2); `empty` blocks after this one have none.
fn more(
    bits: &mut Bits<'_>,
    ac: &Huffman,
    block: &mut [i32; 64],
    band: &Band,
    empty: &mut u32,
) -> Option<()> {
    if *empty > 0 {
        *empty -= 1;
        return Some(());
    }
    let mut k = band.first;
    while k <= band.last {
        let code = bits.code(ac)?;
        let (run, size) = (u32::from(code >> 4), u32::from(code & 15));
        match (run, size) {
            (15, 0) => k += 16,
            (_, 0) => {
                *empty = (1 << run) - 1 + bits.bits(run);
                return Some(());
            }
            _ => {
                k += run as usize;
                *block.get_mut(usize::from(*ZIGZAG.get(k)?))? = bits.signed(size).wrapping_shl(band.low);
                k += 1;
            }
        }
    }
    Some(())
}

/// One more bit of a band (G.1.2.3).
fn better(
    bits: &mut Bits<'_>,
    ac: &Huffman,
    block: &mut [i32; 64],
    band: &Band,
    empty: &mut u32,
) -> Option<()> {
    let bit = 1i32 << band.low;
    let mut k = band.first;
    if *empty == 0 {
        while k <= band.last {
            let code = bits.code(ac)?;
            let (mut run, size) = (u32::from(code >> 4), code & 15);
            // What is new is one bit in size.
            let new = match size {
                0 if run < 15 => {
                    *empty = (1 << run) + bits.bits(run);
                    break;
                }
                0 => 0,
                1 if bits.bits(1) == 1 => bit,
                1 => -bit,
                _ => return None,
            };
            while k <= band.last {
                let value = block.get_mut(usize::from(*ZIGZAG.get(k)?))?;
                if *value != 0 {
                    correct(bits, value, bit);
                } else if run == 0 {
                    *value = new;
                    k += 1;
                    break;
                } else {
                    run -= 1;
                }
                k += 1;
            }
        }
    }
    if *empty > 0 {
        for place in ZIGZAG.get(k..=band.last).unwrap_or_default() {
            let value = block.get_mut(usize::from(*place))?;
            if *value != 0 {
                correct(bits, value, bit);
            }
        }
        *empty -= 1;
    }
    Some(())
}

/// A coefficient that is there already may be larger by this bit.
fn correct(bits: &mut Bits<'_>, value: &mut i32, bit: i32) {
    if bits.bits(1) == 1 && *value & bit == 0 {
        *value += if *value >= 0 { bit } else { -bit };
    }
}
