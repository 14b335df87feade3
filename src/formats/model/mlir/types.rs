//! Types of values: `tensor<3x8xf32>` as a shape and NumPy's word for the elements.
//! <https://mlir.llvm.org/docs/Dialects/Builtin/#types>

use crate::data::content::graph::{Dimension, Value};

/// Says of a value what its type does.
pub(super) fn describe(value: &mut Value, text: &str) {
    let text = text.trim();
    let inner = ["tensor<", "memref<", "vector<"]
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .and_then(|inner| inner.strip_suffix('>'));
    let Some(inner) = inner else {
        if !text.is_empty() {
            value.dtype = Some(element(text).into());
        }
        return;
    };
    let mut shape = Vec::new();
    let mut rest = inner;
    let is_open = rest.starts_with("*x");
    rest = rest.strip_prefix("*x").unwrap_or(rest);
    while let Some((first, after)) = rest.split_once('x') {
        match first.trim() {
            "?" => shape.push(Dimension::Open),
            length => match length.parse() {
                Ok(length) => shape.push(Dimension::Fixed(length)),
                Err(_) => break,
            },
        }
        rest = after;
    }
    // An encoding stands behind the elements.
    let elements = if rest.starts_with('!') { rest } else { rest.split(',').next().unwrap_or(rest) };
    value.dtype = Some(element(elements.trim()).into());
    value.shape = (!is_open).then_some(shape);
}

/// NumPy's word for elements, or MLIR's own.
fn element(text: &str) -> String {
    let plain = match text {
        "f16" => "float16",
        "f32" => "float32",
        "f64" => "float64",
        "bf16" => "bfloat16",
        "i1" => "bool",
        "complex<f32>" => "complex64",
        "complex<f64>" => "complex128",
        "f8E4M3FN" => "float8_e4m3fn",
        "f8E5M2" => "float8_e5m2",
        "f8E4M3FNUZ" => "float8_e4m3fnuz",
        "f8E5M2FNUZ" => "float8_e5m2fnuz",
        "f8E8M0FNU" => "float8_e8m0fnu",
        "f4E2M1FN" => "float4_e2m1fn",
        _ => "",
    };
    if !plain.is_empty() {
        return plain.to_owned();
    }
    let (word, bits) = match (text.strip_prefix("ui"), text.strip_prefix("si").or(text.strip_prefix('i'))) {
        (Some(bits), _) => ("uint", bits),
        (_, Some(bits)) => ("int", bits),
        _ => return text.to_owned(),
    };
    if bits.parse::<u16>().is_ok() { format!("{word}{bits}") } else { text.to_owned() }
}
