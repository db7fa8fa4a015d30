/* Implements studio-header.h. */
#include "ui/window/studio-header.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/run/studio-memory-gauge.h"
#include "ui/worker/studio-devices.h"
#include "ui/worker/studio-worker.h"
#include "ui/shell/studio-commands.h"
#include "ui/charts/studio-tooltip.h"
#include "ui/start/studio-files.h"

struct _StudioHeader
{
  AdwBin parent_instance;
  GtkWidget *title, *open_button, *new_button, *undo_button, *redo_button, *train_button, *step_button, *menu_button,
      *device_chip, *device_label, *device_name, *device_short;
  char *undo_text, *redo_text; /* the tooltips of their buttons */
  StudioMemoryGauge *gauge;
  GMenu *devices, *memory; /* the sections of the chip's menu */
  int size_class;          /* the StudioSizeClass of the layout; -1: none yet */
};

G_DEFINE_FINAL_TYPE (StudioHeader, studio_header, ADW_TYPE_BIN)

/* ---- the page -------------------------------------------------------------------------------- */

/* Each edit changes these texts. GTK asks the X server for the pointer whenever it is given one, so it is told when it
 * asks. */
static gboolean
query_tooltip_cb (GtkWidget *button, int x, int y, gboolean keyboard, GtkTooltip *tooltip, char **text)
{
  gtk_tooltip_set_text (tooltip, *text);
  return *text != NULL;
}

static void
show_step (GtkWidget *button, char **shown, char *text)
{
  if (g_strcmp0 (*shown, text) != 0)
    gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
  g_free (*shown);
  *shown = text;
}

static void
show_undo (StudioHeader *self, StudioDocument *document)
{
  const char *undo = studio_document_undo_name (document), *redo = studio_document_redo_name (document);

  show_step (self->undo_button, &self->undo_text,
             undo != NULL ? g_strdup_printf (_ ("Undo “%s” (Ctrl+Z)"), undo) : g_strdup (_ ("Nothing to undo")));
  show_step (self->redo_button, &self->redo_text,
             redo != NULL ? g_strdup_printf (_ ("Redo “%s” (Ctrl+Shift+Z)"), redo) : g_strdup (_ ("Nothing to redo")));
}

static void
show_run (StudioHeader *self, StudioRun *run)
{
  StudioRunState state = studio_run_get_state (run);
  gboolean pausing = state == STUDIO_RUN_STARTING && studio_run_is_pause_wanted (run);
  gboolean running = state == STUDIO_RUN_RUNNING || (state == STUDIO_RUN_STARTING && !pausing);
  gboolean paused = state == STUDIO_RUN_PAUSED || pausing;
  gtk_button_set_label (GTK_BUTTON (self->train_button), running  ? _ ("Pause")
                                                         : paused ? _ ("Resume")
                                                                  : C_ ("verb", "Train"));
  studio_set_tooltip (self->train_button, running  ? _ ("Pause (Ctrl+Enter)")
                                          : paused ? _ ("Resume (Ctrl+Enter)")
                                                   : _ ("Train (Ctrl+Enter)"));
  if (running)
    gtk_widget_remove_css_class (self->train_button, "suggested-action");
  else
    gtk_widget_add_css_class (self->train_button, "suggested-action");
}

/* TRUE if the menu's item at this position already has the label; NULL: if there is none. */
static gboolean
has_label (GMenuModel *menu, int position, const char *label)
{
  g_autofree char *shown = NULL;
  if (position >= g_menu_model_get_n_items (menu))
    return label == NULL;
  g_menu_model_get_item_attribute (menu, position, G_MENU_ATTRIBUTE_LABEL, "s", &shown);
  return g_strcmp0 (shown, label) == 0;
}

static void
append_offer (StudioHeader *self, const char *label, const char *action, const char *target)
{
  g_autoptr (GMenuItem) item = NULL;

  if (label == NULL)
    return;
  item = g_menu_item_new (label, NULL);
  g_menu_item_set_action_and_target (item, action, "s", target);
  g_menu_append_item (self->memory, item);
}

/* A batch size and a division among ranks that fit are offered in the menu of the chip; the section is replaced only
 * if they are others. */
static void
offer_fitting (StudioHeader *self, const StudioMemoryVerdict *verdict)
{
  const gint64 batch = verdict != NULL ? verdict->batch : 0;
  const char *division = verdict != NULL ? verdict->label : NULL;
  g_autofree char *label = batch > 0 ? g_strdup_printf (_ ("Use Batch %d"), (int)batch) : NULL;
  g_autofree char *target = g_strdup_printf ("%d", (int)batch);
  GMenuModel *shown = G_MENU_MODEL (self->memory);

  if (has_label (shown, 0, label != NULL ? label : division) && has_label (shown, 1, label != NULL ? division : NULL))
    return;
  g_menu_remove_all (self->memory);
  append_offer (self, label, "win.use-batch", target);
  append_offer (self, division, "win.use-strategy", verdict != NULL ? verdict->strategy : NULL);
}

/* tooltip and text are those of the device. */
static void
show_memory (StudioHeader *self, StudioPage *page, const char *tooltip, const char *text)
{
  StudioMemoryForecast *forecast = studio_page_get_forecast (page);
  const char *words;
  g_autofree char *whole = NULL, *spoken = NULL;

  studio_memory_gauge_show (self->gauge, forecast, studio_page_get_run (page));
  words = studio_memory_gauge_get_words (self->gauge);
  whole = words != NULL ? g_strdup_printf ("%s\n%s", tooltip, words) : g_strdup (tooltip);
  spoken = words != NULL ? g_strdup_printf ("%s. %s", text, words) : g_strdup (text);
  studio_set_tooltip (self->device_chip, whole);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->device_chip), GTK_ACCESSIBLE_PROPERTY_LABEL, spoken, -1);
  offer_fitting (self, studio_memory_forecast_get (forecast));
}

static void
show_device (StudioHeader *self, StudioPage *page)
{
  const char *device = studio_worker_device_name (studio_page_get_device (page));
  g_autofree char *text
      = device != NULL ? studio_devices_describe (studio_devices_get (), device) : g_strdup (_ ("Device"));
  for (char *p = text; device != NULL && *p != '\0' && *p != ':' && *p != ' '; p++)
    *p = g_ascii_toupper (*p);
  g_autofree char *tooltip = g_strdup_printf (_ ("Device: %s"), text);
  /* The memory of a card is only in the tooltip and in the list. */
  char *memory = strstr (text, " · ");
  memory = memory != NULL ? strstr (memory + strlen (" · "), " · ") : NULL;
  if (memory != NULL)
    *memory = '\0';
  /* If "CPU · 2 threads" does not fit, only "CPU" is shown, because a number without its noun cannot be understood; for
   * a card, the first word of its name. The tooltip has everything. */
  g_autofree char *name = g_strndup (text, strcspn (text, " "));
  g_auto (GStrv) word = g_strsplit (text, " ", 4);
  g_autofree char *shorter = g_strv_length (word) > 2 && !g_ascii_isdigit (*word[2])
                                 ? g_strdup_printf ("%s %s %s", word[0], word[1], word[2])
                                 : g_strdup (name);
  g_action_group_change_action_state (studio_page_get_actions (page), "device",
                                      g_variant_new_string (device != NULL ? device : ""));
  const gboolean large = studio_text_scale (self->device_chip) >= 1.5;
  gtk_label_set_text (GTK_LABEL (self->device_label), large ? name : text);
  gtk_label_set_text (GTK_LABEL (self->device_short), large ? name : shorter);
  gtk_label_set_text (GTK_LABEL (self->device_name), name);
  show_memory (self, page, tooltip, text);
}

void
studio_header_show_page (StudioHeader *self, StudioPage *page)
{
  adw_window_title_set_title (ADW_WINDOW_TITLE (self->title), studio_page_get_title (page));
  adw_window_title_set_subtitle (ADW_WINDOW_TITLE (self->title), studio_page_get_subtitle (page));
  show_undo (self, studio_page_get_document (page));
  show_run (self, studio_page_get_run (page));
  show_device (self, page);
}

/* ---- available size ---------------------------------------------------------------------------- */

static const char *const always[] = {
  "win.new-from-data",
  "win.save",
  "win.save-as",
  "win.export",
  NULL,
  "win.stop",
  "win.attach",
  "win.continue",
  "win.restart",
  "win.watch",
  NULL,
  "win.speed::watch",
  "win.speed::full",
  NULL,
  "canvas.auto-layout",
  "win.find",
  "win.history",
  "win.runs",
  "win.compare",
  "win.write-lesson",
  "win.run-panel",
  "win.present",
  NULL,
  "win.preferences",
  "win.actions",
  "win.help",
  "win.keys",
  "app.about",
  NULL,
  NULL,
};

static void
prepend_submenu (GMenu *menu, const char *title, GMenuModel *submenu)
{
  g_autoptr (GMenu) section = g_menu_new ();
  if (submenu == NULL)
    return;
  g_menu_append_submenu (section, title, submenu);
  g_menu_prepend_section (menu, NULL, G_MENU_MODEL (section));
}

/* Adds the actions whose buttons are hidden in this size class. */
static void
prepend_hidden (StudioHeader *self, GMenu *menu, StudioSizeClass room)
{
  static const char *const narrow[] = { "win.new", "win.step", NULL, NULL };
  static const char *const tiny[] = { "win.new", "win.open", "win.undo", "win.redo", "win.step", NULL, NULL };
  g_autoptr (GMenuModel) commands = studio_commands_menu (room == STUDIO_SIZE_CLASS_TINY ? tiny : narrow);
  if (room == STUDIO_SIZE_CLASS_TINY)
    prepend_submenu (menu, _ ("Recent Graphs"), adw_split_button_get_menu_model (ADW_SPLIT_BUTTON (self->open_button)));
  prepend_submenu (menu, _ ("Device"), gtk_menu_button_get_menu_model (GTK_MENU_BUTTON (self->device_chip)));
  g_menu_prepend_section (menu, NULL, commands);
}

static void
update_menu (StudioHeader *self)
{
  StudioSizeClass room = (StudioSizeClass)MAX (self->size_class, 0);
  g_autoptr (GMenuModel) menu = studio_commands_menu (always);
  if (room != STUDIO_SIZE_CLASS_WIDE)
    prepend_hidden (self, G_MENU (menu), room);
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->menu_button), menu);
  studio_hide_tooltip_under_menu (self->menu_button);
}

void
studio_header_set_size_class (StudioHeader *self, StudioSizeClass size_class)
{
  if (self->size_class == (int)size_class)
    return;
  self->size_class = (int)size_class;
  GtkWidget *const wide[] = { self->new_button, self->step_button, self->device_chip };
  GtkWidget *const narrow[] = { self->open_button, self->undo_button, self->redo_button };
  for (guint i = 0; i < G_N_ELEMENTS (wide); i++)
    gtk_widget_set_visible (wide[i], size_class == STUDIO_SIZE_CLASS_WIDE);
  for (guint i = 0; i < G_N_ELEMENTS (narrow); i++)
    gtk_widget_set_visible (narrow[i], size_class != STUDIO_SIZE_CLASS_TINY);
  update_menu (self);
}

GtkWidget *
studio_header_get_devices_button (StudioHeader *self)
{
  return gtk_widget_get_visible (self->device_chip) ? self->device_chip : self->menu_button;
}

/* ---- shared by all windows ------------------------------------------------------------------------- */

static void
fill_recent (StudioHeader *self)
{
  g_autoptr (GMenuModel) menu = studio_files_recent_menu ();
  adw_split_button_set_menu_model (ADW_SPLIT_BUTTON (self->open_button), menu);
  update_menu (self);
}

/* Updates the menu in place and leaves equal items alone, because a replaced menu closes under the pointer, and free
 * memory is requested when the menu opens. */
static void
fill_devices (StudioHeader *self)
{
  StudioDevices *devices = studio_devices_get ();
  const char *const *names = studio_devices_get_names (devices);
  GMenu *menu = self->devices;
  guint n = 0;
  if (names == NULL)
    return;
  for (; names[n] != NULL; n++)
    {
      g_autofree char *label = studio_devices_describe (devices, names[n]);
      if (has_label (G_MENU_MODEL (menu), n, label))
        continue;
      g_autoptr (GMenuItem) item = g_menu_item_new (label, NULL);
      g_menu_item_set_action_and_target (item, "win.device", "s", names[n]);
      if (n < (guint)g_menu_model_get_n_items (G_MENU_MODEL (menu)))
        g_menu_remove (menu, (int)n);
      g_menu_insert_item (menu, (int)n, item);
    }
  while ((guint)g_menu_model_get_n_items (G_MENU_MODEL (menu)) > n)
    g_menu_remove (menu, (int)n);
}

/* ---- widget ------------------------------------------------------------------------------------- */

static void
make_device_menu (StudioHeader *self)
{
  g_autoptr (GMenu) menu = g_menu_new (), more = g_menu_new ();

  self->devices = g_menu_new ();
  self->memory = g_menu_new ();
  g_menu_append_section (menu, NULL, G_MENU_MODEL (self->devices));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (self->memory));
  g_menu_append (more, _ ("Devices and Ranks…"), "win.devices");
  g_menu_append_section (menu, NULL, G_MENU_MODEL (more));
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->device_chip), G_MENU_MODEL (menu));
  studio_hide_tooltip_under_menu (self->device_chip);
}

static void
header_dispose (GObject *object)
{
  StudioHeader *self = STUDIO_HEADER (object);

  g_clear_object (&self->devices);
  g_clear_object (&self->memory);
  G_OBJECT_CLASS (studio_header_parent_class)->dispose (object);
}

static void
header_finalize (GObject *object)
{
  StudioHeader *self = STUDIO_HEADER (object);

  g_free (self->undo_text);
  g_free (self->redo_text);
  G_OBJECT_CLASS (studio_header_parent_class)->finalize (object);
}

static void
studio_header_class_init (StudioHeaderClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = header_dispose;
  G_OBJECT_CLASS (klass)->finalize = header_finalize;
  g_type_ensure (STUDIO_TYPE_MEMORY_GAUGE);
  STUDIO_TEMPLATE (klass, "studio-header.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioHeader, title, open_button, new_button, undo_button, redo_button, train_button,
                            step_button, menu_button, device_chip, device_label, device_name, device_short, gauge);
}

static void
studio_header_init (StudioHeader *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  self->size_class = -1;
  g_signal_connect (self->undo_button, "query-tooltip", G_CALLBACK (query_tooltip_cb), &self->undo_text);
  g_signal_connect (self->redo_button, "query-tooltip", G_CALLBACK (query_tooltip_cb), &self->redo_text);
  g_signal_connect_object (gtk_recent_manager_get_default (), "changed", G_CALLBACK (fill_recent), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (studio_devices_get (), "changed", G_CALLBACK (fill_devices), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (studio_devices_get (), "details", G_CALLBACK (fill_devices), self, G_CONNECT_SWAPPED);
  make_device_menu (self);
  fill_recent (self);
  fill_devices (self);
  /* The arrow of a split button has a tooltip, but no name. */
  gtk_accessible_update_property (
      GTK_ACCESSIBLE (gtk_widget_get_first_child (gtk_widget_get_last_child (self->open_button))),
      GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Recent Graphs"), -1);
}
