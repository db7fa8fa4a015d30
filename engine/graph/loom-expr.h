/* Expressions "{channels * 2}" over a module's arguments: numbers, names,
 * + - * / // % ( ) min max; // and % floor as in Python. */
#pragma once

#include <glib.h>

typedef struct
{
  gboolean is_int; /* + - * // % min max of integers are integers; / always returns a float */
  gint64 i;
  double d;
} LoomNumber;

/* Looks up a name; FALSE if there is no such argument. */
typedef gboolean (*LoomExprLookup) (const char *name, LoomNumber *value, gpointer data);

/* The length of the number at the start of text, "12", "0.5", ".5" or "1e-3"; 0: none. *is_int is TRUE if it has
 * neither point nor exponent. */
gsize loom_expr_number_length (const char *text, gboolean *is_int);
/* TRUE if the whole attribute is "{…}". */
gboolean loom_expr_is (const char *text);
/* Evaluates "{…}" (or the text inside). SCHEMA for a syntax error (with its position), an unknown name, division by
 * zero, or overflow. */
gboolean loom_expr_eval (const char *text, LoomExprLookup lookup, gpointer data, LoomNumber *value, GError **error);
/* With as many digits as distinguish it from every other number; a float has a point or an exponent. (transfer full) */
char *loom_number_to_string (LoomNumber n);
