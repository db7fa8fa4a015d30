/* Rewrites the engine's messages for Studio (studio-run-messages.h). */
#include <glib/gi18n.h>
#include <string.h>

#include "ui/run/studio-run-messages.h"

/* Removes the command that resumes a run, because Studio has a button for it. */
static char *
without_command (const char *sentence)
{
  static const char alone[] = " Continue";
  const char *command = sentence != NULL ? strstr (sentence, " with: gradloom train --resume ") : NULL;
  if (command == NULL)
    return g_strdup (sentence);
  /* "Continue from step 464." is kept; "Continue." only repeats the button. */
  g_autofree char *kept = g_strndup (sentence, (gsize)(command - sentence));
  if (g_str_has_suffix (kept, alone))
    return g_strndup (kept, strlen (kept) - strlen (alone));
  return g_strconcat (kept, ".", NULL);
}

/* Turns "Start others with --ranks 4." into "Start others: set “Ranks” to 4." */
static char *
with_field (const char *sentence)
{
  static const char option[] = "--ranks", with[] = " with --ranks ";
  g_autoptr (GString) s = g_string_new (NULL);
  const char *from = sentence, *at;

  while ((at = strstr (from, option)) != NULL)
    {
      gsize before = strlen (with) - strlen ("--ranks ");
      const char *number = at + strlen ("--ranks ");
      gsize digits = at[strlen (option)] == ' ' ? strspn (number, "0123456789") : 0;

      if (digits > 0 && at - from >= (gssize)before && g_str_has_prefix (at - before, with))
        {
          g_string_append_len (s, from, at - from - (gssize)before);
          g_string_append_printf (s, ": set “%s” to %.*s", _ ("Ranks"), (int)digits, number);
          from = number + digits;
          continue;
        }
      g_string_append_len (s, from, at - from);
      g_string_append_printf (s, "“%s”", _ ("Ranks"));
      from = at + strlen (option);
    }
  g_string_append (s, from);
  return g_strdup (s->str);
}

char *
studio_run_rewrite_message (const char *sentence)
{
  g_autofree char *said = without_command (sentence);

  return said != NULL ? with_field (said) : NULL;
}
