/* `gradloom bench machine`: the few numbers of a machine that lectures on hardware have, in one table with theirs:
 * products by plain loops and by a tuned library, memory, copies, and the ratios of devices. */
#include "app/lab/bench-private.h"
#include "app/shared/cards.h"

#include <stdio.h>
#include <string.h>

#define NAIVE 256 /* the side of products that both plain loops and libraries compute in reasonable time */

static void
print_number (const char *what, const char *device, double value, const char *unit, const char *lecture, gboolean json)
{
  if (json)
    {
      LoomJson *line = command_event_new ("machine");

      loom_json_string (line, "what", what);
      loom_json_string (line, "device", device);
      loom_json_number (line, "value", value);
      loom_json_string (line, "unit", unit);
      loom_json_string (line, "lecture", lecture);
      command_event_print (line);
      return;
    }
  printf ("%-*s %-8s %10.4g %-8s  %s\n", 44 + (int)strlen (what) - (int)g_utf8_strlen (what, -1), what, device, value, unit, lecture);
  command_flush ();
}

/* What is measured of a device that computes with all its threads. */
static gboolean
measure_device (LoomDevices *devices, const char *device, const BenchOptions *o, double *product, GError **error)
{
  const gboolean is_gpu = g_str_has_prefix (device, "cuda");
  double memory, copies;

  if (!bench_devices_probe ("matmul f32", is_gpu ? 4096 : 1024, devices, device, o, product, error)
      || !bench_devices_probe ("memory (a + b)", 1 << 24, devices, device, o, &memory, error)
      || !bench_devices_probe ("input from host", 1 << 24, devices, device, o, &copies, error))
    return FALSE;
  print_number (is_gpu ? "product of 4096 × 4096, tuned" : "product of 1024 × 1024, tuned", device, *product, "GFLOP/s",
                "", o->json);
  print_number ("memory, reading two numbers and writing one", device, memory, "GB/s", "448: GDDR6 of a card", o->json);
  print_number ("input copied from the host", device, copies, "GB/s", "16: PCI Express 3", o->json);
  return TRUE;
}

static void
print_card (const char *name, LoomDType precision, const char *what, const char *lecture, gboolean json)
{
  g_autofree char *names = NULL;
  const Card *card = card_find (name, &names);

  print_number (what, name, card_peak (card, precision) * 1e-12, "TFLOP/s", lecture, json);
}

int
bench_machine (const Command *command, const BenchOptions *o)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (o->threads);
  g_autoptr (GError) error = NULL;
  double naive, tuned, cpu, gpu;

  if (!o->json)
    printf ("%-44s %-8s %10s %-8s  %s\n", "what", "device", "here", "", "lecture");
  if (!bench_devices_probe ("matmul f32", NAIVE, devices, "ref", o, &naive, &error)
      || !bench_devices_probe ("matmul f32", NAIVE, devices, "cpu", o, &tuned, &error))
    return command_fail (command, g_steal_pointer (&error));
  print_number ("product of 256 × 256, three loops", "ref", naive, "GFLOP/s", "", o->json);
  print_number ("product of 256 × 256, tuned", "cpu", tuned, "GFLOP/s", "", o->json);
  print_number ("tuned to three loops", "cpu", tuned / naive, "×", "2.8 to 3.4: cuDNN to own CUDA kernels", o->json);
  if (!measure_device (devices, "cpu", o, &cpu, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (loom_devices_get (devices, "cuda:0", NULL) != NULL && bench_may_be_timed (devices, "cuda:0", NULL))
    {
      if (!measure_device (devices, "cuda:0", o, &gpu, &error))
        return command_fail (command, g_steal_pointer (&error));
      print_number ("product, GPU to processor", "cuda:0", gpu / cpu, "×", "66 to 76: whole networks", o->json);
    }
  print_card ("a100", LOOM_F32, "peak in f32, by its data sheet", "20: rounded", o->json);
  print_card ("a100", LOOM_F16, "peak of tensor cores, by its data sheet", "312", o->json);
  return 0;
}
