/* The state of a user's windows (size, panes, style), stored in "gradloom/window.ini" in the state directory. It is no
 * part of a graph, and losing it is harmless. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

gboolean studio_settings_get_boolean (const char *key, gboolean otherwise);
/* Writes only changed values. Errors are ignored, because a state directory that cannot be written must not disturb the
 * user. */
void studio_settings_set_boolean (const char *key, gboolean value);
/* NULL: not set. (transfer full) */
char *studio_settings_dup_string (const char *key);
void studio_settings_set_string (const char *key, const char *value);

G_END_DECLS
