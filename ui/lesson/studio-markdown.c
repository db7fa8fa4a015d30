/* Markdown as widgets; see the header. */
#include "ui/lesson/studio-markdown.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/drawing/markdown-inline.h"

/* Maximum nesting of quotes and lists. Each level is a recursive call and a widget, and a file may have thousands;
 * texts for readers have fewer. */
#define MAX_BLOCKS 12

typedef struct
{
  MarkdownInline text;
  StudioMarkdownFollow follow;
  GtkTextDirection direction; /* of the text, not of the window: English in a Hebrew window begins at the left */
} Context;

/* ---- blocks ----------------------------------------------------------------- */

static gboolean
link_cb (GtkLabel *label, const char *address, gpointer data)
{
  const Context *c = data;

  if (c->follow != NULL)
    c->follow (address, c->text.data);
  return TRUE;
}

static GtkWidget *
label_new (const char *markup, const char *css_class, Context *c)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_markup (GTK_LABEL (label), markup);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_natural_wrap_mode (GTK_LABEL (label), GTK_NATURAL_WRAP_NONE);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_set_direction (label, c->direction);
  gtk_widget_set_hexpand (label, TRUE);
  if (css_class != NULL)
    gtk_widget_add_css_class (label, css_class);
  g_signal_connect (label, "activate-link", G_CALLBACK (link_cb), c);
  return label;
}

static GtkWidget *
inline_label (cmark_node *n, const char *css_class, Context *c)
{
  g_autoptr (GString) markup = g_string_new (NULL);

  markdown_append_inline (markup, n, &c->text);
  return label_new (markup->str, css_class, c);
}

static void append_blocks (GtkBox *box, cmark_node *parent, Context *c, guint level);

static GtkWidget *
box_of (cmark_node *n, Context *c, guint level)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);

  append_blocks (GTK_BOX (box), n, c, level);
  return box;
}

static void
append_list (GtkBox *box, cmark_node *list, Context *c, guint level)
{
  int number = cmark_node_get_list_start (list);

  for (cmark_node *item = cmark_node_first_child (list); item != NULL; item = cmark_node_next (item), number++)
    {
      GtkWidget *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
      g_autofree char *mark
          = cmark_node_get_list_type (list) == CMARK_ORDERED_LIST ? g_strdup_printf ("%d.", number) : g_strdup ("•");
      GtkWidget *label = gtk_label_new (mark);

      gtk_widget_set_direction (row, c->direction);
      gtk_widget_set_valign (label, GTK_ALIGN_START);
      gtk_box_append (GTK_BOX (row), label);
      gtk_box_append (GTK_BOX (row), box_of (item, c, level + 1));
      gtk_box_append (box, row);
    }
}

static void
append_code_block (GtkBox *box, cmark_node *n, Context *c)
{
  g_autofree char *text = g_strchomp (g_strdup (cmark_node_get_literal (n)));
  g_autofree char *escaped = g_markup_escape_text (text, -1), *markup = g_strdup_printf ("<tt>%s</tt>", escaped);
  GtkWidget *label = label_new (markup, "listing", c);

  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_box_append (box, label);
}

static void
append_blocks (GtkBox *box, cmark_node *parent, Context *c, guint level)
{
  if (level > MAX_BLOCKS)
    {
      gtk_box_append (box, label_new (_ ("Deeper levels are not shown."), "dim-label", c));
      return;
    }
  for (cmark_node *n = cmark_node_first_child (parent); n != NULL; n = cmark_node_next (n))
    switch (cmark_node_get_type (n))
      {
      case CMARK_NODE_HEADING:
        gtk_box_append (box, inline_label (n, "heading", c));
        break;
      case CMARK_NODE_PARAGRAPH:
        gtk_box_append (box, inline_label (n, NULL, c));
        break;
      case CMARK_NODE_LIST:
        append_list (box, n, c, level);
        break;
      case CMARK_NODE_CODE_BLOCK:
      case CMARK_NODE_HTML_BLOCK:
        append_code_block (box, n, c);
        break;
      case CMARK_NODE_BLOCK_QUOTE:
        {
          GtkWidget *quote = box_of (n, c, level + 1);

          gtk_widget_add_css_class (quote, "quote");
          gtk_box_append (box, quote);
        }
        break;
      case CMARK_NODE_THEMATIC_BREAK:
        gtk_box_append (box, gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
        break;
      default:
        break;
      }
}

static GtkTextDirection
direction_of (const char *text, GtkWidget *where)
{
  g_autoptr (PangoLayout) layout = gtk_widget_create_pango_layout (where, text);

  return pango_layout_get_direction (layout, 0) == PANGO_DIRECTION_RTL ? GTK_TEXT_DIR_RTL : GTK_TEXT_DIR_LTR;
}

static cmark_node *
parse (const char *text)
{
  return cmark_parse_document (text, strlen (text), CMARK_OPT_DEFAULT);
}

GtkWidget *
studio_markdown_new (const char *text, StudioMarkdownIsNode is_node, StudioMarkdownFollow follow, gpointer data)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 10);
  Context *context = g_new0 (Context, 1);
  cmark_node *document = parse (text);

  *context = (Context){ { TRUE, is_node, data }, follow, direction_of (text, box) };
  g_object_set_data_full (G_OBJECT (box), "context", context, g_free);
  gtk_widget_add_css_class (box, "markdown");
  append_blocks (GTK_BOX (box), document, context, 0);
  cmark_node_free (document);
  return box;
}

char *
studio_markdown_to_markup (const char *text, StudioMarkdownIsNode is_node, gpointer data)
{
  const MarkdownInline how = { TRUE, is_node, data };
  GString *markup = g_string_new (NULL);
  cmark_node *document = parse (text);

  for (cmark_node *n = cmark_node_first_child (document); n != NULL; n = cmark_node_next (n))
    {
      if (markup->len > 0)
        g_string_append_c (markup, '\n');
      markdown_append_inline (markup, n, &how);
    }
  cmark_node_free (document);
  return g_string_free (markup, FALSE);
}
