/* Implements studio-steps-pane.h. The plan comes from studio-step-plan, the times of a recorded step from
 * studio-step-clock; both are asked only while the pane is visible. */
#include "ui/timeline/studio-steps-pane.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/timeline/studio-step-clock.h"
#include "ui/timeline/studio-step-plan.h"
#include "ui/timeline/studio-step-row.h"

#define MOST_SCALE     1.2 /* of the picture's height */
#define PICTURE_HEIGHT 172 /* that is always visible, at scale 1 */

struct _StudioStepsPane
{
  AdwBin parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioStepPlan *plan;
  StudioStepClock *clock;

  GListStore *rows;
  GtkFilterListModel *filtered;
  GtkCustomFilter *filter;
  GtkMultiSelection *selection;
  char *words; /* that are searched */

  GtkWidget *stack, *around, *view, *entry, *message, *times, *moment, *save;
  StudioStepPicture *picture;
  gboolean following; /* the document and the list follow each other: prevents recursion */
  gboolean lit;       /* the canvas dims cards for a moment */
  guint scroll;       /* idle source */
};

G_DEFINE_FINAL_TYPE (StudioStepsPane, studio_steps_pane, ADW_TYPE_BIN)

const StudioStepMemory *
studio_steps_pane_get_memory (StudioStepsPane *self)
{
  return studio_step_picture_get (self->picture);
}

GtkSelectionModel *
studio_steps_pane_get_rows (StudioStepsPane *self)
{
  return GTK_SELECTION_MODEL (self->selection);
}

StudioStepPicture *
studio_steps_pane_get_picture (StudioStepsPane *self)
{
  return self->picture;
}

/* ---- selection ---------------------------------------------------------------------- */

static gboolean
is_of_selected (StudioStepsPane *self, StudioScene *scene, const StudioStepRow *row)
{
  for (char **node = row->nodes; *node != NULL; node++)
    {
      const guint card = studio_scene_card_of (scene, *node);

      if (card != STUDIO_NO_ITEM && studio_document_is_selected (self->document, scene->item[card].serial))
        return TRUE;
    }
  return FALSE;
}

/* The list cannot scroll before its rows have been laid out. */
static gboolean
scroll_cb (gpointer data)
{
  StudioStepsPane *self = data;
  g_autoptr (GtkBitset) selected = gtk_selection_model_get_selection (GTK_SELECTION_MODEL (self->selection));

  self->scroll = 0;
  if (!gtk_bitset_is_empty (selected) && gtk_widget_get_mapped (self->view))
    gtk_widget_activate_action (self->view, "list.scroll-to-item", "u", gtk_bitset_get_minimum (selected));
  return G_SOURCE_REMOVE;
}

static void
follow_document (StudioStepsPane *self)
{
  const guint n = g_list_model_get_n_items (G_LIST_MODEL (self->filtered));
  StudioScene *scene = studio_document_get_scene (self->document);
  g_autoptr (GtkBitset) selected = gtk_bitset_new_empty (), mask = gtk_bitset_new_range (0, n);

  if (self->following || n == 0)
    return;
  for (guint i = 0; i < n && studio_document_n_selected (self->document) > 0; i++)
    {
      g_autoptr (StudioStepRow) row = g_list_model_get_item (G_LIST_MODEL (self->filtered), i);

      if (is_of_selected (self, scene, row))
        gtk_bitset_add (selected, i);
    }
  self->following = TRUE;
  gtk_selection_model_set_selection (GTK_SELECTION_MODEL (self->selection), selected, mask);
  self->following = FALSE;
  if (self->scroll == 0 && !gtk_bitset_is_empty (selected))
    self->scroll = g_idle_add (scroll_cb, self);
}

/* The cards of the selected steps become the selected cards. */
static void
selected_cb (StudioStepsPane *self)
{
  g_autoptr (GtkBitset) selected = gtk_selection_model_get_selection (GTK_SELECTION_MODEL (self->selection));
  StudioScene *scene = studio_document_get_scene (self->document);
  g_autoptr (GArray) serials = g_array_new (FALSE, FALSE, sizeof (guint64));
  GtkBitsetIter iter;
  guint at;

  if (self->following || scene == NULL)
    return;
  for (gboolean more = gtk_bitset_iter_init_first (&iter, selected, &at); more;
       more = gtk_bitset_iter_next (&iter, &at))
    {
      g_autoptr (StudioStepRow) row = g_list_model_get_item (G_LIST_MODEL (self->filtered), at);

      for (char **node = row->nodes; *node != NULL; node++)
        {
          const guint card = studio_scene_card_of (scene, *node);

          if (card != STUDIO_NO_ITEM)
            g_array_append_val (serials, scene->item[card].serial);
        }
    }
  self->following = TRUE;
  studio_document_select (self->document, (const guint64 *)(gpointer)serials->data, serials->len);
  self->following = FALSE;
}

/* Enter goes to the card, also inside a module. */
static void
activate_cb (GtkListView *view, guint position, StudioStepsPane *self)
{
  g_autoptr (StudioStepRow) row = g_list_model_get_item (G_LIST_MODEL (self->filtered), position);
  g_autofree char *path = row != NULL ? g_strdup (row->nodes[0]) : NULL;

  if (path == NULL)
    return;
  self->following = TRUE;
  if (studio_document_reveal (self->document, path))
    studio_canvas_focus_path (self->canvas, path);
  self->following = FALSE;
}

/* ---- a moment --------------------------------------------------------------------------- */

/* Dims the cards that have no memory at a moment; G_MAXUINT: none is dimmed. */
static void
light_cards (StudioStepsPane *self, guint moment)
{
  const StudioStepMemory *memory = studio_step_picture_get (self->picture);
  StudioScene *scene = studio_document_get_scene (self->document);
  g_autoptr (GPtrArray) ids = g_ptr_array_new ();
  g_autoptr (GPtrArray) alive = NULL;

  if (memory == NULL || moment == G_MAXUINT || scene == NULL)
    {
      if (self->lit)
        studio_canvas_set_spotlight (self->canvas, "", NULL);
      self->lit = FALSE;
      return;
    }
  alive = studio_step_memory_alive (memory, moment);
  for (guint i = 0; i < alive->len; i++)
    {
      const StudioStorage *s = alive->pdata[i];
      const guint card = s->node != NULL ? studio_scene_card_of (scene, s->node) : STUDIO_NO_ITEM;

      /* Weights and the optimiser's state are alive all the time, so they light nothing. */
      if (card != STUDIO_NO_ITEM && s->owner != LOOM_OWNER_PARAMETERS && s->owner != LOOM_OWNER_OPTIMIZER)
        g_ptr_array_add (ids, scene->item[card].id);
    }
  g_ptr_array_add (ids, NULL);
  studio_canvas_set_spotlight (self->canvas, studio_document_get_scope_path (self->document),
                               (const char *const *)ids->pdata);
  self->lit = TRUE;
}

static void
moment_cb (StudioStepPicture *picture, guint moment, StudioStepsPane *self)
{
  const StudioStepMemory *memory = studio_step_picture_get (picture);
  g_autofree char *text = memory != NULL && moment != G_MAXUINT ? studio_step_memory_describe (memory, moment) : NULL;

  light_cards (self, moment);
  gtk_label_set_label (GTK_LABEL (self->moment), text != NULL ? text : "");
  gtk_widget_set_visible (self->moment, text != NULL);
}

/* ---- what is shown ------------------------------------------------------------------------ */

static void
show_times (StudioStepsPane *self)
{
  const GArray *spans = studio_step_clock_get_spans (self->clock);
  g_autoptr (LoomTraceTimes) times = spans != NULL ? loom_trace_times_new (spans, 0) : NULL;
  const gboolean of_run = studio_step_plan_is_of_run (self->plan);
  const char *text = NULL;

  self->following = TRUE;
  switch (studio_step_rows_set_times (self->rows, times))
    {
    case STUDIO_STEP_TIMES_RUN:
      text = of_run ? _ ("The plan of the run. Times are those of a recorded step; ≈ are estimates.")
                    : _ ("The plan of this graph. Times are those of the last run's step; ≈ are estimates.");
      break;
    case STUDIO_STEP_TIMES_BENCH:
      text = _ ("Times were measured by gradloom bench on this machine.");
      break;
    case STUDIO_STEP_TIMES_ESTIMATED:
      text = of_run ? _ ("The plan of the run. Times are estimates of the cost table until a step is recorded.")
                    : _ ("Times are estimates of the cost table. A run measures them.");
      break;
    case STUDIO_STEP_TIMES_NONE:
    default:
      text = "";
    }
  self->following = FALSE;
  gtk_label_set_label (GTK_LABEL (self->times), text);
  follow_document (self);
}

void
studio_steps_pane_set_events (StudioStepsPane *self, GPtrArray *events)
{
  g_autoptr (GListStore) rows = studio_step_rows_new (events);

  self->following = TRUE;
  g_set_object (&self->rows, rows);
  gtk_filter_list_model_set_model (self->filtered, G_LIST_MODEL (rows));
  self->following = FALSE;
  studio_step_picture_set (self->picture, events != NULL ? studio_step_memory_new (events) : NULL);
  gtk_widget_set_sensitive (self->save, studio_step_picture_get (self->picture) != NULL);
  moment_cb (self->picture, studio_step_picture_get_moment (self->picture), self);
  show_times (self);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack),
                                    g_list_model_get_n_items (G_LIST_MODEL (rows)) > 0 ? "steps" : "message");
}

static void
plan_cb (StudioStepsPane *self)
{
  const char *message = studio_step_plan_get_message (self->plan);

  gtk_label_set_label (GTK_LABEL (self->message), message != NULL ? message : _ ("The step is being planned."));
  studio_steps_pane_set_events (self, studio_step_plan_get_events (self->plan));
}

static gboolean
match_cb (gpointer item, gpointer data)
{
  const StudioStepsPane *self = data;

  return self->words == NULL || *self->words == '\0' || strstr (STUDIO_STEP_ROW (item)->search, self->words) != NULL;
}

static void
search_cb (StudioStepsPane *self)
{
  g_free (self->words);
  self->words = g_utf8_casefold (gtk_editable_get_text (GTK_EDITABLE (self->entry)), -1);
  self->following = TRUE;
  gtk_filter_changed (GTK_FILTER (self->filter), GTK_FILTER_CHANGE_DIFFERENT);
  self->following = FALSE;
  follow_document (self);
}

/* The entry emits "search-changed" only when typing has paused. */
static void
entry_activate_cb (StudioStepsPane *self)
{
  search_cb (self);
  gtk_widget_grab_focus (self->view);
}

void
studio_steps_pane_focus (StudioStepsPane *self)
{
  gtk_widget_grab_focus (self->entry);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static GtkWidget *
row_label (GtkWidget *box)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  /* The natural width of a label that wraps is that of one line. */
  gtk_label_set_max_width_chars (GTK_LABEL (label), 30);
  gtk_box_append (GTK_BOX (box), label);
  return label;
}

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  g_object_set_data (G_OBJECT (box), "title", row_label (box));
  g_object_set_data (G_OBJECT (box), "operations", row_label (box));
  gtk_widget_add_css_class (g_object_get_data (G_OBJECT (box), "operations"), "caption");
  gtk_widget_add_css_class (g_object_get_data (G_OBJECT (box), "operations"), "numeric");
  gtk_list_item_set_child (item, box);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  StudioStepRow *row = gtk_list_item_get_item (item);
  GtkWidget *box = gtk_list_item_get_child (item), *title = g_object_get_data (G_OBJECT (box), "title");
  g_autofree char *spoken = studio_step_row_describe (row);

  gtk_label_set_text (GTK_LABEL (title), row->title);
  gtk_label_set_text (g_object_get_data (G_OBJECT (box), "operations"), row->operations);
  gtk_widget_set_margin_start (box, 12 * (int)row->depth);
  gtk_widget_set_tooltip_text (box, row->buffers);
  if (row->is_heading)
    gtk_widget_add_css_class (title, "heading");
  else
    gtk_widget_remove_css_class (title, "heading");
  gtk_list_item_set_selectable (item, !row->is_heading);
  gtk_list_item_set_activatable (item, !row->is_heading);
  gtk_accessible_update_property (GTK_ACCESSIBLE (box), GTK_ACCESSIBLE_PROPERTY_LABEL, spoken, -1);
  /* The focus is on the list's own widget around the row. */
  if (gtk_widget_get_parent (box) != NULL)
    gtk_accessible_update_property (GTK_ACCESSIBLE (gtk_widget_get_parent (box)), GTK_ACCESSIBLE_PROPERTY_LABEL, spoken,
                                    -1);
}

/* ---- object -------------------------------------------------------------------------------------- */

static void
map_cb (StudioStepsPane *self)
{
  const gboolean mapped = gtk_widget_get_mapped (GTK_WIDGET (self));

  studio_step_plan_watch (self->plan, mapped);
  studio_step_clock_watch (self->clock, mapped);
  if (!mapped)
    studio_step_picture_mark (self->picture, G_MAXUINT);
}

static void
steps_pane_dispose (GObject *object)
{
  StudioStepsPane *self = STUDIO_STEPS_PANE (object);

  g_clear_handle_id (&self->scroll, g_source_remove);
  if (self->plan != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->plan, self);
      g_signal_handlers_disconnect_by_data (self->clock, self);
      g_signal_handlers_disconnect_by_data (self->document, self);
      g_signal_handlers_disconnect_by_data (self->selection, self);
      gtk_custom_filter_set_filter_func (self->filter, NULL, NULL, NULL);
      if (self->lit)
        studio_canvas_set_spotlight (self->canvas, "", NULL);
      studio_step_plan_watch (self->plan, FALSE);
      studio_step_clock_watch (self->clock, FALSE);
    }
  g_clear_object (&self->plan);
  g_clear_object (&self->clock);
  g_clear_object (&self->selection);
  g_clear_object (&self->filtered);
  g_clear_object (&self->filter);
  g_clear_object (&self->rows);
  g_clear_object (&self->document);
  g_clear_object (&self->canvas);
  g_clear_pointer (&self->words, g_free);
  G_OBJECT_CLASS (studio_steps_pane_parent_class)->dispose (object);
}

static void
studio_steps_pane_class_init (StudioStepsPaneClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = steps_pane_dispose;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "stepspane");
  g_type_ensure (STUDIO_TYPE_STEP_PICTURE);
  STUDIO_TEMPLATE (klass, "studio-steps-pane.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioStepsPane, stack, around, view, entry, message, times, moment, save, picture);
  STUDIO_TEMPLATE_CALLBACKS (klass, search_cb, entry_activate_cb, moment_cb, activate_cb, setup_cb, bind_cb);
}

static void
studio_steps_pane_init (StudioStepsPane *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  self->rows = studio_step_rows_new (NULL);
  self->filter = gtk_custom_filter_new (match_cb, self, NULL);
  self->filtered
      = gtk_filter_list_model_new (g_object_ref (G_LIST_MODEL (self->rows)), g_object_ref (GTK_FILTER (self->filter)));
  self->selection = gtk_multi_selection_new (g_object_ref (G_LIST_MODEL (self->filtered)));
  g_signal_connect_swapped (self->selection, "selection-changed", G_CALLBACK (selected_cb), self);
  gtk_list_view_set_model (GTK_LIST_VIEW (self->view), GTK_SELECTION_MODEL (self->selection));
  /* With a large text the list, whose rows grow, too, needs the height. */
  gtk_scrolled_window_set_min_content_height (
      GTK_SCROLLED_WINDOW (self->around),
      (int)(PICTURE_HEIGHT * MIN (studio_text_scale (GTK_WIDGET (self)), MOST_SCALE)));
}

StudioStepsPane *
studio_steps_pane_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run)
{
  StudioStepsPane *self = g_object_new (STUDIO_TYPE_STEPS_PANE, NULL);

  self->document = g_object_ref (document);
  self->canvas = g_object_ref (canvas);
  self->plan = studio_step_plan_new (document, run);
  self->clock = studio_step_clock_new (run);
  moment_cb (self->picture, G_MAXUINT, self);
  g_signal_connect_swapped (self->plan, "changed", G_CALLBACK (plan_cb), self);
  g_signal_connect_swapped (self->clock, "changed", G_CALLBACK (show_times), self);
  g_signal_connect_swapped (document, "selection-changed", G_CALLBACK (follow_document), self);
  g_signal_connect (self, "map", G_CALLBACK (map_cb), NULL);
  g_signal_connect_after (self, "unmap", G_CALLBACK (map_cb), NULL);
  return self;
}
