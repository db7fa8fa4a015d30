/* Declares templates: a network that suits a data set, with its loss, its metric and a `<train>` that learns.
 *
 * Which kinds of networks suit follows from the types of the data set's ports alone; the numbers of classes and
 * samples may have to be read from the data. No function here is fast enough for a main loop, because a data set may
 * be large. */
#pragma once

#include "engine/data/loom-dataset.h"
#include "engine/graph/loom-graph.h"

/* A kind of network. */
typedef struct
{
  const char *name;  /* "mlp" */
  const char *title; /* "Two linear layers" */
  const char *doc;   /* one sentence */
} LoomTemplateKind;

/* The kind of a target, for the list of data sets. */
typedef enum
{
  LOOM_TASK_NONE,      /* there is no target */
  LOOM_TASK_CLASSES,   /* one class per sample */
  LOOM_TASK_NUMBERS,   /* numbers */
  LOOM_TASK_POSITIONS, /* a class for every position of a sequence, or every pixel of a picture */
} LoomTask;

LoomTask loom_template_task (const LoomDatasetInfo *info);

/* The kinds that suit a data set with these ports, the best first, NULL-terminated. (transfer container) */
const LoomTemplateKind **loom_template_kinds (const LoomDatasetInfo *info);
/* NULL if there is no such kind. */
const LoomTemplateKind *loom_template_kind (const char *name);
/* All kinds, NULL-terminated. */
const LoomTemplateKind *const *loom_template_all_kinds (void);

typedef struct
{
  const char *source;         /* of the data set: "csv" */
  const char *const *options; /* name, value, name, value …, NULL; may be NULL */
  const char *folder;         /* relative paths start there; NULL: the working folder */
  const char *kind;           /* NULL: the best */
  const char *name;           /* of the graph; NULL: the data set's title */
  /* The prediction of numbers is shift + scale · (output of the last layer), so that a target of thousands needs no
   * weights of thousands; with scale 0 or 1 and shift 0 the output is unchanged. */
  double scale, shift;
} LoomTemplateData;

/* Makes a graph of the data set, a network and a loss, without a layout. The data set is opened if its ports do not
 * determine everything. NULL with SCHEMA for an unknown source, option or kind, and a kind that does not suit; with
 * DATA if data are needed and cannot be read (Fashion-MNIST is an exception: its sizes are known without the files). */
LoomGraph *loom_template_from_data (const LoomTemplateData *data, GError **error);
