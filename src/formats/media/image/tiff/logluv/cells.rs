//! The colours of LogLuv in 24 bits: cells of the (u', v') diagram that lie within the visible gamut, counted row by row
//! from its lowest v'. <http://www.anyhere.com/gward/papers/jgtpap1.pdf>
//!
//! Where each row begins and how many cells it has belongs to the encoding: the paper says how the cells lie, but not the
//! observer and the rounding by which its author drew the gamut's border (the CIE 1931 observer at 1 nm gives other counts in
//! most rows). These numbers were measured: each of the 16,384 codes was read by libtiff and set back into (u', v').

/// The side of a cell.
const SIDE: f64 = 0.0035;
/// v' of the lowest row.
const LOWEST: f64 = 0.01694;

/// u' of each row's first cell in millionths, and the cells of the row.
#[rustfmt::skip]
const ROWS: [(u32, u32); 163] = [
    (247663, 4), (243779, 6), (241684, 7), (237874, 9), (235906, 10), (232153, 12), (228352, 14),
    (226259, 15), (222371, 17), (220410, 18), (214710, 21), (212714, 22), (210721, 23), (204976, 26),
    (202986, 27), (199245, 29), (195525, 31), (193560, 32), (189878, 34), (186216, 36), (186216, 36),
    (182592, 38), (179003, 40), (175466, 42), (172001, 44), (172001, 44), (168612, 46), (168612, 46),
    (163575, 49), (158642, 52), (158642, 52), (158642, 52), (153815, 55), (153815, 55), (149097, 58),
    (149097, 58), (142746, 62), (142746, 62), (142746, 62), (138270, 65), (138270, 65), (138270, 65),
    (132166, 69), (132166, 69), (126204, 73), (126204, 73), (126204, 73), (120381, 77), (120381, 77),
    (120381, 77), (120381, 77), (112962, 82), (112962, 82), (112962, 82), (107450, 86), (107450, 86),
    (107450, 86), (107450, 86), (100343, 91), (100343, 91), (100343, 91), (95126, 95), (95126, 95),
    (95126, 95), (95126, 95), (88276, 100), (88276, 100), (88276, 100), (88276, 100), (81523, 105),
    (81523, 105), (81523, 105), (81523, 105), (74861, 110), (74861, 110), (74861, 110), (74861, 110),
    (68290, 115), (68290, 115), (68290, 115), (68290, 115), (63573, 119), (63573, 119), (63573, 119),
    (63573, 119), (57219, 124), (57219, 124), (57219, 124), (57219, 124), (50985, 129), (50985, 129),
    (50985, 129), (50985, 129), (50985, 129), (44859, 134), (44859, 134), (44859, 134), (44859, 134),
    (40571, 138), (40571, 138), (40571, 138), (40571, 138), (36339, 142), (36339, 142), (36339, 142),
    (36339, 142), (32139, 146), (32139, 146), (32139, 146), (32139, 146), (27947, 150), (27947, 150),
    (27947, 150), (23739, 154), (23739, 154), (23739, 154), (23739, 154), (19504, 158), (19504, 158),
    (19504, 158), (16976, 161), (16976, 161), (16976, 161), (16976, 161), (12639, 165), (12639, 165),
    (12639, 165), (9991, 168), (9991, 168), (9991, 168), (9016, 170), (9016, 170), (9016, 170), (6217, 173),
    (6217, 173), (5097, 175), (5097, 175), (5097, 175), (3909, 177), (3909, 177), (2340, 177), (2389, 170),
    (1068, 164), (1653, 157), (717, 150), (1614, 143), (270, 136), (484, 129), (1103, 123), (1242, 115),
    (1188, 109), (1011, 103), (709, 97), (301, 89), (2416, 82), (3251, 76), (3246, 69), (4141, 62),
    (5963, 55), (8839, 47), (10490, 40), (16994, 31), (23659, 21),
];

/// Cells in the rows before each.
const BEFORE: [u32; ROWS.len()] = {
    let (mut before, mut all, mut n) = ([0; ROWS.len()], 0, 0);
    while n < ROWS.len() {
        #[allow(clippy::indexing_slicing, reason = "counted in a constant: a wrong index does not compile")]
        {
            before[n] = all;
            all += ROWS[n].1;
        }
        n += 1;
    }
    before
};

/// The middle of a cell in (u', v'); `None` for a code beyond the last.
pub(super) fn middle(code: u32) -> Option<(f64, f64)> {
    let row = BEFORE.partition_point(|before| *before <= code).checked_sub(1)?;
    let ((start, count), before) = (ROWS.get(row)?, BEFORE.get(row)?);
    let cell = Some(code - before).filter(|cell| cell < count)?;
    let along = |cell: f64| (cell + 0.5) * SIDE;
    Some((f64::from(*start) / 1e6 + along(f64::from(cell)), LOWEST + along(row as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_row_by_row() {
        let near = |code, (u, v): (f64, f64)| {
            let (seen_u, seen_v) = middle(code).unwrap();
            assert!((seen_u - u).abs() < 1e-7 && (seen_v - v).abs() < 1e-7, "{code}: {seen_u} {seen_v}");
        };
        near(0, (0.249413, 0.01869));
        near(3, (0.259913, 0.01869));
        near(4, (0.245529, 0.02219));
        near(16_288, (0.095409, 0.58569));
        assert_eq!([middle(16_289), middle(16_383)], [None, None]);
        assert_eq!(ROWS.iter().map(|(_, count)| count).sum::<u32>(), 16_289);
    }
}
