/* Quick fixes for a fault, with a preview of their results: each is tried on the operators before it is offered.
 * Operators declare which operators may be inserted into a wire to adapt a tensor (LoomOp.adapt). */
#pragma once

#include "ui/document/studio-document-add.h"

G_BEGIN_DECLS

typedef enum
{
  STUDIO_MEND_FIX,     /* the fault's own fix: an attribute, a wire across deleted nodes */
  STUDIO_MEND_INSERT,  /* inserts a node into the wire of the port */
  STUDIO_MEND_SET,     /* sets another value of a parameter */
  STUDIO_MEND_CONNECT, /* wires a port that fits */
  STUDIO_MEND_CUT,     /* removes a superfluous wire */
  STUDIO_MEND_SWAP,    /* exchanges two wires of the node */
  STUDIO_MEND_OPEN,    /* the fault is inside the module: shows its inside */
  STUDIO_MEND_ASK      /* a value that only the user knows */
} StudioMendKind;

typedef struct
{
  StudioMendKind kind;
  char *label;   /* of a button: "Insert flatten" */
  char *preview; /* "B × 1 × 28 × 28 → flatten → B × 784" */
  guint64 node;  /* the faulty node, or the one that causes the fault */
  char *port;    /* its input (INSERT, CONNECT, SWAP) or parameter (SET, ASK) */
  char *value;   /* SET: the parameter's; INSERT: "NAME=VALUE …"; SWAP: the other input; OPEN: a path */
  char *op;      /* INSERT */
  guint64 from;  /* CONNECT: the other node and its output; CUT: the wire */
  char *output;
} StudioMend;

void studio_mend_free (StudioMend *mend);
/* The fixes for a fault of the net, the likeliest first; may be empty. For a card's button, serial is the card's.
 * (transfer full) */
GPtrArray *studio_document_mends (StudioDocument *self, const LoomFault *fault, guint64 serial);
/* Applies a fix as one step; not an ASK, for which the user must enter a value. */
gboolean studio_document_apply_mend (StudioDocument *self, const StudioMend *mend);
/* The position of the new node of an INSERT; FALSE for others, and if the wire no longer exists. */
gboolean studio_document_mend_place (StudioDocument *self, const StudioMend *mend, StudioAddPlace *place);
/* The first fix for the fault on the card; NULL if there is none. */
StudioMend *studio_document_first_mend (StudioDocument *self, guint64 serial);

G_END_DECLS
