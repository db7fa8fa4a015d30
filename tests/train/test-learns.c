/* Examples with generated sequences and texts learn: within a small part of their steps the loss falls below what a
 * network without memory could reach. Large examples (tests/examples.h) have tests of their own, below /long, which
 * `meson test --suite long` runs. */
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#define LAST 20 /* number of last steps whose losses are averaged */

typedef struct
{
  const char *name; /* of graphs/, or of its models */
  gint64 steps;
  double bound;
  const char *set[3]; /* as --set has it */
  const char *file;   /* a file of the machine with its data, which may be absent; else NULL */
} Example;

static const Example examples[] = {
  { "copy-gru", 400, 1.0 },         /* a guess among eight symbols: ln 8 = 2.08 */
  { "adding-lstm", 800, 0.02 },     /* the mean as answer: 1/6 */
  { "dates-gru", 250, 1.2 },        /* a guess among ten digits: ln 10 = 2.3 */
  { "shapes-captions", 120, 0.75 }, /* predicting each word only from its position: some 1 */
  { "shapes-unet", 90, 0.4, { "data.n=640", "data.size=32" } }, /* the frequency of each class: 0.7 */
  { "char-lstm", 150, 2.6 }, /* each letter by its frequency: 3.1; by the letter before: 2.5 */
  { "char-gpt", 150, 2.6 },
  { "dates-attention", 120, 0.5 },            /* predicting digits only from their position: about 1.2 */
  { "dates-transformer", 150, 0.5 },          /* likewise */
  { "modular-network", 300, 0.4 },            /* a guess among ten digits: 2.3 */
  { "tree-recursion", 250, 1.5 },             /* likewise */
  { "conv-autoencoder", 100, 0.06 },          /* the mean picture: 0.0866 */
  { "char-rnn", 80, 2.7 },                    /* as char-lstm */
  { "char-lstm-stateful", 80, 2.9 },          /* likewise */
  { "lessons/hinge-classifier", 100, 0.2 },   /* at its beginning: 0.51 */
  { "lessons/toy-model", 60, 0.3 },           /* 0.97 */
  { "lessons/toy-model-parallel", 200, 0.6 }, /* 1.14 */
  { "lessons/normal-equation", 40, 0.1 },     /* 2.1 */
  { "lessons/data-parallel", 250, 0.4 },      /* 0.7 */
  { "lessons/split-products", 100, 0.3 },     /* likewise */
  { "lessons/loading", 40, 2.0 },             /* a guess among ten: 2.3 */
  { "french-attention", 80, 4.2, .file = "/usr/share/locale/fr/LC_MESSAGES/git.mo" }, /* among 1,500 words: 7.3 */
};

/* A loss of ln 12 = 2.48 is that of a guess among the twelve classes of shapes; ln 1000 = 6.9 that of any. */
static const Example large[] = {
  { "cifar-cnn", 200, 0.9 },
  { "alexnet", 64, 2.9, { "data.size=64" } },
  { "resnet18", 160, 0.6, { "data.size=64" } },
  { "resnet50", 64, 6.5, { "data.size=64" } },
  { "vgg16", LAST, 6.9, { "data.size=32" } },
  { "copy-ntm", 200, 1.0 },        /* a guess: 2.3 */
  { "dates-scheduled", 100, 1.1 }, /* as dates-attention */
  { "char-bert", 700, 3.0 },       /* each letter by its frequency: 3.1 */
  { "char-denoise", 150, 2.9 },    /* likewise */
};

typedef struct
{
  gint64 steps;
  double sum;
} Losses;

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Losses *losses = data;

  if (step->step > losses->steps - LAST)
    losses->sum += step->loss;
}

static void
test_learns (gconstpointer data)
{
  const Example *e = data;

  if (e->file != NULL && !g_file_test (e->file, G_FILE_TEST_EXISTS))
    {
      g_autofree char *why = g_strdup_printf ("this machine has no %s", e->file);

      g_test_skip (why);
      return;
    }
  g_autofree char *name = g_strconcat (e->name, ".xml", NULL);
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", strchr (name, '/') == NULL ? "models" : name,
                          strchr (name, '/') == NULL ? name : NULL, NULL);
  const LoomTrainerObserver observer = { .step = step_cb };
  const LoomTrainerOptions options = { .threads = 1, .steps = e->steps, .lr = NAN, .seed = -1, .set = e->set };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);
  Losses losses = { .steps = e->steps };

  g_assert_no_error (error);
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);
  g_assert_no_error (error);
  loom_trainer_set_observer (trainer, &observer, &losses);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  g_test_message ("%s: %g after %d steps", e->name, losses.sum / LAST, (int)e->steps);
  g_assert_cmpfloat (losses.sum / LAST, <, e->bound);
}

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *eval, gpointer data)
{
  double *best = data;

  g_assert_cmpstr (eval->metric_name[0], ==, "accuracy");
  *best = MAX (*best, eval->metric[0]);
}

/* The best accuracy on new points of the lesson on activations with this one, in the first third of its epochs: ten
 * seconds of the half minute for which Studio stretches a short run. */
static double
best_of_spirals (const char *activation)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", "lessons", "spirals.xml", NULL);
  g_autofree char *text = NULL, *op = g_strdup_printf ("id=\"act\" op=\"%s\"", activation);
  const LoomTrainerObserver observer = { .eval = eval_cb };
  g_autoptr (GError) error = NULL;
  double best = 0;

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GString) xml = g_string_new (text);
  g_assert_cmpuint (g_string_replace (xml, "id=\"act\" op=\"relu\"", op, 0), ==, 1);
  g_autoptr (LoomTrainer) trainer = train_test_new (xml->str, (LoomTrainerOptions){ .epochs = 200 / 3 });
  loom_trainer_set_observer (trainer, &observer, &best);
  train_test_run (trainer);
  return best;
}

/* The border closes around each spiral with the ReLU. Without it, which an identity stands for, the border is straight
 * and a third of the points are on the wrong side. */
static void
test_activation (void)
{
  g_assert_cmpfloat (best_of_spirals ("relu"), >, 0.95);
  g_assert_cmpfloat (best_of_spirals ("identity"), <, 0.75);
}

static void
add_tests (const char *folder, const Example *list, gsize n)
{
  for (gsize i = 0; i < n; i++)
    {
      g_autofree char *name = g_path_get_basename (list[i].name);
      g_autofree char *test = g_strdup_printf ("/%s/%s", folder, name);

      g_test_add_data_func (test, &list[i], test_learns);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE); /* as toy-model-parallel wants */
  add_tests ("learns", examples, G_N_ELEMENTS (examples));
  g_test_add_func ("/learns/activation", test_activation);
  add_tests ("long", large, G_N_ELEMENTS (large));
  return g_test_run ();
}
