/* Implements studio-runs-pane.h. */
#include "ui/runs/studio-runs-pane.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/charts/studio-template.h"
#include "ui/runs/runs-view.h"
#include "ui/runs/studio-queue-box.h"
#include "ui/runs/studio-run-details.h"
#include "ui/runs/studio-run-rows.h"

static const RunsView *const views[] = { &runs_view_table, &runs_view_multiples, &runs_view_pareto };

struct _StudioRunsPane
{
  GtkBox parent_instance;
  StudioRuns *runs;
  StudioRunQueue *queue;
  GtkSingleSelection *selection;
  GtkWidget *view, *validation, *stack, *status, *queue_scroller, *list, *actions;
  StudioRunDetails *details;
  gboolean focus_wanted; /* of the list, when it has rows */
};

G_DEFINE_FINAL_TYPE (StudioRunsPane, studio_runs_pane, GTK_TYPE_BOX)

enum
{
  SAY,
  DELETE,
  COMPARE,
  ATTACH,
  FOLDER,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* ---- the selected run ---------------------------------------------------------------------- */

static StudioRunEntry *
selected (StudioRunsPane *self)
{
  return gtk_single_selection_get_selected_item (self->selection);
}

static void
selected_cb (StudioRunsPane *self)
{
  StudioRunEntry *entry = selected (self);

  studio_run_details_set (self->details, entry);
  gtk_widget_set_visible (self->actions, entry != NULL);
}

static void
choose (StudioRunsPane *self)
{
  StudioRunEntry *entry = selected (self);

  if (entry != NULL)
    studio_runs_choose (self->runs, entry, studio_run_entry_get_colour (entry) < 0);
}

static void
activate_cb (GtkListView *list, guint position, StudioRunsPane *self)
{
  gtk_single_selection_set_selected (self->selection, position);
  choose (self);
}

static void
emit_selected (StudioRunsPane *self, guint signal)
{
  StudioRunEntry *entry = selected (self);

  if (entry != NULL)
    g_signal_emit (self, signals[signal], 0, entry);
}

static void
delete_cb (StudioRunsPane *self)
{
  emit_selected (self, DELETE);
}

static void
compare_cb (StudioRunsPane *self)
{
  emit_selected (self, COMPARE);
}

static void
attach_cb (StudioRunsPane *self)
{
  emit_selected (self, ATTACH);
}

/* Before the list: Space would only select the row again. */
static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioRunsPane *self)
{
  /* The asterisk may be typed with Shift. */
  if ((state & gtk_accelerator_get_default_mod_mask () & ~GDK_SHIFT_MASK) != 0)
    return FALSE;
  if (key == GDK_KEY_space || key == GDK_KEY_KP_Space)
    choose (self);
  else if (key == GDK_KEY_F2)
    studio_run_details_focus_name (self->details);
  else if (key == GDK_KEY_Delete || key == GDK_KEY_KP_Delete)
    delete_cb (self);
  else if (key == GDK_KEY_asterisk || key == GDK_KEY_KP_Multiply)
    studio_run_details_toggle_star (self->details);
  else
    return FALSE;
  return TRUE;
}

static void
focus_list (StudioRunsPane *self)
{
  gtk_widget_grab_focus (self->list);
}

static void
say_cb (StudioRunsPane *self, const char *sentence)
{
  g_signal_emit (self, signals[SAY], 0, sentence);
}

static void
read_cb (StudioRunsPane *self)
{
  const gboolean has_rows = g_list_model_get_n_items (G_LIST_MODEL (self->runs)) > 0;

  if (self->focus_wanted && has_rows && (gtk_widget_get_state_flags (self->view) & GTK_STATE_FLAG_FOCUS_WITHIN) != 0)
    gtk_widget_grab_focus (self->list);
  self->focus_wanted = FALSE;
}

/* ---- status --------------------------------------------------------------------------------- */

static void
status_cb (StudioRunsPane *self)
{
  const guint n = g_list_model_get_n_items (G_LIST_MODEL (self->runs));
  g_autofree char *text = NULL, *leaf = NULL, *only = NULL;

  if (studio_runs_get_problem (self->runs) != NULL)
    text = loom_text_printable (studio_runs_get_problem (self->runs), TRUE, 400);
  else if (n == 0)
    text = g_strdup (studio_runs_is_reading (self->runs) ? _ ("Reading the runs…")
                                                         : _ ("There are no runs yet. Train the graph."));
  else if (studio_runs_get_only (self->runs) != NULL)
    {
      leaf = g_path_get_basename (studio_runs_get_only (self->runs));
      only = loom_text_printable (leaf, TRUE, 80);
      text = g_strdup_printf (ngettext ("%1$u run in %2$s", "%1$u runs in %2$s", n), n, only);
    }
  else
    text = g_strdup_printf (ngettext ("%u run in this folder", "%u runs in this folder", n), n);
  gtk_label_set_text (GTK_LABEL (self->status), text);
}

static void
view_cb (StudioRunsPane *self)
{
  const guint i = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->view));

  if (i <= G_N_ELEMENTS (views))
    gtk_stack_set_visible_child_name (GTK_STACK (self->stack), i == 0 ? "list" : views[i - 1]->name);
}

static void
validation_cb (StudioRunsPane *self)
{
  studio_runs_set_validation (self->runs, gtk_check_button_get_active (GTK_CHECK_BUTTON (self->validation)));
}

static void
folder_cb (StudioRunsPane *self)
{
  if (studio_runs_get_only (self->runs) != NULL)
    studio_runs_set_only (self->runs, NULL);
  else
    g_signal_emit (self, signals[FOLDER], 0);
}

/* ---- object ------------------------------------------------------------------------------------ */

static void
runs_pane_dispose (GObject *object)
{
  StudioRunsPane *self = STUDIO_RUNS_PANE (object);

  if (self->selection != NULL)
    g_signal_handlers_disconnect_by_data (self->selection, self);
  g_clear_object (&self->selection);
  g_clear_object (&self->runs);
  g_clear_object (&self->queue);
  G_OBJECT_CLASS (studio_runs_pane_parent_class)->dispose (object);
}

static void
studio_runs_pane_class_init (StudioRunsPaneClass *klass)
{
  const GType type = STUDIO_TYPE_RUNS_PANE;

  G_OBJECT_CLASS (klass)->dispose = runs_pane_dispose;
  signals[SAY] = studio_signal_new ("say", type, 1, G_TYPE_STRING);
  signals[DELETE] = studio_signal_new ("delete", type, 1, STUDIO_TYPE_RUN_ENTRY);
  signals[COMPARE] = studio_signal_new ("compare", type, 1, STUDIO_TYPE_RUN_ENTRY);
  signals[ATTACH] = studio_signal_new ("attach", type, 1, STUDIO_TYPE_RUN_ENTRY);
  signals[FOLDER] = studio_signal_new ("folder", type, 0);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "runspane");
  g_type_ensure (STUDIO_TYPE_RUN_DETAILS);
  STUDIO_TEMPLATE (klass, "studio-runs-pane.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioRunsPane, view, validation, stack, status, queue_scroller, list, actions,
                            details);
  STUDIO_TEMPLATE_CALLBACKS (klass, view_cb, folder_cb, activate_cb, key_cb, say_cb, focus_list, attach_cb, compare_cb,
                             delete_cb);
}

static void
studio_runs_pane_init (StudioRunsPane *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

GtkWidget *
studio_runs_pane_new (StudioRuns *runs, StudioRunQueue *queue)
{
  StudioRunsPane *self = g_object_new (STUDIO_TYPE_RUNS_PANE, NULL);
  g_autoptr (GtkListItemFactory) rows = studio_run_rows_new (runs);
  g_autoptr (GtkStringList) titles = gtk_string_list_new ((const char *const[]){ _ ("List"), NULL });
  GtkWidget *box = studio_queue_box_new (queue);

  self->runs = g_object_ref (runs);
  self->queue = g_object_ref (queue);
  studio_run_details_set_runs (self->details, runs);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->queue_scroller), box);
  /* An empty queue takes no space. */
  g_object_bind_property (box, "visible", self->queue_scroller, "visible", G_BINDING_SYNC_CREATE);
  self->selection = gtk_single_selection_new (g_object_ref (G_LIST_MODEL (runs)));
  gtk_list_view_set_factory (GTK_LIST_VIEW (self->list), rows);
  gtk_list_view_set_model (GTK_LIST_VIEW (self->list), GTK_SELECTION_MODEL (self->selection));
  gtk_check_button_set_active (GTK_CHECK_BUTTON (self->validation), studio_runs_get_validation (runs));
  g_signal_connect_swapped (self->validation, "toggled", G_CALLBACK (validation_cb), self);
  for (guint i = 0; i < G_N_ELEMENTS (views); i++)
    {
      gtk_stack_add_named (GTK_STACK (self->stack), views[i]->make (runs), views[i]->name);
      gtk_string_list_append (titles, _ (views[i]->title));
    }
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->view), G_LIST_MODEL (titles));
  studio_choice_set_name (GTK_DROP_DOWN (self->view), _ ("View"));
  g_signal_connect_swapped (self->selection, "notify::selected-item", G_CALLBACK (selected_cb), self);
  g_signal_connect_object (runs, "read", G_CALLBACK (status_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (runs, "items-changed", G_CALLBACK (status_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (runs, "read", G_CALLBACK (read_cb), self, G_CONNECT_SWAPPED);
  selected_cb (self);
  status_cb (self);
  return GTK_WIDGET (self);
}

void
studio_runs_pane_focus (StudioRunsPane *self)
{
  const gboolean has_rows = g_list_model_get_n_items (G_LIST_MODEL (self->runs)) > 0;

  self->focus_wanted = !has_rows;
  gtk_widget_grab_focus (has_rows ? self->list : self->view);
}

char *
studio_runs_pane_dump (StudioRunsPane *self)
{
  StudioRunEntry *entry = selected (self);
  g_autoptr (GPtrArray) chosen = studio_runs_dup_chosen (self->runs, FALSE);

  return g_strdup_printf ("view=%s\truns=%u\tchosen=%u\tselected=%s\tqueue=%u\treading=%d",
                          gtk_stack_get_visible_child_name (GTK_STACK (self->stack)),
                          g_list_model_get_n_items (G_LIST_MODEL (self->runs)), chosen->len,
                          entry != NULL ? loom_run_summary_name (studio_run_entry_get (entry)) : "-",
                          studio_run_queue_n (self->queue), studio_runs_is_reading (self->runs));
}
