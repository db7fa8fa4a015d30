/* Reads lines of events.jsonl leniently: the file may be a stranger's, and a member of another kind counts as absent.
 * Its functions also serve other files of a run's folder that are only shown.
 * loom-run-json.h reads the files that a run depends on. */
#pragma once

#include <glib.h>

/* Those of json-glib, so that a file which includes engine/loom.h needs no other library. */
typedef struct _JsonObject JsonObject;
typedef struct _JsonParser JsonParser;

/* The object of a line; NULL if the line is not an object of JSON, or is nested too deeply. The parser owns it. */
JsonObject *loom_run_event_parse (JsonParser *parser, const char *line, gsize length);

/* The members of an event, or the fallback if there is no text or no integer of this name. */
const char *loom_run_event_text (JsonObject *event, const char *name, const char *fallback);
gint64 loom_run_event_int (JsonObject *event, const char *name, gint64 fallback);
/* A finite number; NaN: there is none of this name. */
double loom_run_event_number (JsonObject *event, const char *name);
