/* Implements remote-host.h. */
#include "app/remote-host.h"

#include <string.h>

#define MOST_NAME  255
#define MOST_ID    120
#define MOST_STORE 4096
#define NO_COMMAND 127 /* of a shell */

/* FALSE: no name of a host, for example an option of ssh. */
static gboolean
is_host_name (const char *name)
{
  if (*name == '\0' || *name == '-' || strlen (name) > MOST_NAME)
    return FALSE;
  for (const char *p = name; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("@._-:[]%", *p) == NULL)
      return FALSE;
  return TRUE;
}

gboolean
remote_id_is_valid (const char *id)
{
  if (*id == '\0' || *id == '-' || strlen (id) > MOST_ID)
    return FALSE;
  for (const char *p = id; *p != '\0'; p++)
    if (!g_ascii_islower (*p) && !g_ascii_isdigit (*p) && *p != '-')
      return FALSE;
  return TRUE;
}

/* ---- connecting -------------------------------------------------------- */

/* The line that begins what the program says. NULL: it has said none. (transfer full) */
static char *
read_line (GInputStream *input)
{
  g_autoptr (GString) line = g_string_new (NULL);
  gsize n = 0;
  char c;

  while (n++ < REMOTE_MAX_NOISE && g_input_stream_read (input, &c, 1, NULL, NULL) == 1)
    if (c != '\n')
      g_string_append_c (line, c);
    else if (g_str_has_prefix (line->str, REMOTE_MAGIC))
      return g_strdup (line->str + strlen (REMOTE_MAGIC));
    else
      g_string_truncate (line, 0);
  return NULL;
}

/* The last line that ssh or a shell there has printed; "" if there is none. (transfer full) */
static char *
dup_complaint (GSubprocess *process)
{
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes (g_subprocess_get_stderr_pipe (process), 8192, NULL, NULL);
  gsize n = 0;
  const char *data = bytes != NULL ? g_bytes_get_data (bytes, &n) : NULL;
  g_autofree char *text = g_strchomp (g_strndup (data != NULL ? data : "", n)), *line = NULL;

  line = g_strdup (strrchr (text, '\n') != NULL ? strrchr (text, '\n') + 1 : text);
  return command_printable (g_strstrip (line));
}

static void
explain (RemoteHost *host, GError **error)
{
  g_autofree char *complaint = dup_complaint (host->process);

  g_subprocess_wait (host->process, NULL, NULL);
  if (g_subprocess_get_if_exited (host->process) && g_subprocess_get_exit_status (host->process) == NO_COMMAND)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "%s has no gradloom in the PATH of commands that ssh starts. Install Gradloom there.", host->name);
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "%s cannot be reached by ssh without a password (%s). Set up a key with ssh-copy-id %s, keep its "
                 "passphrase with ssh-add, and test it with: ssh -o BatchMode=yes %s true",
                 host->name, complaint, host->name, host->name);
}

gboolean
remote_host_open (RemoteHost *host, const char *name, const char *const *words, GError **error)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  static const char *const begin[] = { "ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15" };

  *host = (RemoteHost){ NULL };
  if (!is_host_name (name))
    {
      g_autofree char *shown = command_printable (name);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "“%s” is not a host. Write user@host, or a name of ~/.ssh/config.", shown);
      return FALSE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (begin); i++)
    g_ptr_array_add (argv, (gpointer)begin[i]);
  g_ptr_array_add (argv, (gpointer) "--");
  g_ptr_array_add (argv, (gpointer)name);
  g_ptr_array_add (argv, (gpointer) "gradloom");
  g_ptr_array_add (argv, (gpointer) "remote");
  for (guint i = 0; words[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)words[i]);
  g_ptr_array_add (argv, NULL);
  host->name = g_strdup (name);
  host->process = g_subprocess_newv (
      (const char *const *)argv->pdata,
      G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, error);
  if (host->process == NULL)
    {
      g_prefix_error (error, "ssh cannot be started: ");
      return FALSE;
    }
  host->input = g_object_ref (g_subprocess_get_stdout_pipe (host->process));
  host->output = g_object_ref (g_subprocess_get_stdin_pipe (host->process));
  g_autofree char *version = read_line (host->input);
  if (version != NULL && g_str_equal (version, LOOM_VERSION))
    return TRUE;
  if (version != NULL)
    {
      g_autofree char *shown = command_printable (version);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                   "%s has gradloom %s, and this is %s. Install the same version on both.", name, shown, LOOM_VERSION);
    }
  else
    explain (host, error);
  return FALSE;
}

void
remote_host_close (RemoteHost *host)
{
  if (host->output != NULL)
    g_output_stream_close (host->output, NULL, NULL);
  if (host->input != NULL)
    g_input_stream_close (host->input, NULL, NULL);
  g_clear_object (&host->input);
  g_clear_object (&host->output);
  g_clear_object (&host->process);
  g_clear_pointer (&host->name, g_free);
}

/* ---- runs there --------------------------------------------------------- */

static char *
dup_store (const char *folder, char **leaf)
{
  LoomRunIdentity id;

  if (!loom_run_identify (folder, &id))
    return NULL;
  *leaf = g_strdup_printf ("%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", id.device, id.inode);
  return g_build_filename (g_get_user_state_dir (), "gradloom", "hosts", NULL);
}

/* The id is in the folder, too: another folder may have got the number of one that was removed. */
static gboolean
is_same_run (const char *folder, const char *id)
{
  g_autoptr (LoomFolder) files = loom_folder_open (folder, NULL);
  g_autofree char *text = NULL;

  return files != NULL && loom_folder_read (files, REMOTE_RUN_ID, MOST_ID, &text, NULL, NULL) && g_str_equal (text, id);
}

gboolean
remote_run_find (const char *folder, char **host, char **id)
{
  g_autofree char *leaf = NULL, *store = dup_store (folder, &leaf), *text = NULL;
  g_autoptr (LoomFolder) files = store != NULL ? loom_folder_open (store, NULL) : NULL;

  if (files == NULL || !loom_folder_read (files, leaf, MOST_STORE, &text, NULL, NULL))
    return FALSE;
  g_auto (GStrv) lines = g_strsplit (text, "\n", 3);
  if (g_strv_length (lines) < 2 || !is_host_name (lines[0]) || !remote_id_is_valid (lines[1])
      || !is_same_run (folder, lines[1]))
    return FALSE;
  *host = g_strdup (lines[0]);
  *id = g_strdup (lines[1]);
  return TRUE;
}

gboolean
remote_run_store (const char *folder, const char *host, const char *id, GError **error)
{
  g_autofree char *leaf = NULL, *store = dup_store (folder, &leaf), *text = g_strdup_printf ("%s\n%s\n", host, id);
  g_autoptr (LoomFolder) run = loom_folder_open (folder, error), files = NULL;

  if (run == NULL || !loom_folder_replace (run, REMOTE_RUN_ID, id, strlen (id), error))
    return FALSE;
  if (store != NULL)
    g_mkdir_with_parents (store, 0700);
  files = store != NULL ? loom_folder_open (store, error) : NULL;
  return files != NULL && loom_folder_replace (files, leaf, text, strlen (text), error);
}
