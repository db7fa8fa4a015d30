/* Cards that glide to where a command put them, so that the eye can follow.
 *
 * The document has the new places at once; only the scene, which is what is drawn, lags behind for a fifth of a second.
 * Whoever touches the canvas meanwhile finds everything where it belongs. */
#include "ui/canvas/studio-canvas-private.h"

#define DURATION 200.0 /* milliseconds */
#define MOST     120   /* cards; the wires of more take too long to be led anew in each frame */

typedef struct
{
  guint64 serial;
  double x0, y0, x1, y1;
} Glide;

static void
place (StudioCanvas *self, double part)
{
  StudioScene *scene = studio_canvas_scene (self);

  for (guint k = 0; k < self->glides->len; k++)
    {
      const Glide *glide = &g_array_index (self->glides, Glide, k);
      guint i = studio_scene_find (scene, glide->serial);

      if (i == STUDIO_NO_ITEM)
        continue;
      scene->item[i].x = part < 1 ? glide->x0 + (glide->x1 - glide->x0) * part : glide->x1;
      scene->item[i].y = part < 1 ? glide->y0 + (glide->y1 - glide->y0) * part : glide->y1;
    }
  studio_canvas_place_faults (self, scene);
  studio_canvas_redraw_wires (self);
  gtk_widget_queue_allocate (GTK_WIDGET (self));
}

void
studio_canvas_drop_glide (StudioCanvas *self)
{
  if (self->glide_tick != 0)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->glide_tick);
  self->glide_tick = 0;
  g_clear_pointer (&self->glides, g_array_unref);
}

void
studio_canvas_finish_glide (StudioCanvas *self)
{
  if (self->glides == NULL)
    return;
  place (self, 1);
  studio_canvas_drop_glide (self);
}

static gboolean
glide_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  gint64 now = gdk_frame_clock_get_frame_time (clock);
  double part;

  if (self->glide_start == 0)
    self->glide_start = now;
  part = (now - self->glide_start) / (DURATION * 1000);
  if (part >= 1)
    {
      self->glide_tick = 0;
      studio_canvas_finish_glide (self);
      return G_SOURCE_REMOVE;
    }
  /* Fast at first, then gently to rest. */
  place (self, 1 - (1 - part) * (1 - part) * (1 - part));
  return G_SOURCE_CONTINUE;
}

/* Call with what studio_canvas_note_places() gave before the command. */
void
studio_canvas_glide (StudioCanvas *self, GArray *before)
{
  StudioScene *scene = studio_canvas_scene (self);
  gboolean animated = FALSE;

  g_object_get (gtk_widget_get_settings (GTK_WIDGET (self)), "gtk-enable-animations", &animated, NULL);
  for (guint k = before->len; k-- > 0;)
    {
      Glide *glide = &g_array_index (before, Glide, k);
      guint i = studio_scene_find (scene, glide->serial);

      if (i == STUDIO_NO_ITEM || (glide->x0 == scene->item[i].x && glide->y0 == scene->item[i].y))
        {
          g_array_remove_index_fast (before, k);
          continue;
        }
      glide->x1 = scene->item[i].x;
      glide->y1 = scene->item[i].y;
    }
  if (!animated || before->len == 0 || before->len > MOST || !gtk_widget_get_mapped (GTK_WIDGET (self)))
    {
      g_array_unref (before);
      return;
    }
  studio_canvas_drop_glide (self);
  self->glides = before;
  self->glide_start = 0;
  place (self, 0);
  self->glide_tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), glide_cb, NULL, NULL);
}

GArray *
studio_canvas_note_places (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  GArray *places = g_array_sized_new (FALSE, FALSE, sizeof (Glide), scene->n_items);

  for (guint i = 0; i < scene->n_items; i++)
    {
      Glide glide = { scene->item[i].serial, scene->item[i].x, scene->item[i].y, 0, 0 };

      g_array_append_val (places, glide);
    }
  return places;
}
