/* Implements step-memory.h. */
#include "ui/drawing/step-memory.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/scene/studio-format.h"

static const char *const phase_names[] = { "setup", "forward", "backward", "update" };

static void
clear_moment (StudioMoment *moment)
{
  g_free (moment->node);
  g_free (moment->label);
}

static void
clear_storage (StudioStorage *storage)
{
  g_free (storage->node);
  g_free (storage->name);
}

void
studio_step_memory_free (StudioStepMemory *self)
{
  g_free (self->device);
  g_array_unref (self->moments);
  g_array_unref (self->storages);
  g_free (self);
}

/* ---- events ---------------------------------------------------------------------- */

static const char *
text_of (JsonObject *event, const char *name)
{
  return json_object_get_string_member_with_default (event, name, NULL);
}

static guint64
number_of (JsonObject *event, const char *name)
{
  return (guint64)MAX (json_object_get_int_member_with_default (event, name, 0), 0);
}

static gboolean
is_event (JsonObject *event, const char *name)
{
  return g_strcmp0 (text_of (event, "event"), name) == 0;
}

static guint
part_of (JsonObject *event)
{
  return g_strcmp0 (text_of (event, "part"), "update") == 0;
}

guint
studio_step_memory_phase (const char *name)
{
  for (guint i = 0; name != NULL && i < G_N_ELEMENTS (phase_names); i++)
    if (strcmp (name, phase_names[i]) == 0)
      return i;
  return 0;
}

static guint64
total_of (JsonObject *event)
{
  guint64 total = 0;

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    total += number_of (event, loom_owner_name ((LoomOwner)o));
  return total;
}

/* TRUE for a step with its memory: those of a loop's body have none. */
static gboolean
is_moment (JsonObject *event)
{
  return is_event (event, "step") && number_of (event, "depth") == 0 && text_of (event, "device") != NULL;
}

static const char *
fullest_device (GPtrArray *events)
{
  const char *device = NULL;
  guint64 most = 0;

  for (guint i = 0; i < events->len; i++)
    if (is_moment (events->pdata[i]) && (device == NULL || total_of (events->pdata[i]) > most))
      {
        most = total_of (events->pdata[i]);
        device = text_of (events->pdata[i], "device");
      }
  return device;
}

static void
add_moment (StudioStepMemory *self, JsonObject *event)
{
  StudioMoment moment = { .part = part_of (event),
                          .index = (guint)number_of (event, "index"),
                          .phase = studio_step_memory_phase (text_of (event, "phase")),
                          .node = g_strdup (text_of (event, "node")),
                          .label = g_strdup (text_of (event, "label")),
                          .total = total_of (event) };

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    moment.bytes[o] = number_of (event, loom_owner_name ((LoomOwner)o));
  if (self->moments->len > 0 && moment.total > studio_step_memory_moment (self, self->peak)->total)
    self->peak = self->moments->len;
  g_array_append_val (self->moments, moment);
}

static void
add_storage (StudioStepMemory *self, JsonObject *event)
{
  StudioStorage storage = { .part = part_of (event),
                            .first = (guint)number_of (event, "first"),
                            .last = (guint)number_of (event, "last"),
                            .node = g_strdup (text_of (event, "node")),
                            .name = g_strdup (text_of (event, "name")),
                            .owner = LOOM_OWNER_WORKSPACE,
                            .bytes = number_of (event, "bytes") };

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    if (g_strcmp0 (text_of (event, "owner"), loom_owner_name ((LoomOwner)o)) == 0)
      storage.owner = (LoomOwner)o;
  g_array_append_val (self->storages, storage);
}

StudioStepMemory *
studio_step_memory_new (GPtrArray *events)
{
  const char *device = fullest_device (events);
  StudioStepMemory *self;

  if (device == NULL)
    return NULL;
  self = g_new0 (StudioStepMemory, 1);
  self->device = g_strdup (device);
  self->moments = g_array_new (FALSE, FALSE, sizeof (StudioMoment));
  self->storages = g_array_new (FALSE, FALSE, sizeof (StudioStorage));
  g_array_set_clear_func (self->moments, (GDestroyNotify)clear_moment);
  g_array_set_clear_func (self->storages, (GDestroyNotify)clear_storage);
  for (guint i = 0; i < events->len; i++)
    {
      JsonObject *event = events->pdata[i];

      if (g_strcmp0 (text_of (event, "device"), device) != 0)
        continue;
      if (is_moment (event))
        add_moment (self, event);
      else if (is_event (event, "storage"))
        add_storage (self, event);
    }
  return self;
}

/* ---- questions --------------------------------------------------------------------- */

const StudioMoment *
studio_step_memory_moment (const StudioStepMemory *self, guint i)
{
  return &g_array_index (self->moments, StudioMoment, i);
}

static int
compare_bytes (gconstpointer a, gconstpointer b)
{
  const StudioStorage *x = *(StudioStorage *const *)a, *y = *(StudioStorage *const *)b;

  return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

GPtrArray *
studio_step_memory_alive (const StudioStepMemory *self, guint moment)
{
  const StudioMoment *at = studio_step_memory_moment (self, moment);
  GPtrArray *alive = g_ptr_array_new ();

  for (guint i = 0; i < self->storages->len; i++)
    {
      StudioStorage *s = &g_array_index (self->storages, StudioStorage, i);

      if (s->part == at->part && s->first <= at->index && s->last >= at->index)
        g_ptr_array_add (alive, s);
    }
  g_ptr_array_sort (alive, compare_bytes);
  return alive;
}

const char *
studio_step_memory_owner (LoomOwner owner)
{
  static const char *const names[LOOM_N_OWNERS] = {
    [LOOM_OWNER_PARAMETERS] = N_ ("parameters"), [LOOM_OWNER_GRADIENTS] = N_ ("gradients"),
    [LOOM_OWNER_OPTIMIZER] = N_ ("optimizer"),   [LOOM_OWNER_ACTIVATIONS] = N_ ("activations"),
    [LOOM_OWNER_WORKSPACE] = N_ ("workspace"),   [LOOM_OWNER_DATA] = N_ ("data"),
  };

  return _ (names[owner]);
}

#define MOST_NAMED 3

char *
studio_step_memory_describe (const StudioStepMemory *self, guint moment)
{
  const StudioMoment *at = studio_step_memory_moment (self, moment);
  g_autoptr (GPtrArray) alive = studio_step_memory_alive (self, moment);
  g_autofree char *all = loom_bytes_to_string ((double)at->total), *number = studio_format_count (at->index);
  g_autoptr (GString) largest = g_string_new (NULL);

  for (guint i = 0; i < MIN (alive->len, MOST_NAMED); i++)
    {
      const StudioStorage *s = alive->pdata[i];
      g_autofree char *bytes = loom_bytes_to_string ((double)s->bytes);

      g_string_append_printf (largest, "%s%s%s%s %s", i > 0 ? ", " : "",
                              s->name != NULL   ? s->name
                              : s->node != NULL ? s->node
                                                : "",
                              s->name == NULL && s->node != NULL ? " " : "",
                              s->name != NULL ? "" : studio_step_memory_owner (s->owner), bytes);
    }
  g_string_replace (largest, "  ", " ", 0);
  /* Translators: the number of an instruction, its layer, its operations, bytes, and the largest values with theirs. */
  return g_strdup_printf (_ ("Step %1$s, %2$s %3$s: %4$s alive. Largest: %5$s."), number,
                          at->node != NULL ? at->node : "·", at->label != NULL ? at->label : "", all, largest->str);
}

/* In quotes if it has a comma or a quote. */
static void
append_field (GString *csv, const char *text)
{
  if (text != NULL && strpbrk (text, ",\"\n") != NULL)
    {
      g_auto (GStrv) parts = g_strsplit (text, "\"", -1);
      g_autofree char *doubled = g_strjoinv ("\"\"", parts);

      g_string_append_printf (csv, ",\"%s\"", doubled);
    }
  else
    g_string_append_printf (csv, ",%s", text != NULL ? text : "");
}

char *
studio_step_memory_to_csv (const StudioStepMemory *self)
{
  GString *csv = g_string_new ("step,phase,node,operations");

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    g_string_append_printf (csv, ",%s", loom_owner_name ((LoomOwner)o));
  g_string_append_c (csv, '\n');
  for (guint i = 0; i < self->moments->len; i++)
    {
      const StudioMoment *moment = studio_step_memory_moment (self, i);

      g_string_append_printf (csv, "%u,%s", moment->index, phase_names[moment->phase]);
      append_field (csv, moment->node);
      append_field (csv, moment->label);
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        g_string_append_printf (csv, ",%" G_GUINT64_FORMAT, moment->bytes[o]);
      g_string_append_c (csv, '\n');
    }
  return g_string_free (csv, FALSE);
}
