/* `gradloom simulate --published`: published measurements next to the model's predictions with its default constants.
 * No constant is fitted to these rows, and all errors are printed. */
#include "app/lab/simulate.h"

#include <stdio.h>

/* ---- workloads by their counts ------------------------------------------------------ */

typedef struct
{
  const Card *card;
  LoomDType precision;
  double batch;
} Place;

static double
products (const Place *at, double flops)
{
  return flops / (card_peak (at->card, at->precision) * SIMULATE_PRODUCTS);
}

static double
traffic (const Place *at, double bytes)
{
  return bytes / (at->card->memory_rate * SIMULATE_TRAFFIC);
}

/* Adam in mixed precision reads and writes 26 bytes per parameter, SGD with momentum in f32 20. */
static void
add_update (SimulateWork *work, const Place *at, double parameters)
{
  work->update = traffic (at, parameters * (at->precision == LOOM_F32 ? 20 : 26));
  work->samples = at->batch;
}

static double
transformer_parameters (double l, double h, double v)
{
  return 12 * l * h * h + h * v;
}

/* A transformer with l layers of width h, a heads, sequences of s tokens and v words, whose matrix is tied. A layer
 * stores s h (34 + 5 a s / h) bytes per sample (Korthikanti et al., 2022), which are written and read once in the
 * forward pass and twice, with their gradients, in the backward pass. Recomputation repeats the forward pass (Chen et
 * al., 2016). */
static void
transformer (SimulateWork *work, const Place *at, double l, double h, double a, double s, double v, gboolean recompute)
{
  static const double part[] = { 3, 1, 4, 4 }; /* of 12 h²: query, key and value; projection; in; out */
  const double stored = s * h * (34 + 5 * a * s / h) * at->batch;
  const double flops = (24 * s * h * h + 4 * s * s * h) * at->batch;
  const double forward = products (at, flops) + traffic (at, 2 * stored);
  SimulateLayer *head;

  for (int i = 0; i < (int)l; i++)
    for (guint k = 0; k < G_N_ELEMENTS (part); k++)
      {
        SimulateLayer *layer = simulate_work_add (work, "block");

        layer->forward = forward * part[k] / 12;
        layer->backward = (2 + recompute) * layer->forward;
        layer->parameters = 2 * part[k] * h * h;
        layer->activation = 2 * s * h * at->batch;
      }
  head = simulate_work_add (work, "words");
  head->forward = products (at, 2 * s * h * v * at->batch) + traffic (at, 4 * s * v * at->batch);
  head->backward = 2 * head->forward;
  head->parameters = 2 * h * v;
  head->activation = 2 * s * h * at->batch;
  add_update (work, at, transformer_parameters (l, h, v));
}

/* A convolutional net of n equal layers in sequence. flops and bytes: of the forward pass, per image. */
static void
convolutions (SimulateWork *work, const Place *at, int n, double parameters, double flops, double bytes)
{
  for (int i = 0; i < n; i++)
    {
      SimulateLayer *layer = simulate_work_add (work, "layer");

      layer->forward = (products (at, flops * at->batch) + traffic (at, bytes * at->batch)) / n;
      layer->backward = 2 * layer->forward;
      layer->parameters = 4 * parameters / n;
    }
}

static SimulateSetup
setup_of (const char *inside, const char *between, int per_machine)
{
  g_autofree char *names = NULL;

  return (SimulateSetup){ .inside = *simulate_find_link (inside, &names),
                          .between = *simulate_find_link (between, &names),
                          .per_machine = per_machine,
                          .tensor = 1,
                          .pipeline = 1,
                          .microbatches = 1,
                          .overlap = TRUE,
                          .bucket = 25e6 };
}

static Place
place_of (const char *card, LoomDType precision, double batch)
{
  g_autofree char *names = NULL;

  return (Place){ card_find (card, &names), precision, batch };
}

/* ---- rows ---------------------------------------------------------------------------- */

static void
print_row (const char *what, const char *unit, double published, double predicted, const char *source, gboolean as_json)
{
  if (as_json)
    {
      LoomJson *json = command_event_new ("published");

      loom_json_string (json, "what", what);
      loom_json_string (json, "unit", unit);
      loom_json_number (json, "published", published);
      loom_json_number (json, "predicted", predicted);
      loom_json_number (json, "error", predicted / published - 1);
      loom_json_string (json, "source", source);
      command_event_print (json);
      return;
    }
  printf ("%-58s %9.3g %9.3g %-10s %+6.0f %%\n", what, published, predicted, unit, 100 * (predicted / published - 1));
}

/* BERT-large (Devlin et al., 2019): parameters, without position embeddings and the pooler. */
#define BERT_LAYERS 24
#define BERT_WIDTH  1024
#define BERT_HEADS  16
#define BERT_WORDS  30522

/* A lecture on neural-network workflow systems has the minutes on 1 to 8 K80. Its lengths of sequences and batches are
 * not stated; 4 sequences of 512 tokens fit into 12 GB. Gradients are exchanged after the backward pass. */
static void
bert (gboolean as_json)
{
  const char *source = "lecture on workflow systems: 399, 214, 118, 61 minutes on K80; assumed: PCI Express 3, 4 "
                       "sequences of 512 a GPU, exchange after the backward pass";
  static const double minutes[] = { 399, 214, 118, 61 };
  Place at = place_of ("k80", LOOM_F32, 4);
  SimulateSetup setup = setup_of ("pcie3", "25g", 8);
  g_auto (SimulateWork) work;

  setup.overlap = FALSE;
  simulate_work_init (&work);
  transformer (&work, &at, BERT_LAYERS, BERT_WIDTH, BERT_HEADS, 512, BERT_WORDS, FALSE);
  for (int i = 0; i < 4; i++)
    {
      const int n = 1 << i;
      const double efficiency = simulate_step (&work, &setup, n, NULL).efficiency;
      g_autofree char *ratio = g_strdup_printf ("BERT-large, efficiency, GPUs: %d", n);
      g_autofree char *time = g_strdup_printf ("BERT-large, time from that on one GPU, GPUs: %d", n);

      print_row (ratio, "", minutes[0] / (n * minutes[i]), efficiency, source, as_json);
      if (n > 1)
        print_row (time, "minutes", minutes[i], minutes[0] / (n * efficiency), source, as_json);
    }
}

/* The same lecture takes GPT-3 for 530 times BERT-large: 399 minutes × 530 are 147 days on one K80. It compares sizes,
 * not the work of training on 300 billion tokens. */
static void
bert_to_gpt3 (gboolean as_json)
{
  const double ratio
      = transformer_parameters (96, 12288, 50257) / transformer_parameters (BERT_LAYERS, BERT_WIDTH, BERT_WORDS);

  print_row ("GPT-3 as 530 times the 399 minutes of BERT-large, one K80", "days", 399 * 530 / 1440., 399 * ratio / 1440,
             "lecture on workflow systems: 399 minutes × 530; predicted: the ratio of parameters (Brown et al., 2020)",
             as_json);
}

/* Layers without exchanges, so that only the schedule counts. */
static double
pipeline_speed (int stages, int microbatches, gboolean one_f_one_b, double *bubble)
{
  SimulateSetup setup = setup_of ("nvlink2", "100g", 8);
  g_auto (SimulateWork) work;
  SimulateResult r;

  simulate_work_init (&work);
  for (int i = 0; i < 32; i++)
    {
      SimulateLayer *layer = simulate_work_add (&work, "layer");

      layer->forward = 1;
      layer->backward = 3; /* with recomputation, as in GPipe */
    }
  work.samples = 1;
  setup.pipeline = stages;
  setup.microbatches = microbatches;
  setup.one_f_one_b = one_f_one_b;
  setup.inside.latency = 0;
  r = simulate_step (&work, &setup, stages, NULL);
  *bubble = r.bubble;
  return r.samples_per_second;
}

static void
gpipe (gboolean as_json)
{
  static const struct
  {
    int stages, microbatches;
    double published; /* a transformer's throughput, relative to that with two stages and one micro-batch */
  } rows[] = { { 4, 1, 1.07 }, { 8, 1, 1.3 },  { 2, 4, 1.7 },  { 4, 4, 3.2 },
               { 8, 4, 4.8 },  { 2, 32, 1.8 }, { 4, 32, 3.4 }, { 8, 32, 6.3 } };
  double bubble, one = pipeline_speed (2, 1, FALSE, &bubble);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      int k = rows[i].stages, m = rows[i].microbatches;
      g_autofree char *what = g_strdup_printf ("GPipe, transformer: speed of %d stages, micro-batches: %d", k, m);

      print_row (what, "× of 2, 1", rows[i].published, pipeline_speed (k, m, FALSE, &bubble) / one,
                 "Huang et al., 2019, table 2, on TPUs", as_json);
    }
  for (guint i = 0; i < G_N_ELEMENTS (rows); i += 3)
    for (int schedule = 0; schedule < 2; schedule++)
      {
        int k = rows[i].stages, m = rows[i].microbatches;
        g_autofree char *what
            = g_strdup_printf ("%s: bubble of %d stages, micro-batches: %d", schedule ? "1F1B" : "GPipe", k, m);

        pipeline_speed (k, m, schedule, &bubble);
        print_row (what, "", (k - 1.0) / (m + k - 1), bubble, "(K-1) / (M+K-1): Huang et al., 2019, section 2.3",
                   as_json);
      }
}

static void
horovod (gboolean as_json)
{
  const char *source = "Sergeev and Del Balso, 2018, section 5, figure 6: 128 servers of 4 Pascal GPUs, 25 Gbit/s";
  Place at = place_of ("p100", LOOM_F32, 64);
  SimulateSetup setup = setup_of ("pcie3", "25g", 4);
  g_auto (SimulateWork) resnet, vgg;

  setup.bucket = 64e6; /* its fusion buffer */
  simulate_work_init (&resnet);
  convolutions (&resnet, &at, 101, 44.5e6, 15.7e9, 0.4e9);
  add_update (&resnet, &at, 44.5e6);
  print_row ("Horovod, ResNet-101: efficiency on 512 GPUs", "", 0.9,
             simulate_step (&resnet, &setup, 512, NULL).efficiency, source, as_json);
  simulate_work_init (&vgg);
  convolutions (&vgg, &at, 13, 14.7e6, 30.7e9, 0.25e9);
  convolutions (&vgg, &at, 3, 123.6e6, 0.25e9, 0);
  add_update (&vgg, &at, 138.3e6);
  print_row ("Horovod, VGG-16: efficiency on 512 GPUs", "", 0.68, simulate_step (&vgg, &setup, 512, NULL).efficiency,
             source, as_json);
  /* Nine tenths of VGG's gradients are those of its last layers, which the backward pass computes first. The model
   * exchanges them during the rest of that pass. The paper, section 5, has communication on VGG's critical path. */
  setup.overlap = FALSE;
  print_row ("Horovod, VGG-16: the same without overlap", "", 0.68, simulate_step (&vgg, &setup, 512, NULL).efficiency,
             source, as_json);
}

static void
imagenet (gboolean as_json)
{
  const char *source = "Goyal et al., 2017, sections 4 and 5: 32 servers of 8 P100 with NVLink, 50 Gbit/s; 90 epochs "
                       "of 1,281,167 images";
  Place at = place_of ("p100", LOOM_F32, 32);
  SimulateSetup setup = setup_of ("nvlink1", "50g", 8);
  g_auto (SimulateWork) work;
  SimulateResult many, few;

  simulate_work_init (&work);
  convolutions (&work, &at, 50, 25.6e6, 8.2e9, 0.25e9);
  add_update (&work, &at, 25.6e6);
  many = simulate_step (&work, &setup, 256, NULL);
  few = simulate_step (&work, &setup, 8, NULL);
  print_row ("ResNet-50 on ImageNet, 256 GPUs", "hours", 1, 90 * 1281167 / many.samples_per_second / 3600, source,
             as_json);
  print_row ("ResNet-50: efficiency of 256 GPUs compared with 8", "", 0.9, many.efficiency / few.efficiency, source,
             as_json);
}

/* 300 billion tokens, 96 layers of width 12,288 (Brown et al., 2020, table 2.1), on 8 × 16 × replicas GPUs; as many
 * sequences of 2,048 tokens per step, one per micro-batch. */
static double
gpt3_days (const char *card, const char *inside, const char *between, int replicas, int sequences)
{
  Place at = place_of (card, LOOM_F16, (double)sequences / replicas);
  SimulateSetup setup = setup_of (inside, between, 8);
  g_auto (SimulateWork) work;

  simulate_work_init (&work);
  transformer (&work, &at, 96, 12288, 96, 2048, 51200, TRUE);
  setup.tensor = 8;
  setup.pipeline = 16;
  setup.microbatches = sequences / replicas;
  setup.one_f_one_b = TRUE;
  return 300e9 / 2048 / simulate_step (&work, &setup, 128 * replicas, NULL).samples_per_second / 86400;
}

void
simulate_published (gboolean as_json)
{
  if (!as_json)
    {
      simulate_print_constants ();
      printf ("\n%-58s %9s %9s %-10s %8s\n", "what", "published", "predicted", "", "error");
    }
  bert (as_json);
  gpipe (as_json);
  horovod (as_json);
  imagenet (as_json);
  print_row ("GPT-3, 300 billion tokens, 1024 A100", "days", 34, gpt3_days ("a100", "nvlink3", "8x200g", 8, 1536),
             "Narayanan et al., 2021, section 5.1", as_json);
  print_row ("GPT-3, 300 billion tokens, 10,000 V100", "days", 14.8, gpt3_days ("v100", "nvlink2", "100g", 78, 1560),
             "Patterson et al., 2021, table 4; the division is not published: assumed 8 by 16 by 78", as_json);
  bert_to_gpt3 (as_json);
  if (!as_json)
    printf ("\nHorovod and VGG-16: nine tenths of the gradients are those of its last layers, which the backward pass "
            "computes\n"
            "first, so the model exchanges them during the rest of the pass. The paper has them on the critical path: "
            "compare\n"
            "the row without overlap. ResNet-50 in an hour: the model has no loading, evaluation and start-up.\n");
  if (!as_json)
    printf (
        "\nSources: Brown et al., Language Models are Few-Shot Learners, 2020, arXiv:2005.14165. Goyal et al., "
        "Accurate, "
        "Large Minibatch\nSGD: Training ImageNet in 1 Hour, 2017, arXiv:1706.02677. Huang et al., GPipe: Efficient "
        "Training of Giant Neural Networks using\nPipeline Parallelism, 2019, arXiv:1811.06965. Isaev et al., "
        "Calculon: a "
        "Methodology and Tool for High-Level Codesign of Systems\nand Large Language Models, SC 2023. Jia et al., "
        "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking, 2018,\narXiv:1804.06826. Markidis et al., "
        "NVIDIA Tensor Core Programmability, Performance & Precision, 2018, arXiv:1803.04014. Narayanan\net al., "
        "Efficient "
        "Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, 2021, arXiv:2104.04473. Patterson et "
        "al.,\nCarbon Emissions and Large Neural Network Training, 2021, arXiv:2104.10350. Sergeev and Del Balso, "
        "Horovod: "
        "fast and easy\ndistributed deep learning in TensorFlow, 2018, arXiv:1802.05799.\n");
}
