/* A document compared with an older graph: added, changed and removed elements, from engine/diff. It follows the
 * document, and determines which cards and wires of the shown scope are marked, and where removed ones were. */
#pragma once

#include "ui/document/studio-document.h"

#define STUDIO_TYPE_COMPARISON (studio_comparison_get_type ())
G_DECLARE_FINAL_TYPE (StudioComparison, studio_comparison, STUDIO, COMPARISON, GObject)

/* Signal "changed": the document has changed, or another scope is shown. before (transfer full); title describes it:
 * "lenet.xml". */
StudioComparison *studio_comparison_new (StudioDocument *document, LoomGraph *before, const char *title);
const char *studio_comparison_get_title (StudioComparison *self);
/* LoomDifference, in the order of engine/diff; valid until the document changes. */
const GPtrArray *studio_comparison_get_differences (StudioComparison *self);

/* The difference of a card or wire in the shown scope. A module's card is changed if any part of the module is. */
typedef struct
{
  LoomDifferenceKind kind;
  char *words; /* "out_features 4 → 8"; NULL: only the kind */
} StudioChange;

/* The change of a card by its id, or of a wire by its serial; NULL: unchanged. */
const StudioChange *studio_comparison_card (StudioComparison *self, const char *id);
const StudioChange *studio_comparison_wire (StudioComparison *self, guint64 serial);

/* A removed wire, between the current or former positions of its ends. */
typedef struct
{
  double x0, y0, x1, y1;
} StudioLostWire;

/* Removed cards at their old positions: items of the scene, by index. Ends of lost wires follow cards that have moved.
 */
const StudioScene *studio_comparison_get_ghosts (StudioComparison *self, const gboolean **gone);
const StudioLostWire *studio_comparison_get_lost_wires (StudioComparison *self, guint *n);
/* The position of the ghost of this id, in canvas units; FALSE: none in the shown scope. */
gboolean studio_comparison_find_ghost (StudioComparison *self, const char *id, double *x, double *y);
/* Shows the scope of a difference and selects its element, if that exists. FALSE if it concerns no node. */
gboolean studio_comparison_reveal (StudioComparison *self, const LoomDifference *difference);
