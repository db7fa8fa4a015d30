/* Shared by operators that draw random numbers: shapes that are given, wired or taken from parameters. */
#pragma once

#include "engine/ops/op-private.h"

G_BEGIN_DECLS

/* Samples for rand and randn, whose inputs and parameters are those of zeros. */
extern const LoomSample loom_op_samples_drawn[];
/* Shape and type as zeros has them; FALSE with a fault unless the type is a float. */
gboolean loom_op_infer_drawn (LoomInfer *ctx);
/* Output 0 of one kind of numbers. */
void loom_op_lower_drawn (LoomLower *ctx, LoomRandomKind kind);

/* Distributions with parameters: ports named like the attributes that can take their place, and "like" behind them. The
 * shape is the one that is given, or that of "like", else what the parameters have together; those are repeated where
 * their sizes are 1. */
#define LOOM_OP_PARAM_DRAWN_SHAPE                                                                                      \
  {                                                                                                                    \
    .name = "shape", .type = LOOM_PARAM_SHAPE, .def = "",                                                              \
    .doc = "Sizes of the dimensions; left out, those of what is wired."                                                \
  }
void loom_op_infer_distribution (LoomInfer *ctx);
/* Parameter i in the type of the numbers, `usual` where it is neither wired nor given. */
LoomValue loom_op_distribution_parameter (LoomLower *ctx, guint i, double usual);
/* Fresh numbers of the shape of output 0. */
LoomValue loom_op_draw (LoomLower *ctx, LoomRandomKind kind);
void loom_op_put_drawn (LoomLower *ctx, LoomValue y);
/* v, which must not be negative: an error of the run says `what` and the place. NaN passes, which training reports. */
LoomValue loom_op_not_negative (LoomLower *ctx, LoomValue v, const char *what);

G_END_DECLS
