/* Prints the health of a net after a run; see the header. */
#include "app/train-health.h"

#include <math.h>
#include <stdio.h>

static void
print_event (const LoomHealthNode *node, gint64 step)
{
  LoomJson *json = command_event_new ("health");

  loom_json_int (json, "step", step);
  loom_health_node_add_json (node, json);
  command_event_print (json);
}

static void
print_ratio (double ratio)
{
  if (isnan (ratio))
    printf (" %10s", "");
  else
    printf (" %10.2e", ratio);
}

static void
print_row (const LoomHealthNode *node)
{
  const double share = fmax (loom_health_dead_share (node), node->saturated);

  if (isnan (node->weight) && isnan (share))
    return;
  printf ("%-24s", node->node);
  print_ratio (loom_health_gradient_ratio (node));
  print_ratio (loom_health_update_ratio (node));
  if (node->units > 0)
    printf (" %6d of %d dead", (int)node->dead, (int)node->units);
  if (!isnan (node->saturated))
    printf (" %6.0f %% saturated", 100 * node->saturated);
  if (node->verdict != LOOM_HEALTH_WELL)
    printf ("  %s", loom_health_rule (node->verdict)->name);
  putchar ('\n');
}

gboolean
train_health_print (LoomTrainer *trainer, gboolean as_json, GError **error)
{
  gint64 step;
  g_autoptr (LoomTensor) text = loom_trainer_snapshot (trainer, LOOM_SNAPSHOT_HEALTH, &step, error);
  g_autoptr (GPtrArray) nodes = text != NULL ? loom_health_from_text (text->data, (gsize)text->count) : NULL;

  if (nodes == NULL && text != NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The report on the net's health cannot be read.");
  if (nodes == NULL)
    return FALSE;
  if (!as_json)
    printf ("%-24s %10s %10s\n", "health", "|g|/|w|", "|u|/|w|");
  for (guint i = 0; i < nodes->len; i++)
    if (as_json)
      print_event (nodes->pdata[i], step);
    else
      print_row (nodes->pdata[i]);
  return TRUE;
}
