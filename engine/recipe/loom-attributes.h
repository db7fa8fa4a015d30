/* The attributes of <graph> that one sets, of <train> and of what stands in it: types, defaults, ranges and
 * documentation.
 *
 * One table an element, as engine/ops/loom-reserved.h has for nodes: the reader, the difference of two graphs and
 * Studio's training settings read it. What an optimiser, a schedule or a metric adds stands in the tables of those. */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/ops/loom-op.h"
#include "engine/program/loom-optimizer.h"
#include "engine/recipe/loom-metric.h"

G_BEGIN_DECLS

/* The thing that a text refers to, which its type does not say. */
typedef enum
{
  LOOM_REFERS_NOTHING,
  LOOM_REFERS_PORT,    /* a port of the graph */
  LOOM_REFERS_WEIGHTS, /* patterns of weights' paths, with commas */
  LOOM_REFERS_METRIC   /* a type of metrics, which may be an alias */
} LoomRefers;

typedef struct
{
  LoomParamSpec spec; /* def NULL: needed; "": nothing holds where it is absent, or what a formula says */
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
/* The value that holds where <train> does not have this attribute, as it would be written, the optimiser's numbers
 * among them; NULL where there is none. */
const char *loom_train_default (const LoomElement *train, const char *name);
/* A default of a table as it would be written, a text that is never freed (there are few of them); NULL for NaN. words:
 * of which it is the place of one; NULL: it is a number. */
const char *loom_default_text (double value, const char *const *words, gboolean is_bool);

G_END_DECLS
