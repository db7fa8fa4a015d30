/* <train> in typed form: what graphs/README.md says of it, checked, with defaults. */
#pragma once

#include "engine/ops/loom-net.h"
#include "engine/ops/loom-schedule.h"
#include "engine/program/loom-optimizer.h"

G_BEGIN_DECLS

typedef struct {
  char *type;  /* "accuracy" */
  LoomNetSource input, target;
  char *name;
} LoomMetricSpec;

/* <group>: parameters by their paths. */
typedef struct {
  char *match;   /* `*`, `**` and `?`; what stands below a match matches, too */
  char *prefix;  /* "group1.", of its scalar slots */
  gboolean frozen;
  guint64 own;   /* bit k: hyper[k] is its own */
  double *hyper; /* all, in the optimiser's order */
} LoomTrainGroup;

typedef struct {
  LoomNetSource loss;
  const LoomOptimizer *optimizer;
  double *hyper; /* optimizer->hyper order */
  gint64 epochs, batch_size;
  guint64 seed;
  char *device; /* "cpu" */
  LoomDType precision;    /* of products in a training step: F32, BF16 or F16 */
  gboolean keep_all;      /* recompute="…" is not obeyed: what its saving is compared with. Never read from a file */
  double clip_norm, clip_value; /* 0: none */
  double lr_scale;              /* batch_size / lr_batch_size: in hyper already */
  LoomSchedule schedule;
  GPtrArray *groups; /* LoomTrainGroup */
  GPtrArray *metrics; /* LoomMetricSpec */
  guint dataset_node; /* the dataset whose samples make an epoch */
} LoomTrainSpec;

/* Faults name <train>'s line and attribute. NULL if there are errors or no <train>. */
LoomTrainSpec *loom_train_spec_new (const LoomGraph *graph, const LoomNet *net, LoomFaults *faults);
void loom_train_spec_free (LoomTrainSpec *spec);
/* The first group that a weight's path matches, counted from 1; 0 where none does. */
guint loom_train_spec_group_of (const LoomTrainSpec *spec, const char *path);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomTrainSpec, loom_train_spec_free)

G_END_DECLS
