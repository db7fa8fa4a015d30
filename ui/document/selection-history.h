/* The selections before and after each step of the undo history: undo restores one if its step leaves no card selected.
 *
 * The selection itself is never undone. But a step that adds a card selects it and one that deletes cards leaves none,
 * so after undo the keyboard would have no card to go on from. */
#pragma once

#include "ui/document/selection.h"

typedef struct _SelectionHistory SelectionHistory;

SelectionHistory *selection_history_new (void);
void selection_history_free (SelectionHistory *self);
void selection_history_clear (SelectionHistory *self);
/* A transaction begins with this selection. */
void selection_history_begin (SelectionHistory *self, const Selection *selection);
/* It became this step. A step that it was merged with keeps what it has. */
void selection_history_end (SelectionHistory *self, guint64 step);
/* A step became part of another one, which came before it. */
void selection_history_fold (SelectionHistory *self, guint64 gone);
/* What was selected on the other side of a step: serials; NULL: unknown. */
const GArray *selection_history_get (const SelectionHistory *self, guint64 step);
/* A step is stepped over; this is selected on the side that is left. */
void selection_history_cross (SelectionHistory *self, guint64 step, const Selection *selection);
