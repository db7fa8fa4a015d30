/* Offers remedies for a fault, with what would come of each: tried out on the operators before it is offered.
 *
 * Which operators may stand on a wire to make a tensor fit, they say themselves (LoomOp.adapt). */
#pragma once

#include "ui/document/studio-document-add.h"

G_BEGIN_DECLS

typedef enum
{
  STUDIO_MEND_FIX,     /* as the fault itself says: an attribute, a wire across deleted nodes */
  STUDIO_MEND_INSERT,  /* a node on the wire into the port */
  STUDIO_MEND_SET,     /* another value of a parameter */
  STUDIO_MEND_CONNECT, /* a wire from a port that fits */
  STUDIO_MEND_CUT,     /* a wire too many goes */
  STUDIO_MEND_SWAP,    /* two wires of the node change places */
  STUDIO_MEND_OPEN,    /* what is wrong stands within the module: its inside is shown */
  STUDIO_MEND_ASK      /* a value that only the user knows */
} StudioMendKind;

typedef struct
{
  StudioMendKind kind;
  char *label;   /* of a button: "Insert flatten" */
  char *preview; /* "B × 1 × 28 × 28 → flatten → B × 784" */
  guint64 node;  /* the faulty one, or the one that is to blame */
  char *port;    /* its input (INSERT, CONNECT, SWAP) or parameter (SET, ASK) */
  char *value;   /* SET: the parameter's; INSERT: "NAME=VALUE …"; SWAP: the other input; OPEN: a path */
  char *op;      /* INSERT */
  guint64 from;  /* CONNECT: the other node and its output; CUT: the wire */
  char *output;
} StudioMend;

void studio_mend_free (StudioMend *mend);
/* The remedies for a fault of the net, the likeliest first; empty where none is known. Of a card's button serial is the
 * card's. (transfer full) */
GPtrArray *studio_document_mends (StudioDocument *self, const LoomFault *fault, guint64 serial);
/* Applies one as a step; not an ASK, for which somebody has to be asked. */
gboolean studio_document_apply_mend (StudioDocument *self, const StudioMend *mend);
/* Where an INSERT puts its node; FALSE for others, and where the wire is gone. */
gboolean studio_document_mend_place (StudioDocument *self, const StudioMend *mend, StudioAddPlace *place);
/* The first remedy for what the card says; NULL where there is none. */
StudioMend *studio_document_first_mend (StudioDocument *self, guint64 serial);

G_END_DECLS
