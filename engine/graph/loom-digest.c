/* Digests of graphs; see the header.
 *
 * An element's digest is that of its tag, its attributes in any order and its children in theirs. The element keeps it
 * with the version for which it is: every edit raises the version of the element and of those around it. */
#include "engine/graph/loom-digest.h"

#include "engine/core/loom-hash.h"
#include "engine/graph/graph-private.h"

typedef struct
{
  guint64 lane[2];
} Digest;

static const Digest nothing = { { LOOM_HASH_EMPTY, G_GUINT64_CONSTANT (0x6a09e667f3bcc909) } };

static void
add_bytes (Digest *d, gconstpointer bytes, gsize n)
{
  for (guint i = 0; i < G_N_ELEMENTS (d->lane); i++)
    d->lane[i] = loom_hash_bytes (d->lane[i], bytes, n);
}

/* The length comes first, so that different texts have different bytes. */
static void
add_text (Digest *d, const char *text)
{
  const gsize length = strlen (text);

  add_bytes (d, &length, sizeof length);
  add_bytes (d, text, length);
}

static Digest
digest_of (LoomElement *e, gboolean keeps)
{
  Digest d = nothing, attributes = { { 0 } };
  const char tag = (char)e->tag;

  if (e->digested == e->inside + 1)
    return (Digest){ { e->digest[0], e->digest[1] } };
  add_bytes (&d, &tag, sizeof tag);
  for (guint i = 0; i < e->n_attributes; i++)
    if (loom_attribute_has_meaning (&e->attributes[i]))
      {
        Digest one = nothing;

        add_text (&one, e->attributes[i].name);
        add_text (&one, e->attributes[i].value);
        attributes.lane[0] += one.lane[0];
        attributes.lane[1] += one.lane[1];
      }
  add_bytes (&d, &attributes, sizeof attributes);
  for (guint i = 0; i < loom_element_n_children (e); i++)
    if (loom_element_has_meaning (loom_element_child (e, i)))
      {
        const Digest child = digest_of (loom_element_child (e, i), keeps);

        add_bytes (&d, &child, sizeof child);
      }
  if (!keeps)
    return d;
  e->digest[0] = d.lane[0];
  e->digest[1] = d.lane[1];
  e->digested = e->inside + 1;
  return d;
}

char *
loom_graph_digest (const LoomGraph *graph)
{
  Digest d;

  g_return_val_if_fail (graph != NULL, NULL);

  /* Threads share frozen graphs. */
  d = digest_of (graph->root, !graph->frozen);
  return g_strdup_printf ("%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", d.lane[0], d.lane[1]);
}
