//! The types that NetCDF has, and how elements of others are kept: wider where that is exact, truth values as bytes as
//! xarray has them, times as counts since 1970 (CF), complex numbers along a dimension of their parts (nc-complex).
//! <https://docs.unidata.ucar.edu/netcdf-c/current/data_type.html>,
//! <https://cfconventions.org/cf-conventions/cf-conventions.html#time-coordinate>,
//! <https://nc-complex.readthedocs.io/en/latest/>

use super::Version;
use crate::bytes::error::{Error, Result};
use crate::data::dtype::{DType, TimeBase, TimeUnit};
use crate::data::format::{Loss, LossKind, loss, note};
use arrow::datatypes::DataType;

/// How the elements of a variable are kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    /// As numbers.
    Number(Number),
    /// As texts: NetCDF-4's strings, or characters along one more dimension.
    Text,
}

/// Numbers of one of NetCDF's types.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Their type.
    pub dtype: DType,
    /// What becomes of an element.
    pub change: Change,
    /// So many numbers are one element, along a dimension of their own.
    pub inner: Option<u64>,
}

/// What becomes of delivered elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The bytes stay.
    Same,
    /// Floats become wider ones.
    Floats,
    /// Halves that are the parts of complex numbers.
    Halves,
    /// Integers become doubles; those that no double is are an error.
    Doubles,
    /// Counts of time are multiplied.
    Times(i64),
    /// Counts of so many months become days.
    Months(i64),
}

impl Number {
    fn same(dtype: DType) -> Self {
        Number { dtype, change: Change::Same, inner: None }
    }

    /// The elements as NetCDF keeps them, little-endian.
    ///
    /// # Errors
    /// `Unsupported` for numbers that its type does not hold.
    pub fn changed(&self, from: &DType, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let times = |of: &dyn Fn(i64) -> Option<i64>| -> Result<Vec<u8>> {
            let mut out = Vec::with_capacity(bytes.len());
            for count in bytes.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)) {
                let made = if count == i64::MIN { Some(count) } else { of(count) };
                let made = made.ok_or_else(|| {
                    Error::unsupported(format!("the time {count} of {from} is too far away to be counted"))
                })?;
                match self.dtype {
                    DType::F64 => out.extend(exact(i128::from(made), made == i64::MIN)?.to_le_bytes()),
                    _ => out.extend(made.to_le_bytes()),
                }
            }
            Ok(out)
        };
        match self.change {
            Change::Same => Ok(bytes),
            Change::Floats => Ok(floats(from, &self.dtype, &bytes)),
            Change::Halves => Ok(floats(&DType::F16, &DType::F32, &bytes)),
            Change::Times(factor) => times(&|count| count.checked_mul(factor)),
            Change::Months(months) => times(&|count| days_to(count.checked_mul(months)?)),
            Change::Doubles => {
                let mut out = Vec::with_capacity(bytes.len());
                for b in bytes.as_chunks::<8>().0 {
                    let number = match from {
                        DType::U64 => i128::from(u64::from_le_bytes(*b)),
                        _ => i128::from(i64::from_le_bytes(*b)),
                    };
                    out.extend(exact(number, false)?.to_le_bytes());
                }
                Ok(out)
            }
        }
    }
}

fn floats(from: &DType, to: &DType, bytes: &[u8]) -> Vec<u8> {
    let mut values = Vec::new();
    from.decode(bytes, &mut values);
    let mut out = vec![0; values.len() * to.size() as usize];
    to.encode(&values, &mut out);
    out
}

/// An integer as the double that it is.
fn exact(number: i128, missing: bool) -> Result<f64> {
    let double = number as f64;
    match (missing, double as i128 == number) {
        (true, _) => Ok(f64::NAN),
        (false, true) => Ok(double),
        (false, false) => Err(Error::unsupported(format!(
            "{number} is no number that this version of NetCDF holds exactly; version=5 does"
        ))),
    }
}

/// The days from 1970-01-01 to the first day of a month, counted from January 1970.
fn days_to(month: i64) -> Option<i64> {
    // In years that begin in March, so that the day of a leap year is the last one.
    let month = month.checked_add(10)?;
    let (year, month) = (month.div_euclid(12).checked_add(1969)?, month.rem_euclid(12));
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year.checked_mul(365)?.checked_add(leaps)?.checked_add((153 * month + 2) / 5)?.checked_sub(719_468)
}

/// How elements of a type are kept; `None` for those that have no value.
pub fn stored(dtype: &DType, version: Version) -> Option<Stored> {
    let number = |dtype, change, inner| Some(Stored::Number(Number { dtype, change, inner }));
    let is_wide = version.is_wide();
    let signed =
        |wide: DType, narrow: DType| Some(Stored::Number(Number::same(if is_wide { wide } else { narrow })));
    let time = |change| number(if is_wide { DType::I64 } else { DType::F64 }, change, None);
    match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::F32 | DType::F64 => {
            Some(Stored::Number(Number::same(dtype.clone())))
        }
        DType::Bool => Some(Stored::Number(Number::same(DType::I8))),
        DType::U8 => signed(DType::U8, DType::I8),
        DType::U16 => signed(DType::U16, DType::I16),
        DType::U32 => signed(DType::U32, DType::I32),
        DType::I64 | DType::U64 if is_wide => Some(Stored::Number(Number::same(dtype.clone()))),
        DType::I64 | DType::U64 => number(DType::F64, Change::Doubles, None),
        DType::F16 | DType::BF16 | DType::Mini(_) => number(DType::F32, Change::Floats, None),
        DType::Blocks(_) => Some(Stored::Number(Number::same(DType::F32))),
        DType::Long(_) => number(DType::F64, Change::Floats, None),
        DType::C32 => number(DType::F32, Change::Halves, Some(2)),
        DType::C64 => number(DType::F32, Change::Same, Some(2)),
        DType::C128 => number(DType::F64, Change::Same, Some(2)),
        DType::Bytes(0) | DType::Void(0) | DType::Struct(_) => None,
        // Characters, as they are.
        DType::Bytes(size) => {
            number(DType::Bytes(1), Change::Same, Some(u64::from(*size)).filter(|size| *size > 1))
        }
        DType::Str(_) | DType::Variable(_) => Some(Stored::Text),
        DType::Void(size) => {
            number(if is_wide { DType::U8 } else { DType::I8 }, Change::Same, Some(u64::from(*size)))
        }
        DType::DateTime(unit) | DType::TimeDelta(unit) => {
            let is_date = matches!(dtype, DType::DateTime(_));
            let count = i64::from(unit.count);
            match unit.base {
                TimeBase::Month if is_date => time(Change::Months(count)),
                TimeBase::Year if is_date => time(Change::Months(count.checked_mul(12)?)),
                TimeBase::Week => time(Change::Times(count.checked_mul(7)?)),
                _ => time(Change::Times(count)),
            }
        }
    }
}

/// The unit of counts of time in CF's words; `None` where there is none.
pub fn unit(unit: TimeUnit, is_date: bool) -> Option<&'static str> {
    Some(match unit.base {
        TimeBase::Generic => return None,
        TimeBase::Year | TimeBase::Month if is_date => "days",
        TimeBase::Year => "years",
        TimeBase::Month => "months",
        TimeBase::Week | TimeBase::Day => "days",
        TimeBase::Hour => "hours",
        TimeBase::Minute => "minutes",
        TimeBase::Second => "seconds",
        TimeBase::Milli => "milliseconds",
        TimeBase::Micro => "microseconds",
        TimeBase::Nano => "nanoseconds",
        TimeBase::Pico => "picoseconds",
        TimeBase::Femto => "femtoseconds",
        TimeBase::Atto => "attoseconds",
    })
}

/// What is said of elements that are kept as others. `is_part`: of a column or field, whose type is that of a table.
pub fn told(dtype: &DType, stored: &Stored, version: Version, is_part: bool) -> Vec<Loss> {
    let said = |what: String| vec![note(LossKind::Type, what)];
    let maybe = |loss: Loss| if is_part { loss.if_any() } else { loss };
    match (dtype, stored) {
        (DType::Bool, _) => said("bool becomes int8 of 0 and 1, as xarray keeps it".to_owned()),
        (DType::F16 | DType::BF16 | DType::Mini(_), _) => said(format!("{dtype} becomes float32, exactly")),
        (DType::Long(_), _) => vec![
            note(LossKind::Type, format!("{dtype} becomes float64")),
            loss(LossKind::Precision, format!("digits of {dtype} that float64 has not are lost")).if_any(),
        ],
        (DType::DateTime(unit), Stored::Number(number)) => {
            let words =
                self::unit(*unit, true).map_or(String::new(), |word| format!(" of {word} since 1970-01-01"));
            said(format!("{dtype} becomes {}, counts{words}", number.dtype))
        }
        (DType::TimeDelta(unit), Stored::Number(number)) => {
            let words = self::unit(*unit, false).map_or(String::new(), |word| format!(" of {word}"));
            said(format!("{dtype} becomes {}, counts{words}", number.dtype))
        }
        (DType::Bytes(1), _) if version.has_strings() => Vec::new(),
        (DType::Bytes(_), _) => said("fixed bytes become characters".to_owned()),
        (_, Stored::Number(number)) if number.inner.is_some() => {
            let what = if dtype.is_complex() { "real and imaginary parts" } else { "bytes" };
            said(format!("{dtype} becomes {} along one more dimension, of its {what}", number.dtype))
        }
        (DType::I64 | DType::U64, Stored::Number(number)) if number.dtype == DType::F64 => said(format!(
            "{dtype} becomes float64; a number that it does not hold exactly stops the conversion"
        )),
        (DType::U8 | DType::U16 | DType::U32, Stored::Number(number)) if number.dtype != *dtype => {
            let what = format!("{dtype} becomes {} with the attribute _Unsigned", number.dtype);
            vec![note(LossKind::Type, what).if_any()]
        }
        (DType::Str(_), Stored::Text) if version.has_strings() => {
            let what = "text of a fixed width becomes text of any length";
            vec![maybe(note(LossKind::Type, what))]
        }
        (DType::Str(_), Stored::Text) => {
            let what = "text becomes characters along one more dimension, as long as the longest";
            vec![note(LossKind::Type, what).if_any()]
        }
        (DType::Variable(kind), Stored::Text) => texts(&kind.arrow, &kind.word, version, is_part),
        _ => Vec::new(),
    }
}

/// What is said of elements without a size, which become texts.
fn texts(arrow: &DataType, word: &str, version: Version, is_part: bool) -> Vec<Loss> {
    let is_text = matches!(arrow, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let mut all = Vec::new();
    if !is_text || word != "str" && !is_part {
        let kind = if arrow.is_nested() { LossKind::Nesting } else { LossKind::Type };
        let from = if is_text { word.to_owned() } else { crate::bytes::display::arrow_type(arrow) };
        all.push(note(kind, format!("NetCDF has no {from}: it becomes text")));
    }
    if !version.has_strings() {
        let what = "text becomes characters along one more dimension, as long as the longest";
        let loss = note(LossKind::Type, what);
        all.push(if is_part { loss.if_any() } else { loss });
    }
    all
}

/// The element that stands for null, which NetCDF's library writes where nothing was written (`NC_FILL_INT` and others);
/// NaN of floats.
pub fn fill(dtype: &DType) -> Vec<u8> {
    match dtype {
        DType::I8 => (-127i8).to_le_bytes().to_vec(),
        DType::I16 => (-32_767i16).to_le_bytes().to_vec(),
        DType::I32 => (-2_147_483_647i32).to_le_bytes().to_vec(),
        DType::I64 => (-9_223_372_036_854_775_806i64).to_le_bytes().to_vec(),
        DType::U8 => vec![255],
        DType::U16 => u16::MAX.to_le_bytes().to_vec(),
        DType::U32 => u32::MAX.to_le_bytes().to_vec(),
        DType::U64 => 18_446_744_073_709_551_614u64.to_le_bytes().to_vec(),
        DType::F32 => f32::NAN.to_le_bytes().to_vec(),
        DType::F64 => f64::NAN.to_le_bytes().to_vec(),
        other => vec![0; other.size() as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_days_and_doubles_are_exact() {
        // Of 1970-01, 1970-02, 2000-03, 1969-12, 1600-02.
        assert_eq!([0, 1, 362, -1, -4439].map(days_to), [0, 31, 11_017, -31, -135_109].map(Some));
        let years = DType::DateTime(TimeUnit { count: 1, base: TimeBase::Year });
        let Some(Stored::Number(number)) = stored(&years, Version::Four) else { panic!() };
        let bytes = [2i64, i64::MIN].iter().flat_map(|n| n.to_le_bytes()).collect();
        let wanted: Vec<u8> = [730i64, i64::MIN].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(number.changed(&years, bytes).unwrap(), wanted);
        let Some(Stored::Number(number)) = stored(&DType::I64, Version::Classic(1)) else { panic!() };
        assert_eq!(number.changed(&DType::I64, 5i64.to_le_bytes().to_vec()).unwrap(), 5f64.to_le_bytes());
        assert!(number.changed(&DType::I64, (i64::MAX - 1).to_le_bytes().to_vec()).is_err());
        let Some(Stored::Number(number)) = stored(&DType::F16, Version::Classic(2)) else { panic!() };
        let half = half::f16::from_f32(-0.5).to_le_bytes().to_vec();
        assert_eq!(number.changed(&DType::F16, half).unwrap(), (-0.5f32).to_le_bytes());
    }
}
