/* Shared by the files of formulas: words, functions, limits.
 *
 * Private to formula.c, formula-functions.c and formula-names.c. */
#pragma once

#include "engine/ops/formula.h"

G_BEGIN_DECLS

#define MAX_NESTING 60
#define MAX_LENGTH  2000
#define MAX_NAME    60

/* A function that is defined by a formula: parameters, then the text, which may use other functions but not, by any
 * way, itself. */
typedef struct
{
  const char *name, *parameters, *text;
} FormulaFunction;

/* The scalar operation of a name that formulas may use, or -1. */
int formula_find_scalar (const char *name);
const FormulaFunction *formula_find_function (const char *name); /* NULL when there is none */
guint formula_function_arity (const FormulaFunction *function);
/* Adds the names of all functions, where() among them. */
void formula_add_functions (GPtrArray *names);

/* TRUE and the value for pi and its like; value may be NULL. */
gboolean formula_constant (const char *name, double *value);
gboolean formula_is_keyword (const char *word);
/* Letters of the name that s begins with; 0 where it begins with none. */
gsize formula_name_length (const char *s);

G_END_DECLS
