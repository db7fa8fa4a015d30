/* The two lists in <train>: parameter groups with their own learning rates, and metrics. Each entry is a small card
 * filled from the tables of optimisers and metrics. */
#include "ui/training/studio-training-private.h"

#include <glib/gi18n.h>

static void
remove_cb (GtkButton *button, StudioTrainingSettings *self)
{
  guint64 *serial = g_object_get_data (G_OBJECT (button), "serial");
  studio_training_remove (self->document, *serial);
}

/* A card with the grid of an entry, and the button that removes it. */
static GtkWidget *
add_card (StudioTrainingSettings *self, guint64 serial, const char *title, const char *what)
{
  GtkWidget *card = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *label = gtk_label_new (title), *button = gtk_button_new_from_icon_name ("user-trash-symbolic");
  GtkWidget *grid = gtk_grid_new ();
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_widget_add_css_class (label, "dim-label");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, what);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, what, -1);
  g_object_set_data_full (G_OBJECT (button), "serial", g_memdup2 (&serial, sizeof serial), g_free);
  g_signal_connect (button, "clicked", G_CALLBACK (remove_cb), self);
  gtk_widget_add_css_class (card, "training-card");
  gtk_box_append (GTK_BOX (head), label);
  gtk_box_append (GTK_BOX (head), button);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 6);
  gtk_grid_set_column_spacing (GTK_GRID (grid), 6);
  gtk_box_append (GTK_BOX (card), head);
  gtk_box_append (GTK_BOX (card), grid);
  gtk_box_append (GTK_BOX (self->box), card);
  return grid;
}

static void
add_button (StudioTrainingSettings *self, const char *title, GCallback clicked)
{
  GtkWidget *button = gtk_button_new_with_label (title);
  gtk_widget_set_halign (button, GTK_ALIGN_START);
  g_signal_connect_swapped (button, "clicked", clicked, self);
  gtk_box_append (GTK_BOX (self->box), button);
}

static void
add_group_cb (StudioTrainingSettings *self)
{
  studio_training_add_group (self->document);
}

static void
add_metric_cb (StudioTrainingSettings *self)
{
  studio_training_add_metric (self->document);
}

/* A hyper-parameter of the optimiser that a group may set. */
static void
add_own (StudioTrainingSettings *self, GtkWidget *grid, guint64 serial, const LoomOptimizer *optimizer,
         const char *name)
{
  int k = loom_optimizer_find (optimizer, name);
  if (k < 0 || optimizer->emit == NULL)
    return;
  const LoomHyper *h = &optimizer->hyper[k];
  LoomParamSpec spec = loom_attribute (LOOM_TAG_GROUP, name)->spec;
  spec.minimum = h->minimum;
  spec.maximum = h->maximum;
  spec.doc = h->doc;
  training_add_row (self, grid, (TrainingPlace){ LOOM_TAG_GROUP, serial }, &spec, _ ("as above"), NULL);
}

void
training_add_groups (StudioTrainingSettings *self, const LoomOptimizer *optimizer)
{
  LoomElement *train = studio_training_element (self->document);
  guint n = 0;
  training_add_group (self, _ ("Groups of weights"));
  for (guint i = 0; train != NULL && i < loom_element_n_children (train); i++)
    {
      LoomElement *e = loom_element_child (train, i);
      if (loom_element_tag (e) != LOOM_TAG_GROUP)
        continue;
      guint64 serial = loom_element_serial (e);
      TrainingPlace place = { LOOM_TAG_GROUP, serial };
      g_autofree char *title = g_strdup_printf (_ ("Group %u"), ++n);
      GtkWidget *grid = add_card (self, serial, title, _ ("Remove this group"));
      training_add_attribute (self, grid, place, "match", "block.**", studio_training_weight_paths);
      if (optimizer != NULL)
        {
          add_own (self, grid, serial, optimizer, "lr");
          add_own (self, grid, serial, optimizer, "weight_decay");
          add_own (self, grid, serial, optimizer, "adamw");
        }
      training_add_attribute (self, grid, place, "frozen", NULL, NULL);
    }
  add_button (self, _ ("Add Group"), G_CALLBACK (add_group_cb));
}

/* ---- metrics ----------------------------------------------------------------------------------- */

static char **
suggest_input (StudioDocument *document)
{
  return studio_training_ports (document, STUDIO_PORTS_INPUT);
}

static char **
suggest_target (StudioDocument *document)
{
  return studio_training_ports (document, STUDIO_PORTS_TARGET);
}

/* Rows for the options of a metric. */
static void
add_options (StudioTrainingSettings *self, GtkWidget *grid, TrainingPlace place, const LoomMetric *metric)
{
  for (const LoomAttribute *a = loom_attributes (LOOM_TAG_METRIC); a->spec.name != NULL; a++)
    if (metric->takes & a->takes)
      training_add_row (self, grid, place, &a->spec, a->spec.def, NULL);
}

void
training_add_metrics (StudioTrainingSettings *self)
{
  LoomElement *train = studio_training_element (self->document);
  training_add_group (self, _ ("Metrics"));
  for (guint i = 0; train != NULL && i < loom_element_n_children (train); i++)
    {
      LoomElement *e = loom_element_child (train, i);
      if (loom_element_tag (e) != LOOM_TAG_METRIC)
        continue;
      const char *type = loom_element_get (e, "type");
      const LoomMetric *metric = type != NULL ? loom_metric (type) : NULL;
      TrainingPlace place = { LOOM_TAG_METRIC, loom_element_serial (e) };
      LoomParamSpec kind = training_choice (LOOM_TAG_METRIC, "type");
      if (metric != NULL)
        kind.doc = metric->doc;
      GtkWidget *grid = add_card (self, place.serial, metric != NULL ? metric->name : type, _ ("Remove this metric"));
      training_add_row (self, grid, place, &kind, NULL, NULL);
      training_add_attribute (self, grid, place, "input", _ ("node"), suggest_input);
      training_add_attribute (self, grid, place, "target", "data.y", suggest_target);
      if (metric != NULL)
        add_options (self, grid, place, metric);
    }
  add_button (self, _ ("Add Metric"), G_CALLBACK (add_metric_cb));
}
