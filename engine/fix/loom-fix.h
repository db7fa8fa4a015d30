/* Quick fixes for a fault, with a preview of their results: each is tried on the operators before it is offered.
 * Operators declare which operators may be inserted into a wire to adapt a tensor (LoomOp.adapt). Studio and
 * `gradloom check --fix` offer the same fixes. */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/net/loom-net.h"

typedef enum
{
  LOOM_FIX_OWN,     /* the fault's own fix: an attribute, a wire, or one of the caller */
  LOOM_FIX_INSERT,  /* inserts a node into the wire of the port */
  LOOM_FIX_SET,     /* sets another value of a parameter */
  LOOM_FIX_CONNECT, /* wires a port that fits */
  LOOM_FIX_CUT,     /* removes a superfluous wire */
  LOOM_FIX_SWAP,    /* exchanges two wires of the node */
  LOOM_FIX_OPEN,    /* the fault is inside the module: shows its inside */
  LOOM_FIX_ASK      /* a value that only the user knows */
} LoomFixKind;

typedef struct
{
  LoomFixKind kind;
  char *label;   /* of a button: "Insert flatten" */
  char *preview; /* "B × 1 × 28 × 28 → flatten → B × 784"; may be NULL */
  guint64 node;  /* the faulty node, or the one that causes the fault; OWN: the element with the attribute, or 0 */
  char *port;    /* its input (INSERT, CONNECT, SWAP) or parameter (SET, ASK, OWN) */
  char *value;   /* SET, OWN: the parameter's; INSERT: "NAME=VALUE …"; SWAP: the other input; OPEN: a path */
  char *op;      /* INSERT */
  guint64 from;  /* CONNECT: the other node and its output; CUT: the wire; OWN: the wire to move to `value` or remove */
  char *output;  /* OWN: the parameter's new name */
} LoomFix;

LoomFix *loom_fix_new (LoomFixKind kind, guint64 node, const char *port);
void loom_fix_free (LoomFix *fix);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomFix, loom_fix_free)

/* The fix that the fault contains, or for a wire into an input that a formula no longer has; NULL: it has none. serial
 * is the faulty node's, or that of the module that contains it. net may be NULL, if there is none. */
LoomFix *loom_fix_own (const LoomGraph *graph, const LoomNet *net, const LoomFault *fault, guint64 serial,
                       LoomTranslate translate);
/* The fixes for a fault of the net, the likeliest first, after own (transfer full; NULL: none); may be empty. For a
 * serial other than the faulty node's only fixes that can be made outside the module. (transfer full) */
GPtrArray *loom_fixes_find (const LoomGraph *graph, const LoomNet *net, const LoomFault *fault, guint64 serial,
                            LoomFix *own, LoomTranslate translate);

/* Receives an edit (transfer full), which it applies before it returns. */
typedef void (*LoomFixEdit) (LoomEdit *edit, gpointer data);
/* Makes the edits of a fix. FALSE without an edit if the graph does not have its elements, and for OPEN and ASK. */
gboolean loom_fix_edit (const LoomGraph *graph, const LoomFix *fix, LoomFixEdit edit, gpointer data);
