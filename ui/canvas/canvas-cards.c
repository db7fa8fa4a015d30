#include "ui/canvas/canvas-cards.h"

#include <math.h>
#include <string.h>

/* The card of an item. */
typedef struct
{
  guint64 serial;
  StudioNode *node;
  gboolean is_described; /* to screen readers, as it is in the scene */
} Row;

struct _CanvasCards
{
  GtkWidget *parent;
  const CardContext *context;
  const StudioSceneSpotlight *spotlight;
  GHashTable *nodes;       /* &serial → StudioNode */
  GHashTable *annotations; /* &serial → StudioAnnotationView */
  GArray *rows;            /* Row: by item of the scene with which the cards agreed last */
  guint synced;            /* the id of that scene; 0: none */
  gboolean has_values;     /* cards showed values of a step, or marks of a comparison then */
  guint64 last_focus;
  GArray *selected;     /* guint64: serials of all cards that are shown as selected, and maybe others */
  guint describing;     /* the timeout or idle callback that describes cards out of sight; 0: none */
  guint next_described; /* the rows before it are described */
};

static void stop_describing (CanvasCards *self);

CanvasCards *
canvas_cards_new (GtkWidget *parent, const CardContext *context, const StudioSceneSpotlight *spotlight)
{
  CanvasCards *self = g_new0 (CanvasCards, 1);

  self->parent = parent;
  self->context = context;
  self->spotlight = spotlight;
  self->nodes = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->annotations = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->rows = g_array_new (FALSE, FALSE, sizeof (Row));
  self->selected = g_array_new (FALSE, FALSE, sizeof (guint64));
  return self;
}

void
canvas_cards_free (CanvasCards *self)
{
  stop_describing (self);
  g_hash_table_unref (self->nodes);
  g_hash_table_unref (self->annotations);
  g_array_unref (self->rows);
  g_array_unref (self->selected);
  g_free (self);
}

StudioNode *
canvas_cards_find (const CanvasCards *self, guint64 serial)
{
  return g_hash_table_lookup (self->nodes, &serial);
}

StudioAnnotationView *
canvas_cards_find_annotation (const CanvasCards *self, guint64 serial)
{
  return g_hash_table_lookup (self->annotations, &serial);
}

static gboolean
is_selected (const CanvasCards *self, guint64 serial)
{
  return studio_document_is_selected (self->context->document, serial);
}

/* ---- focus ------------------------------------------------------------------- */

StudioNode *
canvas_cards_get_focused (const CanvasCards *self)
{
  GtkRoot *root = gtk_widget_get_root (self->parent);
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;

  return focus != NULL && STUDIO_IS_NODE (focus) && gtk_widget_get_parent (focus) == self->parent ? STUDIO_NODE (focus)
                                                                                                  : NULL;
}

guint64
canvas_cards_get_last_focus (const CanvasCards *self)
{
  return self->last_focus;
}

void
canvas_cards_set_last_focus (CanvasCards *self, guint64 serial)
{
  self->last_focus = serial;
}

guint
canvas_cards_get_current (const CanvasCards *self, const StudioScene *scene)
{
  StudioNode *node = canvas_cards_get_focused (self);

  if (node != NULL)
    return studio_node_get_item (node);
  if (studio_document_n_selected (self->context->document) == 1)
    return studio_scene_find (scene, studio_document_get_selected (self->context->document, 0));
  return STUDIO_NO_ITEM;
}

guint
canvas_cards_get_current_annotation (const CanvasCards *self, const StudioScene *scene)
{
  GtkWidget *focus = gtk_widget_get_focus_child (self->parent);

  if (focus != NULL && STUDIO_IS_ANNOTATION_VIEW (focus) && gtk_widget_has_focus (focus))
    return studio_annotation_view_get_index (STUDIO_ANNOTATION_VIEW (focus));
  if (canvas_cards_get_focused (self) == NULL && studio_document_n_selected (self->context->document) == 1)
    return studio_scene_find_annotation (scene, studio_document_get_selected (self->context->document, 0));
  return STUDIO_NO_ITEM;
}

/* ---- words for screen readers ------------------------------------------------ */

#define DESCRIBING_DELAY_MS 250 /* after the last edit, for more than FEW cards */
#define FEW                 100
#define DESCRIBING_US       1000 /* at a time, between frames */

static void
describe (CanvasCards *self, const StudioScene *scene, guint i)
{
  Row *row = &g_array_index (self->rows, Row, i);

  if (!row->is_described)
    studio_node_describe (row->node, scene, is_selected (self, row->serial));
  row->is_described = TRUE;
}

static gboolean
describe_cb (gpointer data)
{
  CanvasCards *self = data;
  const StudioScene *scene = studio_document_get_scene (self->context->document);
  const gint64 end = g_get_monotonic_time () + DESCRIBING_US;

  /* When the cards agree with the scene again, this starts again. */
  if (scene->id == self->synced)
    while (self->next_described < self->rows->len && g_get_monotonic_time () < end)
      describe (self, scene, self->next_described++);
  if (scene->id == self->synced && self->next_described < self->rows->len)
    return G_SOURCE_CONTINUE;
  self->describing = 0;
  return G_SOURCE_REMOVE;
}

static gboolean
begin_describing_cb (gpointer data)
{
  CanvasCards *self = data;

  self->describing = g_idle_add (describe_cb, self);
  return G_SOURCE_REMOVE;
}

static void
stop_describing (CanvasCards *self)
{
  g_clear_handle_id (&self->describing, g_source_remove);
}

/* Describes the visible cards that are not yet described. An edit may change the words of thousands of cards: those out
 * of sight are described between frames, and if they are many, once after several edits. */
static void
describe_all (CanvasCards *self, const StudioScene *scene)
{
  const gboolean is_mapped = gtk_widget_get_mapped (self->parent);
  guint n = 0;

  self->next_described = self->rows->len;
  for (guint i = self->rows->len; i-- > 0;)
    if (g_array_index (self->rows, Row, i).is_described)
      continue;
    else if (is_mapped && gtk_widget_get_mapped (GTK_WIDGET (g_array_index (self->rows, Row, i).node)))
      describe (self, scene, i);
    else
      {
        self->next_described = i;
        n++;
      }
  stop_describing (self);
  if (n > 0)
    self->describing
        = n > FEW ? g_timeout_add (DESCRIBING_DELAY_MS, begin_describing_cb, self) : g_idle_add (describe_cb, self);
}

static void
focus_cb (GtkWidget *node, GParamSpec *pspec, CanvasCards *self)
{
  const StudioScene *scene;
  const guint i = studio_node_get_item (STUDIO_NODE (node));

  if (!gtk_widget_has_focus (node))
    return;
  self->last_focus = studio_node_get_serial (STUDIO_NODE (node));
  scene = studio_document_get_scene (self->context->document);
  if (scene->id == self->synced && i < self->rows->len)
    describe (self, scene, i);
}

/* ---- agreement with a scene -------------------------------------------------- */

static void
forget_node (CanvasCards *self, StudioNode *node)
{
  g_hash_table_remove (self->nodes, studio_node_peek_serial (node));
  g_signal_handlers_disconnect_by_data (node, self);
}

void
canvas_cards_forget (CanvasCards *self)
{
  GHashTableIter iter;
  gpointer node;

  g_hash_table_iter_init (&iter, self->nodes);
  while (g_hash_table_iter_next (&iter, NULL, &node))
    g_signal_handlers_disconnect_by_data (node, self);
  g_hash_table_remove_all (self->nodes);
  g_hash_table_remove_all (self->annotations);
  g_array_set_size (self->rows, 0);
  self->synced = 0;
  stop_describing (self);
}

static void
remove_node (CanvasCards *self, GtkWidget *node)
{
  forget_node (self, STUDIO_NODE (node));
  /* The focus must stay in the parent when the card that has it goes. */
  if (gtk_widget_has_focus (node))
    gtk_widget_grab_focus (self->parent);
  gtk_accessible_reset_relation (GTK_ACCESSIBLE (node), GTK_ACCESSIBLE_RELATION_FLOW_TO);
  /* As the first child it has none before it that GTK counts. */
  gtk_widget_insert_after (node, self->parent, NULL);
  gtk_widget_unparent (node);
}

/* Removes the cards that the scene does not have; all cards if scene is NULL. */
static void
remove_gone (CanvasCards *self, const StudioScene *scene)
{
  g_autoptr (GPtrArray) gone = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer node;

  g_hash_table_iter_init (&iter, self->nodes);
  while (scene != NULL && g_hash_table_iter_next (&iter, NULL, &node))
    if (studio_scene_find (scene, *studio_node_peek_serial (node)) == STUDIO_NO_ITEM)
      g_ptr_array_add (gone, node);
  for (guint i = 0; i < gone->len; i++)
    remove_node (self, gone->pdata[i]);
  /* The first child goes at once, because there are none before it to count. */
  for (GtkWidget *child = scene == NULL ? gtk_widget_get_first_child (self->parent) : NULL, *next; child != NULL;
       child = next)
    {
      next = gtk_widget_get_next_sibling (child);
      if (STUDIO_IS_NODE (child))
        remove_node (self, child);
    }
}

/* If more cards than this come and go at once, all are made again. */
#define MANY_CARDS 200

/* GTK reports to a screen reader at what index each child comes or goes, and counts the children before it to know. One
 * by one among 20,000 others that takes a minute; the first child has none before it. So cards are made from the last
 * to the first, and if many change, all are removed, each as the first, and all are made again. */
static gboolean
is_much_new (guint had, guint kept, guint n)
{
  return had > 0 && (had - kept) + (n - kept) > MANY_CARDS;
}

static void
light (CanvasCards *self, StudioNode *node, const StudioScene *scene, guint item)
{
  const char *scope = studio_document_get_scope_path (self->context->document);

  gtk_widget_set_opacity (GTK_WIDGET (node), studio_scene_spotlight_opacity (self->spotlight, scope, scene, item));
}

static gboolean
has_values_now (const CanvasCards *self)
{
  return !card_values_are_empty (self->context->values) || !canvas_marks_are_empty (self->context->marks);
}

/* Finds the cards that are there, the rows of the scene. current: by item, the card shows it as it is. Returns the
 * number of cards found. */
static guint
find_nodes (const CanvasCards *self, const StudioScene *scene, Row *now, gboolean *current)
{
  const gboolean has_values = self->has_values || has_values_now (self);
  const Row *row = (const Row *)(gpointer)self->rows->data;
  guint found = 0, next = 0;

  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];

      /* Items keep their order, so cards that are gone are passed. */
      while (next < self->rows->len && row[next].serial != item->serial
             && studio_scene_find (scene, row[next].serial) == STUDIO_NO_ITEM)
        next++;
      current[i] = FALSE;
      if (next < self->rows->len && row[next].serial == item->serial)
        {
          now[i] = row[next++];
          current[i] = !has_values && studio_item_is_as_in (item, self->synced);
          now[i].is_described &= current[i];
        }
      else
        now[i] = (Row){ item->serial, canvas_cards_find (self, item->serial), FALSE };
      found += now[i].node != NULL;
    }
  return found;
}

/* Makes the cards that are not there, and updates those that are not current. */
static void
make_nodes (CanvasCards *self, const StudioScene *scene, Row *now, const gboolean *current)
{
  GtkWidget *next = NULL;

  for (guint i = scene->n_items; i-- > 0;)
    {
      if (now[i].node == NULL)
        {
          now[i].node = studio_node_new (self->context, now[i].serial);
          /* GTK notifies screen readers of a first child without counting its siblings, and not of one that moves. */
          gtk_widget_insert_after (GTK_WIDGET (now[i].node), self->parent, NULL);
          gtk_widget_insert_before (GTK_WIDGET (now[i].node), self->parent, next);
          g_signal_connect (now[i].node, "notify::has-focus", G_CALLBACK (focus_cb), self);
          g_hash_table_insert (self->nodes, (gpointer)studio_node_peek_serial (now[i].node), now[i].node);
        }
      next = GTK_WIDGET (now[i].node);
      studio_node_set_item (now[i].node, i);
      if (current[i])
        continue;
      studio_node_update (now[i].node, scene, i, is_selected (self, now[i].serial));
      light (self, now[i].node, scene, i);
    }
}

/* Notes the cards that are shown as selected now, among others. */
static void
note_selected (CanvasCards *self)
{
  for (guint i = 0; i < studio_document_n_selected (self->context->document); i++)
    {
      const guint64 serial = studio_document_get_selected (self->context->document, i);

      g_array_append_val (self->selected, serial);
    }
}

void
canvas_cards_sync (CanvasCards *self, const StudioScene *scene)
{
  g_autoptr (GArray) rows = g_array_sized_new (FALSE, FALSE, sizeof (Row), scene->n_items);
  g_autofree gboolean *current = g_new (gboolean, scene->n_items + 1);
  Row *now;
  guint64 focused = 0;
  StudioNode *node;

  g_array_set_size (rows, scene->n_items);
  now = (Row *)(gpointer)rows->data;
  if (is_much_new (g_hash_table_size (self->nodes), find_nodes (self, scene, now, current), scene->n_items))
    {
      for (guint i = 0; i < scene->n_items; i++)
        now[i] = (Row){ .serial = now[i].serial };
      memset (current, 0, scene->n_items * sizeof *current);
      focused = canvas_cards_get_focused (self) != NULL ? self->last_focus : 0;
      remove_gone (self, NULL);
    }
  make_nodes (self, scene, now, current);
  for (guint i = 0; i < scene->n_items; i++)
    if (!current[i])
      studio_node_update_targets (now[i].node, scene, self->nodes);
  /* Each item has a card by now. */
  if (g_hash_table_size (self->nodes) > scene->n_items)
    remove_gone (self, scene);
  g_array_unref (self->rows);
  self->rows = g_steal_pointer (&rows);
  self->synced = scene->id;
  self->has_values = has_values_now (self);
  note_selected (self);
  node = canvas_cards_find (self, focused);
  if (node != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (node));
  describe_all (self, scene);
}

void
canvas_cards_sync_annotations (CanvasCards *self, const StudioScene *scene)
{
  GHashTableIter iter;
  gpointer view;

  g_hash_table_iter_init (&iter, self->annotations);
  while (g_hash_table_iter_next (&iter, NULL, &view))
    if (studio_scene_find_annotation (scene, *studio_annotation_view_peek_serial (view)) == STUDIO_NO_ITEM)
      {
        if (gtk_widget_has_focus (view))
          gtk_widget_grab_focus (self->parent);
        g_hash_table_iter_remove (&iter);
        gtk_widget_unparent (view);
      }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      guint64 serial = scene->annotation[i].serial;

      view = g_hash_table_lookup (self->annotations, &serial);
      if (view == NULL)
        {
          view = studio_annotation_view_new (self->context, serial);
          gtk_widget_set_parent (view, self->parent);
          g_hash_table_insert (self->annotations, (gpointer)studio_annotation_view_peek_serial (view), view);
        }
      studio_annotation_view_update (view, scene, i, is_selected (self, serial));
    }
}

void
canvas_cards_select (CanvasCards *self)
{
  g_autoptr (GArray) before = g_steal_pointer (&self->selected);

  self->selected = g_array_new (FALSE, FALSE, sizeof (guint64));
  note_selected (self);
  g_array_append_vals (before, self->selected->data, self->selected->len);
  for (guint i = 0; i < before->len; i++)
    {
      const guint64 serial = g_array_index (before, guint64, i);
      StudioNode *node = canvas_cards_find (self, serial);

      if (node != NULL)
        studio_node_select (node, is_selected (self, serial));
    }
}

void
canvas_cards_update (CanvasCards *self, const StudioScene *scene, guint item)
{
  StudioNode *node = canvas_cards_find (self, scene->item[item].serial);

  if (node != NULL)
    studio_node_update (node, scene, item, is_selected (self, scene->item[item].serial));
}

void
canvas_cards_place_faults (CanvasCards *self, StudioScene *scene)
{
  studio_geometry_place_faults (scene);
  for (guint i = 0; i < scene->n_items; i++)
    if (scene->item[i].fault != NULL)
      canvas_cards_update (self, scene, i);
}

void
canvas_cards_describe (CanvasCards *self, const StudioScene *scene)
{
  for (guint i = 0; i < self->rows->len; i++)
    g_array_index (self->rows, Row, i).is_described = FALSE;
  describe_all (self, scene);
}

void
canvas_cards_light (CanvasCards *self, const StudioScene *scene)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioNode *node = canvas_cards_find (self, scene->item[i].serial);

      if (node != NULL)
        light (self, node, scene, i);
    }
}

/* ---- drawing ----------------------------------------------------------------- */

/* The rectangle is in canvas units. */
static void
allocate (GtkWidget *widget, const StudioView *view, const StudioRect *rect)
{
  double x, y;

  studio_view_to_screen (view, rect->x, rect->y, &x, &y);
  gtk_widget_allocate (widget, ceil (rect->width * view->zoom), ceil (rect->height * view->zoom), -1,
                       gsk_transform_translate (NULL, &GRAPHENE_POINT_INIT (floor (x + 0.5), floor (y + 0.5))));
}

void
canvas_cards_allocate (CanvasCards *self, const StudioScene *scene, const StudioView *view, guint64 held)
{
  StudioRect visible = studio_view_visible (view);

  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      GtkWidget *node = GTK_WIDGET (canvas_cards_find (self, item->serial));
      StudioRect extent = studio_geometry_extent (item);

      /* The focused card keeps the focus when it is out of sight. */
      if (!studio_rect_intersects (&extent, &visible) && !gtk_widget_has_focus (node) && item->serial != held)
        {
          studio_node_hide (STUDIO_NODE (node));
          continue;
        }
      /* A node draws from its card's corner; a bubble above or to the left of that is drawn outside its allocation. */
      extent.width -= item->x - STUDIO_CARD_MARGIN - extent.x;
      extent.x = item->x - STUDIO_CARD_MARGIN;
      extent.height -= item->y - STUDIO_CARD_MARGIN - extent.y;
      extent.y = item->y - STUDIO_CARD_MARGIN;
      gtk_widget_set_child_visible (node, TRUE);
      allocate (node, view, &extent);
    }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      const StudioAnnotation *annotation = &scene->annotation[i];
      StudioRect rect = { annotation->x, annotation->y, annotation->width, annotation->height };
      GtkWidget *widget = GTK_WIDGET (canvas_cards_find_annotation (self, annotation->serial));

      if (widget == NULL)
        continue;
      gtk_widget_set_child_visible (widget, studio_rect_intersects (&rect, &visible) || gtk_widget_has_focus (widget)
                                                || annotation->serial == held);
      if (gtk_widget_get_child_visible (widget))
        allocate (widget, view, &rect);
    }
}

void
canvas_cards_snapshot_annotations (const CanvasCards *self, const StudioScene *scene, GtkSnapshot *snapshot)
{
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      GtkWidget *view = GTK_WIDGET (canvas_cards_find_annotation (self, scene->annotation[i].serial));

      if (view != NULL && gtk_widget_get_child_visible (view))
        gtk_widget_snapshot_child (self->parent, view, snapshot);
    }
}

void
canvas_cards_snapshot (const CanvasCards *self, GtkSnapshot *snapshot)
{
  for (GtkWidget *child = gtk_widget_get_first_child (self->parent); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (gtk_widget_get_child_visible (child) && !GTK_IS_NATIVE (child) && !STUDIO_IS_ANNOTATION_VIEW (child))
      gtk_widget_snapshot_child (self->parent, child, snapshot);
}

static void
redraw_annotations (CanvasCards *self)
{
  GHashTableIter iter;
  gpointer view;

  g_hash_table_iter_init (&iter, self->annotations);
  while (g_hash_table_iter_next (&iter, NULL, &view))
    gtk_widget_queue_draw (view);
}

void
canvas_cards_redraw (CanvasCards *self)
{
  GHashTableIter iter;
  gpointer node;

  redraw_annotations (self);
  g_hash_table_iter_init (&iter, self->nodes);
  while (g_hash_table_iter_next (&iter, NULL, &node))
    gtk_widget_queue_draw (node);
}

void
canvas_cards_redraw_visible (CanvasCards *self)
{
  GHashTableIter iter;
  gpointer node;

  g_hash_table_iter_init (&iter, self->nodes);
  while (g_hash_table_iter_next (&iter, NULL, &node))
    if (gtk_widget_get_child_visible (node))
      studio_node_refresh (node, FALSE);
}

void
canvas_cards_restyle (CanvasCards *self, gboolean texts)
{
  GHashTableIter iter;
  gpointer node;

  g_hash_table_iter_init (&iter, self->nodes);
  while (g_hash_table_iter_next (&iter, NULL, &node))
    studio_node_refresh (node, texts);
  redraw_annotations (self);
}
