/* A popover of the canvas with an entry and a list below it: what one types is ranked, or is itself the answer.
 *
 * Quick-add, connecting and a new card's first value are the same popover with other rows, so that one goes from one to
 * the next without a window in between. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/document/studio-fit.h"
#include "ui/document/studio-search.h"

G_BEGIN_DECLS

typedef struct _StudioChooser StudioChooser;

/* The meaning of a row. What is not used is NULL or 0. */
typedef struct
{
  char *name; /* of an operator or module, or a value */
  char *title;
  StudioSearchKey *key;
  GtkWidget *side; /* the dim label at the end */
  guint order, rank;
  StudioFit fit; /* how well it goes where the popover was opened */
  gboolean is_module;
  gboolean is_note, is_frame; /* no layer, but something beside them */
  gboolean is_second;         /* offered only where something was typed, and after the others */
  guint64 from, to;
  const char *output, *input; /* interned */
} StudioChoice;

/* A row, or where choice is NULL the text alone, was chosen; go_on: with Ctrl, so that there is more to come. */
typedef void (*StudioChose) (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on,
                             gpointer data);

/* The text was typed or changed; TRUE: the popover has become another one by that. */
typedef gboolean (*StudioTyped) (StudioChooser *chooser, const char *text, gpointer data);

/* Takes the place of another popover of the canvas. data is freed with it. */
StudioChooser *studio_chooser_new (StudioCanvas *canvas, StudioChose chose, gpointer data, GDestroyNotify free_data);
/* Empties the list. title stands above the entry and hint in it; keys (NULL: none) below the list says which keys do
 * what. */
void studio_chooser_begin (StudioChooser *self, const char *title, const char *hint, const char *keys);
/* A row; key (transfer full) is what it is found by. */
StudioChoice *
studio_chooser_add (StudioChooser *self, const char *icon, const char *title, const char *side, StudioSearchKey *key);
/* Makes the typed text an answer of its own, with a sentence about it in the list's place. */
void studio_chooser_set_free (StudioChooser *self, const char *doc);
/* Says why the typed text is no answer, until another is typed. */
void studio_chooser_refuse (StudioChooser *self, const char *why);
/* typed is called with each change of the text until studio_chooser_begin(). */
void studio_chooser_set_typed (StudioChooser *self, StudioTyped typed);
/* TRUE while what was chosen with Shift is told. */
gboolean studio_chooser_is_shifted (StudioChooser *self);
/* Shows it at a point of the canvas, in pixels, with this text, which is selected as one where select is set. */
void studio_chooser_show (StudioChooser *self, const char *text, gboolean select, double x, double y);
void studio_chooser_close (StudioChooser *self);
StudioCanvas *studio_chooser_get_canvas (StudioChooser *self);

G_END_DECLS
