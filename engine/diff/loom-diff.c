/* Lists the differences of two graphs after their elements are matched. */
#include "engine/diff/diff-private.h"

#include <string.h>

typedef struct
{
  DiffSide a, b;
  DiffNames *names;
  GPtrArray *list;
  gboolean cosmetic;
} Diff;

const char *
loom_difference_kind_name (LoomDifferenceKind kind)
{
  static const char *const names[] = { "added", "removed", "changed", "renamed" };

  g_return_val_if_fail (kind < G_N_ELEMENTS (names), NULL);
  return names[kind];
}

static void
change_free (gpointer data)
{
  LoomAttributeChange *change = data;

  g_free (change->attribute);
  g_free (change->before);
  g_free (change->after);
  g_free (change);
}

static void
difference_free (gpointer data)
{
  LoomDifference *difference = data;

  g_free (difference->scope);
  g_free (difference->name);
  g_free (difference->old_name);
  g_free (difference->type);
  g_ptr_array_unref (difference->changes);
  g_free (difference);
}

static LoomDifference *
difference_new (LoomDifferenceKind kind, LoomTag tag, const char *scope, const char *name)
{
  LoomDifference *difference = g_new0 (LoomDifference, 1);

  difference->kind = kind;
  difference->what = loom_tag_name (tag);
  difference->scope = g_strdup (scope);
  difference->name = g_strdup (name);
  difference->changes = g_ptr_array_new_with_free_func (change_free);
  return difference;
}

static LoomAttributeChange *
add_change (LoomDifference *difference, const char *attribute, const char *before, const char *after)
{
  LoomAttributeChange *change = g_new0 (LoomAttributeChange, 1);

  change->attribute = g_strdup (attribute);
  change->before = g_strdup (before);
  change->after = g_strdup (after);
  g_ptr_array_add (difference->changes, change);
  return change;
}

/* ---- attributes --------------------------------------------------------- */

/* Both sorted lists, side by side, those of one kind: what is computed, or what is only shown. */
static void
compare_lists (const Diff *d, const LoomElement *a, const LoomElement *b, gboolean cosmetic, LoomDifference *to)
{
  g_autoptr (GPtrArray) before = a != NULL ? diff_attributes (&d->a, a) : g_ptr_array_new ();
  g_autoptr (GPtrArray) after = b != NULL ? diff_attributes (&d->b, b) : g_ptr_array_new ();
  guint i = 0, k = 0;

  while (i < before->len || k < after->len)
    {
      const DiffAttribute *x = i < before->len ? before->pdata[i] : NULL, *y = k < after->len ? after->pdata[k] : NULL;
      int order = x == NULL ? 1 : y == NULL ? -1 : strcmp (x->name, y->name);
      const DiffAttribute *one = order <= 0 ? x : y;
      LoomAttributeChange *change;

      i += order <= 0;
      k += order >= 0;
      if (one->is_cosmetic != cosmetic || (order == 0 && strcmp (x->key, y->key) == 0))
        continue;
      change = add_change (to, one->name, order <= 0 ? x->text : NULL, order >= 0 ? y->text : NULL);
      if (order < 0 && b != NULL)
        change->after_is_default = (change->after = diff_default (&d->b, b, one->name)) != NULL;
      if (order > 0 && a != NULL)
        change->before_is_default = (change->before = diff_default (&d->a, a, one->name)) != NULL;
    }
}

/* Takes the difference: adds it to the list unless it is empty. */
static void
add (const Diff *d, LoomDifference *difference)
{
  if ((difference->kind == LOOM_DIFFERENCE_CHANGED && difference->changes->len == 0)
      || (difference->is_cosmetic && !d->cosmetic))
    difference_free (difference);
  else
    g_ptr_array_add (d->list, difference);
}

/* Attributes that are only shown, of two elements that belong together. */
static void
add_cosmetic (const Diff *d, const LoomElement *a, const LoomElement *b, const char *scope, const char *name)
{
  LoomDifference *difference = difference_new (LOOM_DIFFERENCE_CHANGED, loom_element_tag (b), scope, name);

  difference->is_cosmetic = TRUE;
  compare_lists (d, a, b, TRUE, difference);
  add (d, difference);
}

/* An element of which one is NULL, or that may have changed. */
static LoomDifference *
compare (const Diff *d, const LoomElement *a, const LoomElement *b, const char *scope, const char *name)
{
  LoomDifferenceKind kind = a == NULL   ? LOOM_DIFFERENCE_ADDED
                            : b == NULL ? LOOM_DIFFERENCE_REMOVED
                                        : LOOM_DIFFERENCE_CHANGED;
  LoomDifference *difference = difference_new (kind, loom_element_tag (b != NULL ? b : a), scope, name);

  compare_lists (d, a, b, FALSE, difference);
  return difference;
}

/* ---- nodes and wires ---------------------------------------------------- */

static void
add_node (const Diff *d, const LoomElement *a, const LoomElement *b, const char *scope)
{
  const char *old = a != NULL ? loom_element_get (a, "id") : NULL, *id = b != NULL ? loom_element_get (b, "id") : old;
  g_autofree char *before = a != NULL ? diff_node_type (&d->a, a) : NULL;
  g_autofree char *after = b != NULL ? diff_node_type (&d->b, b) : NULL;
  LoomDifference *difference;

  if (a != NULL && b != NULL && strcmp (before, after) != 0)
    {
      /* Parameters of different operators are not compared. */
      difference = difference_new (LOOM_DIFFERENCE_CHANGED, LOOM_TAG_NODE, scope, id);
      add_change (difference, "op", before, after);
    }
  else
    difference = compare (d, a, b, scope, id);
  difference->type = g_strdup (after != NULL ? after : before);
  if (a != NULL && b != NULL && strcmp (old, id) != 0)
    {
      difference->kind = LOOM_DIFFERENCE_RENAMED;
      difference->old_name = g_strdup (old);
    }
  add (d, difference);
  if (a != NULL && b != NULL)
    add_cosmetic (d, a, b, scope, id);
}

/* A partner in the other graph, for an id of this one. */
static const LoomElement *
partner_in_b (const DiffScope *pair, const LoomElement *node)
{
  const char *id = pair->b != NULL ? g_hash_table_lookup (pair->node, loom_element_get (node, "id")) : NULL;

  return id != NULL ? loom_scope_find_node (pair->b, id) : NULL;
}

/* b's id → node of a. */
static GHashTable *
partners_in_a (const DiffScope *pair)
{
  GHashTable *partners = g_hash_table_new (g_str_hash, g_str_equal);
  GHashTableIter iter;
  gpointer from, to;

  g_hash_table_iter_init (&iter, pair->node);
  while (g_hash_table_iter_next (&iter, &from, &to))
    g_hash_table_insert (partners, to, loom_scope_find_node (pair->a, from));
  return partners;
}

static void
compare_nodes (const Diff *d, const DiffScope *pair)
{
  g_autoptr (GHashTable) partners = partners_in_a (pair);

  for (guint i = 0; pair->a != NULL && i < loom_element_n_children (pair->a); i++)
    {
      const LoomElement *node = loom_element_child (pair->a, i);

      if (loom_element_tag (node) == LOOM_TAG_NODE && partner_in_b (pair, node) == NULL)
        add_node (d, node, NULL, pair->name);
    }
  for (guint i = 0; pair->b != NULL && i < loom_element_n_children (pair->b); i++)
    {
      const LoomElement *node = loom_element_child (pair->b, i);

      if (loom_element_tag (node) == LOOM_TAG_NODE)
        add_node (d, g_hash_table_lookup (partners, loom_element_get (node, "id")), node, pair->name);
    }
}

/* The end → its source. */
static GHashTable *
wires_of (const DiffSide *side, const LoomElement *scope, GPtrArray *ends)
{
  GHashTable *wires = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  for (guint i = 0; scope != NULL && i < loom_element_n_children (scope); i++)
    {
      const LoomElement *wire = loom_element_child (scope, i);
      char *to;

      if (loom_element_tag (wire) != LOOM_TAG_WIRE)
        continue;
      to = diff_end (side, scope, loom_element_get (wire, "to"), TRUE);
      g_ptr_array_add (ends, g_strdup (to));
      g_hash_table_replace (wires, to, diff_end (side, scope, loom_element_get (wire, "from"), FALSE));
    }
  return wires;
}

static void
add_wire (const Diff *d, LoomDifferenceKind kind, const char *scope, const char *to, const char *before,
          const char *after)
{
  LoomDifference *difference = difference_new (kind, LOOM_TAG_WIRE, scope, to);

  add_change (difference, "from", before, after);
  add (d, difference);
}

static void
compare_wires (const Diff *d, const DiffScope *pair)
{
  g_autoptr (GPtrArray) old_ends = g_ptr_array_new_with_free_func (g_free),
                        ends = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) before = wires_of (&d->a, pair->a, old_ends), after = wires_of (&d->b, pair->b, ends);

  for (guint i = 0; i < old_ends->len; i++)
    if (!g_hash_table_contains (after, old_ends->pdata[i]))
      add_wire (d, LOOM_DIFFERENCE_REMOVED, pair->name, old_ends->pdata[i],
                g_hash_table_lookup (before, old_ends->pdata[i]), NULL);
  for (guint i = 0; i < ends->len; i++)
    {
      const char *was = g_hash_table_lookup (before, ends->pdata[i]), *is = g_hash_table_lookup (after, ends->pdata[i]);

      if (g_strcmp0 (was, is) != 0)
        add_wire (d, was != NULL ? LOOM_DIFFERENCE_CHANGED : LOOM_DIFFERENCE_ADDED, pair->name, ends->pdata[i], was,
                  is);
    }
}

/* ---- modules ------------------------------------------------------------ */

static const LoomElement *
find_child (const LoomElement *parent, LoomTag tag, const char *attribute, const char *value)
{
  for (guint i = 0; parent != NULL && i < loom_element_n_children (parent); i++)
    {
      const LoomElement *child = loom_element_child (parent, i);

      if (loom_element_tag (child) == tag
          && (attribute == NULL || g_strcmp0 (loom_element_get (child, attribute), value) == 0))
        return child;
    }
  return NULL;
}

/* Children that have a name each: those of a that are gone, then those of b. */
static void
compare_children (const Diff *d, const LoomElement *a, const LoomElement *b, LoomTag tag, const char *attribute,
                  const char *scope)
{
  for (guint i = 0; a != NULL && i < loom_element_n_children (a); i++)
    {
      const LoomElement *child = loom_element_child (a, i);
      const char *name = loom_element_get (child, attribute);

      if (loom_element_tag (child) == tag && find_child (b, tag, attribute, name) == NULL)
        add (d, compare (d, child, NULL, scope, name));
    }
  for (guint i = 0; b != NULL && i < loom_element_n_children (b); i++)
    {
      const LoomElement *child = loom_element_child (b, i);
      const char *name = loom_element_get (child, attribute);

      if (loom_element_tag (child) == tag)
        add (d, compare (d, find_child (a, tag, attribute, name), child, scope, name));
    }
}

/* In which order a module's ports stand: the first output of a copy feeds the first input of the next. */
static char *
port_order (const DiffSide *side, const LoomElement *module, LoomOpRole port)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < loom_element_n_children (module); i++)
    {
      const LoomElement *node = loom_element_child (module, i);

      if (loom_op_has_role (node, port))
        g_ptr_array_add (names, diff_end (side, module, loom_element_get (node, "id"), FALSE));
    }
  g_ptr_array_add (names, NULL);
  return g_strjoinv (", ", (char **)names->pdata);
}

static void
compare_order (LoomDifference *difference, const Diff *d, const DiffScope *pair, LoomOpRole port, const char *attribute)
{
  g_autofree char *before = port_order (&d->a, pair->a, port), *after = port_order (&d->b, pair->b, port);

  /* Added or removed ports are reported as nodes. */
  if (strlen (before) == strlen (after) && strcmp (before, after) != 0)
    {
      g_auto (GStrv) x = g_strsplit (before, ", ", -1), y = g_strsplit (after, ", ", -1);
      gboolean same = g_strv_length (x) == g_strv_length (y);

      for (guint i = 0; same && x[i] != NULL; i++)
        same = g_strv_contains ((const char *const *)y, x[i]);
      if (same)
        add_change (difference, attribute, before, after);
    }
}

static void
compare_module (const Diff *d, const DiffScope *pair)
{
  LoomDifference *difference = compare (d, pair->a, pair->b, NULL, pair->name);

  if (pair->old_name != NULL)
    {
      difference->kind = LOOM_DIFFERENCE_RENAMED;
      difference->old_name = g_strdup (pair->old_name);
    }
  if (pair->a != NULL && pair->b != NULL)
    {
      compare_order (difference, d, pair, LOOM_ROLE_MODULE_INPUT, "inputs");
      compare_order (difference, d, pair, LOOM_ROLE_MODULE_OUTPUT, "outputs");
    }
  add (d, difference);
  compare_children (d, pair->a, pair->b, LOOM_TAG_ARG, "name", pair->name);
}

/* ---- <train> ------------------------------------------------------------ */

/* An element with defaults alone is equal to a missing element. */
/* The schedules inside another, as “linear start_factor=0.1; cosine”. */
static void
add_inside (GString *s, const LoomElement *e)
{
  for (guint i = 0; e != NULL && i < loom_element_n_children (e); i++)
    {
      const LoomElement *inner = loom_element_child (e, i);
      const char *type = loom_element_get (inner, "type");

      if (loom_element_tag (inner) != LOOM_TAG_SCHEDULE)
        continue;
      g_string_append_printf (s, "%s%s", s->len > 0 && s->str[s->len - 1] != '(' ? "; " : "",
                              type != NULL ? type : "constant");
      for (guint k = 0; k < loom_element_n_attributes (inner); k++)
        {
          const char *name, *value;

          loom_element_attribute (inner, k, &name, &value);
          if (strcmp (name, "type") != 0)
            g_string_append_printf (s, " %s=%s", name, value);
        }
      if (loom_element_n_children (inner) > 0)
        {
          g_string_append (s, " (");
          add_inside (s, inner);
          g_string_append_c (s, ')');
        }
    }
}

static void
compare_inside (LoomDifference *difference, const LoomElement *a, const LoomElement *b)
{
  g_autoptr (GString) before = g_string_new (NULL), after = g_string_new (NULL);

  add_inside (before, a);
  add_inside (after, b);
  if (strcmp (before->str, after->str) != 0)
    add_change (difference, "schedules inside", before->str, after->str);
}

static void
compare_only (const Diff *d, const LoomElement *a, const LoomElement *b, LoomTag tag)
{
  const LoomElement *x = a != NULL ? loom_element_find (a, tag) : NULL;
  const LoomElement *y = b != NULL ? loom_element_find (b, tag) : NULL;
  LoomDifference *difference;

  if (x == NULL && y == NULL)
    return;
  difference = compare (d, x, y, NULL, NULL);
  if (tag == LOOM_TAG_SCHEDULE && x != NULL && y != NULL)
    compare_inside (difference, x, y);
  if (difference->changes->len == 0)
    difference->kind = LOOM_DIFFERENCE_CHANGED;
  add (d, difference);
}

/* A metric without a name is called as its type. */
static const char *
metric_name (const LoomElement *metric)
{
  const char *name = loom_element_get (metric, "name");

  return name != NULL ? name : loom_element_get (metric, "type");
}

static const LoomElement *
find_metric (const LoomElement *train, const char *name)
{
  for (guint i = 0; train != NULL && i < loom_element_n_children (train); i++)
    {
      const LoomElement *metric = loom_element_child (train, i);

      if (loom_element_tag (metric) == LOOM_TAG_METRIC && g_strcmp0 (metric_name (metric), name) == 0)
        return metric;
    }
  return NULL;
}

static void
compare_metrics (const Diff *d, const LoomElement *a, const LoomElement *b)
{
  for (guint i = 0; a != NULL && i < loom_element_n_children (a); i++)
    {
      const LoomElement *metric = loom_element_child (a, i);

      if (loom_element_tag (metric) == LOOM_TAG_METRIC && find_metric (b, metric_name (metric)) == NULL)
        add (d, compare (d, metric, NULL, NULL, metric_name (metric)));
    }
  for (guint i = 0; b != NULL && i < loom_element_n_children (b); i++)
    {
      const LoomElement *metric = loom_element_child (b, i);

      if (loom_element_tag (metric) == LOOM_TAG_METRIC)
        add (d, compare (d, find_metric (a, metric_name (metric)), metric, NULL, metric_name (metric)));
    }
}

/* Of groups the first that matches counts. */
static char *
group_order (const LoomElement *train, const LoomElement *other)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < loom_element_n_children (train); i++)
    {
      const LoomElement *group = loom_element_child (train, i);
      const char *match = loom_element_get (group, "match");

      if (loom_element_tag (group) == LOOM_TAG_GROUP && find_child (other, LOOM_TAG_GROUP, "match", match) != NULL)
        g_string_append_printf (s, "%s%s", s->len > 0 ? "; " : "", match);
    }
  return g_string_free (s, FALSE);
}

static void
compare_train (const Diff *d)
{
  const LoomElement *a = loom_element_find (loom_graph_root (d->a.graph), LOOM_TAG_TRAIN);
  const LoomElement *b = loom_element_find (loom_graph_root (d->b.graph), LOOM_TAG_TRAIN);
  LoomDifference *difference;

  if (a == NULL && b == NULL)
    return;
  difference = compare (d, a, b, NULL, NULL);
  if (a != NULL && b != NULL)
    {
      g_autofree char *before = group_order (a, b), *after = group_order (b, a);

      if (strcmp (before, after) != 0)
        add_change (difference, "order of groups", before, after);
    }
  add (d, difference);
  compare_children (d, a, b, LOOM_TAG_GROUP, "match", NULL);
  compare_only (d, a, b, LOOM_TAG_SCHEDULE);
  compare_only (d, a, b, LOOM_TAG_CLIP);
  compare_only (d, a, b, LOOM_TAG_PARALLEL);
  compare_metrics (d, a, b);
}

/* ---- equivalent graphs -------------------------------------------------- */

static void
count_child (const Diff *d, const DiffSide *side, const LoomElement *e, GHashTable *counts, int by)
{
  g_autofree char *print = diff_fingerprint (side, e);

  g_hash_table_insert (counts, g_strdup (print),
                       GINT_TO_POINTER (GPOINTER_TO_INT (g_hash_table_lookup (counts, print)) + by));
}

static void
add_leftovers (const Diff *d, const DiffSide *side, const LoomElement *parent, GHashTable *counts,
               LoomDifferenceKind kind, const char *scope)
{
  const int sign = kind == LOOM_DIFFERENCE_ADDED ? 1 : -1;

  for (guint i = 0; parent != NULL && i < loom_element_n_children (parent); i++)
    {
      const LoomElement *e = loom_element_child (parent, i);
      g_autofree char *print = diff_fingerprint (side, e);
      int left = GPOINTER_TO_INT (g_hash_table_lookup (counts, print));
      LoomDifference *difference;

      if (left * sign <= 0)
        continue;
      g_hash_table_insert (counts, g_strdup (print), GINT_TO_POINTER (left - sign));
      difference
          = kind == LOOM_DIFFERENCE_ADDED ? compare (d, NULL, e, scope, NULL) : compare (d, e, NULL, scope, NULL);
      difference->is_cosmetic = TRUE;
      if (loom_element_text (e) != NULL)
        add_change (difference, "text", kind == LOOM_DIFFERENCE_ADDED ? NULL : loom_element_text (e),
                    kind == LOOM_DIFFERENCE_ADDED ? loom_element_text (e) : NULL);
      add (d, difference);
    }
}

/* Elements without a name: as often here as there. places are compared by their nodes. */
static void
compare_unnamed (const Diff *d, const LoomElement *a, const LoomElement *b, gboolean (*wanted) (LoomTag),
                 const char *scope)
{
  g_autoptr (GHashTable) counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const LoomElement *parents[] = { a, b };

  for (guint k = 0; k < 2; k++)
    for (guint i = 0; parents[k] != NULL && i < loom_element_n_children (parents[k]); i++)
      if (wanted (loom_element_tag (loom_element_child (parents[k], i))))
        count_child (d, k ? &d->b : &d->a, loom_element_child (parents[k], i), counts, k ? 1 : -1);
  add_leftovers (d, &d->a, a, counts, LOOM_DIFFERENCE_REMOVED, scope);
  add_leftovers (d, &d->b, b, counts, LOOM_DIFFERENCE_ADDED, scope);
}

static gboolean
is_text (LoomTag tag)
{
  return tag == LOOM_TAG_DOC || tag == LOOM_TAG_LESSON || tag == LOOM_TAG_COMMENT || tag == LOOM_TAG_FOREIGN;
}

static gboolean
is_drawing (LoomTag tag)
{
  return tag != LOOM_TAG_PLACE;
}

static void
compare_places (const Diff *d, const DiffScope *pair, const LoomElement *b)
{
  g_autoptr (GHashTable) partners = partners_in_a (pair);

  for (guint i = 0; b != NULL && i < loom_element_n_children (b); i++)
    {
      const LoomElement *place = loom_element_child (b, i);
      const char *node = loom_element_get (place, "node");
      const LoomElement *partner = node != NULL ? g_hash_table_lookup (partners, node) : NULL, *was = NULL;
      LoomDifference *difference;

      if (loom_element_tag (place) != LOOM_TAG_PLACE || partner == NULL)
        continue; /* a node that is new has a new place */
      was = loom_scope_find_place (pair->a, loom_element_get (partner, "id"));
      difference = compare (d, was, place, pair->name, node);
      difference->is_cosmetic = TRUE;
      add (d, difference);
    }
}

static void
compare_cosmetics (const Diff *d, const DiffScope *pair)
{
  static const LoomTag tags[] = { LOOM_TAG_LAYOUT, LOOM_TAG_VIEW };

  compare_unnamed (d, pair->a, pair->b, is_text, pair->name);
  for (guint i = 0; i < G_N_ELEMENTS (tags); i++)
    {
      const LoomElement *a = loom_element_find (pair->a, tags[i]), *b = loom_element_find (pair->b, tags[i]);

      if (tags[i] == LOOM_TAG_LAYOUT)
        compare_places (d, pair, b);
      compare_unnamed (d, a, b, is_drawing, pair->name);
    }
}

/* ---- entry points ------------------------------------------------------- */

GPtrArray *
loom_graph_diff (const LoomGraph *a, const LoomGraph *b, gboolean cosmetic)
{
  Diff d = { .cosmetic = cosmetic };
  const LoomElement *root_a, *root_b;

  g_return_val_if_fail (a != NULL && b != NULL, NULL);

  root_a = loom_graph_root (a);
  root_b = loom_graph_root (b);
  d.names = diff_names_new (a, b);
  d.a = (DiffSide){ a, d.names };
  d.b = (DiffSide){ b, NULL };
  d.list = g_ptr_array_new_with_free_func (difference_free);

  add (&d, compare (&d, root_a, root_b, NULL, NULL));
  add_cosmetic (&d, root_a, root_b, NULL, NULL);
  for (guint i = 1; i <= d.names->scopes->len; i++)
    {
      const DiffScope *pair = d.names->scopes->pdata[i % d.names->scopes->len]; /* the graph itself comes last */

      if (pair->name != NULL)
        compare_module (&d, pair);
      compare_nodes (&d, pair);
      compare_wires (&d, pair);
      if (cosmetic && pair->a != NULL && pair->b != NULL)
        compare_cosmetics (&d, pair);
    }
  compare_train (&d);
  diff_names_free (d.names);
  return d.list;
}
