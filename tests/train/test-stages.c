/* Runs of a pipeline, as threads of this process: 20 steps in f64 end with the weights, averages and losses of one
 * rank, within 1e-10: with dropout, ignored targets, class weights, a skipped stage, a weight that two stages share,
 * accumulated gradients, clipping by all stages' norm, and an epoch with an incomplete batch. A checkpoint of three
 * stages resumes as one rank or as two. And unsupported graphs. */
#include "engine/train/loom-stages.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/rank-run.h"

#define MOST 4

#define GRAPH                   "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
#define DATA                    "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"300\"/>"
#define LINEAR(ID, WIDTH, MORE) "<node id=\"" ID "\" op=\"linear\" out_features=\"" WIDTH "\" " MORE "/>"
#define NODE(ID, OP, MORE)      "<node id=\"" ID "\" op=\"" OP "\" " MORE "/>"
#define WIRE(FROM, TO)          "<wire from=\"" FROM "\" to=\"" TO "\"/>"
#define LOSS(FROM)              WIRE (FROM, "loss.input") WIRE ("data.y", "loss.target")

/* Four layers with dropout between them; the first one's result skips the next stages. */
#define SKIPPING(S1, S2, S3)                                                                                           \
  DATA LINEAR ("l0", "5", "") NODE ("a0", "tanh", "") NODE ("d0", "dropout", "p=\"0.3\"") LINEAR ("l1", "5", S1)       \
      NODE ("a1", "gelu", "") LINEAR ("l2", "5", S2) NODE ("a2", "tanh", "") NODE ("sum", "add", S3)                   \
          NODE ("norm", "layer_norm", "") NODE ("d1", "dropout", "p=\"0.2\"") LINEAR ("l3", "2", "")                   \
              WIRE ("data.x", "l0") WIRE ("l0", "a0") WIRE ("a0", "d0") WIRE ("d0", "l1") WIRE ("l1", "a1")            \
                  WIRE ("a1", "l2") WIRE ("l2", "a2") WIRE ("a2", "sum.input") WIRE ("a0", "sum.other")                \
                      WIRE ("sum", "norm") WIRE ("norm", "d1") WIRE ("d1", "l3")

/* The last layer reads the first one's weight, transposed in between. */
#define TIED                                                                                                           \
  DATA LINEAR ("l0", "2", "") NODE ("a0", "tanh", "") LINEAR ("l1", "6", "") NODE ("a1", "tanh", "")                   \
      LINEAR ("l2", "2", "") NODE ("a2", "tanh", "") LINEAR ("l3", "2", "bias=\"false\"") WIRE ("data.x", "l0")        \
          WIRE ("l0", "a0") WIRE ("a0", "l1") WIRE ("l1", "a1") WIRE ("a1", "l2") WIRE ("l2", "a2") WIRE ("a2", "l3")  \
              WIRE ("l0.weight", "l3.weight")

static const struct
{
  const char *name, *graph, *loss, *last, *train, *inside;
  int stages;
} cases[] = {
  { "skip", SKIPPING ("", "", ""), "weight=\"1,3\" label_smoothing=\"0.1\"", "l3",
    "optimizer=\"adam\" lr=\"0.01\" ema=\"0.9\"", "<clip norm=\"0.05\" value=\"0.03\"/>", 4 },
  { "by-hand", SKIPPING ("stage=\"1\"", "stage=\"2\"", "stage=\"3\""), "ignore_index=\"1\"", "l3",
    "optimizer=\"nadam\" lr=\"0.01\" accumulate=\"3\" ema=\"0.9\"", "<clip norm=\"0.05\"/>", 4 },
  { "tied", TIED, "", "l3", "optimizer=\"sgd\" momentum=\"0.9\" lr=\"0.1\"",
    "<group match=\"l1.*\" lr=\"0.05\" weight_decay=\"0.1\"/>", 3 },
  { "lamb", SKIPPING ("", "", ""), "", "l3", "optimizer=\"lamb\" lr=\"0.01\"", "", 2 },
  { "muon", SKIPPING ("", "", ""), "", "l3", "optimizer=\"muon\" lr=\"0.01\"", "", 2 },
  { "adafactor", SKIPPING ("", "", ""), "", "l3", "optimizer=\"adafactor\" lr=\"0.1\"", "", 2 },
  { "asgd", SKIPPING ("", "", ""), "", "l3", "optimizer=\"asgd\" lr=\"0.1\"", "", 2 },
};

/* (transfer full) */
static char *
text_of (guint c, const char *parallel)
{
  return g_strconcat (
      GRAPH, cases[c].graph, "<node id=\"loss\" op=\"cross_entropy\" ", cases[c].loss, "/>", "<wire from=\"",
      cases[c].last, "\" to=\"loss.input\"/>", WIRE ("data.y", "loss.target"), "<train loss=\"loss\" ", cases[c].train,
      " epochs=\"50\" batch_size=\"48\" seed=\"3\" precision=\"f64\" device=\"ref\">", cases[c].inside, parallel,
      "<metric type=\"accuracy\" input=\"", cases[c].last, "\" target=\"data.y\"/></train></graph>", NULL);
}

/* Both schedules with 2 to `stages` stages end as one rank does. cut[n]: the graph with the micro-batches of n
 * stages. */
static void
compare_schedules (const char *name, const char *alone_xml, const char *const cut[], int stages)
{
  Rank alone;

  run_alone (&alone, alone_xml);
  for (int n = 2; n <= stages; n++)
    {
      Rank gpipe[MOST], other[MOST];
      g_autofree char *what = g_strdup_printf ("%s, %d stages", name, n);

      run_together (gpipe, n, 1, cut[n], "gpipe");
      run_together (other, n, 1, cut[n], "1f1b");
      for (int k = 0; k < n; k++)
        {
          compare (&alone, &gpipe[k], 1e-10, what);
          compare (&gpipe[0], &other[k], 0, what);
        }
      for (int k = 0; k < n; k++)
        {
          rank_clear (&gpipe[k]);
          rank_clear (&other[k]);
        }
    }
  rank_clear (&alone);
}

static void
test_case (gconstpointer data)
{
  guint c = GPOINTER_TO_UINT (data);
  g_autofree char *xml = text_of (c, "");
  g_autoptr (GPtrArray) cut = g_ptr_array_new_with_free_func (g_free);

  for (int stages = 0; stages <= cases[c].stages; stages++)
    {
      g_autofree char *parallel = g_strdup_printf ("<parallel microbatches=\"%d\"/>", MAX (2 * stages - 1, 1));

      g_ptr_array_add (cut, text_of (c, parallel));
    }
  compare_schedules (cases[c].name, xml, (const char *const *)cut->pdata, cases[c].stages);
}

/* A parameter whose gradient is constant, so that every stage computes it: the norm that clips all gradients contains
 * it once. */
static void
test_constant_gradient (void)
{
#define CONSTANT_GRADIENT(MORE)                                                                                        \
  GRAPH DATA LINEAR ("l0", "5", "") NODE ("a0", "tanh", "") LINEAR ("l1", "2", "stage=\"1\"")                          \
      NODE ("p", "parameter", "shape=\"3\" init=\"ones\"") NODE ("m", "mean", "stage=\"1\"")                           \
          NODE ("classes", "cross_entropy", "") NODE ("loss", "add", "") WIRE ("data.x", "l0") WIRE ("l0", "a0")       \
              WIRE ("a0", "l1") WIRE ("l1", "classes.input") WIRE ("data.y", "classes.target") WIRE ("p", "m")         \
                  WIRE ("classes", "loss.input")                                                                       \
                      WIRE ("m", "loss.other") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" epochs=\"50\" "    \
                                               "batch_size=\"48\" seed=\"3\" "                                         \
                                               "precision=\"f64\" device=\"ref\"><clip norm=\"0.05\"/>" MORE           \
                                               "</train></graph>"
  static const char *const cut = CONSTANT_GRADIENT ("<parallel microbatches=\"3\"/>");

  compare_schedules ("constant gradient", CONSTANT_GRADIENT (""), (const char *const[]){ NULL, NULL, cut }, 2);
}

/* ---- resuming ----------------------------------------------------------------------- */

static void
test_resume (void)
{
  g_autofree char *xml = text_of (0, ""), *folder = g_dir_make_tmp ("gradloom-stages-XXXXXX", NULL);
  g_autofree char *run = g_build_filename (folder, "run", NULL);
  static const struct
  {
    int ranks;
    const char *strategy;
  } next[] = { { 1, "data" }, { 2, "pipeline" }, { 2, "zero3" } };
  Rank alone;
  int done = 8;

  run_alone (&alone, xml);
  for (guint i = 0; i <= G_N_ELEMENTS (next); i++, done += 4)
    {
      Rank rank[MOST];
      gboolean begins = i == 0, ends = i == G_N_ELEMENTS (next);
      int ranks = begins ? 3 : next[i - 1].ranks;
      LoomTrainerOptions options = { .device = begins ? "ref" : NULL,
                                     .steps = done,
                                     .strategy = begins ? "1f1b" : next[i - 1].strategy,
                                     .out = begins ? run : NULL,
                                     .resume = begins ? NULL : run };
      g_autofree char *what = g_strdup_printf ("resumed with %d ranks", ranks);

      if (ranks == 1)
        run_with (&rank[0], begins ? xml : NULL, options);
      else
        run_ranks_with (rank, ranks, begins ? xml : NULL, options);
      for (int k = 0; k < ranks; k++)
        {
          if (ends)
            compare_end (&alone, &rank[k], 1e-10, what);
          rank_clear (&rank[k]);
        }
    }
  rank_clear (&alone);
  remove_tree (folder);
}

/* ---- failing steps ------------------------------------------------------------------ */

static gpointer
run_to_nan (gpointer data)
{
  Rank *rank = data;
  g_autoptr (GError) error = NULL;

  rank->trainer = train_test_new (rank->xml, rank->options);
  loom_trainer_run (rank->trainer, &error);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NAN);
  loom_trainer_free (rank->trainer);
  return NULL;
}

/* The loss, which the last stage has, and a gradient, which the first one has, end the step on all of them. */
static void
test_nan (void)
{
  g_autofree char *xml = g_strconcat (
      GRAPH, SKIPPING ("", "", ""), "<node id=\"loss\" op=\"cross_entropy\"/>", LOSS ("l3"),
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"1000000\" epochs=\"50\" batch_size=\"48\" precision=\"f64\" "
      "device=\"ref\"/></graph>",
      NULL);
  LoomComm *comm[3];
  GThread *thread[3];
  Rank rank[3];
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (3, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < 3; k++)
    {
      rank[k] = (Rank){ .xml = xml, .options = { .device = "ref", .strategy = "1f1b", .comm = comm[k] } };
      thread[k] = g_thread_new ("rank", run_to_nan, &rank[k]);
    }
  for (int k = 0; k < 3; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < 3; k++)
    comm[k]->free (comm[k]);
}

/* ---- unsupported nets ------------------------------------------------------------------ */

/* The error of one rank of a pipeline whose trainer cannot be made. */
static char *
error_of (const char *xml, const char *strategy, int ranks)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  LoomComm *comm[MOST];
  LoomMessage message;
  LoomTrainerOptions options = { .device = "ref", .lr = NAN, .seed = -1, .threads = 1, .strategy = strategy };
  LoomTrainer *trainer;

  g_assert_no_error (error);
  g_assert_cmpint (loom_comm_threads_new (ranks, comm, &message), ==, LOOM_STATUS_OK);
  options.comm = comm[0];
  trainer = loom_trainer_new (graph, &options, &error);
  g_assert_null (trainer);
  for (int k = 0; k < ranks; k++)
    comm[k]->free (comm[k]);
  return g_strdup (error->message);
}

static void
check_error (const char *nodes, const char *parallel, const char *strategy, int ranks, const char *part)
{
  g_autofree char *xml = g_strconcat (GRAPH, nodes, "<node id=\"loss\" op=\"cross_entropy\"/>", LOSS ("l3"),
                                      "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"48\">",
                                      parallel, "</train></graph>", NULL);
  g_autofree char *message = error_of (xml, strategy, ranks);

  if (strstr (message, part) == NULL)
    g_error ("“%s” does not say “%s”", message, part);
}

static void
test_refused (void)
{
  check_error (SKIPPING ("stage=\"2\"", "stage=\"1\"", ""), "", "pipeline", 3, "l2");
  check_error (SKIPPING ("stage=\"1\"", "stage=\"3\"", ""), "", "pipeline", 3, "none is in stage 2");
  check_error (SKIPPING ("stage=\"1\"", "", ""), "", "pipeline", 3, "Nodes name the stages 0 to 1");
  check_error (SKIPPING ("stage=\"x\"", "", ""), "", "pipeline", 2, "must be a whole number");
  check_error (SKIPPING ("", "", ""), "<parallel pipeline=\"3\"/>", NULL, 2,
               "a multiple of 3 ranks (3 stages), but the run has 2");
  check_error (SKIPPING ("", "", ""), "<parallel sync_batch_norm=\"true\"/>", "pipeline", 2, "waits for the last one");
  /* A mean over all samples in the middle of the net. */
  check_error (DATA LINEAR ("l0", "5", "") NODE ("m", "mean", "dim=\"0\" keepdim=\"true\"") NODE ("sub", "sub", "")
                   LINEAR ("l3", "2", "stage=\"1\"") WIRE ("data.x", "l0") WIRE ("l0", "m") WIRE ("l0", "sub.input")
                       WIRE ("m", "sub.other") WIRE ("sub", "l3"),
               "", "pipeline", 2, "needs the whole batch of");
}

/* Expects that two stages of this graph are refused with the sentence. */
static void
refuse_stages (const char *xml, const char *sentence)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  const LoomMesh mesh = loom_mesh (
      0, (const int[LOOM_MESH_AXES]){ [LOOM_MESH_DATA] = 1, [LOOM_MESH_PIPELINE] = 2, [LOOM_MESH_TENSOR] = 1 });
  g_autoptr (LoomStep) step = NULL;

  g_assert_nonnull (spec);
  step = loom_step_new (spec, 48, TRUE, &error);
  g_assert_no_error (error);
  spec->parallel.stages = loom_stages_choose (step, 2, devices, "ref", NULL, &error);
  g_assert_no_error (error);
  g_assert_false (loom_step_divide (step, spec, &mesh, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE);
  g_assert_nonnull (strstr (error->message, sentence));
}

#define TWO_STAGES                                                                                                     \
  "<train loss=\"loss\" batch_size=\"48\"><parallel pipeline=\"2\" schedule=\"gpipe\"/></train></graph>"

/* The gradient of a mean over all samples, which a later stage knows only after all forward passes. */
static void
test_comes_late (void)
{
  refuse_stages (GRAPH DATA LINEAR ("l0", "5", "") NODE ("m", "mean", "dim=\"0\"")
                     NODE ("square", "square", "stage=\"1\"") NODE ("sum", "sum", "") LINEAR ("l3", "2", "stage=\"1\"")
                         NODE ("classes", "cross_entropy", "") NODE ("loss", "add", "") WIRE ("data.x", "l0")
                             WIRE ("l0", "m") WIRE ("m", "square") WIRE ("square", "sum") WIRE ("l0", "l3")
                                 WIRE ("l3", "classes.input") WIRE ("data.y", "classes.target")
                                     WIRE ("classes", "loss.input") WIRE ("sum", "loss.other") TWO_STAGES,
                 "“m” needs “square” for each micro-batch");
}

/* A gradient inside the forward pass, of a function of the last stage with respect to what the first reads:
 * the first stage cannot end its forward pass before the last has ended its own. */
static void
test_gradient_inside (void)
{
  refuse_stages (GRAPH DATA LINEAR ("l0", "5", "") LINEAR ("l1", "4", "stage=\"1\"") NODE ("square", "square", "")
                     NODE ("sum", "sum", "") NODE ("slope", "gradient", "") NODE ("loss", "mean", "")
                         WIRE ("data.x", "l0") WIRE ("l0", "l1") WIRE ("l1", "square") WIRE ("square", "sum")
                             WIRE ("sum", "slope.of") WIRE ("data.x", "slope.wrt") WIRE ("slope", "loss") TWO_STAGES,
                 "reads a gradient that other stages compute");
}

/* A gradient that the first stage computes alone, in its backward pass, and that the forward pass of the second reads.
 */
static void
test_gradient_before (void)
{
  refuse_stages (GRAPH DATA LINEAR ("l0", "5", "") NODE ("square", "square", "") NODE ("sum", "sum", "")
                     NODE ("slope", "gradient", "") LINEAR ("l1", "4", "stage=\"1\"") NODE ("loss", "mean", "")
                         WIRE ("data.x", "l0") WIRE ("l0", "square") WIRE ("square", "sum") WIRE ("sum", "slope.of")
                             WIRE ("l0", "slope.wrt") WIRE ("slope", "l1") WIRE ("l1", "loss") TWO_STAGES,
                 "“l1” reads a gradient that other stages compute");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    {
      g_autofree char *name = g_strconcat ("/stages/", cases[c].name, NULL);

      g_test_add_data_func (name, GUINT_TO_POINTER (c), test_case);
    }
  g_test_add_func ("/stages/constant-gradient", test_constant_gradient);
  g_test_add_func ("/stages/resume", test_resume);
  g_test_add_func ("/stages/nan", test_nan);
  g_test_add_func ("/stages/refused", test_refused);
  g_test_add_func ("/stages/comes-late", test_comes_late);
  g_test_add_func ("/stages/gradient-inside", test_gradient_inside);
  g_test_add_func ("/stages/gradient-before", test_gradient_before);
  return g_test_run ();
}
