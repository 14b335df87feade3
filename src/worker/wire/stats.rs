//! What passes over all of a table or an array tell.

use super::{choice, record};
use crate::data::stats::summary::{Depth, Summaries, Summary};
use crate::data::stats::tensor::{Distribution, Quantiles, TensorStats, ZeroLines};
use crate::data::stats::{ArrayStats, Binning, ColumnStats, Distinct, Histogram, Scaled, TableStats, Unread};

record!(TableStats { rows, columns });
record!(ColumnStats { name, nulls, nan, inf, min, max, sum, mean, distinct, unfit });
record!(Histogram { edges, counts, whole });
record!(Summaries { depth, rows, columns });
record!(Summary {
    name,
    data_type,
    rows,
    nulls,
    unfit,
    nan,
    inf,
    zeros,
    min,
    max,
    mean,
    std,
    quantiles,
    quantiles_sampled,
    histogram,
    top,
    top_sampled,
    distinct,
    lengths,
    disguised,
    same_as,
    fingerprint,
});
record!(ArrayStats {
    count,
    nan,
    inf,
    zeros,
    min,
    max,
    mean,
    std,
    sum,
    complex_sum,
    crc32,
    scaled,
    histogram,
    unread,
});
record!(Unread { count, error });
record!(Scaled { missing, min, max, mean, sum });
record!(TensorStats {
    count,
    nan,
    infinite,
    zeros,
    subnormal,
    saturated,
    min,
    max,
    mean,
    std,
    norm,
    distribution,
    zero_rows,
    zero_columns,
    hash,
});
record!(Distribution { quantiles, ends, bins });
record!(Quantiles { q001, q01, q05, q25, median, q75, q95, q99, q999 });
record!(ZeroLines { count, first, last });

choice!(Depth { 0 Sampled(rows); 1 Exact; });
choice!(Distinct { 0 Exactly(count); 1 AtLeast(count); 2 About(count); });
choice!(Binning { 0 Exactly(bins); 1 AtMost(bins); });
