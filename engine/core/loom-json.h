/* Writes JSON: commas, escapes and the form of numbers.
 *
 * json-glib is used for reading only: json-glib 1.6 writes 1e-08 as 1e-08.0, which is no JSON, and every
 * double with 17 digits, where a loss in f32 has nine. What is not finite becomes null. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _LoomJson LoomJson;

LoomJson *loom_json_new (void);
void loom_json_free (LoomJson *self);

/* name: the member's; NULL in an array and for the whole. Names are written as they are: they come from tables. */
void loom_json_begin_object (LoomJson *self, const char *name);
void loom_json_end_object (LoomJson *self);
void loom_json_begin_array (LoomJson *self, const char *name);
void loom_json_end_array (LoomJson *self);
void loom_json_string (LoomJson *self, const char *name, const char *value); /* NULL: null */
void loom_json_bool (LoomJson *self, const char *name, gboolean value);
void loom_json_int (LoomJson *self, const char *name, gint64 value);
/* With nine significant digits, which distinguish any two f32. */
void loom_json_number (LoomJson *self, const char *name, double value);
/* With as many digits as it takes to read the same number again: nine where it is an f32, else up to 17. */
void loom_json_exact (LoomJson *self, const char *name, double value);
void loom_json_number_digits (LoomJson *self, const char *name, double value, int digits);
/* With n digits after the point. */
void loom_json_fixed (LoomJson *self, const char *name, double value, int decimals);
void loom_json_null (LoomJson *self, const char *name);
/* An array of integers. */
void loom_json_ints (LoomJson *self, const char *name, int n, const gint64 *values);

/* The text so far, without a line break at the end (transfer none). */
const char *loom_json_text (const LoomJson *self);
/* (transfer full) The same; frees self. */
char *loom_json_take (LoomJson *self);
/* Forgets what was written, for the next line. */
void loom_json_clear (LoomJson *self);

/* Whether a text from elsewhere is nested at most that many levels. JSON-GLib's parser recurses for each, so a text of
 * 100,000 brackets would overflow the stack: the question comes before it. */
gboolean loom_json_is_within (const char *json, gsize length, int levels);
#define LOOM_JSON_LEVELS 32 /* more than any file of Gradloom has */

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomJson, loom_json_free)

G_END_DECLS
