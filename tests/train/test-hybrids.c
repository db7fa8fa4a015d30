/* Meshes of ranks, as threads of this process: replicas of a pipeline, stages with sharded weights, and both, with each
 * strategy among replicas. 20 steps in f64 end with the weights, optimiser states, averages, losses and metrics of one
 * rank, within 1e-10: with dropout, class weights, clipping by the norm, accumulated gradients, a table that the last
 * stage shares, and an epoch with a last batch that replicas cannot divide evenly. A checkpoint of one mesh resumes as
 * another. */
#include "engine/train/loom-stages.h"
#include "engine/train/loom-trace.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/rank-run.h"

#include <glib/gstdio.h>
#include <stdio.h>

#define MOST 8

#define NODE(ID, OP, MORE)       "<node id=\"" ID "\" op=\"" OP "\" " MORE "/>"
#define WIRE(FROM, TO)           "<wire from=\"" FROM "\" to=\"" TO "\"/>"
#define LINEAR(ID, WIDTH, SPLIT) NODE (ID, "linear", "out_features=\"" WIDTH "\" split=\"" SPLIT "\"")

/* Pairs of layers, the first split by columns and the second by rows; a stage's result skips the next stage. */
#define MLP                                                                                                            \
  NODE ("data", "dataset", "source=\"spirals\" n=\"262\"")                                                             \
  LINEAR ("up1", "6", "column")                                                                                        \
  NODE ("a1", "gelu", "")                                                                                              \
  NODE ("d1", "dropout", "p=\"0.3\"")                                                                                  \
  LINEAR ("down1", "4", "row")                                                                                         \
  NODE ("n1", "layer_norm", "")                                                                                        \
  LINEAR ("up2", "6", "column")                                                                                        \
  NODE ("a2", "tanh", "")                                                                                              \
  LINEAR ("down2", "4", "row")                                                                                         \
  NODE ("d2", "dropout", "p=\"0.2\"")                                                                                  \
  NODE ("sum", "add", "")                                                                                              \
  NODE ("scores", "linear", "out_features=\"2\"")                                                                      \
  WIRE ("data.x", "up1")                                                                                               \
  WIRE ("up1", "a1")                                                                                                   \
  WIRE ("a1", "d1")                                                                                                    \
  WIRE ("d1", "down1")                                                                                                 \
  WIRE ("down1", "n1")                                                                                                 \
  WIRE ("n1", "up2")                                                                                                   \
  WIRE ("up2", "a2")                                                                                                   \
  WIRE ("a2", "down2") WIRE ("down2", "d2") WIRE ("d2", "sum.input") WIRE ("n1", "sum.other") WIRE ("sum", "scores")

#define CONV                                                                                                           \
  NODE ("data", "dataset", "source=\"spirals\" n=\"262\"")                                                             \
  NODE ("l0", "linear", "out_features=\"72\"")                                                                         \
  NODE ("image", "unflatten", "dim=\"1\" sizes=\"2,6,6\"")                                                             \
  NODE ("c1", "conv2d", "out_channels=\"3\" kernel_size=\"3\" padding=\"1\"")                                          \
  NODE ("b1", "batch_norm2d", "")                                                                                      \
  NODE ("r1", "relu", "")                                                                                              \
  NODE ("p1", "max_pool2d", "kernel_size=\"2\"")                                                                       \
  NODE ("c2", "conv2d", "out_channels=\"4\" kernel_size=\"2\"")                                                        \
  NODE ("b2", "batch_norm2d", "")                                                                                      \
  NODE ("r2", "relu", "")                                                                                              \
  NODE ("flat", "flatten", "")                                                                                         \
  NODE ("d1", "dropout", "p=\"0.2\"")                                                                                  \
  NODE ("scores", "linear", "out_features=\"2\"")                                                                      \
  WIRE ("data.x", "l0")                                                                                                \
  WIRE ("l0", "image")                                                                                                 \
  WIRE ("image", "c1")                                                                                                 \
  WIRE ("c1", "b1")                                                                                                    \
  WIRE ("b1", "r1")                                                                                                    \
  WIRE ("r1", "p1")                                                                                                    \
  WIRE ("p1", "c2") WIRE ("c2", "b2") WIRE ("b2", "r2") WIRE ("r2", "flat") WIRE ("flat", "d1") WIRE ("d1", "scores")

/* (transfer full) */
static char *
text_of (const char *nodes, const char *loss, const char *train, const char *parallel)
{
  return g_strconcat ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">", nodes,
                      "<node id=\"loss\" op=\"cross_entropy\" ", loss, "/>", WIRE ("scores", "loss.input"),
                      WIRE ("data.y", "loss.target"), "<train loss=\"loss\" ", train,
                      " epochs=\"50\" batch_size=\"48\" seed=\"3\" precision=\"f64\" device=\"ref\"><clip "
                      "norm=\"0.05\"/><metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/>",
                      parallel, "</train></graph>", NULL);
}

typedef struct
{
  int data, stages, tensor, micros;
  const char *schedule, *strategy;
} Mesh;

/* (transfer full) */
static char *
parallel_of (const Mesh *m)
{
  return g_strdup_printf ("<parallel strategy=\"%s\" data=\"%d\" pipeline=\"%d\" tensor=\"%d\" microbatches=\"%d\" "
                          "schedule=\"%s\" bucket_mb=\"0.0003\"/>",
                          m->strategy, m->data, m->stages, m->tensor, m->micros, m->schedule);
}

static void
run_mesh (Rank *rank, const char *nodes, const char *loss, const char *train, const Mesh *m)
{
  g_autofree char *parallel = parallel_of (m), *xml = text_of (nodes, loss, train, parallel);

  run_together (rank, m->data * m->stages * m->tensor, m->data, xml, NULL);
}

static void
check_mesh (const Rank *truth, const char *nodes, const char *loss, const char *train, const Mesh *m)
{
  g_autofree char *what = g_strdup_printf ("%d replicas, %d stages, %d parts, %d micro-batches, %s, %s, %s", m->data,
                                           m->stages, m->tensor, m->micros, m->schedule, m->strategy, train);
  Rank rank[MOST] = { 0 };
  int ranks = m->data * m->stages * m->tensor;

  g_test_message ("%s", what);
  run_mesh (rank, nodes, loss, train, m);
  for (int k = 0; k < ranks; k++)
    compare (truth, &rank[k], 1e-10, what);
  for (int k = 0; k < ranks; k++)
    rank_clear (&rank[k]);
}

static void
test_mlp (void)
{
  static const char *const loss = "weight=\"1,3\" label_smoothing=\"0.1\"";
  static const struct
  {
    const char *train;
    Mesh mesh[5];
    guint n;
  } cases[] = {
    { "optimizer=\"adam\" lr=\"0.01\" ema=\"0.9\"",
      { { 2, 3, 1, 4, "gpipe", "data" },
        { 3, 2, 1, 3, "1f1b", "zero1" },
        { 2, 2, 1, 2, "1f1b", "zero3" },
        { 1, 2, 2, 3, "1f1b", "data" } },
      4 },
    { "optimizer=\"nadam\" lr=\"0.01\" accumulate=\"3\"",
      { { 2, 2, 1, 2, "1f1b", "data" }, { 2, 2, 1, 3, "gpipe", "zero2" }, { 2, 2, 2, 2, "1f1b", "zero1" } },
      3 },
  };

  for (guint t = 0; t < G_N_ELEMENTS (cases); t++)
    {
      g_autofree char *xml = text_of (MLP, loss, cases[t].train, "");
      Rank alone;

      run_alone (&alone, xml);
      for (guint i = 0; i < cases[t].n; i++)
        check_mesh (&alone, MLP, loss, cases[t].train, &cases[t].mesh[i]);
      rank_clear (&alone);
    }
}

/* The last batch of an epoch is a single sample, or two replicas have two samples and one, too few for their
 * micro-batches. */
static void
test_short (void)
{
  static const char *const train = "optimizer=\"adam\" lr=\"0.01\"", *const samples[] = { "241", "242", "243" };
  static const Mesh mesh[] = { { 1, 3, 1, 4, "1f1b", "data" },
                               { 2, 2, 1, 4, "gpipe", "zero1" },
                               { 3, 2, 1, 3, "1f1b", "zero3" },
                               { 2, 2, 2, 3, "1f1b", "data" } };

  for (guint n = 0; n < G_N_ELEMENTS (samples); n++)
    {
      g_auto (GStrv) part = g_strsplit (MLP, "262", 2);
      g_autofree char *nodes = g_strjoinv (samples[n], part), *xml = text_of (nodes, "", train, "");
      Rank alone;

      run_alone (&alone, xml);
      for (guint i = 0; i < G_N_ELEMENTS (mesh); i++)
        check_mesh (&alone, nodes, "", train, &mesh[i]);
      rank_clear (&alone);
    }
}

/* A batch norm sees the samples that are computed at once: a micro-batch of a replica has as many samples as one of
 * four replicas. */
static void
test_conv (void)
{
  static const char *const train = "optimizer=\"sgd\" momentum=\"0.9\" lr=\"0.05\"";
  static const Mesh like = { 4, 1, 1, 1, "1f1b", "data" },
                    mesh[] = { { 2, 2, 1, 2, "1f1b", "data" }, { 2, 3, 1, 2, "gpipe", "zero1" } };
  Rank truth[MOST] = { 0 };

  run_mesh (truth, CONV, "", train, &like);
  for (guint i = 0; i < G_N_ELEMENTS (mesh); i++)
    check_mesh (&truth[0], CONV, "", train, &mesh[i]);
  for (int k = 0; k < like.data; k++)
    rank_clear (&truth[k]);
}

/* A letter at a time; the table is that of the scores, too, and the last stage has those. */
#define GPT                                                                                                            \
  NODE ("letters", "embedding", "num_embeddings=\"36\" embedding_dim=\"8\" split=\"vocabulary\"")                      \
  NODE ("n1", "layer_norm", "")                                                                                        \
  NODE ("attn", "multihead_attention",                                                                                 \
        "num_heads=\"2\" is_causal=\"true\" dropout=\"0.1\" batch_first=\"true\" split=\"heads\"")                     \
  NODE ("s1", "add", "")                                                                                               \
  NODE ("fc1", "linear", "out_features=\"12\" split=\"column\"")                                                       \
  NODE ("act", "gelu", "")                                                                                             \
  NODE ("fc2", "linear", "out_features=\"8\" split=\"row\"")                                                           \
  NODE ("s2", "add", "")                                                                                               \
  NODE ("head", "linear", "out_features=\"36\" bias=\"false\"")                                                        \
  NODE ("scores", "transpose", "dim0=\"1\" dim1=\"2\"")                                                                \
  WIRE ("data.x", "letters")                                                                                           \
  WIRE ("letters", "n1")                                                                                               \
  WIRE ("n1", "attn.query")                                                                                            \
  WIRE ("letters", "s1.input")                                                                                         \
  WIRE ("attn", "s1.other")                                                                                            \
  WIRE ("s1", "fc1")                                                                                                   \
  WIRE ("fc1", "act")                                                                                                  \
  WIRE ("act", "fc2")                                                                                                  \
  WIRE ("s1", "s2.input")                                                                                              \
  WIRE ("fc2", "s2.other") WIRE ("s2", "head.input") WIRE ("letters.weight", "head.weight") WIRE ("head", "scores")

static void
test_gpt (void)
{
  static const char *const train = "optimizer=\"adamw\" lr=\"0.01\" weight_decay=\"0.1\"";
  static const Mesh mesh[] = { { 2, 2, 1, 3, "1f1b", "zero1" }, { 1, 2, 2, 2, "gpipe", "data" } };
  g_autofree char *folder = g_dir_make_tmp ("gradloom-hybrids-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "text", NULL), *nodes = NULL, *xml = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  Rank alone;

  for (guint i = 0; i < 40; i++)
    g_string_append_printf (text, "%u times the quick brown fox, and %u lazy dogs. ", i * i, 7 * i);
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  nodes = g_strconcat ("<node id=\"data\" op=\"dataset\" source=\"text\" path=\"", path,
                       "\" context=\"5\" val_fraction=\"0.27\"/>", GPT, NULL);
  xml = text_of (nodes, "", train, "");
  run_alone (&alone, xml);
  for (guint i = 0; i < G_N_ELEMENTS (mesh); i++)
    check_mesh (&alone, nodes, "", train, &mesh[i]);
  rank_clear (&alone);
  remove_tree (folder);
}

/* A checkpoint that ranks of one mesh wrote is read by those of another. */
static void
test_resume (void)
{
  static const char *const train = "optimizer=\"adam\" lr=\"0.01\" ema=\"0.9\"";
  g_autofree char *folder = g_dir_make_tmp ("gradloom-hybrids-XXXXXX", NULL);
  g_autofree char *run = g_build_filename (folder, "run", NULL), *alone_xml = text_of (MLP, "", train, "");
  static const struct
  {
    int ranks;
    const char *strategy; /* NULL: the graph's own */
  } next[] = { { 4, NULL }, { 1, "data" }, { 2, "zero3" }, { 3, "pipeline" } };
  const Mesh first = { 2, 2, 1, 3, "1f1b", "zero1" };
  g_autofree char *parallel = parallel_of (&first), *xml = text_of (MLP, "", train, parallel);
  Rank alone;

  run_alone (&alone, alone_xml);
  for (guint i = 0; i < G_N_ELEMENTS (next); i++)
    {
      Rank rank[MOST];
      gboolean ends = i + 1 == G_N_ELEMENTS (next);
      LoomTrainerOptions options = { .device = i == 0 ? "ref" : NULL,
                                     .batch_size = i == 0 ? RANK_RUN_BATCH / first.data : 0,
                                     .steps = RANK_RUN_STEPS * (i + 1) / G_N_ELEMENTS (next),
                                     .strategy = next[i].strategy,
                                     .out = i == 0 ? run : NULL,
                                     .resume = i == 0 ? NULL : run };

      if (next[i].ranks == 1)
        run_with (&rank[0], NULL, options);
      else
        run_ranks_with (rank, next[i].ranks, i == 0 ? xml : NULL, options);
      for (int k = 0; k < next[i].ranks; k++)
        {
          if (ends)
            compare_end (&alone, &rank[k], 1e-10, "resumed");
          rank_clear (&rank[k]);
        }
    }
  rank_clear (&alone);
  remove_tree (folder);
}

/* The bytes of transfers between ranks in a trace, from rank to rank, selected by `word`: "send to", "receive from". */
static void
add_bytes (const GArray *spans, const char *word, double (*bytes)[MOST])
{
  for (guint i = 0; i < spans->len; i++)
    {
      const LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);
      const char *rest = g_str_has_prefix (span->label, word) ? span->label + strlen (word) : NULL;
      int other;

      if (rest == NULL || span->kind != LOOM_TRACE_EXCHANGE)
        continue;
      g_assert_cmpint (sscanf (rest, " rank %d", &other), ==, 1);
      g_assert_cmpint (other, <, MOST);
      g_assert_cmpfloat (span->bytes, >, 0);
      bytes[span->rank][other] += span->bytes;
    }
}

/* Readers of a trace know ranks by their numbers in the run: the distance to the next stage's ranks is the number of
 * shards of a stage, and they receive what is sent. */
static void
test_trace (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-hybrids-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "lanes.json", NULL), *title = NULL;
  const Mesh m = { 2, 2, 2, 3, "1f1b", "data" };
  g_autofree char *parallel = parallel_of (&m), *xml = text_of (MLP, "", "optimizer=\"adam\"", parallel);
  double sent[MOST][MOST] = { 0 }, received[MOST][MOST] = { 0 };
  g_autoptr (GArray) spans = NULL;
  Rank rank[MOST];

  run_ranks_with (rank, MOST, xml,
                  (LoomTrainerOptions){
                      .device = "ref", .batch_size = RANK_RUN_BATCH / m.data, .steps = RANK_RUN_STEPS, .trace = path });
  spans = loom_trace_read (path, &title, NULL);
  g_assert_nonnull (spans);
  add_bytes (spans, "send to", sent);
  add_bytes (spans, "receive from", received);
  for (int from = 0; from < MOST; from++)
    for (int to = 0; to < MOST; to++)
      {
        gboolean neighbours = from / 4 == to / 4 && ABS (from - to) == m.tensor;

        g_assert_cmpfloat (sent[from][to], ==, received[to][from]);
        g_assert_cmpint (sent[from][to] > 0, ==, neighbours);
      }
  for (int k = 0; k < MOST; k++)
    rank_clear (&rank[k]);
  remove_tree (folder);
}

/* How often a rank of two replicas of two stages exchanges something with its replica in a step. */
static guint
count_exchanges (const char *xml, int rank)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomStep) step = loom_step_new (spec, 96, TRUE, &error);
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  const LoomMesh mesh = loom_mesh (rank, (int[LOOM_MESH_AXES]){ 2, 2, 1 });
  guint n = 0;

  spec->parallel.stages = loom_stages_choose (step, 2, devices, "ref", NULL, &error);
  loom_step_divide (step, spec, &mesh, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < loom_program_n_instrs (step->program); i++)
    {
      const LoomInstr *instr = loom_program_instr (step->program, i);

      n += (instr->prim->flags & LOOM_PRIM_COLLECTIVE) != 0
           && loom_collective_along (instr->prim, instr->attrs) == LOOM_MESH_DATA;
    }
  return n;
}

/* Replicas of a stage communicate after the last micro-batch, for any number of micro-batches. */
static void
test_once (void)
{
  for (int rank = 0; rank < 2; rank++)
    {
      guint n[2];

      for (int i = 0; i < 2; i++)
        {
          g_autofree char *parallel = g_strdup_printf (
              "<parallel data=\"2\" pipeline=\"2\" microbatches=\"%d\" bucket_mb=\"0\"/>", i == 0 ? 2 : 6);
          g_autofree char *xml = text_of (MLP, "", "optimizer=\"adam\" lr=\"0.01\"", parallel);

          n[i] = count_exchanges (xml, rank);
        }
      g_assert_cmpuint (n[0], >, 0);
      g_assert_cmpuint (n[0], ==, n[1]);
    }
}

/* Two replicas of two stages, each on a GPU: stages communicate through the host, replicas by NCCL. GPUs have no f64.
 */
static void
test_card (void)
{
  static const Mesh m = { 2, 2, 1, 3, "1f1b", "zero1" };
  g_autofree char *parallel = parallel_of (&m);
  g_autofree char *text = text_of (MLP, "", "optimizer=\"adam\" lr=\"0.01\"", parallel);
  g_auto (GStrv) part = g_strsplit (text, " precision=\"f64\" device=\"ref\"", -1);
  g_autofree char *xml = g_strjoinv ("", part);
  Rank alone, rank[MOST] = { 0 };

  run_alone (&alone, xml);
  run_together (rank, 4, 2, xml, NULL);
  for (int k = 0; k < 4; k++)
    {
      compare (&alone, &rank[k], 2e-5, "on GPUs");
      rank_clear (&rank[k]);
    }
  rank_clear (&alone);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  if (on_card ())
    {
      g_test_add_func ("/hybrids/card", test_card);
      return g_test_run ();
    }
  g_test_add_func ("/hybrids/mlp", test_mlp);
  g_test_add_func ("/hybrids/short", test_short);
  g_test_add_func ("/hybrids/conv", test_conv);
  g_test_add_func ("/hybrids/gpt", test_gpt);
  g_test_add_func ("/hybrids/resume", test_resume);
  g_test_add_func ("/hybrids/once", test_once);
  g_test_add_func ("/hybrids/trace", test_trace);
  return g_test_run ();
}
