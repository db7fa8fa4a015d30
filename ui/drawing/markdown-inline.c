#include "ui/drawing/markdown-inline.h"

/* Each level of emphasis is a recursive call and a span, and a file may have thousands; texts for readers have fewer.
 */
#define MAX_LEVELS 32

static void
append_escaped (GString *to, const char *text)
{
  g_autofree char *escaped = g_markup_escape_text (text != NULL ? text : "", -1);

  g_string_append (to, escaped);
}

static void
append_code (GString *to, const char *text, const MarkdownInline *how)
{
  g_autofree char *escaped = g_markup_escape_text (text, -1);

  if (how->is_node != NULL && how->is_node (text, how->data))
    g_string_append_printf (to, "<a href=\"node:%s\">%s</a>", escaped, escaped);
  else
    g_string_append_printf (to, "<tt>%s</tt>", escaped);
}

static void append_level (GString *to, cmark_node *parent, const MarkdownInline *how, guint level);

static void
append_tagged (GString *to, const char *tag, cmark_node *n, const MarkdownInline *how, guint level)
{
  g_string_append_printf (to, "<%s>", tag);
  append_level (to, n, how, level + 1);
  g_string_append_printf (to, "</%s>", tag);
}

static void
append_link (GString *to, cmark_node *n, const MarkdownInline *how, guint level)
{
  g_string_append (to, "<a href=\"");
  append_escaped (to, cmark_node_get_url (n));
  g_string_append (to, "\">");
  append_level (to, n, how, level + 1);
  g_string_append (to, "</a>");
}

static void
append_level (GString *to, cmark_node *parent, const MarkdownInline *how, guint level)
{
  if (level > MAX_LEVELS)
    {
      g_string_append (to, "…");
      return;
    }
  for (cmark_node *n = cmark_node_first_child (parent); n != NULL; n = cmark_node_next (n))
    {
      const cmark_node_type type = cmark_node_get_type (n);

      if (type == CMARK_NODE_TEXT || type == CMARK_NODE_HTML_INLINE)
        append_escaped (to, cmark_node_get_literal (n));
      else if (type == CMARK_NODE_SOFTBREAK || type == CMARK_NODE_LINEBREAK)
        g_string_append_c (to, type == CMARK_NODE_SOFTBREAK ? ' ' : '\n');
      else if (type == CMARK_NODE_CODE)
        append_code (to, cmark_node_get_literal (n), how);
      else if (type == CMARK_NODE_EMPH || type == CMARK_NODE_STRONG)
        append_tagged (to, type == CMARK_NODE_EMPH ? "i" : "b", n, how, level);
      else if (type == CMARK_NODE_LINK && how->with_links)
        append_link (to, n, how, level);
      else
        append_level (to, n, how, level + 1);
    }
}

void
markdown_append_inline (GString *to, cmark_node *parent, const MarkdownInline *how)
{
  append_level (to, parent, how, 0);
}
