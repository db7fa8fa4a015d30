/* Declares the code of medians and quantiles. */
#pragma once

#include "engine/ops/op-private.h"

/* Ports, parameters and types are those of max (loom_op_infer_with_index). The median of elements with NaN is NaN; if
 * NaN is skipped, only that of elements that are all NaN. */
void loom_op_lower_median (LoomLower *ctx, gboolean skip_nan);

extern const LoomParamSpec loom_op_param_quantile[];
extern const LoomSample loom_op_samples_quantile[];
void loom_op_infer_quantile (LoomInfer *ctx);
void loom_op_lower_quantile (LoomLower *ctx, gboolean skip_nan);
double loom_op_sorted_flops (const LoomInfer *ctx);
