//! SciPy's sparse matrices: the classes keep their parts as arrays in their fields. Those that are compressed by rows
//! or columns are shown as the matrix, and all of them with their parts below.
//! <https://docs.scipy.org/doc/scipy/reference/sparse.html>

use super::content::array_of;
use super::machine::{Id, Pickle, Value};
use crate::bytes::error::Result;
use crate::data::content::Array;
use crate::data::grouped::compressed;
use std::sync::Arc;

/// The matrix that a value is, if it is one that can be shown as one.
pub(super) fn of(pickle: &Arc<Pickle>, id: Id) -> Option<Result<Arc<dyn Array>>> {
    let Value::Object(object) = pickle.value(id) else { return None };
    let (module, name) = pickle.global(object.class)?;
    let class = match pickle.rebuilt(object).and_then(|class| pickle.global(class)) {
        Some((module, name)) if module.starts_with("scipy.sparse") => name,
        _ if module.starts_with("scipy.sparse") => name,
        _ => return None,
    };
    let by_rows = match class {
        "csr_matrix" | "csr_array" => true,
        "csc_matrix" | "csc_array" => false,
        _ => return None,
    };
    let shape = pickle.shape(pickle.field(id, "_shape").or_else(|| pickle.field(id, "shape"))?)?;
    let [rows, columns] = *shape.first_chunk()?;
    let part = |name| array_of(pickle, pickle.field(id, name)?);
    let (data, indices, pointers) = (part("data")?, part("indices")?, part("indptr")?);
    let all = || compressed([rows, columns], by_rows, [data?, indices?, pointers?]);
    Some(all())
}
