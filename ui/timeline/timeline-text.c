/* Formats durations, spans and summaries of a trace. It is separate from the widget, so that it is tested without a
 * display. */
#include "ui/timeline/timeline-text.h"

#include <glib/gi18n.h>

#include "engine/loom.h"
#include "ui/scene/studio-format.h"

char *
timeline_duration (double ns)
{
  g_autofree char *text = ns < 1e6   ? g_strdup_printf ("%.*f µs",
                                                      ns < 1e4   ? 2
                                                        : ns < 1e5 ? 1
                                                                   : 0,
                                                        ns * 1e-3)
                          : ns < 1e9 ? g_strdup_printf ("%.*f ms",
                                                        ns < 1e7   ? 2
                                                        : ns < 1e8 ? 1
                                                                   : 0,
                                                        ns * 1e-6)
                                     : g_strdup_printf ("%.2f s", ns * 1e-9);

  return studio_format_local (text);
}

const char *
timeline_kind (int kind)
{
  /* Translators: what a lane does at a time. */
  static const char *const kinds[] = { N_ ("computes"), N_ ("exchanges"), N_ ("waits") };

  return _ (kinds[kind]);
}

const char *
timeline_phase (int phase)
{
  /* Translators: the passes of a training step. */
  static const char *const phases[LOOM_N_TRACE_PHASES] = { NULL, N_ ("forward"), N_ ("backward"), N_ ("update") };

  return phase > 0 && phase < LOOM_N_TRACE_PHASES ? _ (phases[phase]) : NULL;
}

char *
timeline_describe (const LoomTraceSpan *span)
{
  g_autofree char *time = timeline_duration ((double)(span->end - span->begin));
  g_autofree char *bytes = span->bytes > 0 ? loom_bytes_to_string (span->bytes) : NULL;
  const char *phase = timeline_phase (span->phase);

  return g_strdup_printf ("%s · %s · %s%s%s%s%s · %s %d, %s", span->node, span->label, phase != NULL ? phase : "",
                          phase != NULL ? " · " : "", time, bytes != NULL ? " · " : "", bytes != NULL ? bytes : "",
                          _ ("rank"), span->rank, timeline_kind (span->kind));
}

/* Joins a number and its sign with a no-break space, so that no line begins with the sign. */
static char *
keep_together (const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, " %", -1);

  return g_strjoinv ("\302\240%", parts);
}

char *
timeline_summary (const GArray *spans, double length)
{
  double sum[LOOM_N_TRACE_KINDS] = { 0 }, all = 0;
  int ranks = 0;
  g_autofree char *time = timeline_duration (length), *text = NULL;

  for (guint i = 0; i < spans->len; i++)
    {
      const LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);

      sum[span->kind] += (double)(span->end - span->begin);
      all += (double)(span->end - span->begin);
      ranks = MAX (ranks, span->rank + 1);
    }
  text = g_strdup_printf (
      ngettext ("%d rank · %s · computing %.0f %%, exchanging %.0f %%, waiting %.0f %%",
                "%d ranks · %s · computing %.0f %%, exchanging %.0f %%, waiting %.0f %%", (gulong)ranks),
      ranks, time, 100 * sum[0] / MAX (all, 1), 100 * sum[1] / MAX (all, 1), 100 * sum[2] / MAX (all, 1));
  return keep_together (text);
}

gint64
timeline_step (const char *title)
{
  static const char before[] = "step ";

  if (title == NULL || !g_str_has_prefix (title, before) || !g_ascii_isdigit (title[sizeof before - 1]))
    return -1;
  return g_ascii_strtoll (title + sizeof before - 1, NULL, 10);
}
