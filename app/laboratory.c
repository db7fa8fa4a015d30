/* Finds, describes and starts `gradloom-lab`; see the header. */
#include "app/laboratory.h"

#include "app/shared/description.h"
#include "app/shared/sibling.h"

/* The folders of a build, of a relocated installation, and of the configured installation. */
static const char *const folders[] = { "lab", "../" LABORATORY_FOLDER, LABORATORY_DIR, NULL };

int
laboratory_run (const Command *command, int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autofree const char **words = g_new0 (const char *, argc + 1);

  for (int i = 0; i < argc; i++)
    words[i] = argv[i];
  sibling_become ("gradloom-lab", folders, words, &error);
  return command_fail (command, g_steal_pointer (&error));
}

/* NULL if the program is missing or prints anything else. */
static GPtrArray *
query_program (void)
{
  g_autofree char *path = sibling_find ("gradloom-lab", folders, NULL), *text = NULL;
  const char *argv[] = { path, "--commands", NULL };
  int status;

  if (path == NULL || !g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &text, NULL, &status, NULL)
      || !g_spawn_check_wait_status (status, NULL))
    return NULL;
  return description_parse (text, NULL);
}

GPtrArray *
laboratory_describe (const Command *const *commands, guint n)
{
  g_autoptr (GPtrArray) described = query_program ();
  GPtrArray *table = g_ptr_array_new ();

  for (guint i = 0; i < n; i++)
    {
      const Command *row = commands[i], *found = NULL;

      if (row->run == laboratory_run && described != NULL)
        found = command_find (row->name, (const Command *const *)described->pdata, described->len);
      g_ptr_array_add (table, (gpointer)(found != NULL ? found : row));
    }
  return table;
}
