//! The text that a cell shows, as a function of statements: `cell_text(column)`, for values of any type, lists
//! and structs too.

use crate::data::cell;
use arrow::array::{Array, LargeStringArray};
use arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The name of the function.
pub(super) const NAME: &str = "cell_text";

/// The function for an engine's session.
pub(super) fn function() -> ScalarUDF {
    ScalarUDF::from(CellText { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CellText {
    signature: Signature,
}

impl ScalarUDFImpl for CellText {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType, DataFusionError> {
        Ok(DataType::LargeUtf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue, DataFusionError> {
        let Some(value) = args.args.into_iter().next() else {
            return internal_err!("{NAME} has no argument");
        };
        let mut array = value.into_array(args.number_rows)?;
        if let DataType::Dictionary(_, values) = array.data_type() {
            // One look at the keys for all rows.
            array = arrow::compute::cast(&array, values)?;
        }
        let texts: LargeStringArray = (0..array.len()).map(|row| cell::shown(array.as_ref(), row)).collect();
        Ok(ColumnarValue::Array(Arc::new(texts)))
    }
}
