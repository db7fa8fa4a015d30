/* Reads and writes sessions.jsonl; see the header. */
#include "engine/infer/loom-run-sessions.h"

#include "engine/core/loom-error.h"
#include "engine/core/loom-json.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-text.h"
#include "engine/infer/loom-run-event.h"

#include <errno.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES    (16 * 1024 * 1024)
#define MOST_SENTENCE 600 /* characters */

static const char *const words[] = {
  [LOOM_RUN_END_NONE] = "training",
  [LOOM_RUN_END_STOPPED] = "stopped",
  [LOOM_RUN_END_DONE] = "done",
  [LOOM_RUN_END_FAILED] = "failed",
};

/* ---- writing ---------------------------------------------------------------- */

static char *
to_text (const LoomRunSession *s, glong most)
{
  g_autofree char *sentence = s->sentence != NULL ? loom_text_printable (s->sentence, TRUE, most) : NULL;
  LoomJson *json = loom_json_new ();

  loom_json_begin_object (json, NULL);
  loom_json_string (json, "state", words[s->end]);
  loom_json_fixed (json, "begun", s->begun, 3);
  loom_json_fixed (json, "ended", s->ended, 3);
  loom_json_int (json, "step", s->step);
  loom_json_int (json, "epoch", s->epoch);
  loom_json_exact (json, "loss", s->loss);
  if (s->nan_step > 0)
    loom_json_int (json, "nan_step", s->nan_step);
  if (sentence != NULL)
    loom_json_string (json, "message", sentence);
  loom_json_end_object (json);
  return loom_json_take (json);
}

static gboolean
write_line (int fd, gint64 at, const LoomRunSession *session)
{
  char line[LOOM_RUN_SESSION_BYTES];
  glong most = MOST_SENTENCE;
  g_autofree char *text = to_text (session, most);

  /* A character may need six bytes. */
  while (strlen (text) >= sizeof line)
    {
      g_free (text);
      text = to_text (session, most /= 2);
    }
  memset (line, ' ', sizeof line);
  memcpy (line, text, strlen (text));
  line[sizeof line - 1] = '\n';
  return loom_write_at (fd, line, sizeof line, at);
}

int
loom_run_session_begin (LoomFolder *run, const LoomRunSession *session, gint64 *at, GError **error)
{
  int fd = loom_folder_open_file (run, LOOM_RUN_SESSIONS, O_RDWR | O_CREAT, error);

  if (fd < 0)
    return -1;
  *at = MAX (loom_os->seek (fd, 0, SEEK_END), 0) / LOOM_RUN_SESSION_BYTES * LOOM_RUN_SESSION_BYTES;
  if (write_line (fd, *at, session))
    return fd;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "Cannot write " LOOM_RUN_SESSIONS " in %s: %s.",
               loom_folder_path (run), g_strerror (errno));
  loom_close (fd);
  return -1;
}

void
loom_run_session_write (int fd, gint64 at, const LoomRunSession *session)
{
  if (!write_line (fd, at, session))
    g_debug ("%s: %s", LOOM_RUN_SESSIONS, g_strerror (errno));
}

/* ---- reading ---------------------------------------------------------------- */

static gboolean
read_line (JsonParser *parser, const char *line, LoomRunSession *session)
{
  JsonObject *object = loom_run_event_parse (parser, line, strlen (line));
  const char *state = object != NULL ? loom_run_event_text (object, "state", "") : NULL, *sentence;

  if (object == NULL)
    return FALSE;
  *session = (LoomRunSession){
    .begun = loom_run_event_number (object, "begun"),
    .ended = loom_run_event_number (object, "ended"),
    .step = MAX (loom_run_event_int (object, "step", 0), 0),
    .epoch = MAX (loom_run_event_int (object, "epoch", 0), 0),
    .loss = loom_run_event_number (object, "loss"),
    .nan_step = MAX (loom_run_event_int (object, "nan_step", 0), 0),
  };
  if (isnan (session->begun) || isnan (session->ended) || session->ended < session->begun)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_str_equal (state, words[i]))
      session->end = (LoomRunEnd)i;
  sentence = loom_run_event_text (object, "message", NULL);
  session->sentence = sentence != NULL ? loom_text_printable (sentence, TRUE, MOST_SENTENCE) : NULL;
  return TRUE;
}

static void
clear_cb (gpointer data)
{
  g_free (((LoomRunSession *)data)->sentence);
}

GArray *
loom_run_sessions_read (LoomFolder *run)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (LoomRunSession));
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autofree char *text = NULL;
  char *line, *rest;

  g_array_set_clear_func (list, clear_cb);
  if (!loom_folder_read (run, LOOM_RUN_SESSIONS, MOST_BYTES, &text, NULL, NULL))
    return list;
  for (line = strtok_r (text, "\n", &rest); line != NULL; line = strtok_r (NULL, "\n", &rest))
    {
      LoomRunSession session;

      if (read_line (parser, line, &session))
        g_array_append_val (list, session);
    }
  return list;
}
