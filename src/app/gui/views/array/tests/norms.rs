//! The strips of norms beside a heat map, and what is stored beside a value.

use egui_kittest::kittest::Queryable as _;
use gander::data::content::Content;
use gander::data::dtype::DType;

use super::super::super::harness::{bench, settle};
use super::{floats, plain, show};

#[test]
fn norms_stand_beside_the_rows_and_above_the_columns() {
    // A row of threes and fours, else zeros.
    let value = |n: u64| if n / 4 == 2 { [3.0f32, 4.0][(n % 2) as usize] } else { 0.0 };
    let bytes: Vec<u8> = (0..40).flat_map(|n| value(n).to_le_bytes()).collect();
    let array = plain(DType::F32, &[10, 4], bytes);
    let mut harness = show(array.clone());
    assert!(harness.query_by_label("Norms of the rows").is_none());
    harness.get_by_label("Norms").click();
    settle(&mut harness);
    let rows = harness.get_by_label("Norms of the rows").rect();
    let columns = harness.get_by_label("Norms of the columns").rect();
    // The strips are as long as the picture: ten rows, four columns of square cells.
    assert!((rows.height() / columns.width() - 2.5).abs() < 0.01, "{rows:?} {columns:?}");
    assert!(columns.bottom() <= rows.top() + 1.0 && rows.left() >= columns.right() - 1.0);
    harness.hover_at(egui::pos2(rows.center().x, rows.top() + rows.height() * 0.25));
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a  row 2: norm 7.071");
    harness.hover_at(egui::pos2(columns.left() + columns.width() * 0.4, columns.center().y));
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a  column 1: norm 4");
    // The session keeps them.
    let kept = harness.state().view.save();
    let mut again = bench("a", Content::Array(array));
    again.state_mut().view.restore(&kept);
    settle(&mut again);
    again.get_by_label("Norms of the rows");
    again.get_by_label("Norms").click();
    settle(&mut again);
    assert!(again.query_by_label("Norms of the rows").is_none());
}

#[test]
fn norms_follow_when_rows_and_columns_are_swapped_and_nan_is_said() {
    let mut harness = show(floats());
    assert!(harness.state_mut().run("Norms of rows and columns"));
    assert!(harness.state_mut().run("Swap rows and columns"));
    settle(&mut harness);
    // Columns run down now: column 3 has a NaN in row 0.
    let rows = harness.get_by_label("Norms of the rows").rect();
    harness.hover_at(egui::pos2(rows.center().x, rows.top() + rows.height() * 3.5 / 60.0));
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a  row 3: norm NaN");
}

/// `a[i]` of blocks of `q4_1`: a scale of a half, a minimum of minus one, and the codes 0 to 15 over and over.
fn blocks() -> std::sync::Arc<dyn gander::data::content::Array> {
    use gander::data::dtype::Blocks;
    // Both as halves.
    let mut block = vec![0x00, 0x38, 0x00, 0xbc];
    block.extend((0..16u8).map(|n| n | n << 4));
    let source = gander::bytes::source::Source::memory("q", block.repeat(4));
    let array = gander::data::quantised::BlockArray::new(source, 0, Blocks::Q4_1, vec![4, 32], false);
    std::sync::Arc::new(array.unwrap())
}

#[test]
fn an_element_of_blocks_shows_its_bits_and_the_scale_of_its_block() {
    let mut harness = show(blocks());
    let go_to = super::super::super::Request::GoTo("1, 5".to_owned());
    assert!(harness.state_mut().ask(&go_to));
    settle(&mut harness);
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a[1, 5] = 1.5  bits 0101 → level 5 × scale 0.5 − 1");
    harness.get_by_label("Numbers").click();
    settle(&mut harness);
    harness.get_by_label("Notation: shortest").click();
    settle(&mut harness);
    harness.get_by_label("Bits and scale beside the value").click();
    settle(&mut harness);
    assert!(super::cell(&harness, "-0.5  0001 × 0.5 − 1").is_some());
    // Turned, each element keeps its own.
    assert!(harness.state_mut().run("Swap rows and columns"));
    settle(&mut harness);
    settle(&mut harness);
    assert!(super::cell(&harness, "1.5  0101 × 0.5 − 1").is_some());
    assert!(super::cell(&harness, "1.5  0110").is_none());
}

#[test]
fn a_histogram_of_magnitudes_has_bins_of_equal_ratios() {
    // One to a million by powers of ten, of either sign, and a zero.
    let values = (0..7).flat_map(|n| [10f32.powi(n), -(10f32.powi(n))]).chain([0.0]);
    let mut harness = show(plain(DType::F32, &[3, 5], values.flat_map(|v| v.to_le_bytes()).collect()));
    harness.get_by_label("Histogram").click();
    settle(&mut harness);
    harness.get_by_label("Scale of the values: linear values").click();
    settle(&mut harness);
    harness.get_by_label("log magnitudes").click();
    settle(&mut harness);
    settle(&mut harness);
    harness.get_by_label("least magnitude");
    harness.get_by_label("zero or infinite");
    let kept = harness.state().view.save();
    assert_eq!(kept["histogram"]["magnitudes"], true);
}
