//! Where the growing indices of an axis lead, and which way round a plane of two axes is drawn for it: anatomy as
//! neurologists or radiologists look at it, maps with north up, images of the sky with their first row at the bottom.
//!
//! Directions in space are those of NIfTI (RAS: right, anterior, superior;
//! <https://nipy.org/nibabel/coordinate_systems.html>). Planes stand as in nibabel's and FSL's viewers.

use crate::data::plane::Orientation;

/// Where growing indices of an axis lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// To the right of a body.
    Right,
    /// To its left.
    Left,
    /// To its front.
    Anterior,
    /// To its back.
    Posterior,
    /// To its head.
    Superior,
    /// To its feet.
    Inferior,
    /// North on a map.
    North,
    /// South on a map.
    South,
    /// East on a map.
    East,
    /// West on a map.
    West,
    /// Up the picture, by the convention of the format.
    Up,
}

impl Heading {
    /// The heading along a direction of RAS space (0 to 2), or against it.
    pub fn in_body(direction: usize, forward: bool) -> Option<Heading> {
        Some(match (direction, forward) {
            (0, true) => Heading::Right,
            (0, false) => Heading::Left,
            (1, true) => Heading::Anterior,
            (1, false) => Heading::Posterior,
            (2, true) => Heading::Superior,
            (2, false) => Heading::Inferior,
            _ => return None,
        })
    }

    /// Whether it is a direction of a body.
    pub fn is_anatomical(self) -> bool {
        self.direction().is_some()
    }

    /// The direction of RAS space (0 to 2) that it lies along.
    pub fn direction(self) -> Option<usize> {
        match self {
            Heading::Right | Heading::Left => Some(0),
            Heading::Anterior | Heading::Posterior => Some(1),
            Heading::Superior | Heading::Inferior => Some(2),
            _ => None,
        }
    }

    /// The way back.
    fn back(self) -> Option<Heading> {
        Some(match self {
            Heading::Right => Heading::Left,
            Heading::Left => Heading::Right,
            Heading::Anterior => Heading::Posterior,
            Heading::Posterior => Heading::Anterior,
            Heading::Superior => Heading::Inferior,
            Heading::Inferior => Heading::Superior,
            Heading::North => Heading::South,
            Heading::South => Heading::North,
            Heading::East => Heading::West,
            Heading::West => Heading::East,
            Heading::Up => return None,
        })
    }

    /// The letter at the edge that it leads to.
    fn letter(self) -> Option<&'static str> {
        Some(match self {
            Heading::Right => "R",
            Heading::Left => "L",
            Heading::Anterior => "A",
            Heading::Posterior => "P",
            Heading::Superior => "S",
            Heading::Inferior => "I",
            Heading::North => "N",
            Heading::South => "S",
            Heading::East => "E",
            Heading::West => "W",
            Heading::Up => return None,
        })
    }

    /// Whether it leads to the left of a plane when it goes across.
    fn leads_left(self, radiological: bool) -> bool {
        match self {
            Heading::Right => radiological,
            Heading::Left => !radiological,
            Heading::Posterior | Heading::Inferior | Heading::South | Heading::West => true,
            _ => false,
        }
    }

    /// Whether it leads up a plane when it goes down the rows as they are stored.
    fn leads_up(self) -> bool {
        matches!(self, Heading::Right | Heading::Anterior | Heading::Superior | Heading::North | Heading::Up)
    }
}

/// Where the rows and the columns of a plane lead, by which it is drawn the right way up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaneHeadings {
    /// The heading of the axis that goes down the rows.
    pub rows: Option<Heading>,
    /// The heading of the axis that goes across the columns.
    pub columns: Option<Heading>,
}

impl PlaneHeadings {
    /// The mirror and turn that bring it the right way up; the right of a body stands at the left for radiologists.
    pub fn orientation(self, radiological: bool) -> Orientation {
        let mut turn = Orientation::default();
        if self.columns.is_some_and(|heading| heading.leads_left(radiological)) {
            turn.flip_horizontal();
        }
        if self.rows.is_some_and(Heading::leads_up) {
            turn.flip_vertical();
        }
        turn
    }

    /// Whether anything is known.
    pub fn is_known(self) -> bool {
        self.rows.is_some() || self.columns.is_some()
    }

    /// Whether the right and the left of a body lie in the plane, across it.
    pub fn is_sided(self) -> bool {
        self.columns.and_then(Heading::direction) == Some(0)
    }

    /// The letters at the left, right, upper and lower edge of the plane, as it is seen with this turn.
    pub fn letters(self, turn: Orientation) -> [Option<&'static str>; 4] {
        let origin = turn.forward([1.0, 1.0], [0.0, 0.0]);
        let mut letters = [None; 4];
        for (heading, end) in [(self.columns, [1.0, 0.0]), (self.rows, [0.0, 1.0])] {
            let (there, back) = (heading.and_then(Heading::letter), heading.and_then(Heading::back));
            let to = turn.forward([1.0, 1.0], end);
            let (low, high) = if to[0] != origin[0] { (0, 1) } else { (2, 3) };
            let grows = to[0] > origin[0] || to[1] > origin[1];
            let ends = [back.and_then(Heading::letter), there];
            let [first, last] = if grows { ends } else { [ends[1], ends[0]] };
            for (place, letter) in [(low, first), (high, last)] {
                if let Some(edge) = letters.get_mut(place) {
                    *edge = letter;
                }
            }
        }
        letters
    }

    /// What is done for it in words: `north up`.
    pub fn words(self, radiological: bool) -> &'static str {
        let any = |wanted: fn(Heading) -> bool| [self.rows, self.columns].into_iter().flatten().any(wanted);
        if any(Heading::is_anatomical) {
            return match (self.is_sided(), radiological) {
                (true, true) => "radiological: right at the left",
                (true, false) => "neurological: right at the right",
                (false, _) => "upright",
            };
        }
        match self.rows {
            Some(Heading::Up) => "row 0 at the bottom",
            Some(Heading::North | Heading::South) => "north up",
            _ => "east at the right",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters at the left, right, top and bottom.
    fn seen(rows: Heading, columns: Heading, radiological: bool) -> String {
        let facing = PlaneHeadings { rows: Some(rows), columns: Some(columns) };
        let letters = facing.letters(facing.orientation(radiological));
        letters.map(|letter| letter.unwrap_or("-")).concat()
    }

    #[test]
    fn planes_stand_upright_whichever_way_they_are_stored() {
        for (rows, columns) in [
            (Heading::Anterior, Heading::Right),
            (Heading::Posterior, Heading::Right),
            (Heading::Anterior, Heading::Left),
            (Heading::Posterior, Heading::Left),
        ] {
            assert_eq!(seen(rows, columns, false), "LRAP");
            assert_eq!(seen(rows, columns, true), "RLAP");
        }
        // Only what lies across changes sides.
        assert_eq!(seen(Heading::Inferior, Heading::Posterior, true), "PASI");
        assert_eq!(seen(Heading::Superior, Heading::Left, false), "LRSI");
        assert_eq!(seen(Heading::North, Heading::East, false), "WENS");
        assert_eq!(seen(Heading::South, Heading::West, false), "WENS");
    }

    #[test]
    fn letters_follow_further_turns() {
        let facing = PlaneHeadings { rows: Some(Heading::Up), columns: None };
        assert_eq!(facing.letters(facing.orientation(false)), [None; 4]);
        assert_eq!(facing.words(false), "row 0 at the bottom");
        let facing = PlaneHeadings { rows: Some(Heading::Anterior), columns: Some(Heading::Right) };
        let mut turn = facing.orientation(false);
        turn.clockwise();
        // What was up stands at the right.
        assert_eq!(facing.letters(turn).map(Option::unwrap).concat(), "PALR");
        assert_eq!(facing.letters(Orientation::default()).map(Option::unwrap).concat(), "LRPA");
    }
}
