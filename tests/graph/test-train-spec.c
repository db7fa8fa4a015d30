/* <train>: defaults, what is read, schedules against their formulas, and faults. */
#include "engine/ops/loom-train-spec.h"
#include "tests/graph/graph-test.h"

#include <math.h>
#include <string.h>

#define BODY                                                                                                           \
  "<graph xmlns='urn:gradloom:graph' version='1'><node id='data' op='dataset' source='spirals'/>"                      \
  "<node id='fc' op='linear' out_features='2'/><node id='loss' op='cross_entropy'/>"                                   \
  "<wire from='data.x' to='fc'/><wire from='fc' to='loss.input'/><wire from='data.y' to='loss.target'/>"

static LoomTrainSpec *
read_spec (const char *train, char **sentences)
{
  g_autofree char *text = g_strconcat (BODY, train, "</graph>", NULL);
  g_autoptr (LoomGraph) graph = graph_from_text (text, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  LoomTrainSpec *spec = loom_train_spec_new (graph, net, faults);

  *sentences = faults_as_text (faults);
  g_assert_cmpint (spec == NULL, ==, loom_faults_count (faults) > 0 || train[0] == 0);
  return spec;
}

static double
hyper (const LoomTrainSpec *spec, const char *name)
{
  for (guint i = 0; spec->optimizer->hyper[i].name != NULL; i++)
    if (strcmp (spec->optimizer->hyper[i].name, name) == 0)
      return spec->hyper[i];
  g_error ("no hyper-parameter %s", name);
}

static void
test_reads (void)
{
  g_autofree char *sentences = NULL;
  g_autoptr (LoomTrainSpec) spec
      = read_spec ("<train loss='loss' optimizer='adamw' lr='0.01' betas='0.8,0.99' epochs='7' batch_size='5' seed='9'>"
                   "<schedule type='cosine' warmup_steps='3'/><clip max_norm='2.5'/>"
                   "<metric type='accuracy' input='fc' target='data.y'/></train>",
                   &sentences);

  g_assert_cmpstr (sentences, ==, "");
  g_assert_nonnull (spec);
  g_assert_cmpstr (spec->optimizer->name, ==, "adamw");
  g_assert_cmpfloat (hyper (spec, "lr"), ==, 0.01);
  g_assert_cmpfloat (hyper (spec, "beta1"), ==, 0.8);
  g_assert_cmpfloat (hyper (spec, "beta2"), ==, 0.99);
  g_assert_cmpint (spec->epochs, ==, 7);
  g_assert_cmpint (spec->batch_size, ==, 5);
  g_assert_cmpuint (spec->seed, ==, 9);
  g_assert_cmpfloat (spec->clip_norm, ==, 2.5);
  g_assert_cmpint (spec->schedule.type, ==, LOOM_SCHEDULE_COSINE);
  g_assert_cmpint (spec->schedule.warmup_steps, ==, 3);
  g_assert_cmpuint (spec->metrics->len, ==, 1);
  g_assert_cmpstr (((LoomMetricSpec *)spec->metrics->pdata[0])->name, ==, "accuracy");
  g_assert_cmpuint (spec->dataset_node, ==, 0);
}

static void
test_faults (void)
{
  static const struct
  {
    const char *train, *says;
  } cases[] = {
    { "<train/>", "*“loss” is missing*" },
    { "<train loss='los'/>", "*no node or port “los”*“loss”*" },
    { "<train loss='fc'/>", "*one number*B × 2*" },
    { "<train loss='loss' optimizer='adm'/>", "*“adm”*“adam”*" },
    { "<train loss='loss' lerning_rate='1'/>", "*“lerning_rate”*" },
    { "<train loss='loss' lr='x'/>", "*lr is “x”*" },
    { "<train loss='loss' epochs='0'/>", "*epochs is 0*" },
    { "<train loss='loss' epochs='1.5'/>", "*integer*" },
    { "<train loss='loss' optimizer='adam' betas='0.9'/>", "*two numbers*" },
    { "<train loss='loss' precision='i8'/>", "*“i8”*bf16*" },
    { "<train loss='loss'><schedule type='cosin'/></train>", "*“cosin”*“cosine”*" },
    { "<train loss='loss'><schedule type='step'/></train>", "*step_size*" },
    { "<train loss='loss'><metric type='accuracy' input='fc' target='data.z'/></train>", "*“data” has no output “z”*" },
    { "<train loss='loss'><group match='fc'/></train>", "*not in this version*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *sentences = NULL;
      g_autoptr (LoomTrainSpec) spec = read_spec (cases[i].train, &sentences);

      g_assert_null (spec);
      if (!g_pattern_match_simple (cases[i].says, sentences))
        g_error ("%s says “%s”, not “%s”", cases[i].train, sentences, cases[i].says);
    }
}

static void
test_none (void)
{
  g_autofree char *sentences = NULL;

  g_assert_null (read_spec ("", &sentences));
  g_assert_cmpstr (sentences, ==, "");
}

static void
test_schedules (void)
{
  LoomSchedule s = { .type = LOOM_SCHEDULE_CONSTANT, .warmup_steps = 4 };

  g_assert_cmpfloat (loom_schedule_factor (&s, 2, 0, 100), ==, 0.5);
  g_assert_cmpfloat (loom_schedule_factor (&s, 2, 3, 100), ==, 2);
  g_assert_cmpfloat (loom_schedule_factor (&s, 2, 50, 100), ==, 2);

  s = (LoomSchedule){ .type = LOOM_SCHEDULE_STEP, .step_size = 10, .gamma = 0.5 };
  g_assert_cmpfloat (loom_schedule_factor (&s, 1, 9, 100), ==, 1);
  g_assert_cmpfloat (loom_schedule_factor (&s, 1, 20, 100), ==, 0.25);

  s = (LoomSchedule){ .type = LOOM_SCHEDULE_COSINE, .min_lr = 0.1, .warmup_steps = 10 };
  g_assert_cmpfloat_with_epsilon (loom_schedule_factor (&s, 1, 10, 110), 1, 1e-15);
  g_assert_cmpfloat_with_epsilon (loom_schedule_factor (&s, 1, 60, 110), 0.55, 1e-15);
  g_assert_cmpfloat_with_epsilon (loom_schedule_factor (&s, 1, 110, 110), 0.1, 1e-15);

  s = (LoomSchedule){ .type = LOOM_SCHEDULE_LINEAR, .end_factor = 0.5 };
  g_assert_cmpfloat_with_epsilon (loom_schedule_factor (&s, 1, 50, 100), 0.75, 1e-15);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/train-spec/reads", test_reads);
  g_test_add_func ("/train-spec/faults", test_faults);
  g_test_add_func ("/train-spec/none", test_none);
  g_test_add_func ("/train-spec/schedules", test_schedules);
  return g_test_run ();
}
