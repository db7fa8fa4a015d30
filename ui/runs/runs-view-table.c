/* The differences between runs: a row for each run, with a column for each setting in which they differ. */
#include "ui/runs/runs-view.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-template.h"
#include "ui/scene/studio-format.h"

typedef struct
{
  StudioRuns *runs;
  GListStore *rows; /* StudioRunEntry */
  GtkWidget *view, *words;
  GPtrArray *summaries; /* of the rows */
  LoomRunTable *table;
  GHashTable *cells; /* GtkListItem → the number of their column */
} Table;

/* ---- cells ------------------------------------------------------------------------- */

static char *
number_text (double value)
{
  return isnan (value) ? g_strdup ("–") : studio_format_number (value);
}

static char *
name_cell (const LoomRunSummary *run)
{
  return loom_text_printable (loom_run_summary_name (run), TRUE, 40);
}

static char *
loss_cell (const LoomRunSummary *run)
{
  return run->log.nan_step > 0 ? g_strdup ("NaN") : number_text (loom_run_summary_loss (run));
}

static char *
metric_cell (const LoomRunSummary *run)
{
  g_autofree char *value = number_text (run->log.value);

  return run->log.metric != NULL ? g_strdup_printf ("%s %s", run->log.metric, value) : g_strdup ("–");
}

static char *
seconds_cell (const LoomRunSummary *run)
{
  return number_text (loom_run_summary_seconds (run));
}

static char *
parameters_cell (const LoomRunSummary *run)
{
  return isnan (run->parameters) ? g_strdup ("–") : studio_format_count (run->parameters);
}

static const struct
{
  const char *title;
  char *(*text) (const LoomRunSummary *run);
} fixed[] = { { N_ ("Run"), name_cell },
              { N_ ("Loss"), loss_cell },
              { N_ ("Metric"), metric_cell },
              { N_ ("Seconds"), seconds_cell },
              { N_ ("Parameters"), parameters_cell } };

static char *
cell_text (Table *self, guint row, guint column)
{
  const char *text;

  if (row >= self->summaries->len)
    return g_strdup ("");
  if (column < G_N_ELEMENTS (fixed))
    return fixed[column].text (self->summaries->pdata[row]);
  column -= G_N_ELEMENTS (fixed);
  text = column < self->table->columns->len ? loom_run_table_get (self->table, row, column) : NULL;
  return text != NULL ? loom_text_printable (text, TRUE, 60) : g_strdup ("–");
}

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, Table *self)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "numeric");
  gtk_list_item_set_child (item, label);
}

static void
fill (Table *self, GtkListItem *item, guint column)
{
  g_autofree char *text = cell_text (self, gtk_list_item_get_position (item), column);

  gtk_label_set_text (GTK_LABEL (gtk_list_item_get_child (item)), text);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, Table *self)
{
  gpointer column = g_object_get_data (G_OBJECT (factory), "column");

  g_hash_table_insert (self->cells, item, column);
  fill (self, item, GPOINTER_TO_UINT (column));
}

/* May come after the table is freed. */
static void
teardown_cb (GtkSignalListItemFactory *factory, GtkListItem *item, GHashTable *cells)
{
  g_hash_table_remove (cells, item);
}

static void
release_cells (gpointer cells, GClosure *closure)
{
  g_hash_table_unref (cells);
}

/* ---- the table ------------------------------------------------------------------------- */

static void
add_column (Table *self, guint column, const char *title)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();

  g_object_set_data (G_OBJECT (factory), "column", GUINT_TO_POINTER (column));
  g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), self);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), self);
  g_signal_connect_data (factory, "teardown", G_CALLBACK (teardown_cb), g_hash_table_ref (self->cells), release_cells,
                         0);
  g_autoptr (GtkColumnViewColumn) made = gtk_column_view_column_new (title, factory);
  gtk_column_view_append_column (GTK_COLUMN_VIEW (self->view), made);
}

/* Settings come after the name, before the results. */
static void
make_columns (Table *self)
{
  GListModel *columns = gtk_column_view_get_columns (GTK_COLUMN_VIEW (self->view));

  while (g_list_model_get_n_items (columns) > 0)
    {
      g_autoptr (GtkColumnViewColumn) column = g_list_model_get_item (columns, 0);

      gtk_column_view_remove_column (GTK_COLUMN_VIEW (self->view), column);
    }
  add_column (self, 0, _ (fixed[0].title));
  for (guint i = 0; i < self->table->columns->len; i++)
    add_column (self, i + G_N_ELEMENTS (fixed), self->table->columns->pdata[i]);
  for (guint i = 1; i < G_N_ELEMENTS (fixed); i++)
    add_column (self, i, _ (fixed[i].title));
}

static gboolean
has_same_columns (const LoomRunTable *a, const LoomRunTable *b)
{
  if (a == NULL || a->columns->len != b->columns->len)
    return FALSE;
  for (guint i = 0; i < a->columns->len; i++)
    if (!g_str_equal (a->columns->pdata[i], b->columns->pdata[i]))
      return FALSE;
  return TRUE;
}

/* Replaces only the part between the first and the last difference, so that the others keep selection and focus. */
static void
set_rows (Table *self, const GPtrArray *wanted)
{
  GListModel *rows = G_LIST_MODEL (self->rows);
  const guint have = g_list_model_get_n_items (rows), least = MIN (have, wanted->len);
  g_autoptr (GPtrArray) now = g_ptr_array_new_with_free_func (g_object_unref);
  guint first = 0, last = 0;

  for (guint i = 0; i < have; i++)
    g_ptr_array_add (now, g_list_model_get_item (rows, i));
  while (first < least && now->pdata[first] == wanted->pdata[first])
    first++;
  while (last < least - first && now->pdata[have - 1 - last] == wanted->pdata[wanted->len - 1 - last])
    last++;
  if (first + last < MAX (have, wanted->len))
    g_list_store_splice (self->rows, first, have - first - last, wanted->pdata + first, wanted->len - first - last);
}

/* While a run trains it has new values every few seconds: rows and columns stay if they are the same. */
static void
update (Table *self)
{
  /* Hidden views are filled when they are shown. */
  if (!gtk_widget_get_mapped (self->view))
    return;
  g_autoptr (GPtrArray) chosen = studio_runs_dup_chosen (self->runs, TRUE);
  g_autofree char *words = NULL;
  g_autoptr (LoomRunTable) before = g_steal_pointer (&self->table);
  GHashTableIter iter;
  gpointer item, column;

  g_ptr_array_set_size (self->summaries, 0);
  for (guint i = 0; i < chosen->len; i++)
    g_ptr_array_add (self->summaries, loom_run_summary_ref ((LoomRunSummary *)studio_run_entry_get (chosen->pdata[i])));
  self->table = loom_run_table_new (self->summaries);
  if (!has_same_columns (before, self->table))
    make_columns (self);
  set_rows (self, chosen);
  g_hash_table_iter_init (&iter, self->cells);
  while (g_hash_table_iter_next (&iter, &item, &column))
    fill (self, item, GPOINTER_TO_UINT (column));
  words = self->table->columns->len == 0
              ? g_strdup (_ ("The settings and graphs of these runs do not differ."))
              : g_strdup_printf (ngettext ("%u setting differs.", "%u settings differ.", self->table->columns->len),
                                 self->table->columns->len);
  gtk_label_set_text (GTK_LABEL (self->words), words);
}

static void
table_free (gpointer data)
{
  Table *self = data;

  g_signal_handlers_disconnect_by_data (self->runs, self);
  g_object_unref (self->runs);
  g_object_unref (self->rows);
  g_ptr_array_unref (self->summaries);
  g_hash_table_unref (self->cells);
  g_clear_pointer (&self->table, loom_run_table_free);
  g_free (self);
}

static GtkWidget *
make (StudioRuns *runs)
{
  Table *self = g_new0 (Table, 1);
  GtkWidget *box = studio_template_new ("runs-table.ui");

  self->runs = g_object_ref (runs);
  self->rows = g_list_store_new (STUDIO_TYPE_RUN_ENTRY);
  g_autoptr (GtkSelectionModel) selection
      = GTK_SELECTION_MODEL (gtk_single_selection_new (g_object_ref (G_LIST_MODEL (self->rows))));
  self->summaries = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_run_summary_unref);
  self->cells = g_hash_table_new (NULL, NULL);
  STUDIO_TEMPLATE_FIELDS (box, self, view, words);
  gtk_column_view_set_model (GTK_COLUMN_VIEW (self->view), selection);
  g_object_set_data_full (G_OBJECT (box), "table", self, table_free);
  g_signal_connect_swapped (runs, "chosen-changed", G_CALLBACK (update), self);
  g_signal_connect_swapped (self->view, "map", G_CALLBACK (update), self);
  return box;
}

const RunsView runs_view_table = { .name = "table", .title = N_ ("Differences"), .make = make };
