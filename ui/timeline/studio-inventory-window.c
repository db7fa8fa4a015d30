/* The window with the table of parameters and, on a second page, the memory: totals by owner or of each rank, the
 * figures of the device's driver, and the table of nodes.
 *
 * The planned values come from `gradloom plan`, which runs when the window opens and when the graph has not changed for
 * REST_MS; the values of the run come from the worker whenever its memory changes. */
#include "ui/timeline/studio-inventory-window.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "engine/loom.h"
#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-tool-window.h"
#include "ui/run/run-report.h"
#include "ui/worker/studio-planner.h"
#include "ui/timeline/studio-inventory.h"
#include "ui/timeline/studio-rank-memory.h"

#define WIDTH     980
#define HEIGHT    460
#define REST_MS   500 /* without a change, before planning again */
#define MAX_BYTES (4 * 1024 * 1024)

enum
{
  PARAMETERS,
  MEMORY,
  N_PAGES
};
static const char *const forecast[N_PAGES] = { "--parameters", "--memory" };

typedef struct
{
  GtkWidget *stack; /* the table, or the reason why there is none */
  AdwStatusPage *nothing;
  GtkWidget *summary, *view;
  GtkSortListModel *model;
  GPtrArray *events; /* from `gradloom plan`; NULL: not known yet */
} Page;

typedef struct
{
  GtkWidget *window, *stack, *sums, *driver;
  StudioRankMemory *ranks; /* shown instead of the sums if there are several ranks */
  Page page[N_PAGES];
  StudioDocument *document;
  StudioRun *run;
  GCancellable *cancellable; /* of the calls to `gradloom plan` in flight */
  char *requested_key;       /* key of the last request: the hash of the graph and the number of ranks */
  GPtrArray *used;           /* events of the run; NULL: not known */
  guint rest;
  gboolean in_flight, again; /* a request for `taken` is in flight, and has to be repeated */
  gboolean filling;
} View;

/* ---- memory totals -------------------------------------------------------------------- */

static void
put_text (View *self, int column, int row, const char *text, gboolean heading)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), column == 0 ? 0 : 1);
  gtk_widget_add_css_class (label, heading ? "dim-label" : "numeric");
  gtk_grid_attach (GTK_GRID (self->sums), label, column, row, 1, 1);
}

static void
put_sum (View *self, int row, const char *title, const StudioInventorySum *sum)
{
  put_text (self, 0, row, title, TRUE);
  for (int o = 0; o <= LOOM_N_OWNERS; o++)
    {
      guint64 bytes = o < LOOM_N_OWNERS ? sum->owner[o] : sum->total;
      g_autofree char *text = bytes > 0 ? loom_bytes_to_string ((double)bytes) : g_strdup ("–");

      put_text (self, o + 1, row, text, FALSE);
    }
}

static gboolean
sum_of_run (View *self, StudioInventorySum *sum)
{
  const RunMemory *memory = studio_run_get_memory (self->run);

  *sum = (StudioInventorySum){ 0 };
  for (guint i = 0; i < memory->owners->len; i++)
    for (int o = 0; o < LOOM_N_OWNERS; o++)
      if (g_str_equal (memory->owners->pdata[i], loom_owner_name ((LoomOwner)o)))
        {
          sum->owner[o] += g_array_index (memory->bytes, guint64, i);
          sum->total += g_array_index (memory->bytes, guint64, i);
        }
  return sum->total > 0;
}

static void
add_moment (GString *s, const char *format, guint64 bytes)
{
  g_autofree char *size = loom_bytes_to_string ((double)bytes);

  if (bytes == 0)
    return;
  g_string_append (s, " · ");
  g_string_append_printf (s, format, size);
}

/* The memory that the device's driver reports, now and at each phase of the run. */
static char *
driver_text (View *self)
{
  const StudioDriverMemory *driver = run_memory_get_driver (studio_run_get_memory (self->run));
  const char *device = studio_run_get_memory (self->run)->device;
  StudioInventorySum sum;

  if (!sum_of_run (self, &sum))
    return g_strdup (_ ("No run has used memory yet. Train to compare it with the plan."));
  if (driver == NULL)
    return g_strdup_printf (_ ("%s uses the host’s memory, which no driver reports."), device);
  g_autofree char *used = loom_bytes_to_string ((double)driver->used);
  g_autofree char *total = loom_bytes_to_string ((double)driver->total);
  g_autoptr (GString) s = g_string_new (NULL);
  if (driver->last == 0)
    g_string_append_printf (s, _ ("Driver of %1$s: %2$s of %3$s in use now"), device, used, total);
  else
    g_string_append_printf (s, _ ("Driver of %1$s: %2$s of %3$s in use at the end of the run"), device, used, total);
  add_moment (s, _ ("%s before the run"), driver->before);
  add_moment (s, _ ("peak through the first step: %s"), driver->first);
  add_moment (s, _ ("peak through the last step: %s"), driver->last);
  if (driver->last == 0)
    add_moment (s, _ ("peak so far: %s"), driver->peak);
  return g_strdup (s->str);
}

static void
show_sums (View *self, const StudioInventorySum *plan)
{
  StudioInventorySum used;
  g_autofree char *driver = driver_text (self);
  const StudioInventoryColumn *columns = studio_inventory_node_columns ();
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->sums)) != NULL)
    gtk_grid_remove (GTK_GRID (self->sums), child);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    put_text (self, o + 1, 0, _ (columns[STUDIO_INVENTORY_COLUMNS - LOOM_N_OWNERS + o].title), TRUE);
  put_text (self, LOOM_N_OWNERS + 1, 0, _ ("Total"), TRUE);
  put_sum (self, 1, _ ("Planned"), plan);
  if (sum_of_run (self, &used))
    put_sum (self, 2, _ ("In the Run"), &used);
  gtk_label_set_label (GTK_LABEL (self->driver), driver);
}

/* ---- rows ----------------------------------------------------------------------------- */

static void
show_message (Page *page, const char *title, const char *why)
{
  /* Errors quote elements, "<train>", and names of the file; the description is markup. */
  g_autofree char *escaped = why != NULL ? g_markup_escape_text (why, -1) : NULL;

  adw_status_page_set_title (page->nothing, title);
  adw_status_page_set_description (page->nothing, escaped);
  gtk_stack_set_visible_child_name (GTK_STACK (page->stack), "nothing");
}

/* Replaces the rows and keeps the selection. */
static void
show_rows (View *self, Page *page, GListStore *store)
{
  g_autoptr (GListStore) rows = store;
  GtkSingleSelection *selection = GTK_SINGLE_SELECTION (gtk_column_view_get_model (GTK_COLUMN_VIEW (page->view)));
  StudioInventoryRow *chosen = gtk_single_selection_get_selected_item (selection);
  g_autofree char *path = chosen != NULL ? g_strdup (chosen->path) : NULL;
  GListModel *sorted = G_LIST_MODEL (page->model);

  self->filling = TRUE;
  gtk_sort_list_model_set_model (page->model, G_LIST_MODEL (rows));
  for (guint i = 0; path != NULL && i < g_list_model_get_n_items (sorted); i++)
    {
      g_autoptr (StudioInventoryRow) row = g_list_model_get_item (sorted, i);

      if (g_strcmp0 (row->path, path) == 0)
        {
          gtk_single_selection_set_selected (selection, i);
          break;
        }
    }
  self->filling = FALSE;
  if (g_list_model_get_n_items (sorted) > 0)
    gtk_stack_set_visible_child_name (GTK_STACK (page->stack), "table");
  else
    show_message (page, _ ("No Parameters"),
                  _ ("This graph has no weights. Add a layer that has some, such as linear."));
}

static void
show_page (View *self, guint which)
{
  Page *page = &self->page[which];

  if (page->events == NULL)
    return;
  if (which == PARAMETERS)
    {
      g_autofree char *summary = NULL;

      show_rows (self, page, studio_inventory_parameters (page->events, &summary));
      gtk_label_set_label (GTK_LABEL (page->summary), summary);
    }
  else
    {
      StudioInventorySum plan;

      show_rows (self, page, studio_inventory_nodes (page->events, self->used, &plan));
      show_sums (self, &plan);
      gtk_widget_set_visible (gtk_widget_get_ancestor (self->sums, GTK_TYPE_SCROLLED_WINDOW),
                              !studio_rank_memory_set_planned (self->ranks, page->events));
    }
}

/* A call of the worker or of `gradloom plan` in flight; the window may be destroyed before it returns. */
typedef struct
{
  GtkWidget *window;
  guint which;
} PlanRequest;

static PlanRequest *
plan_request_new (View *self, guint which)
{
  PlanRequest *request = g_new0 (PlanRequest, 1);

  request->window = g_object_ref (self->window);
  request->which = which;
  return request;
}

static void
plan_request_free (PlanRequest *request)
{
  g_object_unref (request->window);
  g_free (request);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PlanRequest, plan_request_free)

static void
planned_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (PlanRequest) request = data;
  g_autoptr (GError) error = NULL;
  GPtrArray *events = studio_planner_run_finish (result, &error);
  View *self = g_object_get_data (G_OBJECT (request->window), "view");
  Page *page;

  if (self == NULL || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      g_clear_pointer (&events, g_ptr_array_unref);
      return;
    }
  page = &self->page[request->which];
  g_clear_pointer (&page->events, g_ptr_array_unref);
  page->events = events;
  /* After a failure the next request is sent even for the same graph. */
  if (events == NULL)
    {
      g_clear_pointer (&self->requested_key, g_free);
      show_message (page, _ ("Planning Failed"), error->message);
    }
  show_page (self, request->which);
}

static void
request_plan (View *self)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  g_autoptr (GError) error = NULL;
  int ranks = studio_run_get_ranks (self->run);
  g_autofree char *requested_key = g_strdup_printf ("%s %d", studio_document_hash (self->document), ranks), *xml = NULL;

  /* Moving a card changes no plan. */
  if (g_strcmp0 (requested_key, self->requested_key) == 0)
    return;
  xml = studio_document_dup_text_for_process (self->document, &error);
  for (guint i = 0; xml == NULL && i < N_PAGES; i++)
    show_message (&self->page[i], _ ("Planning Failed"), error->message);
  if (xml == NULL)
    return;
  g_free (self->requested_key);
  self->requested_key = g_steal_pointer (&requested_key);
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  self->cancellable = g_cancellable_new ();
  for (guint i = 0; i < N_PAGES; i++)
    studio_planner_run_async (xml, loom_graph_get_folder (graph), forecast[i], ranks > 1 ? ranks : 0, self->cancellable,
                              planned_cb, plan_request_new (self, i));
}

static gboolean
rest_cb (gpointer data)
{
  View *self = data;

  self->rest = 0;
  request_plan (self);
  return G_SOURCE_REMOVE;
}

static void
changed_cb (View *self)
{
  g_clear_handle_id (&self->rest, g_source_remove);
  self->rest = g_timeout_add (REST_MS, rest_cb, self);
}

static void request_run (View *self);

static void
taken_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (PlanRequest) request = data;
  View *self = g_object_get_data (G_OBJECT (request->window), "view");
  g_autoptr (GVariant) values = run_report_finish (source, result, NULL, NULL);
  gsize n;

  if (self == NULL)
    return;
  self->in_flight = FALSE;
  if (values != NULL)
    {
      const char *text = g_variant_get_fixed_array (values, &n, 1);

      g_clear_pointer (&self->used, g_ptr_array_unref);
      self->used = studio_planner_parse_events (text, n);
      show_page (self, MEMORY);
    }
  if (self->again)
    request_run (self);
}

static void
request_run (View *self)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);

  self->again = self->in_flight;
  if (proxy == NULL || self->in_flight)
    return;
  self->in_flight = TRUE;
  run_report_async (proxy, LOOM_SNAPSHOT_NODES, MAX_BYTES, NULL, taken_cb, plan_request_new (self, MEMORY));
}

static void
state_cb (StudioRun *run, View *self)
{
  if (studio_run_get_state (run) == STUDIO_RUN_STARTING)
    g_clear_pointer (&self->used, g_ptr_array_unref);
  request_run (self);
  show_page (self, MEMORY);
}

static void
memory_cb (StudioRun *run, View *self)
{
  request_run (self);
  if (!self->in_flight)
    show_page (self, MEMORY);
}

/* ---- selection ------------------------------------------------------------------------ */

/* A parameter's name begins with the path of its node. */
static void
chosen_cb (GtkSingleSelection *selection, GParamSpec *pspec, GtkWidget *window)
{
  View *self = g_object_get_data (G_OBJECT (window), "view");
  StudioInventoryRow *row = gtk_single_selection_get_selected_item (selection);
  g_autofree char *path = self != NULL && row != NULL && !self->filling ? g_strdup (row->path) : NULL;
  char *dot = path;

  while (dot != NULL && !studio_document_reveal (self->document, path))
    {
      dot = strrchr (path, '.');
      if (dot != NULL)
        *dot = '\0';
    }
}

/* ---- tables --------------------------------------------------------------------------- */

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  const StudioInventoryColumn *column = data;
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), column->is_number ? 1 : 0);
  gtk_widget_add_css_class (label, "numeric");
  gtk_list_item_set_child (item, label);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  StudioInventoryRow *row = gtk_list_item_get_item (item);

  gtk_label_set_label (GTK_LABEL (gtk_list_item_get_child (item)), row->text[GPOINTER_TO_UINT (data)]);
}

typedef struct
{
  guint column;
  gboolean is_number;
} Order;

static int
order_cb (gconstpointer a, gconstpointer b, gpointer data)
{
  const Order *order = data;

  return studio_inventory_compare (a, b, order->column, order->is_number);
}

static void
add_column (Page *page, const StudioInventoryColumn *columns, guint i)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  Order *order = g_new (Order, 1);
  g_autoptr (GtkSorter) sorter = NULL;
  g_autoptr (GtkColumnViewColumn) column = gtk_column_view_column_new (_ (columns[i].title), factory);

  *order = (Order){ i, columns[i].is_number };
  sorter = GTK_SORTER (gtk_custom_sorter_new (order_cb, order, g_free));
  g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), (gpointer)&columns[i]);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), GUINT_TO_POINTER (i));
  gtk_column_view_column_set_sorter (column, sorter);
  gtk_column_view_column_set_expand (column, i == 0);
  gtk_column_view_column_set_resizable (column, TRUE);
  gtk_column_view_append_column (GTK_COLUMN_VIEW (page->view), column);
}

static void
make_table (View *self, Page *page, const StudioInventoryColumn *columns)
{
  GtkSingleSelection *selection;
  GtkSorter *sorter;

  for (guint i = 0; columns[i].title != NULL; i++)
    add_column (page, columns, i);
  sorter = gtk_column_view_get_sorter (GTK_COLUMN_VIEW (page->view));
  page->model = gtk_sort_list_model_new (NULL, g_object_ref (sorter));
  selection = gtk_single_selection_new (G_LIST_MODEL (page->model));
  gtk_single_selection_set_autoselect (selection, FALSE);
  gtk_single_selection_set_can_unselect (selection, TRUE);
  gtk_single_selection_set_selected (selection, GTK_INVALID_LIST_POSITION);
  gtk_column_view_set_model (GTK_COLUMN_VIEW (page->view), GTK_SELECTION_MODEL (selection));
  g_signal_connect (selection, "notify::selected-item", G_CALLBACK (chosen_cb), self->window);
  g_object_unref (selection);
  show_message (page, _ ("Planning…"), NULL);
}

/* ---- the window ----------------------------------------------------------------------- */

static void
view_free (gpointer data)
{
  View *self = data;

  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_clear_handle_id (&self->rest, g_source_remove);
  g_signal_handlers_disconnect_by_data (self->run, self);
  g_signal_handlers_disconnect_by_data (self->document, self);
  for (guint i = 0; i < N_PAGES; i++)
    g_clear_pointer (&self->page[i].events, g_ptr_array_unref);
  g_clear_pointer (&self->used, g_ptr_array_unref);
  g_free (self->requested_key);
  g_object_unref (self->run);
  g_object_unref (self->document);
  g_free (self);
}

/* The widgets are destroyed with the window, but calls in flight still hold the view. */
static void
destroy_cb (GtkWidget *window, gpointer data)
{
  g_object_set_data (G_OBJECT (window), "view", NULL);
}

static GtkWidget *
new_window (GtkWindow *parent, StudioDocument *document, StudioRun *run)
{
  View *self = g_new0 (View, 1);
  GtkWidget *root = studio_template_new ("studio-inventory-window.ui");
  const double scale = MIN (studio_text_scale (GTK_WIDGET (parent)), 1.3);

  self->stack = root;
  self->window = studio_tool_window_new (parent, _ ("Parameters and Memory"), (int)(WIDTH * scale),
                                         (int)(HEIGHT * scale), root, root);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  STUDIO_TEMPLATE_FIELDS (root, self, sums, driver, page[PARAMETERS].stack, page[PARAMETERS].nothing,
                          page[PARAMETERS].summary, page[PARAMETERS].view, page[MEMORY].stack, page[MEMORY].nothing,
                          page[MEMORY].view);
  self->ranks = studio_rank_memory_new (run);
  gtk_box_insert_child_after (g_object_get_data (G_OBJECT (root), "memory"), GTK_WIDGET (self->ranks),
                              g_object_get_data (G_OBJECT (root), "sums_scroller"));
  make_table (self, &self->page[PARAMETERS], studio_inventory_parameter_columns ());
  make_table (self, &self->page[MEMORY], studio_inventory_node_columns ());
  g_object_set_data_full (G_OBJECT (self->window), "view", self, view_free);
  g_signal_connect (self->window, "destroy", G_CALLBACK (destroy_cb), NULL);
  g_signal_connect (run, "state-changed", G_CALLBACK (state_cb), self);
  g_signal_connect (run, "memory-changed", G_CALLBACK (memory_cb), self);
  g_signal_connect_swapped (run, "ranks-changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (document, "net-changed", G_CALLBACK (changed_cb), self);
  request_plan (self);
  request_run (self);
  return self->window;
}

void
studio_inventory_window_present (GtkWindow *parent, GtkWidget **window, StudioDocument *document, StudioRun *run,
                                 const char *page)
{
  View *self;

  if (*window == NULL)
    g_set_weak_pointer (window, new_window (parent, document, run));
  self = g_object_get_data (G_OBJECT (*window), "view");
  if (page != NULL)
    gtk_stack_set_visible_child_name (GTK_STACK (self->stack), page);
  gtk_window_present (GTK_WINDOW (*window));
}
