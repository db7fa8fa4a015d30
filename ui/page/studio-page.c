/* A page owns the parts of studio-page-private.h, and connects their signals. */
#include "ui/page/studio-page-private.h"

#include <glib/gi18n.h>

#include "ui/canvas/studio-minimap.h"
#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/page/open-documents.h"
#include "ui/page/page-actions.h"
#include "ui/page/page-dump.h"
#include "ui/page/pane-actions.h"
#include "ui/page/run-settings.h"
#include "ui/page/studio-live-numbers.h"
#include "ui/page/view-actions.h"
#include "ui/worker/studio-devices.h"
#include "ui/run/studio-rank-count.h"
#include "ui/shell/studio-toasts.h"
#include "ui/training/studio-training-settings.h"

/* Text of this scale is large enough for the last row of a lecture room. */
#define LARGE_TEXT 1.5

G_DEFINE_FINAL_TYPE (StudioPage, studio_page, ADW_TYPE_BIN)

enum
{
  CHANGED,
  SIZE_CLASS,
  ATTENTION,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* ---- updates ------------------------------------------------------------------------------------ */

static void
update_actions (StudioPage *self)
{
  const PageFacts facts = {
    .document = self->document,
    .run = self->run,
    .is_comparing = studio_comparing_is_on (self->comparing),
    .is_presenting = studio_presentation_is_on (self->presentation),
    .has_disk_notice = studio_disk_bar_is_shown (self->disk_bar),
    .has_proposal = studio_proposal_bar_is_shown (self->proposal_bar),
    .is_proposal_on = studio_proposal_bar_is_on (self->proposal_bar),
    .is_start_dismissed = self->start_cover.is_dismissed,
  };
  page_actions_update (G_ACTION_MAP (self->actions), &facts);
  g_signal_emit (self, signals[CHANGED], 0);
}

/* The panel of a run that has begun paused is shown with its first step. */
static void
numbers_cb (StudioPage *self)
{
  if (!studio_panel_split_is_available (self->panel_split)
      && loom_series_length (studio_run_get_train (self->run, -1)) > 0)
    studio_page_show_panel (self);
}

static void
memory_cb (StudioPage *self)
{
  g_signal_emit (self, signals[CHANGED], 0);
}

static void
update_title (StudioPage *self)
{
  const gboolean changed = page_title_update (&self->title, self->document, self->run);
  g_object_set (self->status_line, "totals", self->title.totals, NULL);
  if (changed)
    g_signal_emit (self, signals[CHANGED], 0);
}

static void
update_layout (StudioPage *self)
{
  const gboolean presenting = studio_presentation_is_on (self->presentation);
  studio_start_cover_update (&self->start_cover, presenting);
  studio_run_banners_set_presenting (self->run_bars, presenting);
  studio_panes_set_available (self->panes, STUDIO_PANE_START, !presenting);
  studio_panes_set_available (self->panes, STUDIO_PANE_END, !presenting && !studio_document_is_empty (self->document));
  gtk_widget_set_visible (GTK_WIDGET (self->status_line), !presenting);
}

/* A window cannot be narrower than any of its pages, so one that is hidden takes as little as it can. */
static void
update_size_class (StudioPage *self)
{
  const StudioSizeClass size_class
      = gtk_widget_get_mapped (GTK_WIDGET (self)) ? studio_panes_get_size_class (self->panes) : STUDIO_SIZE_CLASS_TINY;
  const gboolean narrow = size_class != STUDIO_SIZE_CLASS_WIDE;
  studio_disk_bar_set_narrow (self->disk_bar, narrow);
  studio_proposal_bar_set_narrow (self->proposal_bar, narrow);
  studio_run_banners_set_narrow (self->run_bars, narrow);
  studio_start_page_set_size_class (self->start_cover.page, size_class);
}

static void
update_devices (StudioPage *self)
{
  const char *const *names = studio_devices_get_names (studio_devices_get ());
  if (names == NULL)
    return;
  studio_run_panel_set_devices (self->run_panel, names);
  studio_inspector_set_devices (self->inspector, names);
  studio_canvas_set_devices (self->canvas, names);
  g_signal_emit (self, signals[CHANGED], 0);
}

/* The document has another graph. */
static void
opened_cb (gpointer data)
{
  StudioPage *self = data;
  update_actions (self);
  update_layout (self);
  update_title (self);
}

/* ---- signals of the parts ------------------------------------------------------------------------ */

static void
changed_cb (StudioPage *self)
{
  update_layout (self);
  update_actions (self);
  update_title (self);
}

static void
panes_changed_cb (StudioPage *self)
{
  update_size_class (self);
  g_signal_emit (self, signals[SIZE_CLASS], 0);
}

/* Only a presentation makes the panes unavailable. */
static void
panes_wanted_cb (StudioPage *self)
{
  gtk_widget_activate_action (GTK_WIDGET (self), "win.present", NULL);
}

static void
inspect_cb (StudioPage *self)
{
  if (!studio_presentation_is_on (self->presentation))
    studio_navigation_inspect (&self->navigation);
}

static void
presentation_cb (StudioPage *self)
{
  const gboolean on = studio_presentation_is_on (self->presentation);
  studio_run_panel_set_presentation (self->run_panel, on);
  studio_pins_set_presentation (self->views.pins, on ? self->stage : NULL);
  studio_task_tab_present (self->task_tab, on);
  studio_panel_split_set_presenting (self->panel_split, on);
  update_layout (self);
}

static void
learning_rate_cb (StudioPage *self)
{
  studio_panel_split_show (self->panel_split);
  studio_run_panel_focus_learning_rate (self->run_panel);
}

static gboolean
settled_cb (gpointer data)
{
  StudioPage *self = data;
  if (studio_panel_split_place (self->panel_split))
    return TRUE;
  studio_presentation_fit (self->presentation, gtk_widget_get_height (self->split));
  return FALSE;
}

static void
said_cb (gpointer self)
{
  g_signal_emit (self, signals[ATTENTION], 0);
}

/* Typed text becomes part of the document first, because a key does not take the focus from its field. */
static void
before_command_cb (const char *name, gpointer data)
{
  StudioPage *self = data;
  studio_inspector_commit_typed (self->inspector);
  studio_recording_bar_take_command (self->recording_bar, name);
}

/* ---- parts ----------------------------------------------------------------------------------------- */

static void
make_canvas (StudioPage *self)
{
  self->canvas = studio_canvas_new (self->document);
  gtk_overlay_set_child (GTK_OVERLAY (self->canvas_overlay), GTK_WIDGET (self->canvas));
  gtk_box_insert_child_after (GTK_BOX (self->middle), studio_canvas_breadcrumb_new (self->canvas),
                              GTK_WIDGET (self->caption));
  self->start_cover = (StudioStartCover){ self->document, self->canvas, studio_start_page_new (), FALSE };
  gtk_overlay_add_overlay (GTK_OVERLAY (self->canvas_overlay), GTK_WIDGET (self->start_cover.page));
  studio_start_page_watch_drags (self->start_cover.page, self->canvas_overlay);
  self->fitter = canvas_fitter_new (self->canvas, settled_cb, self);
}

static void
make_panes (StudioPage *self)
{
  self->palette = studio_palette_new (self->document, self->canvas);
  self->outline = studio_outline_new (self->document);
  studio_panes_add_page (self->panes, STUDIO_PANE_START, GTK_WIDGET (self->palette), "palette", _ ("Layers"));
  studio_panes_add_page (self->panes, STUDIO_PANE_START, GTK_WIDGET (self->outline), "outline", _ ("Outline"));

  self->inspector = studio_inspector_new (self->document);
  self->training = studio_training_settings_new (self->document);
  studio_training_settings_set_ranks (self->training, studio_rank_count_spin_new (self->document, self->run));
  studio_training_settings_set_live (self->training, studio_live_numbers_new (self->document, self->run));
  studio_inspector_set_empty_widget (self->inspector, GTK_WIDGET (self->training));
  studio_panes_add_page (self->panes, STUDIO_PANE_END, GTK_WIDGET (self->inspector), "inspector", _ ("Parameters"));
}

static void
make_run (StudioPage *self)
{
  self->run_panel = studio_run_panel_new (self->document, self->run);
  self->panel_split = studio_panel_split_new (GTK_PANED (self->split), GTK_WIDGET (self->run_panel));
  self->forecast = studio_memory_forecast_new (self->document, self->run);
  self->run_bars = studio_run_banners_new (self->document, self->run, self->forecast);
  gtk_box_append (GTK_BOX (self->upper), GTK_WIDGET (self->run_bars));
  self->views = (PageRunViews){ self->document, self->canvas, self->run, self->panes, self->toasts };
  page_run_views_init (&self->views, GTK_OVERLAY (self->canvas_overlay), GTK_BOX (self->upper));
}

static void
make_files (StudioPage *self)
{
  self->questions = studio_questions_new (GTK_WIDGET (self));
  self->saver = studio_saver_new (self->document, self->toasts, self->questions);
  self->guard = studio_guard_new (self->document, self->run, self->saver, self->questions);
  self->runner = studio_runner_new (self->document, self->run, self->toasts, self->questions);
  self->windows = studio_run_windows_new (self->document, self->run, self->toasts);
  self->dock = studio_timeline_dock_new (self->upper, self->run);
}

static void
make_status_line (StudioPage *self)
{
  self->faults = studio_fault_list_new (self->document, self->canvas, self->toasts);
  studio_status_line_set_parts (self->status_line, self->canvas, self->faults);
  self->health_line = studio_health_line_new (self->views.health, self->runner);
  studio_status_line_set_health (self->status_line, GTK_WIDGET (self->health_line));
  studio_disk_bar_set_document (self->disk_bar, self->document);
}

static void
make_presentation (StudioPage *self)
{
  self->slides = studio_slides_new (self->document);
  self->present_layer = studio_present_layer_new (self->canvas);
  gtk_overlay_add_overlay (GTK_OVERLAY (self->canvas_overlay), GTK_WIDGET (self->present_layer));
  const StudioPresentationParts parts = {
    .document = self->document,
    .run = self->run,
    .canvas = self->canvas,
    .pins = self->views.pins,
    .slides = self->slides,
    .layer = self->present_layer,
    .caption = self->caption,
    .keys = self->key_card,
    .rate = self->rate_card,
    .toasts = self->toasts,
  };
  self->presentation = studio_presentation_new (&parts);
}

static void
make_tabs (StudioPage *self)
{
  self->lesson_tab
      = studio_lesson_tab_new (self->document, self->run, self->canvas, self->palette, self->panes, self->toasts);
  self->handing_in = studio_handing_in_new (self->document, self->run, studio_lesson_tab_get_lesson (self->lesson_tab),
                                            self->toasts, self->questions);
  self->comparing = studio_comparing_new (self->document, self->run, self->canvas, self->panes, self->toasts);
  studio_proposal_bar_set (self->proposal_bar, self->document, self->comparing);
  studio_recording_bar_set (self->recording_bar, self->document, self->run);
  self->slides_tab = studio_slides_tab_new (self->document, self->canvas, self->slides, self->panes);
  self->task_tab = studio_task_tab_new (self->document, self->run, self->canvas, self->panes, self->stage);
  studio_pins_set_task (self->views.pins, studio_task_tab_get_task (self->task_tab));
  self->evaluate_tab = studio_evaluate_tab_new (self->document, self->run, self->canvas, self->panes);
  self->runs_tab = studio_runs_tab_new (&(StudioRunsTabParts){ self->document, self->run, self->canvas, self->panes,
                                                               self->runner, self->run_panel, self->panel_split,
                                                               self->comparing, self->toasts });
  studio_guard_set_queue (self->guard, studio_runs_tab_get_queue (self->runs_tab));
  self->content = (PageContent){
    self->document,     self->run,        self->recording_bar, self->panel_split, self->runner, self->fitter,
    &self->start_cover, self->lesson_tab, self->task_tab,      opened_cb,         self
  };
  self->history_tab = (PageTab){ &page_tab_history, self->document,  self->canvas,    self->run,
                                 self->panes,       self->comparing, &self->exporter, NULL };
  self->pytorch_tab = self->steps_tab = self->gradient_tab = self->history_tab;
  self->pytorch_tab.kind = &page_tab_pytorch;
  self->steps_tab.kind = &page_tab_steps;
  self->gradient_tab.kind = &page_tab_gradients;
}

static void
make_commands (StudioPage *self)
{
  GActionMap *map = G_ACTION_MAP (self->actions);
  self->exporter = (StudioExporter){ self->document, self->views.pins, self->run_panel,
                                     studio_task_tab_get_task (self->task_tab), self->toasts };
  self->exporting = (StudioExporting){ self->document, self->canvas, self->views.pins, self->run, self->toasts };
  self->layer_commands = (StudioLayerCommands){
    self->document, self->canvas,        self->palette,       self->views.pins, self->views.breakpoints,
    self->run,      self->views.stepper, self->views.instant, self->toasts
  };
  self->navigation = (StudioNavigation){ self->document, self->canvas,    self->panes,
                                         self->outline,  self->inspector, GTK_WIDGET (self->run_panel) };
  const gpointer parts[PAGE_N_PARTS] = {
    [PAGE_DOCUMENT] = self->document,
    [PAGE_CANVAS] = self->canvas,
    [PAGE_RUN] = self->run,
    [PAGE_RUNNER] = self->runner,
    [PAGE_WINDOWS] = self->windows,
    [PAGE_SAVER] = self->saver,
    [PAGE_DISK_BAR] = self->disk_bar,
    [PAGE_PROPOSAL_BAR] = self->proposal_bar,
    [PAGE_RECORDING] = self->recording_bar,
    [PAGE_EXPORTER] = &self->exporter,
    [PAGE_LAYER] = &self->layer_commands,
    [PAGE_COVER] = &self->start_cover,
    [PAGE_NAVIGATION] = &self->navigation,
    [PAGE_STATUS] = self->status_line,
    [PAGE_HEALTH] = self->health_line,
    [PAGE_HISTORY] = &self->history_tab,
    [PAGE_PYTORCH] = &self->pytorch_tab,
    [PAGE_COMPARING] = self->comparing,
    [PAGE_TASK] = self->task_tab,
    [PAGE_EVALUATE] = self->evaluate_tab,
    [PAGE_LESSON] = self->lesson_tab,
    [PAGE_SLIDES] = self->slides_tab,
    [PAGE_PRESENTATION] = self->presentation,
    [PAGE_STEPPER] = self->views.stepper,
    [PAGE_RUNS] = self->runs_tab,
    [PAGE_STEPS] = &self->steps_tab,
    [PAGE_EXPORTING] = &self->exporting,
    [PAGE_DOCK] = self->dock,
    [PAGE_GRADIENTS] = &self->gradient_tab,
  };
  memcpy (self->parts, parts, sizeof parts);
  self->target = (StudioCommandTarget){ self->parts, before_command_cb, self };
  page_commands_install (map, &self->target);
}

/* Actions with a state. */
static void
make_states (StudioPage *self)
{
  GActionMap *map = G_ACTION_MAP (self->actions);
  StudioMinimap *minimap = STUDIO_MINIMAP (studio_minimap_new (self->canvas));
  gtk_overlay_add_overlay (GTK_OVERLAY (self->canvas_overlay), GTK_WIDGET (minimap));
  page_actions_install_speed (map, self->run, self->run_panel);
  page_actions_install_panel (map, self->panel_split);
  pane_actions_install (map, self->panes);
  view_actions_install (map, self->canvas, minimap);
}

static void
journal_failed_cb (StudioPage *self, const char *sentence)
{
  studio_page_toast_lasting (self, _ ("Unsaved changes are not protected"), sentence);
}

#define CONNECT(part, signal, function) g_signal_connect_swapped (self->part, signal, G_CALLBACK (function), self)

static void
connect_parts (StudioPage *self)
{
  studio_comparing_watch_keys (self->comparing, GTK_WIDGET (self));
  CONNECT (document, "changed", changed_cb);
  CONNECT (document, "file-changed", update_title);
  CONNECT (document, "journal-failed", journal_failed_cb);
  CONNECT (document, "net-changed", update_title);
  CONNECT (document, "selection-changed", update_actions);
  CONNECT (run, "memory-changed", update_title);
  CONNECT (run, "memory-changed", memory_cb);
  g_signal_connect_object (self->forecast, "changed", G_CALLBACK (memory_cb), self, G_CONNECT_SWAPPED);
  CONNECT (run, "state-changed", update_actions);
  CONNECT (run, "numbers", numbers_cb);
  CONNECT (canvas, "inspect", inspect_cb);
  g_signal_connect_swapped (self->canvas, "status", G_CALLBACK (studio_toasts_say), self->toasts);
  g_signal_connect_swapped (self->outline, "activated", G_CALLBACK (studio_canvas_focus_path), self->canvas);
  /* When a field is left, the focus returns to the card. */
  CONNECT (inspector, "left", studio_page_focus);
  g_signal_connect_swapped (self->views.pins, "save", G_CALLBACK (studio_exporter_write_pin), &self->exporter);
  CONNECT (panes, "changed", panes_changed_cb);
  CONNECT (panes, "wanted", panes_wanted_cb);
  CONNECT (disk_bar, "notify::shown", update_actions);
  g_signal_connect (self, "map", G_CALLBACK (update_size_class), NULL);
  g_signal_connect (self, "unmap", G_CALLBACK (update_size_class), NULL);
  CONNECT (saver, "commit", studio_page_commit);
  CONNECT (runner, "started", studio_page_show_panel);
  g_signal_connect_swapped (self->runner, "resumed", G_CALLBACK (gtk_widget_grab_focus), self->canvas);
  g_signal_connect_swapped (self->runner, "faulty", G_CALLBACK (studio_status_line_show_faults), self->status_line);
  g_signal_connect_swapped (self->runner, "continued", G_CALLBACK (studio_run_banners_update_version), self->run_bars);
  g_signal_connect_swapped (self->faults, "read", G_CALLBACK (studio_runner_ask_to_read), self->runner);
  g_signal_connect_swapped (self->panel_split, "shown", G_CALLBACK (canvas_fitter_start), self->fitter);
  CONNECT (presentation, "changed", presentation_cb);
  CONNECT (presentation, "learning-rate", learning_rate_cb);
  g_signal_connect_swapped (self->presentation, "step", G_CALLBACK (studio_runner_step), self->runner);
  CONNECT (comparing, "changed", update_actions);
  CONNECT (proposal_bar, "notify::shown", update_actions);
  g_signal_connect_object (self->recording_bar, "say", G_CALLBACK (studio_toasts_say), self->toasts, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->proposal_bar, "say", G_CALLBACK (studio_toasts_say), self->toasts, G_CONNECT_SWAPPED);
  g_signal_connect_swapped (self->lesson_tab, "hand-in", G_CALLBACK (studio_handing_in_ask), self->handing_in);
  g_signal_connect_object (self->views.stepper, "begin", G_CALLBACK (studio_runner_prepare), self->runner,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->inspector, "sweep", G_CALLBACK (studio_runs_tab_sweep_node), self->runs_tab,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->training, "sweep", G_CALLBACK (studio_runs_tab_sweep), self->runs_tab,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (studio_devices_get (), "changed", G_CALLBACK (update_devices), self, G_CONNECT_SWAPPED);
  studio_toasts_set_said_func (self->toasts, said_cb, self);
}

/* ---- object ----------------------------------------------------------------------------------------- */

static void
studio_page_init (StudioPage *self)
{
  g_autoptr (GError) error = NULL;
  const GType types[]
      = { STUDIO_TYPE_PANES,   STUDIO_TYPE_DISK_BAR, STUDIO_TYPE_PROPOSAL_BAR, STUDIO_TYPE_RECORDING_BAR,
          STUDIO_TYPE_CAPTION, STUDIO_TYPE_KEY_CARD, STUDIO_TYPE_RATE_CARD,    STUDIO_TYPE_STATUS_LINE };
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    g_type_ensure (types[i]);
  gtk_widget_init_template (GTK_WIDGET (self));
  self->document = studio_document_new ();
  open_documents_add (self->document, GTK_WIDGET (self));
  self->run = studio_run_new ();
  self->actions = g_simple_action_group_new ();
  make_canvas (self);
  make_panes (self);
  make_run (self);
  make_files (self);
  make_states (self);
  make_status_line (self);
  make_presentation (self);
  make_tabs (self);
  make_commands (self);
  connect_parts (self);
  update_size_class (self);
  page_content_open_tabs (&self->content);
  if (!studio_document_keep_journal (self->document, NULL, &error))
    studio_page_toast (self, error->message);
  update_devices (self);
  changed_cb (self);
}

/* Parts live for at most as long as what they refer to; actions may be held by a window for longer than the page. */
static void
page_dispose (GObject *object)
{
  StudioPage *self = STUDIO_PAGE (object);
  GObject *const parts[]
      = { G_OBJECT (self->document),  G_OBJECT (self->run),      G_OBJECT (self->canvas), G_OBJECT (self->panes),
          G_OBJECT (self->inspector), G_OBJECT (self->disk_bar), G_OBJECT (self->saver) };
  if (self->document != NULL)
    {
      for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
        g_signal_handlers_disconnect_by_data (parts[i], self);
      g_signal_handlers_disconnect_by_data (self->views.pins, &self->exporter);
      page_run_views_close (&self->views);
      studio_toasts_set_said_func (self->toasts, NULL, NULL);
      studio_runner_close (self->runner);
      studio_saver_close (self->saver);
      studio_command_rows_disconnect (G_ACTION_MAP (self->actions));
      open_documents_remove (self->document);
    }
  g_clear_pointer (&self->windows, studio_run_windows_free);
  g_clear_pointer (&self->dock, studio_timeline_dock_free);
  g_clear_pointer (&self->fitter, canvas_fitter_free);
  g_clear_object (&self->actions);
  g_clear_object (&self->runs_tab);
  g_clear_object (&self->forecast);
  studio_start_cover_clear (&self->start_cover);
  g_clear_object (&self->task_tab);
  g_clear_object (&self->evaluate_tab);
  g_clear_object (&self->slides_tab);
  g_clear_object (&self->comparing);
  g_clear_object (&self->handing_in);
  g_clear_object (&self->lesson_tab);
  g_clear_object (&self->presentation);
  g_clear_object (&self->panel_split);
  g_clear_object (&self->runner);
  g_clear_object (&self->guard);
  g_clear_object (&self->saver);
  g_clear_object (&self->slides);
  page_run_views_clear (&self->views);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_page_parent_class)->dispose (object);
}

static void
page_finalize (GObject *object)
{
  StudioPage *self = STUDIO_PAGE (object);
  studio_questions_free (self->questions);
  page_title_clear (&self->title);
  G_OBJECT_CLASS (studio_page_parent_class)->finalize (object);
}

static void
studio_page_class_init (StudioPageClass *klass)
{
  page_commands_add ();
  G_OBJECT_CLASS (klass)->dispose = page_dispose;
  G_OBJECT_CLASS (klass)->finalize = page_finalize;
  STUDIO_TEMPLATE (klass, "studio-page.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioPage, toasts, disk_bar, proposal_bar, recording_bar, split, upper, middle,
                            panes, canvas_overlay, stage, caption, key_card, rate_card, status_line);
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (((const char *const[]){ "changed", "size-class", "attention" })[i], STUDIO_TYPE_PAGE,
                               G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

StudioPage *
studio_page_new (void)
{
  return g_object_new (STUDIO_TYPE_PAGE, NULL);
}

/* ---- parts for others ---------------------------------------------------------------------------- */

StudioDocument *
studio_page_get_document (StudioPage *self)
{
  return self->document;
}

StudioCanvas *
studio_page_get_canvas (StudioPage *self)
{
  return self->canvas;
}

StudioRun *
studio_page_get_run (StudioPage *self)
{
  return self->run;
}

StudioPanes *
studio_page_get_panes (StudioPage *self)
{
  return self->panes;
}

GActionGroup *
studio_page_get_actions (StudioPage *self)
{
  return G_ACTION_GROUP (self->actions);
}

const char *
studio_page_get_title (StudioPage *self)
{
  return self->title.title;
}

const char *
studio_page_get_subtitle (StudioPage *self)
{
  return self->title.subtitle;
}

const LoomOp *
studio_page_get_op_at_focus (StudioPage *self)
{
  return studio_layer_commands_get_op_at_focus (&self->layer_commands);
}

StudioMemoryForecast *
studio_page_get_forecast (StudioPage *self)
{
  return self->forecast;
}

const char *
studio_page_get_device (StudioPage *self)
{
  return run_settings_get_device (self->document);
}

/* ---- content ------------------------------------------------------------------------------------- */

gboolean
studio_page_is_untouched (StudioPage *self)
{
  return studio_document_is_empty (self->document) && studio_document_get_path (self->document) == NULL
         && studio_document_undo_name (self->document) == NULL && studio_document_redo_name (self->document) == NULL
         && studio_run_get_state (self->run) == STUDIO_RUN_IDLE && !studio_recording_bar_is_on (self->recording_bar);
}

static gboolean
focused (StudioPage *self, gboolean is_open)
{
  if (is_open)
    studio_page_focus (self);
  return is_open;
}

gboolean
studio_page_open_file (StudioPage *self, GFile *file, GError **error)
{
  return focused (self, page_content_open_file (&self->content, file, error));
}

gboolean
studio_page_open_text (StudioPage *self, const char *text, gssize length, GError **error)
{
  return focused (self, page_content_open_text (&self->content, text, length, error));
}

gboolean
studio_page_open_recording (StudioPage *self, const char *path, GError **error)
{
  return focused (self, page_content_open_recording (&self->content, path, error));
}

gboolean
studio_page_open_example (StudioPage *self, const char *name, GError **error)
{
  return focused (self, page_content_open_example (&self->content, name, error));
}

void
studio_page_reset (StudioPage *self)
{
  page_content_reset (&self->content);
}

gboolean
studio_page_recover (StudioPage *self, const char *journal, GError **error)
{
  return page_content_recover (&self->content, journal, error);
}

/* ---- leaving ------------------------------------------------------------------------------------- */

void
studio_page_commit (StudioPage *self)
{
  studio_navigation_commit (&self->navigation, GTK_WIDGET (self));
}

gboolean
studio_page_would_lose (StudioPage *self)
{
  return studio_guard_would_lose (self->guard);
}

void
studio_page_ask_to_leave (StudioPage *self, StudioPageThen then, StudioPageThen otherwise, gpointer data)
{
  studio_guard_ask_to_leave (self->guard, studio_after_new (self, (StudioThen)then, (StudioThen)otherwise, data));
}

void
studio_page_save_then (StudioPage *self, StudioPageThen then, StudioPageThen otherwise, gpointer data)
{
  studio_saver_save_before (self->saver, studio_after_new (self, (StudioThen)then, (StudioThen)otherwise, data));
}

gboolean
studio_page_is_asking (StudioPage *self)
{
  return studio_questions_is_asking (self->questions);
}

void
studio_page_let_go (StudioPage *self)
{
  studio_runner_close (self->runner);
  studio_document_close (self->document);
  studio_questions_detach (self->questions);
}

guint
studio_page_n_queued (StudioPage *self)
{
  return studio_guard_n_queued (self->guard);
}

char *
studio_page_dup_run_sentence (StudioPage *self)
{
  return studio_guard_dup_run_sentence (self->guard);
}

/* ---- sentences, focus, presentation ---------------------------------------------------------------- */

void
studio_page_add_toast (StudioPage *self, AdwToast *toast)
{
  studio_toasts_add (self->toasts, toast);
  said_cb (self);
}

void
studio_page_toast (StudioPage *self, const char *sentence)
{
  studio_toasts_say (self->toasts, sentence);
}

void
studio_page_toast_lasting (StudioPage *self, const char *heading, const char *sentence)
{
  studio_toasts_say_lasting (self->toasts, heading, sentence);
}

void
studio_page_focus (StudioPage *self)
{
  if (GTK_IS_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))))
    gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

void
studio_page_show_panel (StudioPage *self)
{
  studio_panel_split_show (self->panel_split);
}

void
studio_page_set_devices_button (StudioPage *self, GtkWidget *button)
{
  studio_run_windows_set_devices_button (self->windows, button);
}

void
studio_page_set_presenting (StudioPage *self, gboolean on)
{
  GtkWidget *widget = GTK_WIDGET (self);
  if (studio_presentation_is_on (self->presentation) == on)
    return;
  if (!on)
    gtk_widget_remove_css_class (widget, "presentation");
  else if (studio_text_scale (widget) < LARGE_TEXT)
    gtk_widget_add_css_class (widget, "presentation");
  studio_presentation_set_on (self->presentation, on);
  update_actions (self);
  studio_page_focus (self);
  canvas_fitter_start (self->fitter);
}

gboolean
studio_page_presenting_key (StudioPage *self, guint keyval, GdkModifierType state)
{
  return studio_presentation_key (self->presentation, keyval, state);
}

/* ---- tests ----------------------------------------------------------------------------------------- */

static PageDump
dump_of (StudioPage *self)
{
  return (PageDump){ &self->views,
                     self->slides,
                     self->present_layer,
                     self->recording_bar,
                     self->evaluate_tab,
                     self->runs_tab,
                     studio_presentation_is_on (self->presentation) };
}

void
studio_page_dump_cards (StudioPage *self)
{
  const PageDump dump = dump_of (self);
  page_dump_cards (&dump);
}

void
studio_page_dump_state (StudioPage *self)
{
  const PageDump dump = dump_of (self);
  page_dump_state (&dump);
}
