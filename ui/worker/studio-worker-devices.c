/* Finds the CPU devices that the nodes of a graph name (cpu:1, ref:2, …), to start a worker with that number, and maps
 * device names to those of the worker's list. */
#include <string.h>

#include "engine/loom.h"
#include "ui/worker/studio-worker.h"

#define MAX_CPU_DEVICES 64 /* limits the effect of a mistyped number */

static int
most_cpu_devices (const LoomElement *element)
{
  const char *device = loom_element_get (element, "device");
  int n = 1;

  if (device != NULL && (g_str_has_prefix (device, "cpu:") || g_str_has_prefix (device, "ref:")))
    n = MAX (n, (int)MIN (g_ascii_strtoull (device + strlen ("cpu:"), NULL, 10), MAX_CPU_DEVICES - 1) + 1);
  for (guint i = 0; i < loom_element_n_children (element); i++)
    n = MAX (n, most_cpu_devices (loom_element_child (element, i)));
  return n;
}

int
studio_worker_cpu_devices (const char *xml)
{
  g_autoptr (LoomFaults) faults = NULL;
  g_autoptr (LoomGraph) graph = NULL;

  /* Reading 20,000 nodes takes a tenth of a second, at each forecast of a run's memory. */
  if (strstr (xml, "cpu:") == NULL && strstr (xml, "ref:") == NULL && strchr (xml, '&') == NULL)
    return 1;
  faults = loom_faults_new ();
  graph = loom_graph_read_data (xml, strlen (xml), "", faults, NULL);
  return graph != NULL ? most_cpu_devices (loom_graph_root (graph)) : 1;
}

const char *
studio_worker_device_name (const char *device)
{
  return g_strcmp0 (device, "cuda") == 0 ? "cuda:0" : device;
}
