/* Writes a graph as canonical XML.
 *
 * One element per line and a fixed order of attributes, so that versions can be compared and merged in git, and reading
 * and writing again has the same bytes. libxml2's writer (loom-xml.c) would write other bytes: it writes a quotation
 * mark in a text as &quot;, and it does not indent elements of other namespaces, which are stored as text. */
#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-refuse.h"
#include "engine/graph/graph-private.h"
#include "engine/graph/loom-grammar.h"

static void
put_escaped (GString *out, const char *text, gboolean in_attribute)
{
  const char *from = text;

  for (const char *s = text;; s++)
    {
      const char *entity = NULL;

      switch (*s)
        {
        case 0:
          g_string_append_len (out, from, s - from);
          return;
        case '&':
          entity = "&amp;";
          break;
        case '<':
          entity = "&lt;";
          break;
        case '>':
          entity = "&gt;";
          break;
        case '\r':
          entity = "&#13;";
          break;
        case '"':
          entity = in_attribute ? "&quot;" : NULL;
          break;
        /* A parser converts these to spaces if they are not escaped in an attribute. */
        case '\n':
          entity = in_attribute ? "&#10;" : NULL;
          break;
        case '\t':
          entity = in_attribute ? "&#9;" : NULL;
          break;
        default:
          break;
        }
      if (entity != NULL)
        {
          g_string_append_len (out, from, s - from);
          g_string_append (out, entity);
          from = s + 1;
        }
    }
}

static void
put_attribute (GString *out, const char *name, const char *value)
{
  g_string_append_c (out, ' ');
  g_string_append (out, name);
  g_string_append (out, "=\"");
  put_escaped (out, value, TRUE);
  g_string_append_c (out, '"');
}

/* The most important attributes come first; the others keep the order in which they were written. */
static void
put_attributes (GString *out, const LoomElement *e)
{
  static const char *const first_of_graph[] = { "version", "name", NULL };
  static const char *const none[] = { NULL };
  const char *const *first = e->tag == LOOM_TAG_NODE    ? loom_grammar (LOOM_TAG_NODE)->identity
                             : e->tag == LOOM_TAG_GRAPH ? first_of_graph
                                                        : none;

  for (guint i = 0; first[i] != NULL; i++)
    {
      const char *value = loom_element_get (e, first[i]);

      if (value != NULL)
        put_attribute (out, first[i], value);
    }
  for (guint i = 0; i < e->n_attributes; i++)
    if (!g_strv_contains (first, e->attributes[i].name))
      put_attribute (out, e->attributes[i].name, e->attributes[i].value);
}

static void
put_element (GString *out, const LoomElement *e, guint depth)
{
  const char *name = loom_tag_name (e->tag);

  for (guint i = 0; i < depth; i++)
    g_string_append (out, "  ");
  if (e->tag == LOOM_TAG_COMMENT)
    {
      g_string_append_printf (out, "<!--%s-->\n", e->text != NULL ? e->text : "");
      return;
    }
  if (e->tag == LOOM_TAG_FOREIGN)
    {
      g_string_append_printf (out, "%s\n", e->text != NULL ? e->text : "");
      return;
    }
  g_string_append_c (out, '<');
  g_string_append (out, name);
  if (e->tag == LOOM_TAG_GRAPH)
    put_attribute (out, "xmlns", LOOM_GRAPH_NAMESPACE);
  put_attributes (out, e);
  if (e->text != NULL && e->text[0] != 0)
    {
      g_string_append_c (out, '>');
      put_escaped (out, e->text, FALSE);
      g_string_append_printf (out, "</%s>\n", name);
      return;
    }
  if (loom_element_n_children (e) == 0)
    {
      g_string_append (out, "/>\n");
      return;
    }
  g_string_append (out, ">\n");
  for (guint i = 0; i < loom_element_n_children (e); i++)
    {
      const LoomElement *child = loom_element_child (e, i);

      if (child->tag != LOOM_TAG_COMMENT || loom_element_get (child, "place") == NULL)
        put_element (out, child, depth + 1);
    }
  for (guint i = 0; i < depth; i++)
    g_string_append (out, "  ");
  g_string_append_printf (out, "</%s>\n", name);
}

/* Comments before or after the root element are its children with place="before" or "after". */
static void
put_comments (GString *out, const LoomElement *root, const char *place)
{
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *e = loom_element_child (root, i);

      if (e->tag == LOOM_TAG_COMMENT && g_strcmp0 (loom_element_get (e, "place"), place) == 0)
        put_element (out, e, 0);
    }
}

char *
loom_graph_write (const LoomGraph *graph, gsize *length)
{
  GString *out;

  g_return_val_if_fail (graph != NULL, NULL);

  out = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  put_comments (out, graph->root, "before");
  put_element (out, graph->root, 0);
  put_comments (out, graph->root, "after");
  if (length != NULL)
    *length = out->len;
  return g_string_free (out, FALSE);
}

gboolean
loom_graph_write_file (const LoomGraph *graph, const char *path, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) cause = NULL;
  gsize length;

  g_return_val_if_fail (graph != NULL && path != NULL, FALSE);

  text = loom_graph_write (graph, &length);
  if (loom_file_replace (path, text, length, &cause))
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_IO, "The graph was not saved: %s", cause->message);
}
