#include "ui/start/studio-source-page.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/start/studio-data-job.h"
#include "ui/start/studio-start-rows.h"

#define WAIT_MS 300 /* without typing */

struct _StudioSourcePage
{
  GtkWidget parent_instance;
  const LoomDatasetClass *klass;
  GtkWidget *sample, *facts;
  GPtrArray *fields; /* entries of paths; each has the option's name as data */
  StudioKinds kinds;
  GCancellable *cancellable;
  guint timer;
  char **options;
};

G_DEFINE_FINAL_TYPE (StudioSourcePage, studio_source_page, GTK_TYPE_WIDGET)

static guint changed_signal;

static char **
read_options (StudioSourcePage *self)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  for (guint i = 0; i < self->fields->len; i++)
    {
      const char *path = gtk_editable_get_text (self->fields->pdata[i]);

      if (path[0] == '\0')
        continue;
      g_strv_builder_add (builder, g_object_get_data (self->fields->pdata[i], "option"));
      g_strv_builder_add (builder, path);
    }
  return g_strv_builder_end (builder);
}

static gboolean
lacks_files (StudioSourcePage *self)
{
  for (guint i = 0; i < self->fields->len; i++)
    if (g_object_get_data (self->fields->pdata[i], "needed") != NULL
        && gtk_editable_get_text (self->fields->pdata[i])[0] == '\0')
      return TRUE;
  return FALSE;
}

static void
looked_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioSourcePage) self = data;
  g_autoptr (StudioDataInfo) look = studio_data_inspect_finish (result);
  g_autofree const LoomTemplateKind **kinds = NULL;
  g_autofree char *text = NULL;

  if (look == NULL || g_cancellable_is_cancelled (g_task_get_cancellable (G_TASK (result))))
    return;
  text = look->is_here ? studio_data_info_text (look) : g_strdup (look->sentence);
  gtk_label_set_label (GTK_LABEL (self->facts), text);
  if (look->is_here)
    gtk_widget_remove_css_class (self->facts, "warning");
  else
    gtk_widget_add_css_class (self->facts, "warning");
  studio_sample_set (self->sample, look->figure);
  gtk_widget_set_visible (self->sample, look->figure != NULL && look->figure->kind != STUDIO_FIGURE_WORDS);
  kinds = loom_template_kinds (&look->info);
  studio_kinds_set (&self->kinds, kinds);
  g_signal_emit (self, changed_signal, 0);
}

static gboolean
describe_source (gpointer data)
{
  StudioSourcePage *self = data;

  self->timer = 0;
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  self->cancellable = g_cancellable_new ();
  g_strfreev (self->options);
  self->options = read_options (self);
  if (lacks_files (self))
    {
      gtk_label_set_label (GTK_LABEL (self->facts), _ ("Choose the files first."));
      studio_kinds_set (&self->kinds, NULL);
      g_signal_emit (self, changed_signal, 0);
    }
  else
    studio_data_inspect_async (loom_dataset_class_name (self->klass), (const char *const *)self->options,
                               self->cancellable, looked_cb, g_object_ref (self));
  return G_SOURCE_REMOVE;
}

static void
edited_cb (StudioSourcePage *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  self->timer = g_timeout_add (WAIT_MS, describe_source, self);
  studio_kinds_set (&self->kinds, NULL);
  g_signal_emit (self, changed_signal, 0);
}

static GtkWidget *
new_files (StudioSourcePage *self)
{
  GtkWidget *group = adw_preferences_group_new ();

  for (const LoomDatasetParam *p = loom_dataset_class_params (self->klass); p != NULL && p->name != NULL; p++)
    {
      GtkWidget *row;

      if (p->type != LOOM_DATASET_PATH)
        continue;
      row = adw_entry_row_new ();
      adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), p->name);
      studio_path_row_add_button (row);
      gtk_widget_set_tooltip_text (row, p->doc);
      g_object_set_data (G_OBJECT (row), "option", (gpointer)p->name);
      g_object_set_data (G_OBJECT (row), "needed", p->def == NULL ? row : NULL);
      g_signal_connect_swapped (row, "changed", G_CALLBACK (edited_cb), self);
      adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
      g_ptr_array_add (self->fields, row);
    }
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), _ ("Files"));
  gtk_widget_set_visible (group, self->fields->len > 0);
  return group;
}

static void
studio_source_page_dispose (GObject *object)
{
  StudioSourcePage *self = STUDIO_SOURCE_PAGE (object);
  GtkWidget *child;

  g_clear_handle_id (&self->timer, g_source_remove);
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  g_clear_pointer (&self->fields, g_ptr_array_unref);
  g_clear_pointer (&self->options, g_strfreev);
  studio_kinds_clear (&self->kinds);
  G_OBJECT_CLASS (studio_source_page_parent_class)->dispose (object);
}

static void
studio_source_page_class_init (StudioSourcePageClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_source_page_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  changed_signal = studio_signal_new ("changed", G_TYPE_FROM_CLASS (klass), 0);
}

static void
studio_source_page_init (StudioSourcePage *self)
{
  self->fields = g_ptr_array_new ();
  studio_kinds_init (&self->kinds);
}

StudioSourcePage *
studio_source_page_new (const LoomDatasetClass *klass)
{
  StudioSourcePage *self = g_object_new (STUDIO_TYPE_SOURCE_PAGE, NULL);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 18), *doc = gtk_label_new (loom_dataset_class_doc (klass));

  self->klass = klass;
  self->sample = studio_sample_new (144, 108);
  self->facts = gtk_label_new ("");
  gtk_label_set_wrap (GTK_LABEL (doc), TRUE);
  gtk_label_set_wrap (GTK_LABEL (self->facts), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (self->facts), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_justify (GTK_LABEL (self->facts), GTK_JUSTIFY_CENTER);
  gtk_label_set_justify (GTK_LABEL (doc), GTK_JUSTIFY_CENTER);
  gtk_widget_add_css_class (self->facts, "caption");
  gtk_widget_set_visible (self->sample, FALSE);
  gtk_box_append (GTK_BOX (box), doc);
  gtk_box_append (GTK_BOX (box), self->sample);
  gtk_box_append (GTK_BOX (box), self->facts);
  gtk_box_append (GTK_BOX (box), self->kinds.group);
  gtk_box_insert_child_after (GTK_BOX (box), new_files (self), self->facts);
  gtk_widget_set_parent (box, GTK_WIDGET (self));
  studio_kinds_set (&self->kinds, NULL);
  describe_source (self);
  return self;
}

gboolean
studio_source_page_get_data (StudioSourcePage *self, LoomTemplateData *data)
{
  *data = (LoomTemplateData){ .source = loom_dataset_class_name (self->klass),
                              .options = (const char *const *)self->options,
                              .kind = self->kinds.chosen };
  return self->kinds.chosen != NULL && self->timer == 0;
}
