//! What axes go through — places, time, channels — by the names and units that files give them, whatever their
//! format; and units as they are written beside numbers.

/// What an axis goes through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisKind {
    /// Places from left to right: x, columns, longitude.
    X,
    /// Places up and down a picture: y, rows, latitude.
    Y,
    /// Places in the depth or height: z, levels.
    Z,
    /// Time, or pictures one after the other.
    Time,
    /// Colours, bands, what else was measured at the same place.
    Channel,
    /// Nothing of these, or not known.
    #[default]
    Other,
}

impl AxisKind {
    /// Whether it goes through places.
    pub fn is_place(self) -> bool {
        matches!(self, AxisKind::X | AxisKind::Y | AxisKind::Z)
    }

    fn named(name: &str) -> Option<AxisKind> {
        let name = name.trim().to_ascii_lowercase();
        Some(match name.strip_suffix("_stag").unwrap_or(&name) {
            "x" | "i" | "xc" | "lon" | "longitude" | "rlon" | "easting" | "west_east" | "ra" | "glon"
            | "elon" | "column" | "columns" => AxisKind::X,
            "y" | "j" | "yc" | "lat" | "latitude" | "rlat" | "northing" | "south_north" | "dec" | "glat"
            | "elat" | "row" | "rows" => AxisKind::Y,
            "z" | "k" | "lev" | "level" | "plev" | "depth" | "height" | "altitude" | "alt" | "bottom_top" => {
                AxisKind::Z
            }
            "t" | "time" | "frame" | "frames" => AxisKind::Time,
            "c" | "ch" | "channel" | "channels" | "band" | "bands" => AxisKind::Channel,
            _ => return None,
        })
    }

    fn measured(unit: &str) -> Option<AxisKind> {
        let unit = unit.trim().to_ascii_lowercase().replace('_', "");
        Some(match unit.as_str() {
            "degreeseast" | "degreeeast" | "degreee" | "degreese" => AxisKind::X,
            "degreesnorth" | "degreenorth" | "degreen" | "degreesn" => AxisKind::Y,
            other if matches!(short_unit(other), "s" | "ms" | "µs" | "ns" | "min" | "h" | "d") => {
                AxisKind::Time
            }
            _ => return None,
        })
    }
}

/// An axis as a file describes it.
pub(super) struct Described<'a> {
    pub(super) name: &'a str,
    pub(super) unit: Option<&'a str>,
    /// Whether its coordinates are dates.
    pub(super) dated: bool,
    /// The direction of a body that it leads along, 0 to 2.
    pub(super) direction: Option<usize>,
}

/// The kinds of the axes of an array.
pub(super) fn kinds(axes: &[Described<'_>]) -> Vec<AxisKind> {
    // Without a third, i and j are the row and column of a matrix.
    let body = axes.iter().any(|axis| matches!(axis.name, "k" | "z"));
    let kind = |axis: &Described<'_>| {
        if axis.dated {
            return AxisKind::Time;
        }
        match axis.direction {
            Some(0) => return AxisKind::X,
            Some(1) => return AxisKind::Y,
            Some(_) => return AxisKind::Z,
            None => {}
        }
        let name = Some(axis.name).filter(|name| body || !matches!(*name, "i" | "j"));
        let unit = axis.unit.unwrap_or_default();
        let east_or_north = AxisKind::measured(unit).filter(|kind| kind.is_place());
        east_or_north
            .or_else(|| AxisKind::named(name?))
            .or_else(|| AxisKind::measured(unit))
            .unwrap_or_default()
    };
    axes.iter().map(kind).collect()
}

/// Whether a unit is that of latitudes or longitudes.
pub(super) fn is_degrees_of_earth(unit: &str) -> bool {
    AxisKind::measured(unit).is_some_and(AxisKind::is_place)
}

/// A unit in the form that stands beside a number: `µm` for `micrometer`. Others stay as they are.
pub(super) fn short_unit(unit: &str) -> &str {
    match unit.trim() {
        "meter" | "metre" | "meters" | "metres" => "m",
        "centimeter" | "centimetre" | "centimeters" => "cm",
        "millimeter" | "millimetre" | "millimeters" => "mm",
        "um" | "μm" | "micron" | "microns" | "micrometer" | "micrometre" | "micrometers" => "µm",
        "nanometer" | "nanometre" | "nanometers" => "nm",
        "angstrom" | "angstroms" => "Å",
        "second" | "seconds" | "sec" => "s",
        "millisecond" | "milliseconds" | "msec" => "ms",
        "us" | "μs" | "microsecond" | "microseconds" => "µs",
        "nanosecond" | "nanoseconds" => "ns",
        "minute" | "minutes" => "min",
        "hour" | "hours" => "h",
        "day" | "days" => "d",
        other => other,
    }
}

/// Whether steps in two units can be compared as they are.
pub(super) fn same_unit(a: &str, b: &str) -> bool {
    let plain = |unit: &str| match short_unit(unit) {
        degrees if degrees.to_ascii_lowercase().starts_with("deg") && !degrees.contains('C') => {
            "deg".to_owned()
        }
        other => other.to_owned(),
    };
    plain(a) == plain(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_units_tell_what_axes_go_through() {
        let plain = |name| Described { name, unit: None, dated: false, direction: None };
        let of = |names: &[&'static str]| kinds(&names.iter().map(|name| plain(name)).collect::<Vec<_>>());
        assert_eq!(of(&["x", "Y", "z", "t"]), [AxisKind::X, AxisKind::Y, AxisKind::Z, AxisKind::Time]);
        assert_eq!(of(&["i", "j", "k"]), [AxisKind::X, AxisKind::Y, AxisKind::Z]);
        assert_eq!(of(&["i", "j", "z"]), [AxisKind::X, AxisKind::Y, AxisKind::Z]);
        assert_eq!(of(&["i", "j"]), [AxisKind::Other; 2]);
        assert_eq!(of(&["c", "station", ""]), [AxisKind::Channel, AxisKind::Other, AxisKind::Other]);
        let one =
            |name, unit, dated| kinds(&[Described { name, unit: Some(unit), dated, direction: None }])[0];
        assert_eq!(one("nav", "degrees_east", false), AxisKind::X);
        assert_eq!(one("u", "second", false), AxisKind::Time);
        assert_eq!(one("z", "days since 2000-01-01", true), AxisKind::Time);
        assert_eq!(one("depth", "m", false), AxisKind::Z);
    }

    #[test]
    fn units_are_short_and_compared() {
        assert_eq!((short_unit("micrometer"), short_unit("degrees_north")), ("µm", "degrees_north"));
        assert!(same_unit("degrees_north", "degrees_east") && same_unit("um", "micrometer"));
        assert!(!same_unit("degC", "deg") && !same_unit("m", "mm"));
    }
}
