/* Draws the memory along a step; see the header. Every moment is a column of the same width: time would hide the many
 * short instructions, between which memory changes. */
#include "ui/drawing/draw-step-memory.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/drawing/chart-text.h"
#include "ui/drawing/draw-owner.h"
#include "ui/drawing/studio-export.h"

#define MARGIN     4.0
#define LINE       17.0 /* of text, at scale 1 */
#define BANDS      76.0 /* least height of the bands, at scale 1 */
#define SWATCH     12.0
#define GAP        18.0 /* between the columns of the legend */
#define FILE_WIDTH 640

typedef struct
{
  const StudioStepMemory *memory;
  cairo_t *cr;
  PangoContext *context;
  const StudioStepMemoryStyle *style;
  double left, top, right, bottom; /* of the bands */
} Picture;

static void
set_ink (const Picture *p, double alpha)
{
  const double ink = p->style->dark ? 1 : 0.14;

  cairo_set_source_rgba (p->cr, ink, ink, ink, alpha);
}

static double
draw_words (const Picture *p, gboolean strong, const char *text, double x, double y, double align, double most)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (p->context, p->style->scale, strong, text);

  return chart_text_draw (p->cr, layout, x, y, align, most);
}

/* A name that is cut says nothing. */
static void
draw_if_room (const Picture *p, const char *text, double x, double y, double most)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (p->context, p->style->scale, FALSE, text);
  int width;

  pango_layout_get_pixel_size (layout, &width, NULL);
  if (width <= most)
    chart_text_draw (p->cr, layout, x, y, 0, most);
}

/* The kinds that have bytes at any moment. */
static guint
list_owners (const StudioStepMemory *memory, LoomOwner owner[LOOM_N_OWNERS])
{
  guint n = 0;

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    for (guint i = 0; i < memory->moments->len; i++)
      if (studio_step_memory_moment (memory, i)->bytes[o] > 0)
        {
          owner[n++] = (LoomOwner)o;
          break;
        }
  return n;
}

double
studio_step_memory_height (const StudioStepMemory *memory, double scale)
{
  LoomOwner owner[LOOM_N_OWNERS];

  return 2 * MARGIN + scale * (BANDS + LINE * (2 + (list_owners (memory, owner) + 1) / 2));
}

static double
to_x (const Picture *p, double moment)
{
  return p->left + (p->right - p->left) * moment / MAX (p->memory->moments->len, 1);
}

static double
to_y (const Picture *p, guint64 bytes)
{
  const guint64 most = studio_step_memory_moment (p->memory, p->memory->peak)->total;

  return p->bottom - (p->bottom - p->top) * (most > 0 ? (double)bytes / (double)most : 0);
}

/* The bytes of the kinds below this one, and of this one if `with`. */
static guint64
stacked (const StudioMoment *moment, LoomOwner owner, gboolean with)
{
  guint64 sum = with ? moment->bytes[owner] : 0;

  for (int o = 0; o < (int)owner; o++)
    sum += moment->bytes[o];
  return sum;
}

static void
band_path (const Picture *p, LoomOwner owner)
{
  const guint n = p->memory->moments->len;

  for (guint i = 0; i < n; i++)
    {
      const double y = to_y (p, stacked (studio_step_memory_moment (p->memory, i), owner, TRUE));

      cairo_line_to (p->cr, to_x (p, i), y);
      cairo_line_to (p->cr, to_x (p, i + 1), y);
    }
  for (guint i = n; i-- > 0;)
    {
      const double y = to_y (p, stacked (studio_step_memory_moment (p->memory, i), owner, FALSE));

      cairo_line_to (p->cr, to_x (p, i + 1), y);
      cairo_line_to (p->cr, to_x (p, i), y);
    }
  cairo_close_path (p->cr);
}

static void
draw_band (const Picture *p, LoomOwner owner)
{
  cairo_save (p->cr);
  band_path (p, owner);
  cairo_clip (p->cr);
  studio_draw_owner_pattern (p->cr, p->style->dark, owner, p->left, p->top, p->right - p->left, p->bottom - p->top);
  cairo_restore (p->cr);
  band_path (p, owner);
  studio_draw_owner_colour (p->cr, p->style->dark, 0.8);
  cairo_set_line_width (p->cr, 1);
  cairo_stroke (p->cr);
}

/* Names of the phases above the bands, with a line where the next one begins. */
static void
draw_phases (const Picture *p, double y)
{
  static const char *const names[] = { N_ ("setup"), N_ ("forward"), N_ ("backward"), N_ ("update") };
  const guint n = p->memory->moments->len;

  for (guint i = 0, next; i < n; i = next)
    {
      const guint phase = studio_step_memory_moment (p->memory, i)->phase;

      for (next = i + 1; next < n && studio_step_memory_moment (p->memory, next)->phase == phase; next++)
        ;
      set_ink (p, 0.66);
      draw_if_room (p, _ (names[phase]), to_x (p, i) + 3, y, to_x (p, next) - to_x (p, i) - 4);
      if (i == 0)
        continue;
      set_ink (p, 0.28);
      cairo_set_line_width (p->cr, 1);
      cairo_move_to (p->cr, floor (to_x (p, i)) + 0.5, p->top - LINE * p->style->scale);
      cairo_line_to (p->cr, floor (to_x (p, i)) + 0.5, p->bottom);
      cairo_stroke (p->cr);
    }
}

static void
draw_line_at (const Picture *p, guint moment, gboolean dashed)
{
  const double x = floor (to_x (p, moment + 0.5)) + 0.5, dash[] = { 3, 3 };

  cairo_save (p->cr);
  cairo_set_line_width (p->cr, dashed ? 1 : 2);
  set_ink (p, dashed ? 0.6 : 1);
  cairo_set_dash (p->cr, dash, dashed ? 2 : 0, 0);
  cairo_move_to (p->cr, x, p->top - 4);
  cairo_line_to (p->cr, x, p->bottom + 2);
  cairo_stroke (p->cr);
  cairo_restore (p->cr);
}

static void
draw_legend (const Picture *p, guint n, const LoomOwner *owner, double y)
{
  const double scale = p->style->scale, swatch = SWATCH * MIN (scale, 2);
  const guint shown = p->style->moment < p->memory->moments->len ? p->style->moment : p->memory->peak;
  const StudioMoment *moment = studio_step_memory_moment (p->memory, shown);
  g_autofree char *all = loom_bytes_to_string ((double)moment->total);
  g_autofree char *title = shown == p->memory->peak
                               ? g_strdup_printf (_ ("Peak on %1$s: %2$s"), p->memory->device, all)
                               : g_strdup_printf (_ ("At the line on %1$s: %2$s"), p->memory->device, all);

  set_ink (p, 1);
  draw_words (p, TRUE, title, p->left, y, 0, p->right - p->left);
  /* In two columns, the topmost band first. */
  const double top = y, column = (p->right - p->left) / 2;
  for (guint i = n; i-- > 0;)
    {
      const guint at = n - 1 - i, lines = (n + 1) / 2;
      const double left = p->left + (at >= lines ? column + GAP / 2 : 0), right = left + column - GAP / 2;
      g_autofree char *bytes = loom_bytes_to_string ((double)moment->bytes[owner[i]]);
      double width;

      y = top + LINE * scale * (1 + at % lines);
      cairo_save (p->cr);
      cairo_rectangle (p->cr, left + 0.5, floor (y - swatch / 2) + 0.5, swatch, swatch);
      cairo_clip (p->cr);
      studio_draw_owner_pattern (p->cr, p->style->dark, owner[i], left, y - swatch / 2, swatch, swatch);
      cairo_restore (p->cr);
      cairo_rectangle (p->cr, left + 0.5, floor (y - swatch / 2) + 0.5, swatch, swatch);
      studio_draw_owner_colour (p->cr, p->style->dark, 0.8);
      cairo_set_line_width (p->cr, 1);
      cairo_stroke (p->cr);
      set_ink (p, 1);
      width = draw_words (p, FALSE, bytes, right, y, 1, column);
      draw_words (p, FALSE, studio_step_memory_owner (owner[i]), left + swatch + 6, y, 0,
                  right - left - swatch - 12 - width);
    }
}

void
studio_draw_step_memory (const StudioStepMemory *memory, cairo_t *cr, PangoContext *context,
                         const StudioStepMemoryStyle *style, double width, double height)
{
  LoomOwner owner[LOOM_N_OWNERS];
  const guint n = list_owners (memory, owner);
  const double line = LINE * style->scale;
  const Picture p = { memory,
                      cr,
                      context,
                      style,
                      MARGIN,
                      MARGIN + line,
                      MAX (width - MARGIN, MARGIN + 1),
                      MAX (height - MARGIN - line * (1 + (n + 1) / 2), MARGIN + line + 1) };

  draw_phases (&p, MARGIN + line / 2);
  for (guint i = 0; i < n; i++)
    draw_band (&p, owner[i]);
  draw_line_at (&p, memory->peak, TRUE);
  if (style->moment < memory->moments->len)
    draw_line_at (&p, style->moment, FALSE);
  draw_legend (&p, n, owner, p.bottom + line * 0.7);
}

guint
studio_step_memory_at (const StudioStepMemory *memory, double width, double x)
{
  const double room = MAX (width - 2 * MARGIN, 1);

  return (guint)CLAMP ((x - MARGIN) / room * memory->moments->len, 0, memory->moments->len - 1.0);
}

static void
draw_file (cairo_t *cr, double width, double height, gpointer data)
{
  PangoContext *context = studio_export_context_new ();
  const StudioStepMemoryStyle style = { .scale = 1, .moment = G_MAXUINT };

  cairo_translate (cr, 12, 12);
  studio_draw_step_memory (data, cr, context, &style, width - 24, height - 24);
  g_object_unref (context);
}

gboolean
studio_step_memory_export (const StudioStepMemory *memory, const char *path, GError **error)
{
  if (studio_export_has_suffix (path, ".csv"))
    {
      g_autofree char *csv = studio_step_memory_to_csv (memory);

      return loom_file_replace (path, csv, strlen (csv), error);
    }
  if (!studio_export_draws (path))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, _ ("“%s” must end in .svg, .pdf, .png or .csv."), path);
      return FALSE;
    }
  return studio_export_drawing (path, FILE_WIDTH, studio_step_memory_height (memory, 1) + 120, draw_file,
                                (gpointer)memory, error);
}
