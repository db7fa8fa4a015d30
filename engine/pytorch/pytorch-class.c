/* Makes classes of instances: those of one module that differ in values alone share a class, and the values that differ
 * become its arguments. Modules are written before those that contain them. */
#include "engine/pytorch/pytorch-private.h"

#include <string.h>

typedef struct
{
  const LoomNetInstance *instance;
  guint height; /* of the modules below */
} Place;

static guint
collect (const LoomNetInstance *instance, GArray *places)
{
  guint height = 0;

  for (guint k = 0; k < loom_net_instance_n_locals (instance); k++)
    {
      LoomNetLocal local = loom_net_instance_local (instance, k);

      for (guint c = 0; local.kind == LOOM_LOCAL_MODULE && c < local.n_copies; c++)
        {
          guint below = collect (loom_net_instance_copy (instance, k, c), places);
          height = MAX (height, below + 1);
        }
    }
  g_array_append_val (places, ((Place){ instance, height }));
  return height;
}

static int
compare_heights (gconstpointer a, gconstpointer b)
{
  return (int)((const Place *)a)->height - (int)((const Place *)b)->height;
}

/* ---- marks ------------------------------------------------------------------ */

/* The parts of the mark at c, in a copy that is to be freed; *end is after it. */
static char **
read_mark (const char *c, const char **end)
{
  const char *close = strchr (c, 3);
  g_autofree char *inside = g_strndup (c + 1, (gsize)(close - c - 1));

  *end = close + 1;
  return g_strsplit (inside, "\2", 4);
}

/* The text without values, and the values. */
static void
take_apart (const GPtrArray *lines, GString *skeleton, GPtrArray *values)
{
  for (guint i = 0; i < lines->len; i++)
    {
      const PyLine *line = lines->pdata[i];

      g_string_append_printf (skeleton, "%u ", line->indent);
      for (const char *c = line->text; *c != 0;)
        if (*c == 1)
          {
            g_auto (GStrv) parts = read_mark (c, &c);
            g_string_append_printf (skeleton, "\1%s\2%s", parts[0], parts[1]);
            g_ptr_array_add (values, g_strdup (parts[2]));
          }
        else
          g_string_append_c (skeleton, *c++);
      g_string_append_c (skeleton, '\n');
    }
}

/* By mark: the name of the argument that has its value; NULL: one value for all. */
typedef struct
{
  GPtrArray *names;
  GPtrArray *shown; /* by mark: GINT_TO_POINTER (TRUE) if it is written, because a value is not the default */
} Choice;

static char *
resolve (const char *text, const Choice *choice, guint *mark, const char *of)
{
  g_autoptr (GString) s = g_string_new (NULL);
  GString *result = g_string_new (NULL);

  for (const char *c = text; *c != 0;)
    if (*c == 1)
      {
        g_auto (GStrv) parts = read_mark (c, &c);
        const char *name = choice->names->pdata[*mark];

        if (choice->shown->pdata[(*mark)++] == NULL)
          continue;
        g_string_append (s, parts[0]);
        if (name != NULL)
          g_string_append_printf (s, "%s%s", of, name);
        else
          g_string_append (s, parts[2]);
      }
    else
      g_string_append_c (s, *c++);
  /* \4 is a comma, unless it begins a list. */
  for (const char *c = s->str; *c != 0; c++)
    if (*c != 4)
      g_string_append_c (result, *c);
    else if (result->len > 0 && result->str[result->len - 1] != '(')
      g_string_append (result, ", ");
  return g_string_free (result, FALSE);
}

/* Sets which marks of a class are arguments, and writes its lines with them. */
static void
finish_class (PyClass *class, GPtrArray *instances)
{
  Choice choice = { .names = g_ptr_array_new (), .shown = g_ptr_array_new () };
  g_autoptr (GHashTable) used = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) columns = g_ptr_array_new_with_free_func (g_free);
  guint n_init = 0, mark = 0;

  for (guint k = 0; k < loom_net_instance_n_locals (instances->pdata[0]); k++)
    g_hash_table_add (used, g_strdup (loom_net_instance_local (instances->pdata[0], k).id));
  /* Every mark of the first instance, in order, with its default. */
  for (guint part = 0; part < 2; part++)
    {
      const GPtrArray *lines = part == 0 ? class->init : class->forward;

      for (guint i = 0; i < lines->len; i++)
        for (const char *c = strchr (((PyLine *)lines->pdata[i])->text, 1); c != NULL;)
          {
            g_auto (GStrv) parts = read_mark (c, &c);
            gboolean differs = FALSE, shown = FALSE;
            g_autoptr (GString) column = g_string_new (parts[1]);
            char *name = NULL;

            for (guint j = 0; j < instances->len; j++)
              {
                const GPtrArray *values = g_hash_table_lookup (class->values, instances->pdata[j]);
                differs |= strcmp (values->pdata[mark], parts[2]) != 0;
                shown |= *parts[3] == 0 || strcmp (values->pdata[mark], parts[3]) != 0;
                g_string_append_printf (column, "\n%s", (char *)values->pdata[mark]);
              }
            /* The same parameter in two lines is one argument. */
            if (differs && (name = g_hash_table_lookup (known, column->str)) == NULL)
              {
                name = loom_pytorch_identifier (used, parts[1]);
                g_ptr_array_add (class->arguments, name);
                g_hash_table_insert (known, g_strdup (column->str), name);
                g_ptr_array_add (class->marks, GUINT_TO_POINTER (mark));
              }
            g_ptr_array_add (choice.names, name);
            g_ptr_array_add (choice.shown, GINT_TO_POINTER (shown));
            mark++;
            c = strchr (c, 1);
          }
      if (part == 0)
        n_init = mark;
    }
  /* Only the values of arguments are kept, for the calls. */
  for (guint j = 0; j < instances->len; j++)
    {
      const GPtrArray *all = g_hash_table_lookup (class->values, instances->pdata[j]);
      GPtrArray *values = g_ptr_array_new_with_free_func (g_free);

      for (guint i = 0; i < class->marks->len; i++)
        g_ptr_array_add (values, g_strdup (all->pdata[GPOINTER_TO_UINT (class->marks->pdata[i])]));
      g_hash_table_replace (class->values, instances->pdata[j], values);
    }
  mark = 0;
  for (guint part = 0; part < 2; part++)
    {
      const GPtrArray *lines = part == 0 ? class->init : class->forward;

      for (guint i = 0; i < lines->len; i++)
        {
          PyLine *line = lines->pdata[i];
          g_autofree char *text = line->text;
          line->text = resolve (text, &choice, &mark, part == 0 ? "" : "self.");
        }
    }
  /* Arguments that forward reads are members. */
  for (guint i = 0; i < class->arguments->len; i++)
    for (guint m = n_init; m < choice.names->len; m++)
      if (choice.names->pdata[m] == class->arguments->pdata[i])
        {
          loom_pytorch_add_line (
              class->init, 0, class->serial,
              g_strdup_printf ("self.%s = %s", (char *)class->arguments->pdata[i], (char *)class->arguments->pdata[i]));
          break;
        }
  g_ptr_array_unref (choice.names);
  g_ptr_array_unref (choice.shown);
}

/* "conv_block" → "ConvBlock", different from all others. */
static char *
class_name (PyWriter *w, const char *module)
{
  GString *s = g_string_new (NULL);
  gboolean upper = TRUE;

  for (const char *c = module; *c != 0; c++)
    if (*c == '_')
      upper = TRUE;
    else
      {
        g_string_append_c (s, upper ? g_ascii_toupper (*c) : *c);
        upper = FALSE;
      }
  if (s->len == 0 || g_ascii_isdigit (s->str[0]) || strcmp (s->str, "Model") == 0 || strcmp (s->str, "Function") == 0)
    g_string_prepend (s, "Module");
  for (guint n = 2;; n++)
    {
      g_autofree char *name = n == 2 ? g_strdup (s->str) : g_strdup_printf ("%s%u", s->str, n - 1);
      gboolean found = loom_pytorch_is_taken (name);

      for (guint i = 0; i < w->names->len; i++)
        found |= strcmp (w->names->pdata[i], name) == 0;
      if (found)
        continue;
      g_ptr_array_add (w->names, g_strdup (name));
      g_string_free (s, TRUE);
      return g_steal_pointer (&name);
    }
}

static void
class_free (gpointer data)
{
  PyClass *class = data;

  g_free (class->name);
  g_free (class->skeleton);
  g_ptr_array_unref (class->init);
  g_ptr_array_unref (class->forward);
  g_ptr_array_unref (class->arguments);
  g_ptr_array_unref (class->marks);
  g_hash_table_unref (class->values);
  g_free (class);
}

static PyClass *
new_class (PyWriter *w, const LoomNetInstance *instance, gboolean is_root)
{
  PyClass *class = g_new0 (PyClass, 1);
  const LoomElement *scope = loom_net_instance_scope (instance);

  class->init = loom_pytorch_lines_new ();
  class->forward = loom_pytorch_lines_new ();
  class->arguments = g_ptr_array_new_with_free_func (g_free);
  class->marks = g_ptr_array_new ();
  class->values = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
  class->serial = is_root ? 0 : loom_element_serial (scope);
  loom_pytorch_render (w, instance, is_root, class->init, class->forward);
  return class;
}

static void
add_doc (GPtrArray *lines, guint indent, guint64 serial, const LoomElement *scope)
{
  const LoomElement *doc = loom_element_find (scope, LOOM_TAG_DOC);
  g_auto (GStrv) all
      = g_strsplit (doc != NULL && loom_element_text (doc) != NULL ? loom_element_text (doc) : "", "\n", -1);

  for (guint i = 0; all[i] != NULL; i++)
    {
      g_autofree char *text = loom_pytorch_comment (all[i]);
      if (*text != 0)
        loom_pytorch_add_line (lines, indent, serial, g_strdup_printf ("# %s", text));
    }
}

static void
write_class (PyWriter *w, const PyClass *class, const LoomElement *scope)
{
  g_autoptr (GString) arguments = g_string_new (NULL);
  gboolean has_members = class->init->len > 0;

  for (guint i = 0; i < class->arguments->len; i++)
    g_string_append_printf (arguments, ", %s", (char *)class->arguments->pdata[i]);
  add_doc (w->lines, 0, class->serial, scope);
  loom_pytorch_add_line (w->lines, 0, class->serial, g_strdup_printf ("class %s(nn.Module):", class->name));
  if (has_members)
    {
      loom_pytorch_add_line (w->lines, 1, class->serial, g_strdup_printf ("def __init__(self%s):", arguments->str));
      loom_pytorch_add_line (w->lines, 2, class->serial, g_strdup ("super().__init__()"));
      for (guint i = 0; i < class->init->len; i++)
        {
          const PyLine *line = class->init->pdata[i];
          loom_pytorch_add_line (w->lines, 2, line->serial, g_strdup (line->text));
        }
      loom_pytorch_add_line (w->lines, 0, 0, g_strdup (""));
    }
  for (guint i = 0; i < class->forward->len; i++)
    {
      const PyLine *line = class->forward->pdata[i];
      loom_pytorch_add_line (w->lines, (i == 0 ? 1 : 2) + line->indent,
                             line->serial != 0 ? line->serial : class->serial, g_strdup (line->text));
    }
  loom_pytorch_add_line (w->lines, 0, 0, g_strdup (""));
  loom_pytorch_add_line (w->lines, 0, 0, g_strdup (""));
}

/* The classes of the instances of one module. */
static void
write_module (PyWriter *w, const Place *places, guint n, gboolean is_root)
{
  const LoomElement *scope = loom_net_instance_scope (places->instance);
  g_autoptr (GPtrArray) found = g_ptr_array_new (),
                        members = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);

  for (guint i = 0; i < n; i++)
    {
      PyClass *class = new_class (w, places[i].instance, is_root);
      g_autoptr (GString) skeleton = g_string_new (NULL);
      GPtrArray *values = g_ptr_array_new_with_free_func (g_free);
      guint k;

      take_apart (class->init, skeleton, values);
      g_string_append (skeleton, "forward\n");
      take_apart (class->forward, skeleton, values);
      for (k = 0; k < found->len; k++)
        if (strcmp (((PyClass *)found->pdata[k])->skeleton, skeleton->str) == 0)
          break;
      if (k == found->len)
        {
          class->skeleton = g_strdup (skeleton->str);
          g_ptr_array_add (found, class);
          g_ptr_array_add (members, g_ptr_array_new ());
        }
      else
        {
          class_free (class);
          class = found->pdata[k];
        }
      g_hash_table_insert (class->values, (gpointer)places[i].instance, values);
      g_ptr_array_add (members->pdata[k], (gpointer)places[i].instance);
      g_hash_table_insert (w->class_of, (gpointer)places[i].instance, class);
    }
  for (guint k = 0; k < found->len; k++)
    {
      PyClass *class = found->pdata[k];
      const char *name = loom_element_get (scope, "name");

      class->name = is_root ? g_strdup ("Model") : class_name (w, name);
      finish_class (class, members->pdata[k]);
      write_class (w, class, scope);
      g_ptr_array_add (w->classes, class);
    }
}

void
loom_pytorch_write_classes (PyWriter *w)
{
  g_autoptr (GArray) places = g_array_new (FALSE, FALSE, sizeof (Place));
  g_autoptr (GHashTable) height = g_hash_table_new (NULL, NULL);
  guint n;

  g_ptr_array_set_free_func (w->classes, class_free);
  collect (loom_net_tree (w->net), places);
  /* All instances of a module are written together, at the greatest height of any. */
  for (guint i = 0; i < places->len; i++)
    {
      const Place *place = &g_array_index (places, Place, i);
      gpointer scope = (gpointer)loom_net_instance_scope (place->instance);
      guint known = GPOINTER_TO_UINT (g_hash_table_lookup (height, scope));
      g_hash_table_insert (height, scope, GUINT_TO_POINTER (MAX (known, place->height)));
    }
  for (guint i = 0; i < places->len; i++)
    {
      Place *place = &g_array_index (places, Place, i);
      place->height = GPOINTER_TO_UINT (g_hash_table_lookup (height, loom_net_instance_scope (place->instance)));
    }
  g_array_sort (places, compare_heights);
  for (guint i = 0; i < places->len; i += n)
    {
      const LoomElement *scope = loom_net_instance_scope (g_array_index (places, Place, i).instance);
      g_autoptr (GArray) same = g_array_new (FALSE, FALSE, sizeof (Place));

      /* Instances of one module are compared only by height, so the rest of this height is searched. */
      for (guint j = i; j < places->len; j++)
        if (loom_net_instance_scope (g_array_index (places, Place, j).instance) == scope)
          {
            Place place = g_array_index (places, Place, j);
            guint at = i + same->len;

            g_array_append_val (same, place);
            g_array_index (places, Place, j) = g_array_index (places, Place, at);
            g_array_index (places, Place, at) = place;
          }
      n = same->len;
      write_module (w, (const Place *)(gpointer)same->data, n, scope == loom_graph_root (w->graph));
      if (loom_faults_count (w->faults) > 0)
        return;
    }
}
