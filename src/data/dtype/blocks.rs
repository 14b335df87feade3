//! Elements that are stored in blocks: so many integers of few bits, and the scales that they share.
//!
//! Sizes as in ggml's `ggml-common.h`: <https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h>. What the bits of
//! a block stand for is in [`crate::data::quantised`].

/// A kind of block. The names are ggml's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, non_camel_case_types, reason = "the names are the field's")]
pub enum Blocks {
    Q1_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    /// With scale and sum as halves.
    Q8_1,
    /// With scale and sum as float32, as ggml had it until 2024.
    Q8_1Wide,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    Q8_K,
    IQ1_S,
    IQ1_M,
    IQ2_XXS,
    IQ2_XS,
    IQ2_S,
    IQ3_XXS,
    IQ3_S,
    IQ4_NL,
    IQ4_XS,
    TQ1_0,
    TQ2_0,
    /// OCP microscaling: elements of E2M1, a scale of E8M0.
    MXFP4,
    /// Elements of E2M1, a scale of E4M3 for each 16.
    NVFP4,
    /// As `Q4_0`, the scale a float32, as the first files had it.
    Q4_0Wide,
    /// As `Q4_1`, scale and minimum float32.
    Q4_1Wide,
    /// As `Q8_0`, the scale a float32.
    Q8_0Wide,
    /// As `Q4_0Wide`, neighbours in one byte, as the very first files had it.
    Q4_0Pairs,
    /// As `Q4_1Wide`, neighbours in one byte.
    Q4_1Pairs,
    /// Sixteen elements, neighbours in one byte.
    Q4_2,
    /// As `Q4_2`, with a minimum.
    Q4_3,
    /// As `Q5_0`, neighbours in one byte.
    Q5_0Pairs,
    /// As `Q5_1`, neighbours in one byte.
    Q5_1Pairs,
}

impl Blocks {
    /// Every kind, with its name, the elements of a block, and its bytes.
    pub const ALL: [(Blocks, &'static str, usize, usize); 36] = [
        (Blocks::Q1_0, "q1_0", 128, 18),
        (Blocks::Q4_0, "q4_0", 32, 18),
        (Blocks::Q4_1, "q4_1", 32, 20),
        (Blocks::Q5_0, "q5_0", 32, 22),
        (Blocks::Q5_1, "q5_1", 32, 24),
        (Blocks::Q8_0, "q8_0", 32, 34),
        (Blocks::Q8_1, "q8_1", 32, 36),
        (Blocks::Q8_1Wide, "q8_1", 32, 40),
        (Blocks::Q2_K, "q2_k", 256, 84),
        (Blocks::Q3_K, "q3_k", 256, 110),
        (Blocks::Q4_K, "q4_k", 256, 144),
        (Blocks::Q5_K, "q5_k", 256, 176),
        (Blocks::Q6_K, "q6_k", 256, 210),
        (Blocks::Q8_K, "q8_k", 256, 292),
        (Blocks::IQ1_S, "iq1_s", 256, 50),
        (Blocks::IQ1_M, "iq1_m", 256, 56),
        (Blocks::IQ2_XXS, "iq2_xxs", 256, 66),
        (Blocks::IQ2_XS, "iq2_xs", 256, 74),
        (Blocks::IQ2_S, "iq2_s", 256, 82),
        (Blocks::IQ3_XXS, "iq3_xxs", 256, 98),
        (Blocks::IQ3_S, "iq3_s", 256, 110),
        (Blocks::IQ4_NL, "iq4_nl", 32, 18),
        (Blocks::IQ4_XS, "iq4_xs", 256, 136),
        (Blocks::TQ1_0, "tq1_0", 256, 54),
        (Blocks::TQ2_0, "tq2_0", 256, 66),
        (Blocks::MXFP4, "mxfp4", 32, 17),
        (Blocks::NVFP4, "nvfp4", 64, 36),
        (Blocks::Q4_0Wide, "q4_0", 32, 20),
        (Blocks::Q4_1Wide, "q4_1", 32, 24),
        (Blocks::Q8_0Wide, "q8_0", 32, 36),
        (Blocks::Q4_0Pairs, "q4_0", 32, 20),
        (Blocks::Q4_1Pairs, "q4_1", 32, 24),
        (Blocks::Q4_2, "q4_2", 16, 10),
        (Blocks::Q4_3, "q4_3", 16, 12),
        (Blocks::Q5_0Pairs, "q5_0", 32, 22),
        (Blocks::Q5_1Pairs, "q5_1", 32, 24),
    ];

    fn line(self) -> (&'static str, usize, usize) {
        let line = Self::ALL.iter().find(|(blocks, ..)| *blocks == self);
        line.map_or(("", 1, 1), |(_, name, elements, bytes)| (name, *elements, *bytes))
    }

    /// The name, in small letters: `q4_k`.
    pub fn name(self) -> &'static str {
        self.line().0
    }

    /// The elements of a block.
    pub fn elements(self) -> usize {
        self.line().1
    }

    /// The bytes of a block.
    pub fn bytes(self) -> usize {
        self.line().2
    }

    /// The parts of a block that have a byte order: where each begins, how many numbers it has, and their bytes.
    pub fn numbers(self) -> &'static [(usize, usize, usize)] {
        match self {
            Blocks::Q1_0
            | Blocks::Q4_0
            | Blocks::Q5_0
            | Blocks::Q8_0
            | Blocks::IQ4_NL
            | Blocks::Q4_2
            | Blocks::Q5_0Pairs => &[(0, 1, 2)],
            Blocks::Q4_1
            | Blocks::Q5_1
            | Blocks::Q8_1
            | Blocks::Q4_K
            | Blocks::Q5_K
            | Blocks::Q4_3
            | Blocks::Q5_1Pairs => &[(0, 2, 2)],
            Blocks::Q8_1Wide | Blocks::Q4_1Wide | Blocks::Q4_1Pairs => &[(0, 2, 4)],
            Blocks::Q4_0Wide | Blocks::Q8_0Wide | Blocks::Q4_0Pairs => &[(0, 1, 4)],
            Blocks::Q2_K => &[(80, 2, 2)],
            Blocks::Q3_K => &[(108, 1, 2)],
            Blocks::Q6_K => &[(208, 1, 2)],
            Blocks::Q8_K => &[(0, 1, 4), (260, 16, 2)],
            Blocks::IQ1_S => &[(0, 1, 2), (34, 8, 2)],
            // Its scales are bytes; ggml reads them as numbers of the machine.
            Blocks::IQ1_M => &[(48, 4, 2)],
            Blocks::IQ2_XXS => &[(0, 33, 2)],
            Blocks::IQ2_XS => &[(0, 33, 2)],
            Blocks::IQ2_S | Blocks::IQ3_XXS | Blocks::IQ3_S => &[(0, 1, 2)],
            Blocks::IQ4_XS => &[(0, 2, 2)],
            Blocks::TQ1_0 => &[(52, 1, 2)],
            Blocks::TQ2_0 => &[(64, 1, 2)],
            Blocks::MXFP4 | Blocks::NVFP4 => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_line_and_numbers_lie_within() {
        for (n, (blocks, name, elements, bytes)) in Blocks::ALL.into_iter().enumerate() {
            assert_eq!(Blocks::ALL.iter().position(|line| line.0 == blocks), Some(n));
            assert_eq!((blocks.name(), blocks.elements(), blocks.bytes()), (name, elements, bytes));
            assert!(blocks.numbers().iter().all(|(at, count, size)| at + count * size <= bytes), "{name}");
        }
    }
}
