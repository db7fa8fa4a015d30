/* Reads the engine's sentence about memory (engine/train/memory-budget.c): the sum that the run needs, what is
 * available, and the batch that fits. Shares by owner stay in the whole sentence. */
#include "ui/run/studio-memory-verdict.h"

#include <glib/gi18n.h>

#include "engine/loom.h"

static void
set (StudioMemoryVerdict *verdict, const char *planned, const char *there, gint64 batch)
{
  verdict->batch = batch;
  verdict->text
      = batch > 0 ? g_strdup_printf (_ ("%1$s planned, %2$s there. A batch of %3$d fits."), planned, there, (int)batch)
                  : g_strdup_printf (_ ("%1$s planned, %2$s there."), planned, there);
}

void
studio_memory_verdict_set (StudioMemoryVerdict *verdict, double planned, double there, gint64 batch)
{
  g_autofree char *needed = loom_bytes_to_string (planned), *available = loom_bytes_to_string (there);

  set (verdict, needed, available, batch);
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
  verdict->batch = 0;
}
