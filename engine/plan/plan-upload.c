/* Assigns the memory of uploads before a step and of downloads after it.
 *
 * Inputs of a device with its own memory are uploaded on a separate lane to a staging area, so that the next step's
 * inputs can arrive during this step. A step begins by copying its inputs from there (loom-plan.h). Small results (the
 * loss, the norm, sums of metrics) are adjacent, so that one copy downloads them all. */
#include "engine/plan/plan-private.h"

#define ALIGNMENT     64
#define LARGEST_BYTES 4096 /* results above this are downloaded separately */

static int *
storage_at (GArray *of_devices, int device)
{
  return &g_array_index (of_devices, int, (guint)device);
}

static gboolean
has_own_memory (PlanGraph *g, int device)
{
  return device >= 0 && !graph_device (g, device)->info.host_memory;
}

static GArray *
no_storages (const PlanGraph *g)
{
  GArray *storages = g_array_new (FALSE, FALSE, sizeof (int));
  const int none = -1;

  for (guint d = 0; d < g->plan_devices->len; d++)
    g_array_append_val (storages, none);
  return storages;
}

void
graph_stage_uploads (PlanGraph *g)
{
  g->uploads = g_array_new (FALSE, FALSE, sizeof (LoomPlanUpload));
  g->staging = no_storages (g);
  for (guint i = 0; i < g->input_copied->len; i++)
    {
      guint v = loom_program_get_input (g->program, i)->value;
      const PlanValue *value = graph_value (g, v);
      PlanStorage *s;
      int *staging;

      /* A body's inputs are on the device already. */
      if (g->options.resident_inputs || !g_array_index (g->input_copied, gboolean, i) || !graph_is_used (g, v)
          || !has_own_memory (g, value->device))
        continue;
      staging = storage_at (g->staging, value->device);
      if (*staging < 0)
        *staging = graph_new_storage (g, 0, value->device, -1, LOOM_OWNER_DATA);
      s = &g_array_index (g->storages, PlanStorage, (guint)*staging);
      s->once = TRUE;
      LoomPlanUpload upload
          = { .input = i, .device = (guint)value->device, .offset = s->bytes, .bytes = loom_desc_bytes (&value->desc) };

      g_array_append_val (g->uploads, upload);
      s->bytes += (upload.bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

void
graph_pack_results (PlanGraph *g)
{
  g->results = no_storages (g);
  for (guint o = 0; o < g->output_value->len && !g->options.resident_inputs; o++)
    {
      const PlanValue *value = graph_value (g, graph_root (g, g_array_index (g->output_value, guint, o)));
      PlanStorage *s, *all;
      int *results;

      if (value->storage < 0 || !has_own_memory (g, value->device))
        continue;
      s = &g_array_index (g->storages, PlanStorage, (guint)value->storage);
      if (!graph_in_arena (g, s) || s->block >= 0 || s->first < 0 || s->bytes > LARGEST_BYTES)
        continue;
      results = storage_at (g->results, value->device);
      if (*results < 0)
        {
          *results = graph_new_storage (g, 0, value->device, s->first, s->owner);
          s = &g_array_index (g->storages, PlanStorage, (guint)value->storage); /* the array may be reallocated */
          g_array_index (g->storages, PlanStorage, (guint)*results).span = s->span;
        }
      all = &g_array_index (g->storages, PlanStorage, (guint)*results);
      plan_span_join (&all->span, &s->span);
      s->block = *results;
      s->offset = all->bytes;
      all->bytes += s->bytes;
      all->first = MIN (all->first, s->first);
      all->last = MAX (all->last, s->last);
    }
}
