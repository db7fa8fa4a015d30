/* Quick fixes for a fault, with a preview of their results: each is tried on the operators before it is offered.
 * Operators declare which operators may be inserted into a wire to adapt a tensor (LoomOp.adapt). */
#pragma once

#include "ui/document/studio-document-add.h"

G_BEGIN_DECLS

typedef enum
{
  STUDIO_FIX_OWN,     /* the fault's own fix: an attribute, a wire across deleted nodes */
  STUDIO_FIX_INSERT,  /* inserts a node into the wire of the port */
  STUDIO_FIX_SET,     /* sets another value of a parameter */
  STUDIO_FIX_CONNECT, /* wires a port that fits */
  STUDIO_FIX_CUT,     /* removes a superfluous wire */
  STUDIO_FIX_SWAP,    /* exchanges two wires of the node */
  STUDIO_FIX_OPEN,    /* the fault is inside the module: shows its inside */
  STUDIO_FIX_ASK      /* a value that only the user knows */
} StudioFixKind;

typedef struct
{
  StudioFixKind kind;
  char *label;   /* of a button: "Insert flatten" */
  char *preview; /* "B × 1 × 28 × 28 → flatten → B × 784" */
  guint64 node;  /* the faulty node, or the one that causes the fault */
  char *port;    /* its input (INSERT, CONNECT, SWAP) or parameter (SET, ASK) */
  char *value;   /* SET: the parameter's; INSERT: "NAME=VALUE …"; SWAP: the other input; OPEN: a path */
  char *op;      /* INSERT */
  guint64 from;  /* CONNECT: the other node and its output; CUT: the wire */
  char *output;
} StudioFix;

void studio_fix_free (StudioFix *fix);
/* The fixes for a fault of the net, the likeliest first; may be empty. For a card's button, serial is the card's.
 * (transfer full) */
GPtrArray *studio_document_find_fixes (StudioDocument *self, const LoomFault *fault, guint64 serial);
/* Applies a fix as one step; not an ASK, for which the user must enter a value. */
gboolean studio_document_apply_quick_fix (StudioDocument *self, const StudioFix *fix);
/* The position of the new node of an INSERT; FALSE for others, and if the wire no longer exists. */
gboolean studio_document_fix_place (StudioDocument *self, const StudioFix *fix, StudioAddPlace *place);
/* The first fix for the fault on the card; NULL if there is none. */
StudioFix *studio_document_first_fix (StudioDocument *self, guint64 serial);

G_END_DECLS
