/* Construction and destruction of the window. */
#include "ui/window/studio-window-private.h"

G_DEFINE_FINAL_TYPE (StudioWindow, studio_window, ADW_TYPE_APPLICATION_WINDOW)

/* GTK ignores a close() called within this handler. So if there is nothing to ask, closing proceeds; otherwise the
 * response destroys the window later. */
static gboolean
window_close_request (GtkWindow *window)
{
  if (studio_window_ask_to_close (STUDIO_WINDOW (window)))
    return TRUE;
  return GTK_WINDOW_CLASS (studio_window_parent_class)->close_request (window);
}

static void
studio_window_init (StudioWindow *self)
{
  g_type_ensure (STUDIO_TYPE_PAGE);
  gtk_widget_init_template (GTK_WIDGET (self));
  self->questions = studio_questions_new (GTK_WIDGET (self));
  self->action_list = studio_action_list_new ();
  gtk_overlay_add_overlay (GTK_OVERLAY (self->all), GTK_WIDGET (self->action_list));
  studio_window_install_actions (self);
  studio_window_setup_tabs (self);
  studio_window_setup_header (self);
  studio_window_setup_presentation (self);
  studio_window_setup_frame (self);
  studio_window_setup_start (self);
  studio_window_setup_recovery (self);
}

static void
window_dispose (GObject *object)
{
  StudioWindow *self = STUDIO_WINDOW (object);
  self->closing = TRUE;
  g_clear_object (&self->chooser);
  g_clear_weak_pointer (&self->help);
  studio_window_drop_page (self);
  g_clear_weak_pointer (&self->menu_tab);
  g_clear_pointer (&self->orphans, g_strfreev);
  G_OBJECT_CLASS (studio_window_parent_class)->dispose (object);
}

static void
window_finalize (GObject *object)
{
  studio_questions_free (STUDIO_WINDOW (object)->questions);
  G_OBJECT_CLASS (studio_window_parent_class)->finalize (object);
}

static void
studio_window_class_init (StudioWindowClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  studio_window_add_commands ();
  G_OBJECT_CLASS (klass)->dispose = window_dispose;
  G_OBJECT_CLASS (klass)->finalize = window_finalize;
  GTK_WINDOW_CLASS (klass)->close_request = window_close_request;
  gtk_widget_class_set_template_from_resource (widget_class, "/org/gradloom/Studio/studio-window.ui");
#define CHILD(name) gtk_widget_class_bind_template_child (widget_class, StudioWindow, name)
  CHILD (all);
  CHILD (header);
  CHILD (title);
  CHILD (open_button);
  CHILD (new_button);
  CHILD (undo_button);
  CHILD (redo_button);
  CHILD (train_button);
  CHILD (step_button);
  CHILD (menu_button);
  CHILD (device_chip);
  CHILD (device_label);
  CHILD (device_name);
  CHILD (device_short);
  CHILD (left_toggle);
  CHILD (right_toggle);
  CHILD (recover_bar);
  CHILD (recover_notice);
  CHILD (recover_label);
  CHILD (recover_all);
  CHILD (tab_bar);
  CHILD (tab_view);
#undef CHILD
}

StudioWindow *
studio_window_new_bare (GtkApplication *application)
{
  return g_object_new (STUDIO_TYPE_WINDOW, "application", application, NULL);
}

StudioWindow *
studio_window_new (AdwApplication *application)
{
  StudioWindow *self = studio_window_new_bare (GTK_APPLICATION (application));
  studio_window_add_page (self);
  return self;
}

/* ---- current page ---------------------------------------------------------------------------- */

StudioPage *
studio_window_get_page (StudioWindow *self)
{
  return self->page;
}

StudioDocument *
studio_window_get_document (StudioWindow *self)
{
  return studio_page_get_document (self->page);
}

StudioCanvas *
studio_window_get_canvas (StudioWindow *self)
{
  return studio_page_get_canvas (self->page);
}

StudioRun *
studio_window_get_run (StudioWindow *self)
{
  return studio_page_get_run (self->page);
}

void
studio_window_show_panel (StudioWindow *self)
{
  studio_page_show_panel (self->page);
}

void
studio_window_toast (StudioWindow *self, const char *sentence)
{
  if (self->page != NULL)
    studio_page_toast (self->page, sentence);
}
