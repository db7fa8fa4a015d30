/* Runs that do not fit into memory: which plan does not fit, on which device, the owners of the memory, and which batch
 * fits, before the first step and when a plan fails later. The devices report the memory that the test sets. */
#include "engine/train/trainer-private.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <glib/gstdio.h>

/* Batches of 50 and 30, and an evaluation of 50. What is a constant each plan makes for itself: 4 MiB, and as much
 * again because it is packed once for its products. */
#define NET(device)                                                                                                    \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"random\" n=\"80\" n_test=\"50\" in_features=\"1024\" "                    \
  "out_features=\"4\"/>"                                                                                               \
  "<node id=\"eye\" op=\"eye\" n=\"1024\"/><node id=\"mix\" op=\"matmul\"/>"                                           \
  "<node id=\"wide\" op=\"linear\" out_features=\"2000\" " device "/><node id=\"act\" op=\"tanh\" " device "/>"        \
  "<node id=\"fc\" op=\"linear\" out_features=\"4\"/><node id=\"loss\" op=\"mse_loss\"/>"                              \
  "<wire from=\"data.x\" to=\"mix.input\"/><wire from=\"eye\" to=\"mix.other\"/><wire from=\"mix\" to=\"wide\"/>"      \
  "<wire from=\"wide\" to=\"act\"/><wire from=\"act\" to=\"fc\"/><wire from=\"fc\" to=\"loss.input\"/>"                \
  "<wire from=\"data.y\" to=\"loss.target\"/>"                                                                         \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" batch_size=\"50\" epochs=\"2\" device=\"cpu\"/></graph>"

#define CONSTANT ((guint64)8 << 20)
#define PLENTY   ((guint64)1 << 40)

/* ---- the devices ------------------------------------------------------------ */

static const LoomBackend *real;
static LoomBackend poor;
static struct
{
  const LoomPlanDevice *device;
  guint64 memory_free;
} left[2];
static gboolean allocates;
static int withheld; /* allocations that are refused first */

static void
device_info (LoomDevice *device, LoomDeviceInfo *info)
{
  real->device_info (device, info);
  for (guint i = 0; i < G_N_ELEMENTS (left); i++)
    if (left[i].device != NULL && left[i].device->device == device)
      info->memory_free = left[i].memory_free;
}

static LoomStatus
take (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message)
{
  if (allocates && withheld == 0)
    return real->alloc (device, bytes, memory, message);
  withheld = MAX (0, withheld - 1);
  g_strlcpy (message->text, "the test refuses the allocation", sizeof message->text);
  return LOOM_STATUS_OUT_OF_MEMORY;
}

static int n_devices;

static int
device_count (LoomMessage *message)
{
  return n_devices;
}

/* From now on the run's device i reports this much free memory. */
static LoomPlanDevice *
leave (LoomTrainer *trainer, guint i, const char *name, guint64 bytes)
{
  LoomPlanDevice *device = loom_devices_get (trainer->model.devices, name, NULL);

  g_assert_nonnull (device);
  real = device->backend == &poor ? real : device->backend;
  poor = *real;
  poor.device_info = device_info;
  poor.alloc = take;
  device->backend = &poor;
  left[i].device = device;
  left[i].memory_free = bytes;
  return device;
}

static void
end (LoomTrainer *trainer)
{
  memset (left, 0, sizeof left);
  loom_trainer_free (trainer);
}

static void
assert_says (const GError *error, const char *text)
{
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY);
  if (strstr (error->message, text) == NULL)
    g_error ("no “%s” in: %s", text, error->message);
}

/* ---- values during a pause ------------------------------------------------------------ */

#define FULL_BATCH                                                                                                     \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"csv\" path=\"%s\" target=\"y\" val_fraction=\"0\" "                       \
  "test_fraction=\"0\"/>"                                                                                              \
  "<node id=\"fc\" op=\"linear\" out_features=\"3\"/><node id=\"loss\" op=\"cross_entropy\"/>"                         \
  "<wire from=\"data.x\" to=\"fc\"/><wire from=\"fc\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"   \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"12\" epochs=\"4\" device=\"cpu\"/></graph>"

static void
memory_cb (LoomTrainer *trainer, gpointer data)
{
}

/* Epochs of one step each: the weights before a step are kept only if the run pauses after it. */
static void
copies_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  g_assert_cmpint (trainer->observers.watched.last.value != NULL, ==, step->step == step->total_steps);
  g_atomic_int_set (&trainer->control.inbox.pending, 1); /* as a request for a snapshot does */
}

static LoomTrainer *
new_shown (const char *path)
{
  static const LoomTrainerObserver observer = { .step = copies_cb, .memory = memory_cb };
  g_autofree char *xml = g_strdup_printf (FULL_BATCH, path);
  LoomTrainer *trainer = train_test_new (xml, (LoomTrainerOptions){ 0 });

  loom_trainer_set_observer (trainer, &observer, NULL);
  train_test_run (trainer);
  return trainer;
}

/* A view of the state before the last step falls back to the state after it. */
static void
test_no_room_for_copy (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-room-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "t.csv", NULL);
  g_autoptr (GString) text = g_string_new ("a,b,y\n");
  g_autoptr (GError) error = NULL;
  LoomTrainer *trainer;
  gint64 step = -1;

  for (int i = 0; i < 12; i++)
    g_string_append_printf (text, "%g,%g,%d\n", sin (i), cos (3 * i), i % 3);
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));

  trainer = new_shown (path);
  g_autoptr (LoomTensor) before = loom_trainer_snapshot (trainer, "fc", &step, &error);
  g_assert_no_error (error);
  g_assert_cmpint (step, ==, 3);
  trainer->observers.watched.last.why_not = g_strdup ("Out of memory for the copy.");
  g_autoptr (LoomTensor) after = loom_trainer_snapshot (trainer, "fc", &step, &error);
  g_assert_no_error (error);
  g_assert_cmpint (step, ==, 4);
  g_assert_false (loom_tensor_equal_bits (before, after));
  end (trainer);

  trainer = new_shown (path);
  leave (trainer, 0, "cpu", PLENTY);
  allocates = TRUE;
  withheld = 1;
  g_autoptr (LoomTensor) fallback = loom_trainer_snapshot (trainer, "fc", &step, &error);
  g_assert_no_error (error);
  g_assert_cmpint (withheld, ==, 0);
  g_assert_cmpint (step, ==, 4);
  g_assert_true (loom_tensor_equal_bits (after, fallback));
  end (trainer);
  g_unlink (path);
  g_rmdir (folder);
}

/* ---- before the first step ---------------------------------------------------- */

/* The full batch fits; each later plan adds constants of its own. */
static void
test_later_parts (void)
{
  static const struct
  {
    double constants; /* number of constants that fit */
    const char *says; /* part of the error; NULL: none */
  } cases[] = { { 0.5, "An epoch’s last batch, of 30 samples, would not fit into the memory of cpu " },
                { 1.5, "An evaluation, of 50 samples, would not fit into the memory of cpu " },
                { 4, NULL } };

  allocates = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LoomTrainer *trainer = train_test_new (NET (""), (LoomTrainerOptions){ 0 });
      g_autoptr (GError) error = NULL;

      leave (trainer, 0, "cpu", (guint64)(cases[i].constants * (double)CONSTANT));
      const gboolean has_room = step_plans_check_memory (&trainer->plans, &error);

      g_test_message ("room for %g constants: %s", cases[i].constants, has_room ? "enough" : error->message);
      g_assert_cmpint (has_room, ==, cases[i].says == NULL);
      if (cases[i].says != NULL)
        {
          assert_says (error, cases[i].says);
          assert_says (error, "for parameters");
          assert_says (error, " fits.");
        }
      else
        g_assert_no_error (error);
      end (trainer);
    }
}

/* A run that ends within its first epoch does not need the other plans. */
static void
test_few_steps (void)
{
  LoomTrainer *trainer = train_test_new (NET (""), (LoomTrainerOptions){ .steps = 1 });
  g_autoptr (GError) error = NULL;

  allocates = TRUE;
  leave (trainer, 0, "cpu", CONSTANT / 2);
  g_assert_true (step_plans_check_memory (&trainer->plans, &error));
  g_assert_no_error (error);
  end (trainer);
}

/* ---- devices --------------------------------------------------------------------- */

static void
explain (LoomTrainer *trainer, gint64 batch, GError **error)
{
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY, "A step needs more than there is.");
  memory_budget_explain (&trainer->budget, batch, error);
}

/* The error names the device that lacks memory, whichever is the run's own; devices that share the machine's memory
 * lack it together. */
static void
test_devices (void)
{
  LoomTrainer *trainer = train_test_new (NET ("device=\"cpu:1\""), (LoomTrainerOptions){ 0 });
  LoomPlanDevice *near = leave (trainer, 0, "cpu", PLENTY), *far = leave (trainer, 1, "cpu:1", 1);
  g_autoptr (GError) on_far = NULL, on_near = NULL, together = NULL;
  const char *batch;

  near->info.host_memory = far->info.host_memory = FALSE;
  explain (trainer, 5000, &on_far);
  assert_says (on_far, "A step needs more than there is. The run needs ");
  assert_says (on_far, " on cpu:1: ");
  assert_says (on_far, " for activations");
  /* The one that was planned and fitted certainly fits. */
  batch = strstr (on_far->message, "A batch of ");
  g_assert_nonnull (batch);
  g_assert_cmpint (atoi (batch + strlen ("A batch of ")), >=, 40);
  g_assert_cmpint (atoi (batch + strlen ("A batch of ")), <, 1000);

  left[0].memory_free = 1;
  left[1].memory_free = PLENTY;
  explain (trainer, 5000, &on_near);
  assert_says (on_near, " on cpu: ");

  near->info.host_memory = far->info.host_memory = TRUE;
  left[0].memory_free = left[1].memory_free = 1;
  explain (trainer, 5000, &together);
  g_assert_true (strstr (together->message, " on cpu, cpu:1: ") != NULL
                 || strstr (together->message, " on cpu:1, cpu: ") != NULL);
  end (trainer);
}

/* ---- ranks ------------------------------------------------------------------------- */

/* A forecast with this number of bytes free, of two ranks with 50 samples each. */
static MemoryForecast
forecast (LoomTrainer *trainer, const MemoryBudget kinds[2], guint64 bytes)
{
  g_autoptr (GError) error = NULL;
  MemoryForecast found;

  left[0].memory_free = bytes;
  g_assert_true (memory_budget_forecast (kinds, 2, 100, &found, &error));
  g_assert_no_error (error);
  g_clear_pointer (&found.names, g_free);
  return found;
}

/* Ranks of one processor need its memory together; what fits is a smaller batch of each, or a division of states. */
static void
test_ranks (void)
{
  g_auto (GStrv) parts = g_strsplit (NET (""), "\"sgd\"", 2);
  g_autofree char *xml = g_strjoinv ("\"adam\"", parts);
  LoomTrainer *trainer = train_test_new (xml, (LoomTrainerOptions){ 0 });
  RankGroup groups[2] = { { NULL } };
  MemoryBudget kinds[2];
  MemoryForecast all, none, some, together;
  LoomComm *comm[2];
  LoomMessage message = { "" };
  LoomPlanDevice *device;
  guint64 held;

  g_assert_cmpint (loom_comm_threads_new (2, comm, &message), ==, LOOM_STATUS_OK);
  for (guint k = 0; k < 2; k++)
    {
      g_assert_true (rank_group_open (&groups[k], comm[k], trainer->model.spec, FALSE, &trainer->notes, NULL));
      kinds[k] = (MemoryBudget){ &trainer->model, &trainer->data, &groups[k], 2, .rank = k };
    }
  device = leave (trainer, 0, "cpu", PLENTY);
  all = forecast (trainer, kinds, PLENTY);
  held = all.available - PLENTY;
  g_assert_cmpuint (all.needed, ==, 2 * all.most);
  g_assert_cmpint (all.largest, ==, 50);
  g_assert_cmpint (all.shards, ==, LOOM_SHARDS_NONE);
  /* Half of Adam's two states of 8 MB leaves each rank. */
  some = forecast (trainer, kinds, all.needed - held - 8000000);
  g_assert_cmpint (some.largest, <, 50);
  g_assert_cmpint (some.shards, ==, LOOM_SHARDS_OPTIMIZER);
  g_assert_cmpint (trainer->model.spec->parallel.shards, ==, LOOM_SHARDS_NONE);
  none = forecast (trainer, kinds, 1);
  g_assert_cmpint (none.largest, ==, 0);
  g_assert_cmpint (none.shards, ==, LOOM_SHARDS_NONE);
  /* One that stands for three. */
  kinds[1].alike = 3;
  together = forecast (trainer, kinds, PLENTY);
  g_assert_cmpuint (together.needed, ==, 4 * all.most);
  /* Of GPUs without numbers each rank has its own, as far as there are others. */
  device->info.host_memory = FALSE;
  poor.device_count = device_count;
  for (n_devices = 1; n_devices <= 5; n_devices++)
    {
      together = forecast (trainer, kinds, PLENTY);
      g_assert_cmpuint (together.needed, ==, (gsize)(3 + n_devices) / (gsize)n_devices * together.most);
    }
  for (guint k = 0; k < 2; k++)
    {
      rank_group_close (&groups[k]);
      comm[k]->free (comm[k]);
    }
  end (trainer);
}

/* ---- later ------------------------------------------------------------------------- */

/* Somebody else takes the memory after the run has begun. */
static void
test_taken (void)
{
  LoomTrainer *trainer = train_test_new (NET (""), (LoomTrainerOptions){ 0 });
  g_autoptr (GError) error = NULL;

  leave (trainer, 0, "cpu", 100000);
  allocates = FALSE;
  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_FAILED);
  assert_says (error, "After 1 step: ");
  assert_says (error, " The run needs ");
  assert_says (error, " on cpu: ");
  assert_says (error, "Not even a batch of one sample fits.");
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 1);
  allocates = TRUE;
  end (trainer);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  g_test_add_func ("/room/no-room-for-copy", test_no_room_for_copy);
  g_test_add_func ("/room/later-parts", test_later_parts);
  g_test_add_func ("/room/few-steps", test_few_steps);
  g_test_add_func ("/room/devices", test_devices);
  g_test_add_func ("/room/ranks", test_ranks);
  g_test_add_func ("/room/taken", test_taken);
  return g_test_run ();
}
