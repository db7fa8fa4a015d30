/* Declares the reserved attributes, which nodes of any operator or module have in addition to their parameters.
 *
 * One table holds their types, defaults and documentation; the net, the schema, the difference of two graphs and
 * Studio's inspector read it. An operator's parameter of the same name (dtype of cast) takes precedence. */
#pragma once

#include "engine/ops/loom-initializer.h"

#define LOOM_MAX_COPIES 10000 /* the largest repeat="N" */
#define LOOM_MAX_STAGES 64    /* of a pipeline */

/* The row of an attribute in editors. */
typedef enum
{
  LOOM_SHOWN_NOWHERE, /* only in files, or changed by a command of its own */
  LOOM_SHOWN_AT_NODES,
  LOOM_SHOWN_AT_INSTANCES /* of modules only */
} LoomReservedShown;

typedef struct
{
  LoomParamSpec spec;
  gboolean is_cosmetic;  /* does not change the meaning of the graph */
  gboolean is_inherited; /* on a module's instance it applies to every node inside that does not set it */
  LoomReservedShown shown;
} LoomReserved;

/* In the order of the schema, ending with spec.name NULL. id, op and module, which identify a node, are not in it. */
const LoomReserved *loom_reserved (void);
/* NULL if no reserved attribute has this name. */
const LoomReserved *loom_reserved_find (const char *name);
/* TRUE for id, op and module too: operators and module arguments may not use the name. */
gboolean loom_is_reserved (const char *name);
