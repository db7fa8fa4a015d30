/* One toast at a time, and none goes before it has come.
 *
 * libadwaita 1.2 animates how a toast comes and how it goes, both for 300 ms. Where they end with the same frame, as
 * they do when a toast goes in the frame that it came in, or when a frame takes long, the second one is run first and
 * frees what the first one still uses: the program crashes. So a toast that is sent away stays until it has come. An
 * overlay of its own also shows the next toast while the last one goes, and lets it come more slowly then; here it
 * waits. */
#include "ui/window/studio-toasts.h"

#define MOVE_MS 400 /* a little longer than libadwaita takes for one toast to come or go */

typedef struct
{
  GtkWidget *overlay; /* has this as its data */
  AdwToast *current;  /* NULL: none is seen */
  gint64 began;       /* frame time when that was added, in µs */
  guint coming;       /* tick callback until it has come; 0: it has */
  gboolean goes;      /* as soon as it has come */
  guint fading;       /* timer: until then nothing is shown */
  GQueue waiting;     /* AdwToast */
} Toasts;

static void
toasts_free (gpointer data)
{
  Toasts *self = data;
  AdwToast *toast;

  g_clear_handle_id (&self->fading, g_source_remove);
  if (self->current != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->current, self);
      g_object_set_data (G_OBJECT (self->current), "toasts", NULL);
    }
  g_clear_object (&self->current);
  while ((toast = g_queue_pop_head (&self->waiting)) != NULL)
    {
      g_object_set_data (G_OBJECT (toast), "toasts", NULL);
      g_object_unref (toast);
    }
  g_free (self);
}

static void show_next (Toasts *self);

static void
stop_coming (Toasts *self)
{
  if (self->coming != 0)
    gtk_widget_remove_tick_callback (self->overlay, self->coming);
  self->coming = 0;
}

static gboolean
coming_cb (GtkWidget *overlay, GdkFrameClock *clock, gpointer data)
{
  Toasts *self = data;
  const gint64 now = gdk_frame_clock_get_frame_time (clock);

  if (self->began == 0)
    self->began = now;
  if (now - self->began < MOVE_MS * G_TIME_SPAN_MILLISECOND)
    return G_SOURCE_CONTINUE;
  self->coming = 0;
  if (self->goes)
    adw_toast_dismiss (self->current);
  return G_SOURCE_REMOVE;
}

/* Nothing moves where nothing is seen. */
static void
send_away (Toasts *self)
{
  self->goes = TRUE;
  if (self->coming == 0 || !gtk_widget_get_mapped (self->overlay))
    adw_toast_dismiss (self->current);
}

static gboolean
faded_cb (gpointer data)
{
  Toasts *self = data;

  self->fading = 0;
  show_next (self);
  return G_SOURCE_REMOVE;
}

static void
dismissed_cb (Toasts *self)
{
  stop_coming (self);
  g_signal_handlers_disconnect_by_data (self->current, self);
  g_object_set_data (G_OBJECT (self->current), "toasts", NULL);
  g_clear_object (&self->current);
  g_clear_handle_id (&self->fading, g_source_remove);
  self->fading = g_timeout_add (MOVE_MS, faded_cb, self);
}

static void
show_next (Toasts *self)
{
  if (self->current != NULL || self->fading != 0 || g_queue_is_empty (&self->waiting))
    return;
  self->current = g_queue_pop_head (&self->waiting);
  self->goes = FALSE;
  self->began = 0;
  self->coming = gtk_widget_add_tick_callback (self->overlay, coming_cb, self, NULL);
  g_signal_connect_swapped (self->current, "dismissed", G_CALLBACK (dismissed_cb), self);
  adw_toast_overlay_add_toast (ADW_TOAST_OVERLAY (self->overlay), g_object_ref (self->current));
}

static Toasts *
toasts_of (GtkWidget *overlay)
{
  Toasts *self = g_object_get_data (G_OBJECT (overlay), "studio-toasts");

  if (self != NULL)
    return self;
  self = g_new0 (Toasts, 1);
  self->overlay = overlay;
  g_queue_init (&self->waiting);
  g_object_set_data_full (G_OBJECT (overlay), "studio-toasts", self, toasts_free);
  return self;
}

void
studio_toasts_add (GtkWidget *overlay, AdwToast *toast)
{
  Toasts *self = toasts_of (overlay);
  const gboolean high = adw_toast_get_priority (toast) == ADW_TOAST_PRIORITY_HIGH;

  g_object_set_data (G_OBJECT (toast), "toasts", self);
  if (high)
    g_queue_push_head (&self->waiting, toast);
  else
    g_queue_push_tail (&self->waiting, toast);
  if (high && self->current != NULL && adw_toast_get_priority (self->current) != ADW_TOAST_PRIORITY_HIGH)
    send_away (self);
  show_next (self);
}

void
studio_toast_dismiss (AdwToast *toast)
{
  Toasts *self = g_object_get_data (G_OBJECT (toast), "toasts");

  if (self == NULL)
    return; /* it is gone */
  if (toast == self->current)
    {
      send_away (self);
      return;
    }
  g_object_set_data (G_OBJECT (toast), "toasts", NULL);
  g_queue_remove (&self->waiting, toast);
  g_object_unref (toast);
}
