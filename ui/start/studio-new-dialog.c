#include "ui/start/studio-new-dialog.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/start/studio-csv-page.h"
#include "ui/start/studio-data-job.h"
#include "ui/start/studio-data-list.h"
#include "ui/start/studio-source-page.h"

#define WIDTH  640
#define HEIGHT 600
#define MARGIN 18

struct _StudioNewDialog
{
  AdwWindow parent_instance;
  GtkWidget *stack, *title, *back, *create, *spinner, *bar, *bar_label;
  GtkWidget *page;           /* the page of the chosen source, in the stack as "page"; NULL: the list is shown */
  GCancellable *cancellable; /* while a graph is being created */
};

G_DEFINE_FINAL_TYPE (StudioNewDialog, studio_new_dialog, ADW_TYPE_WINDOW)

static guint made_signal;

static gboolean
get_data (StudioNewDialog *self, LoomTemplateData *data)
{
  if (STUDIO_IS_CSV_PAGE (self->page))
    return studio_csv_page_get_data (STUDIO_CSV_PAGE (self->page), data);
  return self->page != NULL && studio_source_page_get_data (STUDIO_SOURCE_PAGE (self->page), data);
}

static void
update (StudioNewDialog *self)
{
  LoomTemplateData data;

  gtk_widget_set_visible (self->back, self->page != NULL);
  gtk_widget_set_visible (self->create, self->page != NULL);
  gtk_widget_set_sensitive (self->create, self->cancellable == NULL && get_data (self, &data));
  gtk_spinner_set_spinning (GTK_SPINNER (self->spinner), self->cancellable != NULL);
}

static void
page_changed_cb (StudioNewDialog *self)
{
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->bar), FALSE);
  if (STUDIO_IS_CSV_PAGE (self->page))
    adw_window_title_set_title (ADW_WINDOW_TITLE (self->title),
                                studio_csv_page_get_title (STUDIO_CSV_PAGE (self->page)));
  update (self);
}

static GtkWidget *
new_scroller (GtkWidget *content)
{
  GtkWidget *scroller = gtk_scrolled_window_new (), *clamp = adw_clamp_new ();

  g_object_set (clamp, "margin-start", MARGIN, "margin-end", MARGIN, "margin-top", MARGIN, "margin-bottom", MARGIN,
                NULL);
  adw_clamp_set_child (ADW_CLAMP (clamp), content);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), clamp);
  return scroller;
}

/* Cancels the creation. */
static void
cancel (StudioNewDialog *self)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
}

static void
go_back (StudioNewDialog *self)
{
  GtkWidget *page = gtk_stack_get_child_by_name (GTK_STACK (self->stack), "page");

  cancel (self);
  self->page = NULL;
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "list");
  if (page != NULL)
    gtk_stack_remove (GTK_STACK (self->stack), page);
  adw_window_title_set_title (ADW_WINDOW_TITLE (self->title), _ ("Choose Data"));
  page_changed_cb (self);
}

static void
show_page (StudioNewDialog *self, GtkWidget *page, const char *title)
{
  go_back (self);
  self->page = page;
  g_signal_connect_swapped (page, "changed", G_CALLBACK (page_changed_cb), self);
  gtk_stack_add_named (GTK_STACK (self->stack), new_scroller (page), "page");
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "page");
  adw_window_title_set_title (ADW_WINDOW_TITLE (self->title), title);
  update (self);
  gtk_widget_grab_focus (self->create);
}

static void
chosen_cb (StudioNewDialog *self, const char *source)
{
  const LoomDatasetClass *klass = loom_dataset_class (source);

  if (g_str_equal (source, "csv"))
    show_page (self, GTK_WIDGET (studio_csv_page_new (NULL)), loom_dataset_class_title (klass));
  else
    show_page (self, GTK_WIDGET (studio_source_page_new (klass)), loom_dataset_class_title (klass));
}

static void
made_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioNewDialog) self = data;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = studio_data_make_finish (result, &error);

  /* Another page is shown by now, or the window is closed. */
  if (g_cancellable_is_cancelled (g_task_get_cancellable (G_TASK (result))))
    return;
  g_clear_object (&self->cancellable);
  if (text != NULL)
    {
      g_signal_emit (self, made_signal, 0, text);
      gtk_window_close (GTK_WINDOW (self));
      return;
    }
  gtk_label_set_label (GTK_LABEL (self->bar_label), error->message);
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->bar), TRUE);
  update (self);
}

static void
create_cb (StudioNewDialog *self)
{
  LoomTemplateData data;

  if (!get_data (self, &data) || self->cancellable != NULL)
    return;
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->bar), FALSE);
  self->cancellable = g_cancellable_new ();
  studio_data_make_async (&data, self->cancellable, made_cb, g_object_ref (self));
  update (self);
}

static gboolean
escape_cb (GtkWidget *widget, GVariant *arguments, gpointer data)
{
  StudioNewDialog *self = STUDIO_NEW_DIALOG (widget);

  if (self->page != NULL)
    go_back (self);
  else
    gtk_window_close (GTK_WINDOW (self));
  return TRUE;
}

static void
studio_new_dialog_dispose (GObject *object)
{
  StudioNewDialog *self = STUDIO_NEW_DIALOG (object);

  cancel (self);
  G_OBJECT_CLASS (studio_new_dialog_parent_class)->dispose (object);
}

static void
studio_new_dialog_class_init (StudioNewDialogClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_new_dialog_dispose;
  g_type_ensure (STUDIO_TYPE_DATA_LIST);
  STUDIO_TEMPLATE (klass, "studio-new-dialog.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioNewDialog, stack, title, back, create, spinner, bar, bar_label);
  STUDIO_TEMPLATE_CALLBACKS (klass, go_back, create_cb, chosen_cb);
  gtk_widget_class_add_binding (GTK_WIDGET_CLASS (klass), GDK_KEY_Escape, 0, escape_cb, NULL);
  made_signal = studio_signal_new ("made", G_TYPE_FROM_CLASS (klass), 1, G_TYPE_STRING);
}

static void
studio_new_dialog_init (StudioNewDialog *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  update (self);
}

StudioNewDialog *
studio_new_dialog_new (GtkWindow *parent, const char *csv)
{
  StudioNewDialog *self = g_object_new (STUDIO_TYPE_NEW_DIALOG, "transient-for", parent, NULL);

  studio_text_scale_window (GTK_WINDOW (self), parent, WIDTH, HEIGHT);
  if (csv != NULL)
    show_page (self, GTK_WIDGET (studio_csv_page_new (csv)), loom_dataset_class_title (loom_dataset_class ("csv")));
  return self;
}
