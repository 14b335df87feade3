//! Graphs to look at: the outline of their groups, a layout in layers, and what a drawing writes into its boxes.
//!
//! [`outline`] folds the nodes of a [`Graph`](crate::data::content::graph::Graph) into groups, [`layout`](mod@layout)
//! places what is in sight of them, [`layered`] is the method for one level (after Sugiyama, Tagawa and Toda,
//! <https://doi.org/10.1109/TSMC.1981.4308636>), [`kinds`] and [`labels`] say what a box looks like. The window and the
//! writers of drawings share all of it.

pub mod kinds;
pub mod labels;
pub mod layered;
pub mod layout;
pub mod outline;

pub use kinds::{Kind, kind};
pub use layout::{Direction, Item, Layout, Layouts, PlacedEdge, PlacedItem, Rect, Settings, layout};
pub use outline::{Group, GroupId, Outline};
