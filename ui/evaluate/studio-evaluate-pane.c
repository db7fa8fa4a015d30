/* Implements studio-evaluate-pane.h. */
#include "engine/infer/loom-evaluation-history.h"
#include "ui/evaluate/eval-widgets.h"
#include "ui/evaluate/studio-evaluate-pane.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/evaluate/studio-confusion.h"
#include "ui/evaluate/studio-data-view.h"
#include "ui/evaluate/studio-eval-chart.h"
#include "ui/evaluate/studio-own-input.h"
#include "ui/evaluate/studio-sample-picks.h"
#include "ui/evaluate/studio-text-writer.h"
#include "ui/scene/studio-format.h"

struct _StudioEvaluatePane
{
  GtkBox parent_instance;
  StudioEvaluation *model;
  GtkWidget *view, *stack, *head, *split, *button, *status;
  GtkWidget *confusion, *epochs, *epoch, *cell, *balance, *own, *writer;
  gboolean is_filling;
};

G_DEFINE_FINAL_TYPE (StudioEvaluatePane, studio_evaluate_pane, GTK_TYPE_BOX)

static GtkWidget *
new_box (void)
{
  return gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
}

static void
add_title (GtkWidget *box, const char *title)
{
  GtkWidget *label = eval_label_new ("heading");

  gtk_label_set_text (GTK_LABEL (label), title);
  gtk_box_append (GTK_BOX (box), label);
}

/* ---- views ----------------------------------------------------------------------- */

static void
opened_cb (StudioConfusion *confusion, guint target, guint predicted, StudioEvaluatePane *self)
{
  studio_evaluation_open_cell (self->model, target, predicted, 0);
}

static void
share_cb (GtkCheckButton *button, StudioEvaluatePane *self)
{
  studio_confusion_set_share (STUDIO_CONFUSION (self->confusion), gtk_check_button_get_active (button));
}

static void
epoch_cb (StudioEvaluatePane *self)
{
  if (!self->is_filling)
    studio_evaluation_show_record (self->model, (guint)lround (gtk_range_get_value (GTK_RANGE (self->epochs))));
}

static GtkWidget *
new_confusion (StudioEvaluatePane *self)
{
  GtkWidget *box = new_box (), *share = gtk_check_button_new_with_label (_ ("Percent of the class"));

  self->confusion = GTK_WIDGET (studio_confusion_new ());
  self->epochs = gtk_scale_new_with_range (GTK_ORIENTATION_HORIZONTAL, 0, 1, 1);
  gtk_scale_set_draw_value (GTK_SCALE (self->epochs), FALSE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->epochs), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _ ("Evaluation over epochs"), -1);
  self->epoch = eval_label_new ("caption");
  self->cell = studio_sample_picks_new (self->model, TRUE);
  g_signal_connect (self->confusion, "opened", G_CALLBACK (opened_cb), self);
  g_signal_connect (share, "toggled", G_CALLBACK (share_cb), self);
  g_signal_connect_swapped (self->epochs, "value-changed", G_CALLBACK (epoch_cb), self);
  GtkWidget *const of_matrix[] = { share, self->cell };
  for (guint i = 0; i < G_N_ELEMENTS (of_matrix); i++)
    g_object_bind_property (self->confusion, "visible", of_matrix[i], "visible", G_BINDING_DEFAULT);
  GtkWidget *const children[] = { self->confusion, share, self->epochs, self->epoch, self->cell };
  for (guint i = 0; i < G_N_ELEMENTS (children); i++)
    gtk_box_append (GTK_BOX (box), children[i]);
  return box;
}

static GtkWidget *
new_mistakes (StudioEvaluatePane *self)
{
  return studio_sample_picks_new (self->model, FALSE);
}

static GtkWidget *
new_classes (StudioEvaluatePane *self)
{
  GtkWidget *box = new_box ();

  add_title (box, _ ("Accuracy of each class"));
  gtk_box_append (GTK_BOX (box), studio_eval_chart_new (self->model, &eval_chart_accuracy));
  add_title (box, _ ("Samples of each class"));
  self->balance = eval_label_new ("warning");
  gtk_box_append (GTK_BOX (box), self->balance);
  gtk_box_append (GTK_BOX (box), studio_eval_chart_new (self->model, &eval_chart_counts));
  return box;
}

static GtkWidget *
new_calibration (StudioEvaluatePane *self)
{
  GtkWidget *box = new_box (), *words = eval_label_new ("dim-label");

  gtk_label_set_text (
      GTK_LABEL (words),
      _ ("A calibrated net is right as often as it is confident: its bars reach the diagonal. Bars below "
         "it are overconfident. The expected calibration error is the mean distance (Guo et al. 2017)."));
  gtk_box_append (GTK_BOX (box), studio_eval_chart_new (self->model, &eval_chart_calibration));
  gtk_box_append (GTK_BOX (box), words);
  return box;
}

static GtkWidget *
new_values (StudioEvaluatePane *self)
{
  return studio_eval_chart_new (self->model, &eval_chart_values);
}

static GtkWidget *
new_own (StudioEvaluatePane *self)
{
  return self->own = studio_own_input_new (self->model);
}

static GtkWidget *
new_writer (StudioEvaluatePane *self)
{
  return self->writer = studio_text_writer_new (self->model);
}

static GtkWidget *
new_data (StudioEvaluatePane *self)
{
  return studio_data_view_new (self->model);
}

static const struct
{
  const char *name, *title;
  gboolean evaluates; /* shows an evaluation */
  GtkWidget *(*make) (StudioEvaluatePane *self);
} views[] = {
  { "confusion", N_ ("Confusion Matrix"), TRUE, new_confusion },
  { "mistakes", N_ ("Mistakes"), TRUE, new_mistakes },
  { "classes", N_ ("Classes"), TRUE, new_classes },
  { "calibration", N_ ("Calibration"), TRUE, new_calibration },
  { "values", N_ ("Predicted and True Values"), TRUE, new_values },
  { "own", N_ ("Your Own Input"), FALSE, new_own },
  { "generate", N_ ("Generate Text"), FALSE, new_writer },
  { "data", N_ ("Samples of the Data"), FALSE, new_data },
};

/* ---- the state ----------------------------------------------------------------------- */

static const char *const split_words[] = { N_ ("training samples"), N_ ("validation samples"), N_ ("test samples") };

static char *
status_text (StudioEvaluatePane *self)
{
  const StudioEvaluated *is = studio_evaluation_get (self->model);
  gint64 done, all;

  if (studio_evaluation_get_progress (self->model, &done, &all))
    {
      g_autofree char *first = studio_format_count ((double)done), *last = studio_format_count ((double)all);
      return all > 0 ? g_strdup_printf (_ ("Evaluating: %1$s of %2$s samples"), first, last)
                     : g_strdup (_ ("Evaluating…"));
    }
  if (studio_evaluation_get_message (self->model) != NULL)
    return g_strdup (studio_evaluation_get_message (self->model));
  if (is->n == 0)
    return g_strdup (_ ("Nothing is evaluated yet."));
  g_autofree char *n = studio_format_count ((double)is->n), *step = studio_format_count ((double)is->step);
  g_autofree char *loss = studio_format_number (is->loss), *seconds = studio_format_number (is->seconds);
  if (isnan (is->accuracy))
    /* Translators: number of samples, "test samples", step, loss, and seconds. */
    return g_strdup_printf (_ ("%1$s %2$s after step %3$s: loss %4$s. Took %5$s s."), n, _ (split_words[is->split]),
                            step, loss, seconds);
  /* Translators: number of samples, "test samples", step, loss, accuracy, and seconds. */
  return g_strdup_printf (_ ("%1$s %2$s after step %3$s: loss %4$s, accuracy %5$.1f %%. Took %6$s s."), n,
                          _ (split_words[is->split]), step, loss, 100 * is->accuracy, seconds);
}

static void
show_epochs (StudioEvaluatePane *self)
{
  const GPtrArray *history = studio_evaluation_get_history (self->model);
  const guint at = studio_evaluation_get_record (self->model);

  gtk_widget_set_visible (self->epochs, history->len > 1);
  gtk_widget_set_visible (self->epoch, history->len > 0);
  if (history->len == 0)
    return;
  const LoomEvaluationRecord *record = history->pdata[at];
  g_autofree char *step = studio_format_count ((double)record->step), *loss = studio_format_number (record->loss);
  g_autofree char *epoch = studio_format_count ((double)record->epoch);
  /* Translators: number of the evaluation, of all; epoch, step, loss, accuracy. */
  g_autofree char *text
      = g_strdup_printf (_ ("Evaluation %1$u of %2$u: epoch %3$s, step %4$s, loss %5$s, accuracy %6$.1f %%"), at + 1,
                         history->len, epoch, step, loss, 100 * record->accuracy);
  gtk_label_set_text (GTK_LABEL (self->epoch), text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->epochs), GTK_ACCESSIBLE_PROPERTY_VALUE_TEXT, text, -1);
  gtk_range_set_range (GTK_RANGE (self->epochs), 0, MAX (history->len - 1, 1));
  gtk_range_set_value (GTK_RANGE (self->epochs), at);
}

static void
show_balance (StudioEvaluatePane *self)
{
  const LoomConfusion *confusion = studio_evaluation_get (self->model)->confusion;
  guint most, least;
  const gboolean is_bad = confusion != NULL && loom_confusion_is_unbalanced (confusion, &most, &least);

  gtk_widget_set_visible (self->balance, is_bad);
  if (!is_bad)
    return;
  g_autofree char *large = studio_evaluation_class_name (self->model, most);
  g_autofree char *small = studio_evaluation_class_name (self->model, least);
  /* Translators: the largest class, a factor, and the smallest class. */
  g_autofree char *text = g_strdup_printf (_ ("The classes are not balanced: “%1$s” has more than %2$d times the "
                                              "samples of “%3$s”. Accuracy then says little "
                                              "about small classes."),
                                           large, LOOM_BALANCE_RATIO, small);
  gtk_label_set_text (GTK_LABEL (self->balance), text);
}

static void
changed_cb (StudioEvaluatePane *self)
{
  const StudioEvaluated *is = studio_evaluation_get (self->model);
  g_autofree char *status = status_text (self);
  gint64 done, all;

  self->is_filling = TRUE;
  gtk_label_set_text (GTK_LABEL (self->status), status);
  gtk_button_set_label (GTK_BUTTON (self->button),
                        studio_evaluation_get_progress (self->model, &done, &all) ? _ ("_Stop") : _ ("_Evaluate"));
  studio_confusion_set (STUDIO_CONFUSION (self->confusion), is->confusion, (const char *const *)is->names);
  gtk_widget_set_visible (self->confusion, is->confusion != NULL);
  show_epochs (self);
  show_balance (self);
  self->is_filling = FALSE;
}

static void
view_cb (StudioEvaluatePane *self)
{
  const guint i = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->view));

  if (i >= G_N_ELEMENTS (views))
    return;
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), views[i].name);
  gtk_widget_set_visible (self->head, views[i].evaluates);
  gtk_widget_set_visible (self->status, views[i].evaluates);
}

static void
split_cb (StudioEvaluatePane *self)
{
  /* The first entry is the default. */
  const guint i = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->split));

  studio_evaluation_set_split (self->model, i == 0 || i > LOOM_N_SPLITS ? LOOM_N_SPLITS : (LoomSplit)(i - 1));
}

static void
pressed_cb (StudioEvaluatePane *self)
{
  gint64 done, all;

  if (studio_evaluation_get_progress (self->model, &done, &all))
    studio_evaluation_stop (self->model);
  else
    studio_evaluation_start (self->model);
}

/* ---- the widget -------------------------------------------------------------------------- */

static void
pane_dispose (GObject *object)
{
  g_clear_object (&STUDIO_EVALUATE_PANE (object)->model);
  G_OBJECT_CLASS (studio_evaluate_pane_parent_class)->dispose (object);
}

static void
studio_evaluate_pane_class_init (StudioEvaluatePaneClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = pane_dispose;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "evaluatepane");
}

static void
studio_evaluate_pane_init (StudioEvaluatePane *self)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 6);
}

static void
add_head (StudioEvaluatePane *self)
{
  const char *titles[G_N_ELEMENTS (views) + 1] = { NULL };
  const char *const splits[]
      = { _ ("Test or validation"), _ ("Training samples"), _ ("Validation samples"), _ ("Test samples"), NULL };

  for (guint i = 0; i < G_N_ELEMENTS (views); i++)
    titles[i] = _ (views[i].title);
  self->view = eval_choice_new (titles, _ ("View"));
  g_signal_connect_swapped (self->view, "notify::selected", G_CALLBACK (view_cb), self);
  gtk_box_append (GTK_BOX (self), self->view);
  self->head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  self->split = eval_choice_new (splits, _ ("Evaluated samples"));
  g_signal_connect_swapped (self->split, "notify::selected", G_CALLBACK (split_cb), self);
  self->button = gtk_button_new_with_mnemonic (_ ("_Evaluate"));
  g_signal_connect_swapped (self->button, "clicked", G_CALLBACK (pressed_cb), self);
  gtk_box_append (GTK_BOX (self->head), self->split);
  gtk_box_append (GTK_BOX (self->head), self->button);
  gtk_box_append (GTK_BOX (self), self->head);
  self->status = eval_label_new ("dim-label");
  gtk_box_append (GTK_BOX (self), self->status);
}

GtkWidget *
studio_evaluate_pane_new (StudioEvaluation *model)
{
  StudioEvaluatePane *self = g_object_new (STUDIO_TYPE_EVALUATE_PANE, NULL);

  self->model = g_object_ref (model);
  add_head (self);
  self->stack = gtk_stack_new ();
  /* A hidden view does not make the page wide or high. */
  gtk_stack_set_hhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_stack_set_vhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_widget_set_vexpand (self->stack, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (views); i++)
    {
      GtkWidget *scrolled = gtk_scrolled_window_new ();

      gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
      gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), views[i].make (self));
      gtk_stack_add_named (GTK_STACK (self->stack), scrolled, views[i].name);
    }
  gtk_box_append (GTK_BOX (self), self->stack);
  g_signal_connect_object (model, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  changed_cb (self);
  /* Views that show an evaluation contain the button. */
  studio_evaluation_watch (model, self->button);
  return GTK_WIDGET (self);
}

void
studio_evaluate_pane_focus (StudioEvaluatePane *self)
{
  gtk_widget_grab_focus (self->view);
}

void
studio_evaluate_pane_show (StudioEvaluatePane *self, const char *view)
{
  for (guint i = 0; i < G_N_ELEMENTS (views); i++)
    if (g_strcmp0 (views[i].name, view) == 0)
      gtk_drop_down_set_selected (GTK_DROP_DOWN (self->view), i);
}

char *
studio_evaluate_pane_dump (StudioEvaluatePane *self)
{
  const StudioEvaluated *is = studio_evaluation_get (self->model);
  const char *answer = studio_own_input_get_answer (STUDIO_OWN_INPUT (self->own));
  g_autofree char *cell = studio_confusion_describe_cell (STUDIO_CONFUSION (self->confusion));
  gint64 done, all;

  return g_strdup_printf ("view=%s\tn=%" G_GINT64_FORMAT "\tstep=%" G_GINT64_FORMAT "\tbusy=%d\trecords=%u\tcell=%u"
                          "\tgenerated=%u\tanswer=%s\tcursor=%s",
                          gtk_stack_get_visible_child_name (GTK_STACK (self->stack)), is->n, is->step,
                          studio_evaluation_get_progress (self->model, &done, &all),
                          studio_evaluation_get_history (self->model)->len,
                          studio_sample_picks_n (STUDIO_SAMPLE_PICKS (self->cell)),
                          studio_text_writer_length (STUDIO_TEXT_WRITER (self->writer)), answer != NULL ? answer : "-",
                          cell != NULL ? cell : "-");
}
