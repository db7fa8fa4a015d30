#include "app/report/report-page.h"

static void
block_free (gpointer data)
{
  ReportBlock *block = data;

  g_free (block->text);
  g_clear_pointer (&block->cells, g_ptr_array_unref);
  if (block->free_data != NULL)
    block->free_data (block->data);
  g_free (block);
}

ReportPage *
report_page_new (const char *title, const char *subtitle)
{
  ReportPage *self = g_new0 (ReportPage, 1);

  self->title = g_strdup (title);
  self->subtitle = g_strdup (subtitle);
  self->language = g_strdup ("en");
  self->blocks = g_ptr_array_new_with_free_func (block_free);
  return self;
}

void
report_page_free (ReportPage *self)
{
  if (self == NULL)
    return;
  g_free (self->title);
  g_free (self->subtitle);
  g_free (self->language);
  g_free (self->date);
  g_ptr_array_unref (self->blocks);
  g_free (self);
}

static ReportBlock *
add (ReportPage *self, ReportKind kind, char *text)
{
  ReportBlock *block = g_new0 (ReportBlock, 1);

  block->kind = kind;
  block->text = text;
  g_ptr_array_add (self->blocks, block);
  return block;
}

void
report_page_add (ReportPage *self, ReportKind kind, const char *text)
{
  add (self, kind, g_strdup (text));
}

void
report_page_add_format (ReportPage *self, ReportKind kind, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  add (self, kind, g_strdup_vprintf (format, args));
  va_end (args);
}

ReportBlock *
report_page_add_table (ReportPage *self, ReportKind kind, guint n_columns, guint n_words)
{
  ReportBlock *block = add (self, kind, NULL);

  block->n_columns = n_columns;
  block->n_words = n_words;
  block->cells = g_ptr_array_new_with_free_func (g_free);
  return block;
}

void
report_block_add (ReportBlock *table, char *cell)
{
  g_ptr_array_add (table->cells, cell);
}

void
report_block_add_fact (ReportBlock *facts, const char *name, const char *value)
{
  if (value == NULL)
    return;
  report_block_add (facts, g_strdup (name));
  report_block_add (facts, g_strdup (value));
}

void
report_page_add_rules (ReportPage *self, const char *text, guint n_lines)
{
  add (self, REPORT_RULES, g_strdup (text))->n_columns = n_lines;
}

void
report_page_add_picture (ReportPage *self, const char *words, double width, double height, ReportDraw draw,
                         gpointer data, GDestroyNotify free_data)
{
  ReportBlock *block = add (self, REPORT_PICTURE, g_strdup (words));

  block->width = width;
  block->height = height;
  block->draw = draw;
  block->data = data;
  block->free_data = free_data;
}
