/* Adds nodes with their wires: at a point, after a card, at a loose wire, in a wire. Each is one undo step. */
#pragma once

#include "ui/document/studio-document.h"
#include "engine/fix/loom-fit.h"

typedef enum
{
  STUDIO_ADD_AT,     /* alone */
  STUDIO_ADD_AFTER,  /* to the right of a card and wired to it, between it and its readers */
  STUDIO_ADD_LOOSE,  /* at the loose end of a wire from or to a port */
  STUDIO_ADD_ON_WIRE /* between the two ends of a wire */
} StudioAddKind;

typedef struct
{
  StudioAddKind kind;
  double x, y;          /* the card's centre; AFTER chooses its own */
  guint64 serial;       /* AFTER, LOOSE: a card; ON_WIRE: a wire */
  gboolean from_output; /* LOOSE: the port is an output */
  const char *port;     /* LOOSE; interned */
  gboolean branch;      /* AFTER: the card's readers stay wired to it */
} StudioAddPlace;

/* Adds a node of this operator, or an instance of this module; the module is one of the graph, or one of the library by
 * reference (see studio-library.h), whose definition is then copied into the document in the same step. Selects it and
 * returns its serial; 0 if there is no such operator, module or place. Required parameters get the values of the
 * operator table; parameters, if not NULL, are names and values in turn, which replace those. Ports are chosen by
 * types: the first output of the card that fits, the first input that accepts it; the target of a loss is wired to the
 * data set if exactly one of its outputs fits. said: the reason if no port fits, so that the node is not wired, or if
 * it may not be added there (transfer full). */
guint64 studio_document_add (StudioDocument *self, const char *name, gboolean is_module, const char *const *parameters,
                             const StudioAddPlace *place, char **said);
/* How well a new node of this operator would fit there. At a point every operator fits. */
LoomFit studio_document_fit (StudioDocument *self, const LoomOp *op, const StudioAddPlace *place);
/* The card as it would be added there, as the only item of a scene, for the ghost during a drag. NULL if there is no
 * such operator or module. */
StudioScene *
studio_document_preview (StudioDocument *self, const char *name, gboolean is_module, const StudioAddPlace *place);

/* TRUE if an existing card can be inserted into a wire: it has a free input that accepts the wire's type, and its
 * outputs are free. */
gboolean studio_document_can_insert (StudioDocument *self, guint64 node, guint64 wire);
/* Moves the card by dx, dy and inserts it into the wire. */
gboolean studio_document_insert_in_wire (StudioDocument *self, guint64 node, guint64 wire, double dx, double dy);
