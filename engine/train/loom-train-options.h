/* The options of a run, which override the graph's settings. */
#pragma once

#include "engine/recipe/loom-train-spec.h"
#include "engine/run/loom-exec.h"

typedef struct
{
  const char *device; /* NULL: the graph's, else "cpu" */
  int threads;        /* 0: all */
  gboolean eager;     /* steps walk the program by loom_exec_walk(); USAGE with several ranks or a trace */
  int num_workers;    /* threads that prepare batches ahead; 0: by the size of a batch; -1: none */
  gint64 epochs;      /* 0: the graph's */
  gboolean no_epochs; /* only initialise, evaluate and write the weights */
  gint64 steps;       /* the run ends after this step, with a checkpoint, unless the epochs end earlier; 0: no limit */
  gint64 batch_size;  /* 0: the graph's */
  gint64 samples;     /* the number of different training samples, by loom_dataset_keep(); 0: all */
  double lr;          /* NaN: the graph's */
  const char *precision;  /* "f32", "bf16", "f16"; NULL: the graph's */
  gboolean tf32;          /* f32 products may be rounded to TF32; FALSE: as in the graph */
  const char *strategy;   /* of <parallel>; NULL: the graph's */
  gint64 seed;            /* -1: the graph's */
  const char *const *set; /* "NODE.PARAM=VALUE", NULL-terminated; may be NULL */
  const char *weights;    /* safetensors with initial weights; NULL: the graph's; "": none */
  const char *match;      /* patterns of the weights to load from it; NULL: the graph's */
  const char *out;        /* run folder; NULL: no files are written */
  const char *resume;     /* a run folder: graph, options and progress come from its newest valid checkpoint. Changing
                             batch_size or seed, and giving set or weights, is then a USAGE error */
  gint64 resume_step;     /* resumes from the newest checkpoint at or before this step, and removes the later ones, as
                             the run computes those steps again; 0: from the newest */
  const char *branch;     /* a run folder: the run begins with the state after branch_step of that one, whose graph and
                             settings it has. NULL: none */
  gint64 branch_step;
  gint64 history;       /* bytes of the disk for checkpoints by which the run can go back; 0: 200 MB; -1: none */
  const char *replay;   /* a run folder: the numbers that were changed while it trained are changed again, at the same
                           steps; graph, device and threads are the caller's. NULL: none */
  const char *costs_of; /* a run folder whose cost table is used; NULL: resume's, else the user's */
  LoomComm *comm;    /* the run is one of these ranks, and the batch size is that of a rank; NULL: a single rank. Must
                        outlive the trainer. Rank 0 writes the files. */
  const char *trace; /* a file for the trace of the sixth step, or of the last one of fewer; NULL: none */
  gboolean trace_optional;   /* no trace, instead of a USAGE error, if no step is computed by all ranks together
                                (strategy="server") */
  double checkpoint_seconds; /* 0: 30; there are also checkpoints at the end of epochs */
} LoomTrainerOptions;
