/* Elements: the tree, and the values that it may contain.
 *
 * An element stores its index among its siblings, so that finding the index of one of 2,000 nodes costs nothing; an
 * insertion renumbers all following siblings, which it has to move in the array anyway. */
#include "engine/graph/graph-private.h"

#include <stdarg.h>
#include <string.h>

LoomElement *
loom_element_create (LoomTag tag)
{
  LoomElement *e = g_new0 (LoomElement, 1);

  e->tag = tag;
  return e;
}

static void
scope_index_free (ScopeIndex *index)
{
  if (index == NULL)
    return;
  g_hash_table_unref (index->table);
  g_free (index);
}

void
loom_element_free (LoomElement *e)
{
  if (e == NULL)
    return;
  g_return_if_fail (e->parent == NULL);

  for (guint i = 0; e->children != NULL && i < e->children->len; i++)
    {
      LoomElement *child = g_ptr_array_index (e->children, i);

      child->parent = NULL;
      loom_element_free (child);
    }
  g_clear_pointer (&e->children, g_ptr_array_unref);
  g_clear_pointer (&e->first, g_free);
  for (guint i = 0; i < e->n_attributes; i++)
    {
      g_ref_string_release (e->attributes[i].name);
      g_ref_string_release (e->attributes[i].value);
    }
  g_free (e->attributes);
  g_clear_pointer (&e->text, g_ref_string_release);
  scope_index_free (e->nodes);
  scope_index_free (e->places);
  scope_index_free (e->modules);
  g_free (e);
}

LoomElement *
loom_element_new (LoomTag tag, ...)
{
  LoomElement *e;
  const char *name;
  va_list args;

  g_return_val_if_fail (tag < LOOM_N_TAGS, NULL);

  e = loom_element_create (tag);
  va_start (args, tag);
  while ((name = va_arg (args, const char *)) != NULL)
    loom_element_set_value (e, name, va_arg (args, const char *));
  va_end (args);
  return e;
}

/* Notes that a child may be the first with its tag. <train> and <layout> come after thousands of nodes and wires, and
 * are asked for often. */
static void
note_first (LoomElement *parent, LoomElement *child)
{
  LoomElement **first;

  if (parent->first == NULL)
    parent->first = g_new0 (LoomElement *, LOOM_N_TAGS);
  first = &parent->first[child->tag];
  if (*first == NULL || child->index < (*first)->index)
    *first = child;
}

LoomElement *
loom_element_copy_tree (const LoomElement *e, gboolean keep_identity)
{
  LoomElement *copy = loom_element_create (e->tag);

  copy->line = e->line;
  if (keep_identity)
    {
      copy->serial = e->serial;
      copy->changed = e->changed;
      copy->inside = e->inside;
      copy->digest[0] = e->digest[0];
      copy->digest[1] = e->digest[1];
      copy->digested = e->digested;
    }
  copy->n_attributes = e->n_attributes;
  copy->attributes = g_new (Attribute, e->n_attributes);
  for (guint i = 0; i < e->n_attributes; i++)
    {
      copy->attributes[i].name = g_ref_string_acquire (e->attributes[i].name);
      copy->attributes[i].value = g_ref_string_acquire (e->attributes[i].value);
    }
  if (e->text != NULL)
    copy->text = g_ref_string_acquire (e->text);
  if (e->children != NULL)
    {
      copy->children = g_ptr_array_sized_new (e->children->len);
      for (guint i = 0; i < e->children->len; i++)
        {
          LoomElement *child = loom_element_copy_tree (g_ptr_array_index (e->children, i), keep_identity);

          child->parent = copy;
          child->index = i;
          g_ptr_array_add (copy->children, child);
          note_first (copy, child);
        }
    }
  return copy;
}

LoomElement *
loom_element_copy (const LoomElement *e)
{
  LoomElement *copy;

  g_return_val_if_fail (e != NULL, NULL);

  copy = loom_element_copy_tree (e, FALSE);
  copy->line = 0;
  return copy;
}

/* ---- values ------------------------------------------------------------ */

/* A copy in which characters that XML 1.0 cannot represent are U+FFFD; NULL if the text needs no change. */
static char *
make_storable (const char *text)
{
  g_autofree char *valid = NULL;
  GString *clean;
  gboolean fine = TRUE;

  for (const guchar *s = (const guchar *)text; *s != 0 && fine; s++)
    fine = *s < 0x80 && (*s >= 0x20 || *s == '\t' || *s == '\n' || *s == '\r');
  if (fine)
    return NULL;

  valid = g_utf8_make_valid (text, -1);
  clean = g_string_sized_new (strlen (valid));
  for (const char *s = valid; *s != 0; s = g_utf8_next_char (s))
    {
      gunichar c = g_utf8_get_char (s);
      gboolean bad = (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0xFFFE || c == 0xFFFF;

      g_string_append_unichar (clean, bad ? 0xFFFD : c);
    }
  return g_string_free (clean, FALSE);
}

void
loom_element_set_value (LoomElement *e, const char *name, const char *value)
{
  g_autofree char *clean = value != NULL ? make_storable (value) : NULL;
  guint i = 0;

  while (i < e->n_attributes && strcmp (e->attributes[i].name, name) != 0)
    i++;
  if (value == NULL)
    {
      if (i == e->n_attributes)
        return;
      g_ref_string_release (e->attributes[i].name);
      g_ref_string_release (e->attributes[i].value);
      e->n_attributes--;
      memmove (e->attributes + i, e->attributes + i + 1, (e->n_attributes - i) * sizeof (Attribute));
      return;
    }
  if (i == e->n_attributes)
    {
      e->attributes = g_renew (Attribute, e->attributes, e->n_attributes + 1);
      e->attributes[e->n_attributes++].name = g_ref_string_new (name);
    }
  else
    g_ref_string_release (e->attributes[i].value);
  e->attributes[i].value = g_ref_string_new (clean != NULL ? clean : value);
}

void
loom_element_set_content (LoomElement *e, const char *text)
{
  g_autofree char *clean = text != NULL ? make_storable (text) : NULL;
  char *old = e->text;

  if (clean != NULL)
    text = clean;
  if (text != NULL && e->tag == LOOM_TAG_COMMENT && (strstr (text, "--") != NULL || g_str_has_suffix (text, "-")))
    {
      /* Two hyphens would end the comment; a space is inserted between them. */
      GString *spaced = g_string_new (NULL);

      for (const char *s = text; *s != 0; s++)
        {
          g_string_append_c (spaced, *s);
          if (*s == '-' && (s[1] == '-' || s[1] == 0))
            g_string_append_c (spaced, ' ');
        }
      e->text = g_ref_string_new (spaced->str);
      g_string_free (spaced, TRUE);
    }
  else
    e->text = text != NULL ? g_ref_string_new (text) : NULL;
  if (old != NULL)
    g_ref_string_release (old);
}

void
loom_element_set_detached (LoomElement *e, const char *attribute, const char *value)
{
  /* Elements inside a detached tree have no serial yet. */
  g_return_if_fail (e != NULL && (e->parent == NULL || e->serial == 0) && attribute != NULL);

  loom_element_set_value (e, attribute, value);
}

void
loom_element_append_detached (LoomElement *parent, LoomElement *child)
{
  g_return_if_fail (parent != NULL && child != NULL && child->parent == NULL);

  loom_element_attach (parent, G_MAXUINT, child);
}

/* ---- tree ------------------------------------------------------------- */

void
loom_element_attach (LoomElement *parent, guint index, LoomElement *child)
{
  if (parent->children == NULL)
    parent->children = g_ptr_array_new ();
  index = MIN (index, parent->children->len);
  g_ptr_array_insert (parent->children, (int)index, child);
  child->parent = parent;
  for (guint i = index; i < parent->children->len; i++)
    ((LoomElement *)g_ptr_array_index (parent->children, i))->index = i;
  note_first (parent, child);
}

void
loom_element_detach (LoomElement *child)
{
  LoomElement *parent = child->parent;

  g_ptr_array_remove_index (parent->children, child->index);
  for (guint i = child->index; i < parent->children->len; i++)
    ((LoomElement *)g_ptr_array_index (parent->children, i))->index = i;
  if (parent->first[child->tag] == child)
    {
      parent->first[child->tag] = NULL;
      for (guint i = child->index; i < parent->children->len && parent->first[child->tag] == NULL; i++)
        note_first (parent, g_ptr_array_index (parent->children, i));
    }
  child->parent = NULL;
}

gboolean
loom_element_is_scope (const LoomElement *e)
{
  return e->tag == LOOM_TAG_GRAPH || e->tag == LOOM_TAG_MODULE;
}

LoomTag
loom_element_tag (const LoomElement *e)
{
  return e->tag;
}

int
loom_element_line (const LoomElement *e)
{
  return e->line;
}

LoomElement *
loom_element_parent (const LoomElement *e)
{
  return e->parent;
}

guint
loom_element_n_children (const LoomElement *e)
{
  return e->children != NULL ? e->children->len : 0;
}

LoomElement *
loom_element_child (const LoomElement *e, guint i)
{
  g_return_val_if_fail (i < loom_element_n_children (e), NULL);

  return g_ptr_array_index (e->children, i);
}

guint
loom_element_index (const LoomElement *e)
{
  return e->index;
}

LoomElement *
loom_element_find (const LoomElement *e, LoomTag tag)
{
  return e->first != NULL ? e->first[tag] : NULL;
}

const char *
loom_element_get (const LoomElement *e, const char *attribute)
{
  for (guint i = 0; i < e->n_attributes; i++)
    if (e->attributes[i].name[0] == attribute[0] && strcmp (e->attributes[i].name, attribute) == 0)
      return e->attributes[i].value;
  return NULL;
}

guint
loom_element_n_attributes (const LoomElement *e)
{
  return e->n_attributes;
}

void
loom_element_attribute (const LoomElement *e, guint i, const char **name, const char **value)
{
  g_return_if_fail (i < e->n_attributes);

  if (name != NULL)
    *name = e->attributes[i].name;
  if (value != NULL)
    *value = e->attributes[i].value;
}

guint64
loom_element_changed (const LoomElement *e)
{
  return e->changed;
}

guint64
loom_element_changed_inside (const LoomElement *e)
{
  return e->inside;
}

const char *
loom_element_text (const LoomElement *e)
{
  return e->text;
}

guint64
loom_element_serial (const LoomElement *e)
{
  return e->serial;
}
