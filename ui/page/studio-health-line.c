/* Implements studio-health-line.h. */
#include "ui/page/studio-health-line.h"

#include <glib/gi18n.h>

#include "ui/scene/studio-format.h"

struct _StudioHealthLine
{
  GtkBox parent_instance;
  StudioHealthWatch *watch;
  StudioRunner *runner;
  GtkWidget *label, *button;
};

G_DEFINE_FINAL_TYPE (StudioHealthLine, studio_health_line, GTK_TYPE_BOX)

static void
changed_cb (StudioHealthLine *self)
{
  const char *sentence = studio_health_watch_get_sentence (self->watch);
  const gint64 back = studio_health_watch_get_back (self->watch);
  g_autofree char *step = studio_format_count ((double)back);
  g_autofree char *text = g_strdup_printf (_ ("Go Back to Step %s"), step);

  gtk_label_set_text (GTK_LABEL (self->label), sentence != NULL ? sentence : "");
  gtk_widget_set_tooltip_text (self->label, sentence);
  gtk_button_set_label (GTK_BUTTON (self->button), text);
  gtk_widget_set_visible (self->button, back > 0);
  gtk_widget_set_visible (GTK_WIDGET (self), sentence != NULL);
}

void
studio_health_line_go_back (StudioHealthLine *self)
{
  if (studio_health_watch_get_back (self->watch) > 0)
    studio_runner_go_back (self->runner, studio_health_watch_get_back (self->watch));
}

static void
health_line_dispose (GObject *object)
{
  StudioHealthLine *self = STUDIO_HEALTH_LINE (object);

  if (self->watch != NULL)
    g_signal_handlers_disconnect_by_data (self->watch, self);
  g_clear_object (&self->watch);
  g_clear_object (&self->runner);
  G_OBJECT_CLASS (studio_health_line_parent_class)->dispose (object);
}

static void
studio_health_line_class_init (StudioHealthLineClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = health_line_dispose;
}

static void
studio_health_line_init (StudioHealthLine *self)
{
  GtkWidget *icon = gtk_image_new_from_icon_name ("dialog-warning-symbolic");

  self->label = gtk_label_new (NULL);
  self->button = gtk_button_new ();
  gtk_label_set_ellipsize (GTK_LABEL (self->label), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign (GTK_LABEL (self->label), 0);
  gtk_widget_set_hexpand (self->label, TRUE);
  gtk_widget_add_css_class (icon, "error");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->button), "win.go-back");
  gtk_box_set_spacing (GTK_BOX (self), 6);
  gtk_box_append (GTK_BOX (self), icon);
  gtk_box_append (GTK_BOX (self), self->label);
  gtk_box_append (GTK_BOX (self), self->button);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
}

StudioHealthLine *
studio_health_line_new (StudioHealthWatch *watch, StudioRunner *runner)
{
  StudioHealthLine *self = g_object_new (STUDIO_TYPE_HEALTH_LINE, NULL);

  self->watch = g_object_ref (watch);
  self->runner = g_object_ref (runner);
  g_signal_connect_object (watch, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  return self;
}
