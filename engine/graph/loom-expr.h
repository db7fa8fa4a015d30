/* Expressions "{channels * 2}" over a module's arguments: numbers, names,
 * + - * / // % ( ) min max; // and % floor as in Python. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  gboolean is_int; /* an integer stays one through + - * // % min max; / always gives a float */
  gint64 i;
  double d;
} LoomNumber;

/* Looks a name up; FALSE when there is no such argument. */
typedef gboolean (*LoomExprLookup) (const char *name, LoomNumber *value, gpointer data);

/* How many letters from the start of text are a number, "12", "0.5", ".5" or "1e-3"; 0 when none is there. *is_int
 * tells whether it has neither point nor exponent. */
gsize loom_expr_number_length (const char *text, gboolean *is_int);
/* TRUE if the whole attribute is "{…}". */
gboolean loom_expr_is (const char *text);
/* Evaluates "{…}" (or the inside). Faults (syntax with position, unknown name, division by zero, overflow)
 * are SCHEMA errors. */
gboolean loom_expr_eval (const char *text, LoomExprLookup lookup, gpointer data, LoomNumber *value, GError **error);
/* With as many digits as tell it from every other number; a float has a point or an exponent. (transfer full) */
char *loom_number_to_string (LoomNumber n);

G_END_DECLS
