/* A popover of the canvas with an entry and a list below it: rows are ranked by the typed text, or the text itself is
 * the result.
 *
 * Quick-add, connecting and a new card's first value are the same popover with other rows, so that each follows the
 * other without a window in between. */
#pragma once

#include "ui/canvas/canvas-popover.h"
#include "ui/document/studio-document-add.h"
#include "ui/document/studio-search.h"

typedef struct _StudioChooser StudioChooser;

/* The meaning of a row. Unused fields are NULL or 0. */
typedef struct
{
  char *name; /* of an operator or module, or a value */
  char *title;
  StudioSearchKey *key;
  GtkWidget *side; /* the dim label at the end */
  guint order, rank;
  LoomFit fit; /* how well it fits where the popover was opened */
  gboolean is_module;
  gboolean is_note, is_frame; /* no layer, but an annotation */
  gboolean is_second;         /* offered only if something was typed, and after the others */
  guint64 from, to;
  const char *output, *input; /* interned */
} StudioChoice;

/* A row was chosen, or the text alone (choice is NULL); go_on: with Ctrl, so that another choice follows. */
typedef void (*StudioChose) (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on,
                             gpointer data);

/* The text was typed or changed; TRUE: the popover has become another one by that. */
typedef gboolean (*StudioTyped) (StudioChooser *chooser, const char *text, gpointer data);

/* Replaces the open popover of the canvas. data is freed with it. */
StudioChooser *studio_chooser_new (CanvasPopover *popover, StudioChose chose, gpointer data, GDestroyNotify free_data);
/* Empties the list. title is shown above the entry, hint in it, and keys (NULL: none), a line about keys, below the
 * list. */
void studio_chooser_begin (StudioChooser *self, const char *title, const char *hint, const char *keys);
/* Adds a row, which is found by key (transfer full). */
StudioChoice *
studio_chooser_add (StudioChooser *self, const char *icon, const char *title, const char *side, StudioSearchKey *key);
/* Accepts any text as the result, with a sentence about it instead of the list. */
void studio_chooser_set_free (StudioChooser *self, const char *doc);
/* Shows why the typed text is no result, until another is typed. */
void studio_chooser_refuse (StudioChooser *self, const char *why);
/* typed is called with each change of the text until studio_chooser_begin(). */
void studio_chooser_set_typed (StudioChooser *self, StudioTyped typed);
/* TRUE during the call for a choice that was made with Shift. */
gboolean studio_chooser_is_shifted (StudioChooser *self);
/* Shows it at a point of the canvas, in pixels, with this text, which is selected if select is set. */
void studio_chooser_show (StudioChooser *self, const char *text, gboolean select, double x, double y);
void studio_chooser_close (StudioChooser *self);
