//! Places on the sky: pixels through a linear transformation and a zenithal projection, without distortions.
//! <https://www.aanda.org/articles/aa/pdf/2002/45/aah3860.pdf>.

use super::header::Header;
use crate::data::content::array::World;
use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

/// An image of the sky.
#[derive(Debug)]
struct Sky {
    names: [String; 2],
    projection: Projection,
    /// Degrees along the longitude and the latitude of the projection for a pixel along each axis of FITS.
    matrix: [Vec<f64>; 2],
    /// The pixel of the reference point along each axis of FITS, counted from 1.
    pixel: Vec<f64>,
    /// Longitude and latitude of the reference point, in radians.
    point: [f64; 2],
    /// The longitude of the sky's pole in the projection, in radians.
    pole: f64,
}

/// How the distance from the reference point is projected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Projection {
    /// Gnomonic.
    Tan,
    /// Orthographic.
    Sin,
    /// Equidistant.
    Arc,
    /// Stereographic.
    Stg,
    /// Of equal areas.
    Zea,
}

impl Projection {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "TAN" => Projection::Tan,
            "SIN" => Projection::Sin,
            "ARC" => Projection::Arc,
            "STG" => Projection::Stg,
            "ZEA" => Projection::Zea,
            _ => return None,
        })
    }

    /// The angle from the reference point at a distance in its plane, both in radians; `None` beyond the edge.
    fn angle(self, distance: f64) -> Option<f64> {
        match self {
            Projection::Tan => Some(distance.atan()),
            Projection::Sin => (distance <= 1.0).then(|| distance.asin()),
            Projection::Arc => (distance <= std::f64::consts::PI).then_some(distance),
            Projection::Stg => Some(2.0 * (distance / 2.0).atan()),
            Projection::Zea => (distance <= 2.0).then(|| 2.0 * (distance / 2.0).asin()),
        }
    }
}

/// What the pixels of an image of `count` axes are on the sky; `None` for other images, and where the header asks
/// for more than is done here.
pub(super) fn world(header: &Header, count: usize) -> Option<Arc<dyn World>> {
    let kinds: Vec<(String, &str)> = (1..=count).map(|n| kind(header, n)).collect();
    let find = |wanted: fn(&str) -> bool| kinds.iter().position(|(name, _)| wanted(name));
    let (lon, lat) = (
        find(|name| name == "RA" || name.ends_with("LON"))?,
        find(|name| name == "DEC" || name.ends_with("LAT"))?,
    );
    let ((lon_name, word), (lat_name, other)) = (kinds.get(lon)?, kinds.get(lat)?);
    let projection = Projection::named(word).filter(|_| word == other)?;
    let axes = [lon + 1, lat + 1];
    let degrees = |n: &usize| header.text(&format!("CUNIT{n}")).is_none_or(|unit| unit.trim() == "deg");
    // Parameters of the projection, or distortions by programs that keep them there.
    let bent = |n: &usize| (0..40).any(|m| header.get(&format!("PV{n}_{m}")).is_some());
    if !axes.iter().all(degrees) || axes.iter().any(bent) {
        return None;
    }
    let number = |name: &str, n: usize, usual: f64| header.float(&format!("{name}{n}")).unwrap_or(usual);
    let point = axes.map(|n| number("CRVAL", n, 0.0).to_radians());
    // In a zenithal projection the sky's pole lies straight up, unless it is the reference point itself.
    let highest = number("CRVAL", axes[1], 0.0) >= 90.0;
    let pole = header.float("LONPOLE").unwrap_or(if highest { 0.0 } else { 180.0 });
    Some(Arc::new(Sky {
        names: [lon_name.clone(), lat_name.clone()],
        projection,
        matrix: matrix(header, axes, count),
        pixel: (1..=count).map(|n| number("CRPIX", n, 0.0)).collect(),
        point,
        pole: pole.to_radians(),
    }))
}

/// Name and projection of an axis: `RA` and `TAN` of `RA---TAN`; no projection where more follows.
fn kind(header: &Header, n: usize) -> (String, &str) {
    let kind = header.text(&format!("CTYPE{n}")).unwrap_or_default().trim();
    let name = kind.split('-').next().unwrap_or_default().to_owned();
    (name, kind.get(5..).filter(|_| kind.get(4..5) == Some("-")).unwrap_or_default())
}

/// The rows of longitude and latitude of the linear transformation, in degrees a pixel.
fn matrix(header: &Header, [lon, lat]: [usize; 2], count: usize) -> [Vec<f64>; 2] {
    let element = |name: &str, i: usize, j: usize| header.float(&format!("{name}{i}_{j}"));
    let whole = [lon, lat].iter().any(|&i| (1..=count).any(|j| element("CD", i, j).is_some()));
    let step = |i: usize| header.float(&format!("CDELT{i}")).unwrap_or(1.0);
    // The older way to turn an image.
    let turn = header.float(&format!("CROTA{lat}")).unwrap_or(0.0).to_radians();
    let row = |i: usize| {
        let one = |j: usize| {
            let same = if i == j { 1.0 } else { 0.0 };
            if whole {
                return element("CD", i, j).unwrap_or(0.0);
            }
            match (i, j) {
                _ if turn == 0.0 => step(i) * element("PC", i, j).unwrap_or(same),
                _ if i == j => step(i) * turn.cos(),
                (i, j) if i == lon && j == lat => -step(lat) * turn.sin(),
                (i, j) if i == lat && j == lon => step(lon) * turn.sin(),
                _ => 0.0,
            }
        };
        (1..=count).map(one).collect()
    };
    [row(lon), row(lat)]
}

impl Sky {
    /// Longitude and latitude of an element, in degrees.
    fn place(&self, index: &[u64]) -> Option<[f64; 2]> {
        if index.len() != self.pixel.len() {
            return None;
        }
        // The last index is the first axis of FITS; pixels are counted from 1.
        let offsets = || index.iter().rev().zip(&self.pixel).map(|(&at, pixel)| at as f64 + 1.0 - pixel);
        let along = |row: &Vec<f64>| row.iter().zip(offsets()).map(|(a, b)| a * b).sum::<f64>().to_radians();
        let (x, y) = (along(&self.matrix[0]), along(&self.matrix[1]));
        let height = FRAC_PI_2 - self.projection.angle(x.hypot(y))?;
        let turn = x.atan2(-y) - self.pole;
        let [lon, lat] = self.point;
        let east = -height.cos() * turn.sin();
        let north = height.sin() * lat.cos() - height.cos() * lat.sin() * turn.cos();
        let up = height.sin() * lat.sin() + height.cos() * lat.cos() * turn.cos();
        let place = [
            (lon + east.atan2(north)).to_degrees().rem_euclid(360.0),
            up.clamp(-1.0, 1.0).asin().to_degrees(),
        ];
        place.iter().all(|angle| angle.is_finite()).then_some(place)
    }
}

impl World for Sky {
    fn at(&self, index: &[u64]) -> Vec<(String, f64, String)> {
        let Some(place) = self.place(index) else { return Vec::new() };
        self.names.iter().cloned().zip(place).map(|(name, angle)| (name, angle, "deg".to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::bytes::task::Task;

    fn header(cards: &[(&str, &str)]) -> Header {
        let card = |(name, value): &(&str, &str)| format!("{:80}", format!("{name:8}= {value:>20}"));
        let mut text: String =
            [("SIMPLE", "T"), ("BITPIX", "8"), ("NAXIS", "0")].iter().chain(cards).map(card).collect();
        text += &format!("{:80}", "END");
        let blocks = text.len().div_ceil(2880) * 2880;
        Header::read(&Task::new(), &Source::memory("a", format!("{text:blocks$}").into_bytes()), 0).unwrap()
    }

    /// The places of three pixels of an image of 600 columns and 400 rows.
    fn places(cards: &[(&str, &str)]) -> Vec<f64> {
        let usual =
            [("CRPIX1", "300.5"), ("CRPIX2", "200.5"), ("CRVAL1", "10.68458"), ("CRVAL2", "41.26917")];
        let all: Vec<_> = usual
            .into_iter()
            .filter(|(name, _)| cards.iter().all(|card| card.0 != *name))
            .chain(cards.iter().copied())
            .collect();
        let world = world(&header(&all), 2).unwrap();
        [[0, 0], [399, 599], [7, 300]].iter().flat_map(|at| world.at(at)).map(|(_, angle, _)| angle).collect()
    }

    fn near(got: &[f64], wanted: &[f64]) {
        let off = got.iter().zip(wanted).any(|(a, b)| (a - b).abs() > 1e-9);
        assert!(got.len() == wanted.len() && !off, "{got:?}, not {wanted:?}");
    }

    const TAN: [(&str, &str); 2] = [("CTYPE1", "'RA---TAN'"), ("CTYPE2", "'DEC--TAN'")];

    /// What astropy says of the same headers.
    #[test]
    fn pixels_lie_where_the_reference_says() {
        let with = |more: &[(&'static str, &'static str)]| places(&[&TAN[..], more].concat());
        let (tenth, step) =
            ([("CDELT1", "-0.1"), ("CDELT2", "0.1")], [("CDELT1", "-0.01"), ("CDELT2", "0.01")]);
        let cd = [("CD1_1", "-0.001"), ("CD1_2", "0.0002"), ("CD2_1", "0.0003"), ("CD2_2", "0.0011")];
        near(
            &with(&cd),
            &[
                11.028335039129553,
                40.9593625177604,
                10.33755254012534,
                41.577945269697764,
                10.632859657851748,
                41.05755940048923,
            ],
        );
        near(
            &with(&tenth),
            &[
                38.7285723211597,
                19.690677881013386,
                325.64211626725137,
                51.277515201661046,
                10.633204588588107,
                22.69805502903307,
            ],
        );
        near(
            &with(&[&step[..], &[("CROTA2", "30.0")]].concat()),
            &[
                15.434889799171259,
                40.941341313729666,
                5.90080637095946,
                41.400187496409885,
                11.927405755565873,
                39.59342277584137,
            ],
        );
        let turned =
            [("PC1_1", "0.8"), ("PC1_2", "-0.6"), ("PC2_1", "0.6"), ("PC2_2", "0.8"), ("LONPOLE", "150.0")];
        near(
            &with(&[&step[..], &turned].concat()),
            &[
                14.192976816879035,
                38.87901425717168,
                6.916198948181494,
                43.54486594392285,
                10.38052497993563,
                39.35890104582672,
            ],
        );
        near(
            &with(&[&step[..], &[("CRVAL1", "30.0"), ("CRVAL2", "90.0")]].concat()),
            &[
                266.3320117713909,
                86.40610299671455,
                86.3320117713909,
                86.40610299671455,
                209.851180128143,
                88.07571733566277,
            ],
        );
    }

    #[test]
    fn other_projections_reach_as_far_as_they_do() {
        let of = |word: &str| {
            let kinds = [format!("'RA---{word}'"), format!("'DEC--{word}'")];
            places(&[
                ("CTYPE1", kinds[0].as_str()),
                ("CTYPE2", kinds[1].as_str()),
                ("CDELT1", "-0.1"),
                ("CDELT2", "0.1"),
            ])
        };
        near(&of("SIN")[..2], &[43.3746377280637, 14.569703547035587]);
        near(&of("ARC")[..2], &[41.40226501164321, 16.7909510207699]);
        near(&of("STG")[..2], &[40.6360561910532, 17.63552903336888]);
        near(&of("ZEA")[..2], &[41.8239719074365, 16.32163500091462]);
        // Beyond the edge of the hemisphere there is nothing.
        let wide =
            [("CTYPE1", "'RA---SIN'"), ("CTYPE2", "'DEC--SIN'"), ("CDELT1", "-1.0"), ("CDELT2", "1.0")];
        assert!(places(&wide).is_empty());
    }

    #[test]
    fn what_is_not_known_exactly_is_not_said() {
        let none = |cards: &[(&str, &str)]| world(&header(cards), 2).is_none();
        assert!(none(&[("CTYPE1", "'RA---TAN-SIP'"), ("CTYPE2", "'DEC--TAN-SIP'")]));
        assert!(none(&[("CTYPE1", "'RA---CAR'"), ("CTYPE2", "'DEC--CAR'")]));
        assert!(
            none(&[&TAN[..], &[("PV2_1", "0.5")]].concat())
                && none(&[&TAN[..], &[("CUNIT1", "'arcsec'")]].concat())
        );
        assert!(none(&[("CTYPE1", "'FREQ'"), ("CTYPE2", "'DEC--TAN'")]) && none(&[]));
        // Also where the latitude comes first.
        let swapped = [
            ("CTYPE1", "'GLAT-TAN'"),
            ("CTYPE2", "'GLON-TAN'"),
            ("CDELT1", "0.01"),
            ("CDELT2", "-0.01"),
            ("CROTA1", "30.0"),
        ];
        near(&places(&swapped)[..2], &[44.53060469728993, 9.07427111481556]);
    }
}
