/* Compares the meaning of two graphs.
 *
 * Two files may differ in every line and compute the same: nodes in another order, defaults written out, places on the
 * canvas. Modules, nodes, parameters, wires and <train> are compared as the operator table reads them, so that each
 * difference changes what is computed, or its name. */
#pragma once

#include "engine/graph/loom-graph.h"

typedef enum
{
  LOOM_DIFFERENCE_ADDED,
  LOOM_DIFFERENCE_REMOVED,
  LOOM_DIFFERENCE_CHANGED,
  LOOM_DIFFERENCE_RENAMED /* and perhaps changed, too */
} LoomDifferenceKind;

const char *loom_difference_kind_name (LoomDifferenceKind kind); /* "added" */

/* An attribute before and after. NULL: none; is_default: the default, written or not. */
typedef struct
{
  char *attribute;
  char *before, *after;
  gboolean before_is_default, after_is_default;
} LoomAttributeChange;

typedef struct
{
  LoomDifferenceKind kind;
  gboolean is_cosmetic; /* changes nothing that is computed: title, text, layout, view */
  const char *what;     /* "graph", "module", "arg", "node", "wire", "train", "schedule", "metric", "place" … */
  char *scope;          /* the module's name, as in b where it is there; NULL: the graph itself */
  char *name;           /* a node's id, a module's name, a wire's end "loss.input"; NULL where there is only one */
  char *old_name;       /* of what was renamed */
  char *type;           /* of a node, its operator or "module NAME"; else NULL */
  GPtrArray *changes;   /* LoomAttributeChange; of what was added or removed, all that is written but defaults */
} LoomDifference;

/* The differences that lead from a to b, in a stable order: the graph, its modules, its own nodes and wires, <train>.
 * Nodes and modules belong together by their names; an element without a partner is a renaming where there is only one
 * pair that could be meant. cosmetic: also those that change nothing that is computed. The graphs have passed the
 * reader without faults; operators may be unknown. (transfer full), of LoomDifference. */
GPtrArray *loom_graph_diff (const LoomGraph *a, const LoomGraph *b, gboolean cosmetic);

/* ---- as text (diff-words.c) ----- */

/* A name or a value as it may be shown there (transfer full). */
typedef char *(*LoomPrintable) (const char *text);
/* "+", "-", "~", ">". */
const char *loom_difference_sign (LoomDifferenceKind kind);
/* "node fc (op linear): out_features 4 → 8", without the sign. printable NULL: texts are shown as they are. */
char *loom_difference_to_string (const LoomDifference *d, LoomPrintable printable);
/* The section of the graph that a difference belongs to: "graph", "module block" or "train". */
char *loom_difference_section (const LoomDifference *d, LoomPrintable printable);
