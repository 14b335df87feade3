//! Each layout: how it is told, and how its values are made.

use super::parts::{Parts, Stored};
use super::{Configuration, Dequantised};
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::dtype::{DType, Mini};
use crate::data::node::Value;
use crate::data::quantised::{Affine, Along, Factor, Levels, Scales, Tabled};
use serde_json::Value as Json;
use std::sync::Arc;

/// Where the eight neighbours of a word lie in AWQ's GEMM order.
const AWQ: [u32; 8] = [0, 4, 1, 5, 2, 6, 3, 7];
/// What the endings of scales beside a weight are called.
const SCALES: [&str; 3] = ["_scale_inv", "_scale", "_scales"];

/// Whether a tensor's name is one by which a layout is told.
pub(super) fn may_be(parts: &Parts, name: &str) -> bool {
    let has = |ending: &str| parts.with(name, ending).is_some();
    let stem = |ending: &str| name.strip_suffix(ending);
    stem(".qweight").is_some()
        || stem("_packed").is_some_and(|stem| parts.with(stem, "_scale").is_some())
        || stem("_blocks").is_some_and(|stem| parts.with(stem, "_scales").is_some())
        || stem("_qdata").is_some_and(|stem| parts.with(stem, "_scale").is_some())
        || stem("weight").is_some_and(|stem| parts.with(stem, "SCB").is_some())
        || stem("weight").is_some_and(|stem| parts.with(stem, "scale_weight").is_some())
        || has(".absmax")
        || SCALES.iter().any(|ending| has(ending))
}

/// What the tensor of a name stands for, together with others; `None` if it stands for itself.
pub(super) fn find(
    task: &Task,
    parts: &Parts,
    name: &str,
    configuration: &Configuration,
    metadata: &[(String, Value)],
) -> Result<Option<Dequantised>> {
    let Some(stored) = parts.get(name) else { return Ok(None) };
    if let Some(stem) = name.strip_suffix(".qweight") {
        return packed_columns(parts, stem, &stored, configuration);
    }
    if let Some(stem) = name.strip_suffix("_packed") {
        return compressed(task, parts, stem, &stored);
    }
    if let Some(stem) = name.strip_suffix("_blocks") {
        return microscaled(parts, stem, &stored);
    }
    if let Some(stem) = name.strip_suffix("_qdata") {
        return torchao(parts, stem, &stored, metadata);
    }
    if parts.with(name, ".absmax").is_some() {
        return tabled(task, parts, &stored);
    }
    if let Some(stem) = name.strip_suffix("weight")
        && let Some(scale) = parts.with(stem, "SCB").filter(|_| *stored.dtype == DType::I8)
    {
        let factor = Factor::Part(127.0);
        return scaled(&stored, &scale, None, factor, configuration, "bitsandbytes int8").map(Some);
    }
    beside(parts, name, &stored, configuration)
}

/// Weights with scales beside them: FP8, integers of 8 bits, NVFP4 of ModelOpt.
fn beside(
    parts: &Parts,
    name: &str,
    stored: &Stored,
    configuration: &Configuration,
) -> Result<Option<Dequantised>> {
    let named = SCALES.iter().find_map(|ending| parts.with(name, ending));
    let scale = named.or_else(|| parts.with(name.strip_suffix("weight")?, "scale_weight"));
    let Some(scale) = scale else { return Ok(None) };
    // Scales of blocks are of this size, unless the configuration says otherwise.
    let usual = scale.name.ends_with("_inv").then_some((128, 128));
    let configuration =
        &Configuration { block: configuration.block.or(usual), is_gptq_v2: configuration.is_gptq_v2 };
    let factor = if *scale.dtype == DType::U8 { Factor::Power } else { Factor::Itself };
    let is_microscaled = matches!(scale.dtype, DType::U8 | DType::Mini(Mini::F8E8M0));
    match stored.dtype {
        DType::U8 => {
            let Some(whole) = parts.with(name, "_scale_2") else { return Ok(None) };
            nibbles(stored, name, &scale, Factor::Times(whole.list()?), 16, "NVFP4", Some(whole.name))
                .map(Some)
        }
        DType::Mini(_) if is_microscaled => {
            scaled(stored, &scale, None, factor, configuration, "MXFP8").map(Some)
        }
        DType::Mini(_) if scale.dtype.is_float() => {
            scaled(stored, &scale, None, factor, configuration, "FP8 with scales").map(Some)
        }
        DType::I8 if scale.dtype.is_float() => {
            let zero = parts.with(name, "_zero_point");
            scaled(stored, &scale, zero.as_ref(), factor, configuration, "compressed-tensors").map(Some)
        }
        _ => Ok(None),
    }
}

/// The side of blocks of which `count` cover `side`.
fn block(side: u64, count: u64, stated: Option<u64>) -> Option<u64> {
    let fits = |block: &u64| *block > 0 && side.div_ceil(*block) == count;
    match count {
        0 => None,
        1 => Some(stated.filter(fits).unwrap_or(side.max(1))),
        _ if count == side => Some(1),
        _ => stated
            .filter(fits)
            .or_else(|| side.is_multiple_of(count).then(|| side / count))
            .or_else(|| [128, 64, 32, 16, 256, 512].into_iter().find(fits)),
    }
}

/// Where the scales of a tensor of rows and columns lie: their rows and columns, and those of a block.
fn grid(stored: &[u64], scale: &[u64], configuration: &Configuration) -> Option<((u64, u64), (u64, u64))> {
    let (columns, lead) = stored.split_last()?;
    let rows: u64 = lead.iter().product();
    let count: u64 = scale.iter().product();
    if count == 1 {
        return Some(((1, 1), (rows.max(1), (*columns).max(1))));
    }
    let stated = configuration.block;
    if let ([outer @ .., height, _], [outer_scales @ .., down, across]) = (stored, scale)
        && outer == outer_scales
    {
        let tall = block(*height, *down, stated.map(|block| block.0))?;
        let wide = block(*columns, *across, stated.map(|block| block.1))?;
        let several: u64 = outer.iter().product();
        // Blocks of one matrix must not reach into the next.
        return (several == 1 || height.is_multiple_of(tall))
            .then_some(((several * down, *across), (tall, wide)));
    }
    if count == rows {
        return Some(((rows, 1), (1, (*columns).max(1))));
    }
    // One scale for each matrix of several.
    let [outer @ .., height, _] = stored else { return None };
    let several: u64 = outer.iter().product();
    (count == several).then_some(((several, 1), ((*height).max(1), (*columns).max(1))))
}

fn disagree(stored: &Stored, scale: &Stored) -> Error {
    let (name, shape) = (scale.name, scale.shape);
    Error::malformed(format!(
        "{name:?} has the shape {shape:?}, which does not go with {:?} of {:?}",
        stored.name, stored.shape
    ))
}

/// A tensor with a scale for each row, each block or all of it.
fn scaled(
    stored: &Stored,
    scale: &Stored,
    zero: Option<&Stored>,
    factor: Factor,
    configuration: &Configuration,
    label: &'static str,
) -> Result<Dequantised> {
    let ((down, across), sides) =
        grid(stored.shape, scale.shape, configuration).ok_or_else(|| disagree(stored, scale))?;
    let columns = stored.shape.last().copied().unwrap_or(1);
    let rows = stored.elements().checked_div(columns).unwrap_or(0);
    let zeros = zero.map(|zero| zero.matrix(down, across)).transpose()?.map(Levels::Plain);
    let recipe = Affine {
        levels: Levels::Plain(stored.matrix(rows, columns)?),
        scales: scale.matrix(down, across)?,
        factor,
        block: sides,
        zeros,
        rows: None,
        columns: None,
        is_transposed: false,
    };
    let about = match (sides, (down, across)) {
        (_, (1, 1)) => format!("{label}: {}, one scale", stored.dtype),
        ((1, _), (_, 1)) => format!("{label}: {}, a scale for each row", stored.dtype),
        ((tall, wide), _) => format!("{label}: {}, a scale for each {tall} × {wide}", stored.dtype),
    };
    let of = [Some(stored), Some(scale), zero].into_iter().flatten().map(|part| part.name.to_owned());
    Ok(Dequantised {
        name: stored.name.to_owned(),
        label,
        shape: stored.shape.to_vec(),
        recipe: Box::new(recipe),
        about,
        of: of.collect(),
    })
}

/// Two elements of E2M1 in a byte, with a scale for each `group`.
fn nibbles(
    stored: &Stored,
    name: &str,
    scale: &Stored,
    factor: Factor,
    group: u64,
    label: &'static str,
    whole: Option<&str>,
) -> Result<Dequantised> {
    let Some((bytes, lead)) = stored.shape.split_last() else { return Err(disagree(stored, scale)) };
    let columns = bytes.checked_mul(2).ok_or_else(|| disagree(stored, scale))?;
    let rows = stored.elements().checked_div(*bytes).unwrap_or(0);
    let across = columns.div_ceil(group);
    let table = Mini::F4E2M1.table();
    let mut values = [0.0; 16];
    values.iter_mut().zip(table).for_each(|(to, value)| *to = *value);
    let recipe = Affine {
        levels: Levels::Nibbles { bytes: stored.matrix(rows, *bytes)?, table: values },
        scales: scale.matrix(rows, across).map_err(|_| disagree(stored, scale))?,
        factor,
        block: (1, group),
        zeros: None,
        rows: None,
        columns: None,
        is_transposed: false,
    };
    let of = [Some(stored.name), Some(scale.name), whole].into_iter().flatten();
    Ok(Dequantised {
        name: name.to_owned(),
        label,
        shape: lead.iter().copied().chain([columns]).collect(),
        recipe: Box::new(recipe),
        about: format!("{label}: 4 bits (E2M1), a scale for each {group}"),
        of: of.map(str::to_owned).collect(),
    })
}

/// gpt-oss: blocks of 16 bytes and exponents.
fn microscaled(parts: &Parts, stem: &str, stored: &Stored) -> Result<Option<Dequantised>> {
    let Some(scale) = parts.with(stem, "_scales") else { return Ok(None) };
    let ([lead @ .., blocks, 16], DType::U8, DType::U8) = (stored.shape, stored.dtype, scale.dtype) else {
        return Ok(None);
    };
    let columns = blocks.checked_mul(32).ok_or_else(|| disagree(stored, &scale))?;
    let rows: u64 = lead.iter().product();
    let mut values = [0.0; 16];
    values.iter_mut().zip(Mini::F4E2M1.table()).for_each(|(to, value)| *to = *value);
    let recipe = Affine {
        levels: Levels::Nibbles { bytes: stored.matrix(rows, columns / 2)?, table: values },
        scales: scale.matrix(rows, *blocks).map_err(|_| disagree(stored, &scale))?,
        factor: Factor::Power,
        block: (1, 32),
        zeros: None,
        rows: None,
        columns: None,
        is_transposed: false,
    };
    Ok(Some(Dequantised {
        name: stem.to_owned(),
        label: "MXFP4",
        shape: lead.iter().copied().chain([columns]).collect(),
        recipe: Box::new(recipe),
        about: "MXFP4: 4 bits (E2M1), an exponent for each 32".to_owned(),
        of: vec![stored.name.to_owned(), scale.name.to_owned()],
    }))
}

/// GPTQ and AWQ: words along rows or columns of the transposed weight.
fn packed_columns(
    parts: &Parts,
    stem: &str,
    stored: &Stored,
    configuration: &Configuration,
) -> Result<Option<Dequantised>> {
    let (Some(scale), Some(zero)) = (parts.with(stem, ".scales"), parts.with(stem, ".qzeros")) else {
        return Ok(None);
    };
    let (Some((high, wide)), Some((groups, outputs)), Some((_, zeros))) =
        (stored.sides(), scale.sides(), zero.sides())
    else {
        return Ok(None);
    };
    let is_words = |part: &Stored| matches!(part.dtype, DType::I32 | DType::U32);
    if !is_words(stored) || !is_words(&zero) || !scale.dtype.is_float() || groups == 0 || outputs == 0 {
        return Ok(None);
    }
    let is_awq = wide.checked_mul(8) == Some(outputs) && wide == zeros;
    let bits = zeros.checked_mul(32).filter(|bits| bits.is_multiple_of(outputs)).map(|bits| bits / outputs);
    let Some(bits @ (2 | 3 | 4 | 8)) = bits else { return Err(disagree(stored, &zero)) };
    let inputs = if is_awq { high } else { high.checked_mul(32).map_or(0, |all| all / bits) };
    if inputs == 0 || !is_awq && wide != outputs {
        return Err(disagree(stored, &scale));
    }
    let order = is_awq.then_some(AWQ);
    let (along, plus) = match is_awq {
        true => (Along::Columns, 0),
        false => (Along::Rows, u32::from(!configuration.is_gptq_v2)),
    };
    let words = |words: Arc<dyn Array>, along, plus| {
        let (bits, is_stream) = (bits as u32, bits == 3);
        Levels::Words { words, along, bits, is_stream, order, less: 0, plus }
    };
    let group = inputs.div_ceil(groups);
    let index = parts.with(stem, ".g_idx").filter(|index| index.elements() == inputs && !is_awq);
    let recipe = Affine {
        levels: words(stored.matrix(high, wide)?, along, 0),
        scales: scale.matrix(groups, outputs)?,
        factor: Factor::Itself,
        block: (group, 1),
        zeros: Some(words(zero.matrix(groups, zeros)?, Along::Columns, plus)),
        rows: index.as_ref().map(|index| index.matrix(1, inputs)).transpose()?,
        columns: None,
        is_transposed: true,
    };
    let label = if is_awq { "AWQ" } else { "GPTQ" };
    let ordered = if index.is_some() { " in the order of g_idx" } else { "" };
    let of = [Some(stored.name), Some(zero.name), Some(scale.name), index.as_ref().map(|index| index.name)];
    Ok(Some(Dequantised {
        name: format!("{stem}.weight"),
        label,
        shape: vec![outputs, inputs],
        recipe: Box::new(recipe),
        about: format!("{label}: {bits} bits, groups of {group}{ordered}; stored transposed"),
        of: of.into_iter().flatten().map(str::to_owned).collect(),
    }))
}

/// compressed-tensors: words along rows, or E2M1 with a scale for each 16 or 32.
fn compressed(task: &Task, parts: &Parts, stem: &str, stored: &Stored) -> Result<Option<Dequantised>> {
    let Some(scale) = parts.with(stem, "_scale") else { return Ok(None) };
    if *stored.dtype == DType::U8 {
        if let Some(whole) = parts.with(stem, "_global_scale") {
            let factor = Factor::Over(whole.list()?);
            return nibbles(stored, stem, &scale, factor, 16, "NVFP4", Some(whole.name)).map(Some);
        }
        let factor = if *scale.dtype == DType::U8 { Factor::Power } else { Factor::Itself };
        return nibbles(stored, stem, &scale, factor, 32, "MXFP4", None).map(Some);
    }
    let (Some(shape), DType::I32 | DType::U32) = (parts.with(stem, "_shape"), stored.dtype) else {
        return Ok(None);
    };
    let (Some((rows, wide)), [2]) = (stored.sides(), shape.shape) else { return Ok(None) };
    let sides = shape.read(task)?;
    let side = |n: usize| le::<i64>(&sides, n * 8).and_then(|side| u64::try_from(side).ok());
    let (Some(height), Some(columns), DType::I64) = (side(0), side(1), shape.dtype) else {
        return Err(disagree(stored, &shape));
    };
    let bits =
        (1..=8u64).rev().find(|bits| columns.checked_mul(*bits).map(|all| all.div_ceil(32)) == Some(wide));
    // Before its version 0.13 words held whole integers only.
    let sparse = (1..=8u64).rev().find(|bits| columns.div_ceil(32 / bits) == wide);
    let (Some(bits), true) = (bits.or(sparse), height == rows && columns > 0) else {
        return Err(disagree(stored, &shape));
    };
    let configuration = Configuration::default();
    let ((down, across), sides) =
        grid(&[rows, columns], scale.shape, &configuration).ok_or_else(|| disagree(stored, &scale))?;
    let less = 1 << (bits - 1);
    let is_stream = columns.checked_mul(bits).map(|all| all.div_ceil(32)) == Some(wide);
    let words = |words, along| Levels::Words {
        words,
        along,
        bits: bits as u32,
        is_stream,
        order: None,
        less,
        plus: 0,
    };
    let zero = parts.with(stem, "_zero_point");
    let zeros = match &zero {
        Some(zero) if matches!(zero.dtype, DType::I32 | DType::U32) => {
            let lines = zero.elements().checked_div(across).unwrap_or(0);
            Some(words(zero.matrix(lines, across)?, Along::Rows))
        }
        Some(zero) => Some(Levels::Plain(zero.matrix(down, across)?)),
        None => None,
    };
    let index = parts.with(stem, "_g_idx").filter(|index| index.elements() == columns);
    let recipe = Affine {
        levels: words(stored.matrix(rows, wide)?, Along::Columns),
        scales: scale.matrix(down, across)?,
        factor: Factor::Itself,
        block: sides,
        zeros,
        rows: None,
        columns: index.as_ref().map(|index| index.matrix(1, columns)).transpose()?,
        is_transposed: false,
    };
    let of = [Some(stored), Some(&scale), zero.as_ref(), index.as_ref()];
    Ok(Some(Dequantised {
        name: stem.to_owned(),
        label: "compressed-tensors",
        shape: vec![rows, columns],
        recipe: Box::new(recipe),
        about: format!("compressed-tensors: {bits} bits, groups of {}", sides.1),
        of: of.into_iter().flatten().map(|part| part.name.to_owned()).collect(),
    }))
}

/// bitsandbytes of 4 bits: a table of 16 values, scales for so many elements, which may be quantised again.
fn tabled(task: &Task, parts: &Parts, stored: &Stored) -> Result<Option<Dequantised>> {
    let name = stored.name;
    let state = ["nf4", "fp4"]
        .iter()
        .find_map(|kind| parts.with(name, &format!(".quant_state.bitsandbytes__{kind}")));
    let (Some(absmax), Some(table), Some(state)) =
        (parts.with(name, ".absmax"), parts.with(name, ".quant_map"), state)
    else {
        return Ok(None);
    };
    let wrong = |what: &str| Error::malformed(format!("{:?}: {what}", state.name));
    let said: Json = serde_json::from_slice(&state.read(task)?).map_err(|error| wrong(&error.to_string()))?;
    let number = |key: &str| said.get(key).and_then(Json::as_u64);
    let shape =
        said.get("shape").and_then(Json::as_array).map(|sides| sides.iter().map(Json::as_u64).collect());
    let shape: Option<Vec<u64>> = shape.ok_or_else(|| wrong("it says no shape"))?;
    let shape = shape.ok_or_else(|| wrong("its shape has what is no side"))?;
    let block =
        number("blocksize").filter(|block| *block > 0).ok_or_else(|| wrong("it says no blocksize"))?;
    let elements = crate::bytes::limits::elements(&shape)?;
    if elements.div_ceil(2) != stored.elements() || elements.div_ceil(block) != absmax.elements() {
        return Err(wrong("the shape does not go with the stored bytes and scales"));
    }
    let nested = (parts.with(name, ".nested_absmax"), parts.with(name, ".nested_quant_map"));
    let mut of = vec![name.to_owned(), absmax.name.to_owned(), table.name.to_owned(), state.name.to_owned()];
    let scales = match (nested, absmax.dtype) {
        ((Some(scales), Some(codes)), DType::U8) => {
            of.extend([scales.name.to_owned(), codes.name.to_owned()]);
            Scales::Nested {
                codes: absmax.list()?,
                table: codes.list()?,
                scales: scales.list()?,
                block: number("nested_blocksize").unwrap_or(256),
                offset: said.get("nested_offset").and_then(Json::as_f64).unwrap_or(0.0) as f32,
            }
        }
        _ => Scales::Plain(absmax.list()?),
    };
    let columns = shape.last().copied().unwrap_or(1);
    let (bytes, table) = (stored.list()?, table.list()?);
    let is_fp4 = state.name.ends_with("fp4");
    let label = if is_fp4 { "bitsandbytes FP4" } else { "bitsandbytes NF4" };
    let doubly = if matches!(scales, Scales::Nested { .. }) { ", which are quantised too" } else { "" };
    Ok(Some(Dequantised {
        name: name.to_owned(),
        label,
        shape,
        recipe: Box::new(Tabled { bytes, columns, table, block, scales }),
        about: format!("{label}: 4 bits, a scale for each {block} elements{doubly}"),
        of,
    }))
}

/// torchao: what its metadata say of a tensor, and integers or small floats with scales.
fn torchao(
    parts: &Parts,
    stem: &str,
    stored: &Stored,
    metadata: &[(String, Value)],
) -> Result<Option<Dequantised>> {
    let (module, last) = stem.rsplit_once('.').unwrap_or(("", stem));
    let name = match module {
        "" => last.trim_start_matches('_').to_owned(),
        module => format!("{module}.{}", last.trim_start_matches('_')),
    };
    let said = metadata.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
    let said: Option<Json> = said.and_then(|text| serde_json::from_str(&text).ok());
    let kind = said.as_ref().and_then(|said| said.get("_type")).and_then(Json::as_str);
    let is_known = matches!(kind, Some("Float8Tensor" | "Int8Tensor" | "IntxUnpackedToInt8Tensor"));
    let (Some(scale), true) = (parts.with(stem, "_scale"), is_known) else { return Ok(None) };
    let zero = parts.with(stem, "_zero_point");
    let made = scaled(stored, &scale, zero.as_ref(), Factor::Itself, &Configuration::default(), "torchao")?;
    Ok(Some(Dequantised { name, ..made }))
}
