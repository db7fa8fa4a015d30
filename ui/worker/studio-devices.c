/* Runs `gradloom devices --json` and keeps the list of devices and their details. */
#include "ui/worker/studio-devices.h"

#include <glib/gi18n.h>
#include <json-glib/json-glib.h>

#include "ui/worker/studio-worker.h"

struct _StudioDevices
{
  GObject parent_instance;
  char **names;
  gboolean is_asking;
  GHashTable *details; /* device name → "2 threads" or a card's model */
};

G_DEFINE_FINAL_TYPE (StudioDevices, studio_devices, G_TYPE_OBJECT)

/* changed: another list of devices; details: the same devices with other details, such as free memory. */
static guint changed_signal, details_signal;

const char *const *
studio_devices_get_names (StudioDevices *self)
{
  return (const char *const *)self->names;
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
}

static void
answered_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  StudioDevices *self = data;
  g_autofree char *text = NULL;
  self->is_asking = FALSE;
  if (!g_subprocess_communicate_utf8_finish (G_SUBPROCESS (source), result, &text, NULL, NULL) || text == NULL)
    return;
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
  g_autoptr (GSubprocess) process = g_subprocess_new (
      G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE, NULL, program, "devices", "--json", NULL);
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
