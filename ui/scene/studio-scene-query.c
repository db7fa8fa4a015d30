/* Queries of a finished scene: elements, ports, paths along wires; and waypoints as written in files. */
#include "ui/scene/studio-scene.h"

#include <math.h>
#include <string.h>


static guint
index_of (const StudioScene *scene, gpointer found)
{
  return found != NULL ? g_array_index (scene->slots, guint, GPOINTER_TO_UINT (found) - 1) : STUDIO_NO_ITEM;
}

guint
studio_scene_find (const StudioScene *scene, guint64 serial)
{
  return index_of (scene, g_hash_table_lookup (scene->by_serial, GSIZE_TO_POINTER (serial)));
}

guint
studio_scene_find_card (const StudioScene *scene, const char *id)
{
  return index_of (scene, g_hash_table_lookup (scene->by_id, id));
}

guint
studio_scene_n_frames (const StudioScene *scene)
{
  guint n = 0;

  while (n < scene->n_items && scene->item[scene->n_items - 1 - n].is_frame)
    n++;
  return n;
}

guint
studio_scene_find_link (const StudioScene *scene, guint64 serial)
{
  for (guint i = 0; i < scene->n_links; i++)
    if (scene->link[i].serial == serial)
      return i;
  return STUDIO_NO_ITEM;
}

guint
studio_scene_find_annotation (const StudioScene *scene, guint64 serial)
{
  for (guint i = 0; i < scene->n_annotations; i++)
    if (scene->annotation[i].serial == serial)
      return i;
  return STUDIO_NO_ITEM;
}

guint
studio_scene_find_id (const StudioScene *scene, const char *id)
{
  for (guint i = 0; i < scene->n_items; i++)
    if (strcmp (scene->item[i].id, id) == 0)
      return i;
  return STUDIO_NO_ITEM;
}

guint
studio_item_find_port (const StudioItem *item, gboolean is_output, const char *name)
{
  guint n = is_output ? item->n_outputs : item->n_offered;
  const StudioPort *port = is_output ? item->output : item->input;

  if (name == NULL)
    return n > 0 ? 0 : STUDIO_NO_ITEM;
  for (guint i = 0; i < n; i++)
    if (strcmp (port[i].name, name) == 0)
      return i;
  return STUDIO_NO_ITEM;
}

void
studio_scene_reach (const StudioScene *scene, guint item, gboolean against, gboolean *seen)
{
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autofree guint *first = g_new0 (guint, scene->n_items + 2), *link = g_new (guint, scene->n_links + 1);

  /* The next wire of the end from which the search starts. */
  for (guint i = 0; i < scene->n_links; i++)
    first[(against ? scene->link[i].to : scene->link[i].from) + 2]++;
  for (guint i = 0; i < scene->n_items; i++)
    first[i + 2] += first[i + 1];
  for (guint i = 0; i < scene->n_links; i++)
    link[first[(against ? scene->link[i].to : scene->link[i].from) + 1]++] = i;

  g_array_append_val (stack, item);
  seen[item] = TRUE;
  while (stack->len > 0)
    {
      guint at = g_array_index (stack, guint, stack->len - 1);

      g_array_set_size (stack, stack->len - 1);
      for (guint k = first[at]; k < first[at + 1]; k++)
        {
          guint there = against ? scene->link[link[k]].from : scene->link[link[k]].to;

          if (!seen[there])
            {
              seen[there] = TRUE;
              g_array_append_val (stack, there);
            }
        }
    }
}

gboolean
studio_scene_can_link (const StudioScene *scene, guint from, guint output, guint to, guint input)
{
  g_autofree gboolean *seen = NULL;

  /* The hidden card at the end is known only when the frame is open. */
  if (from >= scene->n_items || to >= scene->n_items || from == to || scene->item[from].is_frame
      || scene->item[to].is_frame || output >= scene->item[from].n_outputs || input >= scene->item[to].n_offered)
    return FALSE;
  /* A wire against the direction of the data would close a cycle. */
  seen = g_new0 (gboolean, scene->n_items);
  studio_scene_reach (scene, to, FALSE, seen);
  return !seen[from];
}

gboolean
studio_item_is_as_in (const StudioItem *item, guint scene)
{
  return item->since <= scene && item->tint == 0 && item->badge == NULL && item->mark == NULL && item->split == NULL
         && item->fault == NULL && item->waits_for == NULL && !item->health.is_known;
}

StudioTone
studio_item_tone (const StudioItem *item)
{
  return item->fault == NULL      ? STUDIO_TONE_CALM
         : item->fault_is_warning ? STUDIO_TONE_ADVICE
         : item->fault_is_todo    ? STUDIO_TONE_TODO
                                  : STUDIO_TONE_ERROR;
}

/* The id of the node in this scope that a path leads to or through (transfer full), and its card; NULL if there is
 * none. */
static char *
find_in_scope (const StudioScene *scene, const char *path, guint *card)
{
  gsize skip = scene->path[0] != '\0' ? strlen (scene->path) + 1 : 0;
  g_autofree char *id = NULL;

  if (skip > 0 && (strncmp (path, scene->path, skip - 1) != 0 || path[skip - 1] != '.'))
    return NULL;
  id = g_strndup (path + skip, strcspn (path + skip, "."));
  *card = studio_scene_find_card (scene, id);
  return *card != STUDIO_NO_ITEM ? g_steal_pointer (&id) : NULL;
}

guint
studio_scene_card_of (const StudioScene *scene, const char *path)
{
  guint card;

  /* Nearly all paths are ids of nodes of the root. */
  if (scene->path[0] == '\0' && strchr (path, '.') == NULL)
    return studio_scene_find_card (scene, path);
  g_autofree char *id = find_in_scope (scene, path, &card);

  return id != NULL ? card : STUDIO_NO_ITEM;
}

guint64
studio_scene_node_of (const StudioScene *scene, const char *path)
{
  guint card;
  g_autofree char *id = find_in_scope (scene, path, &card);

  if (id == NULL)
    return 0;
  for (guint h = scene->n_items; scene->item[card].is_frame && h < scene->n_items + scene->n_hidden; h++)
    if (g_str_equal (scene->item[h].id, id))
      return scene->item[h].serial;
  return scene->item[card].serial;
}

const char *
studio_item_title (const StudioItem *item)
{
  return item->op != NULL ? item->op->title : item->kind;
}

/* ---- points ------------------------------------------------------------- */

StudioPoint *
studio_points_parse (const char *text, guint *n_points)
{
  GArray *points = g_array_new (FALSE, FALSE, sizeof (StudioPoint));
  g_auto (GStrv) pairs = g_strsplit_set (text, " \t\n", -1);

  for (guint i = 0; pairs[i] != NULL; i++)
    {
      char *comma, *end;
      StudioPoint p;

      p.x = g_ascii_strtod (pairs[i], &comma);
      if (comma == pairs[i] || *comma != ',')
        continue;
      p.y = g_ascii_strtod (comma + 1, &end);
      if (end != comma + 1 && *end == '\0' && isfinite (p.x) && isfinite (p.y) && fabs (p.x) < 1e7 && fabs (p.y) < 1e7)
        g_array_append_val (points, p);
    }
  *n_points = points->len;
  return (StudioPoint *)(gpointer)g_array_free (points, FALSE);
}

char *
studio_points_format (const StudioPoint *point, guint n_points)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < n_points; i++)
    {
      char x[G_ASCII_DTOSTR_BUF_SIZE], y[G_ASCII_DTOSTR_BUF_SIZE];

      g_ascii_formatd (x, sizeof x, "%.10g", point[i].x);
      g_ascii_formatd (y, sizeof y, "%.10g", point[i].y);
      g_string_append_printf (s, "%s%s,%s", i > 0 ? " " : "", x, y);
    }
  return g_string_free (s, FALSE);
}
