/* Each life adds runs, and begins some, by a folder with a file in place of a graph. A run whose addition was reported
 * is in the queue or has its folder, after each life; a bit of report.acknowledged is one of them. */
#include "tests/world/world-queue.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/loom.h"
#include "engine/runs/loom-runs.h"

#define QUEUE WORLD_ROOT "/state/queue"
#define RUNS  WORLD_ROOT "/state/runs"

static char *
path_of (int number)
{
  return g_strdup_printf (RUNS "/%d", number);
}

static gboolean
begin (const LoomQueuedRun *run, GError **error)
{
  g_autofree char *path = path_of (atoi (run->title));
  g_autoptr (LoomFolder) folder = NULL;

  if (!loom_path_make_folder (path, 0700))
    return FALSE;
  folder = loom_folder_open (path, error);
  return folder != NULL && loom_folder_replace (folder, LOOM_RUN_GRAPH, run->xml, 8, error);
}

int
world_queue_live (guint64 seed, int life)
{
  int status = 0;

  for (int i = 0; i < 4; i++)
    {
      const int number = 4 * life + i;
      g_autofree char *title = g_strdup_printf ("%d", number);
      LoomQueuedRun run = { .document = (char *)"/small.xml", .xml = (char *)"<graph/>", .title = title };
      g_autoptr (GPtrArray) waiting = NULL;
      g_autoptr (GError) error = NULL;

      if (loom_run_queue_add (QUEUE, &run, &error))
        world_report ()->acknowledged |= (gint64)1 << number;
      else
        {
          world_report ()->error_code = error->domain == LOOM_ERROR ? (int)error->code : -1;
          g_strlcpy (world_report ()->error, error->message, sizeof world_report ()->error);
          status = 2;
        }
      waiting = world_hash (seed, (guint64)number, 21) % 2 == 0 ? loom_run_queue_read (QUEUE, NULL) : NULL;
      if (waiting != NULL && waiting->len > 0)
        {
          const LoomQueuedRun *first = waiting->pdata[0];
          const int claim = loom_run_queue_claim (QUEUE, first);

          if (claim >= 0)
            loom_run_queue_finish (QUEUE, first, claim, begin (first, NULL));
        }
    }
  return status;
}

char *
world_queue_check (void)
{
  g_autoptr (GPtrArray) waiting = loom_run_queue_read (QUEUE, NULL);
  gint64 found = 0;

  for (guint i = 0; i < waiting->len; i++)
    found |= (gint64)1 << atoi (((const LoomQueuedRun *)waiting->pdata[i])->title);
  for (int number = 0; number < 64; number++)
    {
      g_autofree char *path = path_of (number), *graph = g_build_filename (path, LOOM_RUN_GRAPH, NULL);

      if ((world_report ()->acknowledged & ~found & ((gint64)1 << number)) && !loom_path_exists (graph))
        return g_strdup_printf ("run %d was added, but neither waits nor has begun", number);
    }
  return NULL;
}
