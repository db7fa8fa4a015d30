/* The registry of devices (LoomDevices): opens each device once, by name, and shares it among plans. The file also
 * counts the processors for CPU threads, checks the free memory of a device before a large allocation, and converts
 * statuses of back ends to errors with a remedy.
 *
 * ref and cpu are linked in. Other back ends are modules that are loaded when one of their devices is requested. So a
 * program on a machine without CUDA starts no slower, and a request for a GPU fails with one sentence. A new back end
 * is a row in `backends` and, if it is a module, in `module_backends`. */
#include "engine/core/loom-bytes.h"
#include "engine/core/loom-module.h"
#include "engine/core/loom-refuse.h"
#include "engine/core/loom-tensor.h"
#include "engine/plan/loom-devices.h"

#include <stdlib.h>
#include <string.h>

struct _LoomDevices
{
  gatomicrefcount refs;
  int threads, local_rank;
  LoomCostTable *costs;
  GMutex lock;
  GPtrArray *open;     /* back end's name → const LoomBackend*; NULL if its module could not be loaded */
  GHashTable *modules; /* back end's name → const LoomBackend* (NULL when it could not be loaded) */
  GHashTable *tools;   /* back end's name → const LoomBackendTools* */
  GHashTable *why_not; /* back end's name → why its module could not be loaded */
};

static const char *const backends[] = { "cpu", "ref", "cuda", NULL };
static const char *const module_backends[] = { "cuda", NULL };

static void
device_free (LoomPlanDevice *d)
{
  d->backend->device_close (d->device);
  loom_cost_table_unref (d->costs);
  g_free (d->cost_key);
  g_free (d->name);
  g_free (d);
}

LoomDevices *
loom_devices_new (int threads)
{
  LoomDevices *devices = g_new0 (LoomDevices, 1);

  g_atomic_ref_count_init (&devices->refs);
  g_mutex_init (&devices->lock);
  devices->threads = threads;
  devices->open = g_ptr_array_new_with_free_func ((GDestroyNotify)device_free);
  devices->modules = g_hash_table_new (g_str_hash, g_str_equal);
  devices->tools = g_hash_table_new (g_str_hash, g_str_equal);
  devices->why_not = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  return devices;
}

LoomDevices *
loom_devices_ref (LoomDevices *devices)
{
  g_atomic_ref_count_inc (&devices->refs);
  return devices;
}

void
loom_devices_unref (LoomDevices *devices)
{
  if (devices == NULL || !g_atomic_ref_count_dec (&devices->refs))
    return;
  g_ptr_array_unref (devices->open);
  g_hash_table_unref (devices->modules);
  g_hash_table_unref (devices->tools);
  g_hash_table_unref (devices->why_not);
  loom_cost_table_unref (devices->costs);
  g_mutex_clear (&devices->lock);
  g_free (devices);
}

void
loom_devices_set_local_rank (LoomDevices *devices, int rank)
{
  devices->local_rank = rank;
}

LoomCostTable *
loom_devices_costs (LoomDevices *devices)
{
  g_mutex_lock (&devices->lock);
  if (devices->costs == NULL)
    devices->costs = loom_cost_table_new_default ();
  g_mutex_unlock (&devices->lock);
  return devices->costs;
}

void
loom_devices_set_costs (LoomDevices *devices, LoomCostTable *costs)
{
  g_mutex_lock (&devices->lock);
  g_warn_if_fail (devices->open->len == 0);
  loom_cost_table_ref (costs);
  loom_cost_table_unref (devices->costs);
  devices->costs = costs;
  g_mutex_unlock (&devices->lock);
}

/* Finds the tools of a back end's module. A module may have none, or tools of another version, which are not used. */
static void
find_tools (LoomDevices *devices, const char *name, GModule *module)
{
  gpointer entry = NULL;
  const LoomBackendTools *tools;

  if (!g_module_symbol (module, LOOM_TOOLS_ENTRY, &entry))
    return;
  tools = ((LoomToolsEntry)entry) ();
  if (tools->abi == LOOM_TOOLS_ABI)
    g_hash_table_insert (devices->tools, (gpointer)g_intern_string (name), (gpointer)tools);
}

static const LoomBackend *
find_backend (LoomDevices *devices, const char *name, const char **why)
{
  const LoomBackend *backend = NULL;
  GModule *module;
  char *sentence = NULL;
  gpointer entry = NULL;

  if (strcmp (name, "ref") == 0)
    return loom_backend_ref ();
  if (strcmp (name, "cpu") == 0)
    return loom_backend_cpu ();
  if (!g_strv_contains (module_backends, name))
    {
      *why = NULL;
      return NULL;
    }
  if (g_hash_table_contains (devices->modules, name))
    {
      *why = g_hash_table_lookup (devices->why_not, name);
      return g_hash_table_lookup (devices->modules, name);
    }
  module = loom_module_open (name, name, &sentence);
  if (module != NULL)
    {
      if (!g_module_symbol (module, LOOM_BACKEND_ENTRY, &entry))
        sentence = g_strdup_printf ("the %s module has no entry point", name);
      else
        {
          backend = ((LoomBackendEntry)entry) ();
          if (backend->abi != LOOM_BACKEND_ABI)
            {
              sentence = g_strdup_printf ("the %s module has version %u of the back-end interface, but this program "
                                          "needs %u",
                                          name, backend->abi, (guint)LOOM_BACKEND_ABI);
              backend = NULL;
            }
          else
            find_tools (devices, name, module);
        }
    }
  name = g_intern_string (name);
  g_hash_table_insert (devices->modules, (gpointer)name, (gpointer)backend);
  if (sentence != NULL)
    g_hash_table_insert (devices->why_not, (gpointer)name, sentence);
  *why = sentence;
  return backend;
}

/* "cuda:1" → "cuda", 1. FALSE if the text is not a device's name. */
static gboolean
split_name (const char *name, char **backend, int *index)
{
  const char *colon = strchr (name, ':');
  guint64 n = 0;

  if (colon != NULL && !g_ascii_string_to_unsigned (colon + 1, 10, 0, 1023, &n, NULL))
    return FALSE;
  *backend = colon != NULL ? g_strndup (name, (gsize)(colon - name)) : g_strdup (name);
  *index = (int)n;
  return **backend != '\0';
}

static gboolean
is_virtual (const LoomBackend *backend)
{
  return strcmp (backend->name, "cpu") == 0 || strcmp (backend->name, "ref") == 0;
}

static char *
name_of (const LoomBackend *backend, int index)
{
  return index > 0 || !is_virtual (backend) ? g_strdup_printf ("%s:%d", backend->name, index)
                                            : g_strdup (backend->name);
}

/* The names of all available devices; the caller holds the lock. */
static char *
list_names (LoomDevices *devices)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  for (guint n = 0; backends[n] != NULL; n++)
    {
      const char *why = NULL;
      const LoomBackend *backend = find_backend (devices, backends[n], &why);
      LoomMessage message = { "" };
      int count = backend != NULL ? backend->device_count (&message) : 0;

      for (int i = 0; i < count; i++)
        g_ptr_array_add (names, name_of (backend, i));
    }
  g_ptr_array_add (names, NULL);
  return g_strjoinv (", ", (char **)names->pdata);
}

/* Adds an open device under a name. */
static LoomPlanDevice *
add_open (LoomDevices *devices, const LoomBackend *backend, LoomDevice *device, const char *name)
{
  LoomPlanDevice *d = g_new0 (LoomPlanDevice, 1);

  d->backend = backend;
  d->tools = g_hash_table_lookup (devices->tools, backend->name);
  d->device = device;
  backend->device_info (device, &d->info);
  if (devices->costs == NULL)
    devices->costs = loom_cost_table_new_default ();
  d->costs = loom_cost_table_ref (devices->costs);
  d->cost_key = loom_cost_device_key (backend->name, &d->info);
  d->name = g_strdup (name);
  g_ptr_array_add (devices->open, d);
  return d;
}

/* Opens the device of a back end, and adds it under a name. */
static LoomPlanDevice *
add_device (LoomDevices *devices, const LoomBackend *backend, int index, const char *name, GError **error)
{
  LoomMessage message = { "" };
  LoomDevice *device;
  LoomPlanDevice *d;
  LoomStatus status = backend->device_open (index, devices->threads, &device, &message);

  if (status != LOOM_STATUS_OK)
    {
      g_autofree char *where = g_strdup_printf ("Device %s cannot be used", name);

      loom_plan_device_error (status, where, message.text, error);
      return NULL;
    }
  d = add_open (devices, backend, device, name);
  loom_cost_table_check_device (d->costs, backend->name, d->cost_key);
  return d;
}

LoomDevices *
loom_devices_new_part (const LoomPlanDevice *device, GError **error)
{
  LoomMessage message = { "" };
  LoomDevices *part;
  LoomDevice *opened;
  LoomStatus status = device->backend->part_open (device->device, &opened, &message);

  if (status != LOOM_STATUS_OK)
    {
      loom_plan_device_error (status, "A part of a loop cannot be planned", message.text, error);
      return NULL;
    }
  part = loom_devices_new (1);
  part->costs = loom_cost_table_ref (device->costs);
  add_open (part, device->backend, opened, device->name);
  return part;
}

static LoomPlanDevice *
find_open (LoomDevices *devices, const char *name)
{
  for (guint i = 0; i < devices->open->len; i++)
    {
      LoomPlanDevice *d = g_ptr_array_index (devices->open, i);

      if (strcmp (d->name, name) == 0)
        return d;
    }
  return NULL;
}

static LoomPlanDevice *
open_device (LoomDevices *devices, const LoomBackend *backend, int index, GError **error)
{
  g_autofree char *name = name_of (backend, index);
  LoomPlanDevice *open = find_open (devices, name);
  LoomMessage message = { "" };
  int count;

  if (open != NULL)
    return open;
  count = backend->device_count (&message);
  if (index < count)
    return add_device (devices, backend, index, name, error);
  if (count > 0 || message.text[0] == '\0')
    {
      g_autofree char *names = list_names (devices);

      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE,
                   "There is no device %s: this machine has %d of that kind%s%s%s. The devices of this machine are "
                   "%s.%s",
                   name, count, message.text[0] != '\0' ? " (" : "", message.text, message.text[0] != '\0' ? ")" : "",
                   names, is_virtual (backend) ? " Set GRADLOOM_CPU_DEVICES for more virtual ones." : "");
    }
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE, "There is no device %s: %s. Use device cpu.", name,
                 message.text);
  return NULL;
}

gboolean
loom_devices_add_absent (LoomDevices *devices, const char *name, const char *title, gint64 memory, GError **error)
{
  LoomPlanDevice *d;

  g_mutex_lock (&devices->lock);
  d = add_device (devices, loom_backend_cpu (), 0, name, error);
  if (d != NULL)
    {
      g_strlcpy (d->info.name, title, sizeof d->info.name);
      d->info.memory_total = d->info.memory_free = (uint64_t)memory;
      d->is_absent = TRUE;
    }
  g_mutex_unlock (&devices->lock);
  return d != NULL;
}

gboolean
loom_devices_check_name (LoomDevices *devices, const char *name, GError **error)
{
  g_autofree char *backend = NULL, *names = NULL;
  int index;

  g_return_val_if_fail (devices != NULL && name != NULL, FALSE);

  if (split_name (name, &backend, &index) && g_strv_contains (backends, backend))
    return TRUE;
  g_mutex_lock (&devices->lock);
  names = list_names (devices);
  g_mutex_unlock (&devices->lock);
  return loom_refuse (error, LOOM_ERROR_SCHEMA, "“%s” is not a device. The devices of this machine are %s.", name,
                      names);
}

LoomPlanDevice *
loom_devices_get (LoomDevices *devices, const char *name, GError **error)
{
  g_autofree char *backend_name = NULL;
  const LoomBackend *backend;
  const char *why = NULL;
  LoomPlanDevice *device = NULL;
  int index;

  g_return_val_if_fail (devices != NULL && name != NULL, NULL);

  if (!loom_devices_check_name (devices, name, error) || !split_name (name, &backend_name, &index))
    return NULL;
  g_mutex_lock (&devices->lock);
  device = find_open (devices, name); /* also one that this machine lacks */
  backend = device == NULL ? find_backend (devices, backend_name, &why) : NULL;
  if (backend != NULL && devices->local_rank > 0 && strchr (name, ':') == NULL && !is_virtual (backend))
    {
      LoomMessage message;

      index = devices->local_rank % MAX (backend->device_count (&message), 1);
    }
  if (backend != NULL)
    device = open_device (devices, backend, index, error);
  else if (device == NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE, "There is no device %s: %s. Use device cpu.", name, why);
  g_mutex_unlock (&devices->lock);
  return device;
}

const LoomBackendTools *
loom_devices_find_tools (LoomDevices *devices, const char *name)
{
  g_autofree char *backend = NULL;
  const LoomBackendTools *tools = NULL;
  const char *why = NULL;
  int index;

  g_return_val_if_fail (devices != NULL && name != NULL, NULL);

  if (!split_name (name, &backend, &index) || !g_strv_contains (backends, backend))
    return NULL;
  g_mutex_lock (&devices->lock);
  if (find_backend (devices, backend, &why) != NULL)
    tools = g_hash_table_lookup (devices->tools, backend);
  g_mutex_unlock (&devices->lock);
  return tools;
}

const char *
loom_devices_for_dtype (LoomDevices *devices, const char *name, LoomDType float_type)
{
  g_autofree char *backend = NULL, *exact = NULL;
  const char *only = loom_dtype_backend (float_type);
  int index;

  g_return_val_if_fail (devices != NULL, NULL);

  if (name == NULL || only == NULL)
    return name;
  if (!split_name (name, &backend, &index))
    return NULL;
  exact = index > 0 ? g_strdup_printf ("%s:%d", only, index) : g_strdup (only);
  return loom_devices_get (devices, exact, NULL) != NULL ? g_intern_string (exact) : NULL;
}

void
loom_devices_foreach (LoomDevices *devices, LoomDeviceFunc func, gpointer data)
{
  for (guint n = 0; backends[n] != NULL; n++)
    {
      const char *why = NULL;
      const LoomBackend *backend = find_backend (devices, backends[n], &why);
      LoomMessage message = { "" };
      int count = backend != NULL ? backend->device_count (&message) : 0;

      if (count == 0)
        func (backends[n], NULL, why != NULL ? why : message.text, data);
      for (int i = 0; i < count; i++)
        {
          g_autoptr (GError) error = NULL;
          g_autofree char *name = g_strdup_printf ("%s:%d", backends[n], i);
          LoomPlanDevice *d = loom_devices_get (devices, name, &error);

          func (d != NULL ? d->name : name, d != NULL ? &d->info : NULL, error != NULL ? error->message : NULL, data);
        }
    }
}

int
loom_processors (void)
{
  const LoomBackend *cpu = loom_backend_cpu ();
  LoomMessage message = { "" };
  LoomDeviceInfo info = { .threads = 1 };
  LoomDevice *device;

  if (cpu->device_open (0, 0, &device, &message) == LOOM_STATUS_OK)
    {
      cpu->device_info (device, &info);
      cpu->device_close (device);
    }
  return info.threads;
}

int
loom_processors_of_rank (const LoomComm *comm)
{
  return MAX (1, loom_processors () / (comm != NULL ? comm->cpu_sharers : 1));
}

char *
loom_threads_warning (int threads)
{
  int processors = loom_processors ();

  if (threads <= processors)
    return NULL;
  return g_strdup_printf ("%d threads are more than the %d processor%s available to this process; %d %s used.", threads,
                          processors, processors == 1 ? "" : "s", processors, processors == 1 ? "is" : "are");
}

/* Smaller allocations are not checked beforehand: reading the free memory takes a file or a driver call. */
#define SMALL (64u << 20)

void
loom_plan_device_out_of_memory (LoomPlanDevice *device, gsize bytes, const char *what, const char *why, GError **error)
{
  g_autofree char *wanted = loom_bytes_to_string ((double)bytes), *there = NULL;
  LoomDeviceInfo now;

  device->backend->device_info (device->device, &now);
  there = loom_bytes_to_string ((double)now.memory_free);
  if (now.memory_free >= bytes && why != NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY,
                   "%s needs %s on %s, which could not allocate them although %s are free (%s). Another program may "
                   "use that memory: start again, or use a smaller batch or another device.",
                   what, wanted, device->name, there, why);
      return;
    }
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY,
               "%s needs %s on %s, which has %s free%s%s%s. Use a smaller batch, smaller layers, or another device.",
               what, wanted, device->name, there, why != NULL ? " (" : "", why != NULL ? why : "",
               why != NULL ? ")" : "");
}

void
loom_plan_device_error (LoomStatus status, const char *where, const char *why, GError **error)
{
  static const struct
  {
    LoomErrorCode code;
    const char *what, *hint;
  } of[] = {
    [LOOM_STATUS_UNSUPPORTED]
    = { LOOM_ERROR_NO_KERNEL, "the device cannot compute this", " Use another device, such as cpu." },
    [LOOM_STATUS_OUT_OF_MEMORY] = { LOOM_ERROR_OUT_OF_MEMORY, "the device is out of memory",
                                    " Use a smaller batch, smaller layers, or another device." },
    [LOOM_STATUS_DEVICE]
    = { LOOM_ERROR_DEVICE, "the device failed", " Try again; if it fails again, use another device, such as cpu." },
    [LOOM_STATUS_INVALID]
    = { LOOM_ERROR_DEVICE, "the device received an invalid call",
        " This is a bug in Gradloom, not in the graph: use another device, such as ref, and report it." },
    [LOOM_STATUS_INDEX]
    = { LOOM_ERROR_DATA, "an index is out of range",
        " Check the class numbers or indices in the data, or give the layer that they index (the last one before the "
        "loss, or the embedding) enough outputs." },
    [LOOM_STATUS_NO_RESULT] = { LOOM_ERROR_DATA, "no result is available", " Check the numbers in the data." },
    [LOOM_STATUS_NOT_FINITE] = { LOOM_ERROR_NAN, LOOM_NOT_FINITE_TEXT, "" },
    [LOOM_STATUS_DEVICE_LOST]
    = { LOOM_ERROR_DEVICE, "the device is lost", " Its memory is lost: use another device, or restart the program." },
  };
  const char *hint;

  g_return_if_fail (status > LOOM_STATUS_OK && status < G_N_ELEMENTS (of));

  hint = of[status].hint;
  g_set_error (error, LOOM_ERROR, of[status].code, "%s: %s%s%s", where, why[0] != '\0' ? why : of[status].what,
               hint[0] != '\0' ? "." : "", hint);
}

gboolean
loom_plan_device_fits (LoomPlanDevice *device, gsize bytes, const char *what, GError **error)
{
  LoomDeviceInfo now; /* a copy, because several threads may query the device */

  if (bytes < SMALL)
    return TRUE;
  device->backend->device_info (device->device, &now);
  if (now.memory_free == 0 || bytes <= now.memory_free)
    return TRUE;
  loom_plan_device_out_of_memory (device, bytes, what, NULL, error);
  return FALSE;
}
