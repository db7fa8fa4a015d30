/* The look of a user's windows, in a small file of the state directory ("gradloom/window.ini"): it is no part of any
 * graph, and nothing is lost with it. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

gboolean studio_settings_get_boolean (const char *key, gboolean otherwise);
/* Writes only what is new. A state directory that cannot be written is no reason to disturb anybody. */
void studio_settings_set_boolean (const char *key, gboolean value);
/* NULL where there is none yet. (transfer full) */
char *studio_settings_dup_string (const char *key);
void studio_settings_set_string (const char *key, const char *value);

G_END_DECLS
