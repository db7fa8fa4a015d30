/* The ranks of a run (run-ranks.h). */
#include "ui/run/run-ranks.h"

#include "engine/loom.h"

#include "ui/run/run-report.h"

#define MEMORY_BYTES  (64 * 1024)
#define MEMORY_PERIOD 5 /* in ticks of a second */

void
run_ranks_forget (RunRanks *ranks)
{
  if (ranks->asked != NULL)
    g_cancellable_cancel (ranks->asked);
  g_clear_object (&ranks->asked);
  g_clear_pointer (&ranks->memory, g_bytes_unref);
}

gboolean
run_ranks_set_memory (RunRanks *ranks, GVariant *text)
{
  gsize n;
  const char *bytes = g_variant_get_fixed_array (text, &n, 1);

  if (n == 0)
    return FALSE;
  g_clear_pointer (&ranks->memory, g_bytes_unref);
  ranks->memory = g_bytes_new (bytes, n);
  return TRUE;
}

static void
memory_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) text = run_report_finish (source, result, NULL, &error);
  RunRanks *ranks = data;

  /* A request is cancelled before its ranks are freed. */
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  g_clear_object (&ranks->asked);
  if (text != NULL && run_ranks_set_memory (ranks, text))
    ranks->changed (ranks->data);
  /* Before their first step ranks report nothing. */
  if (ranks->memory == NULL)
    ranks->wait = 0;
}

void
run_ranks_request (RunRanks *ranks, LoomBusWorker1 *proxy)
{
  if (proxy == NULL || ranks->asked != NULL || ranks->live < 2)
    return;
  ranks->asked = g_cancellable_new ();
  run_report_async (proxy, LOOM_SNAPSHOT_RANKS, MEMORY_BYTES, ranks->asked, memory_cb, ranks);
}

void
run_ranks_tick (RunRanks *ranks, LoomBusWorker1 *proxy)
{
  if (ranks->wait == 0)
    {
      ranks->wait = MEMORY_PERIOD;
      run_ranks_request (ranks, proxy);
    }
  ranks->wait--;
}
