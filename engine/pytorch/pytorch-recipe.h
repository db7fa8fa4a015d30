/* Declares the words of PyTorch for <train>. */
#pragma once

#include "engine/pytorch/pytorch-private.h"

/* "torch.optim.Adam", or a class of the file whose text is stored in *text; NULL: there is none. */
const char *loom_pytorch_optimizer_class (const LoomOptimizer *optimizer, const char **text);
/* "lr=0.01, betas=(0.9, 0.999)", or as entries of a dict; which: bit k for hyper-parameter k. */
char *loom_pytorch_hyper (const LoomOptimizer *optimizer, const double *hyper, guint64 which, gboolean as_dict);
/* The pattern of a group as a regular expression, as a literal. */
char *loom_pytorch_pattern (const char *match);
/* The body of factor(t, total, lr), the arguments of ReduceLROnPlateau, and the body of momentum(t, total), which
 * is None where momentum stays as it is; NULL: none. */
char *loom_pytorch_schedule (const LoomSchedule *schedule);
char *loom_pytorch_plateau (const LoomSchedule *schedule);
char *loom_pytorch_momentum (const LoomSchedule *schedule);
/* The value of a metric from x and y; NULL: it is not written. */
char *loom_pytorch_metric (const LoomMetricSpec *metric);
const char *loom_pytorch_metric_helpers (void);
