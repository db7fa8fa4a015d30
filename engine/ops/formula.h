/* Declares the parser of formulas that a person types: "x * sigmoid(beta * x)", or several statements "t = exp(x); y =
 * t / (1 + t)".
 *
 * For engine/ops and for schedules (engine/recipe). Names are found without parsing, so that a node keeps its ports
 * while the user is still typing a word. */
#pragma once

#include "engine/ops/loom-op.h"

/* A mistake and its position. */
typedef struct
{
  char *message; /* a sentence that shows the position; NULL: no mistake */
  char *fix;     /* the remedy as a sentence; may be NULL */
  char *text;    /* the whole formula with the remedy applied; may be NULL */
} FormulaFault;

void formula_fault_clear (FormulaFault *fault);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (FormulaFault, formula_fault_clear)

/* Names and their registers in the formula, in order of definition. */
typedef struct
{
  GPtrArray *names;  /* char * */
  GArray *registers; /* guint8 */
} FormulaScope;

void formula_scope_init (FormulaScope *scope);
void formula_scope_clear (FormulaScope *scope);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (FormulaScope, formula_scope_clear)
void formula_scope_add (FormulaScope *scope, const char *name, guint8 reg);
/* The register; -1 if the name is unknown. */
int formula_scope_find (const FormulaScope *scope, const char *name);

/* The names that a text uses before it defines them, in order of appearance. */
GPtrArray *formula_free_names (const char *text);
/* The same as input ports that are never freed: at most LOOM_FORMULA_MAX_IN. */
const LoomPortSpec *formula_ports (const char *text);

/* Every function that a formula may call, from the tables, as a paragraph. */
char *formula_functions (void);

/* One formula; its register, or -1 with a fault. Steps are appended to `formula`; n_in must be set before. */
int formula_parse (const char *text, const FormulaScope *scope, LoomFormula *formula, FormulaFault *fault);
/* Parses statements "name = formula" separated by ";", each of which defines its name once. Names of `inputs` (NULL
 * for none) are an exception: their definition goes to `targets`, and a use still refers to the input, because a
 * gradient is written under the name of its input. */
gboolean formula_parse_statements (const char *text, FormulaScope *scope, const FormulaScope *inputs,
                                   FormulaScope *targets, LoomFormula *formula, FormulaFault *fault);
