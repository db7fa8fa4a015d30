/* Parameters and where they lie; see the header. */
#include "app/listing-parameters.h"

#include "app/command.h"

#include <stdio.h>
#include <string.h>

static const char *
device_of (const LoomPlan *plan, guint slot)
{
  return loom_plan_device (plan, loom_plan_slot_device (plan, slot))->name;
}

/* "256×784"; a scalar has none. (transfer full) */
static char *
shape_of (const LoomSlot *slot)
{
  GString *s = g_string_new (NULL);

  for (int r = 0; r < slot->rank; r++)
    g_string_append_printf (s, "%s%" G_GINT64_FORMAT, r > 0 ? "×" : "", slot->dim[r]);
  return g_string_free (s, FALSE);
}

static void
print_json (const LoomPlan *plan, guint i, const LoomSlot *slot)
{
  LoomJson *b = command_event_new ("parameter");

  loom_json_string (b, "name", slot->name);
  loom_json_string (b, "dtype", loom_dtype_name (slot->dtype));
  loom_json_ints (b, "shape", slot->rank, slot->dim);
  loom_json_bool (b, "trainable", slot->trainable);
  loom_json_string (b, "device", device_of (plan, i));
  loom_json_int (b, "bytes", (gint64)loom_plan_slot_bytes (slot));
  command_event_print (b);
}

static void
print_line (const LoomPlan *plan, guint i, const LoomSlot *slot, int width)
{
  g_autofree char *shape = shape_of (slot), *bytes = loom_bytes_to_string ((double)loom_plan_slot_bytes (slot));
  g_autofree char *name = command_printable (slot->name);
  /* Columns of characters, of which × has two bytes. */
  const int of_shape = 14 + (int)strlen (shape) - (int)g_utf8_strlen (shape, -1);

  printf ("%-*s  %-*s  %-5s  %-8s %10s%s\n", width, name, of_shape, shape, loom_dtype_name (slot->dtype),
          device_of (plan, i), bytes, slot->trainable ? "" : "  frozen");
}

void
listing_print_parameters (const LoomPlan *plan, gboolean json)
{
  const LoomProgram *p = loom_plan_program (plan);
  int width = 9;

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    if (loom_program_get_slot (p, i)->kind == LOOM_SLOT_PARAMETER)
      width = MAX (width, (int)g_utf8_strlen (loom_program_get_slot (p, i)->name, -1));
  if (!json)
    printf ("%-*s  %-14s  %-5s  %-8s %10s\n", width, "parameter", "shape", "type", "device", "bytes");
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      if (slot->kind != LOOM_SLOT_PARAMETER)
        continue;
      if (json)
        print_json (plan, i, slot);
      else
        print_line (plan, i, slot, width);
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
