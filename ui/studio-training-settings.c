/* Training settings: what the right pane shows while nothing is selected.
 *
 * Rows for the optimiser's hyper-parameters come from its description in the engine, so a new optimiser needs no line
 * here. Every change is a transaction of the document; nothing is kept in the widgets. */
#include "ui/studio-training-settings.h"

#include <adwaita.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"

struct _StudioTrainingSettings
{
  GtkWidget parent_instance;
  StudioDocument *document;
  GtkWidget *box;
  char *shown;     /* optimiser, schedule and loss names that the rows were made for */
  GPtrArray *rows; /* Row */
  gboolean filling;
};

G_DEFINE_TYPE (StudioTrainingSettings, studio_training_settings, GTK_TYPE_WIDGET)

typedef struct
{
  StudioTrainingSettings *settings;
  LoomTag tag; /* TRAIN, SCHEDULE or CLIP */
  const char *attribute;
  char *def;
  GtkWidget *widget; /* GtkEntry, GtkSwitch or GtkDropDown */
  const char *const *choices;
  gboolean gone; /* its widget was taken away; the focus's leaving may be told only afterwards */
} Row;

/* ---- the element ------------------------------------------------------------------- */

static LoomElement *
find_train (StudioDocument *document)
{
  return loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_TRAIN);
}

static const LoomNetNode *
find_loss (StudioDocument *document)
{
  LoomNet *net = studio_document_get_net (document);
  const LoomNetNode *found = NULL;
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      if (node->op != NULL && node->op->category == LOOM_CATEGORY_LOSS)
        found = node;
    }
  return found;
}

static void
add_accuracy (StudioDocument *document, LoomElement *train, const LoomNetNode *loss)
{
  LoomNet *net = studio_document_get_net (document);
  if (!g_str_equal (loss->op->name, "cross_entropy") || loss->n_inputs < 2 || loss->input[0].node == G_MAXUINT
      || loss->input[1].node == G_MAXUINT)
    return;
  g_autofree char *input = loom_net_port_name (net, loss->input[0].node, loss->input[0].output);
  g_autofree char *target = loom_net_port_name (net, loss->input[1].node, loss->input[1].output);
  loom_element_append_detached (
      train, loom_element_new (LOOM_TAG_METRIC, "type", "accuracy", "input", input, "target", target, NULL));
}

gboolean
studio_training_ensure (StudioDocument *document, GError **error)
{
  LoomElement *train = find_train (document);
  const LoomNetNode *loss = find_loss (document);
  if (train != NULL && loom_element_get (train, "loss") != NULL)
    return TRUE;
  if (loss == NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                           "There is nothing to train yet: add a loss, for example cross_entropy, and wire it.");
      return FALSE;
    }
  studio_document_begin (document, "Set up training");
  if (train != NULL)
    studio_document_edit (document, loom_edit_set (train, "loss", loss->path));
  else
    {
      LoomElement *made = loom_element_new (LOOM_TAG_TRAIN, "loss", loss->path, "optimizer", "adam", "lr", "0.001",
                                            "batch_size", "64", "epochs", "3", "seed", "1", NULL);
      add_accuracy (document, made, loss);
      LoomElement *root = loom_graph_root (studio_document_get_graph (document));
      studio_document_edit (document, loom_edit_insert (root, loom_element_place_for (root, LOOM_TAG_TRAIN), made));
    }
  studio_document_end (document);
  return TRUE;
}

void
studio_training_set (StudioDocument *document, const char *attribute, const char *value)
{
  studio_document_begin (document, "Change training");
  if (find_train (document) == NULL)
    studio_training_ensure (document, NULL);
  LoomElement *train = find_train (document);
  if (train == NULL)
    train = studio_document_ensure (document, LOOM_TAG_TRAIN);
  if (g_strcmp0 (loom_element_get (train, attribute), value) != 0)
    {
      g_autofree char *key = g_strdup_printf ("train.%s", attribute);
      studio_document_edit (document, loom_edit_set (train, attribute, value));
      studio_document_merge (document, key);
    }
  studio_document_end (document);
}

char *
studio_training_dup_loss_path (StudioDocument *document)
{
  LoomElement *train = find_train (document);
  const char *loss = train != NULL ? loom_element_get (train, "loss") : NULL;
  if (loss != NULL)
    return g_strdup (loss);
  const LoomNetNode *node = find_loss (document);
  return node != NULL ? g_strdup (node->path) : NULL;
}

/* Sets an attribute of <train>'s child, which is made when needed. */
static void
set_in_child (StudioDocument *document, LoomTag tag, const char *attribute, const char *value)
{
  studio_document_begin (document, "Change training");
  studio_training_ensure (document, NULL);
  LoomElement *train = find_train (document);
  if (train == NULL)
    train = studio_document_ensure (document, LOOM_TAG_TRAIN);
  LoomElement *child = loom_element_find (train, tag);
  /* Clipping by 0, and a schedule that is constant without warm-up, are the absence of both. */
  gboolean gone = value == NULL || (tag == LOOM_TAG_CLIP && g_ascii_strtod (value, NULL) <= 0);
  if (child == NULL && !gone)
    {
      LoomElement *made = loom_element_new (tag, attribute, value, NULL);
      if (tag == LOOM_TAG_SCHEDULE && !g_str_equal (attribute, "type"))
        {
          loom_element_free (made);
          made = loom_element_new (tag, "type", "constant", attribute, value, NULL);
        }
      studio_document_edit (document, loom_edit_insert (train, loom_element_place_for (train, tag), made));
    }
  else if (child != NULL && gone && tag == LOOM_TAG_CLIP)
    studio_document_edit (document, loom_edit_remove (child));
  else if (child != NULL && g_strcmp0 (loom_element_get (child, attribute), value) != 0)
    studio_document_edit (document, loom_edit_set (child, attribute, value));
  studio_document_end (document);
}

/* ---- rows ------------------------------------------------------------------------------ */

static const char *
value_of (Row *row)
{
  LoomElement *e = find_train (row->settings->document);
  if (e != NULL && row->tag != LOOM_TAG_TRAIN)
    e = loom_element_find (e, row->tag);
  const char *value = e != NULL ? loom_element_get (e, row->attribute) : NULL;
  return value != NULL ? value : row->def;
}

static void
apply (Row *row, const char *value)
{
  StudioTrainingSettings *self = row->settings;
  if (row->gone || self->filling || g_strcmp0 (value, value_of (row)) == 0)
    return;
  if (row->tag == LOOM_TAG_TRAIN)
    studio_training_set (self->document, row->attribute, value);
  else
    set_in_child (self->document, row->tag, row->attribute, value);
}

static void
entry_done (Row *row)
{
  if (row->gone)
    return;
  const char *text = gtk_editable_get_text (GTK_EDITABLE (row->widget));
  char *end;
  double value = g_ascii_strtod (text, &end);
  gboolean good = *text != '\0' && *end == '\0' && isfinite (value);
  /* betas="0.9,0.999" is a list; its parts are checked by the engine, whose fault then stands in the status line. */
  if (strchr (text, ',') != NULL)
    good = TRUE;
  if (!good)
    {
      gtk_widget_add_css_class (row->widget, "error");
      return;
    }
  gtk_widget_remove_css_class (row->widget, "error");
  apply (row, text);
}

static void
activate_cb (GtkEntry *entry, Row *row)
{
  entry_done (row);
}

static void
leave_cb (GtkEventControllerFocus *controller, Row *row)
{
  entry_done (row);
}

static gboolean
switch_cb (GtkSwitch *widget, GParamSpec *pspec, Row *row)
{
  apply (row, gtk_switch_get_active (widget) ? "true" : "false");
  return FALSE;
}

static void
drop_cb (GtkDropDown *drop, GParamSpec *pspec, Row *row)
{
  guint i = gtk_drop_down_get_selected (drop);
  if (i != GTK_INVALID_LIST_POSITION)
    apply (row, row->choices[i]);
}

static void
row_free (gpointer data)
{
  Row *row = data;
  g_free (row->def);
  g_free (row);
}

static void
fill_row (Row *row)
{
  const char *value = value_of (row);
  if (GTK_IS_ENTRY (row->widget))
    {
      GtkWidget *focus = gtk_widget_get_focus_child (row->widget);
      if (focus == NULL || g_strcmp0 (gtk_editable_get_text (GTK_EDITABLE (row->widget)), value) != 0)
        gtk_editable_set_text (GTK_EDITABLE (row->widget), value);
    }
  else if (GTK_IS_SWITCH (row->widget))
    gtk_switch_set_active (GTK_SWITCH (row->widget), g_str_equal (value, "true"));
  else
    for (guint i = 0; row->choices[i] != NULL; i++)
      if (g_str_equal (row->choices[i], value))
        gtk_drop_down_set_selected (GTK_DROP_DOWN (row->widget), i);
}

static Row *
new_row (StudioTrainingSettings *self, GtkWidget *grid, int at, LoomTag tag, const char *attribute, const char *title,
         const char *def, const char *tooltip, GtkWidget *widget)
{
  Row *row = g_new0 (Row, 1);
  row->settings = self;
  row->tag = tag;
  row->attribute = g_intern_string (attribute);
  row->def = g_strdup (def);
  row->widget = widget;
  GtkWidget *label = gtk_label_new (title);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_label_set_mnemonic_widget (GTK_LABEL (label), widget);
  gtk_widget_set_tooltip_text (label, tooltip);
  gtk_widget_set_tooltip_text (widget, tooltip);
  gtk_widget_set_halign (widget, GTK_ALIGN_END);
  gtk_widget_set_valign (widget, GTK_ALIGN_CENTER);
  gtk_accessible_update_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_grid_attach (GTK_GRID (grid), label, 0, at, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), widget, 1, at, 1, 1);
  /* The row lives as long as its widget, whose signals may still come after it left the window. */
  g_object_set_data_full (G_OBJECT (widget), "row", row, row_free);
  g_ptr_array_add (self->rows, row);
  return row;
}

static void
add_entry (StudioTrainingSettings *self, GtkWidget *grid, int at, LoomTag tag, const char *attribute, const char *title,
           const char *def, const char *tooltip)
{
  GtkWidget *entry = gtk_entry_new ();
  gtk_editable_set_width_chars (GTK_EDITABLE (entry), 10);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (entry), 10);
  gtk_editable_set_alignment (GTK_EDITABLE (entry), 1);
  Row *row = new_row (self, grid, at, tag, attribute, title, def, tooltip, entry);
  g_signal_connect (entry, "activate", G_CALLBACK (activate_cb), row);
  GtkEventController *focus = gtk_event_controller_focus_new ();
  g_signal_connect (focus, "leave", G_CALLBACK (leave_cb), row);
  gtk_widget_add_controller (entry, focus);
}

static void
add_switch (StudioTrainingSettings *self, GtkWidget *grid, int at, LoomTag tag, const char *attribute,
            const char *title, const char *def, const char *tooltip)
{
  GtkWidget *widget = gtk_switch_new ();
  Row *row = new_row (self, grid, at, tag, attribute, title, def, tooltip, widget);
  fill_row (row);
  g_signal_connect (widget, "notify::active", G_CALLBACK (switch_cb), row);
}

static void
add_drop (StudioTrainingSettings *self, GtkWidget *grid, int at, LoomTag tag, const char *attribute, const char *title,
          const char *def, const char *tooltip, const char *const *choices)
{
  GtkWidget *drop = gtk_drop_down_new_from_strings (choices);
  Row *row = new_row (self, grid, at, tag, attribute, title, def, tooltip, drop);
  row->choices = choices;
  fill_row (row);
  g_signal_connect (drop, "notify::selected", G_CALLBACK (drop_cb), row);
}

static GtkWidget *
add_group (StudioTrainingSettings *self, const char *title)
{
  GtkWidget *label = gtk_label_new (title);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "heading");
  if (gtk_widget_get_first_child (self->box) != NULL)
    gtk_widget_set_margin_top (label, 12);
  gtk_box_append (GTK_BOX (self->box), label);
  GtkWidget *grid = gtk_grid_new ();
  gtk_grid_set_row_spacing (GTK_GRID (grid), 6);
  gtk_grid_set_column_spacing (GTK_GRID (grid), 12);
  gtk_box_append (GTK_BOX (self->box), grid);
  return grid;
}

/* Titles of what has one; anything else is shown under its own name. */
static char *
title_of (const char *attribute)
{
  if (g_str_equal (attribute, "lr"))
    return g_strdup ("Learning rate");
  char *title = g_strdup (attribute);
  g_strdelimit (title, "_", ' ');
  title[0] = g_ascii_toupper (title[0]);
  return title;
}

static const char *const schedule_choices[] = { "constant", "step", "cosine", "linear", NULL };

static const struct
{
  const char *type, *attribute, *title, *def, *doc;
} schedule_rows[] = {
  { NULL, "warmup_steps", "Warm-up steps", "0", "The learning rate rises from 0 over this many steps" },
  { "step", "step_size", "Step size", "1000", "Steps between two reductions" },
  { "step", "gamma", "Gamma", "0.1", "The learning rate is multiplied by this at each reduction" },
  { "cosine", "min_lr", "Lowest rate", "0", "Where the half wave ends" },
  { "linear", "end_factor", "End factor", "0", "The last step's share of the learning rate" },
};

static const char *const *
optimizer_names (void)
{
  static const char **names = NULL;
  if (names == NULL)
    {
      GPtrArray *list = g_ptr_array_new ();
      for (const LoomOptimizer *const *o = loom_optimizers (); *o != NULL; o++)
        g_ptr_array_add (list, (gpointer)(*o)->name);
      g_ptr_array_add (list, NULL);
      names = (const char **)g_ptr_array_free (list, FALSE);
    }
  return names;
}

static const char *
train_value (StudioTrainingSettings *self, const char *attribute, const char *def)
{
  LoomElement *train = find_train (self->document);
  const char *value = train != NULL ? loom_element_get (train, attribute) : NULL;
  return value != NULL ? value : def;
}

static const char *
schedule_type (StudioTrainingSettings *self)
{
  LoomElement *train = find_train (self->document);
  LoomElement *schedule = train != NULL ? loom_element_find (train, LOOM_TAG_SCHEDULE) : NULL;
  const char *type = schedule != NULL ? loom_element_get (schedule, "type") : NULL;
  return type != NULL ? type : "constant";
}

static void
forget_rows (StudioTrainingSettings *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    ((Row *)g_ptr_array_index (self->rows, i))->gone = TRUE;
  g_ptr_array_set_size (self->rows, 0);
}

static void
build (StudioTrainingSettings *self)
{
  GtkWidget *child;
  forget_rows (self);
  while ((child = gtk_widget_get_first_child (self->box)) != NULL)
    gtk_box_remove (GTK_BOX (self->box), child);

  GtkWidget *grid = add_group (self, "Training");
  int at = 0;
  add_entry (self, grid, at++, LOOM_TAG_TRAIN, "epochs", "Epochs", "1", "How often every sample is seen");
  add_entry (self, grid, at++, LOOM_TAG_TRAIN, "batch_size", "Batch size", "32", "Samples in one step");
  add_entry (self, grid, at++, LOOM_TAG_TRAIN, "seed", "Seed", "0", "Same seed, same numbers");

  grid = add_group (self, "Optimizer");
  at = 0;
  const char *name = train_value (self, "optimizer", "sgd");
  add_drop (self, grid, at++, LOOM_TAG_TRAIN, "optimizer", "Method", "sgd", NULL, optimizer_names ());
  const LoomOptimizer *optimizer = loom_optimizer (name);
  gboolean betas = FALSE;
  for (const LoomHyper *h = optimizer != NULL ? optimizer->hyper : NULL; h != NULL && h->name != NULL; h++)
    {
      char number[G_ASCII_DTOSTR_BUF_SIZE];
      g_ascii_formatd (number, sizeof number, "%.10g", h->value);
      g_autofree char *title = title_of (h->name);
      /* In the file the two betas are one attribute, as in PyTorch. */
      if (g_str_has_prefix (h->name, "beta"))
        {
          if (!betas)
            add_entry (self, grid, at++, LOOM_TAG_TRAIN, "betas", "Betas", "0.9,0.999", h->doc);
          betas = TRUE;
        }
      else if (h->is_bool)
        add_switch (self, grid, at++, LOOM_TAG_TRAIN, h->name, title, h->value != 0 ? "true" : "false", h->doc);
      else if (h->words != NULL)
        add_drop (self, grid, at++, LOOM_TAG_TRAIN, h->name, title, h->words[(int)h->value], h->doc, h->words);
      else
        add_entry (self, grid, at++, LOOM_TAG_TRAIN, h->name, title, number, h->doc);
    }

  grid = add_group (self, "Schedule");
  at = 0;
  const char *type = schedule_type (self);
  add_drop (self, grid, at++, LOOM_TAG_SCHEDULE, "type", "Course", "constant",
            "How the learning rate changes during the run", schedule_choices);
  for (guint i = 0; i < G_N_ELEMENTS (schedule_rows); i++)
    if (schedule_rows[i].type == NULL || g_str_equal (schedule_rows[i].type, type))
      add_entry (self, grid, at++, LOOM_TAG_SCHEDULE, schedule_rows[i].attribute, schedule_rows[i].title,
                 schedule_rows[i].def, schedule_rows[i].doc);

  grid = add_group (self, "Gradients");
  add_entry (self, grid, 0, LOOM_TAG_CLIP, "norm", "Clip norm", "0",
             "Longer gradients are shortened to this length; 0 leaves them alone");
}

static void
show (StudioTrainingSettings *self)
{
  g_autofree char *key = g_strdup_printf ("%s %s", train_value (self, "optimizer", "sgd"), schedule_type (self));
  self->filling = TRUE;
  if (g_strcmp0 (key, self->shown) != 0)
    {
      g_free (self->shown);
      self->shown = g_steal_pointer (&key);
      build (self);
    }
  for (guint i = 0; i < self->rows->len; i++)
    fill_row (g_ptr_array_index (self->rows, i));
  self->filling = FALSE;
}

/* Rebuilding inside a row's own signal would take the row away under it. */
static gboolean
show_cb (gpointer data)
{
  StudioTrainingSettings *self = data;
  if (self->document != NULL)
    show (self);
  g_object_unref (self);
  return G_SOURCE_REMOVE;
}

static void
changed_cb (StudioDocument *document, StudioTrainingSettings *self)
{
  g_idle_add (show_cb, g_object_ref (self));
}

/* ---- object -------------------------------------------------------------------------------- */

static void
training_settings_dispose (GObject *object)
{
  StudioTrainingSettings *self = STUDIO_TRAINING_SETTINGS (object);
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  if (self->rows != NULL)
    forget_rows (self);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  g_clear_object (&self->document);
  g_clear_pointer (&self->rows, g_ptr_array_unref);
  g_clear_pointer (&self->shown, g_free);
  G_OBJECT_CLASS (studio_training_settings_parent_class)->dispose (object);
}

static void
studio_training_settings_class_init (StudioTrainingSettingsClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = training_settings_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
}

static void
studio_training_settings_init (StudioTrainingSettings *self)
{
  self->rows = g_ptr_array_new ();
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  gtk_widget_set_margin_top (self->box, 12);
  gtk_widget_set_margin_bottom (self->box, 12);
  gtk_widget_set_margin_start (self->box, 12);
  gtk_widget_set_margin_end (self->box, 12);
  gtk_widget_set_parent (self->box, GTK_WIDGET (self));
}

StudioTrainingSettings *
studio_training_settings_new (StudioDocument *document)
{
  StudioTrainingSettings *self = g_object_new (STUDIO_TYPE_TRAINING_SETTINGS, NULL);
  self->document = g_object_ref (document);
  g_signal_connect (document, "changed", G_CALLBACK (changed_cb), self);
  show (self);
  return self;
}
