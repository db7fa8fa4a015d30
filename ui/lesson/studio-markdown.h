/* Markdown as widgets: headings, paragraphs, lists, quotes and listings, each a label that wraps and can be selected.
 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* Whether `name` in a text is a node, so that it becomes a link to it. */
typedef gboolean (*StudioMarkdownIsNode) (const char *name, gpointer data);
/* A link was pressed: "node:ID" or any other address. */
typedef void (*StudioMarkdownFollow) (const char *address, gpointer data);

/* A vertical box. Both functions may be NULL, and are called for as long as the widget lives. */
GtkWidget *
studio_markdown_new (const char *text, StudioMarkdownIsNode is_node, StudioMarkdownFollow follow, gpointer data);
/* A paragraph's inline content as Pango markup. (transfer full) */
char *studio_markdown_to_markup (const char *text, StudioMarkdownIsNode is_node, gpointer data);

G_END_DECLS
