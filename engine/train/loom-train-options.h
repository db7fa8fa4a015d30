/* The options of a run, which replace what the graph says. */
#pragma once

#include "engine/recipe/loom-train-spec.h"
#include "engine/run/loom-exec.h"

G_BEGIN_DECLS

typedef struct
{
  const char *device;        /* NULL: the graph's, else "cpu" */
  int threads;               /* 0: all */
  gint64 epochs;             /* 0: the graph's */
  gboolean no_epochs;        /* instead of any: initialise, evaluate and write the weights */
  gint64 steps;              /* the run ends after this step, with a checkpoint, if epochs are more; 0: no such end */
  gint64 batch_size;         /* 0: the graph's */
  gint64 samples;            /* the number of different training samples, by loom_dataset_keep(); 0: all */
  double lr;                 /* NaN: the graph's */
  const char *precision;     /* "f32", "bf16", "f16"; NULL: the graph's */
  gboolean tf32;             /* products of f32 may be rounded to TF32; FALSE: as the graph says */
  const char *strategy;      /* of <parallel>; NULL: the graph's */
  gint64 seed;               /* -1: the graph's */
  const char *const *set;    /* "NODE.PARAM=VALUE", NULL-terminated; may be NULL */
  const char *weights;       /* safetensors to begin from; NULL: the graph's; "": none */
  const char *match;         /* patterns of what is taken from it; NULL: the graph's */
  const char *out;           /* run folder; NULL: nothing is written */
  const char *resume;        /* a run folder: graph, options and place come from its newest whole checkpoint.
                              * a change of batch_size or seed, any set, and weights are then a USAGE error */
  const char *costs_of;      /* a run folder whose cost table is taken; NULL: resume's, else the user's */
  LoomComm *comm;            /* the run is one of its ranks, and the batch size is that of a rank; NULL: it is alone.
                              * Must outlive the trainer. Rank 0 writes what is written. */
  const char *trace;         /* a file for the lanes of the sixth step, or the last one of fewer; NULL: none */
  gboolean trace_optional;   /* none where no step is of all ranks (strategy="server"); else that is a USAGE error */
  double checkpoint_seconds; /* 0: 30; checkpoints also at each epoch's end */
} LoomTrainerOptions;

G_END_DECLS
