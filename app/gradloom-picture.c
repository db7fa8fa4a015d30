/* `gradloom-picture GRAPH FILE light|dark opaque|transparent [MODULE]`: draws a graph to the file, whose suffix is svg,
 * pdf or png. `gradloom export` starts it (export-picture.c). */
#include "app/shared/command.h"
#include "ui/drawing/studio-picture.h"

#include <stdio.h>
#include <string.h>

/* Its errors are those of the command. */
static const Command command = { .name = "export" };

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (StudioScene) scene = NULL;

  command_prepare (argv);
  if (argc < 5 || argc > 6)
    {
      fprintf (stderr, "Usage: gradloom-picture GRAPH FILE light|dark opaque|transparent [MODULE]\n"
                       "Draws a graph; “gradloom export” starts it.\n");
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
