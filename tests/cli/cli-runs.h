/* Events that runs of the command line write, and a graph whose training uses many settings. */
#pragma once

#include <json-glib/json-glib.h>

/* Every line of --json is an object with an event. Returns how many have this one. */
guint count_events (const char *text, const char *event);
/* The events of one kind, as objects. (transfer full) */
GPtrArray *events_of (const char *text, const char *event);
/* The events of a run's folder. (transfer full) */
char *read_events (const char *run);

/* Writes a graph on spirals whose last layer has the id `head`; inner: further content of <train>. */
void write_course (const char *name, const char *head, int epochs, const char *inner);
