/* The comparison is computed at the first query for each version of the document and scope. */
#include <glib/gi18n.h>

#include "ui/document/studio-comparison.h"

#include <string.h>

#include "ui/layout/studio-layout.h"

struct _StudioComparison
{
  GObject parent_instance;

  StudioDocument *document;
  LoomGraph *before;
  char *title;

  GPtrArray *differences; /* NULL: not computed yet */
  GHashTable *cards;      /* id → StudioChange, of the shown scope; NULL likewise */
  GHashTable *wires;      /* &link->serial → StudioChange */
  StudioScene *old;       /* the old version of the scope; NULL if it did not exist */
  gboolean *gone;         /* of its items: removed */
  GArray *lost;           /* StudioLostWire */
};

G_DEFINE_FINAL_TYPE (StudioComparison, studio_comparison, G_TYPE_OBJECT)

static guint changed_signal;

static void
mark_free (gpointer data)
{
  StudioChange *mark = data;

  g_free (mark->words);
  g_free (mark);
}

static void
forget_scope (StudioComparison *self)
{
  g_clear_pointer (&self->cards, g_hash_table_unref);
  g_clear_pointer (&self->wires, g_hash_table_unref);
  g_clear_pointer (&self->old, studio_scene_free);
  g_clear_pointer (&self->gone, g_free);
  g_clear_pointer (&self->lost, g_array_unref);
}

const GPtrArray *
studio_comparison_get_differences (StudioComparison *self)
{
  if (self->differences == NULL)
    self->differences = loom_graph_diff (self->before, studio_document_get_graph (self->document), FALSE);
  return self->differences;
}

/* ---- the shown scope ------------------------------------------------------- */

static const char *
shown_module (StudioComparison *self)
{
  return loom_element_get (studio_document_get_scope (self->document), "name");
}

static gboolean
is_root (StudioComparison *self)
{
  return studio_document_scope_depth (self->document) == 0;
}

/* TRUE for a difference between nodes, or between wires, of the shown scope. */
static gboolean
is_here (StudioComparison *self, const LoomDifference *d, const char *what)
{
  return strcmp (d->what, what) == 0
         && (is_root (self) ? d->scope == NULL : g_strcmp0 (d->scope, shown_module (self)) == 0);
}

static LoomElement *
old_scope (StudioComparison *self)
{
  const char *name = shown_module (self);

  if (is_root (self))
    return loom_graph_root (self->before);
  for (guint i = 0; i < self->differences->len; i++)
    {
      const LoomDifference *d = self->differences->pdata[i];

      if (strcmp (d->what, "module") == 0 && d->kind == LOOM_DIFFERENCE_RENAMED && g_strcmp0 (d->name, name) == 0)
        name = d->old_name;
    }
  return loom_graph_find_module (self->before, name);
}

/* "out_features 4 → 8", from a sentence that begins with the card's name. */
static char *
words_of (const LoomDifference *d)
{
  g_autofree char *all = loom_difference_to_string (d, NULL);
  const char *colon = strstr (all, ": ");

  if (d->kind == LOOM_DIFFERENCE_RENAMED)
    return g_strdup_printf ("%s → %s%s%s", d->old_name, d->name, colon != NULL ? ", " : "",
                            colon != NULL ? colon + 2 : "");
  return d->kind == LOOM_DIFFERENCE_CHANGED && colon != NULL ? g_strdup (colon + 2) : NULL;
}

static void
put_mark (GHashTable *marks, gpointer key, LoomDifferenceKind kind, char *words)
{
  StudioChange *mark = g_new0 (StudioChange, 1);

  mark->kind = kind;
  mark->words = words;
  g_hash_table_insert (marks, key, mark);
}

/* Modules with any difference, directly or in modules that they use. */
static GHashTable *
changed_modules (StudioComparison *self)
{
  const LoomElement *root = loom_graph_root (studio_document_get_graph (self->document));
  GHashTable *changed = g_hash_table_new (g_str_hash, g_str_equal);
  gboolean more = TRUE;

  for (guint i = 0; i < self->differences->len; i++)
    {
      const LoomDifference *d = self->differences->pdata[i];

      if (d->scope != NULL)
        g_hash_table_add (changed, d->scope);
      else if (strcmp (d->what, "module") == 0 && d->kind == LOOM_DIFFERENCE_CHANGED)
        g_hash_table_add (changed, d->name);
    }
  while (more && g_hash_table_size (changed) > 0)
    {
      more = FALSE;
      for (guint i = 0; i < loom_element_n_children (root); i++)
        {
          const LoomElement *module = loom_element_child (root, i);
          const char *name = loom_element_tag (module) == LOOM_TAG_MODULE ? loom_element_get (module, "name") : NULL;

          for (guint c = 0; name != NULL && c < loom_element_n_children (module); c++)
            {
              const LoomElement *node = loom_element_child (module, c);

              for (guint n = 0; n < loom_node_n_modules (node); n++)
                if (g_hash_table_contains (changed, loom_node_nth_module (node, n))
                    && g_hash_table_add (changed, (gpointer)name))
                  more = TRUE;
            }
        }
    }
  return changed;
}

static void
mark_cards (StudioComparison *self, const StudioScene *scene)
{
  g_autoptr (GHashTable) within = changed_modules (self);

  for (guint i = 0; i < self->differences->len; i++)
    {
      const LoomDifference *d = self->differences->pdata[i];

      if (is_here (self, d, "node") && d->kind != LOOM_DIFFERENCE_REMOVED)
        put_mark (self->cards, g_strdup (d->name), d->kind, words_of (d));
    }
  for (guint i = 0; i < scene->n_items; i++)
    if (scene->item[i].is_module && g_hash_table_contains (within, scene->item[i].kind)
        && !g_hash_table_contains (self->cards, scene->item[i].id))
      put_mark (self->cards, g_strdup (scene->item[i].id), LOOM_DIFFERENCE_CHANGED, g_strdup (_ ("inside")));
}

/* Ids of removed nodes of the old scope. */
static GHashTable *
removed_nodes (StudioComparison *self)
{
  GHashTable *removed = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < self->differences->len; i++)
    {
      const LoomDifference *d = self->differences->pdata[i];

      if (d->kind == LOOM_DIFFERENCE_REMOVED && is_here (self, d, "node"))
        g_hash_table_add (removed, d->name);
    }
  return removed;
}

/* A ghost is moved below a current card that would hide it. */
static void
move_below (StudioItem *ghost, const StudioScene *scene)
{
  for (guint round = 0; round < scene->n_items; round++)
    {
      gboolean moved = FALSE;

      for (guint i = 0; i < scene->n_items; i++)
        {
          const StudioItem *card = &scene->item[i];
          double w = MIN (card->x + card->width, ghost->x + ghost->width) - MAX (card->x, ghost->x);
          double h = MIN (card->y + card->height, ghost->y + ghost->height) - MAX (card->y, ghost->y);

          if (w <= 0 || h <= 0 || w * h < 0.3 * ghost->width * ghost->height)
            continue;
          ghost->y = card->y + card->height + 24;
          moved = TRUE;
        }
      if (!moved)
        return;
    }
}

/* The position of an end of a removed wire: at the current card, else at the ghost. FALSE: neither exists. */
static gboolean
end_place (StudioComparison *self, const StudioScene *scene, const char *end, gboolean is_output, double *x, double *y)
{
  g_autofree char *id = NULL, *port = NULL;
  const StudioScene *where = scene;
  guint item, p;

  if (!loom_end_split (end, &id, &port))
    return FALSE;
  item = studio_scene_find_id (scene, id);
  if (item == STUDIO_NO_ITEM)
    {
      where = self->old;
      item = studio_scene_find_id (self->old, id);
    }
  if (item == STUDIO_NO_ITEM || (is_output ? where->item[item].n_outputs : where->item[item].n_inputs) == 0)
    return FALSE;
  p = port != NULL ? studio_item_find_port (&where->item[item], is_output, port) : 0;
  studio_geometry_port (&where->item[item], is_output, p != STUDIO_NO_ITEM ? p : 0, x, y);
  return TRUE;
}

/* The wire of the scene that ends there. */
static const StudioLink *
link_into (const StudioScene *scene, const char *end)
{
  g_autofree char *id = NULL, *port = NULL;
  guint item, p;

  if (!loom_end_split (end, &id, &port))
    return NULL;
  item = studio_scene_find_id (scene, id);
  if (item == STUDIO_NO_ITEM)
    return NULL;
  p = port != NULL ? studio_item_find_port (&scene->item[item], FALSE, port) : STUDIO_NO_ITEM;
  for (guint l = 0; l < scene->n_links; l++)
    if (scene->link[l].to == item && (p == STUDIO_NO_ITEM || scene->link[l].input == p))
      return &scene->link[l];
  return NULL;
}

static void
mark_wires (StudioComparison *self, const StudioScene *scene)
{
  for (guint i = 0; i < self->differences->len; i++)
    {
      const LoomDifference *d = self->differences->pdata[i];
      const LoomAttributeChange *from;
      const StudioLink *link;
      StudioLostWire lost;

      if (!is_here (self, d, "wire"))
        continue;
      from = d->changes->pdata[0];
      link = d->kind != LOOM_DIFFERENCE_REMOVED ? link_into (scene, d->name) : NULL;
      if (link != NULL)
        put_mark (self->wires, g_memdup2 (&link->serial, sizeof link->serial), d->kind, NULL);
      if (from->before != NULL && self->old != NULL && end_place (self, scene, from->before, TRUE, &lost.x0, &lost.y0)
          && end_place (self, scene, d->name, FALSE, &lost.x1, &lost.y1))
        g_array_append_val (self->lost, lost);
    }
}

static void
work_out_scope (StudioComparison *self)
{
  const StudioScene *scene;
  const LoomElement *before;

  if (self->cards != NULL)
    return;
  studio_comparison_get_differences (self);
  scene = studio_document_get_scene (self->document);
  self->cards = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, mark_free);
  self->wires = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, mark_free);
  self->lost = g_array_new (FALSE, FALSE, sizeof (StudioLostWire));
  before = old_scope (self);
  if (before != NULL)
    {
      g_autoptr (GHashTable) removed = removed_nodes (self);

      self->old = studio_scene_new_plain (self->before, before);
      studio_layout_fill (self->old);
      self->gone = g_new0 (gboolean, self->old->n_items + 1);
      for (guint i = 0; i < self->old->n_items; i++)
        {
          self->gone[i] = g_hash_table_contains (removed, self->old->item[i].id);
          if (self->gone[i])
            move_below (&self->old->item[i], scene);
        }
    }
  mark_cards (self, scene);
  mark_wires (self, scene);
}

const StudioChange *
studio_comparison_card (StudioComparison *self, const char *id)
{
  work_out_scope (self);
  return g_hash_table_lookup (self->cards, id);
}

const StudioChange *
studio_comparison_wire (StudioComparison *self, guint64 serial)
{
  work_out_scope (self);
  return g_hash_table_lookup (self->wires, &serial);
}

const StudioScene *
studio_comparison_get_ghosts (StudioComparison *self, const gboolean **gone)
{
  work_out_scope (self);
  *gone = self->gone;
  return self->old;
}

const StudioLostWire *
studio_comparison_get_lost_wires (StudioComparison *self, guint *n)
{
  work_out_scope (self);
  *n = self->lost->len;
  return (const StudioLostWire *)(gpointer)self->lost->data;
}

gboolean
studio_comparison_find_ghost (StudioComparison *self, const char *id, double *x, double *y)
{
  guint i;

  work_out_scope (self);
  i = self->old != NULL ? studio_scene_find_id (self->old, id) : STUDIO_NO_ITEM;
  if (i == STUDIO_NO_ITEM || !self->gone[i])
    return FALSE;
  *x = self->old->item[i].x + self->old->item[i].width / 2;
  *y = self->old->item[i].y + self->old->item[i].height / 2;
  return TRUE;
}

/* ---- finding ----------------------------------------------------------------- */

/* The path of a node within an instance of the module (NULL: the root) in scope, at path, or deeper; NULL if the module
 * is not used. */
static char *
path_within (LoomGraph *graph, const LoomElement *scope, const char *path, const char *module,
             const LoomElement *wanted, guint depth)
{
  if (module == NULL
      || (loom_element_tag (scope) == LOOM_TAG_MODULE && g_strcmp0 (loom_element_get (scope, "name"), module) == 0))
    return loom_node_path (path, wanted);
  for (guint i = 0; depth > 0 && i < loom_element_n_children (scope); i++)
    {
      const LoomElement *node = loom_element_child (scope, i);
      const char *used = loom_node_module (node);
      const LoomElement *inner = used != NULL ? loom_graph_find_module (graph, used) : NULL;
      g_autofree char *here = inner != NULL ? loom_node_path (path, node) : NULL;
      char *found = inner != NULL ? path_within (graph, inner, here, module, wanted, depth - 1) : NULL;

      if (found != NULL)
        return found;
    }
  return NULL;
}

/* maximum nesting of modules */
#define MAX_DEPTH 16

gboolean
studio_comparison_reveal (StudioComparison *self, const LoomDifference *difference)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  const LoomElement *root = loom_graph_root (graph);
  g_autofree char *id = NULL, *port = NULL, *path = NULL;
  LoomElement *scope
      = difference->scope != NULL ? loom_graph_find_module (graph, difference->scope) : loom_graph_root (graph);
  const LoomElement *node;
  gboolean is_wire = strcmp (difference->what, "wire") == 0;

  if (scope == NULL || (!is_wire && strcmp (difference->what, "node") != 0))
    return FALSE;
  if (is_wire)
    loom_end_split (difference->name, &id, &port);
  else
    id = g_strdup (difference->name);
  node = loom_scope_find_node (scope, id);
  if (node != NULL)
    {
      path = path_within (graph, root, "", difference->scope, node, MAX_DEPTH);
      return path != NULL && studio_document_reveal (self->document, path);
    }
  /* A removed node is shown where it was: the path of any node of its scope is sufficient. */
  for (guint i = 0; path == NULL && i < loom_element_n_children (scope); i++)
    if (loom_element_tag (loom_element_child (scope, i)) == LOOM_TAG_NODE)
      path = path_within (graph, root, "", difference->scope, loom_element_child (scope, i), MAX_DEPTH);
  if (path == NULL || !studio_document_reveal (self->document, path))
    return FALSE;
  studio_document_select_only (self->document, 0);
  return TRUE;
}

/* ---- object ------------------------------------------------------------------- */

static void
changed_cb (StudioComparison *self)
{
  g_clear_pointer (&self->differences, g_ptr_array_unref);
  forget_scope (self);
  g_signal_emit (self, changed_signal, 0);
}

/* Cards without a position in the file get one from the scene, so a new scene may place them elsewhere. */
static void
scope_changed_cb (StudioComparison *self)
{
  forget_scope (self);
  g_signal_emit (self, changed_signal, 0);
}

static void
studio_comparison_finalize (GObject *object)
{
  StudioComparison *self = STUDIO_COMPARISON (object);

  g_signal_handlers_disconnect_by_data (self->document, self);
  forget_scope (self);
  g_clear_pointer (&self->differences, g_ptr_array_unref);
  g_object_unref (self->document);
  loom_graph_unref (self->before);
  g_free (self->title);
  G_OBJECT_CLASS (studio_comparison_parent_class)->finalize (object);
}

static void
studio_comparison_class_init (StudioComparisonClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = studio_comparison_finalize;
  changed_signal
      = g_signal_new ("changed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
studio_comparison_init (StudioComparison *self)
{
}

StudioComparison *
studio_comparison_new (StudioDocument *document, LoomGraph *before, const char *title)
{
  StudioComparison *self = g_object_new (STUDIO_TYPE_COMPARISON, NULL);

  self->document = g_object_ref (document);
  self->before = before;
  self->title = g_strdup (title);
  g_signal_connect_swapped (document, "changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (document, "scope-changed", G_CALLBACK (scope_changed_cb), self);
  return self;
}

const char *
studio_comparison_get_title (StudioComparison *self)
{
  return self->title;
}
