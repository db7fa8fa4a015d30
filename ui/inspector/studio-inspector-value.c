/* Typing a value into an entry: the result and the changes are previewed while typing, and the value is set at Enter or
 * when the entry loses the focus. Escape restores the old value; an invalid value stays until then. */
#include "ui/inspector/studio-inspector-private.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/inspector/studio-value-list.h"

#define PAUSE 80 /* milliseconds without typing, before the preview is computed */

/* ---- names in formulas ----------------------------------------------------------- */

/* Looks up a size of the node's inputs, if its operator takes it from there. */
static gboolean
find_input (StudioInspector *self, const char *name, double *value)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  guint i = studio_scene_find (scene, self->serial);
  gboolean last = strcmp (name, "in_features") == 0;
  const StudioLink *link;

  if (i == STUDIO_NO_ITEM || (!last && strcmp (name, "in_channels") != 0))
    return FALSE;
  link = scene->item[i].n_inputs > 0 && scene->item[i].input[0].link != STUDIO_NO_ITEM
             ? &scene->link[scene->item[i].input[0].link]
             : NULL;
  if (link != NULL && link->typed && link->type.shape.rank > 1)
    {
      static const LoomBinding nothing_bound;
      gint64 size = loom_dim_value (link->type.shape.dim[last ? link->type.shape.rank - 1 : 1], &nothing_bound);

      *value = size > 0 ? (double)size : NAN;
    }
  return TRUE;
}

static gboolean
find_parameter (const InspectorRow *row, const char *name, double *value)
{
  StudioInspector *self = row->inspector;
  LoomElement *e = inspector_element (self);

  for (guint r = 0; r < self->rows->len; r++)
    {
      const InspectorRow *other = self->rows->pdata[r];
      const char *text = e != NULL ? loom_element_get (e, name) : NULL;
      char *end;

      if (strcmp (other->spec.name, name) != 0
          || (other->spec.type != LOOM_PARAM_INT && other->spec.type != LOOM_PARAM_FLOAT))
        continue;
      text = text != NULL ? text : other->spec.def;
      *value = text != NULL ? g_ascii_strtod (text, &end) : NAN;
      if (text != NULL && (end == text || *end != '\0'))
        *value = NAN;
      return TRUE;
    }
  return FALSE;
}

static StudioNameKind
lookup_cb (const char *name, double *value, gpointer data)
{
  InspectorRow *row = data;
  g_autofree char *argument = NULL;

  *value = NAN;
  if (studio_document_find_argument (row->inspector->document, name, &argument))
    {
      char *end;
      double number = argument != NULL ? g_ascii_strtod (argument, &end) : NAN;

      *value = argument != NULL && end != argument && *end == '\0' ? number : NAN;
      return STUDIO_NAME_ARGUMENT;
    }
  return find_input (row->inspector, name, value) || find_parameter (row, name, value) ? STUDIO_NAME_NUMBER
                                                                                       : STUDIO_NAME_UNKNOWN;
}

static StudioValue
read_entry (InspectorRow *row)
{
  return studio_value_read (&row->spec, gtk_editable_get_text (GTK_EDITABLE (row->editor)), lookup_cb, row);
}

/* ---- typing ------------------------------------------------------------------------ */

static gboolean
is_typed_in (const InspectorRow *row)
{
  return gtk_widget_get_focus_child (row->editor) != NULL;
}

/* Shows "= 1,024", and previews its effects. */
static gboolean
preview_cb (gpointer data)
{
  InspectorRow *row = data;
  g_auto (StudioValue) value = read_entry (row);

  row->late = 0;
  if (value.text == NULL || !row->pending)
    return G_SOURCE_REMOVE;
  inspector_preview (row, value.text[0] != '\0' ? value.text : NULL, value.shown);
  return G_SOURCE_REMOVE;
}

static void
end_typing (InspectorRow *row)
{
  row->pending = FALSE;
  g_clear_handle_id (&row->late, g_source_remove);
  inspector_end_preview (row->inspector);
}

static gboolean
commit_entry (InspectorRow *row)
{
  StudioInspector *self = row->inspector;
  g_auto (StudioValue) value = read_entry (row);

  inspector_set_wrong (row, value.wrong);
  if (value.text == NULL)
    return FALSE;
  end_typing (row);
  inspector_commit (row, value.text);
  /* If the value determines the rows, they were rebuilt. */
  if (!g_ptr_array_find (self->rows, row, NULL))
    return TRUE;
  /* The result of a formula replaces its text. */
  self->updating = TRUE;
  if (strcmp (gtk_editable_get_text (GTK_EDITABLE (row->editor)), value.text) != 0)
    gtk_editable_set_text (GTK_EDITABLE (row->editor), value.text);
  inspector_refresh_row (row);
  self->updating = FALSE;
  return TRUE;
}

/* Several values of a number of one card; NULL: others. (transfer full) */
static char **
read_list (InspectorRow *row)
{
  g_autofree char *wrong = NULL;

  return row->inspector->several->len > 1
             ? NULL
             : studio_value_list_read (&row->spec, gtk_editable_get_text (GTK_EDITABLE (row->editor)), &wrong);
}

static void
changed_cb (GtkEditable *entry, InspectorRow *row)
{
  g_auto (StudioValue) value = { NULL };
  g_auto (GStrv) list = NULL;

  if (row->inspector->updating)
    return;
  /* A value set by a key or a menu is applied at once; a typed value is applied later. */
  if (!is_typed_in (row))
    {
      g_auto (StudioValue) now = read_entry (row);

      inspector_set_wrong (row, now.wrong);
      if (now.text != NULL)
        inspector_commit (row, now.text);
      return;
    }
  list = read_list (row);
  value = read_entry (row);
  inspector_set_wrong (row, list == NULL ? value.wrong : NULL);
  row->pending = TRUE;
  g_clear_handle_id (&row->late, g_source_remove);
  if (value.text != NULL)
    row->late = g_timeout_add (PAUSE, preview_cb, row);
  else
    inspector_end_preview (row->inspector);
}

/* Instead of what was typed. */
static void
show_value (InspectorRow *row)
{
  LoomElement *e = inspector_element (row->inspector);
  const char *value = e != NULL ? loom_element_get (e, row->spec.name) : NULL;
  gboolean mixed = row->inspector->several->len > 1 && inspector_is_mixed (row->inspector, row->spec.name);

  row->inspector->updating = TRUE;
  gtk_editable_set_text (GTK_EDITABLE (row->editor), mixed                   ? ""
                                                     : value != NULL         ? value
                                                     : row->spec.def != NULL ? row->spec.def
                                                                             : "");
  inspector_refresh_row (row);
  row->inspector->updating = FALSE;
}

/* Enter: returns the focus to the canvas, unless the value is invalid. */
static void
activate_cb (GtkEntry *entry, InspectorRow *row)
{
  StudioInspector *self = row->inspector;
  g_auto (GStrv) list = read_list (row);

  if (list != NULL)
    {
      end_typing (row);
      inspector_set_wrong (row, NULL);
      show_value (row);
      g_signal_emit_by_name (self, "left");
      g_signal_emit_by_name (self, "sweep", self->serial, row->spec.name, list);
    }
  else if (commit_entry (row))
    g_signal_emit_by_name (self, "left");
}

static void
leave_cb (GtkEventControllerFocus *controller, InspectorRow *row)
{
  g_auto (GStrv) list = NULL;

  if (!row->pending || inspector_element (row->inspector) == NULL)
    return;
  list = read_list (row);
  if (list == NULL)
    commit_entry (row);
  else /* leaving a field trains nothing */
    inspector_set_wrong (row, _ ("Press Enter in this field to train once with each of these values."));
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, InspectorRow *row)
{
  if (key != GDK_KEY_Escape || !row->pending)
    return FALSE;
  end_typing (row);
  inspector_set_wrong (row, NULL);
  show_value (row);
  /* Returns the focus to the canvas, too. */
  return FALSE;
}

void
inspector_commit_typed (StudioInspector *self)
{
  for (guint r = 0; r < self->rows->len; r++)
    {
      InspectorRow *row = self->rows->pdata[r];

      if (row->pending && inspector_element (self) != NULL)
        commit_entry (row);
    }
}

void
inspector_drop_typing (InspectorRow *row)
{
  row->pending = FALSE;
  g_clear_handle_id (&row->late, g_source_remove);
  /* The entry may lose the focus after its row was removed. */
  if (row->focus != NULL)
    g_signal_handlers_disconnect_by_data (row->focus, row);
  g_clear_object (&row->focus);
}

/* Shows the current value of an expression that the file keeps as text. */
void
inspector_show_result (InspectorRow *row, const char *text)
{
  g_auto (StudioValue) value = { NULL };

  if (!ADW_IS_ACTION_ROW (row->row))
    return;
  if (loom_expr_is (text))
    value = studio_value_read (&row->spec, text, lookup_cb, row);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row->row), value.shown != NULL ? value.shown : "");
}

void
inspector_add_typing (InspectorRow *row)
{
  GtkEventController *focus = gtk_event_controller_focus_new (), *key = gtk_event_controller_key_new ();

  g_signal_connect (row->editor, "changed", G_CALLBACK (changed_cb), row);
  g_signal_connect (row->editor, "activate", G_CALLBACK (activate_cb), row);
  row->focus = g_object_ref (focus);
  g_signal_connect (focus, "leave", G_CALLBACK (leave_cb), row);
  g_signal_connect (key, "key-pressed", G_CALLBACK (key_cb), row);
  gtk_event_controller_set_propagation_phase (key, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller (row->editor, focus);
  gtk_widget_add_controller (row->editor, key);
}
