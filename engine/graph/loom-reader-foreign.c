/* Copies elements of other namespaces as text, which the writer inserts again.
 *
 * It is separate from the reader of graph elements because it needs no grammar: it copies markup, and declares each
 * namespace at its first use in the copy, so that the text is complete. */
#include "engine/graph/reader-private.h"

#include <string.h>

static const char *
binding_of (const Reading *r, const char *prefix)
{
  gsize n = strlen (prefix);

  for (guint i = r->bindings->len; i > 0; i--)
    {
      const char *binding = r->bindings->pdata[i - 1];

      if (binding != NULL && strncmp (binding, prefix, n) == 0 && binding[n] == '=')
        return binding + n + 1;
    }
  return prefix[0] == 0 ? LOOM_GRAPH_NAMESPACE : NULL;
}

static void
put_markup (GString *out, const char *text)
{
  for (const char *s = text; *s != 0; s++)
    switch (*s)
      {
      case '&':
        g_string_append (out, "&amp;");
        break;
      case '<':
        g_string_append (out, "&lt;");
        break;
      case '>':
        g_string_append (out, "&gt;");
        break;
      case '"':
        g_string_append (out, "&quot;");
        break;
      case '\r':
        g_string_append (out, "&#13;");
        break;
      default:
        g_string_append_c (out, *s);
      }
}

static void
put_value (GString *out, const char *text)
{
  g_autoptr (GString) escaped = g_string_new (NULL);

  put_markup (escaped, text);
  g_string_replace (escaped, "\n", "&#10;", 0);
  g_string_replace (escaped, "\t", "&#9;", 0);
  g_string_append (out, escaped->str);
}

static void
declare_if_needed (Reading *r, const char *prefix, const char *uri)
{
  if (strcmp (prefix, "xml") == 0 || g_strcmp0 (binding_of (r, prefix), uri) == 0)
    return;
  g_string_append (r->foreign, prefix[0] != 0 ? " xmlns:" : " xmlns");
  g_string_append_printf (r->foreign, "%s=\"", prefix);
  put_value (r->foreign, uri);
  g_string_append_c (r->foreign, '"');
  g_ptr_array_add (r->bindings, g_strconcat (prefix, "=", uri, NULL));
}

static void
close_bindings (Reading *r)
{
  while (r->bindings->len > 0)
    {
      gboolean mark = r->bindings->pdata[r->bindings->len - 1] == NULL;

      g_ptr_array_set_size (r->bindings, (int)r->bindings->len - 1);
      if (mark)
        break;
    }
}

static void
start (Reading *r)
{
  gboolean empty = xmlTextReaderIsEmptyElement (r->xml) == 1;
  GString *attributes = g_string_new (NULL);

  g_ptr_array_add (r->bindings, NULL);
  g_string_append_printf (r->foreign, "<%s", (const char *)xmlTextReaderConstName (r->xml));
  declare_if_needed (r, or_empty (xmlTextReaderConstPrefix (r->xml)),
                     or_empty (xmlTextReaderConstNamespaceUri (r->xml)));
  while (xmlTextReaderMoveToNextAttribute (r->xml) == 1)
    {
      const char *value = or_empty (xmlTextReaderConstValue (r->xml));

      if (xmlTextReaderIsNamespaceDecl (r->xml) == 1 || !loom_reading_attribute_fits (r, value))
        continue;
      if (xmlTextReaderConstPrefix (r->xml) != NULL)
        declare_if_needed (r, or_empty (xmlTextReaderConstPrefix (r->xml)),
                           or_empty (xmlTextReaderConstNamespaceUri (r->xml)));
      g_string_append_printf (attributes, " %s=\"", (const char *)xmlTextReaderConstName (r->xml));
      put_value (attributes, value);
      g_string_append_c (attributes, '"');
    }
  xmlTextReaderMoveToElement (r->xml);
  g_string_append (r->foreign, attributes->str);
  g_string_append (r->foreign, empty ? "/>" : ">");
  g_string_free (attributes, TRUE);
  if (empty)
    close_bindings (r);
}

static void
finish (Reading *r)
{
  LoomElement *e = loom_element_create (LOOM_TAG_FOREIGN);

  e->text = g_ref_string_new (r->foreign->str);
  loom_element_attach (r->open->pdata[r->open->len - 1], G_MAXUINT, e);
  g_string_truncate (r->foreign, 0);
}

void
loom_reading_copy_foreign (Reading *r)
{
  switch (xmlTextReaderNodeType (r->xml))
    {
    case XML_READER_TYPE_ELEMENT:
      start (r);
      break;
    case XML_READER_TYPE_END_ELEMENT:
      g_string_append_printf (r->foreign, "</%s>", (const char *)xmlTextReaderConstName (r->xml));
      close_bindings (r);
      break;
    case XML_READER_TYPE_COMMENT:
      g_string_append_printf (r->foreign, "<!--%s-->", or_empty (xmlTextReaderConstValue (r->xml)));
      break;
    case XML_READER_TYPE_PROCESSING_INSTRUCTION:
      g_string_append_printf (r->foreign, "<?%s %s?>", (const char *)xmlTextReaderConstName (r->xml),
                              or_empty (xmlTextReaderConstValue (r->xml)));
      break;
    default:
      put_markup (r->foreign, or_empty (xmlTextReaderConstValue (r->xml)));
    }
  if (r->bindings->len == 0)
    finish (r);
}
