/* Reserved attributes: what stands at a node of any operator or module beside the parameters of its own.
 *
 * One table says their types, defaults and documentation; the net, the schema, the difference of two graphs and
 * Studio's inspector read it. An operator's parameter of the same name (dtype of cast) comes before the reserved one.
 */
#pragma once

#include "engine/ops/loom-op.h"

G_BEGIN_DECLS

#define LOOM_MAX_COPIES 10000 /* the largest repeat="N" */
#define LOOM_MAX_STAGES 64    /* of a pipeline */

/* Where a program that edits graphs shows a row for it. */
typedef enum
{
  LOOM_SHOWN_NOWHERE, /* for those who write files, or it has a command of its own */
  LOOM_SHOWN_AT_NODES,
  LOOM_SHOWN_AT_INSTANCES /* of modules only */
} LoomReservedShown;

typedef struct
{
  LoomParamSpec spec;
  gboolean is_cosmetic;  /* no part of what the graph means */
  gboolean is_inherited; /* on a module's instance it says the same of every node within that does not say it itself */
  LoomReservedShown shown;
} LoomReserved;

/* In the order of the schema, ending with spec.name NULL; id, op and module, which say what a node is, are not in it.
 */
const LoomReserved *loom_reserved (void);
/* NULL where no reserved attribute has this name. */
const LoomReserved *loom_reserved_find (const char *name);
/* TRUE for id, op and module too: no operator and no module argument may use the name for something else. */
gboolean loom_is_reserved (const char *name);

G_END_DECLS
