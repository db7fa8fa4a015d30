/* The rows of the inspector, one per parameter.
 *
 * An invalid value is reported at once and not written; everything else is a transaction, and typing in one entry is
 * one undo step. */
#include "ui/inspector/studio-inspector-private.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/document/studio-param-check.h"
#include "ui/inspector/studio-formula-field.h"
#include "ui/inspector/studio-inspector-params.h"
#include "ui/inspector/studio-value.h"

#define FIELD_WIDTH 124

LoomElement *
inspector_element (StudioInspector *self)
{
  return loom_graph_by_serial (studio_document_get_graph (self->document), self->serial);
}

void
inspector_row_free (InspectorRow *row)
{
  inspector_drop_typing (row);
  g_free (row->wrong);
  g_free (row->doc);
  g_free (row);
}

/* The text of a field, as it would be written. */
static char *
editor_text (InspectorRow *row)
{
  return g_strstrip (STUDIO_IS_FORMULA_FIELD (row->editor)
                         ? studio_formula_field_dup_text (STUDIO_FORMULA_FIELD (row->editor))
                         : g_strdup (gtk_editable_get_text (GTK_EDITABLE (row->editor))));
}

void
inspector_commit (InspectorRow *row, const char *value)
{
  StudioInspector *self = row->inspector;

  if (self->updating || inspector_element (self) == NULL)
    return;
  /* Defaults are not written to the file. */
  if (value != NULL && (value[0] == '\0' || g_strcmp0 (value, row->spec.def) == 0))
    value = NULL;
  if (self->several->len > 1)
    studio_document_set_attributes (self->document, (const guint64 *)(gpointer)self->several->data, self->several->len,
                                    row->spec.name, value);
  else
    studio_document_set_attribute (self->document, self->serial, row->spec.name, value);
}

/* ---- faults ----------------------------------------------------------------------- */

static GtkWidget *
message_new (void)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "caption");
  gtk_widget_set_visible (label, FALSE);
  return label;
}

/* A row has no space for a widget below it, so the message has a row of its own, without a line between them. */
GtkWidget *
inspector_add_message (GtkWidget *group, GtkWidget **message_row)
{
  GtkWidget *row = adw_preferences_row_new (), *label = message_new ();

  g_object_set (row, "activatable", FALSE, "selectable", FALSE, "focusable", FALSE, NULL);
  gtk_widget_add_css_class (row, "field-message");
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), label);
  g_object_bind_property (label, "visible", row, "visible", G_BINDING_SYNC_CREATE);
  if (ADW_IS_EXPANDER_ROW (group))
    adw_expander_row_add_row (ADW_EXPANDER_ROW (group), row);
  else
    adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
  *message_row = row;
  return label;
}

void
inspector_set_message (GtkWidget *row, GtkWidget *editor, GtkWidget *message, const char *text, gboolean is_error,
                       const char *doc)
{
  void (*mark[]) (GtkWidget *, const char *) = { gtk_widget_remove_css_class, gtk_widget_add_css_class };
  gboolean wrong = text != NULL && is_error;

  gtk_label_set_text (GTK_LABEL (message), text != NULL ? text : "");
  gtk_widget_set_visible (message, text != NULL);
  mark[wrong](message, "error");
  mark[wrong](row, "error");
  /* A screen reader reads it with the field. */
  gtk_accessible_update_state (GTK_ACCESSIBLE (editor), GTK_ACCESSIBLE_STATE_INVALID,
                               wrong ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (editor), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  text != NULL                    ? text
                                  : doc != NULL && doc[0] != '\0' ? _ (doc)
                                                                  : "",
                                  -1);
}

/* Returns the engine's fault of the attribute of a card; NULL: none. */
static const LoomFault *
find_fault (StudioInspector *self, const char *path, const char *attribute)
{
  const LoomFaults *faults = studio_document_get_faults (self->document);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);

      if (g_strcmp0 (fault->node, path) == 0 && g_strcmp0 (fault->port, attribute) == 0)
        return fault;
    }
  return NULL;
}

/* Shows the fault of the typed value, or else of the graph's value, below the field. */
static gboolean
show_row_fault (InspectorRow *row, const StudioItem *item)
{
  const LoomFault *fault = item != NULL ? find_fault (row->inspector, item->path, row->spec.name) : NULL;
  gboolean mine = item != NULL && item->fault != NULL && g_strcmp0 (item->fault_port, row->spec.name) == 0;
  const char *text = row->wrong != NULL ? row->wrong : mine ? item->fault : fault != NULL ? fault->message : NULL;
  /* Only errors are red, not advice or missing parts. */
  gboolean is_error = row->wrong != NULL
                      || (mine ? studio_item_tone (item) == STUDIO_TONE_ERROR : fault != NULL && !fault->is_warning);

  if (STUDIO_IS_FORMULA_FIELD (row->editor))
    studio_formula_field_mark (STUDIO_FORMULA_FIELD (row->editor),
                               text != NULL ? studio_formula_fault_position (text) : -1);
  inspector_set_message (row->row, row->editor, row->message, text, is_error, row->spec.doc);
  return mine;
}

/* Faults without an attribute are shown below the group. */
void
inspector_show_fault (StudioInspector *self)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  guint i = studio_scene_find (scene, self->serial);
  const StudioItem *item = i != STUDIO_NO_ITEM ? &scene->item[i] : NULL;
  const char *fault = item != NULL ? item->fault : NULL;

  for (guint r = 0; r < self->rows->len; r++)
    if (show_row_fault (self->rows->pdata[r], item))
      fault = NULL;
  if (self->fault == NULL)
    return;
  gtk_label_set_text (GTK_LABEL (self->fault), fault != NULL ? fault : "");
  gtk_widget_set_visible (self->fault, fault != NULL);
  if (item != NULL && studio_item_tone (item) != STUDIO_TONE_ERROR)
    gtk_widget_remove_css_class (self->fault, "error");
  else
    gtk_widget_add_css_class (self->fault, "error");
}

void
inspector_set_wrong (InspectorRow *row, const char *wrong)
{
  if (g_strcmp0 (row->wrong, wrong) == 0)
    return;
  g_free (row->wrong);
  row->wrong = g_strdup (wrong);
  inspector_show_fault (row->inspector);
}

static void
formula_changed_cb (StudioFormulaField *field, InspectorRow *row)
{
  g_autofree char *text = editor_text (row);

  if (!row->inspector->updating)
    inspector_commit (row, text);
}

static void
formula_done_cb (StudioFormulaField *field, InspectorRow *row)
{
  g_signal_emit_by_name (row->inspector, "left");
}

/* Up and Down change the number by 1, like the two buttons of a spin button. */
static gboolean
entry_key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, InspectorRow *row)
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
switch_cb (GtkSwitch *toggle, GParamSpec *pspec, InspectorRow *row)
{
  inspector_commit (row, gtk_switch_get_active (toggle) ? "true" : "false");
}

/* A value was selected from the list next to an entry. */
static void
suggestion_cb (GSimpleAction *action, GVariant *value, InspectorRow *row)
{
  const char *text = g_variant_get_string (value, NULL);

  gtk_editable_set_text (GTK_EDITABLE (row->editor), text);
  gtk_widget_grab_focus (row->editor);
}

/* Most menus are never opened, and the widgets of one take longer to make than the rest of the row. */
static void
open_suggestions_cb (GtkMenuButton *button, gpointer data)
{
  InspectorRow *row = data;
  g_autoptr (GMenu) menu = g_menu_new ();

  if (gtk_menu_button_get_menu_model (button) != NULL)
    return;
  if (row->spec.def != NULL && row->spec.def[0] == '\0')
    {
      g_autoptr (GMenuItem) item = g_menu_item_new (_ ("default"), NULL);

      g_menu_item_set_action_and_target (item, "choice.set", "s", "");
      g_menu_append_item (menu, item);
    }
  for (guint i = 0; row->choices[i] != NULL; i++)
    studio_suggestions_append (menu, row->choices[i]);
  gtk_menu_button_set_menu_model (button, G_MENU_MODEL (menu));
}

static void
choice_cb (GtkDropDown *drop, GParamSpec *pspec, InspectorRow *row)
{
  guint i = gtk_drop_down_get_selected (drop);

  if (i != GTK_INVALID_LIST_POSITION)
    inspector_commit (row, row->choices[i]);
}

/* Shows the graph's value, unless the user is typing the same value or an incomplete one. */
void
inspector_refresh_row (InspectorRow *row)
{
  StudioInspector *self = row->inspector;
  LoomElement *e = inspector_element (self);
  const char *value = e != NULL ? loom_element_get (e, row->spec.name) : NULL;
  const char *shown = value != NULL ? value : row->spec.def != NULL ? row->spec.def : "";
  gboolean mixed = self->several->len > 1 && inspector_is_mixed (self, row->spec.name);

  if (row->pending)
    return;
  if (mixed && GTK_IS_DROP_DOWN (row->editor))
    {
      gtk_drop_down_set_selected (GTK_DROP_DOWN (row->editor), GTK_INVALID_LIST_POSITION);
      return;
    }
  if (mixed && GTK_IS_ENTRY (row->editor))
    {
      if (gtk_widget_get_focus_child (row->editor) == NULL)
        gtk_editable_set_text (GTK_EDITABLE (row->editor), "");
      gtk_entry_set_placeholder_text (GTK_ENTRY (row->editor), _ ("several"));
      return;
    }
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

      /* A user who has just emptied it wants to type, so the default is not inserted again. */
      if (strcmp (text, shown) != 0
          && !(value == NULL && text[0] == '\0' && studio_formula_field_has_focus (STUDIO_FORMULA_FIELD (row->editor))))
        studio_formula_field_set_text (STUDIO_FORMULA_FIELD (row->editor), shown);
    }
  else
    {
      g_autofree char *text = editor_text (row);
      g_autofree char *wrong = studio_param_check (&row->spec, text);
      gboolean means_default = value == NULL && (text[0] == '\0' || g_strcmp0 (text, row->spec.def) == 0);
      GtkWidget *focus = gtk_widget_get_focus_child (row->editor);

      inspector_show_result (row, shown);
      if (strcmp (text, shown) == 0 || means_default || (wrong != NULL && focus != NULL))
        return;
      gtk_editable_set_text (GTK_EDITABLE (row->editor), shown);
      inspector_set_wrong (row, NULL);
    }
}

void
inspector_rebind_row (InspectorRow *row)
{
  LoomElement *e = inspector_element (row->inspector);
  const char *value = e != NULL ? loom_element_get (e, row->spec.name) : NULL;

  row->pending = FALSE;
  g_clear_handle_id (&row->late, g_source_remove);
  g_clear_pointer (&row->wrong, g_free);
  if (GTK_IS_DROP_DOWN (row->editor))
    gtk_drop_down_set_selected (GTK_DROP_DOWN (row->editor), 0);
  else if (GTK_IS_ENTRY (row->editor))
    gtk_editable_set_text (GTK_EDITABLE (row->editor), value != NULL ? value : "");
  inspector_refresh_row (row);
}

/* Sets the tooltip of a row, but not over a field in which the user is typing. */
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

void
inspector_explain (GtkWidget *row, const char *doc)
{
  if (doc == NULL || doc[0] == '\0')
    return;
  gtk_widget_set_has_tooltip (row, TRUE);
  g_signal_connect_data (row, "query-tooltip", G_CALLBACK (query_tooltip_cb), g_strdup (_ (doc)), free_doc, 0);
}

/* All fields have the same width and are aligned to the right, as the numbers in them are. */
void
inspector_shape_field (GtkWidget *editor)
{
  if (GTK_IS_EDITABLE (editor))
    {
      gtk_editable_set_width_chars (GTK_EDITABLE (editor), 4);
      gtk_editable_set_max_width_chars (GTK_EDITABLE (editor), 8);
      gtk_widget_set_direction (GTK_WIDGET (gtk_editable_get_delegate (GTK_EDITABLE (editor))), GTK_TEXT_DIR_LTR);
      gtk_editable_set_alignment (GTK_EDITABLE (editor), 1);
    }
  gtk_widget_set_size_request (editor, FIELD_WIDTH, -1);
}

/* A formula is below its name and has the full width. */
void
inspector_add_formula (StudioInspector *self, GtkWidget *group, const LoomParamSpec *spec)
{
  InspectorRow *row = g_new0 (InspectorRow, 1);
  g_autofree char *title = studio_param_title (spec->name);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *label = gtk_label_new (title);

  row->inspector = self;
  row->spec = *spec;
  row->row = adw_preferences_row_new ();
  row->editor = GTK_WIDGET (studio_formula_field_new (title, spec->def != NULL && strchr (spec->def, '=') != NULL));
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row->row), title);
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row->row), FALSE);
  inspector_explain (label, spec->doc);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  g_object_set (box, "margin-top", 12, "margin-bottom", 12, "margin-start", 12, "margin-end", 12, NULL);
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), row->editor);
  row->message = message_new ();
  gtk_box_append (GTK_BOX (box), row->message);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row->row), box);
  g_signal_connect (row->editor, "changed", G_CALLBACK (formula_changed_cb), row);
  g_signal_connect (row->editor, "done", G_CALLBACK (formula_done_cb), row);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row->row);
  g_ptr_array_add (self->rows, row);
}

InspectorRow *
inspector_add_param (StudioInspector *self, GtkWidget *group, const LoomParamSpec *spec)
{
  InspectorRow *row = g_new0 (InspectorRow, 1);
  g_autofree char *title = studio_param_title (spec->name);

  row->inspector = self;
  row->spec = *spec;
  row->row = adw_action_row_new ();
  /* The subtitle may quote an expression of the file. */
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row->row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row->row), title);
  {
    g_autofree char *hint = studio_value_hint (spec);
    g_autofree char *doc = spec->doc != NULL && hint != NULL ? g_strdup_printf ("%s\n%s", spec->doc, hint)
                                                             : g_strdup (spec->doc != NULL ? spec->doc : hint);

    inspector_explain (row->row, doc);
  }
  switch (spec->type)
    {
    case LOOM_PARAM_BOOL:
      row->editor = gtk_switch_new ();
      g_signal_connect (row->editor, "notify::active", G_CALLBACK (switch_cb), row);
      break;
    case LOOM_PARAM_ENUM:
    case LOOM_PARAM_DTYPE:
      row->choices = spec->type == LOOM_PARAM_DTYPE ? loom_dtype_names () : spec->choices;
      row->editor = gtk_drop_down_new_from_strings (row->choices);
      studio_choice_name_button (GTK_DROP_DOWN (row->editor), title);
      g_signal_connect (row->editor, "notify::selected", G_CALLBACK (choice_cb), row);
      break;
    case LOOM_PARAM_INT:
    case LOOM_PARAM_FLOAT:
    case LOOM_PARAM_INTS:
    case LOOM_PARAM_FLOATS:
    case LOOM_PARAM_SHAPE:
    case LOOM_PARAM_STRING:
    case LOOM_PARAM_PATH:
      {
        GtkEventController *key = gtk_event_controller_key_new ();

        row->editor = gtk_entry_new ();
        /* Ctrl+Z is the document's undo, which has more steps than the entry's. */
        gtk_editable_set_enable_undo (GTK_EDITABLE (row->editor), FALSE);
        gtk_entry_set_placeholder_text (GTK_ENTRY (row->editor), spec->def == NULL       ? _ ("required")
                                                                 : spec->choices != NULL ? _ ("default")
                                                                                         : spec->def);
        gtk_widget_add_css_class (row->editor, "numeric");
        inspector_add_typing (row);
        g_signal_connect (key, "key-pressed", G_CALLBACK (entry_key_cb), row);
        gtk_event_controller_set_propagation_phase (key, GTK_PHASE_CAPTURE);
        gtk_widget_add_controller (row->editor, key);
        if (studio_param_takes_numbers (spec))
          inspector_add_number_drag (row);
      }
      break;
    }
  if (spec->type != LOOM_PARAM_BOOL)
    inspector_shape_field (row->editor);
  gtk_widget_set_valign (row->editor, GTK_ALIGN_CENTER);
  /* The row's title names it; a second name would be read after that. */
  gtk_accessible_update_property (GTK_ACCESSIBLE (row->editor), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  spec->doc != NULL && spec->doc[0] != '\0' ? _ (spec->doc) : "", -1);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row->row), row->editor);
  if (spec->type == LOOM_PARAM_STRING && spec->choices != NULL)
    {
      GtkWidget *button = studio_suggestions_new (title, open_suggestions_cb, G_CALLBACK (suggestion_cb), row);

      row->choices = spec->choices;
      gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
      adw_action_row_add_suffix (ADW_ACTION_ROW (row->row), button);
    }
  if (spec->type == LOOM_PARAM_PATH)
    adw_action_row_add_suffix (ADW_ACTION_ROW (row->row), inspector_file_button_new (row));
  /* "Out features" needs no unit "features". */
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
  row->message = inspector_add_message (group, &row->message_row);
  g_ptr_array_add (self->rows, row);
  return row;
}
