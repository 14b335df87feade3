//! Where the elements of a line lie along it: at even distances, or where an uneven coordinate says. Times of
//! unequal months, pressure levels, latitudes of a Gaussian grid stand at their places then.

use crate::data::region::Span;
use std::sync::Arc;

/// Steps that differ by less than this share of their mean are even: coordinates are often rounded.
const EVEN: f64 = 1e-3;

/// The coordinates of an axis that are not even.
#[derive(Debug, PartialEq)]
pub struct UnevenCoordinates {
    /// One an index, rising; the negatives of those that fall.
    places: Vec<f64>,
    falling: bool,
}

/// The distance between neighbours of coordinates that rise or fall evenly.
pub(super) fn even_step(values: &[f64]) -> Option<f64> {
    let mean = (values.last()? - values.first()?) / (values.len() as f64 - 1.0);
    let even = |[here, next]: &[f64; 2]| (next - here - mean).abs() <= mean.abs() * EVEN;
    (mean.is_finite() && mean != 0.0 && values.array_windows().all(even)).then_some(mean.abs())
}

impl UnevenCoordinates {
    /// These coordinates, where they rise or fall all along and not evenly.
    pub(super) fn of(values: &[f64]) -> Option<UnevenCoordinates> {
        let (first, last) = (values.first()?, values.last()?);
        let falling = last < first;
        let places: Vec<f64> = values.iter().map(|value| if falling { -value } else { *value }).collect();
        let steps = || places.array_windows().map(|[here, next]| next - here);
        let rising = places.iter().all(|place| place.is_finite()) && steps().all(|step| step > 0.0);
        let even = even_step(values).is_some() || !(last - first).is_finite();
        (values.len() > 2 && rising && !even).then_some(UnevenCoordinates { places, falling })
    }
}

/// From positions along a line to places on the x axis and back.
pub struct LinePositions {
    uneven: Option<Arc<UnevenCoordinates>>,
    span: Span,
}

impl LinePositions {
    /// Of a line that takes `span` of an axis.
    pub fn new(uneven: Option<Arc<UnevenCoordinates>>, span: Span) -> Self {
        LinePositions { uneven, span }
    }

    /// Whether places are positions.
    pub fn is_even(&self) -> bool {
        self.uneven.is_none()
    }

    /// The place of a position. Beyond the ends it goes on as the last step does.
    pub fn at(&self, position: f64) -> f64 {
        let Some(uneven) = &self.uneven else { return position };
        let index = self.span.start as f64 + position * self.span.step as f64;
        let last = uneven.places.len().saturating_sub(2);
        let low = (index.max(0.0) as usize).min(last);
        let [a, b] = [low, low + 1].map(|n| uneven.places.get(n).copied().unwrap_or(0.0));
        a + (b - a) * (index - low as f64)
    }

    /// The position of a place.
    pub fn position(&self, place: f64) -> f64 {
        let Some(uneven) = &self.uneven else { return place };
        let last = uneven.places.len().saturating_sub(2);
        let low = uneven.places.partition_point(|other| *other <= place).saturating_sub(1).min(last);
        let [a, b] = [low, low + 1].map(|n| uneven.places.get(n).copied().unwrap_or(0.0));
        let index = low as f64 + (place - a) / (b - a);
        (index - self.span.start as f64) / self.span.step.max(1) as f64
    }

    /// The coordinate of a place: falling ones lie turned round.
    pub fn coordinate(&self, place: f64) -> f64 {
        if self.uneven.as_ref().is_some_and(|uneven| uneven.falling) { -place } else { place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_coordinates_that_go_one_way_unevenly_count() {
        assert!(UnevenCoordinates::of(&[1.0, 2.0, 4.0]).is_some());
        assert!(UnevenCoordinates::of(&[1000.0, 850.0, 500.0, 10.0]).is_some());
        for even in [&[0.0, 1.0, 2.0][..], &[0.1, 0.2, 0.3, 0.4], &[5.0, 1.0], &[90.0, 87.5, 85.0], &[]] {
            assert_eq!(UnevenCoordinates::of(even), None, "{even:?}");
        }
        assert_eq!((even_step(&[90.0, 87.5, 85.0]), even_step(&[0.0, 1.0, 3.0])), (Some(2.5), None));
        assert_eq!(
            (even_step(&[1.0]), even_step(&[1.0, f64::NAN, 3.0]), even_step(&[2.0, 2.0])),
            (None, None, None)
        );
        for wild in [[0.0, 2.0, 1.0], [0.0, 0.0, 1.0], [0.0, f64::NAN, 1.0], [0.0, 1.0, f64::INFINITY]] {
            assert_eq!(UnevenCoordinates::of(&wild), None, "{wild:?}");
        }
        // Rounded to single precision.
        let rounded: Vec<f64> = (0..1440).map(|n| f64::from(n as f32 * 0.25 - 179.9)).collect();
        assert_eq!(UnevenCoordinates::of(&rounded), None);
    }

    #[test]
    fn places_and_positions_are_each_others_reverse() {
        let months = UnevenCoordinates::of(&[0.0, 31.0, 59.0, 90.0, 120.0]).map(Arc::new);
        let positions = LinePositions::new(months.clone(), Span::all(5));
        assert_eq!(
            (positions.at(0.0), positions.at(2.0), positions.at(2.5), positions.at(4.0)),
            (0.0, 59.0, 74.5, 120.0)
        );
        assert_eq!((positions.at(-1.0), positions.at(5.0)), (-31.0, 150.0));
        for position in [-0.5, 0.0, 0.25, 1.0, 3.75, 4.0, 4.5] {
            assert!((positions.position(positions.at(position)) - position).abs() < 1e-9, "{position}");
        }
        // Every second from the first on.
        let positions = LinePositions::new(months, Span { start: 1, count: 2, step: 2 });
        assert_eq!((positions.at(0.0), positions.at(1.0), positions.position(90.0)), (31.0, 90.0, 1.0));
        let levels =
            LinePositions::new(UnevenCoordinates::of(&[1000.0, 850.0, 500.0]).map(Arc::new), Span::all(3));
        assert!(levels.at(0.0) < levels.at(1.0) && levels.coordinate(levels.at(1.0)) == 850.0);
        let even = LinePositions::new(None, Span::all(9));
        assert_eq!((even.at(3.5), even.position(3.5), even.coordinate(2.0)), (3.5, 3.5, 2.0));
    }
}
