//! The names of the arguments of PyTorch's operators, which saved programs leave out.
//! <https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/native_functions.yaml>

use std::collections::HashMap;
use std::sync::LazyLock;

/// An operator a line: its name and the names of its arguments; where overloads differ, `|` stands between them.
const NAMES: &str = "\
Bool a
Float a
Int a
IntImplicit a
ScalarImplicit a
__and__ self other|a b
__contains__ l item|dict key
__derive_index index start step
__getitem__ list idx|s index|self key
__is__ self obj
__isnot__ self obj
__not__ self
__or__ self other|a b
__range_length lo hi step
_convolution input weight bias stride padding dilation transposed output_padding groups benchmark deterministic \
cudnn_enabled allow_tf32
_convolution_mode input weight bias stride padding dilation groups
_native_multi_head_attention query key value embed_dim num_head qkv_weight qkv_bias proj_weight proj_bias mask \
need_weights average_attn_weights mask_type
_nested_tensor_from_mask t mask mask_check
_nested_tensor_from_mask_left_aligned t mask
_set_item l idx el|l idx v
_softmax self dim half_to_float
_transformer_encoder_layer_fwd src embed_dim num_heads qkv_weight qkv_bias proj_weight proj_bias use_gelu \
norm_first eps norm_weight_1 norm_bias_1 norm_weight_2 norm_bias_2 ffn_weight_1 ffn_bias_1 ffn_weight_2 \
ffn_bias_2 mask mask_type
_unique2 self sorted return_inverse return_counts
_upsample_bicubic2d_aa self output_size align_corners scales_h scales_w|input output_size align_corners \
scale_factors
_upsample_bilinear2d_aa self output_size align_corners scales_h scales_w|input output_size align_corners \
scale_factors
_upsample_lanczos2d_aa self output_size align_corners scales_h scales_w|input output_size align_corners \
scale_factors
_upsample_nearest_exact1d self output_size scales|input output_size scale_factors
_upsample_nearest_exact2d self output_size scales_h scales_w|input output_size scale_factors
_upsample_nearest_exact3d self output_size scales_d scales_h scales_w|input output_size scale_factors
abs self
adaptive_avg_pool1d self output_size
adaptive_avg_pool2d self output_size
adaptive_avg_pool3d self output_size
adaptive_max_pool2d self output_size
add self other alpha|a b
add_ self other alpha|self b
addbmm self batch1 batch2 beta alpha
addcdiv self tensor1 tensor2 value
addcmul self tensor1 tensor2 value
addmm self mat1 mat2 beta alpha|self mat1 mat2 out_dtype beta alpha
affine_grid_generator theta size align_corners
all self dim keepdim
amax self dim keepdim
amin self dim keepdim
any self dim keepdim
append self el
arange end dtype layout device pin_memory|start end dtype layout device pin_memory|start end step dtype layout \
device pin_memory
argmax self dim keepdim
argmin self dim keepdim
as_tensor t dtype device|data dtype device
atan self|a
atan2 self other|a b
avg_pool1d self kernel_size stride padding ceil_mode count_include_pad
avg_pool2d self kernel_size stride padding ceil_mode count_include_pad divisor_override
avg_pool3d self kernel_size stride padding ceil_mode count_include_pad divisor_override
baddbmm self batch1 batch2 beta alpha|self batch1 batch2 out_dtype beta alpha
batch_norm input weight bias running_mean running_var training momentum eps cudnn_enabled
bernoulli self generator|self p generator
bernoulli_ self p generator
binary_cross_entropy self target weight reduction
binary_cross_entropy_with_logits self target weight pos_weight reduction
bitwise_not self
bmm self mat2 out_dtype
broadcast_tensors tensors
cat tensors dim
cdist x1 x2 p compute_mode
ceil self|a
channel_shuffle self groups
chunk self chunks dim
clamp self min max
clamp_ self min max
clamp_max self max
clamp_min self min
clamp_min_ self min
clone self memory_format
col2im self output_size kernel_size dilation padding stride
constant_pad_nd self pad value
contiguous self memory_format
conv1d input weight bias stride padding dilation groups
conv2d input weight bias stride padding dilation groups
conv3d input weight bias stride padding dilation groups
conv_transpose1d input weight bias stride padding output_padding groups dilation
conv_transpose2d input weight bias stride padding output_padding groups dilation
conv_transpose3d input weight bias stride padding output_padding groups dilation
convolution input weight bias stride padding dilation transposed output_padding groups
copy self src non_blocking
copy_ self src non_blocking|self other
cos self|a
cosine_similarity x1 x2 dim eps
cross_entropy_loss self target weight reduction ignore_index label_smoothing
cumsum self dim dtype
dequantize self|tensors|qtensor
detach self
dict inputs|self
dim self
div self other rounding_mode|a b
div_ self other rounding_mode
dot self tensor
dropout input p train
dropout_ self p train
einsum a
elu self alpha scale input_scale
embedding weight indices padding_idx scale_grad_by_freq sparse
embedding_bag weight indices offsets scale_grad_by_freq mode sparse per_sample_weights include_last_offset \
padding_idx
empty size dtype layout device pin_memory memory_format
empty_like self dtype layout device pin_memory memory_format
eq self other|a b
erf self|a
exp self|a
expand self size implicit
expand_as self other
extend self other
eye n dtype layout device pin_memory|n m dtype layout device pin_memory
fake_quantize_per_tensor_affine self scale zero_point quant_min quant_max
feature_dropout input p train
fft_rfft self n dim norm
fill_ self value
flatten self start_dim end_dim
flip self dims
floor self|a
floor_divide self other
floordiv a b
fmod self other|a b
format self
full size fill_value dtype layout device pin_memory
full_like self fill_value dtype layout device pin_memory memory_format
gather self dim index sparse_grad
ge self other|a b
gelu self approximate
grid_sampler input grid interpolation_mode padding_mode align_corners
group_norm input num_groups weight bias eps cudnn_enabled
gru input hx params has_biases num_layers dropout train bidirectional batch_first|data batch_sizes hx params \
has_biases num_layers dropout train bidirectional
gru_cell input hx w_ih w_hh b_ih b_hh
gt self other|a b
hardsigmoid self
hardsigmoid_ self
hardswish self
hardswish_ self
hardtanh self min_val max_val
hardtanh_ self min_val max_val
im2col self kernel_size dilation padding stride
index self indices|self el
index_put self indices values accumulate
index_put_ self indices values accumulate
index_select self dim index
insert self idx el
instance_norm input weight bias running_mean running_var use_input_stats momentum eps cudnn_enabled
is_floating_point self
istft self n_fft hop_length win_length window center normalized onesided length return_complex
item self
items self
keys self
l1_loss self target reduction
layer_norm input normalized_shape weight bias eps cudnn_enable
le self other|a b
leaky_relu self negative_slope
len a|t|self
lerp self end weight
linear input weight bias
linspace start end steps dtype layout device pin_memory
list t|l
log self|a b
log2 self
log_softmax self dim dtype
logical_and self other
logical_not self
logical_or self other
logical_xor self other
lstm input hx params has_biases num_layers dropout train bidirectional batch_first|data batch_sizes hx params \
has_biases num_layers dropout train bidirectional
lstm_cell input hx w_ih w_hh b_ih b_hh
lt self other|a b
masked_fill self mask value
masked_fill_ self mask value
masked_select self mask
matmul self other
max self other|self dim keepdim
max_pool1d self kernel_size stride padding dilation ceil_mode
max_pool2d self kernel_size stride padding dilation ceil_mode
max_pool2d_with_indices self kernel_size stride padding dilation ceil_mode
max_pool3d self kernel_size stride padding dilation ceil_mode
mean self dtype|self dim keepdim dtype
meshgrid tensors indexing
min self other|self dim keepdim
mish self
mm self mat2 out_dtype
mse_loss self target reduction
mul self other|l n|a b
mul_ self other|l n
mv self vec
narrow self dim start length
native_batch_norm input weight bias running_mean running_var training momentum eps
native_layer_norm input normalized_shape weight bias eps
ne self other|a b
neg self|a
new_empty self size dtype layout device pin_memory
new_full self size fill_value dtype layout device pin_memory
new_ones self size dtype layout device pin_memory
new_zeros self size dtype layout device pin_memory
nll_loss self target weight reduction ignore_index
nonzero self
norm self p dim keepdim dtype|self p dtype
numel self
ones size dtype layout device pin_memory
ones_like self dtype layout device pin_memory memory_format
outer self vec2
pad self pad mode value
pairwise_distance x1 x2 p eps keepdim
permute self dims
pixel_shuffle self upscale_factor
pixel_unshuffle self downscale_factor
pow self exponent|a b
prelu self weight
prod self dtype|self dim keepdim dtype
q_scale self
q_zero_point self
quantize_per_tensor self scale zero_point dtype|tensors scales zero_points dtype
rand size dtype layout device pin_memory|size generator dtype layout device pin_memory
rand_like self dtype layout device pin_memory memory_format|self generator dtype layout device pin_memory \
memory_format
randint high size dtype layout device pin_memory|high size generator dtype layout device pin_memory|low high \
size dtype layout device pin_memory
randn size dtype layout device pin_memory|size generator dtype layout device pin_memory
randn_like self dtype layout device pin_memory memory_format|self generator dtype layout device pin_memory \
memory_format
randperm n dtype layout device pin_memory|n generator dtype layout device pin_memory
reciprocal self
reflection_pad1d self padding
reflection_pad2d self padding
relu self
relu6 self
relu_ self
remainder self other|a b
repeat self repeats
repeat_interleave repeats output_size|self repeats dim output_size
replication_pad2d self padding
reshape self shape
rms_norm input normalized_shape weight eps
rnn_relu input hx params has_biases num_layers dropout train bidirectional batch_first|data batch_sizes hx \
params has_biases num_layers dropout train bidirectional
rnn_tanh input hx params has_biases num_layers dropout train bidirectional batch_first|data batch_sizes hx \
params has_biases num_layers dropout train bidirectional
roll self shifts dims
round self decimals|a
round_ self decimals
rsqrt self
rsub self other alpha
scalar_tensor s dtype layout device pin_memory
scaled_dot_product_attention query key value attn_mask dropout_p is_causal scale enable_gqa
scatter self dim index src reduce|self dim index value reduce
scatter_ self dim index src reduce|self dim index value reduce
scatter_add self dim index src
select self dim index|list idx
sigmoid self
sigmoid_ self
sign self
silu self
silu_ self
sin self|a
size self dim
slice self dim start end step|l start end step
smooth_l1_loss self target reduction beta
softmax self dim dtype
softplus self beta threshold
sort self dim descending|self stable dim descending|self reverse
split self split_size dim|self split_sizes dim
split_with_sizes self split_sizes dim
sqrt self|a
squeeze self dim
stack tensors dim
std self unbiased|self dim unbiased keepdim|self dim correction keepdim
stft self n_fft hop_length win_length window normalized onesided return_complex align_to_window|self n_fft \
hop_length win_length window center pad_mode normalized onesided return_complex align_to_window
str elem
sub self other alpha|a b
sub_ self other alpha
sum self dim keepdim dtype|self dtype
t self
tan self|a
tanh self|a
tensor t dtype device requires_grad|data dtype device requires_grad
tensordot self other dims_self dims_other
to self device dtype non_blocking copy memory_format|self dtype non_blocking copy memory_format|self other \
non_blocking copy memory_format
to_padded_tensor self padding output_size
topk self k dim largest sorted
transpose self dim0 dim1
tril self diagonal
triu self diagonal
type_as self other
unbind self dim
unflatten self dim sizes
uniform_ self from to generator
unique_consecutive self return_inverse return_counts dim
unique_dim self dim sorted return_inverse return_counts
unsqueeze self dim
update self to_add
upsample_bicubic2d self output_size align_corners scales_h scales_w|input output_size align_corners scale_factors
upsample_bilinear2d self output_size align_corners scales_h scales_w|input output_size align_corners scale_factors
upsample_linear1d self output_size align_corners scales|input output_size align_corners scale_factors
upsample_nearest1d self output_size scales|input output_size scale_factors
upsample_nearest2d self output_size scales_h scales_w|input output_size scale_factors
upsample_nearest3d self output_size scales_d scales_h scales_w|input output_size scale_factors
upsample_trilinear3d self output_size align_corners scales_d scales_h scales_w|input output_size align_corners \
scale_factors
values self
var self unbiased|self dim unbiased keepdim|self dim correction keepdim
view self size|self dtype
view_as_complex self
view_as_real self
warn message stacklevel
where condition self other
zero_ self
zeros size dtype layout device pin_memory
zeros_like self dtype layout device pin_memory memory_format
";

/// The lines by the names of their operators.
static BY_NAME: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| NAMES.lines().filter_map(|line| line.split_once(' ')).collect());

/// The names of the arguments of an operator of `aten` that has so many of them; none where it is not known.
pub(super) fn arguments(operator: &str, count: usize) -> Vec<&'static str> {
    let Some(line) = BY_NAME.get(operator) else { return Vec::new() };
    let split = |names: &'static str| names.split_whitespace().collect::<Vec<_>>();
    line.split('|')
        .find_map(|names| Some(split(names)).filter(|names| names.len() >= count))
        .unwrap_or_default()
}
