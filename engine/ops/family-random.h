/* Declares the code that operators of random numbers share: shapes that are given, wired or inferred from
 * parameters. */
#pragma once

#include "engine/ops/op-private.h"

/* Samples for rand and randn, which have the inputs and parameters of zeros. */
extern const LoomSample loom_op_samples_drawn[];
/* Shape and type as in zeros; FALSE with a fault unless the type is a float. */
gboolean loom_op_infer_drawn (LoomInfer *ctx);
/* Sets output 0 to random numbers of one kind. */
void loom_op_lower_drawn (LoomLower *ctx, LoomRandomKind kind);

/* Distributions with parameters: ports named like the attributes that can replace them, and "like" after them. The
 * shape is the given one, or that of "like", else the broadcast shape of the parameters, which are expanded to it. */
#define LOOM_OP_PARAM_DRAWN_SHAPE                                                                                      \
  {                                                                                                                    \
    LOOM_PARAM ("shape", SHAPE, ""), .doc = "Sizes of the dimensions; if not set, those of the wired inputs."          \
  }
void loom_op_infer_distribution (LoomInfer *ctx);
/* Parameter i in the type of the numbers, or `usual` if it is neither wired nor given. */
LoomValue loom_op_distribution_parameter (LoomLower *ctx, guint i, double usual);
/* Random numbers of the shape of output 0. */
LoomValue loom_op_draw (LoomLower *ctx, LoomRandomKind kind);
void loom_op_put_drawn (LoomLower *ctx, LoomValue y);
/* v, which must not be negative: an error of the run reports `what` and the index. NaN passes, which training
 * reports. */
LoomValue loom_op_not_negative (LoomLower *ctx, LoomValue v, const char *what);
