/* `gradloom-picture GRAPH FILE light|dark opaque|transparent [MODULE]`: draws a graph to the file, whose suffix is svg,
 * pdf or png. `gradloom export` starts it (export-picture.c). With `--steps FILE` it draws the memory along a step,
 * from events on standard input, for `gradloom plan` (plan-picture.c). */
#include "app/shared/command.h"
#include "ui/drawing/draw-step-memory.h"
#include "ui/drawing/studio-picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Its errors are those of the command. */
static const Command command = { .name = "export" };

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (StudioScene) scene = NULL;

  command_prepare (argv);
  if (argc == 3 && strcmp (argv[1], "--steps") == 0)
    return command_finish (draw_steps (argv[2]));
  if (argc < 5 || argc > 6)
    {
      fprintf (stderr, "Usage: gradloom-picture GRAPH FILE light|dark opaque|transparent [MODULE]\n"
                       "       gradloom-picture --steps FILE < EVENTS\n"
                       "Draws a graph, or the memory along a step; “gradloom export” and “gradloom plan” start it.\n");
      return 2;
    }
  graph = command_read_graph (argv[1], &error);
  if (graph != NULL)
    scene = studio_picture_scene (graph, argv[5], &error);
  if (scene == NULL
      || !studio_picture_write (scene, argv[2], strcmp (argv[3], "dark") == 0, strcmp (argv[4], "opaque") == 0, &error))
    return command_finish (command_fail (&command, g_steal_pointer (&error)));
  g_autofree char *shown = command_printable (argv[2]);
  printf ("wrote %s\n", shown);
  return command_finish (0);
}
