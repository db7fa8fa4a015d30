/* A row of the training settings shows one attribute. The widgets keep no state: typed text is written to the document
 * at Enter or when the entry loses the focus. */
#include "ui/training/studio-training-private.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/inspector/studio-inspector-params.h"
#include "ui/inspector/studio-value-list.h"

#define FIELD_WIDTH 116

typedef struct
{
  StudioTrainingSettings *settings;
  TrainingPlace place;
  LoomParamSpec spec;
  GtkWidget *widget; /* GtkEntry, GtkSwitch or GtkDropDown */
  TrainingSuggest suggest;
  gboolean gone; /* its widget was removed; the entry may lose the focus only afterwards */
} Row;

static LoomElement *
row_element (Row *row)
{
  StudioDocument *document = row->settings->document;
  LoomElement *e = studio_training_element (document);
  if (row->place.tag == LOOM_TAG_GRAPH)
    return loom_graph_root (studio_document_get_graph (document));
  if (row->place.serial != 0)
    return loom_graph_by_serial (studio_document_get_graph (document), row->place.serial);
  return e != NULL && row->place.tag != LOOM_TAG_TRAIN ? loom_element_find (e, row->place.tag) : e;
}

static const char *
value_of (Row *row)
{
  LoomElement *e = row_element (row);
  const char *value = e != NULL ? loom_element_get (e, row->spec.name) : NULL;
  return value != NULL ? value : row->spec.def != NULL ? row->spec.def : "";
}

static void
apply (Row *row, const char *value)
{
  StudioDocument *document = row->settings->document;
  if (row->gone || row->settings->filling || strcmp (value, value_of (row)) == 0)
    return;
  if (value[0] == '\0')
    value = NULL;
  if (row->place.serial != 0)
    studio_training_set_at (document, row->place.serial, row->spec.name, value);
  else if (row->place.tag == LOOM_TAG_GRAPH)
    studio_training_set_at (document, loom_element_serial (row_element (row)), row->spec.name, value);
  else if (row->place.tag == LOOM_TAG_TRAIN && g_str_equal (row->spec.name, "optimizer"))
    studio_training_set_optimizer (document, value);
  else if (row->place.tag == LOOM_TAG_SCHEDULE && g_str_equal (row->spec.name, "type"))
    studio_training_set_schedule (document, value);
  else if (row->place.tag == LOOM_TAG_TRAIN)
    studio_training_set (document, row->spec.name, value);
  else
    studio_training_set_in (document, row->place.tag, row->spec.name, value);
}

/* A fault is shown at its field, as an icon whose tooltip is the sentence. GTK measures the window again whenever an
 * icon is set, also to none. */
static void
show_fault (Row *row, const char *wrong)
{
  GtkEntry *entry = GTK_ENTRY (row->widget);
  g_autofree char *shown = gtk_entry_get_icon_tooltip_text (entry, GTK_ENTRY_ICON_PRIMARY);

  if (g_strcmp0 (shown, wrong) == 0)
    return;
  if (wrong != NULL)
    gtk_widget_add_css_class (row->widget, "error");
  else
    gtk_widget_remove_css_class (row->widget, "error");
  gtk_entry_set_icon_from_icon_name (entry, GTK_ENTRY_ICON_PRIMARY, wrong != NULL ? "dialog-warning-symbolic" : NULL);
  gtk_entry_set_icon_tooltip_text (entry, GTK_ENTRY_ICON_PRIMARY, wrong);
  gtk_accessible_update_state (GTK_ACCESSIBLE (row->widget), GTK_ACCESSIBLE_STATE_INVALID,
                               wrong != NULL ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
}

static void
entry_done (Row *row)
{
  if (row->gone || row->settings->filling)
    return;
  g_auto (StudioValue) value
      = studio_value_read (&row->spec, gtk_editable_get_text (GTK_EDITABLE (row->widget)), NULL, NULL);
  show_fault (row, value.wrong);
  if (value.text == NULL)
    return;
  apply (row, value.text);
  /* Shows the value of a formula, also if it equals the old value. */
  if (!row->gone && value.shown != NULL)
    gtk_editable_set_text (GTK_EDITABLE (row->widget), value_of (row));
}

/* ---- several values ------------------------------------------------------------------------ */

/* The values of a list that was typed into a number's field; NULL: there is none, or a value is wrong, which the field
 * then reports. is_list: a list was typed. */
static char **
read_values (Row *row, gboolean *is_list)
{
  g_autofree char *wrong = NULL;
  g_auto (GStrv) values = NULL;
  *is_list = FALSE;
  if (row->gone || row->settings->filling || row->place.tag != LOOM_TAG_TRAIN || row->place.serial != 0)
    return NULL;
  values = studio_value_list_read (&row->spec, gtk_editable_get_text (GTK_EDITABLE (row->widget)), &wrong);
  *is_list = values != NULL || wrong != NULL;
  if (wrong != NULL)
    show_fault (row, wrong);
  return g_steal_pointer (&values);
}

static void
activate_cb (GtkEntry *entry, Row *row)
{
  gboolean is_list;
  g_auto (GStrv) values = read_values (row, &is_list);
  if (!is_list)
    entry_done (row);
  if (values == NULL)
    return;
  gtk_editable_set_text (GTK_EDITABLE (entry), value_of (row));
  show_fault (row, NULL);
  training_emit_sweep (row->settings, row->spec.name, (const char *const *)values);
}

/* Leaving a field trains nothing. */
static void
leave_cb (GtkEventControllerFocus *controller, Row *row)
{
  gboolean is_list;
  g_auto (GStrv) values = read_values (row, &is_list);
  if (values != NULL)
    show_fault (row, _ ("Press Enter in this field to train once with each of these values."));
  if (!is_list)
    entry_done (row);
}

static void
switch_cb (GtkSwitch *widget, GParamSpec *pspec, Row *row)
{
  apply (row, gtk_switch_get_active (widget) ? "true" : "false");
}

static void
drop_cb (GtkDropDown *drop, GParamSpec *pspec, Row *row)
{
  guint i = gtk_drop_down_get_selected (drop);
  if (i == GTK_INVALID_LIST_POSITION || row->gone || row->settings->filling)
    return;
  /* Its list closes only after this, and the row may have been rebuilt by then. */
  row->settings->focus_tag = row->place.tag;
  row->settings->focus_serial = row->place.serial;
  row->settings->focus_name = g_intern_string (row->spec.name);
  apply (row, row->spec.choices[i]);
}

static void
fill_row (Row *row)
{
  const char *value = value_of (row);
  if (GTK_IS_SWITCH (row->widget))
    gtk_switch_set_active (GTK_SWITCH (row->widget), g_str_equal (value, "true"));
  else if (GTK_IS_DROP_DOWN (row->widget))
    {
      for (guint i = 0; row->spec.choices[i] != NULL; i++)
        if (g_str_equal (row->spec.choices[i], value))
          gtk_drop_down_set_selected (GTK_DROP_DOWN (row->widget), i);
    }
  else if (strcmp (gtk_editable_get_text (GTK_EDITABLE (row->widget)), value) != 0)
    {
      gtk_editable_set_text (GTK_EDITABLE (row->widget), value);
      show_fault (row, NULL);
    }
}

void
training_fill_rows (StudioTrainingSettings *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    fill_row (g_ptr_array_index (self->rows, i));
}

/* The list of choices is a window of its own, below its row. */
void
training_keep_focus (StudioTrainingSettings *self)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;
  if (focus == NULL)
    return;
  for (guint i = 0; i < self->rows->len; i++)
    {
      Row *row = g_ptr_array_index (self->rows, i);
      if (focus != row->widget && !gtk_widget_is_ancestor (focus, row->widget))
        continue;
      self->focus_tag = row->place.tag;
      self->focus_serial = row->place.serial;
      self->focus_name = g_intern_string (row->spec.name);
    }
}

void
training_give_focus (StudioTrainingSettings *self)
{
  const char *name = g_steal_pointer (&self->focus_name);
  for (guint i = 0; name != NULL && i < self->rows->len; i++)
    {
      Row *row = g_ptr_array_index (self->rows, i);
      if (!g_str_equal (row->spec.name, name) || row->place.tag != self->focus_tag
          || row->place.serial != self->focus_serial)
        continue;
      if (GTK_IS_ENTRY (row->widget))
        gtk_entry_grab_focus_without_selecting (GTK_ENTRY (row->widget));
      else
        gtk_widget_grab_focus (row->widget);
      return;
    }
}

void
training_mark_rows (StudioTrainingSettings *self, const LoomFaults *faults)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      Row *row = g_ptr_array_index (self->rows, i);
      const char *wrong = NULL;
      /* The fault does not name the group or metric, and typed text is checked separately. */
      if (!GTK_IS_ENTRY (row->widget) || row->place.serial != 0
          || strcmp (gtk_editable_get_text (GTK_EDITABLE (row->widget)), value_of (row)) != 0)
        continue;
      g_autofree char *place = g_strdup_printf ("<%s>: ", loom_tag_name (row->place.tag));
      for (guint f = 0; f < loom_faults_length (faults) && wrong == NULL; f++)
        {
          const LoomFault *fault = loom_faults_get (faults, f);
          if (studio_training_is_fault (fault) && g_strcmp0 (fault->port, row->spec.name) == 0
              && g_str_has_prefix (fault->message, place))
            wrong = fault->message;
        }
      show_fault (row, wrong);
    }
}

void
training_forget_rows (StudioTrainingSettings *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    ((Row *)g_ptr_array_index (self->rows, i))->gone = TRUE;
  g_ptr_array_set_size (self->rows, 0);
}

/* ---- suggestions -------------------------------------------------------------------------- */

static void
suggestion_cb (GSimpleAction *action, GVariant *value, Row *row)
{
  if (row->gone)
    return;
  gtk_editable_set_text (GTK_EDITABLE (row->widget), g_variant_get_string (value, NULL));
  entry_done (row);
}

static void
popup_cb (GtkMenuButton *button, gpointer data)
{
  Row *row = data;
  g_autoptr (GMenu) menu = g_menu_new ();
  g_auto (GStrv) names = row->gone ? NULL : row->suggest (row->settings->document);
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    studio_suggestions_append (menu, names[i]);
  gtk_menu_button_set_menu_model (button, G_MENU_MODEL (menu));
}

/* ---- making ---------------------------------------------------------------------------------- */

GtkWidget *
training_add_group (StudioTrainingSettings *self, const char *title)
{
  GtkWidget *label = gtk_label_new (title), *grid = gtk_grid_new ();
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "heading");
  if (gtk_widget_get_first_child (self->box) != NULL)
    gtk_widget_set_margin_top (label, 12);
  gtk_box_append (GTK_BOX (self->box), label);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 6);
  gtk_grid_set_column_spacing (GTK_GRID (grid), 6);
  gtk_box_append (GTK_BOX (self->box), grid);
  return grid;
}

static GtkWidget *
new_entry (Row *row, const char *placeholder)
{
  GtkWidget *entry = gtk_entry_new ();
  GtkEventController *focus = gtk_event_controller_focus_new ();
  gtk_editable_set_width_chars (GTK_EDITABLE (entry), 9);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (entry), 9);
  /* Values are numbers and names, which are written from left to right in every language; otherwise "1e-08" would be
   * aligned differently from "0.1". */
  gtk_widget_set_direction (GTK_WIDGET (gtk_editable_get_delegate (GTK_EDITABLE (entry))), GTK_TEXT_DIR_LTR);
  gtk_editable_set_alignment (GTK_EDITABLE (entry), 1);
  gtk_editable_set_enable_undo (GTK_EDITABLE (entry), FALSE);
  gtk_entry_set_placeholder_text (GTK_ENTRY (entry), placeholder);
  gtk_widget_set_size_request (entry, FIELD_WIDTH, -1);
  g_signal_connect (entry, "activate", G_CALLBACK (activate_cb), row);
  g_signal_connect (focus, "leave", G_CALLBACK (leave_cb), row);
  gtk_widget_add_controller (entry, focus);
  return entry;
}

static int
next_line (GtkWidget *grid)
{
  int line = 0;
  while (gtk_grid_get_child_at (GTK_GRID (grid), 0, line) != NULL)
    line++;
  return line;
}

static void
row_free (gpointer data)
{
  g_free (data);
}

/* Titles of attributes whose names are not clear. */
static const struct
{
  const char *name, *title;
} titles[] = {
  { "loss", N_ ("Loss") },
  { "epochs", N_ ("Epochs") },
  { "batch_size", N_ ("Batch size") },
  { "seed", N_ ("Seed") },
  { "precision", N_ ("Precision") },
  { "weight_decay", N_ ("Weight decay") },
  { "milestones", N_ ("Milestones") },
  { "warmup_steps", N_ ("Warmup steps") },
  { "interval", N_ ("Interval") },
  { "lr", N_ ("Learning rate") },
  { "optimizer", N_ ("Method") },
  { "type", N_ ("Kind") },
  { "norm", N_ ("Clip norm") },
  { "value", N_ ("Clip values") },
  { "ema", N_ ("Weight average") },
  { "accumulate", N_ ("Batches per step") },
  { "strict_devices", N_ ("Strict devices") },
  { "drop_last", N_ ("Drop last batch") },
  { "sample_weights", N_ ("Weights of classes") },
  { "tf32", N_ ("Allow TF32") },
  { "algorithm", N_ ("Convolutions") },
  { "weights", N_ ("Start from") },
  { "match", N_ ("Of these weights") },
  { "lr_batch_size", N_ ("Rate for batch size") },
  { "patience", N_ ("Patience") },
  { "folds", N_ ("Folds") },
  { "fold", N_ ("Validation fold") },
  { "min_delta", N_ ("Minimum improvement") },
  { "monitor", N_ ("Monitored") },
  { "strategy", N_ ("Strategy") },
  { "staleness", N_ ("Staleness") },
  { "tensor", N_ ("Tensor parallel") },
  { "pipeline", N_ ("Stages") },
  { "microbatches", N_ ("Micro-batches") },
  { "schedule", N_ ("Pipeline schedule") },
};

static char *
title_of (const Row *row)
{
  for (guint i = 0; row->place.serial == 0 && i < G_N_ELEMENTS (titles); i++)
    if (g_str_equal (titles[i].name, row->spec.name))
      return g_strdup (_ (titles[i].title));
  if (g_str_equal (row->spec.name, "lr"))
    return g_strdup (_ ("Learning rate"));
  return studio_param_title (row->spec.name);
}

void
training_add_row (StudioTrainingSettings *self, GtkWidget *grid, TrainingPlace place, const LoomParamSpec *spec,
                  const char *placeholder, TrainingSuggest suggest)
{
  Row *row = g_new0 (Row, 1);
  int line = next_line (grid);
  row->settings = self;
  row->place = place;
  row->spec = *spec;
  row->suggest = suggest;
  g_autofree char *title = title_of (row);
  if (spec->type == LOOM_PARAM_BOOL)
    row->widget = gtk_switch_new ();
  else if (spec->choices != NULL)
    row->widget = gtk_drop_down_new_from_strings (spec->choices);
  else
    row->widget = new_entry (row, placeholder);
  fill_row (row);
  if (GTK_IS_SWITCH (row->widget))
    g_signal_connect (row->widget, "notify::active", G_CALLBACK (switch_cb), row);
  else if (GTK_IS_DROP_DOWN (row->widget))
    {
      studio_choice_name_button (GTK_DROP_DOWN (row->widget), title);
      g_signal_connect (row->widget, "notify::selected", G_CALLBACK (drop_cb), row);
    }

  GtkWidget *label = gtk_label_new (title);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_label_set_mnemonic_widget (GTK_LABEL (label), row->widget);
  gtk_widget_set_tooltip_text (label, spec->doc);
  /* A tooltip would cover the open list. */
  if (!GTK_IS_DROP_DOWN (row->widget))
    gtk_widget_set_tooltip_text (row->widget, spec->doc);
  gtk_widget_set_halign (row->widget, GTK_ALIGN_END);
  gtk_widget_set_valign (row->widget, GTK_ALIGN_CENTER);
  gtk_grid_attach (GTK_GRID (grid), label, 0, line, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), row->widget, 1, line, suggest != NULL ? 1 : 2, 1);
  if (suggest != NULL)
    gtk_grid_attach (GTK_GRID (grid), studio_suggestions_new (title, popup_cb, G_CALLBACK (suggestion_cb), row), 2,
                     line, 1, 1);
  /* The row lives as long as its widget, which may emit signals after it was removed from the window. */
  g_object_set_data_full (G_OBJECT (row->widget), "row", row, row_free);
  g_ptr_array_add (self->rows, row);
}

void
training_add_attribute (StudioTrainingSettings *self, GtkWidget *grid, TrainingPlace place, const char *name,
                        const char *placeholder, TrainingSuggest suggest)
{
  const LoomAttribute *attribute = loom_attribute (place.tag, name);
  g_return_if_fail (attribute != NULL);
  training_add_row (self, grid, place, &attribute->spec, placeholder, suggest);
}

LoomParamSpec
training_choice (LoomTag tag, const char *name)
{
  const LoomAttribute *attribute = loom_attribute (tag, name);
  LoomParamSpec spec = attribute->spec;
  spec.type = LOOM_PARAM_ENUM;
  spec.choices = attribute->names ();
  return spec;
}
