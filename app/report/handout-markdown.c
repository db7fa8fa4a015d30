#include "app/report/handout-markdown.h"

#include <string.h>

#include "ui/drawing/markdown-inline.h"

/* Deeper levels of quotes and lists are left out: each is a recursive call, and a file may have thousands. */
#define MAX_BLOCKS 12

/* Links lead to a card, or to what paper cannot open. prefix: what precedes the text of the first paragraph, such as
 * the sign of a list's item. */
static void
add_paragraph (ReportPage *page, const char *prefix, const char *open, cmark_node *n, const char *close)
{
  g_autoptr (GString) markup = g_string_new (prefix);

  g_string_append (markup, open);
  markdown_append_inline (markup, n, &(MarkdownInline){ 0 });
  g_string_append (markup, close);
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
