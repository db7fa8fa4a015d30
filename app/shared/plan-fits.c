/* Prints whether a run would fit into memory; see the header. */
#include "app/shared/plan-fits.h"

#include "app/shared/listing-ranks.h"

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
  loom_json_int (json, "ranks", forecast->ranks);
  loom_json_int (json, "rank", forecast->worst);
  loom_json_int (json, "rank_needed", (gint64)forecast->most);
  if (forecast->strategy != NULL)
    loom_json_string (json, "strategy", forecast->strategy);
  command_event_print (json);
}

static void
print_sentence (const LoomForecast *forecast)
{
  const char *each = forecast->ranks > 1 ? " for each rank" : "";
  g_autofree char *needed = loom_bytes_to_string ((double)forecast->needed),
                  *available = loom_bytes_to_string ((double)forecast->available),
                  *most = loom_bytes_to_string ((double)forecast->most);

  printf ("The run needs %s on %s", needed, forecast->devices);
  if (forecast->ranks > 1)
    printf (", rank %d of %d needs the most, %s", forecast->worst, forecast->ranks, most);
  if (forecast->available != G_MAXSIZE)
    printf ("; %s are available", available);
  if (forecast->largest >= forecast->batch)
    printf (".");
  else if (forecast->largest > 0)
    printf (". A batch of %d%s fits.", (int)forecast->largest, each);
  else
    printf (". Not even a batch of one sample%s fits.", each);
  if (forecast->strategy != NULL)
    printf (" With strategy %s, a batch of %d%s fits.", forecast->strategy, (int)forecast->batch, each);
  puts ("");
}

gboolean
plan_fits_print (const LoomGraph *graph, const LoomTrainerOptions *options, int ranks, gsize available,
                 gboolean as_json, GError **error)
{
  g_auto (LoomForecast) forecast = { 0 };
  g_auto (ListingComm) comm = { NULL };

  if (!listing_comm_init (&comm, ranks, error)
      || !loom_forecast (graph, options, comm.rank, comm.ranks, available, &forecast, error))
    return FALSE;
  if (as_json)
    print_event (&forecast);
  else
    print_sentence (&forecast);
  return TRUE;
}
