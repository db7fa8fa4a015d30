/* Edits: four invertible changes, and their form as a line of text.
 *
 * An edit identifies elements by serials, so a stack of edits needs no pointers into the tree. A line identifies them
 * by child positions instead ("0.3" is the fourth child of the root's first), because positions, unlike serials, are
 * the same when the file is read again after a crash. */
#include "engine/graph/graph-private.h"
#include "engine/graph/loom-edit.h"

#include <string.h>

struct _LoomEdit
{
  LoomEditKind kind;
  guint64 serial; /* of the parent for an insertion, else of the element */
  guint index;
  LoomElement *element; /* the element to insert; owned */
  char *attribute, *value;
};

LoomEdit *
loom_edit_insert (const LoomElement *parent, guint index, LoomElement *element)
{
  LoomEdit *edit;

  g_return_val_if_fail (parent != NULL && element != NULL && element->parent == NULL, NULL);

  edit = g_new0 (LoomEdit, 1);
  edit->kind = LOOM_EDIT_INSERT;
  edit->serial = parent->serial;
  edit->index = index;
  edit->element = element;
  return edit;
}

LoomEdit *
loom_edit_remove (const LoomElement *element)
{
  LoomEdit *edit;

  g_return_val_if_fail (element != NULL && element->parent != NULL, NULL);

  edit = g_new0 (LoomEdit, 1);
  edit->kind = LOOM_EDIT_REMOVE;
  edit->serial = element->serial;
  return edit;
}

LoomEdit *
loom_edit_set (const LoomElement *element, const char *attribute, const char *value)
{
  LoomEdit *edit;

  g_return_val_if_fail (element != NULL && attribute != NULL, NULL);

  edit = g_new0 (LoomEdit, 1);
  edit->kind = LOOM_EDIT_SET;
  edit->serial = element->serial;
  edit->index = G_MAXUINT;
  edit->attribute = g_strdup (attribute);
  edit->value = g_strdup (value);
  return edit;
}

LoomEdit *
loom_edit_set_text (const LoomElement *element, const char *text)
{
  LoomEdit *edit;

  g_return_val_if_fail (element != NULL, NULL);

  edit = g_new0 (LoomEdit, 1);
  edit->kind = LOOM_EDIT_TEXT;
  edit->serial = element->serial;
  edit->value = g_strdup (text);
  return edit;
}

LoomEdit *
loom_edit_copy (const LoomEdit *edit)
{
  LoomEdit *copy;

  g_return_val_if_fail (edit != NULL, NULL);

  copy = g_new (LoomEdit, 1);
  *copy = *edit;
  copy->element = edit->element != NULL ? loom_element_copy_tree (edit->element, TRUE) : NULL;
  copy->attribute = g_strdup (edit->attribute);
  copy->value = g_strdup (edit->value);
  return copy;
}

void
loom_edit_free (LoomEdit *edit)
{
  if (edit == NULL)
    return;
  loom_element_free (edit->element);
  g_free (edit->attribute);
  g_free (edit->value);
  g_free (edit);
}

LoomEditKind
loom_edit_kind (const LoomEdit *edit)
{
  return edit->kind;
}

guint64
loom_edit_serial (const LoomEdit *edit)
{
  return edit->serial;
}

const LoomElement *
loom_edit_element (const LoomEdit *edit)
{
  return edit->element;
}

const char *
loom_edit_attribute (const LoomEdit *edit)
{
  return edit->attribute;
}

const char *
loom_edit_value (const LoomEdit *edit)
{
  return edit->value;
}

static int
attribute_position (const LoomElement *e, const char *name)
{
  for (guint i = 0; i < e->n_attributes; i++)
    if (strcmp (e->attributes[i].name, name) == 0)
      return (int)i;
  return -1;
}

/* Sets an attribute. If undo restores a removed attribute, it gets its former position, so that the bytes of the file
 * are the same. edit becomes the inverse. */
static void
apply_set (LoomElement *e, LoomEdit *edit)
{
  int before = attribute_position (e, edit->attribute);
  char *old = before >= 0 ? g_strdup (e->attributes[before].value) : NULL;

  loom_graph_index (e, FALSE);
  loom_element_set_value (e, edit->attribute, edit->value);
  if (before < 0 && edit->value != NULL && edit->index < e->n_attributes - 1)
    {
      Attribute added = e->attributes[e->n_attributes - 1];

      memmove (e->attributes + edit->index + 1, e->attributes + edit->index,
               (e->n_attributes - 1 - edit->index) * sizeof (Attribute));
      e->attributes[edit->index] = added;
    }
  loom_graph_index (e, TRUE);
  loom_graph_rebuild_duplicates (e);
  edit->index = before >= 0 ? (guint)before : G_MAXUINT;
  g_free (edit->value);
  edit->value = old;
}

static void
stamp_tree (LoomElement *e, guint64 version)
{
  e->changed = e->inside = version;
  e->digested = 0;
  for (guint i = 0; i < loom_element_n_children (e); i++)
    stamp_tree (loom_element_child (e, i), version);
}

static void
stamp_around (LoomElement *e, guint64 version)
{
  for (; e != NULL; e = e->parent)
    e->inside = version;
}

LoomEdit *
loom_graph_apply (LoomGraph *graph, LoomEdit *edit)
{
  LoomElement *e;

  g_return_val_if_fail (graph != NULL && !graph->frozen && edit != NULL, NULL);

  e = loom_graph_by_serial (graph, edit->serial);
  g_return_val_if_fail (e != NULL, NULL);

  graph->version++;
  stamp_around (e, graph->version);
  /* The edit becomes its own inverse, so only new elements are allocated. */
  switch (edit->kind)
    {
    case LOOM_EDIT_INSERT:
      {
        LoomElement *child = g_steal_pointer (&edit->element);

        stamp_tree (child, graph->version);
        loom_element_attach (e, edit->index, child);
        loom_graph_register (graph, child);
        loom_graph_rebuild_duplicates (child->parent);
        edit->kind = LOOM_EDIT_REMOVE;
        edit->serial = child->serial;
      }
      break;
    case LOOM_EDIT_REMOVE:
      {
        LoomElement *parent = e->parent;

        loom_graph_unregister (graph, e);
        edit->kind = LOOM_EDIT_INSERT;
        edit->index = e->index;
        edit->serial = parent->serial;
        edit->element = e;
        loom_element_detach (e);
        loom_graph_rebuild_duplicates (parent);
      }
      break;
    case LOOM_EDIT_SET:
      e->changed = graph->version;
      apply_set (e, edit);
      break;
    case LOOM_EDIT_TEXT:
      {
        char *old = g_strdup (e->text);

        e->changed = graph->version;
        loom_element_set_content (e, edit->value);
        g_free (edit->value);
        edit->value = old;
      }
      break;
    }
  return edit;
}

/* ---- lines -------------------------------------------------------------- */

static void
put_field (GString *line, const char *text)
{
  g_autofree char *escaped = g_strescape (text, NULL);

  if (line->len > 0)
    g_string_append_c (line, '\t');
  g_string_append (line, escaped);
}

static void
put_number (GString *line, guint n)
{
  g_string_append_printf (line, "\t%u", n);
}

static void
put_path (GString *line, const LoomElement *e)
{
  g_autoptr (GString) path = g_string_new (NULL);

  for (; e->parent != NULL; e = e->parent)
    {
      char step[16];

      g_snprintf (step, sizeof step, path->len > 0 ? "%u." : "%u", e->index);
      g_string_prepend (path, step);
    }
  put_field (line, path->len > 0 ? path->str : ".");
}

/* NULL is "-", and other texts begin with "=", because an empty value differs from NULL. */
static void
put_optional (GString *line, const char *text)
{
  g_autofree char *marked = text != NULL ? g_strconcat ("=", text, NULL) : g_strdup ("-");

  put_field (line, marked);
}

static void
put_tree (GString *line, const LoomElement *e)
{
  put_field (line, loom_tag_name (e->tag));
  put_optional (line, e->text);
  put_number (line, e->n_attributes);
  put_number (line, loom_element_n_children (e));
  for (guint i = 0; i < e->n_attributes; i++)
    {
      put_field (line, e->attributes[i].name);
      put_field (line, e->attributes[i].value);
    }
  for (guint i = 0; i < loom_element_n_children (e); i++)
    put_tree (line, loom_element_child (e, i));
}

char *
loom_edit_to_line (const LoomGraph *graph, const LoomEdit *edit)
{
  GString *line;
  const LoomElement *e;

  g_return_val_if_fail (graph != NULL && edit != NULL, NULL);

  e = loom_graph_by_serial (graph, edit->serial);
  g_return_val_if_fail (e != NULL, NULL);

  line = g_string_new (NULL);
  switch (edit->kind)
    {
    case LOOM_EDIT_INSERT:
      g_string_append (line, "insert");
      put_path (line, e);
      put_number (line, edit->index);
      put_tree (line, edit->element);
      break;
    case LOOM_EDIT_REMOVE:
      g_string_append (line, "remove");
      put_path (line, e);
      break;
    case LOOM_EDIT_SET:
      g_string_append (line, "set");
      put_path (line, e);
      put_number (line, edit->index);
      put_field (line, edit->attribute);
      put_optional (line, edit->value);
      break;
    case LOOM_EDIT_TEXT:
      g_string_append (line, "text");
      put_path (line, e);
      put_optional (line, edit->value);
      break;
    }
  return g_string_free (line, FALSE);
}

typedef struct
{
  char **fields;
  guint next;
  gboolean broken;
} Fields;

static char *
take_field (Fields *f)
{
  if (f->fields[f->next] == NULL)
    {
      f->broken = TRUE;
      return g_strdup ("");
    }
  return g_strcompress (f->fields[f->next++]);
}

static guint
take_number (Fields *f)
{
  g_autofree char *text = take_field (f);
  guint64 n = 0;

  if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT, &n, NULL))
    f->broken = TRUE;
  return (guint)n;
}

static char *
take_optional (Fields *f)
{
  g_autofree char *text = take_field (f);

  if (text[0] == '=')
    return g_strdup (text + 1);
  if (strcmp (text, "-") != 0)
    f->broken = TRUE;
  return NULL;
}

static LoomElement *
take_place (Fields *f, const LoomGraph *graph)
{
  g_autofree char *path = take_field (f);
  g_auto (GStrv) steps = NULL;
  LoomElement *e = graph->root;

  if (strcmp (path, ".") == 0)
    return e;
  steps = g_strsplit (path, ".", -1);
  for (guint i = 0; steps[i] != NULL; i++)
    {
      guint64 n;

      if (!g_ascii_string_to_unsigned (steps[i], 10, 0, G_MAXUINT, &n, NULL) || n >= loom_element_n_children (e))
        {
          f->broken = TRUE;
          return graph->root;
        }
      e = loom_element_child (e, (guint)n);
    }
  return e;
}

static LoomTag
tag_from_name (const char *name)
{
  for (int tag = 0; tag < LOOM_N_TAGS; tag++)
    if (strcmp (loom_tag_name (tag), name) == 0)
      return tag;
  return LOOM_N_TAGS;
}

/* A damaged line may contain any count, so counts are limited by the number of fields. */
static LoomElement *
take_tree (Fields *f, guint depth)
{
  g_autofree char *name = take_field (f);
  g_autofree char *text = take_optional (f);
  LoomTag tag = tag_from_name (name);
  guint n_attributes = take_number (f), n_children = take_number (f);
  g_autoptr (LoomElement) e = NULL;

  if (tag == LOOM_N_TAGS || tag == LOOM_TAG_GRAPH || depth > 64)
    f->broken = TRUE;
  if (f->broken)
    return NULL;
  e = loom_element_create (tag);
  loom_element_set_content (e, text);
  for (guint i = 0; i < n_attributes && !f->broken; i++)
    {
      g_autofree char *attribute = take_field (f);
      g_autofree char *value = take_field (f);

      loom_element_set_value (e, attribute, value);
    }
  for (guint i = 0; i < n_children && !f->broken; i++)
    {
      LoomElement *child = take_tree (f, depth + 1);

      if (child != NULL)
        loom_element_attach (e, G_MAXUINT, child);
    }
  return f->broken ? NULL : g_steal_pointer (&e);
}

LoomEdit *
loom_edit_from_line (const LoomGraph *graph, const char *line, GError **error)
{
  g_autoptr (LoomEdit) edit = NULL;
  g_auto (GStrv) fields = NULL;
  g_autofree char *verb = NULL;
  Fields f = { 0 };
  LoomElement *e;

  g_return_val_if_fail (graph != NULL && line != NULL, NULL);

  fields = g_strsplit (line, "\t", -1);
  f.fields = fields;
  verb = take_field (&f);
  e = take_place (&f, graph);
  if (f.broken)
    ;
  else if (strcmp (verb, "insert") == 0)
    {
      guint index = take_number (&f);
      LoomElement *tree = take_tree (&f, 0);

      if (tree != NULL)
        edit = loom_edit_insert (e, index, tree);
    }
  else if (strcmp (verb, "remove") == 0 && e->parent != NULL)
    edit = loom_edit_remove (e);
  else if (strcmp (verb, "set") == 0)
    {
      guint index = take_number (&f);
      g_autofree char *attribute = take_field (&f);
      g_autofree char *value = take_optional (&f);

      if (attribute[0] != 0)
        {
          edit = loom_edit_set (e, attribute, value);
          edit->index = index;
        }
    }
  else if (strcmp (verb, "text") == 0)
    {
      g_autofree char *text = take_optional (&f);

      edit = loom_edit_set_text (e, text);
    }
  if (f.broken || edit == NULL || f.fields[f.next] != NULL)
    {
      loom_error_set_quoting (error, LOOM_ERROR_PARSE,
                              "This line of the journal does not fit the graph: “%s”. The changes before it are kept.",
                              line);
      return NULL;
    }
  return g_steal_pointer (&edit);
}
