/* Tracks the net effect of the edits since a graph was saved. */
#include "ui/document/saved-content.h"

#include "engine/graph/loom-digest.h"
#include "engine/graph/loom-edit.h"

struct _SavedContent
{
  char *text;
  GHashTable *values;             /* "SERIAL ATTRIBUTE" → the saved value of an attribute that is now different */
  GHashTable *inserted, *removed; /* serials of inserted and removed elements */
  gint64 more;                    /* number of elements in the graph minus number in the file */
  gboolean is_reordered;          /* attributes were added or removed, so their order may differ */
  gboolean is_earlier;            /* the edits between the text and the graph are unknown */
  gboolean has_answer, differs;
  char *digest; /* of the graph when it was known to be that of the text; NULL: not yet */
};

static GHashTable *
serials_new (void)
{
  return g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
}

SavedContent *
saved_content_new (void)
{
  SavedContent *self = g_new0 (SavedContent, 1);

  self->values = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->inserted = serials_new ();
  self->removed = serials_new ();
  return self;
}

void
saved_content_free (SavedContent *self)
{
  if (self == NULL)
    return;
  g_free (self->text);
  g_free (self->digest);
  g_hash_table_unref (self->values);
  g_hash_table_unref (self->inserted);
  g_hash_table_unref (self->removed);
  g_free (self);
}

void
saved_content_set (SavedContent *self, char *text)
{
  g_free (self->text);
  self->text = text;
  g_clear_pointer (&self->digest, g_free);
  g_hash_table_remove_all (self->values);
  g_hash_table_remove_all (self->inserted);
  g_hash_table_remove_all (self->removed);
  self->more = 0;
  self->is_reordered = self->is_earlier = FALSE;
  self->has_answer = FALSE;
}

void
saved_content_set_earlier (SavedContent *self, char *text)
{
  saved_content_set (self, text);
  self->is_earlier = TRUE;
}

static gint64
tree_size (const LoomElement *e)
{
  gint64 n = 1;

  for (guint i = 0; i < loom_element_n_children (e); i++)
    n += tree_size (loom_element_child (e, i));
  return n;
}

/* Records that a value was `before` and is `now`. */
static void
note_value (SavedContent *self, guint64 serial, const char *name, const char *before, const char *now)
{
  g_autofree char *key = g_strdup_printf ("%" G_GUINT64_FORMAT " %s", serial, name);
  gpointer saved;

  if (g_strcmp0 (before, now) == 0)
    return;
  if (!g_hash_table_lookup_extended (self->values, key, NULL, &saved))
    g_hash_table_insert (self->values, g_steal_pointer (&key), g_strdup (before));
  else if (g_strcmp0 (saved, now) == 0)
    g_hash_table_remove (self->values, key);
}

/* TRUE if the element, or an ancestor, is not in the file. */
static gboolean
is_inserted (const SavedContent *self, const LoomElement *e)
{
  for (; e != NULL; e = loom_element_parent (e))
    {
      const guint64 serial = loom_element_serial (e);

      if (g_hash_table_contains (self->inserted, &serial))
        return TRUE;
    }
  return FALSE;
}

static void
note_element (GHashTable *gone, GHashTable *come, guint64 serial)
{
  if (!g_hash_table_remove (gone, &serial))
    g_hash_table_add (come, g_memdup2 (&serial, sizeof serial));
}

/* Empty text is written like missing text. */
static const char *
text_or_null (const char *text)
{
  return text != NULL && text[0] != '\0' ? text : NULL;
}

void
saved_content_note (SavedContent *self, const LoomGraph *graph, const LoomEdit *inverse)
{
  const guint64 serial = loom_edit_serial (inverse);
  const LoomElement *e = loom_graph_by_serial (graph, serial);
  const char *attribute = loom_edit_attribute (inverse);

  self->has_answer = FALSE;
  switch (loom_edit_kind (inverse))
    {
    case LOOM_EDIT_INSERT:
      note_element (self->inserted, self->removed, loom_element_serial (loom_edit_element (inverse)));
      self->more -= tree_size (loom_edit_element (inverse));
      break;
    case LOOM_EDIT_REMOVE:
      note_element (self->removed, self->inserted, serial);
      self->more += tree_size (e);
      break;
    case LOOM_EDIT_SET:
      if (!is_inserted (self, e))
        note_value (self, serial, attribute, loom_edit_value (inverse), loom_element_get (e, attribute));
      self->is_reordered |= loom_edit_value (inverse) == NULL || loom_element_get (e, attribute) == NULL;
      break;
    case LOOM_EDIT_TEXT:
      if (!is_inserted (self, e))
        note_value (self, serial, "", text_or_null (loom_edit_value (inverse)), text_or_null (loom_element_text (e)));
      break;
    }
}

static gboolean
has_same_elements (const SavedContent *self)
{
  return g_hash_table_size (self->inserted) == 0 && g_hash_table_size (self->removed) == 0;
}

gboolean
saved_content_is_known (SavedContent *self)
{
  if (self->has_answer)
    return TRUE;
  if (self->is_earlier)
    return FALSE;
  /* Equal texts have equal numbers of elements. */
  if (self->more != 0)
    return TRUE;
  return has_same_elements (self) && (g_hash_table_size (self->values) > 0 || !self->is_reordered);
}

/* TRUE if the texts differ. The text is written only for a graph that computes what the saved one did. */
static gboolean
compare_texts (const SavedContent *self, const LoomGraph *graph)
{
  g_autofree char *digest = self->digest != NULL ? loom_graph_digest (graph) : NULL, *text = NULL;

  if (g_strcmp0 (digest, self->digest) != 0)
    return TRUE;
  text = loom_graph_write (graph, NULL);
  return g_strcmp0 (text, self->text) != 0;
}

gboolean
saved_content_differs (SavedContent *self, const LoomGraph *graph)
{
  if (self->has_answer)
    return self->differs;
  if (saved_content_is_known (self))
    self->differs = self->more != 0 || g_hash_table_size (self->values) > 0;
  else
    self->differs = compare_texts (self, graph);
  if (!self->differs && self->digest == NULL)
    self->digest = loom_graph_digest (graph);
  self->has_answer = TRUE;
  return self->differs;
}
