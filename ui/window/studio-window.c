/* The window: makes the parts, wires them to each other, and decides what is seen.
 *
 * It holds no state of its own beyond that; what can be asked of the document or the run is asked there. */
#include "ui/window/studio-window-private.h"

#include "ui/charts/studio-text-scale.h"
#include "ui/window/studio-start-page.h"
#include "ui/training/studio-training-settings.h"

#define PANEL_HEIGHT 240
#define PANEL_SHARE  0.45
/* On the projector a map has two fifths of the height, and caption and keys have theirs. */
#define PRESENTED_SHARE 0.32

G_DEFINE_TYPE (StudioWindow, studio_window, ADW_TYPE_APPLICATION_WINDOW)

void
studio_window_toast (StudioWindow *self, const char *sentence)
{
  /* A toast of its own making has one line, and an ellipsis where a remedy would stand. */
  GtkWidget *label = gtk_label_new (sentence);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 90);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "heading");
  AdwToast *toast = adw_toast_new ("");
  adw_toast_set_custom_title (toast, label);
  adw_toast_overlay_add_toast (ADW_TOAST_OVERLAY (self->toasts), toast);
}

char *
studio_window_dup_selected_path (StudioWindow *self)
{
  if (studio_document_n_selected (self->document) != 1)
    return NULL;
  guint64 serial = studio_document_get_selected (self->document, 0);
  LoomElement *e = loom_graph_by_serial (studio_document_get_graph (self->document), serial);
  return e != NULL && loom_element_tag (e) == LOOM_TAG_NODE ? studio_document_dup_node_path (self->document, serial)
                                                            : NULL;
}

/* ---- what is seen -------------------------------------------------------------------- */

/* A pane that came or went changes the canvas's size only in the next frame or two. */
#define SETTLE_FRAMES 3

/* TRUE when the panel of a window that was not shown before has got its height just now. */
static gboolean
place_panel (StudioWindow *self)
{
  int height = gtk_widget_get_height (self->split);
  double large = CLAMP (studio_text_scale (GTK_WIDGET (self)), 1, 1.6);
  int wanted = (int)(PANEL_HEIGHT * (self->presenting ? MAX (large, 1.25) : large));
  /* Most of a small window is for the graph. */
  wanted = MIN (wanted, (int)((self->presenting ? PRESENTED_SHARE : PANEL_SHARE) * height));
  if (!self->panel_unplaced || height <= wanted)
    return FALSE;
  self->panel_unplaced = FALSE;
  gtk_paned_set_position (GTK_PANED (self->split), height - wanted);
  return TRUE;
}

static gboolean
fit_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  StudioWindow *self = STUDIO_WINDOW (data);
  if (gtk_widget_get_width (widget) <= 1 || --self->fit_frames > 0)
    return G_SOURCE_CONTINUE;
  if (place_panel (self))
    {
      self->fit_frames = SETTLE_FRAMES;
      return G_SOURCE_CONTINUE;
    }
  self->fit_frames = 0;
  studio_canvas_zoom_to_fit (self->canvas);
  return G_SOURCE_REMOVE;
}

void
studio_window_fit_soon (StudioWindow *self)
{
  if (self->fit_frames == 0)
    gtk_widget_add_tick_callback (GTK_WIDGET (self->canvas), fit_cb, self, NULL);
  self->fit_frames = SETTLE_FRAMES;
}

void
studio_window_update_layout (StudioWindow *self)
{
  gboolean empty = studio_document_is_empty (self->document);
  if (!empty)
    self->start_empty = FALSE;
  gboolean start = empty && !self->start_empty;
  gtk_widget_set_visible (self->start_page, start && !self->presenting);
  studio_canvas_set_bare (self->canvas, start && !self->presenting);
  studio_window_update_panes (self);
  gtk_widget_set_visible (self->status_line, !self->presenting);
  gtk_widget_set_visible (self->header, !self->presenting);
  gtk_widget_set_visible (GTK_WIDGET (self->run_panel), self->panel_shown && !self->panel_folded);
}

void
studio_window_show_panel (StudioWindow *self)
{
  if (self->panel_shown && !self->panel_folded)
    return;
  self->panel_folded = FALSE;
  self->panel_shown = TRUE;
  studio_window_update_layout (self);
  self->panel_unplaced = TRUE;
  place_panel (self);
  studio_window_fit_soon (self);
}

/* ---- the document's news --------------------------------------------------------------- */

static void
changed_cb (StudioDocument *document, StudioWindow *self)
{
  studio_window_update_layout (self);
  studio_window_update_actions (self);
  studio_window_update_title (self);
}

static void
file_changed_cb (StudioDocument *document, StudioWindow *self)
{
  studio_window_update_title (self);
}

static void
selection_changed_cb (StudioDocument *document, StudioWindow *self)
{
  studio_window_update_actions (self);
}

static void
inspect_cb (StudioCanvas *canvas, StudioWindow *self)
{
  if (self->presenting)
    return;
  studio_panes_show_page (self->panes, "inspector");
  studio_inspector_focus (self->inspector);
}

static void
status_cb (StudioCanvas *canvas, const char *sentence, StudioWindow *self)
{
  studio_window_toast (self, sentence);
}

static void
outline_activated_cb (StudioOutline *outline, const char *path, StudioWindow *self)
{
  studio_canvas_focus_path (self->canvas, path);
}

/* Why a file cannot be opened, with its line and what to do: too much for a toast, which shows one line of it. */
static void
say_cannot_open (StudioWindow *self, const char *path, const char *why)
{
  g_autofree char *name = g_path_get_basename (path), *prefix = g_strconcat (path, ": ", NULL);
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (self), NULL, NULL);
  adw_message_dialog_format_heading (ADW_MESSAGE_DIALOG (dialog), "“%s” cannot be opened", name);
  if (g_str_has_prefix (why, prefix))
    why += strlen (prefix);
  adw_message_dialog_format_body (ADW_MESSAGE_DIALOG (dialog), "%c%s", g_ascii_toupper (why[0]), why + (why[0] != 0));
  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "close", "_Close");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "close");
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "close");
  gtk_window_present (GTK_WINDOW (dialog));
}

void
studio_window_open_file (StudioWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);
  g_autoptr (GError) error = NULL;
  if (path == NULL)
    {
      studio_window_toast (self, "Only files of this computer can be opened.");
      return;
    }
  if (!studio_document_open (self->document, path, &error))
    {
      say_cannot_open (self, path, error->message);
      return;
    }
  g_autofree char *uri = g_file_get_uri (file);
  gtk_recent_manager_add_item (gtk_recent_manager_get_default (), uri);
  studio_window_setup_run (self);
  studio_document_select_only (self->document, 0);
  studio_window_update_layout (self);
  studio_window_fit_soon (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

/* ---- closing ------------------------------------------------------------------------------ */

/* A crash leaves the journal; who closes has answered for what is in it. */
static void
let_go (StudioWindow *self)
{
  studio_run_close (self->run);
  studio_document_close (self->document);
}

static void
close_then (StudioWindow *self, gpointer data)
{
  let_go (self);
  /* The dialog whose answer this is outlives the window, and would disconnect itself from what is gone. */
  if (self->question != NULL)
    gtk_window_set_transient_for (self->question, NULL);
  gtk_window_destroy (GTK_WINDOW (self));
}

/* GTK does nothing when a window is closed from within this, so a window that has nothing to ask lets it go on, and an
 * answer, which comes later, destroys the window itself. */
static gboolean
window_close_request (GtkWindow *window)
{
  StudioWindow *self = STUDIO_WINDOW (window);
  if (studio_window_would_lose (self))
    {
      studio_window_guard (self, TRUE, close_then, NULL, NULL);
      return TRUE;
    }
  let_go (self);
  return GTK_WINDOW_CLASS (studio_window_parent_class)->close_request (window);
}

/* ---- parts ----------------------------------------------------------------------------------- */

void
studio_window_hide_tooltip_behind (GtkWidget *menu_button)
{
  GtkPopover *popover = gtk_menu_button_get_popover (GTK_MENU_BUTTON (menu_button));
  if (popover != NULL)
    g_object_bind_property (popover, "visible", menu_button, "has-tooltip",
                            G_BINDING_SYNC_CREATE | G_BINDING_INVERT_BOOLEAN);
}

static void
make_parts (StudioWindow *self)
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
  studio_panes_add_page (self->panes, STUDIO_PANE_START, GTK_WIDGET (self->palette), "palette", "Layers");
  studio_panes_add_page (self->panes, STUDIO_PANE_START, GTK_WIDGET (self->outline), "outline", "Outline");

  self->inspector = studio_inspector_new (self->document);
  GtkWidget *settings = GTK_WIDGET (studio_training_settings_new (self->document));
  studio_inspector_set_empty_widget (self->inspector, settings);
  studio_panes_add_page (self->panes, STUDIO_PANE_END, GTK_WIDGET (self->inspector), "inspector", "Parameters");

  self->run_panel = studio_run_panel_new (self->document, self->run);
  gtk_paned_set_end_child (GTK_PANED (self->split), GTK_WIDGET (self->run_panel));
  self->run_bars = studio_run_bars_new (self->document, self->run);
  gtk_box_append (GTK_BOX (self->upper), GTK_WIDGET (self->run_bars));
  self->pins = studio_pins_new (self->document, self->canvas, self->run);
  self->times = studio_times_new (self->document, self->canvas, self->run);
  self->action_list = studio_action_list_new (GTK_WIDGET (self->canvas));
  gtk_overlay_add_overlay (GTK_OVERLAY (self->all), GTK_WIDGET (self->action_list));
}

static void
make_menus (StudioWindow *self)
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
studio_window_init (StudioWindow *self)
{
  g_type_ensure (STUDIO_TYPE_PANES);
  gtk_widget_init_template (GTK_WIDGET (self));
  make_parts (self);
  studio_window_install_actions (self);
  studio_window_setup_panes (self);
  studio_window_setup_view (self);
  make_menus (self);
  studio_window_setup_status (self);
  studio_window_setup_disk (self);
  studio_window_setup_presentation (self);
  studio_window_setup_frame (self);
  studio_window_setup_lesson (self);
  studio_window_setup_run (self);
  studio_window_fill_recent (self);
  g_signal_connect (self->document, "changed", G_CALLBACK (changed_cb), self);
  g_signal_connect (self->document, "file-changed", G_CALLBACK (file_changed_cb), self);
  g_signal_connect (self->document, "selection-changed", G_CALLBACK (selection_changed_cb), self);
  g_signal_connect_swapped (self->recover_bar, "notify::reveal-child", G_CALLBACK (studio_window_update_actions), self);
  g_signal_connect_swapped (self->disk_bar, "notify::reveal-child", G_CALLBACK (studio_window_update_actions), self);
  g_signal_connect (self->canvas, "inspect", G_CALLBACK (inspect_cb), self);
  g_signal_connect (self->canvas, "status", G_CALLBACK (status_cb), self);
  g_signal_connect (self->outline, "activated", G_CALLBACK (outline_activated_cb), self);
  /* Out of a field the keyboard goes back to the card that it came from. */
  g_signal_connect_swapped (self->inspector, "left", G_CALLBACK (gtk_widget_grab_focus), self->canvas);
  g_autoptr (GError) error = NULL;
  studio_window_offer_recovery (self);
  if (!studio_document_keep_journal (self->document, NULL, &error))
    studio_window_toast (self, error->message);
  studio_window_find_devices (self);
  studio_window_hide_tooltip_behind (self->menu_button);
  studio_window_hide_tooltip_behind (self->zoom_button);
  changed_cb (self->document, self);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

static void
window_dispose (GObject *object)
{
  StudioWindow *self = STUDIO_WINDOW (object);
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  if (self->run != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->run, self);
      studio_run_close (self->run);
    }
  g_clear_handle_id (&self->elsewhere_timer, g_source_remove);
  g_clear_object (&self->chooser);
  g_clear_weak_pointer (&self->question);
  g_clear_weak_pointer (&self->lr_return);
  g_clear_weak_pointer (&self->help);
  studio_window_dispose_lesson (self);
  g_clear_object (&self->pins);
  g_clear_object (&self->times);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  g_clear_pointer (&self->orphans, g_strfreev);
  g_clear_pointer (&self->devices, g_strfreev);
  g_clear_pointer (&self->device_details, g_hash_table_unref);
  G_OBJECT_CLASS (studio_window_parent_class)->dispose (object);
}

static void
studio_window_class_init (StudioWindowClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = window_dispose;
  GTK_WINDOW_CLASS (klass)->close_request = window_close_request;
  gtk_widget_class_set_template_from_resource (widget_class, "/org/gradloom/Studio/studio-window.ui");
#define CHILD(name) gtk_widget_class_bind_template_child (widget_class, StudioWindow, name)
  CHILD (toasts);
  CHILD (all);
  CHILD (header);
  CHILD (title);
  CHILD (open_button);
  CHILD (new_button);
  CHILD (undo_button);
  CHILD (redo_button);
  CHILD (train_button);
  CHILD (step_button);
  CHILD (menu_button);
  CHILD (device_chip);
  CHILD (device_label);
  CHILD (recover_bar);
  CHILD (recover_notice);
  CHILD (recover_label);
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
  CHILD (left_toggle);
  CHILD (right_toggle);
  CHILD (canvas_overlay);
  CHILD (stage);
  CHILD (caption_card);
  CHILD (caption_label);
  CHILD (key_card);
  CHILD (key_label);
  CHILD (lr_card);
  CHILD (lr_card_entry);
  CHILD (status_line);
  CHILD (faults_button);
  CHILD (totals_label);
  CHILD (zoom_button);
#undef CHILD
}

StudioWindow *
studio_window_new (AdwApplication *application)
{
  return g_object_new (STUDIO_TYPE_WINDOW, "application", application, NULL);
}

StudioDocument *
studio_window_get_document (StudioWindow *self)
{
  return self->document;
}

StudioCanvas *
studio_window_get_canvas (StudioWindow *self)
{
  return self->canvas;
}

StudioRun *
studio_window_get_run (StudioWindow *self)
{
  return self->run;
}
