//! What was painted as SVG 1.1: lines stay lines, text stays text. <https://www.w3.org/TR/SVG11/>
//!
//! Textures (heat maps, pictures) are no shapes and are left out; they are exported as pictures.

use std::fmt::Write;

use egui::epaint::{ClippedShape, ColorMode, PathShape, PathStroke, TextShape};
use egui::{Color32, Mesh, Pos2, Rect, Shape, Stroke, TextureId};

/// The most shapes of a drawing: plots have as many points as pixels.
const MOST: usize = 1_000_000;

/// The shapes that lie in `area`, on this ground, as an SVG document whose unit is a point of the screen.
pub(crate) fn svg(shapes: &[ClippedShape], area: Rect, ground: Color32) -> String {
    let mut out = Drawing { text: String::new(), origin: area.min, clips: Vec::new(), left: MOST };
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

struct Drawing {
    text: String,
    origin: Pos2,
    clips: Vec<Rect>,
    /// How many more shapes there may be.
    left: usize,
}

impl Drawing {
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

    /// Triangles of one colour each; those with a texture are left out.
    fn mesh(&mut self, mesh: &Mesh) {
        let untextured = mesh.texture_id == TextureId::default()
            && mesh.vertices.iter().all(|vertex| vertex.uv == egui::epaint::WHITE_UV);
        if !untextured {
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
        let text =
            svg(&[clipped(area, line), clipped(area, far), clipped(inner, wide)], area, Color32::BLACK);
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
        let text = svg(&shapes, area, Color32::WHITE);
        assert!(text.contains("a &lt; b &amp; &quot;c&quot;</text>"), "{text}");
    }
}
