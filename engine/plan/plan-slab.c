/* Memory for many structs of one size; see the header. */
#include "engine/plan/plan-slab.h"

#include <string.h>

#define BLOCK 256 /* structs */

gpointer
plan_slab_new (PlanSlab *slab)
{
  gpointer item = slab->spare;

  if (item != NULL)
    {
      memcpy (&slab->spare, item, sizeof slab->spare);
      return memset (item, 0, slab->size);
    }
  if (slab->blocks == NULL)
    slab->blocks = g_ptr_array_new_with_free_func (g_free);
  if (slab->blocks->len == 0 || slab->used == BLOCK)
    {
      g_ptr_array_add (slab->blocks, g_malloc0_n (BLOCK, slab->size));
      slab->used = 0;
    }
  return (char *)slab->blocks->pdata[slab->blocks->len - 1] + slab->used++ * slab->size;
}

void
plan_slab_give_back (PlanSlab *slab, gpointer item)
{
  memcpy (item, &slab->spare, sizeof slab->spare);
  slab->spare = item;
}

void
plan_slab_clear (PlanSlab *slab)
{
  g_clear_pointer (&slab->blocks, g_ptr_array_unref);
  slab->used = 0;
  slab->spare = NULL;
}
