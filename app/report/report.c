#include "app/report/report.h"

#include "app/report/report-language.h"
#include "app/report/report-sections.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/drawing/studio-export.h"

static GDateTime *
last_event (const ReportData *data)
{
  return data->run->log.ended > 0 ? g_date_time_new_from_unix_utc ((gint64)data->run->log.ended) : NULL;
}

/* "LeNet · run 3 · 2026-11-30 10:12 UTC". */
static char *
subtitle_of (const ReportData *data, GDateTime *last)
{
  GString *s = g_string_new (data->run->title);
  g_autofree char *date = last != NULL ? g_date_time_format (last, "%Y-%m-%d %H:%M UTC") : NULL;

  g_string_append_printf (s, "%s%s", s->len > 0 ? " · " : "", data->run->leaf);
  if (date != NULL)
    g_string_append_printf (s, _ (" · last step on %s"), date);
  return g_string_free (s, FALSE);
}

static ReportPage *
page_of (const ReportData *data)
{
  g_autoptr (GDateTime) last = last_event (data);
  g_autofree char *subtitle = subtitle_of (data, last);
  ReportPage *page = report_page_new (loom_run_summary_name (data->run), subtitle);
  const ReportSection *section;

  g_free (page->language);
  page->language = g_strdup (C_ ("language of the report", "en"));
  page->date = last != NULL ? g_date_time_format_iso8601 (last) : NULL;
  for (guint i = 0; (section = report_section (i)) != NULL; i++)
    if (section->applies == NULL || section->applies (data))
      {
        report_page_add (page, REPORT_HEADING, _ (section->title));
        section->add (page, data);
      }
  return page;
}

gboolean
report_write (const char *run, const char *file, void (*progress) (double done, gpointer data), gpointer data,
              GError **error)
{
  report_language_init ();

  g_autoptr (ReportData) content = report_data_new (run, progress, data, error);
  g_autoptr (ReportPage) page = content != NULL ? page_of (content) : NULL;
  g_autoptr (GBytes) bytes = NULL;

  if (page == NULL)
    return FALSE;
  bytes
      = studio_export_has_suffix (file, ".pdf") ? report_page_to_pdf (page, error) : report_page_to_html (page, error);
  if (progress != NULL)
    progress (0.99, data);
  return bytes != NULL && loom_file_replace (file, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), error);
}
