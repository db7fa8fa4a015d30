/* Shows one toast at a time, and dismisses none before its animation has ended.
 *
 * libadwaita 1.2 animates the appearance and the dismissal of a toast for 300 ms each. If both end in the same frame,
 * because a toast is dismissed in the frame in which it appeared or because a frame takes long, the second animation
 * frees what the first still uses and the program crashes. So a dismissal waits until the toast has appeared, and the
 * next toast waits until the previous one has disappeared. */
#include "ui/shell/studio-toasts.h"

#define MOVE_MS 400 /* a little longer than libadwaita's animation */

typedef struct
{
  GtkWidget *overlay;       /* owns this struct as its data */
  AdwToast *current;        /* NULL: none is shown */
  gint64 began;             /* frame time at which the toast was added, in µs */
  guint appearing;          /* tick callback during the appearance; 0: it has ended */
  gboolean dismiss_pending; /* dismiss after the appearance */
  guint disappearing;       /* timeout during the dismissal; no toast is shown before it ends */
  GQueue waiting;           /* AdwToast */
  void (*said) (gpointer data);
  gpointer said_data;
} Toasts;

static void
toasts_free (gpointer data)
{
  Toasts *self = data;
  AdwToast *toast;

  g_clear_handle_id (&self->disappearing, g_source_remove);
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
  if (self->appearing != 0)
    gtk_widget_remove_tick_callback (self->overlay, self->appearing);
  self->appearing = 0;
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
  self->appearing = 0;
  if (self->dismiss_pending)
    adw_toast_dismiss (self->current);
  return G_SOURCE_REMOVE;
}

/* An unmapped overlay does not animate. */
static void
send_away (Toasts *self)
{
  self->dismiss_pending = TRUE;
  if (self->appearing == 0 || !gtk_widget_get_mapped (self->overlay))
    adw_toast_dismiss (self->current);
}

static gboolean
faded_cb (gpointer data)
{
  Toasts *self = data;

  self->disappearing = 0;
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
  g_clear_handle_id (&self->disappearing, g_source_remove);
  self->disappearing = g_timeout_add (MOVE_MS, faded_cb, self);
}

static void
show_next (Toasts *self)
{
  if (self->current != NULL || self->disappearing != 0 || g_queue_is_empty (&self->waiting))
    return;
  self->current = g_queue_pop_head (&self->waiting);
  self->dismiss_pending = FALSE;
  self->began = 0;
  self->appearing = gtk_widget_add_tick_callback (self->overlay, coming_cb, self, NULL);
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

/* ---- sentences --------------------------------------------------------------------------- */

/* The title of an AdwToast has one line, and an ellipsis in place of the remedy. */
static AdwToast *
new_toast (const char *sentence, gboolean markup)
{
  GtkWidget *label = gtk_label_new (NULL);
  if (markup)
    gtk_label_set_markup (GTK_LABEL (label), sentence);
  else
    gtk_label_set_text (GTK_LABEL (label), sentence);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 90);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  if (!markup)
    gtk_widget_add_css_class (label, "heading");
  AdwToast *toast = adw_toast_new ("");
  adw_toast_set_custom_title (toast, label);
  return toast;
}

static void
say (GtkWidget *overlay, AdwToast *toast)
{
  Toasts *self = toasts_of (overlay);
  studio_toasts_add (overlay, toast);
  if (self->said != NULL)
    self->said (self->said_data);
}

static gboolean
has_sentence (AdwToast *toast, const char *sentence)
{
  return toast != NULL && g_strcmp0 (g_object_get_data (G_OBJECT (toast), "sentence"), sentence) == 0;
}

/* TRUE if this sentence is shown or waits. */
static gboolean
is_said (const Toasts *self, const char *sentence)
{
  for (const GList *l = self->waiting.head; l != NULL; l = l->next)
    if (has_sentence (l->data, sentence))
      return TRUE;
  return !self->dismiss_pending && has_sentence (self->current, sentence);
}

void
studio_toasts_say (GtkWidget *overlay, const char *sentence)
{
  AdwToast *toast;

  if (is_said (toasts_of (overlay), sentence))
    return;
  toast = new_toast (sentence, FALSE);
  g_object_set_data_full (G_OBJECT (toast), "sentence", g_strdup (sentence), g_free);
  say (overlay, toast);
}

void
studio_toasts_say_lasting (GtkWidget *overlay, const char *heading, const char *sentence)
{
  g_autofree char *markup = g_markup_printf_escaped ("<b>%s</b>\n%s", heading, sentence);
  AdwToast *toast = new_toast (markup, TRUE);
  adw_toast_set_timeout (toast, 0);
  adw_toast_set_priority (toast, ADW_TOAST_PRIORITY_HIGH);
  say (overlay, toast);
}

void
studio_toasts_set_said_func (GtkWidget *overlay, void (*func) (gpointer data), gpointer data)
{
  Toasts *self = toasts_of (overlay);
  self->said = func;
  self->said_data = data;
}

void
studio_toast_dismiss (AdwToast *toast)
{
  Toasts *self = g_object_get_data (G_OBJECT (toast), "toasts");

  if (self == NULL)
    return; /* freed */
  if (toast == self->current)
    {
      send_away (self);
      return;
    }
  g_object_set_data (G_OBJECT (toast), "toasts", NULL);
  g_queue_remove (&self->waiting, toast);
  g_object_unref (toast);
}
