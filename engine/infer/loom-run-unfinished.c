/* Reads and writes the note; see the header. */
#include "engine/infer/loom-run-unfinished.h"

#include "engine/core/loom-folder.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-text.h"

#include <fcntl.h>
#include <string.h>

#define MOST_BYTES    4096
#define MOST_SENTENCE 1000 /* characters */
#define LOG_TAIL      (64 * 1024)
#define MOST_LINE     300 /* characters */

static const char *const words[] = {
  [LOOM_RUN_END_NONE] = "",
  [LOOM_RUN_END_STOPPED] = "stopped",
  [LOOM_RUN_END_DONE] = "done",
  [LOOM_RUN_END_FAILED] = "failed",
};

void
loom_run_unfinished_clear (LoomRunUnfinished *note)
{
  g_clear_pointer (&note->hash, g_free);
  g_clear_pointer (&note->sentence, g_free);
}

gboolean
loom_run_unfinished_read (const char *folder, LoomRunUnfinished *note)
{
  g_autoptr (LoomFolder) files = folder != NULL ? loom_folder_open (folder, NULL) : NULL;
  g_autofree char *text = NULL;

  *note = (LoomRunUnfinished){ NULL };
  if (files == NULL || !loom_folder_read (files, LOOM_RUN_UNFINISHED, MOST_BYTES, &text, NULL, NULL))
    return FALSE;
  g_auto (GStrv) lines = g_strsplit (text, "\n", 4);
  if (lines[0] == NULL)
    return FALSE;
  note->hash = g_strdup (lines[0]);
  for (guint i = 1; lines[1] != NULL && i < G_N_ELEMENTS (words); i++)
    if (g_str_equal (lines[1], words[i]))
      note->end = (LoomRunEnd)i;
  if (lines[1] != NULL && lines[2] != NULL && *lines[2] != '\0')
    note->sentence = loom_text_printable (lines[2], TRUE, MOST_SENTENCE);
  return TRUE;
}

void
loom_run_unfinished_write (const char *folder, const LoomRunUnfinished *note)
{
  g_autoptr (LoomFolder) files = folder != NULL ? loom_folder_open (folder, NULL) : NULL;
  g_autofree char *sentence = note->sentence != NULL ? loom_text_printable (note->sentence, TRUE, MOST_SENTENCE) : NULL;
  g_autofree char *text = NULL;

  if (files == NULL)
    return;
  if (note->end == LOOM_RUN_END_NONE)
    text = g_strdup (note->hash);
  else
    text = g_strdup_printf ("%s\n%s\n%s%s", note->hash, words[note->end], sentence != NULL ? sentence : "",
                            sentence != NULL ? "\n" : "");
  loom_folder_replace (files, LOOM_RUN_UNFINISHED, text, strlen (text), NULL);
}

void
loom_run_unfinished_end (const char *folder, LoomRunEnd end, const char *sentence)
{
  g_auto (LoomRunUnfinished) note = { NULL };

  if (!loom_run_unfinished_read (folder, &note))
    return;
  g_free (note.sentence);
  note.sentence = g_strdup (sentence);
  note.end = end;
  loom_run_unfinished_write (folder, &note);
}

void
loom_run_unfinished_remove (const char *folder)
{
  g_autoptr (LoomFolder) files = folder != NULL ? loom_folder_open (folder, NULL) : NULL;

  if (files != NULL)
    loom_folder_remove (files, LOOM_RUN_UNFINISHED);
}

char *
loom_run_log_dup_last (const char *folder)
{
  g_autoptr (LoomFolder) files = folder != NULL ? loom_folder_open (folder, NULL) : NULL;
  int fd = files != NULL ? loom_folder_open_file (files, LOOM_RUN_LOG, O_RDONLY, NULL) : -1;
  g_autofree char *text = g_malloc (LOG_TAIL + 1);
  struct stat info;
  gssize n = 0;
  const char *line;

  if (fd < 0)
    return NULL;
  if (loom_stat_fd (fd, &info))
    n = loom_read_at (fd, text, LOG_TAIL, MAX (info.st_size - LOG_TAIL, 0));
  loom_close (fd);
  text[MAX (n, 0)] = '\0';
  g_strchomp (text);
  line = strrchr (text, '\n');
  line = line != NULL ? line + 1 : text;
  return *line != '\0' ? loom_text_printable (line, TRUE, MOST_LINE) : NULL;
}
