/* The attributes of <graph> that users set, of <train> and of its children: types, defaults, ranges and documentation.
 *
 * One table per element, as engine/ops/loom-reserved.h has for nodes, used by the reader, the comparison of graphs and
 * Studio's training settings. Optimisers, schedules and metrics have their own tables. */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/ops/loom-op.h"
#include "engine/program/loom-optimizer.h"
#include "engine/recipe/loom-metric.h"

/* The kind of name in a text, which its type does not determine. */
typedef enum
{
  LOOM_REFERS_NOTHING,
  LOOM_REFERS_PORT,    /* a port of the graph */
  LOOM_REFERS_WEIGHTS, /* patterns of weights' paths, with commas */
  LOOM_REFERS_METRIC   /* a type of metrics, which may be an alias */
} LoomRefers;

typedef struct
{
  LoomParamSpec spec;                 /* def NULL: required; "": no default, or a computed one */
  const char *const *(*names) (void); /* returns the choices, from other tables; NULL */
  const char *alias;                  /* a name used by early versions of the format; NULL */
  LoomRefers refers;
  LoomMetricTakes takes; /* <metric>: only metrics with this option have the attribute; 0: all have it */
} LoomAttribute;

/* The table of <graph>, <train>, <schedule>, <clip>, <group> or <metric>, ending with spec.name NULL; empty for other
 * elements. */
const LoomAttribute *loom_attributes (LoomTag tag);
/* Finds an attribute by its name or alias; NULL: none. */
const LoomAttribute *loom_attribute (LoomTag tag, const char *name);

/* The hyper-parameter of this name of <train>'s optimiser; NULL: it has none. */
const LoomHyper *loom_train_hyper (const LoomElement *train, const char *name);
/* The default of an attribute of <train>, or of a hyper-parameter of its optimiser, as written in a file; NULL: none.
 */
const char *loom_train_default (const LoomElement *train, const char *name);
/* A default of a table as written in a file, a text that is never freed (there are few); NULL for NaN. words: value is
 * an index into these; NULL: it is a number. */
const char *loom_default_text (double value, const char *const *words, gboolean is_bool);
