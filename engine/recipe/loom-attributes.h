/* The attributes of <graph> that users set, of <train> and of its children: types, defaults, ranges and documentation.
 *
 * One table per element, as engine/ops/loom-reserved.h has for nodes: the reader, the difference of two graphs and
 * Studio's training settings read it. Optimisers, schedules and metrics have tables of their own. */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/ops/loom-op.h"
#include "engine/program/loom-optimizer.h"
#include "engine/recipe/loom-metric.h"

G_BEGIN_DECLS

/* The meaning of a text, which its type does not determine. */
typedef enum
{
  LOOM_REFERS_NOTHING,
  LOOM_REFERS_PORT,    /* a port of the graph */
  LOOM_REFERS_WEIGHTS, /* patterns of weights' paths, with commas */
  LOOM_REFERS_METRIC   /* a type of metrics, which may be an alias */
} LoomRefers;

typedef struct
{
  LoomParamSpec spec;                 /* def NULL: required; "": no default, or one by a formula */
  const char *const *(*names) (void); /* one of these, which other tables have; NULL */
  const char *alias;                  /* the name that the first files have for it; NULL */
  LoomRefers refers;
  LoomMetricTakes takes; /* <metric>: only metrics that take this have it; 0: all have it */
} LoomAttribute;

/* Of <graph>, <train>, <schedule>, <clip>, <group> and <metric>, ending with spec.name NULL; empty for other elements.
 */
const LoomAttribute *loom_attributes (LoomTag tag);
/* By its name or alias; NULL where the table has none. */
const LoomAttribute *loom_attribute (LoomTag tag, const char *name);

/* The number of this name that the optimiser of <train> has; NULL: it has none. */
const LoomHyper *loom_train_hyper (const LoomElement *train, const char *name);
/* The default of an attribute of <train>, as written in a file, the optimiser's hyper-parameters included; NULL: none.
 */
const char *loom_train_default (const LoomElement *train, const char *name);
/* A default of a table as written in a file, a text that is never freed (there are few of them); NULL for NaN. words:
 * value is the index of one of these; NULL: it is a number. */
const char *loom_default_text (double value, const char *const *words, gboolean is_bool);

G_END_DECLS
