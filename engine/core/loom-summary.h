/* A tensor in a few numbers: mean, deviation, extremes and a small histogram. */
#pragma once

#include "engine/core/loom-dim.h"
#include "engine/core/loom-tensor.h"

#define LOOM_SUMMARY_BINS 16

typedef struct
{
  gint64 count, n_bad;            /* elements; those that are NaN or infinite, which the other numbers leave out */
  double first;                   /* the first element, for a tensor with one */
  double mean, deviation;         /* population standard deviation */
  double min, max, norm;          /* norm: root of the sum of squares */
  double dead;                    /* fraction of units, along dimension 1 (0 for a vector), that are 0 in all samples */
  guint32 bin[LOOM_SUMMARY_BINS]; /* from min to max */
} LoomSummary;

/* The value of a port. */
typedef struct
{
  gboolean is_known; /* the port exists and is computed */
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  LoomSummary summary;
} LoomPortSummary;

void loom_port_summary_set (LoomPortSummary *port, const LoomTensor *tensor, double scale);

/* Values are multiplied by scale. A tensor without finite elements has 0 for all numbers. */
void loom_summary_of (const LoomTensor *tensor, double scale, LoomSummary *summary);
