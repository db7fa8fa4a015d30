/* Makes the verdict from figures, or from the engine's sentence about memory (engine/train/memory-budget.c): the sum
 * that the run needs, what is available, and the batch that fits. Figures may come with a strategy of <parallel>, for
 * which the file has a sentence and a label. Bytes by owner stay in the engine's sentence. */
#include "ui/run/studio-memory-verdict.h"

#include <glib/gi18n.h>

#include "engine/loom.h"

/* A division among replicas that may fit. */
static const struct
{
  const char *strategy, *label, *sentence;
} divisions[] = {
  { "zero1", N_ ("Divide Optimizer States"), N_ ("With optimizer states divided among the ranks, it fits.") },
  { "zero2", N_ ("Divide Optimizer States and Gradients"),
    N_ ("With optimizer states and gradients divided among the ranks, it fits.") },
  { "zero3", N_ ("Divide Optimizer States, Gradients and Weights"),
    N_ ("With optimizer states, gradients and weights divided among the ranks, it fits.") },
};

static void
set (StudioMemoryVerdict *verdict, const char *planned, const char *there, gint64 batch)
{
  verdict->batch = batch;
  verdict->text
      = batch > 0 ? g_strdup_printf (_ ("%1$s planned, %2$s there. A batch of %3$d fits."), planned, there, (int)batch)
                  : g_strdup_printf (_ ("%1$s planned, %2$s there."), planned, there);
}

static void
add_division (StudioMemoryVerdict *verdict, const char *strategy)
{
  for (guint d = 0; d < G_N_ELEMENTS (divisions); d++)
    if (g_strcmp0 (divisions[d].strategy, strategy) == 0)
      {
        g_autofree char *text = g_steal_pointer (&verdict->text);

        verdict->strategy = divisions[d].strategy;
        verdict->label = _ (divisions[d].label);
        verdict->text = g_strdup_printf ("%s %s", text, _ (divisions[d].sentence));
      }
}

void
studio_memory_verdict_set (StudioMemoryVerdict *verdict, int ranks, double planned, double there, gint64 batch,
                           const char *strategy)
{
  g_autofree char *needed = loom_bytes_to_string (planned), *available = loom_bytes_to_string (there);
  /* Translators: bytes that several ranks need together, as in "58 GB for 2 ranks planned, 23 GB there." */
  g_autofree char *all
      = g_strdup_printf (ngettext ("%1$s for %2$d rank", "%1$s for %2$d ranks", (gulong)ranks), needed, ranks);

  set (verdict, ranks > 1 ? all : needed, available, batch);
  add_division (verdict, strategy);
}

gboolean
studio_memory_verdict_read (const char *sentence, StudioMemoryVerdict *verdict)
{
  static const char pattern[] = " needs (\\S+ [kMGTPE]?B) on [^:]*:.*; (\\S+ [kMGTPE]?B) are available\\."
                                "(?:[^.]* [Aa] batch of (\\d+) )?";
  g_autoptr (GRegex) regex = g_regex_new (pattern, G_REGEX_DOTALL, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  *verdict = (StudioMemoryVerdict){ 0 };
  if (sentence == NULL || !g_regex_match (regex, sentence, 0, &match))
    return FALSE;
  g_autofree char *planned = g_match_info_fetch (match, 1), *there = g_match_info_fetch (match, 2);
  g_autofree char *batch = g_match_info_fetch (match, 3);

  set (verdict, planned, there, batch != NULL ? g_ascii_strtoll (batch, NULL, 10) : 0);
  return TRUE;
}

void
studio_memory_verdict_clear (StudioMemoryVerdict *verdict)
{
  g_clear_pointer (&verdict->text, g_free);
  *verdict = (StudioMemoryVerdict){ 0 };
}
