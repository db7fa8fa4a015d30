/* The search for quick fixes of one faulty node: its struct, and the functions of the files that find fixes. */
#pragma once

#include "engine/fix/loom-fit.h"
#include "engine/fix/loom-fix.h"
#include "engine/graph/loom-expr.h"

#define FIX_MOST        3
#define FIX_MOST_INPUTS 16

/* Inside a function with a FixSearch *search. */
#define _(text) (search->translate != NULL ? search->translate (text) : (text))

/* A faulty node, with the types of its inputs. */
typedef struct
{
  const LoomGraph *graph;
  const LoomNet *net;
  const LoomNetNode *node;
  const LoomFault *fault;
  guint64 serial; /* of the card with the button: the node's, or that of the module that contains it */
  LoomTranslate translate;
  const LoomType *type[FIX_MOST_INPUTS];
  guint n; /* inputs */
  GPtrArray *fixes;
} FixSearch;

LoomFix *fix_add (const FixSearch *search, LoomFixKind kind, const char *port);
/* A detached node of the operator with these attributes, "NAME=VALUE …". */
LoomElement *fix_node (const LoomOp *op, const char *id, const char *attributes);

/* Fixes that change only wires: fix-wires.c. */
/* The wires into a node, in the order of the file. */
GPtrArray *fix_wires_into (const LoomElement *node);
/* The input at the end of a wire, or NULL if it is not named. (transfer full) */
char *fix_dup_port (const LoomElement *wire);
/* Removes one of two wires into an input, or of those in a cycle. */
void fix_try_cuts (const FixSearch *search);
/* Exchanges two wires of the node, if it accepts both. */
void fix_try_swap (const FixSearch *search);
/* Wires an unread output of a module in the node's scope to this input. read: by node, a bit for each of its
 * first 8 outputs that has a reader. */
void fix_try_modules (const FixSearch *search, guint at, const guint8 *read);
/* TRUE if the node depends on the faulty node: a wire from it would close a cycle. */
gboolean fix_depends (const FixSearch *search, guint on);
