//! Raw arrays in Python: `numpy.fromfile(…).reshape(…)`, with the layout that they were opened with.

use gander::bytes::strides;
use gander::data::content::Content;
use gander::data::dtype::DType;
use gander::formats::array::raw::{FORMAT, Layout, OPTIONS};

use super::quoted;
use crate::gui::target::Target;

/// Python for a raw array; `None` for anything else.
pub(super) fn python(target: &Target, path: &str) -> Option<String> {
    let (document, node) = (&target.document, &target.node);
    let Some(Content::Array(array)) = node.content.as_ref().filter(|_| document.format.id == FORMAT.id)
    else {
        return None;
    };
    let len = document.source.known_len()?;
    let told = OPTIONS.iter().any(|spec| document.options.get(spec.name).is_some());
    let guess = Layout::guess(document.source.name(), len).filter(|_| !told);
    let layout = guess.or_else(|| Layout::parse(&document.options, len).ok())?;
    // What is not there is cut off.
    Some(code(path, &Layout { shape: array.shape().to_vec(), ..layout }))
}

fn code(path: &str, layout: &Layout) -> String {
    let (import, dtype) = numpy(&layout.dtype, layout.big);
    let sides: Vec<String> = layout.shape.iter().map(u64::to_string).collect();
    let shape =
        if let [one] = sides.as_slice() { format!("({one},)") } else { format!("({})", sides.join(", ")) };
    let (path, offset) = (quoted(path), layout.offset);
    if layout.padding > 0 {
        let strides: Vec<String> = steps(layout).iter().map(u64::to_string).collect();
        return format!(
            "{import}data = np.fromfile({path}, dtype=np.uint8)\narray = np.ndarray({shape}, dtype={dtype}, buffer=data, offset={offset}, strides=({},))",
            strides.join(", ")
        );
    }
    let count: u64 = layout.shape.iter().fold(1, |product, side| product.saturating_mul(*side));
    let offset = if offset > 0 { format!(", offset={offset}") } else { String::new() };
    let order = if layout.fortran { ", order=\"F\"" } else { "" };
    format!(
        "{import}array = np.fromfile({path}, dtype={dtype}, count={count}{offset}).reshape({shape}{order})"
    )
}

/// Bytes from one index of each axis to the next.
fn steps(layout: &Layout) -> Vec<u64> {
    let mut axes = strides::c_order(layout.shape.len());
    if layout.fortran {
        axes.reverse();
    }
    let (size, mut steps) = (layout.dtype.size(), vec![0; layout.shape.len()]);
    let mut step = size;
    // The fastest axis stands last.
    for (n, axis) in axes.into_iter().rev().enumerate() {
        let len = layout.shape.get(axis).copied().unwrap_or(1);
        if let Some(place) = steps.get_mut(axis) {
            *place = step;
        }
        step = step.saturating_mul(len).saturating_add(if n == 0 { layout.padding } else { 0 });
    }
    steps
}

/// What is to be imported, and the type as NumPy writes it.
fn numpy(dtype: &DType, big: bool) -> (&'static str, String) {
    let kind = match dtype {
        DType::BF16 => {
            let dtype =
                if big { "np.dtype(ml_dtypes.bfloat16).newbyteorder()" } else { "ml_dtypes.bfloat16" };
            return ("import ml_dtypes\nimport numpy as np\n", dtype.to_owned());
        }
        DType::Bool => "?".to_owned(),
        dtype if dtype.is_complex() => format!("c{}", dtype.size()),
        dtype if dtype.is_float() => format!("f{}", dtype.size()),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => format!("u{}", dtype.size()),
        dtype => format!("i{}", dtype.size()),
    };
    let order = match (dtype.size(), big) {
        (1, _) => "",
        (_, true) => ">",
        (_, false) => "<",
    };
    ("import numpy as np\n", format!("\"{order}{kind}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_arrays_are_read_as_they_lie() {
        let layout = Layout {
            dtype: DType::F32,
            shape: vec![2, 3],
            fortran: false,
            offset: 4,
            padding: 0,
            big: false,
        };
        let read = "import numpy as np\narray = np.fromfile(\"a.bin\", dtype=\"<f4\", count=6, offset=4).reshape((2, 3))";
        assert_eq!(code("a.bin", &layout), read);
        let turned = Layout {
            fortran: true,
            offset: 0,
            big: true,
            shape: vec![6],
            dtype: DType::U16,
            ..layout.clone()
        };
        assert!(code("a", &turned).ends_with("dtype=\">u2\", count=6).reshape((6,), order=\"F\")"));
        let padded = Layout { padding: 2, shape: vec![5, 2, 3], dtype: DType::U8, ..layout };
        assert_eq!(steps(&padded), [10, 5, 1]);
        assert_eq!(steps(&Layout { fortran: true, ..padded.clone() }), [1, 7, 14]);
        assert!(code("a", &padded).ends_with("dtype=\"u1\", buffer=data, offset=4, strides=(10, 5, 1,))"));
    }
}
