/* Writes JSON: commas, escapes and numbers.
 *
 * json-glib is used only for reading: version 1.6 writes 1e-08 as 1e-08.0, which is not JSON, and every double with 17
 * digits, although nine are enough for a loss in f32. Infinity and NaN become null. */
#pragma once

#include <glib.h>

typedef struct _LoomJson LoomJson;

LoomJson *loom_json_new (void);
void loom_json_free (LoomJson *self);

/* name: of a member; NULL in an array and for the root. Names are not escaped, because they are constants. */
void loom_json_begin_object (LoomJson *self, const char *name);
void loom_json_end_object (LoomJson *self);
void loom_json_begin_array (LoomJson *self, const char *name);
void loom_json_end_array (LoomJson *self);
void loom_json_string (LoomJson *self, const char *name, const char *value); /* NULL: null */
void loom_json_bool (LoomJson *self, const char *name, gboolean value);
void loom_json_int (LoomJson *self, const char *name, gint64 value);
/* With nine significant digits, which distinguish any two f32. */
void loom_json_number (LoomJson *self, const char *name, double value);
/* With as many digits as are needed to read the same number again: nine for an f32, else up to 17. */
void loom_json_exact (LoomJson *self, const char *name, double value);
void loom_json_number_digits (LoomJson *self, const char *name, double value, int digits);
/* With n decimals. */
void loom_json_fixed (LoomJson *self, const char *name, double value, int decimals);
void loom_json_null (LoomJson *self, const char *name);
/* An array of integers. */
void loom_json_ints (LoomJson *self, const char *name, int n, const gint64 *values);

/* The text so far, without a line break at the end (transfer none). */
const char *loom_json_text (const LoomJson *self);
/* The same; frees self. (transfer full) */
char *loom_json_take (LoomJson *self);

/* Call this before an untrusted text is parsed. TRUE if it has at most that many levels of nesting, because JSON-GLib's
 * parser is recursive, and 100,000 brackets would overflow the stack; and if no \u escape is half of a surrogate pair,
 * because the parser would return a string that is not UTF-8. */
gboolean loom_json_is_within (const char *json, gsize length, int levels);
#define LOOM_JSON_LEVELS 32 /* more than in any file of Gradloom */

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomJson, loom_json_free)
