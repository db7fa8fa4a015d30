/* Lists parameters with their devices, and the memory of nodes; see the header. */
#include "app/shared/listing-parameters.h"

#include "app/shared/command.h"

#include <stdio.h>
#include <string.h>

static const char *
device_of (const LoomPlan *plan, guint slot)
{
  return loom_plan_device (plan, loom_plan_slot_device (plan, slot))->name;
}

static void
append_shape (GString *s, int rank, const gint64 *dim)
{
  for (int r = 0; r < rank; r++)
    g_string_append_printf (s, "%s%" G_GINT64_FORMAT, r > 0 ? "×" : "", dim[r]);
}

/* TRUE for a shard; dim and rank receive the whole's shape. */
static gboolean
is_part (const LoomSlot *slot, int *rank, gint64 dim[LOOM_MAX_RANK])
{
  *rank = loom_slot_whole (slot, dim);
  return *rank != slot->rank || memcmp (dim, slot->dim, (gsize)*rank * sizeof *dim) != 0;
}

/* "256×784", or for a shard "128×784 of 256×784"; a scalar has none. (transfer full) */
static char *
shape_of (const LoomSlot *slot)
{
  GString *s = g_string_new (NULL);
  gint64 dim[LOOM_MAX_RANK];
  int rank;

  append_shape (s, slot->rank, slot->dim);
  if (is_part (slot, &rank, dim))
    {
      g_string_append (s, " of ");
      append_shape (s, rank, dim);
    }
  return g_string_free (s, FALSE);
}

static void
print_json (const LoomPlan *plan, guint i, const LoomSlot *slot, int place)
{
  LoomJson *b = command_event_new ("parameter");
  gint64 dim[LOOM_MAX_RANK];
  int rank = loom_slot_whole (slot, dim);

  if (place >= 0)
    loom_json_int (b, "rank", place);

  loom_json_string (b, "name", slot->name);
  loom_json_string (b, "dtype", loom_dtype_name (slot->dtype));
  loom_json_ints (b, "shape", slot->rank, slot->dim);
  if (place >= 0)
    loom_json_ints (b, "whole", rank, dim);
  loom_json_bool (b, "trainable", slot->trainable);
  loom_json_string (b, "device", device_of (plan, i));
  loom_json_int (b, "bytes", (gint64)loom_plan_slot_bytes (slot));
  command_event_print (b);
}

static void
print_line (const LoomPlan *plan, guint i, const LoomSlot *slot, int width, int shapes)
{
  g_autofree char *shape = shape_of (slot), *bytes = loom_bytes_to_string ((double)loom_plan_slot_bytes (slot));
  g_autofree char *name = command_printable (slot->name);
  /* The width in columns: × has two bytes. */
  const int of_shape = shapes + (int)strlen (shape) - (int)g_utf8_strlen (shape, -1);

  printf ("%-*s  %-*s  %-5s  %-8s %10s%s\n", width, name, of_shape, shape, loom_dtype_name (slot->dtype),
          device_of (plan, i), bytes, slot->trainable ? "" : "  frozen");
}

static void
print_rank (int rank)
{
  if (rank >= 0)
    printf ("%srank %d:\n", rank > 0 ? "\n" : "", rank);
}

void
listing_print_parameters (const LoomPlan *plan, int rank, gboolean json)
{
  const LoomProgram *p = loom_plan_program (plan);
  int width = 9, shapes = 14;

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    if (loom_program_get_slot (p, i)->kind == LOOM_SLOT_PARAMETER)
      {
        g_autofree char *shape = shape_of (loom_program_get_slot (p, i));

        width = MAX (width, (int)g_utf8_strlen (loom_program_get_slot (p, i)->name, -1));
        shapes = MAX (shapes, (int)g_utf8_strlen (shape, -1));
      }
  if (!json)
    {
      print_rank (rank);
      printf ("%-*s  %-*s  %-5s  %-8s %10s\n", width, "parameter", shapes, "shape", "type", "device", "bytes");
    }
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      if (slot->kind != LOOM_SLOT_PARAMETER)
        continue;
      if (json)
        print_json (plan, i, slot, rank);
      else
        print_line (plan, i, slot, width, shapes);
    }
  for (guint d = 0; d < loom_plan_n_devices (plan) && !json; d++)
    {
      guint n = 0;
      gsize sum = 0;

      for (guint i = 0; i < loom_program_n_slots (p); i++)
        if (loom_program_get_slot (p, i)->kind == LOOM_SLOT_PARAMETER && loom_plan_slot_device (plan, i) == d)
          {
            n++;
            sum += loom_plan_slot_bytes (loom_program_get_slot (p, i));
          }
      g_autofree char *bytes = loom_bytes_to_string ((double)sum);
      printf ("%s%u on %s, %s\n", d == 0 ? "\n" : "", n, loom_plan_device (plan, d)->name, bytes);
    }
}

/* ---- nodes ------------------------------------------------------------------- */

static void
print_node_json (const LoomNodeBytes *row, int rank)
{
  LoomJson *line = command_event_new ("node");

  if (rank >= 0)
    loom_json_int (line, "rank", rank);
  loom_node_bytes_add_json (row, line);
  command_event_print (line);
}

static void
print_node (const LoomNodeBytes *row, int width)
{
  g_autofree char *name = row->node != NULL ? command_printable (row->node) : g_strdup ("·");
  g_autofree char *total = loom_bytes_to_string ((double)row->total);

  printf ("%-*s  %-8s", width + (row->node != NULL ? 0 : 1), name, row->device);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    {
      g_autofree char *text = loom_bytes_to_string ((double)row->bytes[o]);

      printf (" %11s", row->bytes[o] > 0 ? text : "-");
    }
  printf (" %10s\n", total);
}

void
listing_print_nodes (const LoomPlan *step, const LoomPlan *update, int rank, gboolean json)
{
  g_autoptr (LoomNodeMemory) nodes = loom_node_memory_new ();
  g_autoptr (GPtrArray) rows = NULL;
  int width = 4;

  loom_node_memory_add_plans (nodes, 2, (const LoomPlan *const[]){ step, update });
  rows = loom_node_memory_list (nodes);
  for (guint i = 0; i < rows->len; i++)
    {
      const LoomNodeBytes *row = rows->pdata[i];

      width = MAX (width, row->node != NULL ? (int)g_utf8_strlen (row->node, -1) : 0);
    }
  if (!json)
    {
      print_rank (rank);
      printf (
          "at the instruction with the most live memory; gradients and activations of other moments are not counted\n");
      printf ("%-*s  %-8s", width, "node", "device");
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        printf (" %11s", loom_owner_name ((LoomOwner)o));
      printf (" %10s\n", "together");
    }
  for (guint i = 0; i < rows->len; i++)
    if (json)
      print_node_json (rows->pdata[i], rank);
    else
      print_node (rows->pdata[i], width);
}
