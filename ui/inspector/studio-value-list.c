/* Implements studio-value-list.h. */
#include "ui/inspector/studio-value-list.h"

#include <string.h>

#define MOST_VALUES 100

/* A comma without a space after it may be a decimal comma, unless there are decimal points. NULL: no list. */
static char **
split (const char *text)
{
  const gboolean has_point = strchr (text, '.') != NULL || strchr (text, 'e') != NULL;
  const char *separator = strchr (text, ';') != NULL ? ";" : has_point ? "," : ", ";
  g_auto (GStrv) parts = g_strsplit (text, separator, MOST_VALUES + 1);

  if (g_strv_length (parts) < 2 || g_strv_length (parts) > MOST_VALUES)
    return NULL;
  return g_steal_pointer (&parts);
}

char **
studio_value_list_read (const LoomParamSpec *spec, const char *text, char **wrong)
{
  const gboolean is_number = spec->type == LOOM_PARAM_INT || spec->type == LOOM_PARAM_FLOAT;
  g_auto (GStrv) parts = is_number ? split (text) : NULL;

  *wrong = NULL;
  for (guint i = 0; parts != NULL && parts[i] != NULL; i++)
    {
      g_auto (StudioValue) value = studio_value_read (spec, g_strstrip (parts[i]), NULL, NULL);

      if (value.text == NULL)
        {
          *wrong = g_strdup (value.wrong);
          return NULL;
        }
      g_free (parts[i]);
      parts[i] = g_strdup (value.text);
    }
  return g_steal_pointer (&parts);
}
