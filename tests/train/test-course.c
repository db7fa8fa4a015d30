/* Settings of a run other than its optimiser: accumulated batches, averaged weights, an early end, weights of another
 * run.
 */
#include "engine/loom-lab.h"
#include "engine/train/trainer-private.h"
#include "tests/scalar-of.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* 300 samples: with 8 × 4 the last step of an epoch has a whole and a short batch, and 4 × 8 leaves three. */
#define NET TRAIN_TEST_SPIRALS ("n=\"300\"", "12")
#define METRICS                                                                                                        \
  "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/>"                                                     \
  "<metric type=\"confusion_matrix\" input=\"scores\" target=\"data.y\"/></train></graph>"

static const char *const weight_names[] = { "hidden.weight", "hidden.bias", "scores.weight", "scores.bias" };

static LoomTrainer *
trainer_new (const char *train, const LoomTrainerOptions *options, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autofree char *xml = g_strconcat (NET, train, METRICS, NULL);
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, error);
  LoomTrainerOptions o = { .threads = 1 };

  g_assert_nonnull (graph);
  if (options != NULL)
    o = *options;
  o.lr = NAN;
  o.seed = -1;
  return loom_trainer_new (graph, &o, error);
}

static LoomTrainer *
trainer_new_ok (const char *train, const LoomTrainerOptions *options)
{
  g_autoptr (GError) error = NULL;
  LoomTrainer *trainer = trainer_new (train, options, &error);

  g_assert_no_error (error);
  return trainer;
}

static double
largest_difference (LoomTrainer *a, LoomTrainer *b, const char *name, const char *other)
{
  g_autoptr (LoomTensor) x = loom_state_get (loom_trainer_state (a), name, NULL);
  g_autoptr (LoomTensor) y = loom_state_get (loom_trainer_state (b), other, NULL);
  double most = 0;

  g_assert_nonnull (x);
  g_assert_nonnull (y);
  for (gint64 i = 0; i < x->count; i++)
    most = MAX (most, fabs (loom_tensor_get (x, i) - loom_tensor_get (y, i)));
  return most;
}

/* ---- accumulation ------------------------------------------------------ */

typedef struct
{
  double loss[64], norm[64], epoch_loss[64], accuracy[64];
} Curve;

static void
curve_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  Curve *c = data;

  c->loss[s->step] = s->loss;
  c->norm[s->step] = s->grad_norm;
  c->epoch_loss[s->step] = s->epoch_loss;
  c->accuracy[s->step] = s->metric[0];
}

static void
test_accumulate (void)
{
  /* Each has 10 steps an epoch. The clipping bites, so that it must act on the sum. */
  static const char *const parts[] = { "batch_size=\"8\" accumulate=\"4\"", "batch_size=\"4\" accumulate=\"8\"",
                                       "batch_size=\"16\" accumulate=\"2\"" };
  static const char *const optimizers[]
      = { "optimizer=\"adam\" lr=\"0.01\"", "optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\"",
          "optimizer=\"adamw\" lr=\"0.01\" ema=\"0.9\" lr_batch_size=\"32\"" };
  static const char *const clips[] = { "<clip norm=\"0.05\"/>", "", "<clip value=\"0.01\" norm=\"0.02\"/>" };
  const LoomTrainerObserver observer = { .step = curve_cb };

  for (guint k = 0; k < G_N_ELEMENTS (optimizers); k++)
    {
      const char *format = "<train loss=\"loss\" device=\"ref\" precision=\"f64\" epochs=\"3\" seed=\"2\" %s %s>%s";
      g_autofree char *train = g_strdup_printf (format, optimizers[k], "batch_size=\"32\"", clips[k]);
      g_autoptr (LoomTrainer) whole = trainer_new_ok (train, NULL);
      g_autofree Curve *one = g_new0 (Curve, 1);

      loom_trainer_set_observer (whole, &observer, one);
      train_test_run (whole);
      g_assert_cmpint (loom_trainer_steps (whole), ==, 30);
      for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
        {
          g_autofree char *train_parts = g_strdup_printf (format, optimizers[k], parts[i], clips[k]);
          g_autoptr (LoomTrainer) trainer = trainer_new_ok (train_parts, NULL);
          g_autofree Curve *other = g_new0 (Curve, 1);

          loom_trainer_set_observer (trainer, &observer, other);
          train_test_run (trainer);
          g_assert_cmpint (loom_trainer_steps (trainer), ==, 30);
          for (guint w = 0; w < G_N_ELEMENTS (weight_names); w++)
            g_assert_cmpfloat (largest_difference (whole, trainer, weight_names[w], weight_names[w]), <, 1e-10);
          for (int s = 1; s <= 30; s++)
            {
              g_assert_cmpfloat_with_epsilon (one->loss[s], other->loss[s], 1e-10);
              g_assert_cmpfloat_with_epsilon (one->norm[s], other->norm[s], 1e-10);
              g_assert_cmpfloat_with_epsilon (one->epoch_loss[s], other->epoch_loss[s], 1e-10);
              g_assert_cmpfloat_with_epsilon (one->accuracy[s], other->accuracy[s], 1e-10);
            }
        }
    }
}

/* Losses that are divided by counts, which differ between batches: some batches of four samples have none. A loss whose
 * terms have different counts is separated. */
static const char *const counted[] = {
  "<node id=\"loss\" op=\"cross_entropy\" ignore_index=\"1\"/>",
  "<node id=\"loss\" op=\"cross_entropy\" weight=\"0.3,1.7\" ignore_index=\"-5\"/>",
  "<node id=\"logs\" op=\"log_softmax\" dim=\"1\"/><node id=\"loss\" op=\"nll_loss\" ignore_index=\"0\"/>",
  "<node id=\"one\" op=\"cross_entropy\" ignore_index=\"1\"/><node id=\"other\" op=\"cross_entropy\" "
  "ignore_index=\"0\"/><node id=\"third\" op=\"constant\" value=\"0.3\"/><node id=\"less\" op=\"mul\"/>"
  "<node id=\"size\" op=\"mean\"/><node id=\"both\" op=\"add\"/><node id=\"loss\" op=\"sub\"/>"
  "<wire from=\"scores\" to=\"one.input\"/><wire from=\"data.y\" to=\"one.target\"/>"
  "<wire from=\"scores\" to=\"other.input\"/><wire from=\"data.y\" to=\"other.target\"/>"
  "<wire from=\"other\" to=\"less.input\"/><wire from=\"third\" to=\"less.other\"/>"
  "<wire from=\"one\" to=\"both.input\"/><wire from=\"less\" to=\"both.other\"/><wire from=\"act\" to=\"size\"/>"
  "<wire from=\"both\" to=\"loss.input\"/><wire from=\"size\" to=\"loss.other\"/>",
  /* A mask by hand. */
  "<node id=\"mask\" op=\"cast\" dtype=\"f32\"/><node id=\"all\" op=\"sum\"/>"
  "<node id=\"each\" op=\"cross_entropy\" reduction=\"none\"/><node id=\"kept\" op=\"mul\"/>"
  "<node id=\"top\" op=\"sum\"/><node id=\"loss\" op=\"div\"/>"
  "<wire from=\"data.y\" to=\"mask\"/><wire from=\"mask\" to=\"all\"/>"
  "<wire from=\"scores\" to=\"each.input\"/><wire from=\"data.y\" to=\"each.target\"/>"
  "<wire from=\"each\" to=\"kept.input\"/><wire from=\"mask\" to=\"kept.other\"/><wire from=\"kept\" to=\"top\"/>"
  "<wire from=\"top\" to=\"loss.input\"/><wire from=\"all\" to=\"loss.other\"/>",
};

static LoomTrainer *
counted_new (const char *nodes, const char *batch)
{
  const gboolean wired = strstr (nodes, "<wire") != NULL, logs = strstr (nodes, "logs") != NULL;
  g_autofree char *xml = g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"300\" n_test=\"50\"/>"
      "<node id=\"hidden\" op=\"linear\" out_features=\"12\"/><node id=\"act\" op=\"tanh\"/>"
      "<node id=\"scores\" op=\"linear\" out_features=\"2\"/>%s<wire from=\"data.x\" to=\"hidden\"/>"
      "<wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"scores\"/>%s%s"
      "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" device=\"ref\" precision=\"f64\" epochs=\"2\" "
      "seed=\"2\" %s/></graph>",
      nodes,
      wired  ? ""
      : logs ? "<wire from=\"scores\" to=\"logs\"/><wire from=\"logs\" to=\"loss.input\"/>"
             : "<wire from=\"scores\" to=\"loss.input\"/>",
      wired ? "" : "<wire from=\"data.y\" to=\"loss.target\"/>", batch);

  return train_test_new (xml, (LoomTrainerOptions){ 0 });
}

static void
losses_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  g_array_append_val ((GArray *)data, s->loss);
}

static void
evaluations_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  g_array_append_val ((GArray *)data, e->loss);
}

static void
test_counted (void)
{
  static const char *const parts[] = { "batch_size=\"8\" accumulate=\"4\"", "batch_size=\"4\" accumulate=\"8\"" };
  const LoomTrainerObserver observer = { .step = losses_cb, .eval = evaluations_cb };

  for (guint k = 0; k < G_N_ELEMENTS (counted); k++)
    {
      g_autoptr (GArray) losses = g_array_new (FALSE, FALSE, sizeof (double));
      g_autoptr (LoomTrainer) whole = counted_new (counted[k], "batch_size=\"32\"");

      loom_trainer_set_observer (whole, &observer, losses);
      train_test_run (whole);
      g_assert_cmpuint (losses->len, ==, 22);
      for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
        {
          g_autoptr (GArray) others = g_array_new (FALSE, FALSE, sizeof (double));
          g_autoptr (LoomTrainer) trainer = counted_new (counted[k], parts[i]);

          loom_trainer_set_observer (trainer, &observer, others);
          train_test_run (trainer);
          g_assert_cmpuint (others->len, ==, losses->len);
          for (guint s = 0; s < losses->len; s++)
            g_assert_cmpfloat_with_epsilon (g_array_index (losses, double, s), g_array_index (others, double, s),
                                            1e-10);
          for (guint w = 0; w < G_N_ELEMENTS (weight_names); w++)
            g_assert_cmpfloat (largest_difference (whole, trainer, weight_names[w], weight_names[w]), <, 1e-10);
        }
    }
}

/* A value that is used twice, sixty times over, is followed once. */
static void
test_counted_shared (void)
{
  g_autoptr (GString) nodes = g_string_new ("<node id=\"s0\" op=\"cross_entropy\" ignore_index=\"1\"/>");

  for (guint i = 1; i <= 60; i++)
    g_string_append_printf (nodes, "<node id=\"s%u\" op=\"add\"/>", i);
  g_string_append (nodes, "<node id=\"loss\" op=\"identity\"/><wire from=\"s60\" to=\"loss\"/>"
                          "<wire from=\"scores\" to=\"s0.input\"/><wire from=\"data.y\" to=\"s0.target\"/>");
  for (guint i = 1; i <= 60; i++)
    for (guint k = 0; k < 2; k++)
      g_string_append_printf (nodes, "<wire from=\"s%u\" to=\"s%u.%s\"/>", i - 1, i, k == 0 ? "input" : "other");
  g_autoptr (LoomTrainer) whole = counted_new (nodes->str, "batch_size=\"32\"");
  g_autoptr (LoomTrainer) parts = counted_new (nodes->str, "batch_size=\"8\" accumulate=\"4\"");
  train_test_run (whole);
  train_test_run (parts);
  for (guint w = 0; w < G_N_ELEMENTS (weight_names); w++)
    g_assert_cmpfloat (largest_difference (whole, parts, weight_names[w], weight_names[w]), <, 1e-10);
}

/* Figures of training are of the last steps: of 70 in an epoch 6 at its end, and their mean. */
static void
recent_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  GArray *losses = data;
  double sum = 0, samples = 0;

  g_array_append_val (losses, s->loss);
  g_assert_cmpint (s->recent_steps, <=, MIN (s->step, 6));
  g_assert_cmpint (s->recent_steps, >=, MIN (s->step, 2));
  if (s->step % s->steps_per_epoch == 0)
    g_assert_cmpint (s->recent_steps, ==, 6);
  for (gint64 i = 0; i < s->recent_steps; i++)
    {
      /* The last batch of an epoch has 24 of 32 samples. */
      const gint64 step = s->step - i;
      const double n = step % s->steps_per_epoch == 0 ? 24 : 32;

      sum += n * g_array_index (losses, double, step - 1);
      samples += n;
    }
  g_assert_cmpfloat_with_epsilon (s->recent_loss, sum / samples, 1e-12);
}

static void
test_recent (void)
{
  static const char xml[] = TRAIN_TEST_SPIRALS (
      "n=\"2232\"",
      "4") "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"32\" epochs=\"2\" "
           "device=\"ref\"><metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>";
  const LoomTrainerObserver observer = { .step = recent_cb };
  g_autoptr (GArray) losses = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ 0 });

  loom_trainer_set_observer (trainer, &observer, losses);
  train_test_run (trainer);
  g_assert_cmpuint (losses->len, ==, 140);
  g_assert_cmpint (loom_train_recent_steps (1), ==, 1);
  g_assert_cmpint (loom_train_recent_steps (19), ==, 1);
  g_assert_cmpint (loom_train_recent_steps (39), ==, 2);
  g_assert_cmpint (loom_train_recent_steps (1000000), ==, 50);
}

/* Random numbers of the batches of one step are not the same. */
static void
test_draws (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  static const char xml[]
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"linear\" "
        "n=\"32\"/>"
        "<node id=\"one\" op=\"linear\" out_features=\"1\"/><node id=\"ones\" op=\"constant\" value=\"1\" "
        "shape=\"64\"/>"
        "<node id=\"drop\" op=\"dropout\" p=\"0.5\"/><node id=\"kept\" op=\"sum\"/>"
        "<node id=\"fit\" op=\"mse_loss\"/><node id=\"loss\" op=\"add\"/>"
        "<wire from=\"data.x\" to=\"one\"/><wire from=\"ones\" to=\"drop\"/><wire from=\"drop\" to=\"kept\"/>"
        "<wire from=\"one\" to=\"fit.input\"/><wire from=\"data.y\" to=\"fit.target\"/>"
        "<wire from=\"fit\" to=\"loss.input\"/><wire from=\"kept\" to=\"loss.other\"/>"
        "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0\" batch_size=\"8\" accumulate=\"4\" epochs=\"2\">"
        "<metric type=\"mse\" name=\"square\" input=\"drop\" target=\"ones\"/></train></graph>";
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_assert_no_error (error);
  LoomTrainerOptions o = { .lr = NAN, .seed = -1, .threads = 1 };
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &o, &error);
  g_assert_no_error (error);
  train_test_run (trainer);
  /* The counter of the last batch: the second step's last of four. */
  g_assert_cmpfloat (scalar_of (loom_trainer_state (trainer), "accumulate_batch"), ==, 7);
}

/* ---- averages ---------------------------------------------------------- */

typedef struct
{
  double *mean[G_N_ELEMENTS (weight_names)], decay, eval_loss;
} Averages;

static void
average_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  Averages *a = data;

  for (guint w = 0; w < G_N_ELEMENTS (weight_names); w++)
    {
      g_autoptr (LoomTensor) t = loom_state_get (loom_trainer_state (trainer), weight_names[w], NULL);
      if (a->mean[w] == NULL)
        a->mean[w] = g_new0 (double, t->count);
      for (gint64 i = 0; i < t->count; i++)
        a->mean[w][i] = s->step == 1 ? loom_tensor_get (t, i)
                                     : a->decay * a->mean[w][i] + (1 - a->decay) * loom_tensor_get (t, i);
    }
}

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  ((Averages *)data)->eval_loss = e->loss;
}

static void
test_average (void)
{
  static const double decays[] = { 0.9, 0.3, 0.999 };
  const LoomTrainerObserver observer = { .step = average_cb, .eval = eval_cb };

  for (guint d = 0; d < G_N_ELEMENTS (decays); d++)
    {
      g_autofree char *train = g_strdup_printf ("<train loss=\"loss\" device=\"ref\" precision=\"f64\" epochs=\"2\" "
                                                "optimizer=\"adam\" lr=\"0.1\" batch_size=\"64\" ema=\"%g\">",
                                                decays[d]);
      g_autoptr (LoomTrainer) trainer = trainer_new_ok (train, NULL);
      g_autoptr (GError) error = NULL;
      Averages a = { .decay = decays[d] };

      loom_trainer_set_observer (trainer, &observer, &a);
      /* Before the first step there is nothing to average. */
      g_assert_true (loom_trainer_evaluate (trainer, "test", &error));
      double first = a.eval_loss;
      train_test_run (trainer);
      for (guint w = 0; w < G_N_ELEMENTS (weight_names); w++)
        {
          g_autofree char *slot = g_strconcat ("optimizer.ema.", weight_names[w], NULL);
          g_autoptr (LoomTensor) t = loom_state_get (loom_trainer_state (trainer), slot, &error);
          g_assert_no_error (error);
          for (gint64 i = 0; i < t->count; i++)
            g_assert_cmpfloat_with_epsilon (loom_tensor_get (t, i), a.mean[w][i], 1e-12);
        }

      /* Evaluation was of the averages: the same weights in a run without them evaluate alike. */
      g_autoptr (LoomTrainer) plain = trainer_new_ok (
          "<train loss=\"loss\" device=\"ref\" precision=\"f64\" optimizer=\"adam\" batch_size=\"64\">", NULL);
      Averages b = { 0 };
      const LoomTrainerObserver only = { .eval = eval_cb };
      loom_trainer_set_observer (plain, &only, &b);
      g_assert_true (loom_trainer_evaluate (plain, "test", &error));
      g_assert_cmpfloat (b.eval_loss, ==, first);
      for (guint w = 0; w < G_N_ELEMENTS (weight_names); w++)
        {
          g_autofree char *slot = g_strconcat ("optimizer.ema.", weight_names[w], NULL);
          g_autoptr (LoomTensor) t = loom_state_get (loom_trainer_state (trainer), slot, &error);
          g_assert_true (loom_state_set (loom_trainer_state (plain), weight_names[w], t, &error));
          g_assert_cmpfloat (largest_difference (trainer, trainer, slot, weight_names[w]), >, 0);
          g_free (a.mean[w]);
        }
      g_assert_true (loom_trainer_evaluate (plain, "test", &error));
      g_assert_cmpfloat (b.eval_loss, ==, a.eval_loss);
      g_assert_cmpfloat (b.eval_loss, !=, first);
    }
}

/* ---- an early end ------------------------------------------------------- */

typedef struct
{
  double value[100];
  gint64 epoch, reported, tests;
  gboolean of_loss;
  LoomTrainerWatch watch;
} Watched;

static void
watched_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  Watched *w = data;

  w->value[e->epoch] = w->of_loss ? e->loss : e->metric[0];
  w->epoch = e->epoch;
}

static void
early_cb (LoomTrainer *trainer, const LoomTrainerWatch *watch, gpointer data)
{
  Watched *w = data;

  w->reported++;
  w->watch = *watch;
}

static void
test_early_stop (void)
{
  static const struct
  {
    const char *attributes;
    gint64 patience;
    double min_delta;
    gboolean of_loss;
  } cases[] = { { "patience=\"3\"", 3, 0, TRUE },
                { "patience=\"2\" min_delta=\"0.05\"", 2, 0.05, TRUE },
                { "patience=\"4\" min_delta=\"0.02\" monitor=\"accuracy\"", 4, 0.02, FALSE } };
  const LoomTrainerObserver observer = { .eval = watched_cb, .early_stop = early_cb };

  for (guint k = 0; k < G_N_ELEMENTS (cases); k++)
    {
      g_autofree char *folder = g_dir_make_tmp ("gradloom-course-XXXXXX", NULL);
      g_autofree char *out = g_build_filename (folder, "run", NULL);
      g_autofree char *path = g_build_filename (out, "weights-best.safetensors", NULL);
      g_autofree char *train = g_strdup_printf ("<train loss=\"loss\" optimizer=\"sgd\" lr=\"1\" momentum=\"0.9\" "
                                                "batch_size=\"64\" epochs=\"99\" %s>",
                                                cases[k].attributes);
      LoomTrainerOptions o = { .threads = 1, .out = out };
      g_autoptr (LoomTrainer) trainer = trainer_new_ok (train, &o);
      g_autoptr (GError) error = NULL;
      Watched w = { .of_loss = cases[k].of_loss };
      gint64 best = 1, end = 1;

      loom_trainer_set_observer (trainer, &observer, &w);
      train_test_run (trainer);
      for (end = 2; end <= 99; end++)
        {
          double gain = w.of_loss ? w.value[best] - w.value[end] : w.value[end] - w.value[best];
          if (gain > cases[k].min_delta)
            best = end;
          if (end - best >= cases[k].patience)
            break;
        }
      g_assert_cmpint (end, <, 99); /* else nothing ended early */
      g_assert_cmpint (w.epoch, ==, end);
      g_assert_cmpint (w.reported, ==, 1);
      g_assert_cmpint (w.watch.best_epoch, ==, best);
      g_assert_cmpint (w.watch.epochs_since_best, ==, cases[k].patience);
      g_assert_cmpfloat (w.watch.best, ==, w.value[best]);

      /* The file holds the best epoch's weights: they evaluate to the best value again. */
      Watched again = { .of_loss = cases[k].of_loss };
      g_autoptr (LoomTrainer) other = trainer_new_ok (train, NULL);
      g_assert_true (loom_state_load_weights (loom_trainer_state (other), path, FALSE, NULL, &error));
      loom_trainer_set_observer (other, &observer, &again);
      g_assert_true (loom_trainer_evaluate (other, "test", &error));
      g_assert_cmpfloat (again.value[1], ==, w.value[best]);

      /* A request for more epochs is granted. */
      g_clear_pointer (&trainer, loom_trainer_free);
      LoomTrainerOptions more = { .threads = 1, .resume = out, .lr = NAN, .seed = -1, .epochs = 100 };
      trainer = loom_trainer_new (NULL, &more, &error);
      g_assert_no_error (error);
      g_assert_false (loom_trainer_is_over (trainer));
      g_clear_pointer (&trainer, loom_trainer_free);
      const char *argv[] = { "rm", "-r", folder, NULL };
      g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
    }
}

/* ---- weights of another run --------------------------------------------- */

static const LoomTransferItem *
find_item (const GPtrArray *list, const char *name)
{
  for (guint i = 0; i < list->len; i++)
    if (g_str_equal (((LoomTransferItem *)list->pdata[i])->name, name))
      return list->pdata[i];
  return NULL;
}

static void
put (GPtrArray *file, const char *name, LoomDType dtype, gint64 a, gint64 b)
{
  const gint64 dims[2] = { a, b };
  g_autoptr (LoomTensor) t = loom_tensor_new (dtype, b > 0 ? 2 : 1, dims, NULL);

  for (gint64 i = 0; i < t->count; i++)
    loom_tensor_set (t, i, 0.25);
  g_ptr_array_add (file, loom_named_tensor_new (name, t));
}

static void
test_transfer (void)
{
  g_autoptr (GPtrArray) file = loom_named_tensors_new ();
  g_autofree char *folder = g_dir_make_tmp ("gradloom-course-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "w.safetensors", NULL), *json = NULL;
  LoomJson *written;
  g_autoptr (GError) error = NULL;
  static const char plain[] = "<train loss=\"loss\" batch_size=\"64\">";
  LoomTrainerOptions o = { .threads = 1, .weights = path };

  put (file, "hidden.weight", LOOM_F64, 12, 2); /* any float type */
  put (file, "hidden.bias", LOOM_I64, 12, 0);
  put (file, "scores.weight", LOOM_F32, 3, 12);
  put (file, "head.weight", LOOM_F32, 5, 0);
  g_assert_true (loom_safetensors_save (path, file, NULL, &error));

  g_autoptr (LoomTrainer) trainer = trainer_new_ok (plain, &o);
  const LoomTransfer *t = loom_trainer_transfer (trainer);
  g_assert_nonnull (t);
  g_assert_cmpuint (t->loaded->len, ==, 1);
  g_assert_cmpuint (t->missing->len, ==, 1);
  g_assert_cmpuint (t->unused->len, ==, 1);
  g_assert_cmpuint (t->mismatched->len, ==, 2);
  g_assert_nonnull (find_item (t->loaded, "hidden.weight"));
  g_assert_cmpstr (find_item (t->missing, "scores.bias")->here, ==, "2");
  g_assert_cmpstr (find_item (t->unused, "head.weight")->there, ==, "5");
  g_assert_cmpstr (find_item (t->mismatched, "scores.weight")->here, ==, "2 × 12");
  g_assert_cmpstr (find_item (t->mismatched, "scores.weight")->there, ==, "3 × 12");
  g_assert_cmpstr (find_item (t->mismatched, "hidden.bias")->there, ==, "i64 12");
  written = loom_json_new ();
  loom_transfer_add_json (t, written);
  json = loom_json_take (written);
  g_assert_nonnull (strstr (json, "\"mismatched\":[{\"name\":\"hidden.bias\",\"shape\":\"f32 12\","
                                  "\"file_shape\":\"i64 12\"},"));

  /* Weights that are not taken begin as without the file. */
  g_autoptr (LoomTrainer) none = trainer_new_ok (plain, NULL);
  g_autoptr (LoomTensor) taken = loom_state_get (loom_trainer_state (trainer), "hidden.weight", &error);
  g_assert_null (loom_trainer_transfer (none));
  g_assert_cmpfloat (loom_tensor_get (taken, 5), ==, 0.25);
  g_assert_cmpfloat (largest_difference (trainer, none, "scores.weight", "scores.weight"), ==, 0);
  g_assert_cmpfloat (largest_difference (trainer, none, "hidden.bias", "hidden.bias"), ==, 0);

  /* A pattern: all else is neither taken nor missing. */
  g_clear_pointer (&trainer, loom_trainer_free);
  o.match = "hidden.w*";
  trainer = trainer_new_ok (plain, &o);
  t = loom_trainer_transfer (trainer);
  g_assert_cmpuint (t->loaded->len, ==, 1);
  g_assert_cmpuint (t->missing->len, ==, 0);
  g_assert_cmpuint (t->mismatched->len, ==, 0);
  g_assert_cmpuint (t->unused->len, ==, 3);

  /* Nothing that fits, no such weight, no such file. */
  static const struct
  {
    const char *match, *says;
  } wrong[] = { { "scores", "No weight of*scores.weight is 2 × 12 here, 3 × 12 in the file*" },
                { "hiden.weight", "*no weight's path matches “hiden.weight”*“hidden.weight”*" },
                { NULL, "The initial weights: *" } };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      o.match = wrong[i].match;
      if (wrong[i].match == NULL)
        g_remove (path);
      g_assert_null (trainer_new (plain, &o, &error));
      if (!g_pattern_match_simple (wrong[i].says, error->message))
        g_error ("“%s” is not “%s”", error->message, wrong[i].says);
      g_clear_error (&error);
    }
  g_rmdir (folder);
}

/* Begun from a file, killed before the first checkpoint, gone on with: the file counts again, but only then. */
static void
test_transfer_resume (void)
{
  g_autoptr (GPtrArray) file = loom_named_tensors_new ();
  g_autofree char *folder = g_dir_make_tmp ("gradloom-course-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "w.safetensors", NULL);
  g_autofree char *out = g_build_filename (folder, "run", NULL);
  g_autoptr (GError) error = NULL;
  LoomTrainerOptions o = { .threads = 1, .weights = path, .out = out };
  LoomTrainerOptions again = { .threads = 1, .resume = out, .lr = NAN, .seed = -1 };

  put (file, "hidden.weight", LOOM_F32, 12, 2);
  g_assert_true (loom_safetensors_save (path, file, NULL, &error));
  g_autoptr (LoomTrainer) trainer = trainer_new_ok ("<train loss=\"loss\" batch_size=\"64\" epochs=\"2\">", &o);
  g_clear_pointer (&trainer, loom_trainer_free);
  trainer = loom_trainer_new (NULL, &again, &error);
  g_assert_no_error (error);
  g_autoptr (LoomTensor) taken = loom_state_get (loom_trainer_state (trainer), "hidden.weight", &error);
  g_assert_cmpfloat (loom_tensor_get (taken, 5), ==, 0.25);
  train_test_run (trainer);
  g_clear_pointer (&trainer, loom_trainer_free);
  g_remove (path);
  trainer = loom_trainer_new (NULL, &again, &error);
  g_assert_no_error (error);
  g_assert_null (loom_trainer_transfer (trainer));
  g_clear_pointer (&trainer, loom_trainer_free);
  const char *argv[] = { "rm", "-r", folder, NULL };
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* ---- a fault in the middle of a step ------------------------------------- */

#define NORMED                                                                                                         \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"csv\" path=\"%s\" target=\"y\" val_fraction=\"0\"/>"                      \
  "<node id=\"hidden\" op=\"linear\" out_features=\"6\"/><node id=\"norm\" op=\"batch_norm1d\"/>"                      \
  "<node id=\"scores\" op=\"linear\" out_features=\"3\"/><node id=\"loss\" op=\"cross_entropy\"/>"                     \
  "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"norm\"/><wire from=\"norm\" to=\"scores\"/>"        \
  "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"                                \
  "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"4\" accumulate=\"%d\" epochs=\"1\" "               \
  "device=\"%s\"><metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train>"                               \
  "</graph>"

/* A trainer of `steps` steps; 0: all. */
static LoomTrainer *
normed_new (const char *path, int parts, const char *device, gint64 steps)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *xml = g_strdup_printf (NORMED, path, parts, device);
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  LoomTrainerOptions o = { .threads = 1, .lr = NAN, .seed = -1, .steps = steps };
  LoomTrainer *trainer = loom_trainer_new (graph, &o, &error);

  g_assert_no_error (error);
  return trainer;
}

/* One label of 24 is out of range. Weights, running statistics and the optimiser's numbers are then those of a run that
 * was stopped before that step, to the bit, whichever batch of the step has the label; so are the figures of the last
 * steps. */
static void
test_fault (gconstpointer device)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-fault-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "t.csv", NULL);

  for (int wrong = 0; wrong < 24; wrong += 5)
    for (int parts = 1; parts <= 3; parts += 2)
      {
        g_autoptr (GString) text = g_string_new ("a,b,y\n");
        g_autoptr (GError) error = NULL;
        gint64 done;

        for (int i = 0; i < 24; i++)
          g_string_append_printf (text, "%g,%g,%d\n", sin (i), cos (3 * i), i == wrong ? 3 : i % 3);
        g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
        g_autoptr (LoomTrainer) failed = normed_new (path, parts, device, 0);
        g_assert_cmpint (loom_trainer_run (failed, &error), ==, LOOM_TRAINER_FAILED);
        g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
        done = loom_trainer_steps (failed);
        g_autofree char *step = g_strdup_printf ("Step %d (epoch 1): Node loss ", (int)done + 1);
        g_assert_true (g_str_has_prefix (error->message, step));
        g_assert_nonnull (strstr (error->message, "the target class 3 is outside 0 … 2"));

        g_autoptr (LoomTrainer) stopped = normed_new (path, parts, device, done);
        if (done > 0)
          g_assert_cmpint (loom_trainer_run (stopped, NULL), ==, LOOM_TRAINER_STOPPED);
        for (guint i = 0; i < loom_state_n_slots (loom_trainer_state (failed)); i++)
          {
            const char *name;
            LoomSlotKind kind;

            loom_state_slot (loom_trainer_state (failed), i, &name, &kind, NULL);
            /* Accumulated sums and per-batch scalars mean nothing between two steps. */
            if (kind == LOOM_SLOT_SCALAR || strstr (name, "accumulate") != NULL)
              continue;
            g_autoptr (LoomTensor) a = loom_state_get (loom_trainer_state (failed), name, NULL);
            g_autoptr (LoomTensor) b = loom_state_get (loom_trainer_state (stopped), name, NULL);
            if (!loom_tensor_equal_bits (a, b))
              g_error ("%s differs after %d steps of %d batches", name, (int)done, parts);
          }
        double of_failed[8] = { 0 }, of_stopped[8] = { 0 };
        g_assert_cmpuint (metric_sums_count (failed->log.recent.both), <=, G_N_ELEMENTS (of_failed));
        metric_sums_save (recent_steps_metrics (&failed->log.recent), of_failed);
        metric_sums_save (recent_steps_metrics (&stopped->log.recent), of_stopped);
        g_assert_cmpmem (of_failed, sizeof of_failed, of_stopped, sizeof of_stopped);
      }
  g_unlink (path);
  g_rmdir (folder);
}

/* Weights of no step are trained no further. */
static void
test_half_way (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-fault-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "t.csv", NULL);
  g_autoptr (GString) text = g_string_new ("a,b,y\n");
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 24; i++)
    g_string_append_printf (text, "%g,%g,%d\n", sin (i), cos (3 * i), i % 3);
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  g_autoptr (LoomTrainer) trainer = normed_new (path, 1, "cpu", 2);
  g_assert_cmpint (loom_trainer_run (trainer, NULL), ==, LOOM_TRAINER_STOPPED);
  trainer->loop.is_between = TRUE;
  loom_trainer_set_last_step (trainer, 3);
  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_FAILED);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 2);
  g_unlink (path);
  g_rmdir (folder);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/course/counted", test_counted);
  g_test_add_func ("/course/counted-shared", test_counted_shared);
  g_test_add_func ("/course/recent", test_recent);
  g_test_add_func ("/course/accumulate", test_accumulate);
  g_test_add_data_func ("/course/fault/ref", "ref", test_fault);
  g_test_add_data_func ("/course/fault/cpu", "cpu", test_fault);
  if (g_getenv ("GRADLOOM_TEST_DEVICE") != NULL)
    g_test_add_data_func ("/course/fault/device", g_getenv ("GRADLOOM_TEST_DEVICE"), test_fault);
  g_test_add_func ("/course/half-way", test_half_way);
  g_test_add_func ("/course/draws", test_draws);
  g_test_add_func ("/course/average", test_average);
  g_test_add_func ("/course/early-stop", test_early_stop);
  g_test_add_func ("/course/transfer", test_transfer);
  g_test_add_func ("/course/transfer-resume", test_transfer_resume);
  return g_test_run ();
}
