//! Drawings in SVG (<https://www.w3.org/TR/SVG2/>) as pictures, by resvg. Nothing outside of the file is read: references
//! to other files and to the network are left out. Text is set in one font that lies in the program.

use crate::bytes::error::{Error, Result};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Image, ImageInfo, Pixels, Rect, Sample};
use parking_lot::Mutex;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::roxmltree::{self, Document, Node, ParsingOptions};
use resvg::usvg::{self, ImageHrefResolver, ImageKind, Options, Paint, Tree, fontdb};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// Bytes of a drawing.
const BYTES: u64 = 64 << 20;
/// Elements and texts of a drawing,
const NODES: u32 = 400_000;
/// elements after references to others are followed,
const EXPANDED: u64 = 1_000_000;
/// and how deep they may lie in each other.
const DEPTH: usize = 512;
/// Pixels that are drawn at once.
const PIXELS: u64 = 64 << 20;
/// Pixels of the tiles of all its patterns, each of which is drawn whole, however little of it is seen.
const TILES: u64 = 128 << 20;
/// Bytes of stack of the thread that parses and draws: both go into elements one in the other.
const STACK: usize = 64 << 20;

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(include_bytes!("../../assets/fonts/Inter-Regular.ttf").to_vec());
    for set in [
        fontdb::Database::set_serif_family,
        fontdb::Database::set_sans_serif_family,
        fontdb::Database::set_cursive_family,
        fontdb::Database::set_fantasy_family,
        fontdb::Database::set_monospace_family,
    ] {
        set(&mut fonts, "Inter");
    }
    Arc::new(fonts)
});

/// A drawing as a picture.
struct Drawing {
    tree: Arc<Tree>,
    info: ImageInfo,
    /// What was drawn last.
    drawn: Mutex<Option<Arc<Pixels>>>,
}

/// Reads a drawing.
///
/// # Errors
/// `Malformed` for what is no SVG; `Limit` for drawings that are too large or expand too much.
pub fn read(task: &Task, source: &Source) -> Result<Arc<dyn Image>> {
    let len = limits::check(source.len(task)?, BYTES, "the drawing")?;
    let bytes = source.read(task, 0..len as u64)?;
    let text = crate::engines::xml::decoded(&bytes).into_owned();
    let tree = on_stack(move || parsed(&text))?;
    task.check()?;
    let size = tree.size().to_int_size();
    let (width, height) = (u64::from(size.width()), u64::from(size.height()));
    let info = ImageInfo {
        width,
        height,
        channels: 4,
        bits: 8,
        sample: Sample::U8,
        alpha: true,
        frames: 1,
        levels: vec![(width, height)],
        details: vec![("size".to_owned(), format!("{} × {}", tree.size().width(), tree.size().height()))],
        ..ImageInfo::default()
    };
    Ok(Arc::new(Drawing { tree: Arc::new(tree), info, drawn: Mutex::new(None) }))
}

/// Runs on a thread whose stack is deep enough for elements one in the other. Outlines that cannot be filled make the
/// crate that draws panic where it is built with assertions.
fn on_stack<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let guarded = || catch_decoder_panic("the drawing", work);
    let thread = std::thread::Builder::new().name("drawing".to_owned()).stack_size(STACK).spawn(guarded);
    let thread = thread.map_err(|error| Error::io(format!("no thread for the drawing: {error}")))?;
    thread.join().unwrap_or_else(|_| Err(Error::bug("drawing the SVG failed")))
}

fn parsed(text: &str) -> Result<Tree> {
    let malformed = |what: &dyn std::fmt::Display| Error::malformed(format!("SVG: {what}"));
    let options = ParsingOptions { allow_dtd: true, nodes_limit: NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::NodesLimitReached => Error::limit(format!("SVG: more than {NODES} nodes")),
        other => malformed(&other),
    })?;
    check(&document)?;
    // Pictures inside may lie in the text itself; others are left out.
    let resolver = ImageHrefResolver {
        resolve_data: ImageHrefResolver::default_data_resolver(),
        resolve_string: Box::new(|_, _| None),
    };
    let options = Options {
        image_href_resolver: resolver,
        fontdb: FONTS.clone(),
        font_family: "Inter".to_owned(),
        ..Options::default()
    };
    Tree::from_xmltree(&document, &options).map_err(|error| malformed(&error))
}

/// Refuses what expands too much: an element that is used twice by one that is used twice, and so on.
fn check(document: &Document<'_>) -> Result<()> {
    let too_much = || Error::limit(format!("SVG: its references stand for more than {EXPANDED} elements"));
    let ids: HashMap<&str, Node<'_, '_>> =
        document.descendants().filter_map(|node| Some((node.attribute("id")?, node))).collect();
    let mut known = HashMap::new();
    let count = expanded(document.root(), &ids, &mut known, 0)?;
    if count > EXPANDED { Err(too_much()) } else { Ok(()) }
}

/// How many elements an element stands for.
fn expanded<'a>(
    node: Node<'a, 'a>,
    ids: &HashMap<&'a str, Node<'a, 'a>>,
    known: &mut HashMap<roxmltree::NodeId, Option<u64>>,
    depth: usize,
) -> Result<u64> {
    if depth > DEPTH {
        return Err(Error::limit(format!("SVG: elements more than {DEPTH} deep in each other")));
    }
    match known.get(&node.id()) {
        Some(Some(count)) => return Ok(*count),
        // A circle, which is not followed.
        Some(None) => return Ok(0),
        None => {}
    }
    known.insert(node.id(), None);
    let mut count = 1u64;
    for child in node.children().filter(Node::is_element) {
        count = count.saturating_add(expanded(child, ids, known, depth + 1)?);
    }
    // Every attribute may refer to another element: links, paints, clips, masks, markers.
    for attribute in node.attributes() {
        let value = attribute.value();
        let id = match value.strip_prefix('#') {
            Some(id) => Some(id),
            None => value.split_once("url(#").and_then(|(_, rest)| rest.split(')').next()),
        };
        if let Some(target) = id.and_then(|id| ids.get(id.trim_matches(['"', '\'']))) {
            count = count.saturating_add(expanded(*target, ids, known, depth + 1)?);
        }
    }
    known.insert(node.id(), Some(count));
    Ok(count)
}

/// Takes from `left` the pixels of the tiles of patterns below a group, where a length of 1 is as long as `scale` makes it.
fn count_tiles(group: &usvg::Group, scale: Transform, left: &mut u64) -> Result<()> {
    for node in group.children() {
        let inner = scale.pre_concat(node.abs_transform());
        match node {
            usvg::Node::Path(path) => {
                let fill = path.fill().map(usvg::Fill::paint);
                for paint in fill.into_iter().chain(path.stroke().map(usvg::Stroke::paint)) {
                    let Paint::Pattern(pattern) = paint else { continue };
                    let (x, y) = inner.pre_concat(pattern.transform()).get_scale();
                    let (width, height) = (pattern.rect().width() * x, pattern.rect().height() * y);
                    // What is no number is no size either, and takes all.
                    let pixels = (f64::from(width) * f64::from(height)).ceil();
                    let pixels = if pixels >= 0.0 { pixels as u64 } else { u64::MAX };
                    *left = left.checked_sub(pixels).ok_or_else(|| {
                        let tile = format!("a pattern of {width:.0} × {height:.0} pixels");
                        Error::limit(format!("SVG: {tile}; the limit of all patterns is {TILES} pixels"))
                    })?;
                    count_tiles(pattern.root(), Transform::from_scale(x, y), left)?;
                }
            }
            usvg::Node::Group(group) => {
                let mut counted = Ok(());
                // Masks, and pictures of filters.
                node.subroots(|root| {
                    if counted.is_ok() {
                        counted = count_tiles(root, inner, left);
                    }
                });
                counted?;
                count_tiles(group, scale, left)?;
            }
            usvg::Node::Image(image) => {
                if let ImageKind::SVG(tree) = image.kind() {
                    count_tiles(tree.root(), inner, left)?;
                }
            }
            usvg::Node::Text(text) => count_tiles(text.flattened(), scale, left)?,
        }
    }
    Ok(())
}

impl Drawing {
    /// The drawing, this many pixels wide and high.
    fn draw(&self, width: u64, height: u64) -> Result<Pixels> {
        if width.checked_mul(height).is_none_or(|pixels| pixels > PIXELS) {
            let what = format!("a drawing of {width} × {height} pixels, the limit is {PIXELS} pixels");
            return Err(Error::limit(what));
        }
        let (tree, size) = (self.tree.clone(), self.tree.size());
        let (x, y) = (width as f32 / size.width(), height as f32 / size.height());
        let map = on_stack(move || {
            let map = Pixmap::new(width as u32, height as u32);
            let mut map = map.ok_or_else(|| Error::malformed("SVG: a drawing without a size"))?;
            count_tiles(tree.root(), Transform::from_scale(x, y), &mut TILES.clone())?;
            resvg::render(&tree, Transform::from_scale(x, y), &mut map.as_mut());
            Ok(map)
        })?;
        let mut data = Vec::with_capacity(map.data().len());
        for pixel in map.pixels() {
            let pixel = pixel.demultiply();
            data.extend_from_slice(&[pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]);
        }
        Ok(Pixels { width, height, channels: 4, sample: Sample::U8, alpha: true, data })
    }
}

impl Image for Drawing {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        task.check()?;
        if frame > 0 || level > 0 {
            return Err(Error::bug(format!("frame {frame} at level {level} of a drawing was asked for")));
        }
        let mut drawn = self.drawn.lock();
        let whole = match drawn.as_ref() {
            Some(whole) => whole.clone(),
            None => drawn.insert(Arc::new(self.draw(self.info.width, self.info.height)?)).clone(),
        };
        Ok(whole.crop(rect))
    }

    fn reduced(&self, task: &Task, _frame: u64, width: u64, height: u64) -> Result<Option<Pixels>> {
        task.check()?;
        match width < self.info.width && height < self.info.height && width > 0 && height > 0 {
            true => self.draw(width, height).map(Some),
            false => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::error::ErrorKind;

    fn image(text: &str) -> Result<Arc<dyn Image>> {
        read(&Task::new(), &Source::memory("drawing.svg", text.as_bytes().to_vec()))
    }

    fn pixels(text: &str) -> Pixels {
        image(text).unwrap().read(&Task::new(), 0, 0, Rect::all(1000, 1000)).unwrap()
    }

    #[test]
    fn a_pattern_of_huge_tiles_is_refused() {
        let drawn = |inner: &str| {
            let text = format!(
                "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='200'><defs>\
                 <pattern id='p' width='200' height='200'><circle r='100' fill='lime'/></pattern>\
                 <pattern id='q' width='1' height='1'><circle r='100' fill='lime'/></pattern>\
                 <mask id='m'><rect width='200' height='200' fill='url(#p)'/></mask>\
                 <pattern id='n' width='1' height='1'><rect width='200' height='200' fill='url(#p)'/></pattern>\
                 </defs>{inner}</svg>"
            );
            image(&text)?.read(&Task::new(), 0, 0, Rect::all(200, 200))
        };
        // Sides are shares of what is filled: 40,000 pixels each.
        for bomb in [
            "<rect width='200' height='200' fill='url(#p)'/>",
            "<rect width='200' height='200' stroke='url(#p)'/>",
            "<g transform='scale(0.5)'><rect width='200' height='200' fill='url(#n)'/></g>",
            "<rect width='200' height='200' mask='url(#m)'/>",
        ] {
            let error = drawn(bomb).unwrap_err();
            assert!(error.kind() == ErrorKind::Limit && error.what().contains("pattern"), "{bomb}: {error}");
        }
        let fine = drawn("<rect width='200' height='200' fill='url(#q)'/>").unwrap();
        assert!(fine.data.iter().any(|byte| *byte > 0));
    }

    #[test]
    fn shapes_are_drawn() {
        let drawn = pixels(
            "<svg xmlns='http://www.w3.org/2000/svg' width='4' height='2'><rect width='2' height='2' fill='#ff0000'/></svg>",
        );
        assert_eq!((drawn.width, drawn.height), (4, 2));
        assert_eq!(drawn.data[..8], [255, 0, 0, 255, 255, 0, 0, 255]);
        assert_eq!(drawn.data[8..16], [0; 8]);
    }

    #[test]
    fn what_cannot_be_drawn_is_the_files_fault() {
        let error = on_stack::<()>(|| panic!("edges are out of order")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    }

    #[test]
    fn references_to_other_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret.png");
        let mut map = Pixmap::new(2, 2).unwrap();
        map.fill(resvg::tiny_skia::Color::BLACK);
        std::fs::write(&path, map.encode_png().unwrap()).unwrap();
        let text = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='2' height='2'><image width='2' height='2' href='{}'/></svg>",
            path.display()
        );
        assert_eq!(pixels(&text).data, [0; 16]);
        assert_eq!(pixels(&text.replace("href='", "href='file://")).data, [0; 16]);
    }

    #[test]
    fn what_expands_without_end_is_refused() {
        let mut text = "<svg xmlns='http://www.w3.org/2000/svg' width='2' height='2'><defs><g id='a0'><rect width='1' height='1'/></g>".to_owned();
        for n in 0..40 {
            text.push_str(&format!("<g id='a{}'><use href='#a{n}'/><use href='#a{n}'/></g>", n + 1));
        }
        text.push_str("</defs><use href='#a40'/></svg>");
        assert_eq!(image(&text).err().unwrap().kind(), ErrorKind::Limit);
        let deep = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='2' height='2'>{}{}</svg>",
            "<g>".repeat(5_000),
            "</g>".repeat(5_000)
        );
        assert!(image(&deep).is_err());
        assert_eq!(image("<html/>").err().unwrap().kind(), ErrorKind::Malformed);
    }
}
