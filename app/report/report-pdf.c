/* A report as A4 pages with Cairo and Pango.
 *
 * Blocks are set one under the other; a picture or a row of a table that does not fit begins a page. The pages are set
 * twice, because each states their number: first on a surface that draws nothing. */
#include "app/report/report-page.h"

#include "ui/drawing/studio-export.h"

#include <cairo-pdf.h>
#include <math.h>

#include "engine/loom-run.h"

/* Points. */
#define WIDTH  595.28
#define HEIGHT 841.89
#define MARGIN 54.0
#define ROOM   (WIDTH - 2 * MARGIN)
#define BOTTOM (HEIGHT - MARGIN - 18)
#define GAP    12.0 /* between columns */
#define LINE   0.5

typedef struct
{
  cairo_t *cr;
  cairo_surface_t *surface;
  PangoContext *context;
  const ReportPage *page;
  double y;
  int number, n_pages; /* n_pages 0: not known yet */
  gboolean is_pdf;
} Setter;

typedef struct
{
  double size; /* of type */
  gboolean bold, mono;
  double grey, before, after;
} Style;

static const Style title_style = { 22, TRUE, FALSE, 0.14, 0, 2 }, subtitle_style = { 10, FALSE, FALSE, 0.37, 0, 8 },
                   footer_style = { 8, FALSE, FALSE, 0.37, 0, 0 }, fact_style = { 9.5, FALSE, FALSE, 0.37, 2, 2 },
                   cell_style = { 9.5, FALSE, FALSE, 0.14, 2, 2 }, head_style = { 9.5, TRUE, FALSE, 0.14, 2, 2 };

static const Style styles[REPORT_N_KINDS] = {
  [REPORT_HEADING] = { 14, TRUE, FALSE, 0.14, 16, 4 }, [REPORT_TEXT] = { 10, FALSE, FALSE, 0.14, 2, 4 },
  [REPORT_NOTE] = { 8.5, FALSE, FALSE, 0.37, 2, 4 },   [REPORT_WARNING] = { 10, FALSE, FALSE, 0.14, 6, 8 },
  [REPORT_CODE] = { 8.5, FALSE, TRUE, 0.14, 6, 8 },    [REPORT_FACTS] = { 9.5, FALSE, FALSE, 0.14, 2, 6 },
  [REPORT_TABLE] = { 9.5, FALSE, FALSE, 0.14, 4, 6 },  [REPORT_PICTURE] = { 10, FALSE, FALSE, 0.14, 4, 6 },
  [REPORT_MARKUP] = { 10, FALSE, FALSE, 0.14, 2, 4 },  [REPORT_TASK] = { 10, FALSE, FALSE, 0.14, 4, 4 },
  [REPORT_RULES] = { 8.5, FALSE, FALSE, 0.37, 6, 8 },
};

/* ---- text ------------------------------------------------------------------------------- */

/* width: lines are broken at it; negative: one line. */
static PangoLayout *
layout_new (const Setter *s, const Style *style, const char *text, double width, gboolean right)
{
  PangoLayout *layout = pango_layout_new (s->context);
  PangoFontDescription *font = pango_font_description_from_string (style->mono ? "DejaVu Sans Mono, monospace"
                                                                               : "Cantarell, DejaVu Sans, sans-serif");
  PangoAttrList *attributes = pango_attr_list_new ();

  pango_font_description_set_absolute_size (font, style->size * PANGO_SCALE);
  pango_font_description_set_weight (font, style->bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  pango_layout_set_font_description (layout, font);
  pango_font_description_free (font);
  pango_attr_list_insert (attributes, pango_attr_font_features_new ("tnum=1"));
  pango_attr_list_insert (attributes, pango_attr_insert_hyphens_new (FALSE));
  pango_layout_set_attributes (layout, attributes);
  pango_attr_list_unref (attributes);
  pango_layout_set_text (layout, text, -1);
  pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
  if (right)
    pango_layout_set_alignment (layout, PANGO_ALIGN_RIGHT);
  if (width >= 0)
    pango_layout_set_width (layout, (int)(width * PANGO_SCALE));
  return layout;
}

static void
size_of (PangoLayout *layout, double *width, double *height)
{
  int w, h;

  pango_layout_get_size (layout, &w, &h);
  if (width != NULL)
    *width = (double)w / PANGO_SCALE;
  *height = (double)h / PANGO_SCALE;
}

static void
show (const Setter *s, PangoLayout *layout, double x, double y, double grey)
{
  cairo_set_source_rgb (s->cr, grey, grey, grey);
  cairo_move_to (s->cr, x, y);
  pango_cairo_show_layout (s->cr, layout);
}

/* ---- pages ------------------------------------------------------------------------------ */

static void
set_footer (const Setter *s)
{
  g_autofree char *number = s->n_pages > 0 ? g_strdup_printf ("%d / %d", s->number, s->n_pages) : g_strdup ("");
  g_autoptr (PangoLayout) right = layout_new (s, &footer_style, number, ROOM, TRUE);
  g_autoptr (PangoLayout) left = layout_new (s, &footer_style, s->page->title, ROOM - 80, FALSE);

  pango_layout_set_height (left, -1);
  pango_layout_set_ellipsize (left, PANGO_ELLIPSIZE_END);
  show (s, left, MARGIN, HEIGHT - MARGIN + 6, footer_style.grey);
  show (s, right, MARGIN, HEIGHT - MARGIN + 6, footer_style.grey);
}

static void
end_page (Setter *s)
{
  set_footer (s);
  cairo_show_page (s->cr);
}

/* Begins another page if this height does not fit, unless the page is empty. */
static gboolean
make_room (Setter *s, double height)
{
  if (s->y + height <= BOTTOM || s->y <= MARGIN)
    return FALSE;
  end_page (s);
  s->number++;
  s->y = MARGIN;
  return TRUE;
}

/* ---- blocks ----------------------------------------------------------------------------- */

/* Lines of a text, which may be longer than a page. */
static void
set_layout (Setter *s, const Style *style, PangoLayout *layout, double indent)
{
  PangoLayoutIter *iter = pango_layout_get_iter (layout);

  do
    {
      PangoRectangle logical;
      double height;

      pango_layout_iter_get_line_extents (iter, NULL, &logical);
      height = (double)logical.height / PANGO_SCALE;
      make_room (s, height);
      cairo_set_source_rgb (s->cr, style->grey, style->grey, style->grey);
      cairo_move_to (s->cr, MARGIN + indent + (double)logical.x / PANGO_SCALE,
                     s->y + (double)(pango_layout_iter_get_baseline (iter) - logical.y) / PANGO_SCALE);
      pango_cairo_show_layout_line (s->cr, pango_layout_iter_get_line_readonly (iter));
      s->y += height;
    }
  while (pango_layout_iter_next_line (iter));
  pango_layout_iter_free (iter);
}

static void
set_lines (Setter *s, const Style *style, const char *text, double indent)
{
  g_autoptr (PangoLayout) layout = layout_new (s, style, text, ROOM - 2 * indent, FALSE);

  set_layout (s, style, layout, indent);
}

static void
set_markup (Setter *s, const ReportBlock *block)
{
  g_autoptr (PangoLayout) layout = layout_new (s, &styles[block->kind], "", ROOM, FALSE);

  pango_layout_set_markup (layout, block->text, -1);
  set_layout (s, &styles[block->kind], layout, 0);
}

#define BOX 9.0 /* side of a box to be ticked */

static void
set_task (Setter *s, const ReportBlock *block)
{
  make_room (s, BOX * 1.5);
  cairo_set_source_rgb (s->cr, 0.37, 0.37, 0.37);
  cairo_set_line_width (s->cr, 2 * LINE);
  cairo_rectangle (s->cr, MARGIN + LINE, s->y + 2, BOX, BOX);
  cairo_stroke (s->cr);
  set_lines (s, &styles[block->kind], block->text, BOX + 8);
}

#define RULE 22.0 /* between lines to write on */

static double
height_of_rules (const ReportBlock *block)
{
  return RULE * block->n_columns + (block->text != NULL ? 12 : 0);
}

static void
set_rules (Setter *s, const ReportBlock *block)
{
  make_room (s, height_of_rules (block));
  if (block->text != NULL)
    set_lines (s, &styles[block->kind], block->text, 0);
  for (guint i = 0; i < block->n_columns; i++)
    {
      make_room (s, RULE);
      s->y += RULE;
      cairo_set_source_rgb (s->cr, 0.6, 0.6, 0.6);
      cairo_set_line_width (s->cr, LINE);
      cairo_move_to (s->cr, MARGIN, s->y);
      cairo_line_to (s->cr, MARGIN + ROOM, s->y);
      cairo_stroke (s->cr);
    }
}

static void
set_text (Setter *s, const ReportBlock *block)
{
  set_lines (s, &styles[block->kind], block->text, 0);
}

static void
set_heading (Setter *s, const ReportBlock *block)
{
  if (s->is_pdf)
    {
      g_autofree char *place = g_strdup_printf ("page=%d pos=[%d %d]", s->number, (int)MARGIN, (int)s->y);

      cairo_pdf_surface_add_outline (s->surface, CAIRO_PDF_OUTLINE_ROOT, block->text, place, 0);
    }
  set_text (s, block);
}

/* Text in a box, whose ground is drawn under it. */
static void
set_box (Setter *s, const ReportBlock *block, double red, double green, double blue, gboolean bar)
{
  const Style *style = &styles[block->kind];
  g_autoptr (PangoLayout) layout = layout_new (s, style, block->text, ROOM - 20, FALSE);
  double height;

  size_of (layout, NULL, &height);
  if (height > (BOTTOM - MARGIN) / 2)
    {
      set_lines (s, style, block->text, 10);
      return;
    }
  make_room (s, height + 12);
  cairo_set_source_rgb (s->cr, red, green, blue);
  cairo_rectangle (s->cr, MARGIN, s->y, ROOM, height + 12);
  cairo_fill (s->cr);
  if (bar)
    {
      cairo_set_source_rgb (s->cr, 0.75, 0.11, 0.16);
      cairo_rectangle (s->cr, MARGIN, s->y, 3, height + 12);
      cairo_fill (s->cr);
    }
  show (s, layout, MARGIN + 10, s->y + 6, style->grey);
  s->y += height + 12;
}

static void
set_warning (Setter *s, const ReportBlock *block)
{
  set_box (s, block, 0.99, 0.93, 0.94, TRUE);
}

static void
set_code (Setter *s, const ReportBlock *block)
{
  set_box (s, block, 0.965, 0.96, 0.957, FALSE);
}

static const Style *
style_of (const ReportBlock *block, guint cell)
{
  if (block->kind == REPORT_FACTS)
    return cell % 2 == 0 ? &fact_style : &cell_style;
  return cell < block->n_columns ? &head_style : &cell_style;
}

/* Natural widths, narrowed to the room: wide columns first, because their lines can be broken. */
static double *
column_widths (const Setter *s, const ReportBlock *block)
{
  const guint n = block->n_columns;
  const double room = ROOM - GAP * (n - 1);
  double *width = g_new0 (double, n), sum = 0, most = room;

  for (guint i = 0; i < block->cells->len; i++)
    {
      g_autoptr (PangoLayout) layout = layout_new (s, style_of (block, i), block->cells->pdata[i], -1, FALSE);
      double w, h;

      size_of (layout, &w, &h);
      width[i % n] = MAX (width[i % n], ceil (w) + 1);
    }
  if (block->kind == REPORT_FACTS)
    width[0] = CLAMP (width[0], 110, 190);
  for (guint k = 0; k < n; k++)
    sum += width[k];
  for (int round = 0; sum > room && round < 200; round++)
    {
      most *= 0.95;
      sum = 0;
      for (guint k = 0; k < n; k++)
        {
          width[k] = MIN (width[k], most);
          sum += width[k];
        }
    }
  return width;
}

static double
row_height (const Setter *s, const ReportBlock *block, guint first, const double *width)
{
  double most = 0;

  for (guint k = 0; k < block->n_columns && first + k < block->cells->len; k++)
    {
      g_autoptr (PangoLayout) layout
          = layout_new (s, style_of (block, first + k), block->cells->pdata[first + k], width[k], FALSE);
      double h;

      size_of (layout, NULL, &h);
      most = MAX (most, h);
    }
  return most + cell_style.before + cell_style.after;
}

static void
set_row (Setter *s, const ReportBlock *block, guint first, const double *width, double height)
{
  double x = MARGIN;

  for (guint k = 0; k < block->n_columns && first + k < block->cells->len; k++)
    {
      const Style *style = style_of (block, first + k);
      g_autoptr (PangoLayout) layout
          = layout_new (s, style, block->cells->pdata[first + k], width[k], k >= block->n_words);

      show (s, layout, x, s->y + style->before, style->grey);
      x += width[k] + GAP;
    }
  s->y += height;
  cairo_set_source_rgb (s->cr, 0.89, 0.88, 0.87);
  cairo_set_line_width (s->cr, LINE);
  cairo_move_to (s->cr, MARGIN, s->y);
  cairo_line_to (s->cr, x - GAP, s->y);
  cairo_stroke (s->cr);
}

static void
set_table (Setter *s, const ReportBlock *block)
{
  const gboolean has_head = block->kind == REPORT_TABLE;
  g_autofree double *width = column_widths (s, block);

  for (guint i = 0; i < block->cells->len; i += block->n_columns)
    {
      const double height = row_height (s, block, i, width);

      /* A page does not end with a header. */
      if (make_room (s, has_head && i == 0 ? 3 * height : height) && has_head && i > 0)
        set_row (s, block, 0, width, row_height (s, block, 0, width));
      set_row (s, block, i, width, height);
    }
}

/* Pictures of 640 units are as wide as the text. */
static double
picture_scale (const ReportBlock *block)
{
  return MIN (0.75, MIN (ROOM / block->width, (BOTTOM - MARGIN - 60) / block->height));
}

static void
set_picture (Setter *s, const ReportBlock *block)
{
  const double scale = picture_scale (block);
  PangoContext *context = studio_export_context_new ();

  make_room (s, block->height * scale);
  cairo_save (s->cr);
  cairo_translate (s->cr, MARGIN, s->y);
  cairo_scale (s->cr, scale, scale);
  block->draw (s->cr, context, block->width, block->height, block->data);
  cairo_restore (s->cr);
  s->y += block->height * scale;
  g_object_unref (context);
}

static void (*const setters[REPORT_N_KINDS]) (Setter *s, const ReportBlock *block) = {
  [REPORT_HEADING] = set_heading, [REPORT_TEXT] = set_text,       [REPORT_NOTE] = set_text,
  [REPORT_WARNING] = set_warning, [REPORT_CODE] = set_code,       [REPORT_FACTS] = set_table,
  [REPORT_TABLE] = set_table,     [REPORT_PICTURE] = set_picture, [REPORT_MARKUP] = set_markup,
  [REPORT_TASK] = set_task,       [REPORT_RULES] = set_rules,
};

/* ---- the file --------------------------------------------------------------------------- */

#define BEGINNING 50.0 /* of a text or a table that follows a heading on the same page */
#define TOGETHER  14   /* blocks at most that are kept on a page */

/* TRUE if a block belongs to what is written before it: a task, and lines for the answer to a question. */
static gboolean
belongs (const ReportBlock *block, const ReportBlock *before)
{
  switch (block->kind)
    {
    case REPORT_PICTURE:
      return before->text != NULL;
    case REPORT_TASK:
    case REPORT_RULES:
      return before->kind == REPORT_TASK || before->kind == REPORT_TEXT || before->kind == REPORT_MARKUP;
    default:
      return FALSE;
    }
}

/* The height that block i needs with what must be on the same page: a heading stays with what follows, a line before a
 * picture with it, and a task with its text, the other tasks and the lines for its answer. Of a text it is that of one
 * line. */
static double
height_together (const Setter *s, guint i)
{
  const GPtrArray *blocks = s->page->blocks;
  double height = 0;

  for (guint k = i; k < MIN (blocks->len, i + TOGETHER); k++)
    {
      const ReportBlock *block = blocks->pdata[k], *next = k + 1 < blocks->len ? blocks->pdata[k + 1] : NULL;
      const double own = styles[block->kind].size * 1.5 + styles[block->kind].before + styles[block->kind].after;

      if (block->kind == REPORT_PICTURE)
        return height + block->height * picture_scale (block) + styles[REPORT_PICTURE].before;
      if (block->kind == REPORT_RULES)
        return height + height_of_rules (block) + styles[REPORT_RULES].before;
      if (next == NULL || (block->kind != REPORT_HEADING && !belongs (next, block)))
        return height + (k > i && ((ReportBlock *)blocks->pdata[k - 1])->kind == REPORT_HEADING ? BEGINNING : own);
      height += own;
    }
  return height;
}

/* Returns the number of pages. */
static int
set_pages (Setter *s)
{
  s->y = MARGIN;
  s->number = 1;
  set_lines (s, &title_style, s->page->title, 0);
  s->y += title_style.after;
  set_lines (s, &subtitle_style, s->page->subtitle, 0);
  s->y += subtitle_style.after;
  for (guint i = 0; i < s->page->blocks->len; i++)
    {
      const ReportBlock *block = s->page->blocks->pdata[i];

      if (block->kind == REPORT_HEADING || block->text != NULL)
        make_room (s, height_together (s, i));
      if (s->y > MARGIN)
        s->y += styles[block->kind].before;
      setters[block->kind](s, block);
      s->y += styles[block->kind].after;
    }
  end_page (s);
  return s->number;
}

static cairo_status_t
append_bytes (void *closure, const unsigned char *data, unsigned int length)
{
  g_byte_array_append (closure, data, length);
  return CAIRO_STATUS_SUCCESS;
}

static int
set_on (const ReportPage *page, cairo_surface_t *surface, int n_pages, gboolean is_pdf)
{
  Setter s = { .cr = cairo_create (surface),
               .surface = surface,
               .context = studio_export_context_new (),
               .page = page,
               .n_pages = n_pages,
               .is_pdf = is_pdf };
  int n = set_pages (&s);

  g_object_unref (s.context);
  cairo_destroy (s.cr);
  return n;
}

GBytes *
report_page_to_pdf (const ReportPage *self, GError **error)
{
  const cairo_rectangle_t extent = { 0, 0, WIDTH, HEIGHT };
  cairo_surface_t *nothing = cairo_recording_surface_create (CAIRO_CONTENT_COLOR_ALPHA, &extent), *surface;
  const int n_pages = set_on (self, nothing, 0, FALSE);
  GByteArray *out = g_byte_array_new ();
  cairo_status_t status;

  cairo_surface_destroy (nothing);
  surface = cairo_pdf_surface_create_for_stream (append_bytes, out, WIDTH, HEIGHT);
  cairo_pdf_surface_set_metadata (surface, CAIRO_PDF_METADATA_TITLE, self->title);
  cairo_pdf_surface_set_metadata (surface, CAIRO_PDF_METADATA_CREATOR, "Gradloom");
  cairo_pdf_surface_set_metadata (surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                  self->date != NULL ? self->date : "1970-01-01T00:00:00Z");
  set_on (self, surface, n_pages, TRUE);
  cairo_surface_finish (surface);
  status = cairo_surface_status (surface);
  cairo_surface_destroy (surface);
  if (status == CAIRO_STATUS_SUCCESS)
    return g_byte_array_free_to_bytes (out);
  g_byte_array_unref (out);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The pages could not be drawn: %s.", cairo_status_to_string (status));
  return NULL;
}
