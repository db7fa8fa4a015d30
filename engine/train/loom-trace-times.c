/* Finds the times of instructions in a trace by phase, label and node (loom-trace-times.h). A trace has no numbers of
 * instructions, because its file is Chrome's format, in which a span has a name. */
#include "engine/train/loom-trace-times.h"

struct _LoomTraceTimes
{
  GHashTable *seconds; /* phase, label and node → GArray of double, in order */
  GHashTable *taken;   /* the same → the number of them that were taken */
};

/* Spans have cut texts, so the words of an instruction are cut in the same way. */
static char *
times_key (LoomTracePhase phase, const char *label, const char *node)
{
  g_autoptr (GArray) one = g_array_new (FALSE, TRUE, sizeof (LoomTraceSpan));
  const LoomTraceSpan empty = { 0 };
  const LoomTraceSpan *span;

  loom_trace_add (one, &empty, NULL, label, node);
  span = &g_array_index (one, LoomTraceSpan, 0);
  return g_strdup_printf ("%d\n%s\n%s", (int)phase, span->label, span->node);
}

LoomTraceTimes *
loom_trace_times_new (const GArray *spans, int rank)
{
  LoomTraceTimes *self = g_new0 (LoomTraceTimes, 1);

  self->seconds = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
  self->taken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < spans->len; i++)
    {
      const LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);
      g_autofree char *key = NULL;
      const double seconds = (double)(span->end - span->begin) / 1e9;
      GArray *list;

      if (span->rank != rank || span->kind != LOOM_TRACE_COMPUTE)
        continue;
      key = times_key ((LoomTracePhase)span->phase, span->label, span->node);
      list = g_hash_table_lookup (self->seconds, key);
      if (list == NULL)
        {
          list = g_array_new (FALSE, FALSE, sizeof (double));
          g_hash_table_insert (self->seconds, g_steal_pointer (&key), list);
        }
      g_array_append_val (list, seconds);
    }
  return self;
}

void
loom_trace_times_free (LoomTraceTimes *self)
{
  g_hash_table_unref (self->seconds);
  g_hash_table_unref (self->taken);
  g_free (self);
}

double
loom_trace_times_take (LoomTraceTimes *self, LoomTracePhase phase, const char *label, const char *node)
{
  g_autofree char *key = times_key (phase, label, node);
  const GArray *list = g_hash_table_lookup (self->seconds, key);
  const guint at = GPOINTER_TO_UINT (g_hash_table_lookup (self->taken, key));

  if (list == NULL || at >= list->len)
    return -1;
  g_hash_table_replace (self->taken, g_steal_pointer (&key), GUINT_TO_POINTER (at + 1));
  return g_array_index (list, double, at);
}
