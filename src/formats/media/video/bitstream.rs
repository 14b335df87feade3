//! How large pictures are, as the headers of coded streams say it, where no container does: sequence parameter sets of
//! H.264 (ITU-T H.264, 7.3.2.1) and HEVC (H.265, 7.3.2.2), sequence headers of MPEG-1 and 2.

/// Bits, highest first.
struct Bits {
    data: Vec<u8>,
    at: usize,
}

impl Bits {
    /// Those of a unit, without the bytes that keep it from looking like the start of another.
    fn of_unit(unit: &[u8]) -> Self {
        let mut data = Vec::with_capacity(unit.len());
        let mut zeros = 0;
        for byte in unit {
            if zeros >= 2 && *byte == 3 {
                zeros = 0;
                continue;
            }
            zeros = if *byte == 0 { zeros + 1 } else { 0 };
            data.push(*byte);
        }
        Bits { data, at: 0 }
    }

    fn bits(&mut self, n: usize) -> Option<u64> {
        let mut value = 0;
        for _ in 0..n {
            let byte = self.data.get(self.at / 8)?;
            value = value << 1 | u64::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }

    /// A number in an exponential Golomb code.
    fn golomb(&mut self) -> Option<u64> {
        let mut zeros = 0;
        while self.bits(1)? == 0 {
            zeros += 1;
            if zeros > 32 {
                return None;
            }
        }
        Some((1 << zeros) - 1 + self.bits(zeros)?)
    }
}

/// Width, height and bits of a sample.
pub(super) fn sides(codec: &str, stream: &[u8]) -> Option<(u64, u64, u32)> {
    let starts: Vec<usize> = memchr::memmem::find_iter(stream, &[0, 0, 1]).map(|at| at + 3).collect();
    for start in starts {
        let unit = stream.get(start..)?;
        let found = match (codec, unit.first()?) {
            ("h264", kind) if kind & 31 == 7 => h264(unit.get(1..)?),
            ("hevc", kind) if kind >> 1 & 63 == 33 => hevc(unit.get(2..)?),
            ("mpeg1video" | "mpeg2video", 0xb3) => mpeg(unit.get(1..)?),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn mpeg(header: &[u8]) -> Option<(u64, u64, u32)> {
    let mut bits = Bits { data: header.to_vec(), at: 0 };
    Some((bits.bits(12)?, bits.bits(12)?, 8))
}

fn h264(unit: &[u8]) -> Option<(u64, u64, u32)> {
    let mut bits = Bits::of_unit(unit);
    let profile = bits.bits(8)?;
    bits.bits(16)?;
    bits.golomb()?;
    let (mut chroma, mut depth, mut apart) = (1, 0, 0);
    if matches!(profile, 100 | 110 | 122 | 244 | 44 | 83 | 86 | 118 | 128 | 138 | 139 | 134 | 135) {
        chroma = bits.golomb()?;
        if chroma == 3 {
            apart = bits.bits(1)?;
        }
        depth = bits.golomb()?;
        bits.golomb()?;
        bits.bits(1)?;
        if bits.bits(1)? == 1 {
            scaling_lists(&mut bits, if chroma == 3 { 12 } else { 8 })?;
        }
    }
    bits.golomb()?;
    match bits.golomb()? {
        0 => {
            bits.golomb()?;
        }
        1 => {
            bits.bits(1)?;
            bits.golomb()?;
            bits.golomb()?;
            for _ in 0..bits.golomb()?.min(256) {
                bits.golomb()?;
            }
        }
        _ => {}
    }
    bits.golomb()?;
    bits.bits(1)?;
    let (across, down) = (bits.golomb()? + 1, bits.golomb()? + 1);
    let frames = bits.bits(1)?;
    if frames == 0 {
        bits.bits(1)?;
    }
    bits.bits(1)?;
    let mut crop = [0; 4];
    if bits.bits(1)? == 1 {
        for side in &mut crop {
            *side = bits.golomb()?;
        }
    }
    let (h, v) = match chroma {
        _ if apart == 1 => (1, 1),
        1 => (2, 2),
        2 => (2, 1),
        _ => (1, 1),
    };
    let v = v * (2 - frames);
    let width = (across * 16).checked_sub(h * (crop[0] + crop[1]))?;
    let height = (down * 16 * (2 - frames)).checked_sub(v * (crop[2] + crop[3]))?;
    Some((width, height, depth as u32 + 8))
        .filter(|(width, height, bits)| *width > 0 && *height > 0 && *bits <= 14)
}

fn scaling_lists(bits: &mut Bits, count: usize) -> Option<()> {
    for n in 0..count {
        if bits.bits(1)? == 0 {
            continue;
        }
        let (mut last, mut next) = (8i64, 8i64);
        for _ in 0..if n < 6 { 16 } else { 64 } {
            if next != 0 {
                let code = bits.golomb()? as i64;
                let delta = if code % 2 == 0 { -(code / 2) } else { (code + 1) / 2 };
                next = (last + delta + 256).rem_euclid(256);
            }
            last = if next == 0 { last } else { next };
        }
    }
    Some(())
}

fn hevc(unit: &[u8]) -> Option<(u64, u64, u32)> {
    let mut bits = Bits::of_unit(unit);
    bits.bits(4)?;
    let layers = bits.bits(3)? as usize;
    bits.bits(1)?;
    // Profile, compatibility, constraints, level.
    bits.bits(8 + 32 + 48 + 8)?;
    let present: Vec<(u64, u64)> =
        (0..layers).map(|_| Some((bits.bits(1)?, bits.bits(1)?))).collect::<Option<_>>()?;
    if layers > 0 {
        bits.bits(2 * (8 - layers))?;
    }
    for (profile, level) in present {
        bits.bits(if profile == 1 { 88 } else { 0 } + if level == 1 { 8 } else { 0 })?;
    }
    bits.golomb()?;
    let chroma = bits.golomb()?;
    if chroma == 3 {
        bits.bits(1)?;
    }
    let (width, height) = (bits.golomb()?, bits.golomb()?);
    let mut crop = [0; 4];
    if bits.bits(1)? == 1 {
        for side in &mut crop {
            *side = bits.golomb()?;
        }
    }
    let depth = bits.golomb()? as u32 + 8;
    let (h, v) = match chroma {
        1 => (2, 2),
        2 => (2, 1),
        _ => (1, 1),
    };
    let width = width.checked_sub(h * (crop[0] + crop[1]))?;
    let height = height.checked_sub(v * (crop[2] + crop[3]))?;
    Some((width, height, depth)).filter(|(width, height, bits)| *width > 0 && *height > 0 && *bits <= 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_parameter_set_of_h264() {
        // Baseline, level 1.1, 160 × 96.
        let unit = [0, 0, 1, 0x67, 66, 0xc0, 11, 0b1111_0110, 0b0001_0100, 0b0110_1100, 0];
        assert_eq!(sides("h264", &unit), Some((160, 96, 8)));
        assert_eq!(sides("h264", &unit[..6]), None);
        assert_eq!(sides("mpeg2video", &[0, 0, 1, 0xb3, 0x0a, 0x00, 0x60, 0]), Some((160, 96, 8)));
    }

    proptest! {
        #[test]
        fn no_data_make_it_panic(data in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut stream = vec![0, 0, 1, 0x67];
            stream.extend(&data);
            sides("h264", &stream);
            stream.splice(3..4, [0x42, 1]);
            sides("hevc", &stream);
        }
    }
}
