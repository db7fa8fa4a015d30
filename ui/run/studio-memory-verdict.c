/* Reads the engine's sentence about memory (engine/train/memory-budget.c): the sum that the run needs, what is
 * available, and the batch that fits. Shares by owner stay in the whole sentence. */
#include "ui/run/studio-memory-verdict.h"

#include <glib/gi18n.h>

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

  verdict->batch = batch != NULL ? g_ascii_strtoll (batch, NULL, 10) : 0;
  if (verdict->batch > 0)
    verdict->text
        = g_strdup_printf (_ ("%1$s planned, %2$s there. A batch of %3$d fits."), planned, there, (int)verdict->batch);
  else
    verdict->text = g_strdup_printf (_ ("%1$s planned, %2$s there."), planned, there);
  return TRUE;
}

void
studio_memory_verdict_clear (StudioMemoryVerdict *verdict)
{
  g_clear_pointer (&verdict->text, g_free);
  verdict->batch = 0;
}
