/* A page: makes the widgets that show a document, and wires them to each other.
 *
 * The page keeps the state of the view alone, such as a folded panel or a presentation that is on; facts about the
 * graph and the run are asked of the document and the run, so that nothing is kept twice. */
#include "ui/window/studio-page-private.h"

#include <glib/gi18n.h>

#include "ui/window/studio-start-page.h"
#include "ui/window/studio-toasts.h"
#include "ui/window/studio-tooltip.h"
#include "ui/run/studio-rank-count.h"
#include "ui/training/studio-training-settings.h"

G_DEFINE_FINAL_TYPE (StudioPage, studio_page, ADW_TYPE_BIN)

enum
{
  CHANGED,
  ROOM,
  ATTENTION,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

void
studio_page_changed (StudioPage *self)
{
  g_signal_emit (self, signals[CHANGED], 0);
}

/* NULL while it is in none: before it becomes a tab, and on its way from one window to another. */
GtkWindow *
studio_page_get_window (StudioPage *self)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  return GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL;
}

/* ---- sentences -------------------------------------------------------------------------- */

/* A toast of its own making has one line, and an ellipsis where a remedy would stand. */
static AdwToast *
new_toast (const char *sentence, gboolean markup)
{
  GtkWidget *label = gtk_label_new (NULL);
  if (markup)
    gtk_label_set_markup (GTK_LABEL (label), sentence);
  else
    gtk_label_set_text (GTK_LABEL (label), sentence);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 90);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  if (!markup)
    gtk_widget_add_css_class (label, "heading");
  AdwToast *toast = adw_toast_new ("");
  adw_toast_set_custom_title (toast, label);
  return toast;
}

void
studio_page_add_toast (StudioPage *self, AdwToast *toast)
{
  studio_toasts_add (self->toasts, toast);
  g_signal_emit (self, signals[ATTENTION], 0);
}

void
studio_page_toast (StudioPage *self, const char *sentence)
{
  studio_page_add_toast (self, new_toast (sentence, FALSE));
}

void
studio_page_toast_lasting (StudioPage *self, const char *heading, const char *sentence)
{
  g_autofree char *markup = g_markup_printf_escaped ("<b>%s</b>\n%s", heading, sentence);
  AdwToast *toast = new_toast (markup, TRUE);
  adw_toast_set_timeout (toast, 0);
  adw_toast_set_priority (toast, ADW_TOAST_PRIORITY_HIGH);
  studio_page_add_toast (self, toast);
}

/* ---- the document's news --------------------------------------------------------------- */

static void
changed_cb (StudioDocument *document, StudioPage *self)
{
  studio_page_update_layout (self);
  studio_page_update_actions (self);
  studio_page_update_title (self);
}

static void
file_changed_cb (StudioDocument *document, StudioPage *self)
{
  studio_page_update_title (self);
}

static void
selection_changed_cb (StudioDocument *document, StudioPage *self)
{
  studio_page_update_actions (self);
}

static void
inspect_cb (StudioCanvas *canvas, StudioPage *self)
{
  if (self->presenting)
    return;
  studio_panes_show_page (self->panes, "inspector");
  studio_inspector_focus (self->inspector);
}

static void
status_cb (StudioCanvas *canvas, const char *sentence, StudioPage *self)
{
  studio_page_toast (self, sentence);
}

static void
outline_activated_cb (StudioOutline *outline, const char *path, StudioPage *self)
{
  studio_canvas_focus_path (self->canvas, path);
}

static void
devices_cb (StudioPage *self)
{
  const char *const *names = studio_devices_get_names (studio_devices_get ());
  if (names == NULL)
    return;
  studio_run_panel_set_devices (self->run_panel, names);
  studio_inspector_set_devices (self->inspector, names);
  studio_canvas_set_devices (self->canvas, names);
  studio_page_changed (self);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void
make_parts (StudioPage *self)
{
  self->document = studio_document_new ();
  self->run = studio_run_new ();
  self->canvas = studio_canvas_new (self->document);
  gtk_overlay_set_child (GTK_OVERLAY (self->canvas_overlay), GTK_WIDGET (self->canvas));
  gtk_box_insert_child_after (GTK_BOX (self->middle), studio_canvas_breadcrumb_new (self->canvas), self->caption_card);
  self->start_page = GTK_WIDGET (studio_start_page_new ());
  gtk_overlay_add_overlay (GTK_OVERLAY (self->canvas_overlay), self->start_page);
  studio_start_page_watch_drags (STUDIO_START_PAGE (self->start_page), self->canvas_overlay);

  self->palette = studio_palette_new (self->document, self->canvas);
  self->outline = studio_outline_new (self->document);
  studio_panes_add_page (self->panes, STUDIO_PANE_START, GTK_WIDGET (self->palette), "palette", _ ("Layers"));
  studio_panes_add_page (self->panes, STUDIO_PANE_START, GTK_WIDGET (self->outline), "outline", _ ("Outline"));

  self->inspector = studio_inspector_new (self->document);
  GtkWidget *settings = GTK_WIDGET (studio_training_settings_new (self->document));
  studio_training_settings_set_ranks (STUDIO_TRAINING_SETTINGS (settings),
                                      studio_rank_count_spin_new (self->document, self->run));
  studio_inspector_set_empty_widget (self->inspector, settings);
  studio_panes_add_page (self->panes, STUDIO_PANE_END, GTK_WIDGET (self->inspector), "inspector", _ ("Parameters"));

  self->run_panel = studio_run_panel_new (self->document, self->run);
  gtk_paned_set_end_child (GTK_PANED (self->split), GTK_WIDGET (self->run_panel));
  self->run_bars = studio_run_banners_new (self->document, self->run);
  gtk_box_append (GTK_BOX (self->upper), GTK_WIDGET (self->run_bars));
  self->pins = studio_pins_new (self->document, self->canvas, self->run);
  self->times = studio_node_times_new (self->document, self->canvas, self->run);
  self->stages = studio_pipeline_stages_new (self->document, self->canvas);
  self->hover = studio_hover_values_new (self->document, self->canvas, self->run);
}

static void
make_menus (StudioPage *self)
{
  static const char *const zoom_menu[] = { "win.zoom-to-fit",
                                           "win.zoom-to-selection",
                                           "win.zoom-normal",
                                           "win.zoom-in",
                                           "win.zoom-out",
                                           NULL,
                                           "win.minimap",
                                           NULL,
                                           "win.wires::curved",
                                           "win.wires::right-angles",
                                           NULL,
                                           "win.shapes::sizes",
                                           "win.shapes::names",
                                           "win.shapes::numbers",
                                           "win.types",
                                           NULL,
                                           "win.cost::none",
                                           "win.cost::parameters",
                                           "win.cost::operations",
                                           "win.cost::activations",
                                           "win.cost::time",
                                           NULL,
                                           NULL };
  g_autoptr (GMenuModel) menu = studio_commands_menu (zoom_menu);
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->zoom_button), menu);
}

static void
connect_parts (StudioPage *self)
{
  g_signal_connect (self->document, "changed", G_CALLBACK (changed_cb), self);
  g_signal_connect (self->document, "file-changed", G_CALLBACK (file_changed_cb), self);
  g_signal_connect (self->document, "selection-changed", G_CALLBACK (selection_changed_cb), self);
  g_signal_connect_swapped (self->disk_bar, "notify::reveal-child", G_CALLBACK (studio_page_update_actions), self);
  g_signal_connect (self->canvas, "inspect", G_CALLBACK (inspect_cb), self);
  g_signal_connect (self->canvas, "status", G_CALLBACK (status_cb), self);
  g_signal_connect (self->outline, "activated", G_CALLBACK (outline_activated_cb), self);
  /* Out of a field the keyboard goes back to the card that it came from. */
  g_signal_connect_swapped (self->inspector, "left", G_CALLBACK (studio_page_focus), self);
  g_signal_connect_object (studio_devices_get (), "changed", G_CALLBACK (devices_cb), self, G_CONNECT_SWAPPED);
}

static void
studio_page_init (StudioPage *self)
{
  g_autoptr (GError) error = NULL;
  g_type_ensure (STUDIO_TYPE_PANES);
  gtk_widget_init_template (GTK_WIDGET (self));
  make_parts (self);
  studio_page_install_actions (self);
  studio_page_setup_panes (self);
  studio_page_setup_view (self);
  make_menus (self);
  studio_page_setup_status (self);
  studio_page_setup_faults (self);
  studio_page_setup_disk (self);
  studio_page_setup_presentation (self);
  studio_page_setup_lesson (self);
  studio_page_setup_compare (self);
  studio_page_setup_slides (self);
  studio_page_setup_task (self);
  studio_page_setup_run (self);
  connect_parts (self);
  if (!studio_document_keep_journal (self->document, NULL, &error))
    studio_page_toast (self, error->message);
  devices_cb (self);
  studio_hide_tooltip_under_menu (self->zoom_button);
  changed_cb (self->document, self);
}

static void
page_dispose (GObject *object)
{
  StudioPage *self = STUDIO_PAGE (object);
  GObject *const parts[]
      = { G_OBJECT (self->document), G_OBJECT (self->canvas), G_OBJECT (self->inspector), G_OBJECT (self->outline) };
  for (guint i = 0; self->document != NULL && i < G_N_ELEMENTS (parts); i++)
    g_signal_handlers_disconnect_by_data (parts[i], self);
  if (self->run != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->run, self);
      studio_run_close (self->run);
    }
  g_clear_handle_id (&self->elsewhere_timer, g_source_remove);
  g_clear_object (&self->chooser);
  if (self->timeline != NULL)
    gtk_window_destroy (GTK_WINDOW (self->timeline));
  g_clear_weak_pointer (&self->timeline);
  if (self->inventory != NULL)
    gtk_window_destroy (GTK_WINDOW (self->inventory));
  g_clear_weak_pointer (&self->inventory);
  g_clear_weak_pointer (&self->question);
  g_clear_weak_pointer (&self->lr_return);
  studio_page_dispose_actions (self);
  studio_page_dispose_lesson (self);
  studio_page_dispose_slides (self);
  g_clear_object (&self->task);
  g_clear_object (&self->pins);
  g_clear_object (&self->times);
  g_clear_object (&self->stages);
  g_clear_object (&self->hover);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_page_parent_class)->dispose (object);
}

static void
page_finalize (GObject *object)
{
  StudioPage *self = STUDIO_PAGE (object);
  g_free (self->title);
  g_free (self->subtitle);
  G_OBJECT_CLASS (studio_page_parent_class)->finalize (object);
}

static void
studio_page_class_init (StudioPageClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = page_dispose;
  G_OBJECT_CLASS (klass)->finalize = page_finalize;
  gtk_widget_class_set_template_from_resource (widget_class, "/org/gradloom/Studio/studio-page.ui");
#define CHILD(name) gtk_widget_class_bind_template_child (widget_class, StudioPage, name)
  CHILD (toasts);
  CHILD (disk_bar);
  CHILD (disk_notice);
  CHILD (disk_label);
  CHILD (disk_reload);
  CHILD (disk_save);
  CHILD (disk_dismiss);
  CHILD (split);
  CHILD (upper);
  CHILD (middle);
  CHILD (panes);
  CHILD (canvas_overlay);
  CHILD (stage);
  CHILD (caption_card);
  CHILD (caption_label);
  CHILD (note_scroller);
  CHILD (notes);
  CHILD (slide_label);
  CHILD (key_card);
  CHILD (key_label);
  CHILD (lr_card);
  CHILD (lr_card_entry);
  CHILD (status_line);
  CHILD (faults_button);
  CHILD (totals_label);
  CHILD (zoom_button);
#undef CHILD
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (((const char *const[]){ "changed", "room", "attention" })[i], STUDIO_TYPE_PAGE,
                               G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

StudioPage *
studio_page_new (void)
{
  return g_object_new (STUDIO_TYPE_PAGE, NULL);
}

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

void
studio_page_focus (StudioPage *self)
{
  if (studio_page_get_window (self) != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}
