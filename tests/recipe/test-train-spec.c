/* <train>: defaults, reading, schedules compared with their formulas, and faults. */
#include "engine/recipe/loom-attributes.h"
#include "engine/recipe/loom-train-spec.h"
#include "tests/graph/graph-test.h"
#include "tests/test-program.h"

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
  g_autoptr (LoomTrainSpec) spec = read_spec (
      "<train loss='loss' optimizer='adamw' lr='0.01' betas='0.8,0.99' epochs='7' batch_size='5' seed='9' tf32='true'>"
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
  g_assert_true (spec->tf32);
  g_assert_cmpfloat (spec->clip_norm, ==, 2.5);
  g_assert_cmpstr (spec->schedule.klass->name, ==, "cosine");
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
    { "<train loss='fc'/>", "*scalar*B × 2*" },
    { "<train loss='loss' optimizer='adm'/>", "*“adm”*“adam”*" },
    { "<train loss='loss' lerning_rate='1'/>", "*“lerning_rate”*" },
    { "<train loss='loss' lr='x'/>", "*lr is “x”*" },
    { "<train loss='loss' epochs='-1'/>", "*epochs is -1*" },
    { "<train loss='loss' epochs='1.5'/>", "*integer*" },
    { "<train loss='loss' optimizer='adam' betas='0.9'/>", "*two numbers*" },
    { "<train loss='loss' precision='i8'/>", "*“i8”*bf16*" },
    { "<train loss='loss'><schedule type='cosin'/></train>", "*“cosin”*“cosine”*" },
    { "<train loss='loss'><schedule type='step'/></train>", "*step_size*" },
    { "<train loss='loss'><metric type='accuracy' input='fc' target='data.z'/></train>", "*“data” has no output “z”*" },
    { "<train loss='loss'><group match='fd.weight'/></train>", "*matches “fd.weight”*“fc.weight”*" },
    { "<train loss='loss'><group match='fc' lr='-1'/></train>", "*lr is -1*" },
    { "<train loss='loss'><group match='fc' frozen='yes'/></train>", "*true or false*" },
    { "<train loss='loss' optimizer='lbfgs'><group match='fc' lr='1'/></train>", "*“lbfgs” has no lr for groups*" },
    { "<train loss='loss' optimizer='lbfgs'><clip norm='1'/></train>", "*remove <clip>*" },
    { "<train loss='loss' optimizer='lbfgs' line_search_fn='strong'/>", "*none, strong_wolfe*" },
    { "<train loss='loss' betas='0.9,0.99'/>", "*“sgd” has no betas*" },
    { "<train loss='loss'><clip/></train>", "*<clip> needs “norm”*“value”*" },
    { "<train loss='loss'><schedule type='multistep' milestones='5,3'/></train>", "*ascending*" },
    { "<train loss='loss'><schedule type='exponential'/></train>", "*needs gamma*" },
    { "<train loss='loss'><schedule type='plateau' mode='least'/></train>", "*min, max*" },
    { "<train loss='loss' lr='0'><schedule type='one_cycle' max_lr='1'/></train>", "*learning rate above 0*" },
    { "<train loss='loss'><schedule type='linear' gamma='1'/></train>", "*“gamma”*" },
    { "<train loss='loss'><schedule type='sequential' milestones='3'><schedule/></schedule></train>",
      "*1 schedules need 0*" },
    { "<train loss='loss'><schedule type='sequential' milestones='3'/></train>", "*needs a <schedule> inside*" },
    { "<train loss='loss'><schedule type='linear'><schedule/></schedule></train>", "*set type to sequential*" },
    { "<train loss='loss'><schedule type='chained'><schedule type='one_cycle'/></schedule></train>",
      "*type=\"sequential\"*" },
    { "<train loss='loss'><schedule type='chained'><schedule type='cosine' eta_min='0.1'/></schedule></train>",
      "*“cosine” with eta_min*" },
    { "<train loss='loss'><schedule type='sequential' milestones='2'><schedule/><schedule "
      "type='plateau'/></schedule></train>",
      "*“plateau” cannot be part*" },
    { "<train loss='loss'><schedule type='chained'><schedule warmup_steps='2'/></schedule></train>",
      "*outer <schedule>*" },
    { "<train loss='loss'><schedule type='lambda'/></train>", "*needs a formula*" },
    { "<train loss='loss'><schedule type='lambda' formula='1 / (1 + stp)'/></train>", "*“stp”*“step”*" },
    { "<train loss='loss'><schedule type='lambda' formula='step^2'/></train>", "*“**”*" },
    { "<train loss='loss'><schedule type='lambda' formula='1 / step'/></train>", "*not a finite number*" },
    { "<train loss='loss'><schedule type='lambda' formula='-1'/></train>", "*“-1” is negative at the first step*" },
    { "<train loss='loss' optimizer='rprop' step_size_min='2' step_size_max='1'/>",
      "*step_size_min is 2, which is above step_size_max, 1*" },
    { "<train loss='loss' optimizer='rprop' step_sizes='2,1'/>", "*which is above step_size_max*" },
    { "<train loss='loss' optimizer='rprop' step_size_min='60'/>", "*above step_size_max, 50*" },
    { "<train loss='loss' optimizer='rprop' etas='0.5'/>", "*etas is “0.5”*0.5,1.2*" },
    { "<train loss='loss' optimizer='adam' etas='0.5,1.2'/>", "*no attribute “etas”*" },
    { "<train loss='loss' optimizer='adam'><group match='*' adamw='true'/></train>", "*has no adamw*" },
    { "<train loss='loss' precision='f64'/>", "*needs the device “ref”*" },
    { "<train loss='loss' accumulate='0'/>", "*accumulate is 0*" },
    { "<train loss='loss' drop_last='treu'/>", "*drop_last is “treu”*auto, true, false*Set it to true*" },
    { "<train loss='loss' sample_weights='even'/>", "*sample_weights is “even”*“balanced”*" },
    { "<train loss='loss' sample_weights='0,0'/>", "*sample_weights is “0,0”*not all of them 0*" },
    { "<train loss='loss' algorithm='directly'/>", "*algorithm is “directly”*auto, direct*Set it to direct*" },
    { "<train loss='loss' acumulate='2'/>", "*“acumulate”*“accumulate”*" },
    { "<train loss='loss' optimizer='lbfgs' accumulate='2'/>", "*“lbfgs” takes a step from each batch*Set it to 1*" },
    { "<train loss='loss' optimizer='newton' ema='0.9'/>", "*“newton”*ema*" },
    { "<train loss='loss' ema='1.5'/>", "*ema is 1.5*less than 1*Set it to 0.999*" },
    { "<train loss='loss' ema='1'/>", "*ema is 1;*Set it to 0.999*" },
    { "<train loss='loss' ema='-1'/>", "*ema is -1*Set it to 0.*" },
    { "<train loss='loss' lr='1e30'/>", "*lr is 1e30; it must be from 0 to 1000000. Set it to its default, 0.001*" },
    { "<train loss='loss' monitor='confusion_matrix'><metric type='confusion_matrix' input='fc' "
      "target='data.y'/></train>",
      "*monitor is “confusion_matrix”, which is a table*" },
    { "<train loss='loss'><metric type='mae' input='fc' target='data.y'/></train>",
      "*<metric>: Metric “mae” cannot be computed*" },
    { "<train loss='loss' patience='0'/>", "*patience is 0*" },
    { "<train loss='loss' patience='2' monitor='acuracy'><metric type='accuracy' input='fc' target='data.y'/></train>",
      "*“acuracy”*loss, accuracy*Did you mean “accuracy”*" },
    { "<train loss='loss' min_delta='0.1'/>", "*Set patience*" },
    { "<train loss='loss' weights=''/>", "*weights is empty*" },
    { "<train loss='loss' match='fc, fd.bias'/>", "*matches “fd.bias”*“fc.bias”*" },
    { "<train loss='loss'><metric type='acuracy' input='fc' target='data.y'/></train>",
      "*the metric “acuracy” is unknown*confusion_matrix*Did you mean “accuracy”*" },
    { "<train loss='loss'><metric type='accuracy' k='3' input='fc' target='data.y'/></train>", "*attribute “k”*" },
    { "<train loss='loss'><metric type='f1' average='macr' input='fc' target='data.y'/></train>",
      "*macro, micro, binary*Set it to macro*" },
    { "<train loss='loss'><metric type='f1' avarage='macro' input='fc' target='data.y'/></train>",
      "*“avarage”*“average”*" },
    { "<train loss='loss'><metric type='top_k_accuracy' k='0' input='fc' target='data.y'/></train>", "*k is 0*" },
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

/* The schedule of a <train> whose lr is 1. */
static double
rate (const char *schedule, gint64 step, gint64 total)
{
  g_autofree char *train = g_strdup_printf ("<train loss='loss' lr='1'><schedule %s/></train>", schedule);
  g_autofree char *sentences = NULL;
  g_autoptr (LoomTrainSpec) spec = read_spec (train, &sentences);
  const LoomPlateau nothing = LOOM_PLATEAU_INIT;

  g_assert_nonnull (spec);
  spec->schedule.steps_per_epoch = 10;
  return loom_schedule_factor (&spec->schedule, &nothing, 1, step, total);
}

static void
test_schedules (void)
{
  static const struct
  {
    const char *schedule;
    gint64 step, total;
    double wanted;
  } cases[] = {
    { "warmup_steps='4'", 0, 100, 0.25 },
    { "warmup_steps='4'", 3, 100, 1 },
    { "warmup_steps='4'", 50, 100, 1 },
    { "type='constant' factor='0.5' total_iters='3'", 2, 100, 0.5 },
    { "type='constant' factor='0.5' total_iters='3'", 3, 100, 1 },
    { "type='step' step_size='10' gamma='0.5'", 9, 100, 1 },
    { "type='step' step_size='10' gamma='0.5'", 20, 100, 0.25 },
    { "type='step' step_size='2' gamma='0.5' interval='epoch'", 19, 100, 1 },
    { "type='step' step_size='2' gamma='0.5' interval='epoch'", 20, 100, 0.5 },
    { "type='multistep' milestones='3,5' gamma='0.5'", 5, 100, 0.25 },
    { "type='exponential' gamma='0.5'", 3, 100, 0.125 },
    { "type='cosine' min_lr='0.1' warmup_steps='10'", 10, 110, 1 },
    { "type='cosine' eta_min='0.1' warmup_steps='10'", 60, 110, 0.55 },
    { "type='cosine' eta_min='0.1' warmup_steps='10'", 110, 110, 0.1 },
    { "type='cosine_warm_restarts' T_0='4' T_mult='2'", 4, 100, 1 },
    { "type='lambda' formula='1 / (1 + epoch)' warmup_steps='2'", 27, 100, 1.0 / 3 },
    { "type='lambda' formula='step / steps + epoch / epochs' interval='epoch'", 25, 100, 0.4 },
    { "type='cosine_warm_restarts' T_0='4' T_mult='2'", 8, 100, 0.5 },
    { "type='linear' end_factor='0.5'", 50, 100, 0.75 },
    { "type='polynomial' power='2'", 50, 100, 0.25 },
    { "type='one_cycle' max_lr='2' pct_start='0.5' div_factor='4'", 0, 100, 0.5 },
    { "type='one_cycle' max_lr='2' pct_start='0.5' div_factor='4'", 49, 100, 2 },
    { "type='cyclic' max_lr='3' step_size_up='4'", 2, 100, 2 },
    { "type='cyclic' max_lr='3' step_size_up='4' mode='triangular2'", 12, 100, 2 },
    { "type='plateau'", 50, 100, 1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    if (fabs (rate (cases[i].schedule, cases[i].step, cases[i].total) - cases[i].wanted) > 1e-12)
      g_error ("%s at %" G_GINT64_FORMAT " is %.17g, not %g", cases[i].schedule, cases[i].step,
               rate (cases[i].schedule, cases[i].step, cases[i].total), cases[i].wanted);
}

/* The formula that a rate comes from, if there is one. */
static void
test_formula (void)
{
  static const struct
  {
    const char *schedule;
    gint64 step;
    const char *wanted;
  } cases[] = {
    { "type='lambda' formula='1 / (5 - step)'", 5, "1 / (5 - step)" },
    { "type='step' step_size='10'", 5, NULL },
    { "type='sequential' milestones='4'><schedule type='constant'/><schedule type='lambda' formula='1 - step'/"
      "></schedule",
      3, NULL },
    { "type='sequential' milestones='4'><schedule type='constant'/><schedule type='lambda' formula='1 - step'/"
      "></schedule",
      6, "1 - step" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const gboolean is_empty = strchr (cases[i].schedule, '>') == NULL;
      g_autofree char *train = g_strdup_printf ("<train loss='loss' lr='1'><schedule %s%s</train>", cases[i].schedule,
                                                is_empty ? "/>" : ">");
      g_autofree char *sentences = NULL;
      g_autoptr (LoomTrainSpec) spec = read_spec (train, &sentences);

      g_assert_cmpstr (sentences, ==, "");
      g_assert_cmpstr (loom_schedule_formula (&spec->schedule, cases[i].step, 100), ==, cases[i].wanted);
    }
}

static void
test_plateau (void)
{
  g_autofree char *sentences = NULL;
  g_autoptr (LoomTrainSpec) spec = read_spec (
      "<train loss='loss' lr='1'><schedule type='plateau' factor='0.5' patience='1' cooldown='1'/></train>",
      &sentences);
  const double loss[] = { 3, 2, 2, 2, 2, 2, 2, NAN };
  LoomPlateau seen = LOOM_PLATEAU_INIT;
  const gboolean falls[] = { FALSE, FALSE, FALSE, TRUE, FALSE, FALSE, TRUE, FALSE };

  g_assert_nonnull (spec);
  for (guint i = 0; i < G_N_ELEMENTS (loss); i++)
    g_assert_cmpint (loom_schedule_observe (&spec->schedule, &seen, loss[i]), ==, falls[i]);
  g_assert_cmpfloat (loom_schedule_factor (&spec->schedule, &seen, 1, 0, 10), ==, 0.25);
}

static void
test_groups (void)
{
  g_autofree char *sentences = NULL, *none = NULL;
  g_autoptr (LoomTrainSpec) spec = read_spec (
      "<train loss='loss' lr='0.1' batch_size='32' lr_batch_size='64'><group match='*.bias' frozen='true'/>"
      "<group match='fc' lr='0.5'/><clip norm='1' value='2'/></train>",
      &sentences);
  static const struct
  {
    const char *match;
    guint weight, bias;
  } cases[] = { { "fc", 1, 1 },     { "fc.w*", 1, 0 }, { "*", 1, 1 },    { "**", 1, 1 },       { "?c.bias", 0, 1 },
                { "**bias", 0, 1 }, { "f*t", 0, 0 },   { "f**t", 1, 0 }, { "fc.weigh?", 1, 0 } };

  g_assert_nonnull (spec);
  g_assert_cmpfloat (hyper (spec, "lr"), ==, 0.05);
  g_assert_cmpfloat (spec->clip_norm, ==, 1);
  g_assert_cmpfloat (spec->clip_value, ==, 2);
  g_assert_cmpuint (loom_train_spec_group_of (spec, "fc.bias"), ==, 1);
  g_assert_cmpuint (loom_train_spec_group_of (spec, "fc.weight"), ==, 2);
  g_assert_cmpuint (loom_train_spec_group_of (spec, "fc2.weight"), ==, 0);
  g_assert_cmpfloat (((LoomTrainGroup *)spec->groups->pdata[1])->hyper[0], ==, 0.25);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LoomTrainGroup group = { .match = (char *)cases[i].match };
      g_autoptr (GPtrArray) groups = g_ptr_array_new ();
      LoomTrainSpec plain = { .groups = groups };

      g_ptr_array_add (groups, &group);
      g_assert_cmpuint (loom_train_spec_group_of (&plain, "fc.weight"), ==, cases[i].weight);
      g_assert_cmpuint (loom_train_spec_group_of (&plain, "fc.bias"), ==, cases[i].bias);
    }
}

static void
test_course (void)
{
  g_autofree char *sentences = NULL, *none = NULL;
  g_autoptr (LoomTrainSpec) spec = read_spec (
      "<train loss='loss' lr='0.1' batch_size='8' accumulate='4' lr_batch_size='64' ema='0.99' patience='5' "
      "min_delta='0.5' monitor='two' weights='w.safetensors' match='fc.b*, fc.w?ight'>"
      "<metric type='mse' name='one' input='fc' target='fc'/>"
      "<metric type='f1' average='micro' name='two' input='fc' target='data.y'/></train>",
      &sentences);
  g_autoptr (LoomTrainSpec) plain = read_spec ("<train loss='loss'/>", &none);

  g_assert_nonnull (spec);
  g_assert_cmpint (spec->accumulate, ==, 4);
  g_assert_cmpfloat (hyper (spec, "lr"), ==, 0.05); /* 32 samples a step of 64 */
  g_assert_cmpfloat (spec->ema, ==, 0.99);
  g_assert_true (spec->keep_best);
  g_assert_cmpint (spec->patience, ==, 5);
  g_assert_cmpfloat (spec->min_delta, ==, 0.5);
  g_assert_cmpint (spec->monitor, ==, 1);
  g_assert_cmpstr (spec->weights, ==, "w.safetensors");
  g_assert_true (loom_train_spec_takes (spec, "fc.weight"));
  g_assert_true (loom_train_spec_takes (spec, "fc.bias"));
  g_assert_false (loom_train_spec_takes (spec, "fc2.bias"));
  g_assert_cmpint (((LoomMetricSpec *)spec->metrics->pdata[1])->options.average, ==, LOOM_AVERAGE_MICRO);
  g_assert_cmpint (((LoomMetricSpec *)spec->metrics->pdata[1])->options.k, ==, 5);

  g_assert_nonnull (plain);
  g_assert_cmpint (plain->accumulate, ==, 1);
  g_assert_cmpint (plain->drop_last, ==, LOOM_DROP_LAST_AUTO);
  g_assert_false (plain->direct);
  g_assert_cmpfloat (plain->ema, ==, 0);
  g_assert_false (plain->keep_best);
  g_assert_cmpint (plain->patience, ==, 0);
  g_assert_cmpint (plain->monitor, ==, -1);
  g_assert_true (loom_train_spec_takes (plain, "anything.at.all"));
}

/* The element with only its required attributes and this one, in a <train> without faults. */
static char *
with_attribute (LoomTag tag, const LoomAttribute *attribute, const char *value)
{
  const char *metric = "accuracy";
  g_autofree char *own = g_markup_printf_escaped ("%s='%s'", attribute->spec.name, value);

  if (tag == LOOM_TAG_TRAIN)
    return g_strdup_printf ("<train loss='loss' %s %s/>",
                            strcmp (attribute->spec.name, "min_delta") == 0 ? "patience='3'" : "", own);
  for (const LoomMetric *const *m = loom_metrics (); tag == LOOM_TAG_METRIC && *m != NULL; m++)
    if (((*m)->takes & attribute->takes) == attribute->takes && attribute->takes != 0)
      metric = (*m)->name;
  if (tag == LOOM_TAG_METRIC)
    return g_strdup_printf ("<train loss='loss'><metric type='%s' input='fc' target='data.y' %s/></train>", metric,
                            own);
  return g_strdup_printf ("<train loss='loss'><%s %s %s/></train>", loom_tag_name (tag),
                          tag == LOOM_TAG_GROUP ? "match='fc'" : "", own);
}

/* value is invalid if attribute names text in the expected sentence, else valid. */
static void
expect_attribute (LoomTag tag, const LoomAttribute *attribute, const char *value, gboolean right)
{
  g_autofree char *train = with_attribute (tag, attribute, value), *sentences = NULL;
  g_autoptr (LoomTrainSpec) spec = read_spec (train, &sentences);

  g_test_message ("%s %s", train, sentences);
  if (right && strstr (sentences, "the input has only 2 classes") == NULL) /* to which the default of k does not fit */
    g_assert_cmpstr (sentences, ==, "");
  else if (!right)
    g_assert_nonnull (strstr (sentences, attribute->spec.name));
}

/* The table's entry of an attribute is what the reader uses: its default, its type and its range. */
static void
test_attributes (void)
{
  static const LoomTag tags[] = { LOOM_TAG_TRAIN, LOOM_TAG_SCHEDULE, LOOM_TAG_CLIP, LOOM_TAG_GROUP, LOOM_TAG_METRIC };

  for (guint t = 0; t < G_N_ELEMENTS (tags); t++)
    for (const LoomAttribute *a = loom_attributes (tags[t]); a->spec.name != NULL; a++)
      {
        const LoomParamSpec *spec = &a->spec;
        gboolean is_number = spec->type == LOOM_PARAM_INT || spec->type == LOOM_PARAM_FLOAT;

        g_assert_true (spec->doc != NULL && loom_attribute (tags[t], spec->name) == a);
        g_assert_true (a->alias == NULL || loom_attribute (tags[t], a->alias) == a);
        if (spec->def == NULL)
          continue; /* with_attribute() sets it already */
        if (spec->def[0] != 0)
          expect_attribute (tags[t], a, spec->def, TRUE);
        for (guint i = 0; spec->choices != NULL && spec->choices[i] != NULL; i++)
          if (strcmp (spec->choices[i], "f64") != 0) /* which the device cpu has not */
            expect_attribute (tags[t], a, spec->choices[i], TRUE);
        if (is_number || spec->type == LOOM_PARAM_BOOL || spec->choices != NULL)
          expect_attribute (tags[t], a, "?", FALSE);
        if (is_number && (spec->minimum != 0 || spec->maximum != 0))
          {
            g_autofree char *above = g_strdup_printf ("%.0f", spec->maximum * 10);
            g_autofree char *below = g_strdup_printf ("%.0f", spec->minimum - 9 * fabs (spec->minimum) - 1);

            expect_attribute (tags[t], a, above, FALSE);
            expect_attribute (tags[t], a, below, FALSE);
          }
      }
}

/* What --strategy leaves of <parallel>. */
static void
test_strategies (void)
{
  static const struct
  {
    const char *before, *word;
    int ranks;
    const char *after;
  } cases[] = {
    /* As the attribute: it divides among replicas. */
    { "data='2' pipeline='2' tensor='2'", "zero1", 8, "data=\"2\" pipeline=\"2\" tensor=\"2\" strategy=\"zero1\"" },
    { "pipeline='2' microbatches='3'", "zero3", 4, "pipeline=\"2\" microbatches=\"3\" strategy=\"zero3\"" },
    { "data='2' pipeline='2' strategy='zero1'", "data", 4, "data=\"2\" pipeline=\"2\" strategy=\"data\"" },
    /* There are no replicas, or a run is resumed with another number of ranks. */
    { "pipeline='2'", "zero1", 2, "strategy=\"zero1\"" },
    { "data='2' pipeline='2'", "data", 3, "strategy=\"data\"" },
    { "data='2'", "pipeline", 2, "pipeline=\"2\"" },
    { "strategy='server' staleness='8'", "zero1", 2, "strategy=\"zero1\"" },
    { "strategy='server' staleness='8' data='2'", "server", 3, "strategy=\"server\" staleness=\"8\" data=\"2\"" },
    { "data='2' pipeline='2'", "server", 4, "strategy=\"server\"" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text
          = g_strconcat (BODY, "<train loss='loss'><parallel ", cases[i].before, "/></train></graph>", NULL);
      g_autofree char *wanted = g_strdup_printf ("<parallel %s/>", cases[i].after);
      g_autoptr (LoomGraph) graph = graph_from_text (text, NULL);

      loom_strategy_apply (graph, loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN), cases[i].word,
                           cases[i].ranks, NULL, NULL);
      g_autofree char *written = loom_graph_write (graph, NULL);
      if (strstr (written, wanted) == NULL)
        g_error ("%s of “%s” has not made %s: %s", cases[i].word, cases[i].before, wanted, written);
    }
}

/* Impossible settings, with their position in the file; a warning if a run is possible without them. */
static void
test_parallel (void)
{
  static const struct
  {
    const char *parallel, *says;
    gboolean is_error;
  } cases[] = {
    { "data='2' min_ranks='2'", "", FALSE },
    { "data='2' min_ranks='5'", "*line 2*min_ranks is 5*the run has only 2 ranks*Set it to 2 or less*", TRUE },
    { "data='2' pipeline='3' min_ranks='6'", "", FALSE },
    { "data='2' pipeline='3' min_ranks='7'", "*the run has only 6 ranks*", TRUE },
    { "strategy='server' data='2' min_ranks='3'", "", FALSE },
    { "strategy='server' data='2' min_ranks='4'", "*the run has only 3 ranks*", TRUE },
    { "min_ranks='5'", "", FALSE },
    { "pipeline='2' microbatches='32'", "", FALSE },
    { "pipeline='2' microbatches='33'", "", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *sentences = NULL;
      g_autofree char *train
          = g_strconcat ("<train loss='loss' batch_size='32'>\n<parallel ", cases[i].parallel, "/></train>", NULL);
      g_autoptr (LoomTrainSpec) spec = read_spec (train, &sentences);

      g_assert_cmpint (spec == NULL, ==, cases[i].is_error);
      if (!g_pattern_match_simple (cases[i].says, sentences))
        g_error ("%s: “%s” instead of “%s”", cases[i].parallel, sentences, cases[i].says);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/train-spec/reads", test_reads);
  g_test_add_func ("/train-spec/faults", test_faults);
  g_test_add_func ("/train-spec/attributes", test_attributes);
  g_test_add_func ("/train-spec/none", test_none);
  g_test_add_func ("/train-spec/schedules", test_schedules);
  g_test_add_func ("/train-spec/plateau", test_plateau);
  g_test_add_func ("/train-spec/formula", test_formula);
  g_test_add_func ("/train-spec/groups", test_groups);
  g_test_add_func ("/train-spec/course", test_course);
  g_test_add_func ("/train-spec/parallel", test_parallel);
  g_test_add_func ("/train-spec/strategies", test_strategies);
  return g_test_run ();
}
