/* Draws the marks of a comparison in pixels: outlines of cards that differ, and ghosts of removed cards. Each kind has
 * a colour, a sign and a word. */
#pragma once

#include <pango/pango.h>

#include "engine/loom.h"
#include "ui/drawing/studio-theme.h"
#include "ui/scene/studio-geometry.h"

/* A mark per kind of difference. */
typedef enum
{
  STUDIO_MARK_ADDED = LOOM_DIFFERENCE_ADDED,
  STUDIO_MARK_REMOVED = LOOM_DIFFERENCE_REMOVED,
  STUDIO_MARK_CHANGED = LOOM_DIFFERENCE_CHANGED,
  STUDIO_MARK_RENAMED = LOOM_DIFFERENCE_RENAMED,
  STUDIO_MARK_WOULD_CHANGE, /* would change if the typed value were set */
  STUDIO_N_MARKS
} StudioMarkKind;

const StudioColor *studio_theme_mark (const StudioTheme *theme, StudioMarkKind kind);
const char *studio_mark_sign (StudioMarkKind kind); /* "+" */
const char *studio_mark_word (StudioMarkKind kind); /* "added" */
/* "+ 3 added · ~ 1 changed"; n[kind] is the number of differences of each kind; "" if none (transfer full). */
char *studio_mark_totals (const guint *n);

/* Draws an outline around the rectangle and a tab on its upper edge with sign and words (NULL: the kind's word). small:
 * the sign alone. */
void studio_draw_mark (cairo_t *cr, const StudioRect *card, StudioMarkKind kind, const char *words, gboolean small,
                       PangoContext *context, const StudioTheme *theme);
/* Draws the empty, dashed card of a removed node, with its name. */
void studio_draw_ghost (cairo_t *cr, const StudioRect *card, const char *name, gboolean small, PangoContext *context,
                        const StudioTheme *theme);
/* Draws a removed wire, dashed with a cross at its middle; or a band along a new one. */
void studio_draw_lost_wire (cairo_t *cr, const StudioCurve *curve, const StudioView *view, const StudioTheme *theme);
