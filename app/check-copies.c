/* Lists the copies between devices; see the header. */
#include "app/check-copies.h"

#include <stdio.h>

static void
print_row (const LoomNet *net, const LoomCopy *copy, gboolean trains)
{
  g_autofree char *name = loom_net_port_name (net, copy->source.node, copy->source.output);
  g_autofree char *bytes = copy->bytes >= 0 ? loom_bytes_to_string (copy->bytes) : g_strdup ("?");

  printf ("  %s  %s → %s  %s%s\n", name, copy->from, copy->to, bytes,
          trains && copy->gradient ? ", and its gradient back" : "");
}

static void
print_event (const LoomNet *net, const LoomCopy *copy)
{
  g_autofree char *name = loom_net_port_name (net, copy->source.node, copy->source.output);
  LoomJson *json = command_event_new ("copy");

  loom_json_string (json, "tensor", name);
  loom_json_string (json, "from", copy->from);
  loom_json_string (json, "to", copy->to);
  loom_json_int (json, "bytes", (gint64)copy->bytes);
  loom_json_bool (json, "gradient", copy->gradient);
  command_event_print (json);
}

void
check_copies_print (const LoomNet *bound, const char *device, gboolean trains, gboolean json)
{
  g_autoptr (GArray) copies = loom_net_copies_new (bound, device, NULL);
  g_autofree char *sum = loom_bytes_to_string (loom_net_copy_bytes (copies, trains));

  if (copies->len > 0 && !json)
    printf ("\ncopies between devices, %s a step:\n", sum);
  for (guint i = 0; i < copies->len; i++)
    {
      const LoomCopy *copy = &g_array_index (copies, LoomCopy, i);

      if (copy->shared)
        continue;
      if (json)
        print_event (bound, copy);
      else
        print_row (bound, copy, trains);
    }
}
