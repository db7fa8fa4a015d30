/* Prints the source of kernels; see the header. */
#include "app/shared/plan-source.h"

#include "app/shared/command.h"
#include "app/shared/thread-picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const region_name[LOOM_N_REGIONS] = { "forward", "backward", "update" };

const char *
plan_source_device (LoomDevices *devices, const char *device, const LoomBackendTools **tools)
{
  *tools = loom_devices_get (devices, device, NULL) == NULL ? loom_devices_find_tools (devices, device) : NULL;
  return *tools != NULL ? "cpu" : device;
}

static gboolean
is_in (const char *path, const char *node)
{
  gsize n = strlen (node);

  return strncmp (path, node, n) == 0 && (path[n] == '\0' || path[n] == '.');
}

static void
print_json (const LoomPlanCall *call, const char *device, const char *text, const char *why)
{
  LoomJson *b = command_event_new ("source");

  loom_json_begin_array (b, "nodes");
  for (guint i = 0; i < call->n_nodes; i++)
    loom_json_string (b, NULL, call->node[i]);
  loom_json_end_array (b);
  loom_json_string (b, "label", call->label);
  loom_json_string (b, "region", region_name[call->region]);
  loom_json_string (b, "device", device);
  loom_json_string (b, "algorithm", call->algorithm);
  loom_json_string (b, "kernel", call->kernel->name);
  loom_json_string (b, "source", text);
  loom_json_string (b, "why", why);
  command_event_print (b);
}

/* The plan's kernel has a name; for a device that this machine lacks only the back end can name it. */
static char *
computed_by (const PlanSource *self, const LoomPlanCall *call, const char *why)
{
  if (self->tools != NULL)
    return g_strdup (why);
  if (call->algorithm == NULL || g_str_has_prefix (call->kernel->name, call->algorithm))
    return g_strdup (call->kernel->name);
  return g_strdup_printf ("%s: %s", call->algorithm, call->kernel->name);
}

/* Prints the kernel from its formula on, and the launch. The definitions before it are the same for every kernel: types
 * of elements, their conversions, and the names of functions. */
static void
print_kernel (const char *text, const ThreadGrid *grid)
{
  const char *kernel = strstr (text, "__device__ __forceinline__ void program (");
  guint n = 0;

  if (kernel == NULL)
    kernel = text;
  for (const char *at = text; at < kernel; at++)
    n += *at == '\n';
  printf ("\n%s", kernel);
  if (grid->threads > 0)
    printf ("// launch: %" G_GINT64_FORMAT " blocks of %d threads for %" G_GINT64_FORMAT
            " elements; thread t of block b "
            "begins with "
            "element %d (%d b + t)\n",
            thread_grid_blocks (grid), grid->threads, grid->count, grid->vector, grid->threads);
  if (n > 0)
    printf ("// T, load, store and Four are defined in %u lines before it, which --json prints, too\n", n);
  printf ("\n");
}

void
plan_source_call (const LoomPlanCall *call, gpointer data)
{
  PlanSource *self = data;
  const LoomBackendTools *tools = self->tools != NULL ? self->tools : call->device->tools;
  const char *device = self->tools != NULL ? self->device : call->device->name;
  g_autofree char *by = NULL;
  LoomMessage message = { "" };
  ThreadGrid grid = { 0 };
  char *text = NULL;
  gboolean wanted = FALSE, has_grid;

  for (guint i = 0; i < call->n_nodes; i++)
    wanted |= is_in (call->node[i], self->node);
  if (!wanted)
    return;
  self->n++;
  if (tools != NULL)
    tools->kernel_source (call->spec, &text, &message);
  has_grid = text != NULL && thread_grid_read (text, call->spec, &grid);
  if (has_grid && self->picture != NULL && self->drawing == NULL)
    {
      g_autofree char *title = g_strdup_printf ("%s: %s", self->node, call->label);

      self->drawing = thread_grid_draw (&grid, title);
    }
  by = text == NULL ? computed_by (self, call, message.text) : NULL;
  if (self->json)
    print_json (call, device, text, by);
  else
    {
      printf ("// ");
      for (guint i = 0; i < call->n_nodes; i++)
        printf ("%s%s", i > 0 ? " + " : "", call->node[i]);
      printf (": %s, %s, on %s", call->label, region_name[call->region], device);
      if (text != NULL && self->tools == NULL)
        printf (": %s", call->kernel->name);
      if (text != NULL)
        print_kernel (text, &grid);
      else
        printf ("\n//   is computed by %s; no source is compiled for it at run time\n", by);
    }
  free (text);
}

gboolean
plan_source_end (PlanSource *self, const LoomGraph *graph, GError **error)
{
  g_autoptr (LoomNet) net = NULL;

  if (self->drawing != NULL && !loom_file_replace (self->picture, self->drawing, strlen (self->drawing), error))
    return FALSE;
  if (self->n > 0 && self->picture != NULL && self->drawing == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "%s has no kernel whose source is compiled at run time, so --picture has no threads to draw.",
                   self->node);
      return FALSE;
    }
  if (self->n > 0)
    return TRUE;
  net = loom_net_new (graph, NULL, NULL);
  for (guint i = 0; net != NULL && i < loom_net_n_nodes (net); i++)
    if (is_in (loom_net_node (net, i)->path, self->node))
      {
        if (!self->json)
          printf ("// %s has no kernel: it is data, a weight, a constant, a view of another value, or is fused\n"
                  "// into another node's kernel\n",
                  self->node);
        return TRUE;
      }
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "The graph has no node “%s”; gradloom check lists them.",
               self->node);
  return FALSE;
}
