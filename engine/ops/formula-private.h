/* Declares what the files of formulas share: words, functions, limits.
 *
 * Private to formula.c, formula-functions.c and formula-names.c. */
#pragma once

#include "engine/ops/formula.h"

#define MAX_NESTING 60
#define MAX_LENGTH  2000
#define MAX_NAME    60

/* A function that is defined by a formula: parameters, then the text, which may use other functions but must not be
 * recursive. */
typedef struct
{
  const char *name, *parameters, *text;
} FormulaFunction;

/* The scalar operation of a name that formulas may use, or -1. */
int formula_find_scalar (const char *name);
const FormulaFunction *formula_find_function (const char *name); /* NULL if there is none */
guint formula_function_arity (const FormulaFunction *function);
/* Adds the names of all functions, where() among them. */
void formula_add_functions (GPtrArray *names);

/* TRUE and the value of constants such as pi; value may be NULL. */
gboolean formula_constant (const char *name, double *value);
gboolean formula_is_keyword (const char *word);
/* The length of the name at the beginning of s; 0 if there is none. */
gsize formula_name_length (const char *s);
