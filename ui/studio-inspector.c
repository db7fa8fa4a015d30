/* The inspector is generated: a row for each parameter that the operator describes, what comes out, what it costs.
 *
 * Rows are built when the selection changes and only refreshed when the graph does, so that the
 * entry one types in keeps its cursor. A value that cannot be one is said at once and not
 * written; everything else is a transaction, and typing in one entry is one step. */
#include "ui/studio-inspector.h"

#include <adwaita.h>
#include <string.h>

#include "ui/studio-formula-field.h"
#include "ui/studio-inspector-params.h"

#define FIELD_WIDTH 124

struct _StudioInspector
{
  GtkWidget parent_instance;

  StudioDocument *document;
  GtkWidget *stack, *box, *empty;
  guint64 serial;     /* of the node that is shown */
  char *shown;        /* its operator or module: what the rows were built for */
  GPtrArray *rows;    /* Row */
  GtkWidget *options; /* of a dataset: the group of its source's options; NULL for other nodes */
  char *source;       /* that they were built for */
  GtkWidget *name, *name_row, *fault, *output_group, *cost_group;
  GPtrArray *output_rows, *cost_rows;
  char *wrong; /* what is said of the value that is being typed; NULL: nothing */
  gboolean updating;
};

G_DEFINE_FINAL_TYPE (StudioInspector, studio_inspector, GTK_TYPE_WIDGET)

typedef struct
{
  StudioInspector *inspector;
  LoomParamSpec spec; /* strings are interned or static */
  GtkWidget *row, *editor;
  char *doc;
  const char *const *choices;
  gboolean is_option; /* of a dataset's source: goes when another is chosen */
} Row;

static const char *const dtype_names[] = { "f64", "f32", "f16", "bf16", "i64", "i32", "u8", "bool", NULL };

static void
row_free (Row *row)
{
  g_free (row->doc);
  g_free (row);
}

enum
{
  LEFT,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

static LoomElement *element (StudioInspector *self);

/* What a field has, as it would be written. */
static char *
editor_text (Row *row)
{
  return g_strstrip (STUDIO_IS_FORMULA_FIELD (row->editor)
                         ? studio_formula_field_dup_text (STUDIO_FORMULA_FIELD (row->editor))
                         : g_strdup (gtk_editable_get_text (GTK_EDITABLE (row->editor))));
}

static LoomElement *
element (StudioInspector *self)
{
  return loom_graph_by_serial (studio_document_get_graph (self->document), self->serial);
}

static void
commit (Row *row, const char *value)
{
  StudioInspector *self = row->inspector;

  if (self->updating || element (self) == NULL)
    return;
  /* What is said is what differs: a default is not written into the file. */
  if (value != NULL && (value[0] == '\0' || g_strcmp0 (value, row->spec.def) == 0))
    value = NULL;
  studio_document_set_attribute (self->document, self->serial, row->spec.name, value);
}

/* One place for what is wrong, below the group: a sentence that comes and goes must not move the field that it is
 * about. */
static void
show_fault (StudioInspector *self)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  guint i = studio_scene_find (scene, self->serial);
  const char *fault = self->wrong != NULL ? self->wrong : i != STUDIO_NO_ITEM ? scene->item[i].fault : NULL;

  if (self->fault == NULL)
    return;
  for (guint r = 0; r < self->rows->len; r++)
    {
      Row *row = self->rows->pdata[r];
      gboolean mine = i != STUDIO_NO_ITEM && g_strcmp0 (scene->item[i].fault_port, row->spec.name) == 0;

      if (STUDIO_IS_FORMULA_FIELD (row->editor))
        studio_formula_field_mark (STUDIO_FORMULA_FIELD (row->editor),
                                   mine ? studio_formula_fault_position (fault) : -1);
    }
  gtk_label_set_text (GTK_LABEL (self->fault), fault != NULL ? fault : "");
  gtk_widget_set_visible (self->fault, fault != NULL);
}

static void
set_wrong (StudioInspector *self, const char *title, const char *wrong)
{
  g_free (self->wrong);
  self->wrong = wrong != NULL ? g_strdup_printf ("%s: %s", title, wrong) : NULL;
  show_fault (self);
}

static void
say (Row *row, const char *wrong)
{
  set_wrong (row->inspector, adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row->row)), wrong);
  if (wrong != NULL)
    gtk_widget_add_css_class (row->row, "error");
  else
    gtk_widget_remove_css_class (row->row, "error");
  gtk_accessible_update_state (GTK_ACCESSIBLE (row->editor), GTK_ACCESSIBLE_STATE_INVALID,
                               wrong != NULL ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
}

static void
entry_changed_cb (GtkEditable *entry, Row *row)
{
  g_autofree char *text = g_strstrip (g_strdup (gtk_editable_get_text (entry))), *wrong = NULL;

  if (row->inspector->updating)
    return;
  wrong = studio_param_check (&row->spec, text);
  say (row, wrong);
  if (wrong == NULL)
    commit (row, text);
}

/* Enter: the value stands already, so the keyboard is done here. A value that is none keeps it. */
static void
entry_activate_cb (GtkEntry *entry, Row *row)
{
  g_autofree char *text = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (entry))));
  g_autofree char *wrong = studio_param_check (&row->spec, text);

  if (wrong == NULL)
    g_signal_emit (row->inspector, signals[LEFT], 0);
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioInspector *self)
{
  if (key != GDK_KEY_Escape || (state & gtk_accelerator_get_default_mod_mask ()) != 0)
    return FALSE;
  g_signal_emit (self, signals[LEFT], 0);
  return TRUE;
}

static void
formula_changed_cb (StudioFormulaField *field, Row *row)
{
  g_autofree char *text = editor_text (row);

  if (!row->inspector->updating)
    commit (row, text);
}

static void
formula_done_cb (StudioFormulaField *field, Row *row)
{
  g_signal_emit (row->inspector, signals[LEFT], 0);
}

/* Up and Down count in whole numbers, as a spin button would, without its two buttons. */
static gboolean
entry_key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, Row *row)
{
  int by = key == GDK_KEY_Up          ? 1
           : key == GDK_KEY_Down      ? -1
           : key == GDK_KEY_Page_Up   ? 10
           : key == GDK_KEY_Page_Down ? -10
                                      : 0;
  const char *text = gtk_editable_get_text (GTK_EDITABLE (row->editor));
  gint64 n;

  if (by == 0 || row->spec.type != LOOM_PARAM_INT)
    return FALSE;
  if (text[0] == '\0' && row->spec.def != NULL)
    text = row->spec.def;
  if (!g_ascii_string_to_signed (text, 10, -G_MAXINT64 / 2, G_MAXINT64 / 2, &n, NULL))
    return FALSE;
  n += by;
  if (row->spec.minimum != 0 || row->spec.maximum != 0)
    n = CLAMP (n, (gint64)row->spec.minimum, (gint64)row->spec.maximum);
  {
    g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, n);

    gtk_editable_set_text (GTK_EDITABLE (row->editor), value);
    gtk_editable_set_position (GTK_EDITABLE (row->editor), -1);
  }
  return TRUE;
}

static void
switch_cb (GtkSwitch *toggle, GParamSpec *pspec, Row *row)
{
  commit (row, gtk_switch_get_active (toggle) ? "true" : "false");
}

/* A value out of the list beside an entry. */
static void
suggestion_cb (GSimpleAction *action, GVariant *value, Row *row)
{
  const char *text = g_variant_get_string (value, NULL);

  gtk_editable_set_text (GTK_EDITABLE (row->editor), text);
  gtk_widget_grab_focus (row->editor);
}

/* An entry that takes any text can offer some: a button beside it opens their list. */
static GtkWidget *
new_suggestions (Row *row, const char *title)
{
  GtkWidget *button = gtk_menu_button_new ();
  g_autoptr (GMenu) menu = g_menu_new ();
  g_autoptr (GSimpleActionGroup) group = g_simple_action_group_new ();
  g_autoptr (GSimpleAction) action = g_simple_action_new ("set", G_VARIANT_TYPE_STRING);
  g_autofree char *label = g_strdup_printf ("Choices of %s", title);

  for (guint i = 0; row->choices[i] != NULL; i++)
    {
      g_autoptr (GMenuItem) item = g_menu_item_new (row->choices[i][0] != '\0' ? row->choices[i] : "default", NULL);

      g_menu_item_set_action_and_target (item, "choice.set", "s", row->choices[i]);
      g_menu_append_item (menu, item);
    }
  g_signal_connect (action, "activate", G_CALLBACK (suggestion_cb), row);
  g_action_map_add_action (G_ACTION_MAP (group), G_ACTION (action));
  gtk_widget_insert_action_group (button, "choice", G_ACTION_GROUP (group));
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "flat");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  return button;
}

static void
choice_cb (GtkDropDown *drop, GParamSpec *pspec, Row *row)
{
  guint i = gtk_drop_down_get_selected (drop);

  if (i != GTK_INVALID_LIST_POSITION)
    commit (row, row->choices[i]);
}

/* Shows what the graph says, unless one is typing something that means the same or is no value yet. */
static void
refresh_row (Row *row)
{
  StudioInspector *self = row->inspector;
  LoomElement *e = element (self);
  const char *value = e != NULL ? loom_element_get (e, row->spec.name) : NULL;
  const char *shown = value != NULL ? value : row->spec.def != NULL ? row->spec.def : "";

  if (GTK_IS_SWITCH (row->editor))
    gtk_switch_set_active (GTK_SWITCH (row->editor), strcmp (shown, "true") == 0);
  else if (GTK_IS_DROP_DOWN (row->editor))
    {
      for (guint i = 0; row->choices[i] != NULL; i++)
        if (strcmp (row->choices[i], shown) == 0)
          gtk_drop_down_set_selected (GTK_DROP_DOWN (row->editor), i);
    }
  else if (STUDIO_IS_FORMULA_FIELD (row->editor))
    {
      g_autofree char *text = editor_text (row);

      if (strcmp (text, shown) != 0 && !(value == NULL && text[0] == '\0'))
        studio_formula_field_set_text (STUDIO_FORMULA_FIELD (row->editor), shown);
    }
  else
    {
      g_autofree char *text = editor_text (row);
      g_autofree char *wrong = studio_param_check (&row->spec, text);
      gboolean means_default = value == NULL && (text[0] == '\0' || g_strcmp0 (text, row->spec.def) == 0);
      GtkWidget *focus = gtk_widget_get_focus_child (row->editor);

      if (strcmp (text, shown) == 0 || means_default || (wrong != NULL && focus != NULL))
        return;
      gtk_editable_set_text (GTK_EDITABLE (row->editor), shown);
      say (row, NULL);
    }
}

/* Says what a row is for, but not over the field that one is typing in. */
static gboolean
query_tooltip_cb (GtkWidget *row, int x, int y, gboolean keyboard, GtkTooltip *tooltip, const char *doc)
{
  if (keyboard || gtk_widget_get_focus_child (row) != NULL)
    return FALSE;
  gtk_tooltip_set_text (tooltip, doc);
  return TRUE;
}

static void
free_doc (gpointer doc, GClosure *closure)
{
  g_free (doc);
}

static void
explain (GtkWidget *row, const char *doc)
{
  if (doc == NULL)
    return;
  gtk_widget_set_has_tooltip (row, TRUE);
  g_signal_connect_data (row, "query-tooltip", G_CALLBACK (query_tooltip_cb), g_strdup (doc), free_doc, 0);
}

/* All fields are of one width and aligned to the right, as the numbers in them are. */
static void
shape_field (GtkWidget *editor)
{
  if (GTK_IS_EDITABLE (editor))
    {
      gtk_editable_set_width_chars (GTK_EDITABLE (editor), 4);
      gtk_editable_set_max_width_chars (GTK_EDITABLE (editor), 8);
      gtk_editable_set_alignment (GTK_EDITABLE (editor), 1);
    }
  gtk_widget_set_size_request (editor, FIELD_WIDTH, -1);
}

/* A formula has the whole width below its name. */
static void
add_formula (StudioInspector *self, GtkWidget *group, const LoomParamSpec *spec)
{
  Row *row = g_new0 (Row, 1);
  g_autofree char *title = studio_param_title (spec->name);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *label = gtk_label_new (title);

  row->inspector = self;
  row->spec = *spec;
  row->row = adw_preferences_row_new ();
  row->editor = GTK_WIDGET (studio_formula_field_new (title, spec->def != NULL && strchr (spec->def, '=') != NULL));
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row->row), title);
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row->row), FALSE);
  explain (label, spec->doc);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  g_object_set (box, "margin-top", 12, "margin-bottom", 12, "margin-start", 12, "margin-end", 12, NULL);
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), row->editor);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row->row), box);
  g_signal_connect (row->editor, "changed", G_CALLBACK (formula_changed_cb), row);
  g_signal_connect (row->editor, "done", G_CALLBACK (formula_done_cb), row);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row->row);
  g_ptr_array_add (self->rows, row);
}

static Row *
add_param (StudioInspector *self, GtkWidget *group, const LoomParamSpec *spec)
{
  Row *row = g_new0 (Row, 1);
  g_autofree char *title = studio_param_title (spec->name);

  row->inspector = self;
  row->spec = *spec;
  row->row = adw_action_row_new ();
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row->row), title);
  explain (row->row, spec->doc);
  switch (spec->type)
    {
    case LOOM_PARAM_BOOL:
      row->editor = gtk_switch_new ();
      g_signal_connect (row->editor, "notify::active", G_CALLBACK (switch_cb), row);
      break;
    case LOOM_PARAM_ENUM:
    case LOOM_PARAM_DTYPE:
      row->choices = spec->type == LOOM_PARAM_DTYPE ? dtype_names : spec->choices;
      row->editor = gtk_drop_down_new_from_strings (row->choices);
      g_signal_connect (row->editor, "notify::selected", G_CALLBACK (choice_cb), row);
      break;
    case LOOM_PARAM_INT:
    case LOOM_PARAM_FLOAT:
    case LOOM_PARAM_INTS:
    case LOOM_PARAM_FLOATS:
    case LOOM_PARAM_SHAPE:
    case LOOM_PARAM_STRING:
      {
        GtkEventController *key = gtk_event_controller_key_new ();

        row->editor = gtk_entry_new ();
        /* Ctrl+Z belongs to the document, which has the same steps and more. */
        gtk_editable_set_enable_undo (GTK_EDITABLE (row->editor), FALSE);
        gtk_entry_set_placeholder_text (GTK_ENTRY (row->editor), spec->def == NULL       ? "needed"
                                                                 : spec->choices != NULL ? "default"
                                                                                         : spec->def);
        gtk_widget_add_css_class (row->editor, "numeric");
        g_signal_connect (row->editor, "changed", G_CALLBACK (entry_changed_cb), row);
        g_signal_connect (row->editor, "activate", G_CALLBACK (entry_activate_cb), row);
        g_signal_connect (key, "key-pressed", G_CALLBACK (entry_key_cb), row);
        gtk_event_controller_set_propagation_phase (key, GTK_PHASE_CAPTURE);
        gtk_widget_add_controller (row->editor, key);
      }
      break;
    }
  if (spec->type != LOOM_PARAM_BOOL)
    shape_field (row->editor);
  gtk_widget_set_valign (row->editor, GTK_ALIGN_CENTER);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row->editor), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, spec->doc != NULL ? spec->doc : "", -1);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row->row), row->editor);
  if (spec->type == LOOM_PARAM_STRING && spec->choices != NULL)
    {
      row->choices = spec->choices;
      adw_action_row_add_suffix (ADW_ACTION_ROW (row->row), new_suggestions (row, title));
    }
  /* "Out features" needs no "features" behind it. */
  if (spec->unit != NULL && strstr (spec->name, spec->unit) == NULL)
    {
      GtkWidget *unit = gtk_label_new (spec->unit);

      gtk_widget_add_css_class (unit, "dim-label");
      adw_action_row_add_suffix (ADW_ACTION_ROW (row->row), unit);
    }
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (row->row), row->editor);
  if (ADW_IS_EXPANDER_ROW (group))
    adw_expander_row_add_row (ADW_EXPANDER_ROW (group), row->row);
  else
    adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row->row);
  g_ptr_array_add (self->rows, row);
  return row;
}

/* ---- the parts ---------------------------------------------------------------- */

static GtkWidget *
add_label (StudioInspector *self, const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  gtk_box_append (GTK_BOX (self->box), label);
  return label;
}

static GtkWidget *
add_group (StudioInspector *self, const char *title)
{
  GtkWidget *group = adw_preferences_group_new ();

  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), title);
  gtk_box_append (GTK_BOX (self->box), group);
  return group;
}

static void
add_fact (GtkWidget *group, GPtrArray *rows, const char *title, const char *value, const char *tooltip)
{
  GtkWidget *row = adw_action_row_new (), *label = gtk_label_new (value);

  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_label_set_xalign (GTK_LABEL (label), 1);
  gtk_label_set_justify (GTK_LABEL (label), GTK_JUSTIFY_RIGHT);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_width_chars (GTK_LABEL (label), MIN (18, (int)g_utf8_strlen (value, -1)));
  gtk_widget_add_css_class (label, "numeric");
  gtk_widget_set_can_focus (label, FALSE);
  explain (row, tooltip);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), label);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
  g_ptr_array_add (rows, row);
}

static void
clear_facts (GtkWidget *group, GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    adw_preferences_group_remove (ADW_PREFERENCES_GROUP (group), rows->pdata[i]);
  g_ptr_array_set_size (rows, 0);
}

/* Sums the cost of the node, or of all nodes within the module instance. */
static void
sum_cost (const LoomNet *net, const StudioItem *item, LoomCost *cost)
{
  gsize n = strlen (item->path), m = strlen (item->id);

  *cost = (LoomCost){ 0 };
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      gboolean mine = strncmp (node->path, item->path, n) == 0 && (node->path[n] == '\0' || node->path[n] == '.');

      /* Of a repeat the path names the first copy, and all of them cost. */
      if (item->repeat != NULL && n > 2)
        mine = strncmp (node->path, item->path, n - 1) == 0 && m > 0;
      if (!mine)
        continue;
      cost->parameters += node->cost.parameters;
      cost->flops += node->cost.flops;
      cost->bytes += node->cost.bytes;
    }
}

static void
refresh_facts (StudioInspector *self, const StudioItem *item)
{
  LoomCost cost;
  g_autofree char *parameters = NULL, *flops = NULL, *bytes = NULL;

  clear_facts (self->output_group, self->output_rows);
  clear_facts (self->cost_group, self->cost_rows);
  for (guint p = 0; p < item->n_outputs; p++)
    {
      g_autofree char *shape = item->output[p].typed ? loom_shape_to_string (&item->output[p].type.shape) : NULL;
      g_autofree char *value = shape != NULL
                                   ? g_strdup_printf ("%s\n%s", shape, loom_dtype_name (item->output[p].type.dtype))
                                   : g_strdup ("not known yet");

      add_fact (self->output_group, self->output_rows, item->output[p].name, value, item->output[p].doc);
    }
  gtk_widget_set_visible (self->output_group, item->n_outputs > 0);
  sum_cost (studio_document_get_net (self->document), item, &cost);
  parameters = studio_count_text (cost.parameters);
  flops = studio_count_text (cost.flops);
  bytes = studio_bytes_text (cost.bytes);
  add_fact (self->cost_group, self->cost_rows, "Parameters", parameters, "Numbers that training changes");
  add_fact (self->cost_group, self->cost_rows, "FLOPs", flops, "Operations forward, for one sample");
  add_fact (self->cost_group, self->cost_rows, "Output memory", bytes, "For one sample");
}

static void refresh_options (StudioInspector *self);

static void
refresh (StudioInspector *self)
{
  StudioScene *scene;
  guint i;

  if (self->serial == 0 || self->name == NULL)
    return;
  studio_document_get_net (self->document);
  scene = studio_document_get_scene (self->document);
  i = studio_scene_find (scene, self->serial);
  if (i == STUDIO_NO_ITEM)
    return;
  self->updating = TRUE;
  if (strcmp (gtk_editable_get_text (GTK_EDITABLE (self->name)), scene->item[i].id) != 0
      && gtk_widget_get_focus_child (self->name) == NULL)
    gtk_editable_set_text (GTK_EDITABLE (self->name), scene->item[i].id);
  if (self->options != NULL)
    refresh_options (self);
  for (guint r = 0; r < self->rows->len; r++)
    refresh_row (self->rows->pdata[r]);
  show_fault (self);
  refresh_facts (self, &scene->item[i]);
  self->updating = FALSE;
}

static gboolean
rename_node (StudioInspector *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *id = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->name))));

  if (self->updating || element (self) == NULL)
    return FALSE;
  if (!studio_document_rename (self->document, self->serial, id, &error))
    {
      set_wrong (self, "Name", error->message);
      return FALSE;
    }
  set_wrong (self, NULL, NULL);
  return TRUE;
}

static void
name_activate_cb (StudioInspector *self)
{
  if (rename_node (self))
    g_signal_emit (self, signals[LEFT], 0);
}

static void
name_left_cb (StudioInspector *self)
{
  LoomElement *e;
  const char *id;

  rename_node (self);
  /* What could not be a name goes back to the one there is. */
  e = element (self);
  id = e != NULL ? loom_element_get (e, "id") : NULL;
  if (id != NULL)
    {
      gtk_editable_set_text (GTK_EDITABLE (self->name), id);
      set_wrong (self, NULL, NULL);
    }
}

static void
add_name (StudioInspector *self, GtkWidget *group, const StudioItem *item)
{
  GtkEventController *focus = gtk_event_controller_focus_new ();

  self->name_row = adw_action_row_new ();
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->name_row), "Name");
  self->name = gtk_entry_new ();
  gtk_editable_set_text (GTK_EDITABLE (self->name), item->id);
  shape_field (self->name);
  gtk_widget_set_valign (self->name, GTK_ALIGN_CENTER);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->name), GTK_ACCESSIBLE_PROPERTY_LABEL, "Name", -1);
  g_signal_connect_swapped (self->name, "activate", G_CALLBACK (name_activate_cb), self);
  g_signal_connect_swapped (focus, "leave", G_CALLBACK (name_left_cb), self);
  gtk_widget_add_controller (self->name, focus);
  adw_action_row_add_suffix (ADW_ACTION_ROW (self->name_row), self->name);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (self->name_row), self->name);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), self->name_row);
}

/* ---- data sets ------------------------------------------------------------------ */

/* The sources there are, for the list beside the entry. Made once. */
static const char *const *
source_names (void)
{
  static const char **names;

  if (names == NULL)
    {
      const LoomDatasetClass *const *classes = loom_dataset_classes ();
      guint n = 0;

      while (classes[n] != NULL)
        n++;
      names = g_new0 (const char *, n + 1);
      for (guint i = 0; i < n; i++)
        names[i] = loom_dataset_class_name (classes[i]);
    }
  return names;
}

static LoomParamSpec
option_spec (const LoomDatasetParam *param)
{
  static const LoomParamType types[] = {
    [LOOM_DATASET_INT] = LOOM_PARAM_INT,       [LOOM_DATASET_FLOAT] = LOOM_PARAM_FLOAT,
    [LOOM_DATASET_FLOATS] = LOOM_PARAM_FLOATS, [LOOM_DATASET_ENUM] = LOOM_PARAM_ENUM,
    [LOOM_DATASET_STRING] = LOOM_PARAM_STRING, [LOOM_DATASET_PATH] = LOOM_PARAM_STRING,
  };

  return (LoomParamSpec){ .name = param->name,
                          .type = types[param->type],
                          .def = param->def,
                          .minimum = param->minimum,
                          .maximum = param->maximum,
                          .choices = param->type == LOOM_DATASET_ENUM ? param->choices : NULL,
                          .doc = param->doc };
}

/* Rows for the options of the source that is chosen now; those of the one before go, and the entry for the source, in
 * which one may be typing, stays. */
static void
refresh_options (StudioInspector *self)
{
  LoomElement *e = element (self);
  const char *source = e != NULL ? loom_element_get (e, "source") : NULL;
  const LoomDatasetClass *klass = source != NULL ? loom_dataset_class (source) : NULL;
  const LoomDatasetParam *param;

  if (g_strcmp0 (source, self->source) == 0)
    return;
  g_free (self->source);
  self->source = g_strdup (source);
  for (guint i = self->rows->len; i-- > 0;)
    {
      Row *row = self->rows->pdata[i];

      if (!row->is_option)
        continue;
      adw_preferences_group_remove (ADW_PREFERENCES_GROUP (self->options), row->row);
      g_ptr_array_remove_index (self->rows, i);
    }
  param = klass != NULL ? loom_dataset_class_params (klass) : NULL;
  gtk_widget_set_visible (self->options, param != NULL && param->name != NULL);
  if (klass == NULL)
    return;
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (self->options), loom_dataset_class_title (klass));
  adw_preferences_group_set_description (ADW_PREFERENCES_GROUP (self->options), loom_dataset_class_doc (klass));
  for (; param != NULL && param->name != NULL; param++)
    {
      LoomParamSpec spec = option_spec (param);

      add_param (self, self->options, &spec)->is_option = TRUE;
    }
}

static void
add_operator_params (StudioInspector *self, GtkWidget *group, const LoomOp *op)
{
  GtkWidget *advanced = NULL;

  for (const LoomParamSpec *spec = op->params; spec != NULL && spec->name != NULL; spec++)
    if (op == loom_op ("dataset") && strcmp (spec->name, "source") == 0)
      {
        LoomParamSpec source = *spec;

        source.choices = source_names ();
        add_param (self, group, &source);
      }
    /* Text from which the inputs follow is a formula. */
    else if (op->dynamic_inputs != NULL && spec->type == LOOM_PARAM_STRING && spec->choices == NULL)
      add_formula (self, group, spec);
    else if (!spec->advanced)
      add_param (self, group, spec);
    else
      {
        if (advanced == NULL)
          {
            advanced = adw_expander_row_new ();
            adw_preferences_row_set_title (ADW_PREFERENCES_ROW (advanced), "More");
          }
        add_param (self, advanced, spec);
      }
  if (advanced != NULL)
    adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), advanced);
}

/* ---- what every node has ---------------------------------------------------------- */

/* An operator's own parameter of this name comes first: cast has a dtype. */
static gboolean
has_param (const LoomOp *op, const char *name)
{
  for (const LoomParamSpec *spec = op != NULL ? op->params : NULL; spec != NULL && spec->name != NULL; spec++)
    if (strcmp (spec->name, name) == 0)
      return TRUE;
  return FALSE;
}

static void
add_reserved (StudioInspector *self, const LoomOp *op)
{
  static const char *const precisions[] = { "", "f32", "bf16", "f16", NULL };
  static const char *const devices[] = { "", "cpu", "cpu:1", "cpu:2", "cpu:3", "cuda:0", "cuda:1", "ref", NULL };
  static const LoomParamSpec specs[] = {
    { .name = "title", .type = LOOM_PARAM_STRING, .def = "", .doc = "What the card shows instead of the name." },
    { .name = "device",
      .type = LOOM_PARAM_STRING,
      .def = "",
      .choices = devices,
      .doc = "Where it is computed; the training's device where nothing is given." },
    { .name = "frozen",
      .type = LOOM_PARAM_BOOL,
      .def = "false",
      .doc = "Its weights stay as they are while the others are trained." },
    { .name = "dtype",
      .type = LOOM_PARAM_STRING,
      .def = "",
      .choices = precisions,
      .doc = "What it is computed in while training; the training's precision where nothing is given." },
    { .name = "recompute",
      .type = LOOM_PARAM_BOOL,
      .def = "false",
      .doc = "Nothing of it is kept for the backward pass but computed again there: slower, with less memory." },
  };
  GtkWidget *group = add_group (self, "Node");

  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    if (!has_param (op, specs[i].name))
      add_param (self, group, &specs[i]);
}

/* A module's parameters are its arguments. */
static void
add_module_params (StudioInspector *self, GtkWidget *group, const char *module)
{
  static const LoomParamSpec repeat = { .name = "repeat",
                                        .type = LOOM_PARAM_INT,
                                        .def = "",
                                        .minimum = 1,
                                        .maximum = 10000,
                                        .doc = "How many copies stand in a row" };
  LoomElement *m = loom_graph_find_module (studio_document_get_graph (self->document), module);

  for (guint i = 0; m != NULL && i < loom_element_n_children (m); i++)
    {
      const LoomElement *arg = loom_element_child (m, i);
      const char *name = loom_element_tag (arg) == LOOM_TAG_ARG ? loom_element_get (arg, "name") : NULL;
      const char *type = name != NULL ? loom_element_get (arg, "type") : NULL;
      const char *def = name != NULL ? loom_element_get (arg, "default") : NULL;
      LoomParamSpec spec = { 0 };

      if (name == NULL)
        continue;
      spec.name = g_intern_string (name);
      spec.def = def != NULL ? g_intern_string (def) : NULL;
      spec.type = g_strcmp0 (type, "int") == 0     ? LOOM_PARAM_INT
                  : g_strcmp0 (type, "float") == 0 ? LOOM_PARAM_FLOAT
                  : g_strcmp0 (type, "bool") == 0  ? LOOM_PARAM_BOOL
                                                   : LOOM_PARAM_STRING;
      add_param (self, group, &spec);
    }
  add_param (self, group, &repeat);
}

static void
add_documentation (StudioInspector *self, const LoomOp *op)
{
  GtkWidget *expander = gtk_expander_new ("Documentation"), *label;
  g_autofree char *text
      = g_strdup_printf ("%s%s%s%s%s", op->doc != NULL ? op->doc : "", op->details != NULL ? "\n\n" : "",
                         op->details != NULL ? op->details : "", op->reference != NULL ? "\n\nPyTorch: " : "",
                         op->reference != NULL ? op->reference : "");

  label = gtk_label_new (text);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_set_margin_top (label, 6);
  gtk_expander_set_child (GTK_EXPANDER (expander), label);
  gtk_box_append (GTK_BOX (self->box), expander);
}

static void
clear (StudioInspector *self)
{
  GtkWidget *child;

  g_ptr_array_set_size (self->output_rows, 0);
  g_ptr_array_set_size (self->cost_rows, 0);
  self->name = NULL;
  self->fault = NULL;
  g_clear_pointer (&self->wrong, g_free);
  self->options = NULL;
  g_clear_pointer (&self->source, g_free);
  /* Entries tell of their end; there must be no node that they could still change. */
  self->updating = TRUE;
  self->serial = 0;
  while ((child = gtk_widget_get_first_child (self->box)) != NULL)
    gtk_box_remove (GTK_BOX (self->box), child);
  g_ptr_array_set_size (self->rows, 0);
  self->updating = FALSE;
}

static void
build_node (StudioInspector *self, const StudioItem *item)
{
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12), *titles = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *label, *group;

  self->serial = item->serial;
  gtk_box_append (GTK_BOX (head),
                  gtk_image_new_from_icon_name (item->op != NULL ? item->op->icon : "view-grid-symbolic"));
  label = gtk_label_new (studio_item_title (item));
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "title-4");
  gtk_box_append (GTK_BOX (titles), label);
  gtk_box_append (GTK_BOX (head), titles);
  gtk_box_append (GTK_BOX (self->box), head);
  if (item->op != NULL && item->op->formula != NULL)
    {
      label = add_label (self, item->op->formula, "studio-formula");
      gtk_label_set_selectable (GTK_LABEL (label), TRUE);
      gtk_widget_set_can_focus (label, FALSE);
    }
  group = add_group (self, "Parameters");
  add_name (self, group, item);
  if (item->op != NULL)
    add_operator_params (self, group, item->op);
  else if (item->is_module)
    add_module_params (self, group, item->kind);
  if (item->op != NULL && item->op == loom_op ("dataset"))
    {
      self->options = add_group (self, "Options");
      gtk_widget_set_visible (self->options, FALSE);
    }
  self->fault = add_label (self, "", "error");
  self->output_group = add_group (self, "Output");
  self->cost_group = add_group (self, "Cost");
  add_reserved (self, item->op);
  if (item->op != NULL)
    add_documentation (self, item->op);
  refresh (self);
}

static void
build_remark (StudioInspector *self, const StudioRemark *remark)
{
  static const LoomParamSpec specs[] = {
    { .name = "title", .type = LOOM_PARAM_STRING, .def = "" },
    { .name = "width", .type = LOOM_PARAM_FLOAT, .minimum = 48, .maximum = 1e6, .doc = "In pixels at 100 %" },
    { .name = "height", .type = LOOM_PARAM_FLOAT, .minimum = 48, .maximum = 1e6, .doc = "In pixels at 100 %" },
    { .name = "color", .type = LOOM_PARAM_STRING, .def = "", .doc = "A name or #rrggbb" },
  };
  GtkWidget *group;

  add_label (self, remark->is_note ? "Note" : "Frame", "title-4");
  if (remark->is_note)
    {
      add_label (self, "Enter edits the text, Ctrl and Enter ends that.", "dim-label");
      return;
    }
  self->serial = remark->serial;
  group = add_group (self, "");
  self->updating = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    refresh_row (add_param (self, group, &specs[i]));
  self->updating = FALSE;
}

static void
build_link (StudioInspector *self, const StudioScene *scene, const StudioLink *link)
{
  g_autofree char *from
      = g_strdup_printf ("%s.%s", scene->item[link->from].id, scene->item[link->from].output[link->output].name);
  g_autofree char *to
      = g_strdup_printf ("%s.%s", scene->item[link->to].id, scene->item[link->to].input[link->input].name);
  GtkWidget *group;

  add_label (self, "Wire", "title-4");
  group = add_group (self, "");
  add_fact (group, self->output_rows, "From", from, NULL);
  add_fact (group, self->output_rows, "To", to, NULL);
  add_fact (group, self->output_rows, "Type", link->typed ? loom_dtype_name (link->type.dtype) : "not known yet", NULL);
  add_fact (group, self->output_rows, "Shape", link->label != NULL ? link->label : "not known yet", NULL);
}

static void
selection_changed_cb (StudioInspector *self)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  guint n = studio_document_n_selected (self->document);
  guint64 serial = n == 1 ? studio_document_get_selected (self->document, 0) : 0;
  guint item = n == 1 ? studio_scene_find (scene, serial) : STUDIO_NO_ITEM;

  if (item != STUDIO_NO_ITEM && serial == self->serial && g_strcmp0 (self->shown, scene->item[item].kind) == 0)
    {
      refresh (self);
      return;
    }
  if (serial != 0 && serial == self->serial && studio_scene_find_remark (scene, serial) != STUDIO_NO_ITEM)
    {
      self->updating = TRUE;
      for (guint r = 0; r < self->rows->len; r++)
        refresh_row (self->rows->pdata[r]);
      self->updating = FALSE;
      return;
    }
  clear (self);
  g_clear_pointer (&self->shown, g_free);
  if (n == 0)
    {
      gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "empty");
      return;
    }
  if (item != STUDIO_NO_ITEM)
    {
      self->shown = g_strdup (scene->item[item].kind);
      build_node (self, &scene->item[item]);
    }
  else if (n == 1)
    {
      guint link = studio_scene_find_link (scene, serial), remark = studio_scene_find_remark (scene, serial);

      if (remark != STUDIO_NO_ITEM)
        build_remark (self, &scene->remark[remark]);
      else if (link != STUDIO_NO_ITEM)
        build_link (self, scene, &scene->link[link]);
    }
  else
    {
      g_autofree char *text = g_strdup_printf ("%u selected", n);

      add_label (self, text, "title-4");
      add_label (self, "Alt and an arrow key moves them, Delete removes them.", "dim-label");
    }
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "selection");
}

static void
net_changed_cb (StudioInspector *self)
{
  /* Another operator under the same serial, a fix for instance, needs other rows. */
  selection_changed_cb (self);
}

/* ---- object --------------------------------------------------------------------- */

static void
studio_inspector_dispose (GObject *object)
{
  StudioInspector *self = STUDIO_INSPECTOR (object);
  GtkWidget *child;

  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  self->updating = TRUE;
  self->serial = 0;
  self->fault = NULL;
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  g_clear_object (&self->document);
  g_clear_pointer (&self->shown, g_free);
  g_clear_pointer (&self->source, g_free);
  g_clear_pointer (&self->wrong, g_free);
  G_OBJECT_CLASS (studio_inspector_parent_class)->dispose (object);
}

static void
studio_inspector_finalize (GObject *object)
{
  StudioInspector *self = STUDIO_INSPECTOR (object);

  g_ptr_array_unref (self->rows);
  g_ptr_array_unref (self->output_rows);
  g_ptr_array_unref (self->cost_rows);
  G_OBJECT_CLASS (studio_inspector_parent_class)->finalize (object);
}

static void
studio_inspector_class_init (StudioInspectorClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_inspector_dispose;
  G_OBJECT_CLASS (klass)->finalize = studio_inspector_finalize;
  /* The keyboard is done with a field and goes back to where it came from. */
  signals[LEFT]
      = g_signal_new ("left", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "studioinspector");
}

static void
studio_inspector_init (StudioInspector *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new ();
  GtkEventController *key = gtk_event_controller_key_new ();

  g_signal_connect (key, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), key);
  self->rows = g_ptr_array_new_with_free_func ((GDestroyNotify)row_free);
  self->output_rows = g_ptr_array_new ();
  self->cost_rows = g_ptr_array_new ();
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  g_object_set (self->box, "margin-top", 12, "margin-bottom", 12, "margin-start", 12, "margin-end", 12, NULL);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->box);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack), scroller, "selection");
  self->empty = gtk_label_new ("Select a card to see its parameters");
  gtk_label_set_wrap (GTK_LABEL (self->empty), TRUE);
  gtk_widget_add_css_class (self->empty, "dim-label");
  gtk_stack_add_named (GTK_STACK (self->stack), self->empty, "empty");
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "empty");
  gtk_widget_set_parent (self->stack, GTK_WIDGET (self));
}

StudioInspector *
studio_inspector_new (StudioDocument *document)
{
  StudioInspector *self = g_object_new (STUDIO_TYPE_INSPECTOR, NULL);

  self->document = g_object_ref (document);
  g_signal_connect_swapped (document, "selection-changed", G_CALLBACK (selection_changed_cb), self);
  g_signal_connect_swapped (document, "net-changed", G_CALLBACK (net_changed_cb), self);
  selection_changed_cb (self);
  return self;
}

void
studio_inspector_set_empty_widget (StudioInspector *self, GtkWidget *widget)
{
  gboolean shown = gtk_stack_get_visible_child (GTK_STACK (self->stack)) == self->empty;

  gtk_stack_remove (GTK_STACK (self->stack), self->empty);
  self->empty = widget;
  gtk_stack_add_named (GTK_STACK (self->stack), widget, "empty");
  if (shown)
    gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "empty");
}

void
studio_inspector_focus (StudioInspector *self)
{
  GtkWidget *first = self->rows->len > 0 ? ((Row *)g_ptr_array_index (self->rows, 0))->editor : NULL;

  if (first != NULL && STUDIO_IS_FORMULA_FIELD (first))
    studio_formula_field_focus (STUDIO_FORMULA_FIELD (first));
  else if (first != NULL)
    gtk_widget_grab_focus (first);
  else if (self->name != NULL)
    gtk_widget_grab_focus (self->name);
}
