/* Marks of a comparison, in pixels: around cards that differ, and ghosts of cards that are gone. Each kind has its
 * colour, its sign and its word. */
#pragma once

#include <pango/pango.h>

#include "engine/loom.h"
#include "ui/drawing/studio-theme.h"
#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

/* Each kind of difference is a kind of mark. */
typedef enum
{
  STUDIO_MARK_ADDED = LOOM_DIFFERENCE_ADDED,
  STUDIO_MARK_REMOVED = LOOM_DIFFERENCE_REMOVED,
  STUDIO_MARK_CHANGED = LOOM_DIFFERENCE_CHANGED,
  STUDIO_MARK_RENAMED = LOOM_DIFFERENCE_RENAMED,
  STUDIO_MARK_WOULD_CHANGE, /* if the value that is being typed were set */
  STUDIO_N_MARKS
} StudioMarkKind;

const StudioColor *studio_theme_mark (const StudioTheme *theme, StudioMarkKind kind);
const char *studio_mark_sign (StudioMarkKind kind); /* "+" */
const char *studio_mark_word (StudioMarkKind kind); /* "added" */
/* "+ 3 added · ~ 1 changed" for n[kind] differences of each kind; "" where there are none (transfer full). */
char *studio_mark_totals (const guint *n);

/* An outline around this rectangle and, on its upper edge, a tab with sign and words, at most as wide as it is; words
 * NULL: the kind's own. Without room for words (small) the sign alone. */
void studio_draw_mark (cairo_t *cr, const StudioRect *card, StudioMarkKind kind, const char *words, gboolean small,
                       PangoContext *context, const StudioTheme *theme);
/* The empty, dashed card of what is gone, with its name. */
void studio_draw_ghost (cairo_t *cr, const StudioRect *card, const char *name, gboolean small, PangoContext *context,
                        const StudioTheme *theme);
/* A wire that was there, dashed with a cross at its middle; or a band along one that is new. */
void studio_draw_lost_wire (cairo_t *cr, const StudioCurve *curve, const StudioView *view, const StudioTheme *theme);

G_END_DECLS
