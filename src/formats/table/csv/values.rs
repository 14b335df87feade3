//! What cells mean where a person says so: texts that stand for null, the marks in numbers, types of columns. Numbers
//! are read as they are meant (`1.234,5` as `1234.5`), so that what follows need not know of it.

use crate::bytes::error::{Error, Result};
use crate::data::format::{OptionSpec, Options};
use arrow::datatypes::{DataType, TimeUnit};
use encoding_rs::Encoding;
use std::borrow::Cow;
use std::sync::Arc;

/// Which mark stands before the decimals.
pub(super) const DECIMAL: OptionSpec = OptionSpec::new("decimal", "the mark before the decimals of numbers")
    .one_of("point", &["point", "comma"]);
/// What stands between groups of digits.
pub(super) const THOUSANDS: OptionSpec =
    OptionSpec::new("thousands", "what stands between groups of three digits of numbers")
        .one_of("none", &["none", "comma", "point", "space", "apostrophe", "underscore"]);
/// Which texts are null.
pub(super) const NULLS: OptionSpec =
    OptionSpec::new("nulls", "texts that stand for no value, with commas between them: NA, -999, ?");
/// Types that are not to be guessed.
pub(super) const TYPES: OptionSpec = OptionSpec::new(
    "types",
    "types of columns that are not to be guessed, with commas between them: id=text, price=float; there are text, int, float, bool, date, timestamp",
);

/// What cells mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    /// The mark before the decimals, where it is no point.
    decimal: Option<u8>,
    thousands: Option<u8>,
    /// As the file has them, in its encoding.
    nulls: Arc<[Vec<u8>]>,
    types: Vec<(String, DataType)>,
}

impl Values {
    /// What the options say of a text in this encoding.
    pub(super) fn of(options: &Options, text: &'static Encoding) -> Result<Values> {
        let decimal = (options.choice(&DECIMAL)? == "comma").then_some(b',');
        let thousands = match options.choice(&THOUSANDS)? {
            "comma" => Some(b','),
            "point" => Some(b'.'),
            "space" => Some(b' '),
            "apostrophe" => Some(b'\''),
            "underscore" => Some(b'_'),
            _ => None,
        };
        if thousands == Some(decimal.unwrap_or(b'.')) {
            let words = "decimal and thousands: one mark cannot be both";
            return Err(Error::unsupported(words));
        }
        let nulls = options.get(NULLS.name).unwrap_or_default().split(',').map(str::trim);
        let nulls = nulls.filter(|null| !null.is_empty()).map(|null| text.encode(null).0.into_owned());
        let types =
            options.get(TYPES.name).unwrap_or_default().split(',').filter(|one| !one.trim().is_empty());
        let types = types.map(type_option).collect::<Result<_>>()?;
        Ok(Values { decimal, thousands, nulls: nulls.collect(), types })
    }

    /// Whether a cell stands for no value.
    pub(super) fn is_null(&self, cell: &[u8]) -> bool {
        !self.nulls.is_empty() && {
            let cell = cell.trim_ascii();
            self.nulls.iter().any(|null| null == cell)
        }
    }

    /// A number without marks between its digits and with a point before its decimals; anything else as it is.
    pub(super) fn plain<'a>(&self, cell: &'a [u8]) -> Cow<'a, [u8]> {
        match self.decimal.is_some() || self.thousands.is_some() {
            true => self.number(cell).map_or(Cow::Borrowed(cell), Cow::Owned),
            false => Cow::Borrowed(cell),
        }
    }

    /// A number as it is meant; `None` for what is none.
    fn number(&self, cell: &[u8]) -> Option<Vec<u8>> {
        let cell = cell.trim_ascii();
        let signed = matches!(cell.first(), Some(b'+' | b'-'));
        let (sign, rest) = cell.split_at_checked(usize::from(signed))?;
        let exponent = rest.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(rest.len());
        let (mantissa, exponent) = rest.split_at_checked(exponent)?;
        let mark = self.decimal.unwrap_or(b'.');
        let point = mantissa.iter().position(|byte| *byte == mark);
        let (whole, behind) = mantissa.split_at_checked(point.unwrap_or(mantissa.len()))?;
        let digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_digit);
        let behind = behind.get(1..).unwrap_or_default();
        let power = exponent.get(1..).unwrap_or_default();
        let power = power.strip_prefix(b"+").or_else(|| power.strip_prefix(b"-")).unwrap_or(power);
        let has_power = exponent.is_empty() || !power.is_empty();
        if !digits(behind) || !digits(power) || !has_power || whole.len() + behind.len() == 0 {
            return None;
        }
        let mut out = sign.to_vec();
        for (n, group) in whole.split(|byte| Some(*byte) == self.thousands).enumerate() {
            let is_group = n == 0 || group.len() == 3;
            let is_first =
                n > 0 || group.len() <= 3 || !self.thousands.is_some_and(|mark| whole.contains(&mark));
            if !digits(group) || !is_group || !is_first {
                return None;
            }
            out.extend_from_slice(group);
        }
        if point.is_some() {
            out.push(b'.');
            out.extend_from_slice(behind);
        }
        out.extend_from_slice(exponent);
        Some(out)
    }

    /// The type that was said of a column.
    pub(super) fn type_of(&self, name: &str) -> Option<DataType> {
        self.types.iter().find(|(column, _)| column == name).map(|(_, data_type)| data_type.clone())
    }

    /// An error for types of columns that are not there.
    pub(super) fn check(&self, names: &[String]) -> Result<()> {
        match self.types.iter().find(|(column, _)| !names.contains(column)) {
            Some((column, _)) => Err(Error::unsupported(format!("types: there is no column {column:?}"))),
            None => Ok(()),
        }
    }
}

/// `price=float`
fn type_option(text: &str) -> Result<(String, DataType)> {
    let wrong = |why: &str| Error::unsupported(format!("types={}: {why}", text.trim()));
    let (column, word) = text.rsplit_once('=').ok_or_else(|| wrong("it is a column, = and a type"))?;
    let data_type = match word.trim() {
        "text" => DataType::Utf8,
        "int" => DataType::Int64,
        "float" => DataType::Float64,
        "bool" => DataType::Boolean,
        "date" => DataType::Date32,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        _ => return Err(wrong("the type is one of text, int, float, bool, date, timestamp")),
    };
    Ok((column.trim().to_owned(), data_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(list: &[(&str, &str)]) -> Result<Values> {
        let mut options = Options::default();
        list.iter().for_each(|(name, value)| options.set(name, *value));
        Values::of(&options, encoding_rs::UTF_8)
    }

    #[test]
    fn numbers_are_read_as_they_are_meant() {
        let plain = |values: &Values, text: &str| {
            String::from_utf8(values.plain(text.as_bytes()).into_owned()).unwrap()
        };
        let german = with(&[("decimal", "comma"), ("thousands", "point")]).unwrap();
        for (text, meant) in [
            ("1,5", "1.5"),
            ("-1.234.567,25", "-1234567.25"),
            ("1.234", "1234"),
            (",5", ".5"),
            ("2,5e-3", "2.5e-3"),
            ("1234567,5", "1234567.5"),
            ("12.34", "12.34"),
            ("1234.567", "1234.567"),
            ("a,b", "a,b"),
            ("1,5,6", "1,5,6"),
            ("", ""),
            ("-", "-"),
            ("31.01.2024", "31.01.2024"),
        ] {
            assert_eq!(plain(&german, text), meant, "{text}");
        }
        let swiss = with(&[("thousands", "apostrophe")]).unwrap();
        assert_eq!((plain(&swiss, "1'234.5"), plain(&swiss, "5'")), ("1234.5".into(), "5'".into()));
        assert_eq!(plain(&Values::default(), "1,234"), "1,234");
        assert!(with(&[("decimal", "comma"), ("thousands", "comma")]).is_err());
    }

    #[test]
    fn nulls_and_types_are_said() {
        let said = with(&[("nulls", "NA, -999,"), ("types", "id=text, a=b=float")]).unwrap();
        assert!(said.is_null(b"NA") && said.is_null(b" -999 ") && !said.is_null(b"") && !said.is_null(b"na"));
        assert_eq!(said.type_of("id"), Some(DataType::Utf8));
        assert_eq!((said.type_of("a=b"), said.type_of("x")), (Some(DataType::Float64), None));
        assert!(said.check(&["id".into(), "a=b".into()]).is_ok() && said.check(&["id".into()]).is_err());
        assert!(with(&[("types", "id")]).is_err() && with(&[("types", "id=number")]).is_err());
    }
}
