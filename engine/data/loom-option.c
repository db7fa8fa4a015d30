/* Options of sources: converts text to values, with an error for each mistake. */
#include "engine/data/loom-option.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-compare.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"

const char *
loom_dataset_options_from_strv (gconstpointer strv, const char *name)
{
  for (const char *const *p = strv; p != NULL && p[0] != NULL; p += 2)
    {
      if (g_str_equal (p[0], name))
        return p[1];
    }
  return NULL;
}

static const char *
given (const LoomDatasetOptions *options, const char *name)
{
  return options->get != NULL ? options->get (options->data, name) : NULL;
}

static const LoomDatasetParam *
find_param (const LoomDatasetClass *klass, const char *name)
{
  for (const LoomDatasetParam *param = klass->params; param != NULL && param->name != NULL; param++)
    {
      if (g_str_equal (param->name, name))
        return param;
    }
  g_return_val_if_reached (NULL);
}

static gboolean
parse_float (const char *text, double *value)
{
  char *end;

  *value = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && isfinite (*value) && !g_ascii_isspace (*text);
}

static gboolean
check_number (const LoomDatasetClass *klass, const LoomDatasetParam *param, const char *text, double value,
              GError **error)
{
  if ((param->minimum != 0 || param->maximum != 0) && (value < param->minimum || value > param->maximum))
    return loom_refuse (error, LOOM_ERROR_SCHEMA, "The data set %s has %s=\"%s\", which must be from %.10g to %.10g.",
                        klass->name, param->name, text, param->minimum, param->maximum);
  return TRUE;
}

static gboolean
malformed (const LoomDatasetClass *klass, const LoomDatasetParam *param, const char *text, const char *expected,
           GError **error)
{
  return loom_refuse (error, LOOM_ERROR_SCHEMA, "The data set %s has %s=\"%s\", which is not a %s.", klass->name,
                      param->name, text, expected);
}

static gboolean
check_int (const LoomDatasetClass *klass, const LoomDatasetParam *param, const char *text, GError **error)
{
  gint64 value;

  if (!g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, &value, NULL))
    return malformed (klass, param, text, "whole number", error);
  return check_number (klass, param, text, (double)value, error);
}

static gboolean
check_float (const LoomDatasetClass *klass, const LoomDatasetParam *param, const char *text, GError **error)
{
  double value;

  if (!parse_float (text, &value))
    return malformed (klass, param, text, "number", error);
  return check_number (klass, param, text, value, error);
}

static gboolean
check_floats (const LoomDatasetClass *klass, const LoomDatasetParam *param, const char *text, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  for (char **part = parts; *part != NULL; part++)
    {
      if (!check_float (klass, param, g_strstrip (*part), error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
check_enum (const LoomDatasetClass *klass, const LoomDatasetParam *param, const char *text, GError **error)
{
  g_autofree char *all = NULL;

  if (g_strv_contains (param->choices, text))
    return TRUE;
  all = g_strjoinv (", ", (char **)param->choices);
  return loom_refuse (error, LOOM_ERROR_SCHEMA, "The data set %s has %s=\"%s\", which must be one of: %s.", klass->name,
                      param->name, text, all);
}

static gboolean
check_text (const LoomDatasetClass *klass, const LoomDatasetParam *param, const char *text, GError **error)
{
  return TRUE;
}

gboolean
loom_options_check (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  static gboolean (*const checks[]) (const LoomDatasetClass *, const LoomDatasetParam *, const char *, GError **) = {
    [LOOM_DATASET_INT] = check_int,   [LOOM_DATASET_FLOAT] = check_float, [LOOM_DATASET_FLOATS] = check_floats,
    [LOOM_DATASET_ENUM] = check_enum, [LOOM_DATASET_STRING] = check_text, [LOOM_DATASET_PATH] = check_text,
  };

  for (const LoomDatasetParam *param = klass->params; param != NULL && param->name != NULL; param++)
    {
      const char *text = given (options, param->name);

      if (param->def == NULL && (text == NULL || *text == '\0'))
        return loom_refuse (error, LOOM_ERROR_SCHEMA, "The data set %s needs %s=\"…\": %s", klass->name, param->name,
                            param->doc);
      if (text != NULL && (*text != '\0' || param->def == NULL || *param->def != '\0')
          && !checks[param->type](klass, param, text, error))
        return FALSE;
    }
  return TRUE;
}

const char *
loom_option_string (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name)
{
  const LoomDatasetParam *param = find_param (klass, name);
  const char *text = given (options, name);

  return text != NULL ? text : param->def;
}

gint64
loom_option_int (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name)
{
  return g_ascii_strtoll (loom_option_string (klass, options, name), NULL, 10);
}

double
loom_option_float (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name)
{
  return g_ascii_strtod (loom_option_string (klass, options, name), NULL);
}

double *
loom_option_floats (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name, gsize count,
                    GError **error)
{
  const char *text = loom_option_string (klass, options, name);
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  gsize n = g_strv_length (parts);
  double *values;

  if (n != 1 && n != count)
    return loom_refuse_null (error, LOOM_ERROR_SCHEMA,
                             "The data set %s has %s=\"%s\" with %" G_GSIZE_FORMAT
                             " numbers; it takes one, or %" G_GSIZE_FORMAT ".",
                             klass->name, name, text, n, count);
  values = g_new (double, count);
  for (gsize i = 0; i < count; i++)
    values[i] = g_ascii_strtod (parts[n == 1 ? 0 : i], NULL);
  return values;
}

char *
loom_option_path (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *name)
{
  const char *text = loom_option_string (klass, options, name);
  g_autofree char *path = NULL;

  if (text == NULL || *text == '\0')
    return NULL;
  path = g_path_is_absolute (text) || options->folder == NULL ? g_strdup (text)
                                                              : g_build_filename (options->folder, text, NULL);
  /* As the guard reads it: LINK/../FILE is FILE in the folder of the link. */
  return strstr (text, "..") != NULL ? g_canonicalize_filename (path, NULL) : g_steal_pointer (&path);
}

gboolean
loom_dataset_check_file (const char *path, const char *hint, GError **error)
{
  if (loom_path_is_file (path) || loom_path_is_folder (path))
    return TRUE;
  if (loom_path_exists (path))
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "“%s” is a device or a pipe, but data are read more than once. Save them in a file.", path);
  return loom_refuse (error, LOOM_ERROR_DATA, "There is no file “%s”; %s.", path,
                      hint != NULL ? hint : "paths are relative to the folder of the graph file");
}

char **
loom_dataset_list (const char *folder, gboolean (*accepts) (const char *name, const char *path), GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GError) cause = NULL;
  g_auto (GStrv) all = loom_path_names (folder, &cause);

  if (all == NULL)
    return loom_refuse_null (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", folder, cause->message);
  for (guint i = 0; all[i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename (folder, all[i], NULL);

      if (accepts (all[i], path))
        g_ptr_array_add (names, g_strdup (all[i]));
    }
  g_ptr_array_sort (names, loom_compare_texts);
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}
