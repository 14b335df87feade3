//! What was painted as SVG 1.1: lines stay lines, text stays text. <https://www.w3.org/TR/SVG11/>
//!
//! Pictures (heat maps, images) are embedded as PNG, pixel by pixel, where their pixels are still known.

use std::fmt::Write;
use std::sync::Arc;

use base64::Engine as _;
use egui::epaint::{ClippedShape, ColorMode, PathShape, PathStroke, TextShape};
use egui::{Color32, ColorImage, Mesh, Pos2, Rect, Shape, Stroke, TextureId};

/// The most shapes of a drawing: plots have as many points as pixels.
const MOST: usize = 1_000_000;

/// The pixels of a texture, where they are known.
type PictureOf<'a> = &'a dyn Fn(TextureId) -> Option<Arc<ColorImage>>;

/// The shapes that lie in `area`, on this ground, as an SVG document whose unit is a point of the screen.
pub(crate) fn svg(shapes: &[ClippedShape], area: Rect, ground: Color32, picture_of: PictureOf<'_>) -> String {
    let mut out =
        Drawing { text: String::new(), origin: area.min, clips: Vec::new(), left: MOST, picture_of };
    for ClippedShape { clip_rect, shape, .. } in shapes {
        let clip = clip_rect.intersect(area);
        if clip.is_positive() && shape.visual_bounding_rect().intersects(clip) {
            out.clipped(clip, area, shape);
        }
    }
    let (width, height) = (area.width(), area.height());
    let mut document = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\">\n",
        n(width),
        n(height),
        n(width),
        n(height)
    );
    document.push_str("<defs>\n");
    for (number, clip) in out.clips.iter().enumerate() {
        let (x, y) = (clip.min.x - area.min.x, clip.min.y - area.min.y);
        let _ = writeln!(
            document,
            "<clipPath id=\"c{number}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
            n(x),
            n(y),
            n(clip.width()),
            n(clip.height())
        );
    }
    document.push_str("</defs>\n");
    let _ = writeln!(document, "<rect width=\"100%\" height=\"100%\"{}/>", fill(ground));
    document.push_str(&out.text);
    document.push_str("</svg>\n");
    document
}

/// A length with at most two digits behind the point.
fn n(value: f32) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn color(name: &str, color: Color32) -> String {
    let [r, g, b, a] = color.to_srgba_unmultiplied();
    let opacity =
        if a == 255 { String::new() } else { format!(" {name}-opacity=\"{}\"", n(f32::from(a) / 255.0)) };
    format!(" {name}=\"#{r:02x}{g:02x}{b:02x}\"{opacity}")
}

fn fill(of: Color32) -> String {
    if of.a() == 0 { " fill=\"none\"".to_owned() } else { color("fill", of) }
}

fn stroke(of: Stroke) -> String {
    match of.width > 0.0 && of.color.a() > 0 {
        true => format!("{} stroke-width=\"{}\"", color("stroke", of.color), n(of.width)),
        false => String::new(),
    }
}

/// The stroke of a path; one that changes along it has the colour of its middle.
fn path_stroke(of: &PathStroke, bounds: Rect) -> String {
    let color = match &of.color {
        ColorMode::Solid(color) => *color,
        ColorMode::UV(at) => at(bounds, bounds.center()),
    };
    stroke(Stroke::new(of.width, color))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has none of these.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

struct Drawing<'a> {
    picture_of: PictureOf<'a>,
    text: String,
    origin: Pos2,
    clips: Vec<Rect>,
    /// How many more shapes there may be.
    left: usize,
}

impl Drawing<'_> {
    fn clipped(&mut self, clip: Rect, area: Rect, shape: &Shape) {
        // What lies inside needs no cutting.
        if clip.contains_rect(shape.visual_bounding_rect()) || clip == area {
            self.shape(shape);
            return;
        }
        let number = self.clips.iter().position(|known| *known == clip).unwrap_or_else(|| {
            self.clips.push(clip);
            self.clips.len() - 1
        });
        let _ = writeln!(self.text, "<g clip-path=\"url(#c{number})\">");
        self.shape(shape);
        self.text.push_str("</g>\n");
    }

    fn at(&self, point: Pos2) -> (String, String) {
        (n(point.x - self.origin.x), n(point.y - self.origin.y))
    }

    fn points(&self, points: &[Pos2]) -> String {
        let pairs: Vec<String> = points
            .iter()
            .filter(|point| point.x.is_finite() && point.y.is_finite())
            .map(|point| {
                let (x, y) = self.at(*point);
                format!("{x},{y}")
            })
            .collect();
        pairs.join(" ")
    }

    fn shape(&mut self, shape: &Shape) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        match shape {
            Shape::Noop | Shape::Callback(_) => {}
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| self.shape(shape)),
            Shape::Circle(circle) => {
                let (x, y) = self.at(circle.center);
                let style = format!("{}{}", fill(circle.fill), stroke(circle.stroke));
                let _ =
                    writeln!(self.text, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\"{style}/>", n(circle.radius));
            }
            Shape::Ellipse(ellipse) => {
                let (x, y) = self.at(ellipse.center);
                let turn = turned(ellipse.angle, &x, &y);
                let (rx, ry) = (n(ellipse.radius.x), n(ellipse.radius.y));
                let style = format!("{}{}{turn}", fill(ellipse.fill), stroke(ellipse.stroke));
                let _ =
                    writeln!(self.text, "<ellipse cx=\"{x}\" cy=\"{y}\" rx=\"{rx}\" ry=\"{ry}\"{style}/>");
            }
            Shape::LineSegment { points: [from, to], stroke: line } => {
                let ((x1, y1), (x2, y2)) = (self.at(*from), self.at(*to));
                let line = stroke(*line);
                let _ = writeln!(self.text, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"{line}/>");
            }
            Shape::Path(path) => self.path(path),
            Shape::Band(band) => {
                // There and back: the upper edge, then the lower one.
                let upper = band.points.iter().map(|point| Pos2::new(point.x, point.y.max));
                let lower = band.points.iter().rev().map(|point| Pos2::new(point.x, point.y.min));
                let points: Vec<Pos2> = upper.chain(lower).collect();
                let (points, style) =
                    (self.points(&points), format!("{}{}", fill(band.fill), stroke(band.stroke)));
                let _ = writeln!(self.text, "<polygon points=\"{points}\"{style}/>");
            }
            Shape::Rect(rect) => {
                if rect.brush.is_some() {
                    return;
                }
                let (x, y) = self.at(rect.rect.min);
                let (width, height) = (n(rect.rect.width()), n(rect.rect.height()));
                let round = rect.corner_radius.average();
                let round = if round > 0.0 { format!(" rx=\"{}\"", n(round)) } else { String::new() };
                let style = format!("{}{}{round}", fill(rect.fill), stroke(rect.stroke));
                let _ = writeln!(
                    self.text,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{style}/>"
                );
            }
            Shape::Text(text) => self.words(text),
            Shape::Mesh(mesh) => self.mesh(mesh),
            Shape::QuadraticBezier(curve) => {
                let points = curve.flatten(Some(0.1));
                self.curve(points, curve.closed, curve.fill, &curve.stroke);
            }
            Shape::CubicBezier(curve) => {
                let points = curve.flatten(Some(0.1));
                self.curve(points, curve.closed, curve.fill, &curve.stroke);
            }
        }
    }

    fn curve(&mut self, points: Vec<Pos2>, closed: bool, fill: Color32, stroke: &PathStroke) {
        self.path(&PathShape { points, closed, fill, stroke: stroke.clone() });
    }

    fn path(&mut self, path: &PathShape) {
        let element = if path.closed { "polygon" } else { "polyline" };
        let bounds = Rect::from_points(&path.points);
        let style = format!("{}{}", fill(path.fill), path_stroke(&path.stroke, bounds));
        let points = self.points(&path.points);
        let _ = writeln!(self.text, "<{element} points=\"{points}\"{style}/>");
    }

    /// Each row of a text, with the places of its pieces of one colour.
    fn words(&mut self, text: &TextShape) {
        let format = text.galley.job.sections.first().map(|section| &section.format);
        let family = match format.map(|format| format.font_id.family.clone()) {
            Some(egui::FontFamily::Monospace) => "JetBrains Mono, monospace",
            _ => "Inter, sans-serif",
        };
        let size = format.map_or(12.0, |format| format.font_id.size);
        let own = format.map_or(text.fallback_color, |format| format.color);
        let own = if own == Color32::PLACEHOLDER { text.fallback_color } else { own };
        let color = fill(text.override_text_color.unwrap_or(own).gamma_multiply(text.opacity_factor));
        let (x0, y0) = self.at(text.pos);
        let turn = turned(text.angle, &x0, &y0);
        for row in &text.galley.rows {
            let (Some(first), words) = (row.row.glyphs.first(), row.row.text()) else { continue };
            if words.trim().is_empty() {
                continue;
            }
            let (x, y) = self.at(text.pos + row.pos.to_vec2() + first.pos.to_vec2());
            let words = escaped(&words);
            let _ = writeln!(
                self.text,
                "<text x=\"{x}\" y=\"{y}\" font-family=\"{family}\" font-size=\"{}\" xml:space=\"preserve\"{color}{turn}>{words}</text>",
                n(size)
            );
        }
    }

    /// A quarter of a picture that is drawn over a quadrangle: the whole of it, placed by a matrix and cut to that.
    fn picture(&mut self, mesh: &Mesh, picture: &ColorImage) {
        let [a, b, .., d] = mesh.vertices.as_slice() else { return };
        let (across, down) = (b.uv - a.uv, d.uv - a.uv);
        let turn = across.x * down.y - across.y * down.x;
        if turn.abs() < f32::EPSILON || mesh.vertices.len() != 4 {
            return;
        }
        let (right, below) = (b.pos - a.pos, d.pos - a.pos);
        // Where the unit vectors of the picture go.
        let u = (right * down.y - below * across.y) / turn;
        let v = (below * across.x - right * down.x) / turn;
        let corner = a.pos - u * a.uv.x - v * a.uv.y - self.origin.to_vec2();
        let Some(png) = png(picture) else { return };
        let bounds = Rect::from_points(&mesh.vertices.iter().map(|vertex| vertex.pos).collect::<Vec<_>>());
        self.clips.push(bounds);
        let opacity = match a.color {
            Color32::WHITE => String::new(),
            color => format!(" opacity=\"{}\"", n(f32::from(color.a()) / 255.0)),
        };
        let _ = writeln!(
            self.text,
            "<g clip-path=\"url(#c{})\"><image width=\"1\" height=\"1\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\"{opacity} \
             transform=\"matrix({} {} {} {} {} {})\" href=\"data:image/png;base64,{png}\"/></g>",
            self.clips.len() - 1,
            u.x,
            u.y,
            v.x,
            v.y,
            corner.x,
            corner.y
        );
    }

    /// Triangles of one colour each; a picture.
    fn mesh(&mut self, mesh: &Mesh) {
        let untextured = mesh.texture_id == TextureId::default()
            && mesh.vertices.iter().all(|vertex| vertex.uv == egui::epaint::WHITE_UV);
        if !untextured {
            if let Some(picture) = (self.picture_of)(mesh.texture_id) {
                self.picture(mesh, &picture);
            }
            return;
        }
        for triangle in mesh.indices.chunks_exact(3) {
            let corners: Vec<_> = triangle.iter().filter_map(|at| mesh.vertices.get(*at as usize)).collect();
            let [a, b, c] = corners.as_slice() else { continue };
            let points = self.points(&[a.pos, b.pos, c.pos]);
            let color = fill(a.color);
            let _ = writeln!(self.text, "<polygon points=\"{points}\"{color}/>");
        }
    }
}

/// A picture as PNG in base64.
fn png(picture: &ColorImage) -> Option<String> {
    use image::codecs::png::{CompressionType, FilterType, PngEncoder};
    let pixels: Vec<u8> = picture.pixels.iter().flat_map(|pixel| pixel.to_srgba_unmultiplied()).collect();
    let [width, height] = picture.size.map(|side| side as u32);
    let mut out = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut out, CompressionType::Fast, FilterType::NoFilter);
    let written =
        image::ImageEncoder::write_image(encoder, &pixels, width, height, image::ExtendedColorType::Rgba8);
    written.is_ok().then(|| base64::engine::general_purpose::STANDARD.encode(out))
}

fn turned(angle: f32, x: &str, y: &str) -> String {
    match angle {
        0.0 => String::new(),
        angle => format!(" transform=\"rotate({} {x} {y})\"", n(angle.to_degrees())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{pos2, vec2};

    #[test]
    fn shapes_are_elements_and_what_lies_outside_is_not() {
        let area = Rect::from_min_size(pos2(10.0, 20.0), vec2(100.0, 50.0));
        let clipped = |clip_rect: Rect, shape: Shape| ClippedShape {
            clip_rect,
            shape,
            transform_after_tessellation: Default::default(),
        };
        let line = Shape::line_segment([pos2(20.0, 30.0), pos2(60.0, 40.5)], Stroke::new(1.5, Color32::RED));
        let far = Shape::circle_filled(pos2(500.0, 500.0), 3.0, Color32::BLUE);
        let wide = Shape::rect_filled(Rect::EVERYTHING.intersect(area.expand(40.0)), 0.0, Color32::GREEN);
        let inner = Rect::from_min_size(pos2(15.0, 25.0), vec2(10.0, 10.0));
        let text = svg(
            &[clipped(area, line), clipped(area, far), clipped(inner, wide)],
            area,
            Color32::BLACK,
            &|_| None,
        );
        assert!(
            text.contains(
                "<line x1=\"10\" y1=\"10\" x2=\"50\" y2=\"20.5\" stroke=\"#ff0000\" stroke-width=\"1.5\"/>"
            ),
            "{text}"
        );
        assert!(!text.contains("circle") && text.contains("clip-path=\"url(#c0)\""), "{text}");
        assert!(text.starts_with("<svg xmlns") && text.ends_with("</svg>\n"));
        let mut reader = quick_xml::Reader::from_str(&text);
        loop {
            match reader.read_event() {
                Ok(quick_xml::events::Event::Eof) => break,
                Ok(_) => {}
                Err(error) => panic!("{error} in {text}"),
            }
        }
    }

    #[test]
    fn pictures_are_embedded_where_they_are_drawn() {
        let area = Rect::from_min_size(pos2(10.0, 20.0), vec2(100.0, 50.0));
        let mut mesh = Mesh::with_texture(TextureId::User(7));
        // The left half of a picture, upside down, 40 points wide and 20 high.
        for (pos, uv) in [
            (pos2(20.0, 60.0), pos2(0.0, 0.0)),
            (pos2(60.0, 60.0), pos2(0.5, 0.0)),
            (pos2(60.0, 40.0), pos2(0.5, 1.0)),
            (pos2(20.0, 40.0), pos2(0.0, 1.0)),
        ] {
            mesh.vertices.push(egui::epaint::Vertex { pos, uv, color: Color32::WHITE });
        }
        mesh.indices = vec![0, 1, 2, 0, 2, 3];
        let shape = ClippedShape {
            clip_rect: area,
            shape: Shape::mesh(mesh),
            transform_after_tessellation: Default::default(),
        };
        let picture = Arc::new(ColorImage::filled([4, 2], Color32::RED));
        let known = |id| (id == TextureId::User(7)).then(|| picture.clone());
        let text = svg(std::slice::from_ref(&shape), area, Color32::BLACK, &known);
        // The whole is 80 wide; its first row lies at the bottom.
        assert!(text.contains("matrix(80 0 0 -20 10 40)"), "{text}");
        assert!(text.contains("<rect x=\"10\" y=\"20\" width=\"40\" height=\"20\"/></clipPath>"), "{text}");
        let start = text.find("base64,").unwrap() + 7;
        let code = &text[start..start + text[start..].find('"').unwrap()];
        let bytes = base64::engine::general_purpose::STANDARD.decode(code).unwrap();
        let read = image::load_from_memory(&bytes).unwrap().into_rgba8();
        assert_eq!((read.dimensions(), read.get_pixel(3, 1).0), ((4, 2), [255, 0, 0, 255]));
        assert!(!svg(&[shape], area, Color32::BLACK, &|_| None).contains("<image"));
    }

    #[test]
    fn words_are_text() {
        let ctx = egui::Context::default();
        let mut shapes = Vec::new();
        let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
            ui.label("a < b & \"c\"");
        });
        // Nobody draws this.
        output.textures_delta.clear();
        shapes.extend(output.shapes);
        let area = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 200.0));
        let text = svg(&shapes, area, Color32::WHITE, &|_| None);
        assert!(text.contains("a &lt; b &amp; &quot;c&quot;</text>"), "{text}");
    }
}
