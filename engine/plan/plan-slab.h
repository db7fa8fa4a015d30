/* Memory for many structs of one size, next to each other in the order in which they are made.
 *
 * Each of some 60 passes and patterns walks over all instructions of a graph. If every instruction is a block of its
 * own between its operands, label and attributes, each step of a walk misses the cache. */
#pragma once

#include <glib.h>

typedef struct
{
  gsize size;        /* of a struct, in bytes; at least that of a pointer */
  GPtrArray *blocks; /* NULL until the first struct is made */
  guint used;        /* number of structs of the last block that were made */
  gpointer spare;    /* the first of the structs that were given back, which are linked by their first bytes */
} PlanSlab;

/* A struct of zeros. */
gpointer plan_slab_new (PlanSlab *slab);
void plan_slab_give_back (PlanSlab *slab, gpointer item);
/* Frees all structs. */
void plan_slab_clear (PlanSlab *slab);
