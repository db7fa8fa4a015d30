/* Weights divided among ranks: 20 steps in f64 end with the weights, optimiser states, averages and losses of one rank,
 * within 1e-10, on two ranks and on a mesh of two by two, with each strategy for the rest; and no more is exchanged,
 * and no more kept, than has to be. */
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/rank-run.h"

#include "engine/net/loom-net.h"
#include "engine/train/loom-step.h"

#include <glib/gstdio.h>

/* Two layers, the first by columns and the second by rows, with dropout between them. */
#define MLP(TRAIN, INSIDE)                                                                                             \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"300\"/>"                                                    \
  "<node id=\"up\" op=\"linear\" out_features=\"6\" split=\"column\"/><node id=\"act\" op=\"gelu\"/>"                  \
  "<node id=\"drop\" op=\"dropout\" p=\"0.2\"/>"                                                                       \
  "<node id=\"down\" op=\"linear\" out_features=\"4\" weight_layout=\"in_out\" split=\"row\"/>"                        \
  "<node id=\"norm\" op=\"layer_norm\"/><node id=\"scores\" op=\"linear\" out_features=\"2\"/>"                        \
  "<node id=\"loss\" op=\"cross_entropy\"/>"                                                                           \
  "<wire from=\"data.x\" to=\"up\"/><wire from=\"up\" to=\"act\"/><wire from=\"act\" to=\"drop\"/>"                    \
  "<wire from=\"drop\" to=\"down\"/><wire from=\"down\" to=\"norm\"/><wire from=\"norm\" to=\"scores\"/>"              \
  "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"                                \
  "<train loss=\"loss\" " TRAIN " epochs=\"50\" seed=\"3\">" INSIDE "<parallel tensor=\"2\"/></train></graph>"

/* A model of letters: an embedding split by rows, attention by heads, and the layers after it by a pattern; the
 * embedding is also the output layer. */
#define GPT                                                                                                            \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"text\" path=\"%s\" context=\"5\" val_fraction=\"0.27\"/>"                 \
  "<node id=\"letters\" op=\"embedding\" num_embeddings=\"36\" embedding_dim=\"8\" split=\"vocabulary\"/>"             \
  "<node id=\"norm1\" op=\"layer_norm\"/>"                                                                             \
  "<node id=\"attn\" op=\"multihead_attention\" num_heads=\"2\" is_causal=\"true\" dropout=\"%s\""                     \
  " batch_first=\"true\" split=\"heads\"/>"                                                                            \
  "<node id=\"sum1\" op=\"add\"/><node id=\"norm2\" op=\"layer_norm\"/>"                                               \
  "<node id=\"fc1\" op=\"linear\" out_features=\"12\"/><node id=\"act\" op=\"gelu\"/>"                                 \
  "<node id=\"fc2\" op=\"linear\" out_features=\"8\"/><node id=\"sum2\" op=\"add\"/>"                                  \
  "<node id=\"head\" op=\"linear\" out_features=\"36\" bias=\"false\"/>"                                               \
  "<node id=\"turn\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"                 \
  "<wire from=\"data.x\" to=\"letters\"/><wire from=\"letters\" to=\"norm1\"/><wire from=\"norm1\" "                   \
  "to=\"attn.query\"/>"                                                                                                \
  "<wire from=\"letters\" to=\"sum1.input\"/><wire from=\"attn\" to=\"sum1.other\"/>"                                  \
  "<wire from=\"sum1\" to=\"norm2\"/><wire from=\"norm2\" to=\"fc1\"/><wire from=\"fc1\" to=\"act\"/>"                 \
  "<wire from=\"act\" to=\"fc2\"/><wire from=\"sum1\" to=\"sum2.input\"/><wire from=\"fc2\" to=\"sum2.other\"/>"       \
  "<wire from=\"sum2\" to=\"head.input\"/><wire from=\"letters.weight\" to=\"head.weight\"/>"                          \
  "<wire from=\"head\" to=\"turn\"/><wire from=\"turn\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>" \
  "<train loss=\"loss\" optimizer=\"adamw\" lr=\"0.01\" weight_decay=\"0.1\" precision=\"f64\" device=\"ref\" "        \
  "epochs=\"50\""                                                                                                      \
  " seed=\"3\"><clip norm=\"0.5\"/><parallel tensor=\"2\" split=\"*1=column, fc2=row\"/></train></graph>"

typedef struct
{
  const char *name, *xml;
} Case;

static const Case cases[] = {
  { "adam",
    MLP ("optimizer=\"adam\" lr=\"0.01\" ema=\"0.9\" precision=\"f64\"", "<clip norm=\"0.05\" value=\"0.03\"/>") },
  { "accumulate",
    MLP ("optimizer=\"nadam\" lr=\"0.01\" accumulate=\"3\" ema=\"0.9\" precision=\"f64\"", "<clip norm=\"0.05\"/>") },
  /* The length of a step is that of the whole tensor. */
  { "lamb", MLP ("optimizer=\"lamb\" lr=\"0.01\" weight_decay=\"0.1\" precision=\"f64\"", "") },
  { "muon", MLP ("optimizer=\"muon\" lr=\"0.01\" precision=\"f64\"", "") },
  { "adafactor", MLP ("optimizer=\"adafactor\" lr=\"0.1\" precision=\"f64\"", "<clip norm=\"0.05\"/>") },
  { "asgd", MLP ("optimizer=\"asgd\" lr=\"0.1\" t0=\"5\" precision=\"f64\"", "") },
  { "lars", MLP ("optimizer=\"lars\" lr=\"0.1\" weight_decay=\"0.1\" momentum=\"0.9\" precision=\"f64\"", "") },
};

static void
run_and_compare (const char *name, const char *xml, const char *const *strategy, guint n)
{
  Rank alone = { 0 };

  run_alone (&alone, xml);
  for (int parts = 1; parts <= 2; parts++)
    for (guint s = 0; s < (parts > 1 ? n : 1); s++)
      {
        g_autofree char *what = g_strdup_printf ("%s, %d by 2 ranks, %s", name, parts, strategy[s]);
        Rank rank[4] = { 0 };

        run_together (rank, parts * 2, parts, xml, strategy[s]);
        for (int k = 0; k < parts * 2; k++)
          compare (&alone, &rank[k], 1e-10, what);
        for (int k = 0; k < parts * 2; k++)
          rank_clear (&rank[k]);
      }
  rank_clear (&alone);
}

static void
test_case (gconstpointer data)
{
  static const char *const strategy[] = { "data", "zero1", "zero3" };
  const Case *c = data;

  run_and_compare (c->name, c->xml, strategy, G_N_ELEMENTS (strategy));
}

static char *
gpt (const char *folder, const char *dropout)
{
  g_autofree char *path = g_build_filename (folder, "text", NULL);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < 40; i++)
    g_string_append_printf (text, "%u times the quick brown fox, and %u lazy dogs. ", i * i, 7 * i);
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  return g_strdup_printf (GPT, path, dropout);
}

static void
test_gpt (void)
{
  static const char *const strategy[] = { "data", "zero2" }, *const dropout[] = { "0", "0.1" };
  g_autofree char *folder = g_dir_make_tmp ("gradloom-split-XXXXXX", NULL);

  for (guint d = 0; d < G_N_ELEMENTS (dropout); d++)
    {
      g_autofree char *xml = gpt (folder, dropout[d]);

      run_and_compare ("gpt", xml, strategy, G_N_ELEMENTS (strategy));
    }
  remove_tree (folder);
}

/* ---- cost --------------------------------------------------------------------- */

typedef struct
{
  LoomGraph *graph;
  LoomNet *net;
  LoomTrainSpec *spec;
} Recipe;

static Recipe
read_recipe (const char *xml)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  Recipe r = { .graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error) };

  g_assert_no_error (error);
  r.net = loom_net_new (r.graph, NULL, faults);
  r.spec = loom_train_spec_new (r.graph, r.net, faults);
  loom_faults_to_error (faults, NULL, &error);
  g_assert_no_error (error);
  return r;
}

static void
recipe_clear (Recipe *r)
{
  loom_train_spec_free (r->spec);
  loom_net_free (r->net);
  loom_graph_unref (r->graph);
}

static guint
count_prims (const LoomProgram *p, const char *name, LoomRegion region)
{
  guint n = 0;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    n += loom_program_instr (p, i)->region == region && g_str_equal (loom_program_instr (p, i)->prim->name, name);
  return n;
}

static gint64
count_of (const LoomProgram *p, const char *slot)
{
  const LoomSlot *s = loom_program_get_slot (p, (guint)loom_program_find_slot (p, slot));
  gint64 n = 1;

  for (int i = 0; i < s->rank; i++)
    n *= s->dim[i];
  return n;
}

/* One all-reduce after each pair of layers in either direction, and one after the table; two exchanges of the loss's
 * numbers per sample, and never the logits. A rank has half of everything that is split, and of the optimiser's states.
 */
static void
test_costs (void)
{
  static const struct
  {
    const char *slot;
    gint64 count;
  } slots[] = { { "letters.weight", 18 * 8 },
                { "attn.in_proj_weight", 12 * 8 },
                { "attn.in_proj_bias", 12 },
                { "attn.out_proj.weight", 8 * 4 },
                { "attn.out_proj.bias", 8 },
                { "fc1.weight", 6 * 8 },
                { "fc1.bias", 6 },
                { "fc2.weight", 8 * 6 },
                { "optimizer.exp_avg.fc2.weight", 48 },
                { "optimizer.exp_avg.norm1.weight", 8 } };
  g_autofree char *folder = g_dir_make_tmp ("gradloom-split-XXXXXX", NULL), *xml = gpt (folder, "0");
  Recipe r = read_recipe (xml);
  const LoomMesh mesh = loom_mesh (1, (int[LOOM_MESH_AXES]){ 1, 1, 2 });
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomStep) step = loom_step_new (r.spec, 6, TRUE, &error);

  g_assert_no_error (error);
  loom_step_divide (step, r.spec, &mesh, &error);
  g_assert_no_error (error);
  if (g_test_verbose ())
    {
      g_autofree char *text = loom_program_print (step->program);

      g_test_message ("%s", text);
    }
  for (guint i = 0; i < G_N_ELEMENTS (slots); i++)
    g_assert_cmpint (count_of (step->program, slots[i].slot), ==, slots[i].count);
  g_assert_cmpuint (count_prims (step->program, "all_reduce", LOOM_REGION_FORWARD), ==, 5);
  g_assert_cmpuint (count_prims (step->program, "all_reduce", LOOM_REGION_BACKWARD), ==, 3);
  g_assert_cmpuint (count_prims (step->program, "all_reduce", LOOM_REGION_UPDATE), ==, 1);
  g_assert_cmpuint (count_prims (step->program, "all_gather", LOOM_REGION_FORWARD), ==, 0);
  g_assert_cmpuint (count_prims (step->program, "all_gather", LOOM_REGION_BACKWARD), ==, 0);
  g_assert_cmpuint (count_prims (step->program, "all_gather", LOOM_REGION_UPDATE), ==, 0);
  recipe_clear (&r);
  remove_tree (folder);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/split/costs", test_costs);
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    {
      g_autofree char *name = g_strconcat ("/split/", cases[c].name, NULL);

      g_test_add_data_func (name, &cases[c], test_case);
    }
  g_test_add_func ("/split/gpt", test_gpt);
  return g_test_run ();
}
