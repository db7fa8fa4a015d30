/* Numbers that were changed while a run trained; see the header. */
#include "engine/train/live-changes.h"

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-json.h"
#include "engine/infer/loom-run-event.h"
#include "engine/infer/loom-run-files.h"
#include "engine/infer/loom-run-json.h"

#include <string.h>

#define MOST_LINE 4096 /* bytes */

static void
change_clear (gpointer data)
{
  g_free (((LiveChange *)data)->name);
}

void
live_changes_clear (LiveChanges *self)
{
  g_clear_pointer (&self->list, g_array_unref);
  self->next = 0;
}

/* A run may be resumed with another learning rate, and its graph.xml then has that one; the value "before" the first
 * change is the one with which it began. */
static gboolean
add_line (LiveChanges *self, const char *path, const char *line, gsize length, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) local = NULL;
  LiveChange change = { 0 };
  LoomRunJson json = { path, NULL };
  const char *name;
  double before;

  if (length > MOST_LINE || !loom_json_is_within (line, length, LOOM_JSON_LEVELS)
      || !json_parser_load_from_data (parser, line, (gssize)length, &local) || json_parser_get_root (parser) == NULL
      || !JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
    return loom_refuse (error, LOOM_ERROR_DATA, "%s has a damaged line, “%.*s”. Remove it.", path,
                        (int)MIN (length, 80), line);
  json.object = json_node_get_object (json_parser_get_root (parser));
  if (!loom_run_json_int (&json, "step", 0, (gint64)1 << 52, &change.step, error)
      || !loom_run_json_string (&json, "name", &name, error)
      || !loom_run_json_double (&json, "value", FALSE, &change.value, error))
    return FALSE;
  if (json_object_has_member (json.object, "before"))
    {
      LiveChange first = { .is_initial = TRUE };
      gboolean is_first = TRUE;

      if (!loom_run_json_double (&json, "before", FALSE, &before, error))
        return FALSE;
      for (guint i = 0; i < self->list->len; i++)
        is_first = is_first && !g_str_equal (g_array_index (self->list, LiveChange, i).name, name);
      first.name = g_strdup (name);
      first.value = before;
      if (is_first)
        g_array_prepend_val (self->list, first);
      else
        change_clear (&first);
    }
  change.name = g_strdup (name);
  g_array_append_val (self->list, change);
  return TRUE;
}

static int
compare (gconstpointer a, gconstpointer b)
{
  const gint64 x = ((const LiveChange *)a)->step, y = ((const LiveChange *)b)->step;

  return x < y ? -1 : x > y;
}

gboolean
live_changes_read (LiveChanges *self, LoomFolder *run, GError **error)
{
  g_autoptr (GMappedFile) file = loom_folder_map (run, LOOM_RUN_EVENTS, error);
  g_autofree char *path = loom_folder_path_of (run, LOOM_RUN_EVENTS);
  const char *line, *end;

  live_changes_clear (self);
  if (file == NULL)
    return FALSE;
  self->list = g_array_new (FALSE, FALSE, sizeof (LiveChange));
  g_array_set_clear_func (self->list, change_clear);
  line = g_mapped_file_get_contents (file);
  end = line != NULL ? line + g_mapped_file_get_length (file) : NULL;
  while (line < end)
    {
      const char *stop = memchr (line, '\n', (gsize)(end - line));
      const gsize length = (gsize)((stop != NULL ? stop : end) - line);

      if (loom_run_event_is (line, line + length, "hyper") && !add_line (self, path, line, length, error))
        return FALSE;
      line += length + 1;
    }
  g_array_sort (self->list, compare); /* documented as stable for equal steps */
  return TRUE;
}

void
live_changes_seek (LiveChanges *self, gint64 step)
{
  self->next = 0;
  while (self->list != NULL && self->next < self->list->len
         && g_array_index (self->list, LiveChange, self->next).step < step)
    self->next++;
}

gboolean
live_changes_are_due (const LiveChanges *self, gint64 step)
{
  return self->list != NULL && self->next < self->list->len
         && g_array_index (self->list, LiveChange, self->next).step <= step;
}

const LiveChange *
live_changes_next (LiveChanges *self, gint64 step)
{
  return live_changes_are_due (self, step) ? &g_array_index (self->list, LiveChange, self->next++) : NULL;
}
