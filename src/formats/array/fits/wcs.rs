//! World coordinates: what the indices of an axis stand for, where that is a start and a step. Where it is a place
//! on the sky, [`super::sky`] tells.
//! <https://www.aanda.org/articles/aa/pdf/2002/45/aah3859.pdf>.

use super::header::Header;
use crate::data::axes::Heading;
use crate::data::content::array::Axis;

/// The axes of an image in the order of its shape: the last one is the first of FITS.
pub(super) fn axes(header: &Header, count: usize) -> Vec<Axis> {
    (1..=count).rev().map(|n| axis(header, n, count)).collect()
}

fn axis(header: &Header, n: usize, count: usize) -> Axis {
    let kind = header.text(&format!("CTYPE{n}")).unwrap_or_default().trim().to_owned();
    // `RA---TAN`: four letters of a name, and the projection behind them.
    let projected = kind.len() > 5 && kind.get(4..5) == Some("-") && !kind.ends_with('-');
    let name = kind.split('-').next().unwrap_or_default().to_owned();
    // The first pixel is the lower left one: section 3.3.1 leaves it open, all programs for the sky draw it so.
    let heading = (n == 2).then_some(Heading::Up);
    let mut axis = Axis { name, heading, ..Axis::default() };
    axis.unit = header.text(&format!("CUNIT{n}")).map(|unit| unit.trim().to_owned());
    if projected && axis.unit.is_none() {
        axis.unit = Some("deg".to_owned());
    }
    let turned = (1..=count).filter(|m| *m != n).any(|m| {
        let other = |prefix: &str| header.float(&format!("{prefix}{n}_{m}")).is_some_and(|v| v != 0.0);
        other("CD") || other("PC")
    }) || header.float(&format!("CROTA{n}")).is_some_and(|angle| angle != 0.0);
    let step = header.float(&format!("CD{n}_{n}")).or_else(|| {
        let own = header.float(&format!("PC{n}_{n}")).unwrap_or(1.0);
        header.float(&format!("CDELT{n}")).map(|step| step * own)
    });
    if let (false, false, Some(step)) = (projected, turned, step.filter(|step| *step != 0.0)) {
        let value = header.float(&format!("CRVAL{n}")).unwrap_or(0.0);
        // Pixels are counted from 1.
        let place = header.float(&format!("CRPIX{n}")).unwrap_or(0.0);
        axis.regular = Some((value + (1.0 - place) * step, step));
    }
    axis
}
