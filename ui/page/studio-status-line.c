/* Implements studio-status-line.h. */
#include "ui/page/studio-status-line.h"

#include "ui/charts/studio-template.h"
#include "ui/shell/studio-commands.h"
#include "ui/charts/studio-tooltip.h"

struct _StudioStatusLine
{
  GtkBox parent_instance;
  /* They stay, while gtk_menu_button_set_label() makes another widget, also when GTK still has to unmap the one before.
   */
  GtkWidget *faults_label, *zoom_label;
  GtkWidget *faults_button, *faults_popover, *totals_label, *zoom_button;
  StudioFaultList *faults;
  StudioCanvas *canvas; /* NULL: disposed */
  char *totals;
  guint zoom_idle;
};

G_DEFINE_FINAL_TYPE (StudioStatusLine, studio_status_line, GTK_TYPE_BOX)

enum
{
  PROP_TOTALS = 1,
  N_PROPERTIES
};
static GParamSpec *properties[N_PROPERTIES];

/* ---- faults --------------------------------------------------------------------------------- */

static void
faults_changed_cb (StudioFaultList *faults, StudioStatusLine *self)
{
  const char *summary = studio_fault_list_get_summary (faults);

  gtk_label_set_label (GTK_LABEL (self->faults_label), summary);
  if (studio_fault_list_n_errors (faults) > 0)
    gtk_widget_add_css_class (self->faults_button, "has-faults");
  else
    gtk_widget_remove_css_class (self->faults_button, "has-faults");
}

static void
open_faults_cb (GtkMenuButton *button, gpointer faults)
{
  studio_fault_list_fill (faults);
}

void
studio_status_line_show_faults (StudioStatusLine *self)
{
  if (gtk_widget_get_mapped (self->faults_button))
    gtk_menu_button_popup (GTK_MENU_BUTTON (self->faults_button));
}

/* ---- zoom ------------------------------------------------------------------------------------ */

static gboolean
show_zoom_cb (gpointer data)
{
  StudioStatusLine *self = data;
  self->zoom_idle = 0;
  /* A number alone has no direction: among words from right to left it would be "% 73". */
  gboolean mirrored = gtk_widget_get_direction (GTK_WIDGET (self)) == GTK_TEXT_DIR_RTL;
  g_autofree char *text
      = g_strdup_printf ("%s%.0f %%", mirrored ? "\u200e" : "", studio_canvas_get_zoom (self->canvas) * 100);
  gtk_label_set_label (GTK_LABEL (self->zoom_label), text);
  return G_SOURCE_REMOVE;
}

/* The view may change while the canvas is being allocated, when no label may request another size. */
static void
zoom_cb (StudioStatusLine *self)
{
  if (self->zoom_idle == 0)
    self->zoom_idle = g_idle_add (show_zoom_cb, self);
}

static void
set_zoom_menu (StudioStatusLine *self)
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
                                           "win.health",
                                           NULL,
                                           NULL };
  g_autoptr (GMenuModel) menu = studio_commands_menu (zoom_menu);
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->zoom_button), menu);
  studio_hide_tooltip_under_menu (self->zoom_button);
}

/* ---- widget --------------------------------------------------------------------------------- */

void
studio_status_line_set_parts (StudioStatusLine *self, StudioCanvas *canvas, StudioFaultList *faults)
{
  g_return_if_fail (self->canvas == NULL);
  self->canvas = g_object_ref (canvas);
  self->faults = faults;
  gtk_popover_set_child (GTK_POPOVER (self->faults_popover), GTK_WIDGET (faults));
  gtk_menu_button_set_create_popup_func (GTK_MENU_BUTTON (self->faults_button), open_faults_cb, faults, NULL);
  g_signal_connect_object (faults, "changed", G_CALLBACK (faults_changed_cb), self, 0);
  g_signal_connect_object (faults, "left", G_CALLBACK (gtk_menu_button_popdown), self->faults_button,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (canvas, "view-changed", G_CALLBACK (zoom_cb), self, G_CONNECT_SWAPPED);
  faults_changed_cb (faults, self);
  set_zoom_menu (self);
}

void
studio_status_line_set_health (StudioStatusLine *self, GtkWidget *health)
{
  gtk_box_insert_child_after (GTK_BOX (self), health, self->totals_label);
  g_object_bind_property (health, "visible", self->totals_label, "visible",
                          G_BINDING_SYNC_CREATE | G_BINDING_INVERT_BOOLEAN);
}

static void
status_line_get_property (GObject *object, guint property, GValue *value, GParamSpec *spec)
{
  g_value_set_string (value, STUDIO_STATUS_LINE (object)->totals);
}

static void
status_line_set_property (GObject *object, guint property, const GValue *value, GParamSpec *spec)
{
  StudioStatusLine *self = STUDIO_STATUS_LINE (object);
  g_free (self->totals);
  self->totals = g_value_dup_string (value);
}

static void
status_line_dispose (GObject *object)
{
  StudioStatusLine *self = STUDIO_STATUS_LINE (object);
  g_clear_handle_id (&self->zoom_idle, g_source_remove);
  if (self->canvas != NULL)
    g_signal_handlers_disconnect_by_data (self->canvas, self);
  g_clear_object (&self->canvas);
  G_OBJECT_CLASS (studio_status_line_parent_class)->dispose (object);
}

static void
status_line_finalize (GObject *object)
{
  g_free (STUDIO_STATUS_LINE (object)->totals);
  G_OBJECT_CLASS (studio_status_line_parent_class)->finalize (object);
}

static void
studio_status_line_class_init (StudioStatusLineClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  object_class->get_property = status_line_get_property;
  object_class->set_property = status_line_set_property;
  object_class->dispose = status_line_dispose;
  object_class->finalize = status_line_finalize;
  properties[PROP_TOTALS]
      = g_param_spec_string ("totals", NULL, NULL, NULL, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
  STUDIO_TEMPLATE (klass, "studio-status-line.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioStatusLine, faults_button, faults_label, faults_popover, totals_label,
                            zoom_button, zoom_label);
}

static void
studio_status_line_init (StudioStatusLine *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}
