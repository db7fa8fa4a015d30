/* Converts Markdown to widgets: headings, paragraphs, lists, quotes and code blocks, each a selectable label that
 * wraps. */
#pragma once

#include <gtk/gtk.h>

/* TRUE if `name` in the text is a node, which makes it a link. */
typedef gboolean (*StudioMarkdownIsNode) (const char *name, gpointer data);
/* Called for an activated link: "node:ID" or another address. */
typedef void (*StudioMarkdownFollow) (const char *address, gpointer data);

/* Returns a vertical GtkBox. Both functions may be NULL, and are called as long as the widget lives. */
GtkWidget *
studio_markdown_new (const char *text, StudioMarkdownIsNode is_node, StudioMarkdownFollow follow, gpointer data);
/* The inline content of a paragraph as Pango markup. (transfer full) */
char *studio_markdown_to_markup (const char *text, StudioMarkdownIsNode is_node, gpointer data);
