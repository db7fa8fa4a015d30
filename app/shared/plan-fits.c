/* Prints whether a run would fit into memory; see the header. */
#include "app/shared/plan-fits.h"

#include <stdio.h>

static void
print_event (const LoomForecast *forecast)
{
  LoomJson *json = command_event_new ("fits");

  loom_json_string (json, "device", forecast->devices);
  loom_json_int (json, "needed", (gint64)forecast->needed);
  if (forecast->available != G_MAXSIZE)
    loom_json_int (json, "available", (gint64)forecast->available);
  loom_json_int (json, "batch_size", forecast->batch);
  loom_json_int (json, "largest_batch", forecast->largest);
  command_event_print (json);
}

static void
print_sentence (const LoomForecast *forecast)
{
  g_autofree char *needed = loom_bytes_to_string ((double)forecast->needed),
                  *available = loom_bytes_to_string ((double)forecast->available);

  printf ("The run needs %s on %s", needed, forecast->devices);
  if (forecast->available != G_MAXSIZE)
    printf ("; %s are available", available);
  if (forecast->largest >= forecast->batch)
    puts (".");
  else if (forecast->largest > 0)
    printf (". A batch of %d fits.\n", (int)forecast->largest);
  else
    puts (". Not even a batch of one sample fits.");
}

gboolean
plan_fits_print (const LoomGraph *graph, const LoomTrainerOptions *options, gboolean as_json, GError **error)
{
  g_auto (LoomForecast) forecast = { 0 };

  if (!loom_forecast (graph, options, &forecast, error))
    return FALSE;
  if (as_json)
    print_event (&forecast);
  else
    print_sentence (&forecast);
  return TRUE;
}
