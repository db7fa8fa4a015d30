/* Reads lists of words and texts of pages and slides. */
#include "engine/lesson/lesson-private.h"

#include <string.h>

char **
lesson_words (const char *text)
{
  g_auto (GStrv) all = text != NULL ? g_strsplit_set (text, " ,\t\n\r", -1) : NULL;
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
  guint n = 0;

  for (guint i = 0; all != NULL && all[i] != NULL; i++)
    if (all[i][0] != '\0')
      {
        g_strv_builder_add (words, all[i]);
        n++;
      }
  return n > 0 ? g_strv_builder_end (words) : NULL;
}

char *
lesson_markdown (const char *text)
{
  g_auto (GStrv) line = g_strsplit (text != NULL ? text : "", "\n", -1);
  gsize indent = G_MAXSIZE;

  for (guint i = 1; line[0] != NULL && line[i] != NULL; i++)
    {
      gsize blanks = strspn (line[i], " ");

      if (line[i][blanks] != '\0')
        indent = MIN (indent, blanks);
    }
  for (guint i = 0; line[i] != NULL; i++)
    {
      gsize cut = i == 0 ? strspn (line[i], " ") : MIN (indent, strspn (line[i], " "));

      memmove (line[i], line[i] + cut, strlen (line[i] + cut) + 1);
    }
  return g_strstrip (g_strjoinv ("\n", line));
}

gboolean
lesson_same_words (char **a, char **b)
{
  return (a == NULL || b == NULL) ? a == b : g_strv_equal ((const char *const *)a, (const char *const *)b);
}
