#include "ui/canvas/canvas-glide.h"

#define DURATION 200.0 /* milliseconds */
#define MOST     120   /* cards; routing the wires of more takes too long for each frame */

struct _CanvasGlide
{
  GtkWidget *widget;
  CanvasGlideOwner owner;
  GArray *cards; /* Card; NULL: all are there */
  guint tick;
  gint64 start;
};

typedef struct
{
  guint64 serial;
  double x0, y0, x1, y1;
} Card;

CanvasGlide *
canvas_glide_new (GtkWidget *widget, CanvasGlideOwner owner)
{
  CanvasGlide *self = g_new0 (CanvasGlide, 1);

  self->widget = widget;
  self->owner = owner;
  return self;
}

void
canvas_glide_free (CanvasGlide *self)
{
  canvas_glide_drop (self);
  g_free (self);
}

static void
place (CanvasGlide *self, double part)
{
  StudioScene *scene = self->owner.scene (self->owner.data);

  for (guint k = 0; k < self->cards->len; k++)
    {
      const Card *card = &g_array_index (self->cards, Card, k);
      guint i = studio_scene_find (scene, card->serial);

      if (i == STUDIO_NO_ITEM)
        continue;
      scene->item[i].x = part < 1 ? card->x0 + (card->x1 - card->x0) * part : card->x1;
      scene->item[i].y = part < 1 ? card->y0 + (card->y1 - card->y0) * part : card->y1;
    }
  self->owner.moved (self->owner.data);
}

void
canvas_glide_drop (CanvasGlide *self)
{
  if (self->tick != 0)
    gtk_widget_remove_tick_callback (self->widget, self->tick);
  self->tick = 0;
  g_clear_pointer (&self->cards, g_array_unref);
}

void
canvas_glide_finish (CanvasGlide *self)
{
  if (self->cards == NULL)
    return;
  place (self, 1);
  canvas_glide_drop (self);
}

static gboolean
tick_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  CanvasGlide *self = data;
  gint64 now = gdk_frame_clock_get_frame_time (clock);
  double part;

  if (self->start == 0)
    self->start = now;
  part = (now - self->start) / (DURATION * 1000);
  if (part >= 1)
    {
      self->tick = 0;
      canvas_glide_finish (self);
      return G_SOURCE_REMOVE;
    }
  /* Fast at first, then gently to rest. */
  place (self, 1 - (1 - part) * (1 - part) * (1 - part));
  return G_SOURCE_CONTINUE;
}

void
canvas_glide_start (CanvasGlide *self, GArray *before)
{
  StudioScene *scene = self->owner.scene (self->owner.data);
  gboolean animated = FALSE;

  g_object_get (gtk_widget_get_settings (self->widget), "gtk-enable-animations", &animated, NULL);
  for (guint k = before->len; k-- > 0;)
    {
      Card *card = &g_array_index (before, Card, k);
      guint i = studio_scene_find (scene, card->serial);

      if (i == STUDIO_NO_ITEM || (card->x0 == scene->item[i].x && card->y0 == scene->item[i].y))
        {
          g_array_remove_index_fast (before, k);
          continue;
        }
      card->x1 = scene->item[i].x;
      card->y1 = scene->item[i].y;
    }
  if (!animated || before->len == 0 || before->len > MOST || !gtk_widget_get_mapped (self->widget))
    {
      g_array_unref (before);
      return;
    }
  canvas_glide_drop (self);
  self->cards = before;
  self->start = 0;
  place (self, 0);
  self->tick = gtk_widget_add_tick_callback (self->widget, tick_cb, self, NULL);
}

GArray *
canvas_glide_note (const CanvasGlide *self)
{
  const StudioScene *scene = self->owner.scene (self->owner.data);
  GArray *cards = g_array_sized_new (FALSE, FALSE, sizeof (Card), scene->n_items);

  for (guint i = 0; i < scene->n_items; i++)
    {
      Card card = { scene->item[i].serial, scene->item[i].x, scene->item[i].y, 0, 0 };

      g_array_append_val (cards, card);
    }
  return cards;
}
