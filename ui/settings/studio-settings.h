/* The state of a user's windows (size, panes, style) and preferences, stored in "gradloom/window.ini" in the state
 * directory. It is no part of a graph, and losing it is harmless. */
#pragma once

#include <glib.h>

gboolean studio_settings_get_boolean (const char *key, gboolean otherwise);
/* Writes only changed values. Errors are ignored, because a state directory that cannot be written must not disturb the
 * user. */
void studio_settings_set_boolean (const char *key, gboolean value);
/* NULL: not set. (transfer full) */
char *studio_settings_dup_string (const char *key);
void studio_settings_set_string (const char *key, const char *value);

/* Megabytes of the disk for the history of a run, by which it goes back; 0: none. */
#define STUDIO_SETTINGS_HISTORY_MOST 1000000
gint64 studio_settings_get_history (void);
void studio_settings_set_history (gint64 megabytes);
