/* The legend lists only types that occur, so most graphs have two rows. */
#include "ui/drawing/draw-types.h"

#include <glib/gi18n.h>
#include <math.h>
#include <pango/pangocairo.h>

#include "ui/drawing/draw-card.h"
#include "ui/drawing/draw-wires.h"

#define SAMPLE 44.0 /* length of a row's line: the longest pattern appears more than once */
#define INSIDE 8.0

static const char *const words[LOOM_N_DTYPES] = {
  [LOOM_F64] = N_ ("64-bit floats"),    [LOOM_F32] = N_ ("32-bit floats"),   [LOOM_F16] = N_ ("16-bit floats"),
  [LOOM_BF16] = N_ ("bfloat16 floats"), [LOOM_I64] = N_ ("64-bit integers"), [LOOM_I32] = N_ ("32-bit integers"),
  [LOOM_U8] = N_ ("integers 0 … 255"),  [LOOM_BOOL] = N_ ("Booleans"),
};

static const char *
words_of (LoomDType dtype)
{
  return _ (words[dtype]);
}

typedef struct
{
  PangoLayout *text;
  StudioLine line;
  const StudioColor *color;
} Row;

/* used: LOOM_N_DTYPES types, then unknown ones. */
static void
collect (const StudioScene *scene, gboolean used[LOOM_N_DTYPES + 1])
{
  for (guint i = 0; i < scene->n_items; i++)
    for (guint p = 0; p < scene->item[i].n_outputs; p++)
      if (scene->item[i].output[p].typed)
        used[scene->item[i].output[p].type.dtype] = TRUE;
  for (guint i = 0; i < scene->n_links; i++)
    used[scene->link[i].typed ? (guint)scene->link[i].type.dtype : LOOM_N_DTYPES] = TRUE;
}

static guint
make_rows (Row row[LOOM_N_DTYPES + 1], const StudioScene *scene, const StudioTheme *theme, PangoContext *context)
{
  gboolean used[LOOM_N_DTYPES + 1] = { FALSE };
  guint n = 0;

  collect (scene, used);
  for (guint t = 0; t <= LOOM_N_DTYPES; t++)
    {
      gboolean known = t < LOOM_N_DTYPES;
      g_autofree char *text = NULL;

      if (!used[t])
        continue;
      text = known ? g_strdup_printf ("%s  %s", loom_dtype_name ((LoomDType)t), words_of ((LoomDType)t))
                   : g_strdup (_ ("not known yet"));
      row[n++]
          = (Row){ studio_small_text_new (context, text), known ? studio_dtype_line ((LoomDType)t) : STUDIO_LINE_SOLID,
                   known ? &theme->dtype[t] : &theme->untyped };
    }
  return n;
}

double
studio_draw_types_legend (cairo_t *cr, const StudioScene *scene, double x, double y, const StudioTheme *theme,
                          PangoContext *context)
{
  Row row[LOOM_N_DTYPES + 1];
  guint n = make_rows (row, scene, theme, context);
  int width = 0, height = 0;

  for (guint i = 0; i < n; i++)
    {
      int w, h;

      pango_layout_get_pixel_size (row[i].text, &w, &h);
      width = MAX (width, w);
      height = MAX (height, h + 2);
    }
  if (n == 0)
    return 0;
  y -= n * height + 8;
  cairo_save (cr);
  studio_draw_box (cr, x, y, SAMPLE + width + 3 * INSIDE, n * height + 8, 6, &theme->background, 1, &theme->border);
  for (guint i = 0; i < n; i++)
    {
      double top = y + 4 + i * height;

      cairo_move_to (cr, x + INSIDE, floor (top + height / 2.0) + 0.5);
      cairo_rel_line_to (cr, SAMPLE, 0);
      studio_stroke_line (cr, row[i].line, row[i].color, &theme->background, 2);
      cairo_move_to (cr, x + SAMPLE + 2 * INSIDE, top);
      studio_color_set (&theme->text, cr);
      pango_cairo_show_layout (cr, row[i].text);
      g_object_unref (row[i].text);
    }
  cairo_restore (cr);
  return n * height + 8;
}
