/* Runs `gradloom devices --json`, or `gradloom remote devices HOST`, and keeps the list of devices and their details.
 */
#include "ui/worker/studio-devices.h"

#include <glib/gi18n.h>
#include <json-glib/json-glib.h>
#include <string.h>

#include "ui/worker/studio-worker.h"

struct _StudioDevices
{
  GObject parent_instance;
  char *host; /* NULL: this machine */
  char *fault;
  char **names;
  gboolean is_asking;
  GHashTable *details; /* device name → "2 threads" or a card's model */
  GHashTable *free;    /* device name → gint64, its free memory */
};

G_DEFINE_FINAL_TYPE (StudioDevices, studio_devices, G_TYPE_OBJECT)

/* changed: another list of devices; details: the same devices with other details, such as free memory. */
static guint changed_signal, details_signal;

const char *const *
studio_devices_get_names (StudioDevices *self)
{
  return (const char *const *)self->names;
}

const char *
studio_devices_get_fault (StudioDevices *self)
{
  return self->fault;
}

gint64
studio_devices_get_free (StudioDevices *self, const char *name)
{
  const gint64 *bytes = g_hash_table_lookup (self->free, name);

  return bytes != NULL ? *bytes : 0;
}

char *
studio_devices_describe (StudioDevices *self, const char *name)
{
  const char *detail = g_str_equal (name, "ref") ? _ ("reference: slow, to check the others")
                                                 : g_hash_table_lookup (self->details, name);
  return detail != NULL ? g_strdup_printf ("%s · %s", name, detail) : g_strdup (name);
}

/* For the CPU the number of threads; for a card its model, its memory and its free memory. */
static char *
dup_detail (JsonObject *object)
{
  gint64 threads = json_object_get_int_member_with_default (object, "threads", 0);
  const char *title = json_object_get_string_member_with_default (object, "title", NULL);
  gint64 total = json_object_get_int_member_with_default (object, "memory_total", 0);
  if (threads > 0)
    return g_strdup_printf (ngettext ("%d thread", "%d threads", (gulong)threads), (int)threads);
  if (title == NULL || total <= 0)
    return g_strdup (title);
  g_autofree char *all = g_format_size ((guint64)total);
  g_autofree char *left = g_format_size ((guint64)json_object_get_int_member_with_default (object, "memory_free", 0));
  return g_strdup_printf (_ ("%s · %s of %s free"), title, left, all);
}

/* Parses one line, {"event":"device","name":"cpu",…}; other events report devices that are unavailable. */
static void
add_device (StudioDevices *self, const char *line, GPtrArray *names)
{
  g_autoptr (JsonNode) node = *line == '{' ? json_from_string (line, NULL) : NULL;
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return;
  JsonObject *object = json_node_get_object (node);
  const char *event = json_object_get_string_member_with_default (object, "event", "");
  const char *name = json_object_get_string_member_with_default (object, "name", NULL);
  if (!g_str_equal (event, "device") || name == NULL)
    return;
  g_ptr_array_add (names, g_strdup (name));
  char *detail = dup_detail (object);
  if (detail != NULL)
    g_hash_table_insert (self->details, g_strdup (name), detail);
  const gint64 bytes = json_object_get_int_member_with_default (object, "memory_free", 0);
  g_hash_table_insert (self->free, g_strdup (name), g_memdup2 (&bytes, sizeof bytes));
}

/* The last line of a host's errors, without the name of the command. */
static void
set_fault (StudioDevices *self, const char *errors)
{
  static const char prefix[] = "gradloom remote: ";
  g_autofree char *text = g_strchomp (g_strdup (errors));
  const char *line = strrchr (text, '\n');

  line = line != NULL ? line + 1 : text;
  g_free (self->fault);
  self->fault = g_strdup (g_str_has_prefix (line, prefix) ? line + strlen (prefix) : line);
  g_clear_pointer (&self->names, g_strfreev);
  g_signal_emit (self, changed_signal, 0);
}

static void
answered_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  StudioDevices *self = data;
  g_autofree char *text = NULL, *errors = NULL;
  self->is_asking = FALSE;
  if (!g_subprocess_communicate_utf8_finish (G_SUBPROCESS (source), result, &text, &errors, NULL) || text == NULL)
    return;
  if (errors != NULL && !g_subprocess_get_successful (G_SUBPROCESS (source)))
    {
      set_fault (self, errors);
      return;
    }
  g_clear_pointer (&self->fault, g_free);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; lines[i] != NULL; i++)
    add_device (self, lines[i], names);
  if (names->len == 0)
    return;
  g_ptr_array_add (names, NULL);
  if (self->names != NULL && g_strv_equal ((const char *const *)self->names, (const char *const *)names->pdata))
    {
      g_signal_emit (self, details_signal, 0);
      return;
    }
  g_strfreev (self->names);
  self->names = (char **)g_ptr_array_steal (names, NULL);
  g_signal_emit (self, changed_signal, 0);
}

static void
ask (StudioDevices *self)
{
  g_autofree char *program = studio_worker_find_program (NULL);
  if (program == NULL)
    return;
  const char *const here[] = { program, "devices", "--json", NULL };
  const char *const there[] = { program, "remote", "devices", self->host, NULL };
  const GSubprocessFlags errors
      = self->host != NULL ? G_SUBPROCESS_FLAGS_STDERR_PIPE : G_SUBPROCESS_FLAGS_STDERR_SILENCE;
  g_autoptr (GSubprocess) process
      = g_subprocess_newv (self->host != NULL ? there : here, G_SUBPROCESS_FLAGS_STDOUT_PIPE | errors, NULL);
  self->is_asking = process != NULL;
  if (process != NULL)
    g_subprocess_communicate_utf8_async (process, NULL, NULL, answered_cb, self);
}

static void
studio_devices_class_init (StudioDevicesClass *klass)
{
  changed_signal
      = g_signal_new ("changed", STUDIO_TYPE_DEVICES, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  details_signal
      = g_signal_new ("details", STUDIO_TYPE_DEVICES, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
studio_devices_init (StudioDevices *self)
{
  self->details = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->free = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
}

StudioDevices *
studio_devices_get (void)
{
  static StudioDevices *devices;
  if (devices == NULL)
    {
      devices = g_object_new (STUDIO_TYPE_DEVICES, NULL);
      ask (devices);
    }
  return devices;
}

StudioDevices *
studio_devices_get_of (const char *host)
{
  static GHashTable *hosts;
  StudioDevices *devices;

  if (host == NULL)
    return studio_devices_get ();
  if (hosts == NULL)
    hosts = g_hash_table_new (g_str_hash, g_str_equal);
  devices = g_hash_table_lookup (hosts, host);
  if (devices != NULL)
    return devices;
  devices = g_object_new (STUDIO_TYPE_DEVICES, NULL);
  devices->host = g_strdup (host);
  g_hash_table_insert (hosts, devices->host, devices);
  return devices;
}

void
studio_devices_ask_host (StudioDevices *self)
{
  if (self->host != NULL && !self->is_asking)
    ask (self);
}

const char *
studio_devices_stand_in (const char *device)
{
  const char *const *names = studio_devices_get_names (studio_devices_get ());

  return names != NULL && g_strv_contains (names, device) ? device : "cpu";
}

void
studio_devices_ask_again (StudioDevices *self)
{
  for (guint i = 0; !self->is_asking && self->names != NULL && self->names[i] != NULL; i++)
    if (g_str_has_prefix (self->names[i], "cuda"))
      {
        ask (self);
        return;
      }
}
