/* A document beside an older graph: what was added, changed and taken away, as engine/diff has it.
 *
 * It follows the document, and says of the scope that is shown which cards and wires to mark, and what is gone and
 * where it was. */
#pragma once

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_COMPARISON (studio_comparison_get_type ())
G_DECLARE_FINAL_TYPE (StudioComparison, studio_comparison, STUDIO, COMPARISON, GObject)

/* Signal "changed": the document changed, or another scope is shown. before (transfer full); title says what it is:
 * "lenet.xml". */
StudioComparison *studio_comparison_new (StudioDocument *document, LoomGraph *before, const char *title);
const char *studio_comparison_get_title (StudioComparison *self);
/* LoomDifference, in the order of engine/diff; valid until the document changes. */
const GPtrArray *studio_comparison_get_differences (StudioComparison *self);

/* How a card or wire of the shown scope differs. A module's card is changed where anything within is. */
typedef struct
{
  LoomDifferenceKind kind;
  char *words; /* "out_features 4 → 8"; NULL: its kind says it all */
} StudioChange;

/* Of a card by its id, of a wire by its serial; NULL: it is the same. */
const StudioChange *studio_comparison_card (StudioComparison *self, const char *id);
const StudioChange *studio_comparison_wire (StudioComparison *self, guint64 serial);

/* A wire that is gone, between where its ends are or were. */
typedef struct
{
  double x0, y0, x1, y1;
} StudioLostWire;

/* Cards that are gone, where they were: items of the scene, by index. Ends of lost wires follow cards that moved. */
const StudioScene *studio_comparison_get_ghosts (StudioComparison *self, const gboolean **gone);
const StudioLostWire *studio_comparison_get_lost_wires (StudioComparison *self, guint *n);
/* Where the ghost of this id is, in canvas units; FALSE: there is none in the shown scope. */
gboolean studio_comparison_find_ghost (StudioComparison *self, const char *id, double *x, double *y);
/* Shows the scope of a difference and selects what it is about, if that is there. FALSE where it is of no node. */
gboolean studio_comparison_reveal (StudioComparison *self, const LoomDifference *difference);

G_END_DECLS
