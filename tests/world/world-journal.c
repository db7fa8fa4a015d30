/* Each life writes one journal, whose edits are numbers from 0 on, in transactions of one to three. What was
 * synchronised is acknowledged, until a later life has read it: as Studio does, it then removes the file. */
#include "tests/world/world-journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/document/studio-journal.h"

#define FOLDER WORLD_ROOT "/state/gradloom/journal"
#define BASE   "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"/>"

/* The number of edits; -1: they are not 0, 1, …, or the text that they begin with is another. */
static gint64
count_edits (const StudioJournalContent *content)
{
  gsize length;
  const char *base = g_bytes_get_data (content->base, &length);

  if (length != strlen (BASE) || memcmp (base, BASE, length) != 0)
    return -1;
  for (guint i = 0; i < content->lines->len; i++)
    if (atoi (content->lines->pdata[i]) != (int)i)
      return -1;
  return content->lines->len;
}

/* Reads what is left. *most: the largest number of edits of one. FALSE: one is wrong. */
static gboolean
read_orphans (gint64 *most, gboolean removes)
{
  g_auto (GStrv) orphans = studio_journal_orphans (FOLDER);

  *most = 0;
  for (guint i = 0; orphans[i] != NULL; i++)
    {
      g_autoptr (StudioJournalContent) content = studio_journal_read (orphans[i], NULL);
      const gint64 n = content != NULL ? count_edits (content) : 0;

      if (n < 0)
        return FALSE;
      *most = MAX (*most, n);
      if (removes && content != NULL && n >= world_report ()->acknowledged)
        {
          world_report ()->acknowledged = 0;
          loom_path_remove (orphans[i]);
        }
    }
  return TRUE;
}

static int
fail (int status, int code, const char *message)
{
  world_report ()->error_code = code;
  g_strlcpy (world_report ()->error, message, sizeof world_report ()->error);
  return status;
}

int
world_journal_live (guint64 seed, int life)
{
  g_autoptr (GError) error = NULL;
  StudioJournal *journal;
  gint64 most;
  int edits = 0;

  if (!read_orphans (&most, TRUE))
    return fail (3, 0, "a journal has other edits than were made");
  /* Work that could not be read is recovered by a later life. */
  if (world_report ()->acknowledged > 0)
    return 0;
  if (!loom_path_make_folder (FOLDER, 0700))
    return fail (2, LOOM_ERROR_IO, "the folder cannot be made");
  journal = studio_journal_new (FOLDER, NULL, BASE, strlen (BASE), &error);
  if (journal == NULL)
    return fail (2, error->domain == LOOM_ERROR ? (int)error->code : -1, error->message);
  for (int i = 0; i < 12; i++)
    {
      const guint64 drawn = world_hash (seed, (guint64)life, 500 + (guint64)i);

      for (guint64 k = 0; k <= drawn % 3; k++)
        {
          /* Longer than a sector, so that one can be torn. */
          g_autofree char *line = g_strdup_printf ("%d %0*d", edits++, (int)((drawn >> 8) % 900) + 1, 0);

          studio_journal_append (journal, line);
        }
      studio_journal_commit (journal, "Edit");
      if ((drawn >> 20) % 3 == 0 && studio_journal_sync (journal))
        world_report ()->acknowledged = edits;
    }
  studio_journal_abandon (journal);
  return 0;
}

char *
world_journal_check (void)
{
  gint64 most;

  if (!read_orphans (&most, FALSE))
    return g_strdup ("a journal has other edits than were made");
  if (most < world_report ()->acknowledged)
    return g_strdup_printf ("%d edits were synchronised, a journal has %d", (int)world_report ()->acknowledged,
                            (int)most);
  return NULL;
}
