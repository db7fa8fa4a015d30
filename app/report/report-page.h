/* A report as a list of blocks, which the renderers write as HTML or PDF.
 *
 * Texts are plain: renderers escape them, so that names and notes of strangers stay text. */
#pragma once

#include <cairo.h>
#include <pango/pangocairo.h>

typedef enum
{
  REPORT_HEADING,
  REPORT_TEXT,
  REPORT_NOTE,    /* a remark, in small type */
  REPORT_WARNING, /* a failure */
  REPORT_CODE,    /* a command, to be copied */
  REPORT_FACTS,   /* a table of names and values */
  REPORT_TABLE,   /* its first row is the header; it repeats on each page */
  REPORT_PICTURE,
  REPORT_MARKUP, /* text with <b>, <i> and <tt>, all else escaped */
  REPORT_TASK,   /* text after a box to be ticked */
  REPORT_RULES,  /* lines to write on, after the text if there is one; n_columns is their number */
  REPORT_N_KINDS
} ReportKind;

/* Draws in width × height units with text of 11 units, on white. */
typedef void (*ReportDraw) (cairo_t *cr, PangoContext *context, double width, double height, gpointer data);

typedef struct
{
  ReportKind kind;
  char *text;       /* of a picture: what it shows, in words; of tables NULL */
  guint n_columns;  /* of tables; of rules, the number of lines */
  guint n_words;    /* the first columns, which are aligned left; the others are numbers */
  GPtrArray *cells; /* char*, row after row */
  double width, height;
  ReportDraw draw;
  gpointer data;
  GDestroyNotify free_data;
} ReportBlock;

typedef struct
{
  char *title, *subtitle;
  char *language;    /* "en" */
  char *date;        /* ISO 8601, of the last event of the run; NULL: not known */
  GPtrArray *blocks; /* ReportBlock */
} ReportPage;

ReportPage *report_page_new (const char *title, const char *subtitle);
void report_page_free (ReportPage *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ReportPage, report_page_free)

void report_page_add (ReportPage *self, ReportKind kind, const char *text);
/* A command or sentence with arguments. */
void report_page_add_format (ReportPage *self, ReportKind kind, const char *format, ...) G_GNUC_PRINTF (3, 4);
/* An empty table; the caller adds whole rows. (transfer none) */
ReportBlock *report_page_add_table (ReportPage *self, ReportKind kind, guint n_columns, guint n_words);
/* (transfer full) */
void report_block_add (ReportBlock *table, char *cell);
/* A row of two texts; value NULL adds nothing. */
void report_block_add_fact (ReportBlock *facts, const char *name, const char *value);
/* text may be NULL. */
void report_page_add_rules (ReportPage *self, const char *text, guint n_lines);
/* data is freed with the page by free_data, which may be NULL. */
void report_page_add_picture (ReportPage *self, const char *words, double width, double height, ReportDraw draw,
                              gpointer data, GDestroyNotify free_data);

/* Renderers. (transfer full) */
GBytes *report_page_to_html (const ReportPage *self, GError **error);
GBytes *report_page_to_pdf (const ReportPage *self, GError **error);
