/* `gradloom bench GRAPH --ranks N`: memory and time of the strategies that partition a step among ranks.
 *
 * Each strategy is run by ranks that are threads of this process. The table shows the memory of a rank, the forecast of
 * its plan, and the largest batch whose forecast is within a limit. */
#include "app/lab/bench-private.h"
#include "app/lab/simulate.h"

#include <stdio.h>

#define MOST_SAMPLES (1 << 20)

static const char *const strategies[] = { "data", "zero1", "zero2", "zero3", NULL };

typedef struct
{
  const char *path;
  BenchOptions o; /* with a strategy */
  int ranks;
  LoomComm *comm; /* of the rank that plans */
} Forecast;

/* Forecasts the bytes of a rank's step with this batch; only plans. */
static gboolean
forecast (const Forecast *self, gint64 batch, double *bytes, double *samples, GError **error)
{
  g_auto (Bench) b = { 0 };
  BenchOptions o = self->o;
  double ready;

  o.comm = self->comm;
  o.batch_size = batch;
  o.plan_only = TRUE;
  if (!bench_prepare (&b, self->path, &o, &ready, error))
    return FALSE;
  *bytes = bench_planned_bytes (b.plan);
  if (samples != NULL)
    *samples = b.step->batch / self->ranks;
  return TRUE;
}

/* Finds the largest batch of a rank whose forecast is within the limit, to within 1/64 for large ones. 0: none. */
static gboolean
find_largest (const Forecast *self, double limit, gint64 *largest, GError **error)
{
  gint64 fits = 0, too_large = 1;
  double bytes;

  for (; too_large < MOST_SAMPLES; too_large *= 2)
    {
      if (!forecast (self, too_large, &bytes, NULL, error))
        return FALSE;
      if (bytes > limit)
        break;
      fits = too_large;
    }
  while (too_large - fits > MAX (1, fits / 64))
    {
      gint64 middle = fits + (too_large - fits) / 2;

      if (!forecast (self, middle, &bytes, NULL, error))
        return FALSE;
      if (bytes <= limit)
        fits = middle;
      else
        too_large = middle;
    }
  *largest = fits;
  return TRUE;
}

typedef struct
{
  const char *strategy;
  double samples; /* of a rank */
  RankFigures figures;
  double limit;
  gint64 largest;
} StrategyRow;

static void
print_row (const char *path, const BenchOptions *o, const StrategyRow *row)
{
  g_autofree char *planned = loom_bytes_to_string (row->figures.planned),
                  *held = loom_bytes_to_string (row->figures.held);
  double items = row->samples * o->ranks / row->figures.seconds;

  if (o->json)
    {
      LoomJson *json = command_event_new ("strategy");

      loom_json_string (json, "graph", path);
      loom_json_string (json, "strategy", row->strategy);
      loom_json_int (json, "ranks", o->ranks);
      loom_json_fixed (json, "batch_size", row->samples, 0);
      loom_json_number (json, "steps_per_second", 1 / row->figures.seconds);
      loom_json_number (json, "items_per_second", items);
      loom_json_fixed (json, "planned_bytes", row->figures.planned, 0);
      loom_json_fixed (json, "held_bytes", row->figures.held, 0);
      loom_json_fixed (json, "limit_bytes", row->limit, 0);
      loom_json_int (json, "largest_batch", row->largest);
      command_event_print (json);
    }
  else
    printf ("%-8s %10.1f %12.0f %12s %12s %12" G_GINT64_FORMAT "\n", row->strategy, 1 / row->figures.seconds, items,
            planned, held, row->largest);
  command_flush ();
}

static void
print_head (const char *path, const BenchOptions *o, const StrategyRow *row)
{
  g_autofree char *limit = loom_bytes_to_string (row->limit), *shown = command_printable (path);

  printf ("%s, %d ranks with a batch of %.0f each, as threads of one process; memory is that of one rank\n", shown,
          o->ranks, row->samples);
  printf ("%-8s %10s %12s %12s %12s %12s\n", "", "steps/s", "items/s", "forecast", "held", "largest batch");
  printf ("%-8s %10s %12s %12s %12s   in %s\n", "", "", "", "", "", limit);
}

static gboolean
read_strategies (const char *text, gboolean wanted[G_N_ELEMENTS (strategies)])
{
  g_auto (GStrv) word = g_strsplit (text != NULL ? text : "data,zero1,zero2,zero3", ",", -1);
  gboolean any = FALSE;

  for (guint i = 0; word[i] != NULL; i++)
    {
      guint s = 0;

      while (strategies[s] != NULL && !g_str_equal (g_strstrip (word[i]), strategies[s]))
        s++;
      if (strategies[s] == NULL)
        return FALSE;
      any = wanted[s] = TRUE;
    }
  return any;
}

/* Prints the rows. The default limit is the memory of data parallel training with the same batch. */
static gboolean
measure_rows (Forecast *f, const BenchOptions *o, const gboolean *wanted, double limit, GError **error)
{
  gboolean is_first = TRUE;
  double samples;

  f->o.shards = LOOM_SHARDS_NONE;
  if (limit == 0 && !forecast (f, o->batch_size, &limit, NULL, error))
    return FALSE;
  for (guint s = 0; strategies[s] != NULL; s++)
    {
      StrategyRow row = { .strategy = strategies[s], .limit = limit };
      double bytes;

      if (!wanted[s])
        continue;
      f->o.shards = (LoomShards)s;
      if (!forecast (f, o->batch_size, &bytes, &samples, error) || !find_largest (f, limit, &row.largest, error)
          || !simulate_run_ranks (f->path, &f->o, f->ranks, &row.figures, error))
        return FALSE;
      row.samples = samples;
      if (is_first && !o->json)
        print_head (f->path, o, &row);
      is_first = FALSE;
      print_row (f->path, o, &row);
    }
  return TRUE;
}

int
bench_ranks (const Command *command, const char *path, const BenchOptions *options, const char *list,
             const char *memory)
{
  gboolean wanted[G_N_ELEMENTS (strategies)] = { FALSE };
  g_autofree LoomComm **comm = NULL;
  LoomMessage message = { "" };
  g_autoptr (GError) error = NULL;
  Forecast f = { .path = path, .o = *options, .ranks = options->ranks };
  double limit = 0;
  gboolean ok;

  if (options->ranks < 2 || options->ranks > 64)
    return command_usage (command, "--ranks takes a number from 2 to 64 with a GRAPH.");
  if (!read_strategies (list, wanted))
    return command_usage (command, "--strategies takes a list of data, zero1, zero2 and zero3, not “%s”.", list);
  if (memory != NULL && !loom_bytes_parse (memory, &limit))
    return command_usage (command, "--memory takes a number of bytes, such as 512M or 1.5G, not “%s”.", memory);
  f.o.threads = MAX (1, (options->threads > 0 ? options->threads : loom_processors ()) / options->ranks);
  comm = g_new0 (LoomComm *, (gsize)f.ranks);
  if (loom_comm_threads_new (f.ranks, comm, &message) != LOOM_STATUS_OK)
    return command_fail (command, g_error_new_literal (LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY, message.text));
  f.comm = comm[0];
  ok = measure_rows (&f, options, wanted, limit, &error);
  for (int k = 0; k < f.ranks; k++)
    comm[k]->free (comm[k]);
  if (!ok)
    return command_fail (command, g_steal_pointer (&error));
  return command_flush () ? 0 : 5;
}
