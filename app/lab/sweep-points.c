/* The settings of a sweep: a grid, or points drawn at random. Random points find good values with fewer runs if only
 * some settings matter (Bergstra and Bengio, 2012). */
#include "app/lab/sweep.h"

#include <math.h>
#include <string.h>

void
sweep_point_free (gpointer data)
{
  SweepPoint *point = data;

  g_ptr_array_unref (point->set);
  g_free (point->name);
  g_free (point);
}

static SweepPoint *
point_new (const SweepPoint *like)
{
  SweepPoint *point = g_new0 (SweepPoint, 1);

  point->name = g_strdup (like != NULL ? like->name : NULL);
  point->n_case = like != NULL ? like->n_case : 0;
  point->set = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; like != NULL && i < like->set->len; i++)
    g_ptr_array_add (point->set, g_strdup (like->set->pdata[i]));
  return point;
}

char *
sweep_point_words (const SweepPoint *point)
{
  GString *s = g_string_new (point->name);

  for (guint i = point->n_case; i < point->set->len; i++)
    g_string_append_printf (s, "%s%s", s->len > 0 ? " " : "", (const char *)point->set->pdata[i]);
  if (s->len == 0)
    g_string_append (s, "the graph's settings");
  return g_string_free (s, FALSE);
}

const char *
sweep_point_get (const SweepPoint *point, const char *name)
{
  gsize n = strlen (name);

  /* The last value applies. */
  for (guint i = point->set->len; i-- > 0;)
    {
      const char *set = point->set->pdata[i];

      if (strncmp (set, name, n) == 0 && set[n] == '=')
        return set + n + 1;
    }
  return NULL;
}

gboolean
sweep_cases (const char *const *cases, GPtrArray *points, GError **error)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (sweep_point_free);

  if (cases == NULL)
    return TRUE;
  for (guint c = 0; cases[c] != NULL; c++)
    {
      const char *colon = strchr (cases[c], ':');
      g_autofree char *name = colon != NULL ? g_strstrip (g_strndup (cases[c], (gsize)(colon - cases[c]))) : NULL;
      g_auto (GStrv) word = g_strsplit_set (colon != NULL ? colon + 1 : "", " ", -1);

      for (guint i = 0; i < points->len; i++)
        {
          SweepPoint *point = point_new (NULL);
          const SweepPoint *before = points->pdata[i];

          point->name = g_strdup (name);
          for (guint w = 0; word[w] != NULL; w++)
            if (word[w][0] != '\0')
              g_ptr_array_add (point->set, g_strdup (word[w]));
          point->n_case = point->set->len;
          for (guint k = 0; k < before->set->len; k++)
            g_ptr_array_add (point->set, g_strdup (before->set->pdata[k]));
          g_ptr_array_add (all, point);
        }
      gboolean right = name != NULL && name[0] != '\0';
      for (guint w = 0; word[w] != NULL; w++)
        right = right && (word[w][0] == '\0' || (strchr (word[w], '=') != NULL && strchr (word[w], '.') != NULL));
      if (right)
        continue;
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "--case takes a name, a colon and settings NODE.PARAM=VALUE, separated by spaces (warm-up: "
                   "train.schedule.warmup_steps=100), not “%s”.",
                   cases[c]);
      return FALSE;
    }
  g_ptr_array_set_size (points, 0);
  g_ptr_array_extend_and_steal (points, g_steal_pointer (&all));
  return TRUE;
}

/* Splits "NODE.PARAM=VALUES" into the name and the text after the sign; FALSE with an error. */
static gboolean
split (const char *text, const char *option, char **name, const char **values, GError **error)
{
  const char *equals = strchr (text, '=');

  if (equals == NULL || memchr (text, '.', (gsize)(equals - text)) == NULL || equals[1] == '\0')
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "%s takes NODE.PARAM=…, such as train.lr=…, not “%s”.", option,
                   text);
      return FALSE;
    }
  *name = g_strndup (text, (gsize)(equals - text));
  *values = equals + 1;
  return TRUE;
}

/* A value in quotes or brackets may contain commas: then semicolons separate the values. */
static char **
split_values (const char *values)
{
  return g_strsplit (values, strchr (values, ';') != NULL ? ";" : ",", -1);
}

gboolean
sweep_grid (const char *const *grids, GPtrArray *points, GError **error)
{
  for (guint g = 0; grids != NULL && grids[g] != NULL; g++)
    {
      g_autofree char *name = NULL;
      const char *values;
      guint before = points->len;

      if (!split (grids[g], "--grid", &name, &values, error))
        return FALSE;
      g_auto (GStrv) value = split_values (values);
      /* Combines every point so far with each of the values; the first value replaces the point. */
      for (guint v = 1; value[v] != NULL; v++)
        for (guint i = 0; i < before; i++)
          g_ptr_array_add (points, point_new (points->pdata[i]));
      for (guint v = 0; value[v] != NULL; v++)
        for (guint i = 0; i < before; i++)
          g_ptr_array_add (((SweepPoint *)points->pdata[v * before + i])->set,
                           g_strdup_printf ("%s=%s", name, g_strstrip (value[v])));
      if (points->len > SWEEP_MOST)
        {
          g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                               "The grid has more than 100,000 points. Use fewer values.");
          return FALSE;
        }
    }
  return TRUE;
}

/* "1e-4..1e-1", "1e-4..1e-1:log", "16..256:int". */
static gboolean
draw (const char *values, GRand *rand, char **value, GError **error)
{
  const char *dots = strstr (values, "..");
  g_autofree char *from = dots != NULL ? g_strndup (values, (gsize)(dots - values)) : NULL;
  gboolean is_number;
  char *stop;
  double low, high, x;

  if (dots == NULL)
    {
      g_auto (GStrv) word = split_values (values);

      *value = g_strdup (g_strstrip (word[g_rand_int_range (rand, 0, (gint32)g_strv_length (word))]));
      return TRUE;
    }
  low = g_ascii_strtod (from, &stop);
  is_number = stop != from && *stop == '\0';
  high = g_ascii_strtod (dots + 2, &stop);
  if (!is_number || stop == dots + 2 || !(low < high) || !isfinite (low) || !isfinite (high)
      || (*stop != '\0' && strcmp (stop, ":log") != 0 && strcmp (stop, ":int") != 0)
      || (strcmp (stop, ":log") == 0 && low <= 0))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "“%s” is not a range. Write 0.1..0.9, 1e-4..1e-1:log (above 0) or 16..256:int, with the smaller "
                   "number first.",
                   values);
      return FALSE;
    }
  if (strcmp (stop, ":int") == 0)
    *value = g_strdup_printf ("%.0f", floor (g_rand_double_range (rand, low, high + 1)));
  else
    {
      char digits[G_ASCII_DTOSTR_BUF_SIZE];

      x = strcmp (stop, ":log") == 0 ? exp (g_rand_double_range (rand, log (low), log (high)))
                                     : g_rand_double_range (rand, low, high);
      *value = g_strdup (g_ascii_formatd (digits, sizeof digits, "%.4g", x));
    }
  return TRUE;
}

gboolean
sweep_random (const char *const *ranges, gint64 n, guint64 seed, GPtrArray *points, GError **error)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32)seed);
  g_autoptr (GPtrArray) drawn = g_ptr_array_new_with_free_func (sweep_point_free);

  for (gint64 i = 0; i < n; i++)
    for (guint k = 0; k < points->len; k++)
      g_ptr_array_add (drawn, point_new (points->pdata[k]));
  for (guint i = 0; i < drawn->len; i++)
    for (guint r = 0; ranges[r] != NULL; r++)
      {
        g_autofree char *name = NULL, *value = NULL;
        const char *values;

        if (!split (ranges[r], "--range", &name, &values, error) || !draw (values, rand, &value, error))
          return FALSE;
        g_ptr_array_add (((SweepPoint *)drawn->pdata[i])->set, g_strdup_printf ("%s=%s", name, value));
      }
  g_ptr_array_set_size (points, 0);
  g_ptr_array_extend_and_steal (points, g_steal_pointer (&drawn));
  return TRUE;
}
