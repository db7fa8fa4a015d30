/* A report as one HTML file without scripts and without anything that a browser would load: pictures are SVG in data
 * addresses, and the policy in its head forbids all else. */
#include "app/report/report-page.h"

#include "ui/drawing/studio-export.h"

static const char style[]
    = "body{font:15px/1.5 Cantarell,'DejaVu Sans',system-ui,sans-serif;color:#242424;background:#fff;"
      "max-width:760px;margin:32px auto;padding:0 20px;overflow-wrap:anywhere}\n"
      "h1{font-size:28px;line-height:1.2;margin:0}h2{font-size:19px;margin:36px 0 8px;break-after:avoid}\n"
      ".sub{color:#5e5c64;margin:4px 0 0}p{margin:8px 0}.note{color:#5e5c64;font-size:13px}\n"
      ".warning{border-left:4px solid #c01c28;background:#fdeef0;padding:8px 12px}\n"
      "pre{background:#f6f5f4;padding:10px 12px;border-radius:6px;white-space:pre-wrap;font-size:13px}\n"
      "table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:8px 0;max-width:100%}\n"
      "th,td{text-align:left;vertical-align:top;padding:3px 16px 3px 0;border-bottom:1px solid #e3e1df}\n"
      ".n{text-align:right}.facts th{font-weight:normal;color:#5e5c64;min-width:150px}\n"
      "img{max-width:100%;height:auto;display:block;margin:8px 0}figure{margin:0;break-inside:avoid}\n"
      ".rules{border-bottom:1px solid #9a9996;height:2em;margin:0}\n"
      "@media print{body{margin:0;max-width:none}tr{break-inside:avoid}}\n";

static void
append_text (GString *s, const char *text)
{
  g_autofree char *escaped = g_markup_escape_text (text, -1);

  g_string_append (s, escaped);
}

static void
append_element (GString *s, const char *open, const char *text, const char *close)
{
  g_string_append (s, open);
  append_text (s, text);
  g_string_append (s, close);
}

static gboolean
write_heading (GString *s, const ReportBlock *block, GError **error)
{
  append_element (s, "<h2>", block->text, "</h2>\n");
  return TRUE;
}

static gboolean
write_text (GString *s, const ReportBlock *block, GError **error)
{
  append_element (s, "<p>", block->text, "</p>\n");
  return TRUE;
}

static gboolean
write_note (GString *s, const ReportBlock *block, GError **error)
{
  append_element (s, "<p class=\"note\">", block->text, "</p>\n");
  return TRUE;
}

static gboolean
write_warning (GString *s, const ReportBlock *block, GError **error)
{
  append_element (s, "<p class=\"warning\">", block->text, "</p>\n");
  return TRUE;
}

static gboolean
write_code (GString *s, const ReportBlock *block, GError **error)
{
  append_element (s, "<pre>", block->text, "</pre>\n");
  return TRUE;
}

static gboolean
write_facts (GString *s, const ReportBlock *block, GError **error)
{
  g_string_append (s, "<table class=\"facts\">\n");
  for (guint i = 0; i + 1 < block->cells->len; i += 2)
    {
      append_element (s, "<tr><th scope=\"row\">", block->cells->pdata[i], "</th>");
      append_element (s, "<td>", block->cells->pdata[i + 1], "</td></tr>\n");
    }
  g_string_append (s, "</table>\n");
  return TRUE;
}

static gboolean
write_table (GString *s, const ReportBlock *block, GError **error)
{
  g_string_append (s, "<table>\n");
  for (guint i = 0; i < block->cells->len; i++)
    {
      const guint column = i % block->n_columns;
      const char *cell = i < block->n_columns ? "th scope=\"col\"" : "td";

      g_string_append_printf (s, "%s<%s%s>", column == 0 ? (i == 0 ? "<thead><tr>" : "<tr>") : "", cell,
                              column >= block->n_words ? " class=\"n\"" : "");
      append_text (s, block->cells->pdata[i]);
      g_string_append_printf (s, "</%.2s>", cell);
      if (column + 1 == block->n_columns)
        g_string_append (s, i < block->n_columns ? "</tr></thead>\n" : "</tr>\n");
    }
  g_string_append (s, "</table>\n");
  return TRUE;
}

static void
draw_cb (cairo_t *cr, double width, double height, gpointer data)
{
  const ReportBlock *block = data;
  PangoContext *context = studio_export_context_new ();

  block->draw (cr, context, width, height, block->data);
  g_object_unref (context);
}

static gboolean
write_picture (GString *s, const ReportBlock *block, GError **error)
{
  g_autoptr (GBytes) svg = studio_export_svg (block->width, block->height, draw_cb, (gpointer)block, error);
  g_autofree char *base64 = NULL;

  if (svg == NULL)
    return FALSE;
  base64 = g_base64_encode (g_bytes_get_data (svg, NULL), g_bytes_get_size (svg));
  g_string_append_printf (s, "<figure><img width=\"%.0f\" height=\"%.0f\" src=\"data:image/svg+xml;base64,%s\" ",
                          block->width, block->height, base64);
  append_element (s, "alt=\"", block->text, "\"></figure>\n");
  return TRUE;
}

static gboolean
write_markup (GString *s, const ReportBlock *block, GError **error)
{
  g_string_append_printf (s, "<p>%s</p>\n", block->text);
  return TRUE;
}

static gboolean
write_task (GString *s, const ReportBlock *block, GError **error)
{
  append_element (s, "<p>☐ ", block->text, "</p>\n");
  return TRUE;
}

static gboolean
write_rules (GString *s, const ReportBlock *block, GError **error)
{
  if (block->text != NULL)
    write_note (s, block, error);
  for (guint i = 0; i < block->n_columns; i++)
    g_string_append (s, "<div class=\"rules\"></div>\n");
  return TRUE;
}

static gboolean (*const writers[REPORT_N_KINDS]) (GString *s, const ReportBlock *block, GError **error) = {
  [REPORT_HEADING] = write_heading, [REPORT_TEXT] = write_text,       [REPORT_NOTE] = write_note,
  [REPORT_WARNING] = write_warning, [REPORT_CODE] = write_code,       [REPORT_FACTS] = write_facts,
  [REPORT_TABLE] = write_table,     [REPORT_PICTURE] = write_picture, [REPORT_MARKUP] = write_markup,
  [REPORT_TASK] = write_task,       [REPORT_RULES] = write_rules,
};

GBytes *
report_page_to_html (const ReportPage *self, GError **error)
{
  g_autoptr (GString) s = g_string_new ("<!DOCTYPE html>\n");

  g_string_append_printf (s, "<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n", self->language);
  g_string_append (s, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
                      "style-src 'unsafe-inline'\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width\">\n");
  append_element (s, "<title>", self->title, "</title>\n");
  g_string_append_printf (s, "<style>\n%s</style>\n</head>\n<body>\n", style);
  append_element (s, "<h1>", self->title, "</h1>\n");
  append_element (s, "<p class=\"sub\">", self->subtitle, "</p>\n");
  for (guint i = 0; i < self->blocks->len; i++)
    {
      const ReportBlock *block = self->blocks->pdata[i];

      if (!writers[block->kind](s, block, error))
        return NULL;
    }
  g_string_append (s, "</body>\n</html>\n");
  return g_string_free_to_bytes (g_steal_pointer (&s));
}
