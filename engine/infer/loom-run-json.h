/* Reads the members of the JSON files in a run's folder strictly. */
#pragma once

#include "engine/core/loom-folder.h"

#include <json-glib/json-glib.h>

/* An object of a file. All functions below fail with DATA, and the error names the file and the member. */
typedef struct
{
  const char *path; /* for errors */
  JsonObject *object;
} LoomRunJson;

/* Also IO if the file cannot be read. The parser owns the values; free path, which receives the file's path, after the
 * last use of value. */
gboolean loom_run_json_root (JsonParser *parser, LoomFolder *folder, const char *name, char **path, LoomRunJson *value,
                             GError **error);
gboolean
loom_run_json_int (const LoomRunJson *json, const char *name, gint64 min, gint64 max, gint64 *value, GError **error);
/* A finite number; if null is allowed, it is read as NaN. */
gboolean
loom_run_json_double (const LoomRunJson *json, const char *name, gboolean may_be_null, double *value, GError **error);
/* A list of exactly n numbers; null is read as NaN. */
gboolean loom_run_json_doubles (const LoomRunJson *json, const char *name, guint n, double *value, GError **error);
gboolean loom_run_json_string (const LoomRunJson *json, const char *name, const char **value, GError **error);
gboolean loom_run_json_object (const LoomRunJson *json, const char *name, LoomRunJson *value, GError **error);
/* A list of exactly n objects. */
gboolean loom_run_json_objects (const LoomRunJson *json, const char *name, guint n, JsonArray **value, GError **error);
