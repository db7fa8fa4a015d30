/* `gradloom-picture picture|report|handout GRAPH|RUN FILE [WORD…]`: draws a graph to a file whose suffix is svg, pdf or
 * png, or writes a report of a run, or a handout of a lesson, as html or pdf. `gradloom export` starts it
 * (export-picture.c). With `--steps FILE` it draws the memory along a step, from events on standard input, for
 * `gradloom plan` (plan-picture.c). */
#include "app/report/report.h"
#include "app/shared/command.h"
#include "ui/drawing/draw-step-memory.h"
#include "ui/drawing/studio-picture.h"
#include "ui/scene/studio-scene-part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Its errors are those of the command. */
static const Command command = { .name = "export" };

typedef struct
{
  const char *module;
  GPtrArray *select; /* ids of the nodes to draw; empty: all */
  StudioPictureOptions picture;
  gboolean json, answers, slides;
} Words;

/* The rest of a word after a name; NULL: it is another word. */
static const char *
value_of (const char *word, const char *name)
{
  return g_str_has_prefix (word, name) ? word + strlen (name) : NULL;
}

static gboolean
read_words (Words *words, char **word)
{
  const char *value;

  for (; *word != NULL; word++)
    if ((value = value_of (*word, "module=")) != NULL)
      words->module = value;
    else if ((value = value_of (*word, "scale=")) != NULL)
      words->picture.scale = g_ascii_strtod (value, NULL);
    else if ((value = value_of (*word, "pixels=")) != NULL)
      words->picture.pixels = atoi (value);
    else if ((value = value_of (*word, "select=")) != NULL)
      g_ptr_array_add (words->select, (gpointer)value);
    else if (strcmp (*word, "dark") == 0)
      words->picture.dark = TRUE;
    else if (strcmp (*word, "transparent") == 0)
      words->picture.transparent = TRUE;
    else if (strcmp (*word, "json") == 0)
      words->json = TRUE;
    else if (strcmp (*word, "answers") == 0)
      words->answers = TRUE;
    else if (strcmp (*word, "slides") == 0)
      words->slides = TRUE;
    else
      return FALSE;
  return TRUE;
}

/* ---- pictures ------------------------------------------------------------------------- */

static gboolean
is_selected (guint64 serial, gpointer data)
{
  return g_hash_table_contains (data, &serial);
}

static gboolean
keep_selected (StudioScene *scene, const GPtrArray *ids, GError **error)
{
  g_autoptr (GHashTable) serials = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);

  for (guint i = 0; i < ids->len; i++)
    {
      const guint item = studio_scene_find_id (scene, ids->pdata[i]);

      if (item == STUDIO_NO_ITEM)
        {
          g_autofree char *id = command_printable (ids->pdata[i]);
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                       "--select “%s”: the drawn part of the graph has no such node.", id);
          return FALSE;
        }
      g_hash_table_add (serials, g_memdup2 (&scene->item[item].serial, sizeof (guint64)));
    }
  if (ids->len > 0)
    studio_scene_keep (scene, is_selected, serials);
  return TRUE;
}

static gboolean
write_picture (const char *path, const char *file, const Words *words, GError **error)
{
  g_autoptr (LoomGraph) graph = command_read_graph (path, error);
  g_autoptr (StudioScene) scene = graph != NULL ? studio_picture_scene (graph, words->module, error) : NULL;

  return scene != NULL && keep_selected (scene, words->select, error)
         && studio_picture_write (scene, file, &words->picture, error);
}

static void
print_progress (double done, gpointer data)
{
  LoomJson *json = command_event_new ("progress");

  loom_json_number (json, "done", done);
  command_event_print (json);
  command_flush ();
}

static gboolean
write_report (const char *path, const char *file, const Words *words, GError **error)
{
  return report_write (path, file, words->json ? print_progress : NULL, NULL, error);
}

static gboolean
write_handout (const char *path, const char *file, const Words *words, GError **error)
{
  g_autoptr (LoomGraph) graph = command_read_graph (path, error);

  return graph != NULL && handout_write (graph, file, words->answers, words->slides, error);
}

static const struct
{
  const char *name;
  gboolean (*write) (const char *path, const char *file, const Words *words, GError **error);
} kinds[] = { { "picture", write_picture }, { "report", write_report }, { "handout", write_handout } };

/* ---- the memory along a step ------------------------------------------------------------ */

/* The events on standard input. (transfer full) */
static GPtrArray *
read_events (void)
{
  GPtrArray *events = g_ptr_array_new_with_free_func ((GDestroyNotify)json_object_unref);
  char *line = NULL;
  size_t room = 0;

  while (getline (&line, &room, stdin) > 0)
    {
      g_autoptr (JsonNode) node = *line == '{' ? json_from_string (line, NULL) : NULL;

      if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
        g_ptr_array_add (events, json_object_ref (json_node_get_object (node)));
    }
  free (line);
  return events;
}

static int
draw_steps (const char *file)
{
  static const Command plan = { .name = "plan" };
  g_autoptr (GPtrArray) events = read_events ();
  g_autoptr (StudioStepMemory) memory = studio_step_memory_new (events);
  g_autoptr (GError) error = NULL;

  if (memory == NULL)
    return command_usage (&plan, "The plan has no steps, so there is nothing to draw.");
  if (!studio_step_memory_export (memory, file, &error))
    return command_fail (&plan, g_steal_pointer (&error));
  g_autofree char *shown = command_printable (file);
  printf ("wrote %s\n", shown);
  return 0;
}

/* ---- the program ------------------------------------------------------------------------ */

static void
print_file (const char *file, gboolean as_json)
{
  g_autofree char *shown = command_printable (file);
  LoomJson *json;

  if (!as_json)
    {
      printf ("wrote %s\n", shown);
      return;
    }
  json = command_event_new ("wrote");
  loom_json_string (json, "file", file);
  command_event_print (json);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) select = g_ptr_array_new ();
  Words words = { .select = select };
  guint kind = 0;

  command_prepare (argv);
  if (argc == 3 && strcmp (argv[1], "--steps") == 0)
    return command_finish (draw_steps (argv[2]));
  while (argc > 1 && kind < G_N_ELEMENTS (kinds) && strcmp (argv[1], kinds[kind].name) != 0)
    kind++;
  if (argc < 4 || kind == G_N_ELEMENTS (kinds) || !read_words (&words, argv + 4))
    {
      fprintf (
          stderr,
          "Usage: gradloom-picture picture|report|handout GRAPH|RUN FILE [WORD…]\n"
          "       gradloom-picture --steps FILE < EVENTS\n"
          "Draws a graph, a run, a lesson, or the memory along a step; “gradloom export” and “gradloom plan” start "
          "it.\n");
      return 2;
    }
  if (!kinds[kind].write (argv[2], argv[3], &words, &error))
    return command_finish (command_fail (&command, g_steal_pointer (&error)));
  print_file (argv[3], words.json);
  return command_finish (0);
}
