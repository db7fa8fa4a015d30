/* Medians and quantiles: what stands at a place of the sorted elements. */
#pragma once

#include "engine/ops/op-private.h"

G_BEGIN_DECLS

/* Ports, parameters and types are those of max (loom_op_infer_found). NaN is the median of anything with NaN in it, or,
 * where it is skipped, of nothing else. */
void loom_op_lower_median (LoomLower *ctx, gboolean skip_nan);

extern const LoomParamSpec loom_op_param_quantile[];
extern const LoomSample loom_op_samples_quantile[];
void loom_op_infer_quantile (LoomInfer *ctx);
void loom_op_lower_quantile (LoomLower *ctx, gboolean skip_nan);
double loom_op_sorted_flops (const LoomInfer *ctx);

G_END_DECLS
