#include "app/report/handout-markdown.h"

#include <cmark.h>
#include <string.h>

/* Deeper levels of quotes, lists and emphasis are left out: each is a recursive call, and a file may have thousands. */
#define MAX_BLOCKS 12
#define MAX_INLINE 32

static void
append_escaped (GString *to, const char *open, const char *text, const char *close)
{
  g_autofree char *escaped = g_markup_escape_text (text != NULL ? text : "", -1);

  g_string_append_printf (to, "%s%s%s", open, escaped, close);
}

static void append_inline (GString *to, cmark_node *parent, guint level);

static void
append_within (GString *to, const char *open, cmark_node *n, const char *close, guint level)
{
  g_string_append (to, open);
  append_inline (to, n, level + 1);
  g_string_append (to, close);
}

/* The address of a link is left out: it leads to a card, or to what paper cannot open. */
static void
append_inline (GString *to, cmark_node *parent, guint level)
{
  if (level > MAX_INLINE)
    return;
  for (cmark_node *n = cmark_node_first_child (parent); n != NULL; n = cmark_node_next (n))
    switch (cmark_node_get_type (n))
      {
      case CMARK_NODE_TEXT:
      case CMARK_NODE_HTML_INLINE:
        append_escaped (to, "", cmark_node_get_literal (n), "");
        break;
      case CMARK_NODE_SOFTBREAK:
        g_string_append_c (to, ' ');
        break;
      case CMARK_NODE_LINEBREAK:
        g_string_append_c (to, '\n');
        break;
      case CMARK_NODE_CODE:
        append_escaped (to, "<tt>", cmark_node_get_literal (n), "</tt>");
        break;
      case CMARK_NODE_EMPH:
        append_within (to, "<i>", n, "</i>", level);
        break;
      case CMARK_NODE_STRONG:
        append_within (to, "<b>", n, "</b>", level);
        break;
      default:
        append_inline (to, n, level + 1);
      }
}

/* prefix: what precedes the text of the first paragraph, such as the sign of a list's item. */
static void
add_paragraph (ReportPage *page, const char *prefix, const char *open, cmark_node *n, const char *close)
{
  g_autoptr (GString) markup = g_string_new (prefix);

  append_within (markup, open, n, close, 0);
  report_page_add (page, REPORT_MARKUP, markup->str);
}

static void
add_code (ReportPage *page, cmark_node *n)
{
  g_autofree char *text = g_strchomp (g_strdup (cmark_node_get_literal (n)));

  report_page_add (page, REPORT_CODE, text);
}

static void add_blocks (ReportPage *page, cmark_node *parent, const char *prefix, guint level);

static void
add_list (ReportPage *page, cmark_node *list, const char *prefix, guint level)
{
  int number = cmark_node_get_list_start (list);

  for (cmark_node *item = cmark_node_first_child (list); item != NULL; item = cmark_node_next (item), number++)
    {
      g_autofree char *sign = cmark_node_get_list_type (list) == CMARK_ORDERED_LIST
                                  ? g_strdup_printf ("%s%d. ", prefix, number)
                                  : g_strdup_printf ("%s• ", prefix);

      add_blocks (page, item, sign, level + 1);
    }
}

static void
add_blocks (ReportPage *page, cmark_node *parent, const char *prefix, guint level)
{
  g_autoptr (GString) deeper = g_string_new (NULL);

  for (guint i = 0; i < level; i++)
    g_string_append (deeper, "\u2003");
  for (cmark_node *n = level <= MAX_BLOCKS ? cmark_node_first_child (parent) : NULL; n != NULL;
       n = cmark_node_next (n), prefix = deeper->str)
    switch (cmark_node_get_type (n))
      {
      case CMARK_NODE_HEADING:
        add_paragraph (page, prefix, "<b>", n, "</b>");
        break;
      case CMARK_NODE_PARAGRAPH:
        add_paragraph (page, prefix, "", n, "");
        break;
      case CMARK_NODE_LIST:
        add_list (page, n, deeper->str, level);
        break;
      case CMARK_NODE_CODE_BLOCK:
      case CMARK_NODE_HTML_BLOCK:
        add_code (page, n);
        break;
      case CMARK_NODE_BLOCK_QUOTE:
        add_blocks (page, n, prefix, level + 1);
        break;
      default:
        break;
      }
}

void
handout_add_markdown (ReportPage *page, const char *markdown)
{
  cmark_node *document = cmark_parse_document (markdown, strlen (markdown), CMARK_OPT_DEFAULT);

  add_blocks (page, document, "", 0);
  cmark_node_free (document);
}
