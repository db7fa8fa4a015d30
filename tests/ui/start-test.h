/* What tests of windows that begin with a file share: a folder, an application, and widgets found by their words. */
#pragma once

#include <adwaita.h>
#include <string.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "ui/window/studio-window.h"

#define PATIENCE_MS 100000

static char *folder;
static AdwApplication *application;

/* Makes the folder and the application; id: of the application. */
static inline void
start_test_init (int *argc, char ***argv, const char *id)
{
  folder = g_dir_make_tmp ("gradloom-start-XXXXXX", NULL);
  g_setenv ("XDG_STATE_HOME", folder, TRUE);
  g_setenv ("XDG_DATA_HOME", folder, TRUE);
  gtk_test_init (argc, argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  application = adw_application_new (id, G_APPLICATION_NON_UNIQUE);
  g_assert_true (g_application_register (G_APPLICATION (application), NULL, NULL));
}

static inline gboolean
wake_cb (gpointer data)
{
  return G_SOURCE_CONTINUE;
}

/* Serves events until the condition holds. */
#define WAIT_FOR(condition)                                                                                            \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    const gint64 end_ = g_get_monotonic_time () + PATIENCE_MS * 1000;                                                  \
    const guint timer_ = g_timeout_add (10, wake_cb, NULL);                                                            \
    while (!(condition) && g_get_monotonic_time () < end_)                                                             \
      g_main_context_iteration (NULL, TRUE);                                                                           \
    g_source_remove (timer_);                                                                                          \
    g_assert_true (condition);                                                                                         \
  }                                                                                                                    \
  G_STMT_END

static inline GFile *
write_file (const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  return g_file_new_for_path (path);
}

static inline GtkWidget *
find_label (GtkWidget *widget, const char *words, gboolean mapped)
{
  if (GTK_IS_LABEL (widget) && (!mapped || gtk_widget_get_mapped (widget))
      && strstr (gtk_label_get_text (GTK_LABEL (widget)), words) != NULL)
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_label (child, words, mapped);

      if (found != NULL)
        return found;
    }
  return NULL;
}

/* The first mapped widget below this one with a label of this text. */
static inline GtkWidget *
find_words (GtkWidget *widget, const char *words)
{
  return find_label (widget, words, TRUE);
}

static inline gboolean
drop (StudioWindow *window, GFile *file)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (GTK_WIDGET (window));
  GdkFileList *files = gdk_file_list_new_from_array (&file, 1);
  g_auto (GValue) value = G_VALUE_INIT;
  gboolean taken = FALSE;

  g_value_init (&value, GDK_TYPE_FILE_LIST);
  g_value_take_boxed (&value, files);
  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);

      if (GTK_IS_DROP_TARGET (controller))
        g_signal_emit_by_name (controller, "drop", &value, 5.0, 5.0, &taken);
    }
  return taken;
}

/* NULL: no <train>. */
static inline const char *
train_attribute (StudioWindow *window, const char *name)
{
  LoomGraph *graph = studio_document_get_graph (studio_window_get_document (window));
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);

  return train != NULL ? loom_element_get (train, name) : NULL;
}
