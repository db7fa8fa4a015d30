#include "ui/start/studio-data-list.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"
#include "ui/start/studio-data-job.h"
#include "ui/start/studio-start-rows.h"

#define SAMPLE_WIDTH  72
#define SAMPLE_HEIGHT 54

/* Data sets whose data are available come first. */
enum
{
  READY,
  FILES,
  N_GROUPS
};

struct _StudioDataList
{
  AdwBin parent_instance;
  GtkWidget *entry, *none;
  struct
  {
    GtkWidget *box, *list;
  } group[N_GROUPS];
  GCancellable *cancellable;
};

G_DEFINE_FINAL_TYPE (StudioDataList, studio_data_list, ADW_TYPE_BIN)

static guint chosen_signal;

/* One row of the list, while its data set is being described. */
typedef struct
{
  GtkWidget *sample, *facts;
  const LoomDatasetClass *klass;
} Row;

static gboolean
needs_files (const LoomDatasetClass *klass)
{
  for (const LoomDatasetParam *p = loom_dataset_class_params (klass); p != NULL && p->name != NULL; p++)
    if (p->def == NULL)
      return TRUE;
  return FALSE;
}

static void
looked_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree Row *row = data;
  g_autoptr (StudioDataInfo) look = studio_data_inspect_finish (result);
  g_autofree char *text = NULL;

  if (look != NULL && !g_cancellable_is_cancelled (g_task_get_cancellable (G_TASK (result))))
    {
      text = studio_data_info_text (look);
      if (!look->is_here)
        {
          g_autofree char *facts = text;

          text = facts[0] != '\0' ? g_strdup_printf ("%s\n%s", facts, look->sentence) : g_strdup (look->sentence);
          gtk_widget_add_css_class (row->facts, "warning");
        }
      gtk_label_set_label (GTK_LABEL (row->facts), text);
      if (look->figure != NULL && look->figure->kind != STUDIO_FIGURE_WORDS)
        studio_sample_set (row->sample, look->figure);
    }
  g_object_unref (row->sample);
  g_object_unref (row->facts);
}

static GtkWidget *
new_label (const char *text, const char *style)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_widget_add_css_class (label, style);
  return label;
}

static void
add_source (StudioDataList *self, const LoomDatasetClass *klass)
{
  const char *title = loom_dataset_class_title (klass), *doc = loom_dataset_class_doc (klass);
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12),
            *words = gtk_box_new (GTK_ORIENTATION_VERTICAL, 3);
  Row *asked = g_new0 (Row, 1);

  asked->klass = klass;
  asked->sample = studio_sample_new (SAMPLE_WIDTH, SAMPLE_HEIGHT);
  asked->facts = new_label (needs_files (klass) ? _ ("From your files") : "", "caption");
  gtk_widget_add_css_class (row, "data-row");
  gtk_widget_set_hexpand (words, TRUE);
  gtk_widget_set_valign (words, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (words), new_label (title, "heading"));
  gtk_box_append (GTK_BOX (words), new_label (doc, "body"));
  gtk_box_append (GTK_BOX (words), asked->facts);
  gtk_box_append (GTK_BOX (box), asked->sample);
  gtk_box_append (GTK_BOX (box), words);
  gtk_box_append (GTK_BOX (box), gtk_image_new_from_icon_name ("go-next-symbolic"));
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, doc, -1);
  g_object_set_data (G_OBJECT (row), "source", (gpointer)loom_dataset_class_name (klass));
  gtk_list_box_append (GTK_LIST_BOX (self->group[needs_files (klass) ? FILES : READY].list), row);
  if (needs_files (klass))
    {
      gtk_image_set_from_icon_name (GTK_IMAGE (gtk_widget_get_last_child (box)), "document-open-symbolic");
      g_free (asked);
      return;
    }
  g_object_ref (asked->sample);
  g_object_ref (asked->facts);
  studio_data_inspect_async (loom_dataset_class_name (klass), NULL, self->cancellable, looked_cb, asked);
}

static void
activated_cb (StudioDataList *self, GtkListBoxRow *row)
{
  g_signal_emit (self, chosen_signal, 0, g_object_get_data (G_OBJECT (row), "source"));
}

/* ---- searching -------------------------------------------------------------- */

static gboolean
matches_search (GtkListBoxRow *row, gpointer data)
{
  StudioDataList *self = data;
  const LoomDatasetClass *klass = loom_dataset_class (g_object_get_data (G_OBJECT (row), "source"));
  g_autofree char *all = g_strjoin (" ", loom_dataset_class_name (klass), loom_dataset_class_title (klass),
                                    loom_dataset_class_doc (klass), NULL);

  return g_str_match_string (gtk_editable_get_text (GTK_EDITABLE (self->entry)), all, TRUE);
}

/* The first visible row, or NULL. */
static GtkListBoxRow *
first_row (StudioDataList *self, guint group)
{
  for (GtkWidget *row = gtk_widget_get_first_child (self->group[group].list); row != NULL;
       row = gtk_widget_get_next_sibling (row))
    if (GTK_IS_LIST_BOX_ROW (row) && matches_search (GTK_LIST_BOX_ROW (row), self))
      return GTK_LIST_BOX_ROW (row);
  return NULL;
}

static void
search_cb (StudioDataList *self)
{
  gboolean any = FALSE;

  for (guint g = 0; g < N_GROUPS; g++)
    {
      const gboolean some = first_row (self, g) != NULL;

      gtk_list_box_invalidate_filter (GTK_LIST_BOX (self->group[g].list));
      gtk_widget_set_visible (self->group[g].box, some);
      any |= some;
    }
  gtk_widget_set_visible (self->none, !any);
}

static void
enter_cb (StudioDataList *self)
{
  GtkListBoxRow *row = NULL;

  for (guint g = 0; g < N_GROUPS && row == NULL; g++)
    row = first_row (self, g);
  if (row != NULL)
    activated_cb (self, row);
}

/* A search field keeps Escape for itself. The first one empties it, the next one leaves. */
static void
stop_search_cb (StudioDataList *self)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));

  if (gtk_editable_get_text (GTK_EDITABLE (self->entry))[0] != '\0')
    gtk_editable_set_text (GTK_EDITABLE (self->entry), "");
  else if (GTK_IS_WINDOW (root))
    gtk_window_close (GTK_WINDOW (root));
}

/* ---- the widget -------------------------------------------------------------- */

static void
studio_data_list_dispose (GObject *object)
{
  StudioDataList *self = STUDIO_DATA_LIST (object);

  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  G_OBJECT_CLASS (studio_data_list_parent_class)->dispose (object);
}

static void
studio_data_list_class_init (StudioDataListClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_data_list_dispose;
  STUDIO_TEMPLATE (klass, "studio-data-list.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioDataList, entry, none, group[READY].box, group[READY].list, group[FILES].box,
                            group[FILES].list);
  STUDIO_TEMPLATE_CALLBACKS (klass, stop_search_cb, search_cb, enter_cb, activated_cb);
  chosen_signal = studio_signal_new ("chosen", G_TYPE_FROM_CLASS (klass), 1, G_TYPE_STRING);
}

static void
studio_data_list_init (StudioDataList *self)
{
  self->cancellable = g_cancellable_new ();
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_search_entry_set_key_capture_widget (GTK_SEARCH_ENTRY (self->entry), GTK_WIDGET (self));
  for (guint g = 0; g < N_GROUPS; g++)
    gtk_list_box_set_filter_func (GTK_LIST_BOX (self->group[g].list), matches_search, self, NULL);
  for (const LoomDatasetClass *const *c = loom_dataset_classes (); *c != NULL; c++)
    add_source (self, *c);
}
