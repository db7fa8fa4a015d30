/* The training settings, shown in the right pane while nothing is selected.
 *
 * Rows are generated from the engine's tables of optimisers, schedules and metrics, so a new one needs no code here.
 * Every change is a transaction of the document; the widgets keep no state. */
#include "ui/training/studio-training-private.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-expander.h"
#include "ui/charts/studio-type.h"

G_DEFINE_TYPE (StudioTrainingSettings, studio_training_settings, GTK_TYPE_WIDGET)

static guint sweep_signal;

static const TrainingPlace in_graph = { LOOM_TAG_GRAPH, 0 };
static const TrainingPlace in_train = { LOOM_TAG_TRAIN, 0 };
static const TrainingPlace in_schedule = { LOOM_TAG_SCHEDULE, 0 };
static const TrainingPlace in_clip = { LOOM_TAG_CLIP, 0 };

static const char *
train_value (StudioTrainingSettings *self, const char *attribute, const char *def)
{
  LoomElement *train = studio_training_element (self->document);
  const char *value = train != NULL ? loom_element_get (train, attribute) : NULL;
  return value != NULL ? value : def;
}

static const char *
optimizer_name (StudioTrainingSettings *self)
{
  return train_value (self, "optimizer", loom_attribute (LOOM_TAG_TRAIN, "optimizer")->spec.def);
}

static gboolean
is_default_schedule (const LoomScheduleClass *klass)
{
  return g_str_equal (klass->name, loom_attribute (LOOM_TAG_SCHEDULE, "type")->spec.def);
}

static const char *
schedule_type (StudioTrainingSettings *self)
{
  LoomElement *train = studio_training_element (self->document);
  LoomElement *schedule = train != NULL ? loom_element_find (train, LOOM_TAG_SCHEDULE) : NULL;
  const char *type = schedule != NULL ? loom_element_get (schedule, "type") : NULL;
  return type != NULL ? type : loom_attribute (LOOM_TAG_SCHEDULE, "type")->spec.def;
}

/* The text of a number, interned, because rows keep it as their default. */
static const char *
number_text (double value)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  return g_intern_string (g_ascii_formatd (number, sizeof number, "%.10g", value));
}

/* ---- the run --------------------------------------------------------------------------------- */

static char **
suggest_loss (StudioDocument *document)
{
  return studio_training_ports (document, STUDIO_PORTS_LOSS);
}

static void
add_run (StudioTrainingSettings *self)
{
  GtkWidget *grid = training_add_group (self, _ ("Training"));
  training_add_attribute (self, grid, in_train, "loss", _ ("none yet"), suggest_loss);
  training_add_attribute (self, grid, in_train, "epochs", NULL, NULL);
  training_add_attribute (self, grid, in_train, "batch_size", NULL, NULL);
  training_add_attribute (self, grid, in_train, "seed", NULL, NULL);
}

static void
more_cb (GtkExpander *expander, GParamSpec *pspec, StudioTrainingSettings *self)
{
  self->more_open = gtk_expander_get_expanded (expander);
}

/* Rarely used settings, in an expander; expanded if one of them is set. */
static void
add_more (StudioTrainingSettings *self)
{
  static const struct
  {
    const char *name, *placeholder;
  } more[] = {
    { "precision", NULL },           { "accumulate", NULL },
    { "drop_last", NULL },           { "tf32", NULL },
    { "algorithm", NULL },           { "ema", N_ ("off") },
    { "lr_batch_size", N_ ("any") }, { "weights", N_ ("random") },
    { "match", N_ ("all") },         { "sample_weights", N_ ("none") },
    { "folds", N_ ("off") },         { "fold", N_ ("first") },
  };
  GtkWidget *grid = gtk_grid_new (), *expander = studio_expander_new (_ ("More"), grid);
  gboolean open = self->more_open;
  gtk_grid_set_row_spacing (GTK_GRID (grid), 6);
  gtk_grid_set_column_spacing (GTK_GRID (grid), 6);
  gtk_widget_set_margin_top (grid, 6);
  for (guint i = 0; i < G_N_ELEMENTS (more); i++)
    {
      training_add_attribute (self, grid, in_train, more[i].name,
                              more[i].placeholder != NULL ? _ (more[i].placeholder) : NULL, NULL);
      open = open || train_value (self, more[i].name, NULL) != NULL;
    }
  training_add_attribute (self, grid, in_graph, "strict_devices", NULL, NULL);
  open = open || loom_graph_strict_devices (studio_document_get_graph (self->document));
  gtk_expander_set_expanded (GTK_EXPANDER (expander), open);
  g_signal_connect (expander, "notify::expanded", G_CALLBACK (more_cb), self);
  gtk_box_append (GTK_BOX (self->box), expander);
}

/* ---- the optimiser ------------------------------------------------------------------------------ */

static const LoomHyper *
hyper_of (const LoomOptimizer *optimizer, const char *name)
{
  int k = loom_optimizer_find (optimizer, name);
  return k >= 0 ? &optimizer->hyper[k] : NULL;
}

static LoomParamSpec
hyper_spec (const LoomOptimizer *optimizer, const LoomHyper *h)
{
  LoomParamSpec spec = { .name = h->name, .minimum = h->minimum, .maximum = h->maximum, .doc = h->doc };
  if (h->is_bool)
    {
      spec.type = LOOM_PARAM_BOOL;
      spec.def = h->value != 0 ? "true" : "false";
    }
  else if (h->choices != NULL)
    {
      spec.type = LOOM_PARAM_ENUM;
      spec.choices = h->choices;
      spec.def = h->choices[(int)h->value];
    }
  else
    {
      spec.type = h->is_integer ? LOOM_PARAM_INT : LOOM_PARAM_FLOAT;
      spec.def = number_text (h->value);
    }
  return spec;
}

/* A note below the learning rate, hidden if empty. */
static void
add_rate_note (StudioTrainingSettings *self, GtkWidget *grid)
{
  self->rate_note = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->rate_note), 1);
  gtk_label_set_wrap (GTK_LABEL (self->rate_note), TRUE);
  gtk_widget_add_css_class (self->rate_note, "dim-label");
  gtk_widget_add_css_class (self->rate_note, "caption");
  gtk_widget_set_visible (self->rate_note, FALSE);
  gtk_grid_attach_next_to (GTK_GRID (grid), self->rate_note, NULL, GTK_POS_BOTTOM, 3, 1);
}

static void
add_optimizer (StudioTrainingSettings *self, const LoomOptimizer *optimizer)
{
  LoomParamSpec method = training_choice (LOOM_TAG_TRAIN, "optimizer");
  GtkWidget *grid = training_add_group (self, _ ("Optimizer"));
  if (optimizer != NULL)
    method.doc = optimizer->doc;
  training_add_row (self, grid, in_train, &method, NULL, NULL);
  for (const LoomHyper *h = optimizer != NULL ? optimizer->hyper : NULL; h != NULL && h->name != NULL; h++)
    {
      LoomParamSpec spec = hyper_spec (optimizer, h);
      const LoomHyper *second = hyper_of (optimizer, "beta2");
      /* In the file the two betas are one attribute, as in PyTorch. */
      if (g_str_equal (h->name, "beta2"))
        continue;
      if (g_str_equal (h->name, "beta1") && second != NULL)
        {
          g_autofree char *both = g_strdup_printf ("%s,%s", spec.def, number_text (second->value));
          spec = loom_attribute (LOOM_TAG_TRAIN, "betas")->spec;
          spec.def = g_intern_string (both);
          spec.doc = h->doc;
        }
      training_add_row (self, grid, in_train, &spec, spec.def, NULL);
      if (g_str_equal (h->name, "lr"))
        add_rate_note (self, grid);
    }
}

/* The learning rate is kept when the optimiser changes, and may be far too large for the new one. */
static void
show_rate_note (StudioTrainingSettings *self)
{
  const LoomOptimizer *optimizer = loom_optimizer (optimizer_name (self));
  const LoomHyper *rate = optimizer != NULL ? hyper_of (optimizer, "lr") : NULL;
  const char *text = train_value (self, "lr", NULL);
  gboolean differs = rate != NULL && text != NULL && g_ascii_strtod (text, NULL) != rate->value;
  if (self->rate_note == NULL)
    return;
  if (differs)
    {
      g_autofree char *note
          = g_strdup_printf (_ ("The default of %s is %s."), optimizer->name, number_text (rate->value));
      gtk_label_set_text (GTK_LABEL (self->rate_note), note);
    }
  gtk_widget_set_visible (self->rate_note, differs);
}

/* ---- the schedule ---------------------------------------------------------------------------------- */

static LoomParamSpec
schedule_spec (const LoomElement *e, const LoomScheduleParam *p)
{
  gboolean old_name = e != NULL && p->alias != NULL && loom_element_get (e, p->alias) != NULL;
  LoomParamSpec spec
      = { .name = old_name ? p->alias : p->name, .minimum = p->minimum, .maximum = p->maximum, .doc = p->doc };
  if (p->choices != NULL)
    {
      gboolean is_switch = g_str_equal (p->choices[0], "false") && g_str_equal (p->choices[1], "true");
      spec.type = is_switch ? LOOM_PARAM_BOOL : LOOM_PARAM_ENUM;
      spec.choices = is_switch ? NULL : p->choices;
      spec.def = p->choices[(int)p->value];
      return spec;
    }
  spec.type = p->whole ? LOOM_PARAM_INT : LOOM_PARAM_FLOAT;
  /* The default depends on other settings, so it cannot be shown as the placeholder. */
  spec.def = p->required ? NULL : isnan (p->value) ? "" : number_text (p->value);
  return spec;
}

/* Rows for what a schedule of this class has. */
static void
add_schedule_rows (StudioTrainingSettings *self, GtkWidget *grid, TrainingPlace place, const LoomElement *e,
                   const LoomScheduleClass *klass)
{
  if (klass->has_milestones)
    training_add_attribute (self, grid, place, "milestones", "30,80", NULL);
  if (klass->has_formula)
    training_add_attribute (self, grid, place, "formula", "min((step + 1) / 100, 1)", NULL);
  /* A constant rate with a factor for its first steps is rarely intended, so the written value is shown. */
  for (const LoomScheduleParam *p = klass->param; p->name != NULL; p++)
    if (!is_default_schedule (klass) || (e != NULL && loom_element_get (e, p->name) != NULL))
      {
        LoomParamSpec spec = schedule_spec (e, p);
        training_add_row (self, grid, place, &spec,
                          spec.def == NULL ? _ ("required")
                          : spec.def[0]    ? spec.def
                                           : _ ("the run’s"),
                          NULL);
      }
}

/* The schedules inside a sequential or chained one, in their order. */
static void
add_parts (StudioTrainingSettings *self, const LoomElement *e)
{
  for (guint i = 0; e != NULL && i < loom_element_n_children (e); i++)
    {
      const LoomElement *inner = loom_element_child (e, i);
      const char *name = loom_element_get (inner, "type");
      const LoomScheduleClass *klass = loom_schedule (name != NULL ? name : "constant");
      TrainingPlace place = { LOOM_TAG_SCHEDULE, loom_element_serial (inner) };
      LoomParamSpec type = training_choice (LOOM_TAG_SCHEDULE, "type");
      GtkWidget *grid;
      if (loom_element_tag (inner) != LOOM_TAG_SCHEDULE)
        continue;
      grid = gtk_grid_new ();
      gtk_widget_add_css_class (grid, "training-card");
      gtk_grid_set_row_spacing (GTK_GRID (grid), 6);
      gtk_grid_set_column_spacing (GTK_GRID (grid), 6);
      gtk_box_append (GTK_BOX (self->box), grid);
      training_add_row (self, grid, place, &type, NULL, NULL);
      if (klass != NULL)
        add_schedule_rows (self, grid, place, inner, klass);
      add_parts (self, inner);
    }
}

static void
add_schedule (StudioTrainingSettings *self)
{
  const LoomScheduleClass *klass = loom_schedule (schedule_type (self));
  LoomElement *train = studio_training_element (self->document);
  const LoomElement *e = train != NULL ? loom_element_find (train, LOOM_TAG_SCHEDULE) : NULL;
  LoomParamSpec type = training_choice (LOOM_TAG_SCHEDULE, "type");
  GtkWidget *grid = training_add_group (self, _ ("Schedule"));
  if (klass != NULL)
    type.doc = klass->doc;
  training_add_row (self, grid, in_schedule, &type, NULL, NULL);
  if (klass == NULL)
    return;
  add_schedule_rows (self, grid, in_schedule, e, klass);
  training_add_attribute (self, grid, in_schedule, "warmup_steps", NULL, NULL);
  if (!klass->watches_loss && !is_default_schedule (klass))
    training_add_attribute (self, grid, in_schedule, "interval", NULL, NULL);
  add_parts (self, e);
}

/* ---- gradients, and the end -------------------------------------------------------------------------- */

static void
add_clip (StudioTrainingSettings *self)
{
  GtkWidget *grid = training_add_group (self, _ ("Gradients"));
  training_add_attribute (self, grid, in_clip, "norm", NULL, NULL);
  training_add_attribute (self, grid, in_clip, "value", NULL, NULL);
}

static char **
suggest_monitor (StudioDocument *document)
{
  LoomElement *train = studio_training_element (document);
  GPtrArray *names = g_ptr_array_new ();
  g_ptr_array_add (names, g_strdup ("loss"));
  for (guint i = 0; train != NULL && i < loom_element_n_children (train); i++)
    {
      const LoomElement *e = loom_element_child (train, i);
      const char *name = loom_element_get (e, "name");
      if (loom_element_tag (e) == LOOM_TAG_METRIC)
        g_ptr_array_add (names, g_strdup (name != NULL ? name : loom_element_get (e, "type")));
    }
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (names, FALSE);
}

static gboolean
stops_early (StudioTrainingSettings *self)
{
  return train_value (self, "patience", NULL) != NULL || train_value (self, "monitor", NULL) != NULL
         || train_value (self, "min_delta", NULL) != NULL;
}

static void
add_stopping (StudioTrainingSettings *self)
{
  GtkWidget *grid = training_add_group (self, _ ("Early Stopping"));
  training_add_attribute (self, grid, in_train, "patience", _ ("off"), NULL);
  if (!stops_early (self))
    return;
  training_add_attribute (self, grid, in_train, "min_delta", NULL, NULL);
  training_add_attribute (self, grid, in_train, "monitor", "loss", suggest_monitor);
}

/* ---- ranks --------------------------------------------------------------------------------------------- */

static const char *
parallel_value (StudioTrainingSettings *self, const char *name)
{
  LoomElement *train = studio_training_element (self->document);
  LoomElement *e = train != NULL ? loom_element_find (train, LOOM_TAG_PARALLEL) : NULL;

  return e != NULL ? loom_element_get (e, name) : NULL;
}

static gboolean
has_parallel (StudioTrainingSettings *self)
{
  LoomElement *train = studio_training_element (self->document);

  return train != NULL && loom_element_find (train, LOOM_TAG_PARALLEL) != NULL;
}

static gboolean
has_server (StudioTrainingSettings *self)
{
  return g_strcmp0 (parallel_value (self, "strategy"), "server") == 0;
}

static gboolean
has_stages (StudioTrainingSettings *self)
{
  const char *n = parallel_value (self, "pipeline");

  return n != NULL && g_ascii_strtoll (n, NULL, 10) > 1;
}

static void
add_rank_count (StudioTrainingSettings *self, GtkWidget *grid)
{
  GtkWidget *label;

  if (self->ranks == NULL)
    return;
  label = gtk_label_new (_ ("Ranks"));
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_label_set_mnemonic_widget (GTK_LABEL (label), self->ranks);
  gtk_widget_set_halign (self->ranks, GTK_ALIGN_END);
  gtk_grid_attach (GTK_GRID (grid), label, 0, 0, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), self->ranks, 1, 0, 2, 1);
}

/* Stages can be chosen with or without a strategy; their schedule is asked for where there are some. */
static void
add_ranks (StudioTrainingSettings *self)
{
  const TrainingPlace place = { LOOM_TAG_PARALLEL, 0 };
  GtkWidget *grid = training_add_group (self, _ ("Several ranks"));

  add_rank_count (self, grid);
  training_add_attribute (self, grid, place, "strategy", NULL, NULL);
  if (has_server (self))
    training_add_attribute (self, grid, place, "staleness", NULL, NULL);
  else
    {
      training_add_attribute (self, grid, place, "tensor", NULL, NULL);
      training_add_attribute (self, grid, place, "pipeline", NULL, NULL);
      if (has_stages (self))
        {
          training_add_attribute (self, grid, place, "microbatches", NULL, NULL);
          training_add_attribute (self, grid, place, "schedule", NULL, NULL);
        }
    }
}

/* ---- entry points --------------------------------------------------------------------------------------- */

static void
build (StudioTrainingSettings *self)
{
  const LoomOptimizer *optimizer = loom_optimizer (optimizer_name (self));
  GtkWidget *child;
  training_forget_rows (self);
  self->rate_note = NULL;
  if (self->ranks != NULL && gtk_widget_get_parent (self->ranks) != NULL)
    gtk_grid_remove (GTK_GRID (gtk_widget_get_parent (self->ranks)), self->ranks);
  while ((child = gtk_widget_get_first_child (self->box)) != NULL)
    gtk_box_remove (GTK_BOX (self->box), child);
  add_run (self);
  add_more (self);
  add_optimizer (self, optimizer);
  add_schedule (self);
  if (optimizer == NULL || optimizer->emit != NULL)
    add_clip (self);
  add_stopping (self);
  add_ranks (self);
  training_add_groups (self, optimizer);
  training_add_metrics (self);
}

static void
add_schedules_to_key (GString *key, const LoomElement *e)
{
  for (guint i = 0; i < loom_element_n_children (e); i++)
    if (loom_element_tag (loom_element_child (e, i)) == LOOM_TAG_SCHEDULE)
      {
        const LoomElement *inner = loom_element_child (e, i);
        const char *type = loom_element_get (inner, "type");
        g_string_append_printf (key, " %" G_GUINT64_FORMAT " %s", loom_element_serial (inner),
                                type != NULL ? type : "");
        add_schedules_to_key (key, inner);
      }
}

/* The attributes that determine which rows there are. */
static char *
key_of (StudioTrainingSettings *self)
{
  GString *key = g_string_new (NULL);
  LoomElement *train = studio_training_element (self->document);
  g_string_printf (key, "%s %s %d %d %d %d", optimizer_name (self), schedule_type (self), stops_early (self),
                   has_parallel (self), has_server (self), has_stages (self));
  if (train != NULL)
    add_schedules_to_key (key, train);
  for (guint i = 0; train != NULL && i < loom_element_n_children (train); i++)
    {
      const LoomElement *e = loom_element_child (train, i);
      LoomTag tag = loom_element_tag (e);
      if (tag == LOOM_TAG_GROUP || tag == LOOM_TAG_METRIC)
        g_string_append_printf (key, " %" G_GUINT64_FORMAT " %s", loom_element_serial (e),
                                tag == LOOM_TAG_METRIC ? loom_element_get (e, "type") : "");
    }
  return g_string_free (key, FALSE);
}

/* Faults that prevent training are shown at once: above the fields, and at the field. Faults of nodes are shown on
 * their cards. */
static void
show_fault (StudioTrainingSettings *self)
{
  const LoomFaults *faults = studio_document_get_faults (self->document);
  const char *message = NULL;
  for (guint i = 0; i < loom_faults_length (faults) && message == NULL; i++)
    if (studio_training_is_fault (loom_faults_get (faults, i)))
      message = loom_faults_get (faults, i)->message;
  gtk_label_set_text (GTK_LABEL (self->fault), message != NULL ? message : "");
  gtk_widget_set_visible (self->fault, message != NULL);
  training_mark_rows (self, faults);
}

static void
show (StudioTrainingSettings *self)
{
  g_autofree char *key = key_of (self);
  self->filling = TRUE;
  if (g_strcmp0 (key, self->shown) != 0)
    {
      g_free (self->shown);
      self->shown = g_steal_pointer (&key);
      training_keep_focus (self);
      build (self);
      training_give_focus (self);
    }
  training_fill_rows (self);
  show_rate_note (self);
  show_fault (self);
  self->filling = FALSE;
}

/* Rebuilding inside a row's own signal would destroy the row. */
static gboolean
show_cb (gpointer data)
{
  StudioTrainingSettings *self = data;
  self->is_waiting = FALSE;
  if (self->document != NULL)
    show (self);
  g_object_unref (self);
  return G_SOURCE_REMOVE;
}

static void
changed_cb (StudioDocument *document, StudioTrainingSettings *self)
{
  if (self->is_waiting)
    return;
  self->is_waiting = TRUE;
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
    training_forget_rows (self);
  g_clear_pointer (&self->pane, gtk_widget_unparent);
  g_clear_object (&self->ranks);
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
  sweep_signal = studio_signal_new ("sweep", STUDIO_TYPE_TRAINING_SETTINGS, 2, G_TYPE_STRING, G_TYPE_STRV);
}

static void
studio_training_settings_init (StudioTrainingSettings *self)
{
  self->rows = g_ptr_array_new ();
  self->pane = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  g_object_set (self->pane, "margin-top", 12, "margin-bottom", 12, "margin-start", 12, "margin-end", 12, NULL);
  self->fault = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->fault), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (self->fault), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (self->fault), 0);
  gtk_widget_add_css_class (self->fault, "error");
  gtk_widget_set_visible (self->fault, FALSE);
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  gtk_box_append (GTK_BOX (self->pane), self->fault);
  gtk_box_append (GTK_BOX (self->pane), self->box);
  gtk_widget_set_parent (self->pane, GTK_WIDGET (self));
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

void
studio_training_settings_set_ranks (StudioTrainingSettings *self, GtkWidget *field)
{
  g_return_if_fail (STUDIO_IS_TRAINING_SETTINGS (self) && self->ranks == NULL);
  self->ranks = g_object_ref_sink (field);
  g_clear_pointer (&self->shown, g_free);
  show (self);
}

void
studio_training_settings_set_live (StudioTrainingSettings *self, GtkWidget *widget)
{
  g_return_if_fail (STUDIO_IS_TRAINING_SETTINGS (self));
  gtk_box_prepend (GTK_BOX (self->pane), widget);
}

void
training_emit_sweep (StudioTrainingSettings *self, const char *attribute, const char *const *values)
{
  g_signal_emit (self, sweep_signal, 0, attribute, values);
}
