#include "ui/canvas/canvas-sync.h"

#include <glib/gi18n.h>

#include "ui/canvas/canvas-samples.h"

struct _CanvasSync
{
  GtkWidget *parent;
  StudioDocument *document;
  CanvasCards *cards;
  const CanvasOptions *options;
  CanvasShift *shift;
  CanvasSyncOwner owner;
  CanvasSamples *samples;
  guint tick;        /* before the next frame */
  gboolean is_stale; /* the graph changed since the cards were made */
  gboolean reselect; /* the selection changed while the cards were those of an earlier graph */
  guint64 version;   /* of the graph when the cards were made or placed */
  guint scene;       /* the id of the scene that the cards were made from; 0: none */
};

static void sample_cb (const char *key, StudioFigure *figure, gpointer data);

CanvasSync *
canvas_sync_new (GtkWidget *parent, StudioDocument *document, CanvasCards *cards, const CanvasOptions *options,
                 CanvasShift *shift, CanvasSyncOwner owner)
{
  CanvasSync *self = g_new0 (CanvasSync, 1);

  self->parent = parent;
  self->document = document;
  self->cards = cards;
  self->options = options;
  self->shift = shift;
  self->owner = owner;
  self->samples = canvas_samples_new (sample_cb, self);
  return self;
}

void
canvas_sync_stop (CanvasSync *self)
{
  if (self->tick != 0)
    gtk_widget_remove_tick_callback (self->parent, self->tick);
  self->tick = 0;
  g_clear_pointer (&self->samples, canvas_samples_free);
}

void
canvas_sync_free (CanvasSync *self)
{
  canvas_sync_stop (self);
  g_free (self);
}

static void
describe (CanvasSync *self, const StudioScene *scene)
{
  g_autofree char *nodes = g_strdup_printf (ngettext ("%u node", "%u nodes", scene->n_items), scene->n_items);
  g_autofree char *wires = g_strdup_printf (ngettext ("%u wire", "%u wires", scene->n_links), scene->n_links);
  g_autofree char *description = g_strdup_printf ("%s, %s", nodes, wires);

  gtk_accessible_update_property (GTK_ACCESSIBLE (self->parent), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, description, -1);
}

static void
make_cards (CanvasSync *self, const LoomNet *net, StudioScene *scene)
{
  canvas_options_apply (self->options, scene);
  canvas_cards_sync (self->cards, scene);
  describe (self, scene);
  canvas_options_apply_measured (self->options, net, scene);
  canvas_samples_read (self->samples, scene, studio_document_get_graph (self->document));
  self->scene = scene->id;
}

void
canvas_sync_now (CanvasSync *self)
{
  /* The net comes first: making it replaces the scene. */
  const LoomNet *net = studio_document_get_net (self->document);
  StudioScene *scene = studio_document_get_scene (self->document);
  double dx, dy;

  canvas_shift_get (self->shift, &dx, &dy);
  self->is_stale = FALSE;
  self->version = loom_graph_version (studio_document_get_graph (self->document));
  canvas_shift_forget (self->shift);
  /* If the scene is the same, only positions changed. */
  if (scene->id != self->scene)
    make_cards (self, net, scene);
  else
    canvas_cards_place_faults (self->cards, scene);
  if (self->reselect)
    canvas_cards_select (self->cards);
  self->reselect = FALSE;
  canvas_cards_sync_annotations (self->cards, scene);
  if (dx != 0 || dy != 0)
    self->owner.shift (dx, dy, self->owner.data);
  self->owner.synced (self->owner.data);
}

StudioScene *
canvas_sync_scene (CanvasSync *self)
{
  if (self->is_stale)
    canvas_sync_now (self);
  return studio_document_get_scene (self->document);
}

gboolean
canvas_sync_is_stale (const CanvasSync *self)
{
  return self->is_stale;
}

/* Before the frame's layout: cards that are removed request a layout, which is too late in the middle of one. */
static gboolean
tick_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  CanvasSync *self = data;

  self->tick = 0;
  canvas_sync_scene (self);
  return G_SOURCE_REMOVE;
}

void
canvas_sync_later (CanvasSync *self)
{
  self->is_stale = TRUE;
  if (self->tick == 0)
    self->tick = gtk_widget_add_tick_callback (self->parent, tick_cb, self, NULL);
  gtk_widget_queue_allocate (self->parent);
}

gboolean
canvas_sync_select (CanvasSync *self)
{
  StudioScene *scene;

  /* In the middle of an edit a scene would be made for a net that is about to change. */
  if (self->version != loom_graph_version (studio_document_get_graph (self->document)))
    canvas_sync_later (self);
  if (self->is_stale)
    {
      self->reselect = TRUE;
      return FALSE;
    }
  scene = studio_document_get_scene (self->document);
  canvas_cards_select (self->cards);
  canvas_cards_sync_annotations (self->cards, scene);
  return TRUE;
}

/* A sample has been read: the cards of its data set show it. */
static void
sample_cb (const char *key, StudioFigure *figure, gpointer data)
{
  CanvasSync *self = data;
  StudioScene *scene = canvas_sync_scene (self);

  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioItem *item = &scene->item[i];

      if (item->figure != NULL || g_strcmp0 (item->sample_key, key) != 0)
        continue;
      item->figure = studio_figure_ref (figure);
      canvas_cards_update (self->cards, scene, i);
    }
}
