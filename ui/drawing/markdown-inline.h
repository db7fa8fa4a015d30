/* Emphasis, code and links of Markdown as Pango markup, for lessons on the screen and on paper. HTML in the text is
 * shown literally, so that a file cannot put markup of its own into a text. */
#pragma once

#include <cmark.h>
#include <glib.h>

typedef struct
{
  gboolean with_links;                                   /* paper leaves addresses out */
  gboolean (*is_node) (const char *name, gpointer data); /* TRUE: code of this name is a link to "node:NAME"; NULL */
  gpointer data;
} MarkdownInline;

/* Appends what is in `parent`, without its own mark. */
void markdown_append_inline (GString *to, cmark_node *parent, const MarkdownInline *how);
