/* Marks of a comparison with another graph: nodes and wires that are new or changed are marked, those that are gone are
 * shown as ghosts. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-comparison.h"
#include "ui/drawing/studio-theme.h"
#include "ui/scene/studio-geometry.h"

typedef struct _CanvasMarks CanvasMarks;

/* widget: redrawn when the comparison changes, and the source of fonts. */
CanvasMarks *canvas_marks_new (GtkWidget *widget);
void canvas_marks_free (CanvasMarks *self);

/* NULL ends the comparison. Returns whether it is another one. */
gboolean canvas_marks_set (CanvasMarks *self, StudioComparison *comparison);
gboolean canvas_marks_are_empty (const CanvasMarks *self); /* no comparison is shown */
/* "added", "changed: …" in words, for screen readers; NULL: the node is not marked (transfer full). */
char *canvas_marks_dup_words (const CanvasMarks *self, const char *id);

/* Ghosts and wires that differ, below the cards. */
void canvas_marks_snapshot_ghosts (const CanvasMarks *self, GtkSnapshot *snapshot, StudioScene *scene,
                                   const StudioView *view, const StudioTheme *theme);
/* Marks of cards, above them. */
void canvas_marks_snapshot (const CanvasMarks *self, GtkSnapshot *snapshot, const StudioScene *scene,
                            const StudioView *view, const StudioTheme *theme);
