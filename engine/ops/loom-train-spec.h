/* <train> in typed form: what graphs/README.md says of it, checked, with defaults. */
#pragma once

#include "engine/ops/loom-net.h"
#include "engine/program/loom-optimizer.h"

G_BEGIN_DECLS

typedef enum { LOOM_SCHEDULE_CONSTANT, LOOM_SCHEDULE_STEP, LOOM_SCHEDULE_COSINE, LOOM_SCHEDULE_LINEAR } LoomScheduleType;

/* Learning rate at step s (from 0) of S: warm-up is linear over warmup_steps (lr·(s+1)/warmup), then by type over what is
 * left: cosine from lr to min_lr (torch CosineAnnealingLR, per step), linear from lr to lr·end_factor, step: lr·gamma^⌊s/step_size⌋. */
typedef struct {
  LoomScheduleType type;
  gint64 warmup_steps, step_size;
  double gamma, min_lr, end_factor;
} LoomSchedule;

double loom_schedule_factor (const LoomSchedule *s, double lr, gint64 step, gint64 total_steps);

typedef struct {
  char *type;  /* "accuracy" */
  LoomNetSource input, target;
  char *name;
} LoomMetricSpec;

typedef struct {
  LoomNetSource loss;
  const LoomOptimizer *optimizer;
  double *hyper; /* optimizer->hyper order */
  gint64 epochs, batch_size;
  guint64 seed;
  char *device; /* "cpu" */
  LoomDType precision;    /* of products in a training step: F32, BF16 or F16 */
  gboolean keep_all;      /* recompute="…" is not obeyed: what its saving is compared with. Never read from a file */
  double clip_norm;
  LoomSchedule schedule;
  GPtrArray *metrics; /* LoomMetricSpec */
  guint dataset_node; /* the dataset whose samples make an epoch */
} LoomTrainSpec;

/* Faults name <train>'s line and attribute. NULL if there are errors or no <train>. */
LoomTrainSpec *loom_train_spec_new (const LoomGraph *graph, const LoomNet *net, LoomFaults *faults);
void loom_train_spec_free (LoomTrainSpec *spec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomTrainSpec, loom_train_spec_free)

G_END_DECLS
