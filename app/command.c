/* What all commands share: options, errors, numbers for people and for JSON. */
#include "app/command.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

gboolean
command_parse (const Command *command, const GOptionEntry *entries, int *argc, char ***argv)
{
  g_autofree char *usage = g_strdup_printf ("%s — %s", command->arguments, command->summary);
  g_autoptr (GOptionContext) context = g_option_context_new (usage);
  g_autofree char *name = g_strdup_printf ("gradloom %s", command->name);
  g_autoptr (GError) error = NULL;

  g_set_prgname (name);
  if (command->details)
    g_option_context_set_description (context, command->details);
  g_option_context_add_main_entries (context, entries, NULL);
  if (g_option_context_parse (context, argc, argv, &error))
    {
      /* "--" ends the options and is no word of its own. */
      if (*argc > 1 && strcmp ((*argv)[1], "--") == 0)
        {
          memmove (*argv + 1, *argv + 2, (*argc - 1) * sizeof (char *));
          (*argc)--;
        }
      return TRUE;
    }
  command_usage (command, "%s.", error->message);
  return FALSE;
}

int
command_usage (const Command *command, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  fprintf (stderr, "gradloom %s: %s\nSee gradloom %s --help.\n", command->name, text, command->name);
  return 2;
}

int
command_fail (const Command *command, GError *error)
{
  int status = loom_error_exit_status (error);
  fprintf (stderr, "gradloom %s: %s\n", command->name, error->message);
  g_error_free (error);
  return status;
}

void
command_warn (const Command *command, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  fprintf (stderr, "gradloom %s: warning: %s\n", command->name, text);
}

LoomGraph *
command_read_graph (const char *path, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) local = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &local);

  if (!graph)
    {
      g_set_error (error, LOOM_ERROR,
                   g_error_matches (local, LOOM_ERROR, LOOM_ERROR_PARSE) ? LOOM_ERROR_PARSE : LOOM_ERROR_DATA, "%s",
                   local->message);
      return NULL;
    }
  if (!loom_faults_to_error (faults, path, error))
    return NULL;
  return g_steal_pointer (&graph);
}

char *
command_json_string (const char *text)
{
  GString *s = g_string_new ("\"");

  for (const char *p = text; *p; p++)
    {
      if (*p == '"' || *p == '\\')
        g_string_append_printf (s, "\\%c", *p);
      else if (*p == '\n')
        g_string_append (s, "\\n");
      else if ((guchar)*p < 0x20)
        g_string_append_printf (s, "\\u%04x", (guchar)*p);
      else
        g_string_append_c (s, *p);
    }
  g_string_append_c (s, '"');
  return g_string_free (s, FALSE);
}

const char *
command_json_number (double x, char *buffer)
{
  return isfinite (x) ? g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.9g", x) : "null";
}

char *
command_count (double n)
{
  g_autofree char *digits = g_strdup_printf ("%.0f", n);
  GString *s = g_string_new (NULL);
  gsize length = strlen (digits);

  for (gsize i = 0; i < length; i++)
    {
      if (i > 0 && (length - i) % 3 == 0)
        g_string_append_c (s, ',');
      g_string_append_c (s, digits[i]);
    }
  return g_string_free (s, FALSE);
}

char *
command_bytes (double n)
{
  static const char *const unit[] = { "B", "kB", "MB", "GB", "TB" };
  guint u = 0;

  while (n >= 1000 && u + 1 < G_N_ELEMENTS (unit))
    {
      n /= 1000;
      u++;
    }
  return u == 0 ? g_strdup_printf ("%.0f B", n) : g_strdup_printf ("%.1f %s", n, unit[u]);
}

char *
command_duration (double seconds)
{
  gint64 s = (gint64)(seconds + 0.5);

  if (s >= 3600)
    return g_strdup_printf ("%d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
  return g_strdup_printf ("%d:%02d", (int)(s / 60), (int)(s % 60));
}

gboolean
command_float (const char *text, double *value)
{
  char *end;

  *value = g_ascii_strtod (text, &end);
  return end != text && *end == 0 && isfinite (*value);
}
