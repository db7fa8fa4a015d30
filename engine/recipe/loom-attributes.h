/* The attributes of <train> and of what stands in it: types, defaults, ranges and documentation.
 *
 * One table an element, as engine/ops/loom-reserved.h has for nodes: the reader, the difference of two graphs and
 * Studio's training settings read it. What an optimiser, a schedule or a metric adds stands in the tables of those. */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/ops/loom-op.h"
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

/* Of <train>, <schedule>, <clip>, <group> and <metric>, ending with spec.name NULL; empty for other elements. */
const LoomAttribute *loom_attributes (LoomTag tag);
/* By its name or alias; NULL where the table has none. */
const LoomAttribute *loom_attribute (LoomTag tag, const char *name);

G_END_DECLS
