/* A search that adds the operator or module that is typed: after the selected card, at a loose wire, in a selected
 * wire, or at a point.
 *
 * After a layer with a required parameter, the same popover prompts for that, with the likely value already entered.
 * Ctrl+Enter continues after the new card, so that a chain of layers is typed in one go. */
#pragma once

#include "ui/canvas/canvas-board.h"
#include "ui/canvas/studio-chooser.h"

/* A wire with one end at a port, for which an operator is searched: a chosen one is wired at once. */
typedef struct
{
  guint64 serial; /* of the card */
  gboolean from_output;
  const char *port; /* interned */
} StudioLoose;

/* at_x, at_y: the point that is pointed at, in pixels; text begins the search. loose: NULL: the position is that of
 * canvas_board_add_place(). */
void quick_add_open (CanvasBoard *board, const char *text, double at_x, double at_y, const StudioLoose *loose);
/* Prompts for a parameter of a card; FALSE: it has none of this name. */
gboolean quick_add_prompt (CanvasBoard *board, guint64 serial, const char *param);
/* Adds rows for everything that can be added there. is_second: after other rows. */
void quick_add_list (StudioChooser *chooser, StudioDocument *document, const StudioAddPlace *place, gboolean is_second);
