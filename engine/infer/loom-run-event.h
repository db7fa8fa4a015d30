/* Reads lines of events.jsonl leniently: the file may be a stranger's, and a member of another kind counts as absent.
 * Its functions also serve other files of a run's folder that are only shown.
 * loom-run-json.h reads the files that a run depends on. */
#pragma once

#include <glib.h>

/* Those of json-glib, so that a file which includes engine/loom.h needs no other library. */
typedef struct _JsonObject JsonObject;
typedef struct _JsonParser JsonParser;

/* A step: a line of events.jsonl, and a point of the curves of a run. */
typedef struct
{
  gint64 step, epoch; /* finished steps; epoch from 1 */
  double loss, lr;    /* NaN: not finite, or not known */
} LoomRunStep;

/* Whether a line [line, end) is an event of this name, as this program writes it; it is not parsed. */
gboolean loom_run_event_is (const char *line, const char *end, const char *name);
/* Reads a line [line, end), which a line break or a zero byte ends. Its members are searched for and it is not parsed,
 * because a curve has tens of thousands of them, all written by run_folder_flush () in one form. FALSE: it is no step.
 */
gboolean loom_run_event_step (const char *line, const char *end, LoomRunStep *step);
/* The object of a line; NULL if the line is not an object of JSON, or is nested too deeply. The parser owns it. */
JsonObject *loom_run_event_parse (JsonParser *parser, const char *line, gsize length);

/* The members of an event, or the fallback if there is no text or no integer of this name. */
const char *loom_run_event_text (JsonObject *event, const char *name, const char *fallback);
gint64 loom_run_event_int (JsonObject *event, const char *name, gint64 fallback);
/* A finite number; NaN: there is none of this name. */
double loom_run_event_number (JsonObject *event, const char *name);
/* The names of an evaluation's metrics that are numbers, ended by NULL, and their values (double): a confusion matrix
 * is none. The event owns the names. */
GPtrArray *loom_run_event_metrics (JsonObject *event, GArray **values);
