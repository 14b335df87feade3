//! Operators that move a window over the spatial dimensions, or scale them.

use super::{Output, Shape, Step, fixed};
use crate::data::content::graph::{Attribute, Dimension};
use Dimension::{Fixed, Open};

impl Step<'_> {
    /// `None` for other operators.
    pub(super) fn windowed(&self, operator: &str) -> Option<Vec<Output>> {
        let one = |shape: Option<Shape>| vec![Output { dtype: self.dtype(0), shape, literal: None }];
        Some(match operator {
            "Conv" | "DeformConv" => one(self.conv(1)),
            "ConvInteger" => vec![Output::of("int32", self.conv(1))],
            "QLinearConv" => vec![Output { dtype: self.dtype(7), shape: self.conv(3), literal: None }],
            "ConvTranspose" => one(self.transposed()),
            "MaxPool" => {
                let shape = self.pool();
                let mut outputs = one(shape.clone());
                outputs.push(Output::of("int64", shape));
                outputs
            }
            "AveragePool" | "LpPool" => one(self.pool()),
            "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => one(self.global_pool()),
            "Resize" => one(self.resize()),
            "Upsample" => one(self.upsample()),
            "RoiAlign" => one(self.regions()),
            "GridSample" => one(self.grid_sample()),
            "DepthToSpace" => one(self.blocks(true)),
            "SpaceToDepth" => one(self.blocks(false)),
            "NonMaxSuppression" => vec![Output::of("int64", Some(vec![Open, Fixed(3)]))],
            _ => return None,
        })
    }

    /// The lengths of the window of a convolution.
    fn kernel(&self, weight: &[Dimension]) -> Option<Shape> {
        match self.ints("kernel_shape") {
            Some(kernel) => Some(kernel.into_iter().map(fixed).collect()),
            None => Some(weight.get(2..)?.to_vec()),
        }
    }

    fn conv(&self, weight: usize) -> Option<Shape> {
        let (input, weight) = (self.shape(0)?, self.shape(weight)?);
        self.window(&input, weight.first()?.clone(), &self.kernel(&weight)?)
    }

    fn pool(&self) -> Option<Shape> {
        let input = self.shape(0)?;
        let kernel: Shape = self.ints("kernel_shape")?.into_iter().map(fixed).collect();
        self.window(&input, input.get(1)?.clone(), &kernel)
    }

    /// The lengths behind a window that moves over the spatial dimensions.
    fn window(&self, input: &[Dimension], channels: Dimension, kernel: &[Dimension]) -> Option<Shape> {
        let spatial = input.get(2..)?;
        if spatial.len() != kernel.len() {
            return None;
        }
        let each = |name: &str, default: i64| self.ints(name).unwrap_or_else(|| vec![default; spatial.len()]);
        let (strides, dilations) = (each("strides", 1), each("dilations", 1));
        let pads = self.ints("pads").unwrap_or_else(|| vec![0; 2 * spatial.len()]);
        let same = matches!(self.text("auto_pad"), Some("SAME_UPPER" | "SAME_LOWER"));
        let up = self.int("ceil_mode") == Some(1);
        let mut shape = vec![input.first()?.clone(), channels];
        for (n, (length, kernel)) in spatial.iter().zip(kernel).enumerate() {
            let (Fixed(length), Fixed(kernel)) = (length, kernel) else {
                shape.push(Open);
                continue;
            };
            let (length, kernel) = (i64::try_from(*length).ok()?, i64::try_from(*kernel).ok()?);
            let (stride, dilation) = (*strides.get(n)?, *dilations.get(n)?);
            if stride < 1 {
                return None;
            }
            if same {
                shape.push(fixed(length.checked_add(stride - 1)? / stride));
                continue;
            }
            let pad = pads.get(n)?.checked_add(*pads.get(n + spatial.len())?)?;
            let reach = dilation.checked_mul(kernel.checked_sub(1)?)?.checked_add(1)?;
            let free = length.checked_add(pad)?.checked_sub(reach)?;
            let steps =
                if up { free.checked_add(stride - 1)?.div_euclid(stride) } else { free.div_euclid(stride) };
            let mut count = steps.checked_add(1)?;
            // A window that would begin in the padding at the end is none.
            if up && (count - 1).checked_mul(stride)? >= length.checked_add(*pads.get(n)?)? {
                count -= 1;
            }
            shape.push(fixed(count));
        }
        Some(shape)
    }

    fn transposed(&self) -> Option<Shape> {
        let (input, weight) = (self.shape(0)?, self.shape(1)?);
        let group = u64::try_from(self.int("group").unwrap_or(1)).ok()?;
        let channels = match weight.get(1)? {
            Fixed(each) => Fixed(each.checked_mul(group)?),
            _ => Open,
        };
        let mut shape = vec![input.first()?.clone(), channels];
        let spatial = input.get(2..)?;
        let kernel = self.kernel(&weight)?;
        if kernel.len() != spatial.len() {
            return None;
        }
        if let Some(lengths) = self.ints("output_shape") {
            let lengths = lengths.get(lengths.len().checked_sub(spatial.len())?..)?;
            shape.extend(lengths.iter().map(|length| fixed(*length)));
            return Some(shape);
        }
        let each = |name: &str, default: i64| self.ints(name).unwrap_or_else(|| vec![default; spatial.len()]);
        let (strides, dilations, more) =
            (each("strides", 1), each("dilations", 1), each("output_padding", 0));
        let pads = self.ints("pads").unwrap_or_else(|| vec![0; 2 * spatial.len()]);
        let same = matches!(self.text("auto_pad"), Some("SAME_UPPER" | "SAME_LOWER"));
        for (n, (length, kernel)) in spatial.iter().zip(&kernel).enumerate() {
            let (Fixed(length), Fixed(kernel)) = (length, kernel) else {
                shape.push(Open);
                continue;
            };
            let (length, kernel) = (i64::try_from(*length).ok()?, i64::try_from(*kernel).ok()?);
            let stride = *strides.get(n)?;
            if same {
                shape.push(fixed(length.checked_mul(stride)?));
                continue;
            }
            let reach = dilations.get(n)?.checked_mul(kernel.checked_sub(1)?)?.checked_add(1)?;
            let pad = pads.get(n)?.checked_add(*pads.get(n + spatial.len())?)?;
            let steps = stride.checked_mul(length.checked_sub(1)?)?;
            let count = steps.checked_add(*more.get(n)?)?.checked_add(reach)?.checked_sub(pad)?;
            shape.push(fixed(count));
        }
        Some(shape)
    }

    fn global_pool(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        Some(shape.into_iter().enumerate().map(|(n, length)| if n < 2 { length } else { Fixed(1) }).collect())
    }

    /// By wanted lengths, or by factors, of all axes or of those that are named.
    fn resize(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let stretches = matches!(self.text("keep_aspect_ratio_policy"), None | Some("stretch"));
        // In opset 10 the factors were the second input.
        let factors = if self.node.inputs.len() == 2 { 1 } else { 2 };
        let axes = match self.ints("axes") {
            Some(axes) => super::places(&axes, shape.len())?,
            None => (0..shape.len()).collect(),
        };
        let sizes = self.literal(3);
        if self.id(3).is_some() {
            for (n, axis) in axes.iter().enumerate() {
                let wanted = sizes.as_ref().filter(|_| stretches).and_then(|sizes| sizes.items.get(n));
                *shape.get_mut(*axis)? = wanted.map_or(Open, super::Item::length);
            }
            return Some(shape);
        }
        let factors = self.id(factors).and_then(|id| self.graph.floats(id, self.task, self.files));
        for (n, axis) in axes.iter().enumerate() {
            let factor = factors.as_ref().and_then(|factors| factors.get(n).copied());
            let length = shape.get_mut(*axis)?;
            *length = scaled(length, factor);
        }
        Some(shape)
    }

    fn upsample(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let factors = match self.attribute("scales") {
            Some(Attribute::Floats(factors)) => Some(factors.clone()),
            _ => self.id(1).and_then(|id| self.graph.floats(id, self.task, self.files)),
        };
        let factor = |n: usize| factors.as_ref().and_then(|factors| factors.get(n).copied());
        Some(shape.iter().enumerate().map(|(n, length)| scaled(length, factor(n))).collect())
    }

    fn regions(&self) -> Option<Shape> {
        let (input, regions) = (self.shape(0)?, self.shape(1)?);
        let length = |name: &str| fixed(self.int(name).unwrap_or(1));
        Some(vec![
            regions.first()?.clone(),
            input.get(1)?.clone(),
            length("output_height"),
            length("output_width"),
        ])
    }

    fn grid_sample(&self) -> Option<Shape> {
        let (input, grid) = (self.shape(0)?, self.shape(1)?);
        let places = grid.get(1..grid.len().checked_sub(1)?)?;
        Some([input.get(..2)?, places].concat())
    }

    /// Blocks of channels as blocks of the plane, or the other way round.
    fn blocks(&self, is_out: bool) -> Option<Shape> {
        let side = u64::try_from(self.int("blocksize")?).ok().filter(|side| *side > 0)?;
        let shape = self.shape(0)?;
        let [batch, channels, height, width] = shape.as_slice() else { return None };
        let more = |length: &Dimension, by: u64| match length {
            Fixed(length) => length.checked_mul(by).map_or(Open, Fixed),
            _ => Open,
        };
        let less = |length: &Dimension, by: u64| match length {
            Fixed(length) => Fixed(length / by),
            _ => Open,
        };
        let all = side.checked_mul(side)?;
        Some(match is_out {
            true => vec![batch.clone(), less(channels, all), more(height, side), more(width, side)],
            false => vec![batch.clone(), more(channels, all), less(height, side), less(width, side)],
        })
    }
}

/// A length times a factor, rounded down. What is not changed keeps its name.
fn scaled(length: &Dimension, factor: Option<f64>) -> Dimension {
    match (length, factor) {
        (length, Some(1.0)) => length.clone(),
        (Fixed(length), Some(factor)) if factor > 0.0 && factor.is_finite() => {
            // Factors are floats of 32 bits, and so is the product in the reference.
            let product = (*length as f32) * factor as f32;
            if product < 9e15 { Fixed(product.floor() as u64) } else { Open }
        }
        _ => Open,
    }
}
