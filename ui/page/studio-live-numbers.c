/* Implements studio-live-numbers.h.
 *
 * The fields are those of the graph in training, which may differ from the document. A field shows the value of the
 * newest change, else the graph's; what is typed is checked here, and again by the worker, which knows the data. */
#include "ui/page/studio-live-numbers.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "engine/recipe/loom-live-number.h"
#include "ui/inspector/studio-inspector-params.h"
#include "ui/inspector/studio-value.h"

typedef struct
{
  StudioLiveNumbers *owner;
  GPtrArray *numbers; /* LoomLiveNumber that the field sets: one, or those of all dropout layers; owned by the list */
  GtkWidget *entry;
  char *shown; /* the text that was filled in */
} Row;

struct _StudioLiveNumbers
{
  GtkBox parent_instance;
  StudioDocument *document;
  StudioRun *run;
  GtkWidget *grid, *wrong;
  GPtrArray *list; /* LoomLiveNumber; NULL: none yet */
  GPtrArray *rows; /* Row */
  char *graph;     /* the text of which the rows are */
};

G_DEFINE_FINAL_TYPE (StudioLiveNumbers, studio_live_numbers, GTK_TYPE_BOX)

static void
row_free (gpointer data)
{
  Row *row = data;

  g_ptr_array_unref (row->numbers);
  g_free (row->shown);
  g_free (row);
}

/* ---- values ------------------------------------------------------------------------------- */

static double
current (StudioLiveNumbers *self, const LoomLiveNumber *number)
{
  const GPtrArray *marks = studio_run_get_curves (self->run)->marks;
  const double rate = studio_run_get_base_lr (self->run);

  if (g_str_equal (number->name, "lr") && isfinite (rate))
    return rate;
  for (guint i = marks->len; i > 0; i--)
    {
      const StudioRunMark *mark = marks->pdata[i - 1];

      if (g_strcmp0 (mark->name, number->name) == 0)
        return mark->value;
    }
  return number->value;
}

/* "" if a field of several has different ones. */
static char *
text_of (Row *row)
{
  const double first = current (row->owner, row->numbers->pdata[0]);
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  for (guint i = 1; i < row->numbers->len; i++)
    if (current (row->owner, row->numbers->pdata[i]) != first)
      return g_strdup ("");
  return g_strdup (g_ascii_formatd (number, sizeof number, "%.9g", first));
}

static void
show_wrong (Row *row, const char *sentence)
{
  StudioLiveNumbers *self = row->owner;

  if (sentence != NULL)
    gtk_widget_add_css_class (row->entry, "error");
  else
    gtk_widget_remove_css_class (row->entry, "error");
  gtk_accessible_update_state (GTK_ACCESSIBLE (row->entry), GTK_ACCESSIBLE_STATE_INVALID,
                               sentence != NULL ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
  gtk_label_set_text (GTK_LABEL (self->wrong), sentence != NULL ? sentence : "");
  gtk_widget_set_visible (self->wrong, sentence != NULL);
}

/* A text that is being typed stays. */
static void
fill (Row *row, gboolean always)
{
  g_autofree char *text = text_of (row);

  if (g_strcmp0 (text, row->shown) == 0 && !always)
    return;
  if (always || g_strcmp0 (row->shown, gtk_editable_get_text (GTK_EDITABLE (row->entry))) == 0)
    {
      gtk_editable_set_text (GTK_EDITABLE (row->entry), text);
      show_wrong (row, NULL);
    }
  g_free (row->shown);
  row->shown = g_steal_pointer (&text);
}

static void
fill_all (StudioLiveNumbers *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    fill (self->rows->pdata[i], FALSE);
}

static void
activate_cb (GtkEntry *entry, Row *row)
{
  const LoomLiveNumber *number = row->numbers->pdata[0];
  const LoomParamSpec spec = { .name = number->param, .type = number->whole ? LOOM_PARAM_INT : LOOM_PARAM_FLOAT };
  g_auto (StudioValue) value = studio_value_read (&spec, gtk_editable_get_text (GTK_EDITABLE (entry)), NULL, NULL);
  g_autoptr (GError) error = NULL;
  double x;

  if (value.text == NULL)
    {
      show_wrong (row, value.wrong);
      return;
    }
  x = g_ascii_strtod (value.text, NULL);
  if (!loom_live_number_check (number, x, &error))
    {
      show_wrong (row, error->message);
      return;
    }
  show_wrong (row, NULL);
  gtk_editable_set_text (GTK_EDITABLE (entry), value.text);
  g_free (row->shown);
  row->shown = g_strdup (value.text);
  /* The change is of the newest step, to which the worker returns. */
  studio_run_travel (row->owner->run, -1);
  for (guint i = 0; i < row->numbers->len; i++)
    studio_run_set_hyper (row->owner->run, ((const LoomLiveNumber *)row->numbers->pdata[i])->name, x);
}

/* ---- rows --------------------------------------------------------------------------------- */

static char *
title_of (const LoomLiveNumber *number)
{
  static const struct
  {
    const char *name, *title;
  } titles[] = { { "lr", N_ ("Learning rate") },
                 { "weight_decay", N_ ("Weight decay") },
                 { "batch_size", N_ ("Batch size") },
                 { "clip_norm", N_ ("Clip norm") },
                 { "clip_value", N_ ("Clip values") } };

  for (guint i = 0; i < G_N_ELEMENTS (titles); i++)
    if (g_str_equal (titles[i].name, number->name))
      return g_strdup (_ (titles[i].title));
  return number->node != NULL || strchr (number->name, '.') != NULL ? g_strdup (number->name)
                                                                    : studio_param_title (number->param);
}

static Row *
add_row (StudioLiveNumbers *self, const char *title, const char *doc)
{
  const int line = (int)self->rows->len;
  Row *row = g_new0 (Row, 1);
  GtkWidget *label = gtk_label_new (title);

  row->owner = self;
  row->numbers = g_ptr_array_new ();
  row->entry = gtk_entry_new ();
  row->shown = g_strdup ("");
  gtk_editable_set_width_chars (GTK_EDITABLE (row->entry), 9);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (row->entry), 9);
  gtk_editable_set_alignment (GTK_EDITABLE (row->entry), 1);
  gtk_entry_set_input_purpose (GTK_ENTRY (row->entry), GTK_INPUT_PURPOSE_NUMBER);
  gtk_widget_set_tooltip_text (row->entry, doc);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_widget_set_tooltip_text (label, title);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_label_set_mnemonic_widget (GTK_LABEL (label), row->entry);
  gtk_grid_attach (GTK_GRID (self->grid), label, 0, line, 1, 1);
  gtk_grid_attach (GTK_GRID (self->grid), row->entry, 1, line, 1, 1);
  g_signal_connect (row->entry, "activate", G_CALLBACK (activate_cb), row);
  g_ptr_array_add (self->rows, row);
  return row;
}

/* A field for all dropout layers comes before those of each. */
static void
add_dropout (StudioLiveNumbers *self)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new ();

  for (guint i = 0; i < self->list->len; i++)
    if (((const LoomLiveNumber *)self->list->pdata[i])->drops)
      g_ptr_array_add (all, self->list->pdata[i]);
  if (all->len < 2)
    return;
  Row *row = add_row (self, _ ("Dropout, all layers"), ((const LoomLiveNumber *)all->pdata[0])->doc);
  g_ptr_array_extend (row->numbers, all, NULL, NULL);
}

static void
build (StudioLiveNumbers *self)
{
  const char *xml = studio_run_get_graph (self->run),
             *folder = loom_graph_get_folder (studio_document_get_graph (self->document));
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = xml != NULL ? loom_graph_read_data (xml, strlen (xml), "run", faults, NULL) : NULL;
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (LoomTrainSpec) spec = NULL;
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->grid)) != NULL)
    gtk_grid_remove (GTK_GRID (self->grid), child);
  g_ptr_array_set_size (self->rows, 0);
  g_clear_pointer (&self->list, g_ptr_array_unref);
  if (graph == NULL)
    return;
  if (folder != NULL)
    loom_graph_set_folder (graph, folder);
  net = loom_net_new (graph, NULL, faults);
  spec = loom_train_spec_new (graph, net, faults);
  if (spec == NULL)
    return;
  self->list = loom_live_numbers_new (spec, net);
  for (guint i = 0; i < self->list->len; i++)
    {
      LoomLiveNumber *number = self->list->pdata[i];
      g_autofree char *title = title_of (number);

      if (number->drops && (i == 0 || !((const LoomLiveNumber *)self->list->pdata[i - 1])->drops))
        add_dropout (self);
      g_ptr_array_add (add_row (self, title, number->doc)->numbers, number);
    }
}

static void
update_cb (StudioLiveNumbers *self)
{
  const StudioRunState state = studio_run_get_state (self->run);
  const gboolean trains = state == STUDIO_RUN_RUNNING || state == STUDIO_RUN_PAUSED;
  const char *graph = studio_run_get_graph (self->run);

  if (trains && g_strcmp0 (graph, self->graph) != 0)
    {
      g_free (self->graph);
      self->graph = g_strdup (graph);
      build (self);
    }
  gtk_widget_set_visible (GTK_WIDGET (self), trains && self->rows->len > 0);
  if (trains)
    fill_all (self);
}

/* A refused change: the fields show the values of the run again. */
static void
problem_cb (StudioLiveNumbers *self, const char *code)
{
  for (guint i = 0; g_str_equal (code, "REFUSED") && i < self->rows->len; i++)
    fill (self->rows->pdata[i], TRUE);
}

/* ---- object ------------------------------------------------------------------------------- */

static void
live_numbers_dispose (GObject *object)
{
  StudioLiveNumbers *self = STUDIO_LIVE_NUMBERS (object);

  g_clear_object (&self->document);
  g_clear_object (&self->run);
  G_OBJECT_CLASS (studio_live_numbers_parent_class)->dispose (object);
}

static void
live_numbers_finalize (GObject *object)
{
  StudioLiveNumbers *self = STUDIO_LIVE_NUMBERS (object);

  g_ptr_array_unref (self->rows);
  g_clear_pointer (&self->list, g_ptr_array_unref);
  g_free (self->graph);
  G_OBJECT_CLASS (studio_live_numbers_parent_class)->finalize (object);
}

static void
studio_live_numbers_class_init (StudioLiveNumbersClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = live_numbers_dispose;
  G_OBJECT_CLASS (klass)->finalize = live_numbers_finalize;
}

static GtkWidget *
add_label (StudioLiveNumbers *self, const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_widget_add_css_class (label, css);
  gtk_box_append (GTK_BOX (self), label);
  return label;
}

static void
studio_live_numbers_init (StudioLiveNumbers *self)
{
  self->rows = g_ptr_array_new_with_free_func (row_free);
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 6);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  add_label (self, _ ("This Run"), "heading");
  add_label (self, _ ("Press Enter in a field to change it from the next step on. The graph keeps its value."),
             "caption");
  self->wrong = add_label (self, "", "error");
  gtk_widget_set_visible (self->wrong, FALSE);
  self->grid = gtk_grid_new ();
  gtk_grid_set_row_spacing (GTK_GRID (self->grid), 6);
  gtk_grid_set_column_spacing (GTK_GRID (self->grid), 6);
  gtk_box_append (GTK_BOX (self), self->grid);
}

GtkWidget *
studio_live_numbers_new (StudioDocument *document, StudioRun *run)
{
  StudioLiveNumbers *self = g_object_new (STUDIO_TYPE_LIVE_NUMBERS, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (update_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "hyper-changed", G_CALLBACK (update_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "points", G_CALLBACK (update_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "problem", G_CALLBACK (problem_cb), self, G_CONNECT_SWAPPED);
  update_cb (self);
  return GTK_WIDGET (self);
}
