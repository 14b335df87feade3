//! Pictures with a side beyond what a graphics driver takes, in each view that draws pictures: a texture that is too
//! large ends the program, here by egui's own check.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, RecordBatch};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::content::array::Plain;
use gander::data::content::table::MemoryTable;
use gander::data::content::{Array, Content};
use gander::data::dtype::DType;

use crate::gui::views::Request;
use crate::gui::views::harness::{ViewHarness, bench, settle};

/// The smallest limit that a driver has, and what egui takes for granted where nobody says: 2,048.
const SIDES: [(u64, u64); 2] = [(20_000, 30), (30, 20_000)];

fn png(width: u64, height: u64) -> Vec<u8> {
    let image = image::GrayImage::from_fn(width as u32, height as u32, |x, y| image::Luma([(x + y) as u8]));
    let mut png = Vec::new();
    image.write_to(&mut std::io::Cursor::new(&mut png), image::ImageFormat::Png).unwrap();
    png
}

fn array(shape: &[u64]) -> Arc<dyn Array> {
    let bytes: Vec<u8> = (0..shape.iter().product::<u64>()).map(|n| n as u8).collect();
    Arc::new(Plain::new(Source::memory("a", bytes), 0, DType::U8, shape.to_vec()).unwrap())
}

/// Shows it in each mode that it has.
fn walk(harness: &mut Harness<'_, ViewHarness>, modes: &[&str]) {
    settle(harness);
    for mode in modes {
        harness.get_by_label(mode).click();
        settle(harness);
        // One element a point: as many pixels as there are.
        for zoom in [crate::gui::views::ZOOM_IN, crate::gui::views::ZOOM_OUT, crate::gui::views::ZOOM_FIT] {
            harness.state_mut().run(zoom.words);
            settle(harness);
        }
    }
}

#[test]
fn a_cell_with_a_picture_beyond_the_limit() {
    for (width, height) in SIDES {
        let column: ArrayRef = Arc::new(BinaryArray::from_vec(vec![&png(width, height)]));
        let table = MemoryTable::new(RecordBatch::try_from_iter([("image", column)]).unwrap());
        let mut harness = bench("made", Content::Table(Arc::new(table)));
        settle(&mut harness);
        assert!(harness.state_mut().ask(&Request::GoTo("0, image".to_owned())));
        settle(&mut harness);
        harness.key_press(egui::Key::Enter);
        settle(&mut harness);
        let words = format!(" · {width}×{height} · a pixel here is the mean of 10×10");
        let picture = |node: &egui_kittest::kittest::AccessKitNode<'_>| {
            node.role() == egui::accesskit::Role::Image
                && node.label().is_some_and(|label| label.ends_with(&words))
        };
        harness.get_by(picture);
    }
}

#[test]
fn an_image_beyond_the_limit() {
    for (width, height) in SIDES {
        let source = Source::memory("wide.png", png(width, height));
        let document = gander::formats::open_source(&Task::new(), &source, &Default::default()).unwrap();
        let mut harness = bench("wide.png", document.root.content.clone().unwrap());
        walk(&mut harness, &["Histogram", "Image"]);
    }
}

#[test]
fn maps_and_plots_beyond_the_limit() {
    for (width, height) in SIDES {
        let mut harness = bench("map", Content::Array(array(&[height, width])));
        walk(&mut harness, &["Numbers", "Heat map", "Line", "Histogram"]);
        let mut harness = bench("picture", Content::Array(array(&[height, width, 3])));
        walk(&mut harness, &["Heat map", "Image", "Line", "Histogram", "Volume"]);
    }
}
