/* The file of a recorded session (docs/guide/8-teaching.md, “Recordings”): lines of JSON, so that a crash loses the
 * last line and any program can read, cut and caption it. */
#pragma once

#include <gio/gio.h>
#include <json-glib/json-glib.h>

#define RECORDING_SUFFIX   ".recording"
#define RECORDING_STARTING "starting" /* the state that begins another run */

typedef struct
{
  double at;        /* seconds since the beginning; never decreases */
  const char *kind; /* "graph", …; interned */
  JsonNode *value;
} RecordingEvent;

typedef struct
{
  char *title, *graph; /* with which it begins */
  GArray *events;      /* RecordingEvent */
} Recording;

/* FALSE with a sentence if a recording of this size is refused. */
gboolean recording_fits (gsize bytes, guint n_events, double seconds, GError **error);
/* Errors are sentences, with the number of the line. */
Recording *recording_read (const char *path, GError **error);
void recording_free (Recording *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Recording, recording_free)
double recording_get_length (const Recording *recording); /* in seconds */
/* The text of a member; NULL if there is none, or it is no text. (transfer none) */
const char *recording_get_text (JsonObject *object, const char *member);
/* The same for a number; NaN. */
double recording_get_number (JsonObject *object, const char *member);

/* Lines of the file, with their ends. value (transfer full). (transfer full) */
char *recording_head_line (const char *title, const char *graph);
char *recording_event_line (double at, const char *kind, JsonNode *value);
