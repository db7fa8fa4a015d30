/* Implements worker-log.h. */
#include "ui/worker/worker-log.h"

#include <string.h>

#include "engine/loom.h"

#define MOST_BYTES 1000000
#define MOST_TEXT  300 /* characters of a line */

char *
worker_log_dup_last (const char *folder)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  g_autofree char *text = NULL;
  const char *line;

  if (files == NULL || !loom_folder_read (files, LOOM_RUN_LOG, MOST_BYTES, &text, NULL, NULL))
    return NULL;
  g_strchomp (text);
  line = strrchr (text, '\n');
  line = line != NULL ? line + 1 : text;
  return *line != '\0' ? loom_text_printable (line, TRUE, MOST_TEXT) : NULL;
}
