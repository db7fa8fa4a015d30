/* Implements studio-run-rows.h. */
#include "ui/runs/studio-run-rows.h"

#include "ui/charts/studio-template.h"
#include "ui/runs/studio-sparkline.h"

typedef struct
{
  StudioRuns *runs;
  GtkListItem *item;
  StudioRunEntry *entry; /* NULL: not bound */
  GtkWidget *box, *chosen, *name, *change, *curve, *result, *star;
  gboolean is_filling;
} Row;

static void
refresh (Row *row)
{
  const LoomRunSummary *run = studio_run_entry_get (row->entry);
  g_autofree char *result = studio_run_entry_dup_result (row->entry);
  g_autofree char *change = studio_run_entry_dup_change (row->entry);
  g_autofree char *spoken = studio_run_entry_dup_spoken (row->entry);
  g_autofree char *name = loom_text_printable (loom_run_summary_name (run), TRUE, LOOM_RUN_NAME_MOST);

  row->is_filling = TRUE;
  gtk_label_set_text (GTK_LABEL (row->name), name);
  gtk_label_set_text (GTK_LABEL (row->change), change);
  gtk_label_set_text (GTK_LABEL (row->result), result);
  gtk_widget_set_tooltip_text (row->change, change);
  gtk_check_button_set_active (GTK_CHECK_BUTTON (row->chosen), studio_run_entry_get_colour (row->entry) >= 0);
  gtk_widget_set_sensitive (row->chosen, run->error == NULL);
  gtk_widget_set_visible (row->star, run->notes.star);
  studio_sparkline_set (STUDIO_SPARKLINE (row->curve), row->entry);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row->box), GTK_ACCESSIBLE_PROPERTY_LABEL, spoken, -1);
  row->is_filling = FALSE;
}

static void
toggled_cb (GtkCheckButton *button, Row *row)
{
  if (!row->is_filling && row->entry != NULL)
    studio_runs_choose (row->runs, row->entry, gtk_check_button_get_active (button));
}

static void
forget (Row *row)
{
  if (row->entry != NULL)
    g_signal_handlers_disconnect_by_data (row->entry, row);
  g_clear_object (&row->entry);
}

static void
row_free (gpointer data)
{
  forget (data);
  g_free (data);
}

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, StudioRuns *runs)
{
  Row *row = g_new0 (Row, 1);

  g_type_ensure (STUDIO_TYPE_SPARKLINE);
  *row = (Row){ .runs = runs, .item = item, .box = studio_template_new ("run-row.ui") };
  STUDIO_TEMPLATE_FIELDS (row->box, row, chosen, name, change, curve, result, star);
  g_object_set_data_full (G_OBJECT (row->box), "row", row, row_free);
  g_signal_connect (row->chosen, "toggled", G_CALLBACK (toggled_cb), row);
  gtk_list_item_set_child (item, row->box);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, StudioRuns *runs)
{
  Row *row = g_object_get_data (G_OBJECT (gtk_list_item_get_child (item)), "row");

  forget (row);
  row->entry = g_object_ref (gtk_list_item_get_item (item));
  g_signal_connect_swapped (row->entry, "changed", G_CALLBACK (refresh), row);
  refresh (row);
}

GtkListItemFactory *
studio_run_rows_new (StudioRuns *runs)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();

  g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), runs);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), runs);
  return factory;
}
