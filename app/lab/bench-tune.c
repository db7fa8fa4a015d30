/* `gradloom bench --tune`: measures the kernels of a graph and writes a cost table. */
#include "app/lab/bench-private.h"

#include <stdio.h>

static void
print_tuned (const char *call, const char *fastest, double seconds, gpointer data)
{
  const BenchOptions *o = data;

  if (o->json)
    {
      LoomJson *json = command_event_new ("tuned");
      loom_json_string (json, "call", call);
      loom_json_string (json, "fastest", fastest);
      loom_json_number (json, "seconds", seconds);
      command_event_print (json);
    }
  else
    printf ("%-22s %10.1f µs  %s\n", fastest, seconds * 1e6, call);
  command_flush ();
}

/* The programs of a step: with accumulation the update is a separate program. */
static gboolean
tune_programs (Bench *b, const char *device, const BenchOptions *o, LoomCostTable *table, LoomTuned *tuned,
               GError **error)
{
  LoomProgram *programs[] = { b->step->program, b->step->update };

  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    if (programs[i] != NULL
        && !loom_tune (programs[i], b->devices, device, o->seconds / 10, table, print_tuned, (gpointer)o, tuned, error))
      return FALSE;
  return TRUE;
}

static void
print_tuning (const Command *command, const LoomTuned *tuned, LoomCostTable *now, gboolean json)
{
  g_autofree char *file = loom_cost_table_user_file ();

  if (json)
    {
      LoomJson *line = command_event_new ("tune");
      loom_json_int (line, "calls", tuned->n);
      loom_json_int (line, "skipped", tuned->n_skipped);
      loom_json_string (line, "file", file);
      loom_json_string (line, "cost_table", loom_cost_table_hash (now));
      command_event_print (line);
    }
  else
    printf ("Wrote the times of %u kernels to %s (cost table %s). New runs choose kernels by them; a resumed run "
            "keeps its kernels.\n",
            tuned->n, file, loom_cost_table_hash (now));
  if (tuned->n_skipped > 0)
    command_warn (command, "%u kernel%s could not be measured, and %s still chosen by estimates. %s%s",
                  tuned->n_skipped, tuned->n_skipped == 1 ? "" : "s", tuned->n_skipped == 1 ? "is" : "are",
                  tuned->n_skipped == 1 ? "" : "The first: ", tuned->why);
}

/* Measures kernels and writes the table: the only code in which a clock decides on kernels. After a failure the
 * measurements so far are still written. */
int
bench_tune (const Command *command, const char *path, const BenchOptions *o)
{
  g_autoptr (GError) error = NULL;
  g_auto (Bench) b = { 0 };
  g_auto (LoomTuned) tuned = { 0 };
  g_autoptr (LoomCostTable) before = loom_cost_table_new_default (), measured = loom_cost_table_new (), now = NULL;
  g_autofree char *note = loom_cost_table_take_note (before);
  double ready_ms;

  /* A faulty existing table is replaced. */
  if (note != NULL)
    command_warn (command, "%s", note);
  if (!bench_prepare (&b, path, o, &ready_ms, &error))
    return command_fail (command, g_steal_pointer (&error));
  tune_programs (&b, o->device != NULL ? o->device : b.spec->device, o, measured, &tuned, &error);
  if (error == NULL || tuned.n > 0)
    now = loom_cost_table_save_measured (measured, error ? NULL : &error);
  if (now)
    print_tuning (command, &tuned, now, o->json);
  return error ? command_fail (command, g_steal_pointer (&error)) : 0;
}
