/* Adding nodes where they belong: at a point, behind a card, at a loose wire, in a wire. Each is one step to undo. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/document/studio-fit.h"

G_BEGIN_DECLS

typedef enum
{
  STUDIO_ADD_AT,     /* alone */
  STUDIO_ADD_BEHIND, /* to the right of a card, wired to it, and between it and what it feeds */
  STUDIO_ADD_LOOSE,  /* at the loose end of a wire from or to a port */
  STUDIO_ADD_ON_WIRE /* between the two ends of a wire */
} StudioAddKind;

typedef struct
{
  StudioAddKind kind;
  double x, y;          /* the card's middle; BEHIND finds its own */
  guint64 serial;       /* BEHIND, LOOSE: a card; ON_WIRE: a wire */
  gboolean from_output; /* LOOSE: the port is an output */
  const char *port;     /* LOOSE; interned */
  gboolean branch;      /* BEHIND: what the card feeds stays wired to it */
} StudioAddPlace;

/* Adds a node of this operator, or an instance of this module, of the graph or by its reference of the library (see
 * studio-library.h), whose definition is then copied into the document in the same step; selects it, and gives its
 * serial; 0 where there is no such operator, module or place. Required parameters have the values of the operator
 * table; parameters, where they are not NULL, are names and values in turn, which replace those. Ports are chosen by
 * types: the first of the card's outputs that fits, the first input that takes it; the target of a loss is wired to the
 * data set by itself where exactly one of its outputs fits. said: where nothing fits, so that the node is not wired, or
 * may not stand there, why (transfer full). */
guint64 studio_document_add (StudioDocument *self, const char *name, gboolean is_module, const char *const *parameters,
                             const StudioAddPlace *place, char **said);
/* How well a fresh node of this operator would fit there. At a point everything does. */
StudioFit studio_document_fit (StudioDocument *self, const LoomOp *op, const StudioAddPlace *place);
/* The card as it would stand there, as the only item of a scene: what a ghost shows while one drags. NULL where there
 * is no such operator or module. */
StudioScene *
studio_document_preview (StudioDocument *self, const char *name, gboolean is_module, const StudioAddPlace *place);

/* Whether a card that stands there already can go into a wire: an input that takes what the wire brings, and its
 * outputs, are free. */
gboolean studio_document_can_insert (StudioDocument *self, guint64 node, guint64 wire);
/* Moves the card by dx, dy and wires it in between. */
gboolean studio_document_insert_in_wire (StudioDocument *self, guint64 node, guint64 wire, double dx, double dy);

G_END_DECLS
