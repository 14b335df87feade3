//! What several views and panels share: widgets that are more than a button (those are in [`theme`](super::theme)).
//!
//! - [`List`]: rows of one height, millions of them; [`RowPosition`] and [`ScrollBar`]: how lists, grids and texts
//!   are scrolled; [`rows`]: rows of one height within a scroll area;
//! - [`LongText`]: a text of any length; [`json`]: JSON as the text that it is, [`JsonTree`]: the same as a tree;
//! - [`canvas`]: a camera over a plane of elements, for heat maps and images;
//! - [`banner`]: a sentence above what it is about; [`drop_down`]: a button that opens a menu; [`menu_lines`]: what stands in one that is higher than the window;
//! - [`spin_button`]: a number with a name; [`splitter`]: the border between two parts; [`TabLook`]: a tab of a strip;
//! - [`spoken_line`]: what is painted, for screen readers; [`keys`]: tables of keys;
//! - [`svg`]: what was painted as a drawing;
//! - [`elided`]: a line of text that is cut where it does not fit; [`key_value`]: a name and a value in a row.
//!
//! It uses egui, the glyphs, the theme, textures and jobs, and knows nothing of files and nodes.

mod banner;
pub(crate) mod canvas;
mod drop_down;
mod elided;
pub(crate) mod json;
mod json_tree;
pub(crate) mod keys;
mod list;
pub(crate) mod long_text;
pub(crate) mod rows;
mod scroll;
mod spin_button;
mod splitter;
mod spoken;
mod svg;
mod tab;

pub(crate) use banner::banner;
pub(crate) use drop_down::{drop_button, drop_down, drop_form, menu_lines};
pub(crate) use elided::{elided, key_value, paint_elided};
pub(crate) use json_tree::JsonTree;
pub(crate) use keys::{KeyLine, Keys};
pub(crate) use list::List;
pub(crate) use long_text::LongText;
pub(crate) use scroll::{RowPosition, ScrollBar, Scrolled};
pub(crate) use spin_button::spin_button;
pub(crate) use splitter::splitter;
pub(crate) use spoken::spoken_line;
pub(crate) use svg::svg;
pub(crate) use tab::TabLook;
