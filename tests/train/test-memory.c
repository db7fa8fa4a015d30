/* The memory in use that a device's driver reports: before the run allocates any, during training, and the peaks until
 * the end of the first and of the last step. Only a device with its own memory has such a driver. */
#include "engine/train/trainer-private.h"
#include "tests/exec/test-device.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#define WEIGHTS ((guint64)64 * 20000 * 4) /* bytes of the largest */
#define BALLAST ((gsize)9 << 20)

#define NET                                                                                                            \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"random\" n=\"40\" n_test=\"4\" in_features=\"64\" out_features=\"4\"/>"   \
  "<node id=\"wide\" op=\"linear\" out_features=\"20000\"/><node id=\"fc\" op=\"linear\" out_features=\"4\"/>"         \
  "<node id=\"loss\" op=\"mse_loss\"/><wire from=\"data.x\" to=\"wide\"/><wire from=\"wide\" to=\"fc\"/>"              \
  "<wire from=\"fc\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"                                    \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.0001\" batch_size=\"4\" epochs=\"1\" device=\"%s\"/></graph>"

static struct
{
  LoomTrainerDeviceMemory begun, first, later;
  void *ballast;
} seen;

/* Another process allocates memory after the first step and frees it after the fifth, a second and more apart: within
 * an epoch, when no plan is made. */
static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  LoomPlanDevice *device = loom_devices_get (trainer->model.devices, trainer->model.device, NULL);
  LoomMessage message;

  if (step->step == 1)
    {
      loom_trainer_device_memory (trainer, &seen.first);
      g_assert_cmpint (device->backend->alloc (device->device, BALLAST, &seen.ballast, &message), ==, LOOM_STATUS_OK);
    }
  if (step->step == 5)
    {
      loom_trainer_device_memory (trainer, &seen.later);
      device->backend->free (device->device, seen.ballast);
    }
  if (step->step == 2 || step->step == 5)
    g_usleep (1200000);
}

static void
test_moments (void)
{
  static const LoomTrainerObserver observer = { .step = step_cb };
  const char *device = test_device ("cpu");
  g_autofree char *xml = g_strdup_printf (NET, device);
  LoomTrainer *trainer = train_test_new (xml, (LoomTrainerOptions){ 0 });
  gsize planned[LOOM_N_OWNERS];
  LoomTrainerDeviceMemory end;
  guint64 sum = 0;

  if (!loom_trainer_device_memory (trainer, &seen.begun))
    {
      g_assert_true (loom_devices_get (trainer->model.devices, device, NULL)->info.host_memory);
      g_assert_cmpuint (seen.begun.used + seen.begun.before + seen.begun.peak, ==, 0);
      loom_trainer_free (trainer);
      return;
    }
  loom_trainer_memory (trainer, planned);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    sum += planned[o];
  g_assert_cmpuint (sum, >, WEIGHTS);
  /* All memory of the run was allocated after the first figure. */
  g_assert_cmpuint (seen.begun.used - seen.begun.before, >=, sum);
  g_assert_cmpuint (seen.begun.peak, >=, seen.begun.used);
  g_assert_true (seen.begun.first == 0 && seen.begun.last == 0);

  loom_trainer_set_observer (trainer, &observer, NULL);
  train_test_run (trainer);
  g_assert_true (loom_trainer_device_memory (trainer, &end));
  g_test_message ("before %" G_GUINT64_FORMAT ", begun %" G_GUINT64_FORMAT ", first %" G_GUINT64_FORMAT
                  ", later %" G_GUINT64_FORMAT ", last %" G_GUINT64_FORMAT ", at the end %" G_GUINT64_FORMAT,
                  end.before, seen.begun.used, seen.first.first, seen.later.used, end.last, end.used);
  g_assert_cmpuint (end.before, ==, seen.begun.before);
  g_assert_cmpuint (seen.first.first, >=, seen.begun.used);
  g_assert_cmpuint (end.first, ==, seen.first.first);
  /* The figure follows the memory in use, up and down, and the peak stays. */
  g_assert_cmpuint (seen.later.used, >=, seen.first.used + BALLAST);
  g_assert_cmpuint (end.used + BALLAST / 2, <, seen.later.used);
  g_assert_cmpuint (end.last, >=, seen.later.used);
  g_assert_cmpuint (end.last, ==, end.peak);
  loom_trainer_free (trainer);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memory/moments", test_moments);
  return g_test_run ();
}
