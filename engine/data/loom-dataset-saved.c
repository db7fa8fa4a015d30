/* The part of a data set that a run saves, as a key file.
 *
 * Vocabularies and the means of normalised columns are computed from the data. If the data change, a word would
 * silently have another number than in training. So they are saved with the run. */
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-augment.h"

#define GROUP "data"

static void
save_names (GKeyFile *file, const char *key, char *const *names)
{
  if (names != NULL)
    g_key_file_set_string_list (file, GROUP, key, (const char *const *)names, g_strv_length ((char **)names));
}

static void
save_numbers (GKeyFile *file, const char *key, const float *numbers, gint64 n)
{
  g_autofree double *list = g_new (double, MAX (n, 1));

  for (gint64 i = 0; i < n && numbers != NULL; i++)
    list[i] = numbers[i];
  if (numbers != NULL)
    g_key_file_set_double_list (file, GROUP, key, list, (gsize)n);
}

/* The number of features in a row of x. */
static gint64
n_features (const LoomDataset *self)
{
  const LoomShape *x = &self->info.port[0].type.shape;

  return self->info.n_ports > 0 && x->rank == 2 ? x->dim[1].coef : 0;
}

char *
loom_dataset_save (const LoomDataset *self)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();

  if (self->class_names == NULL && self->token_names == NULL && self->feature_names == NULL
      && self->feature_fill == NULL && self->feature_scale == NULL)
    return NULL;
  g_key_file_set_string (file, GROUP, "source", self->klass->name);
  save_names (file, "classes", self->class_names);
  save_names (file, "tokens", self->token_names);
  save_names (file, "features", self->feature_names);
  save_numbers (file, "fill", self->feature_fill, n_features (self));
  save_numbers (file, "shift", self->feature_shift, n_features (self));
  save_numbers (file, "scale", self->feature_scale, n_features (self));
  return g_key_file_to_data (file, NULL, NULL);
}

/* ---- for programs without a data set ------------------------------------------ */

static LoomTensor *
vector_of (const float *numbers, gint64 n)
{
  LoomTensor *t = numbers != NULL ? loom_tensor_new (LOOM_F32, 1, &n, NULL) : NULL;

  if (t != NULL)
    memcpy (t->data, numbers, t->bytes);
  return t;
}

void
loom_dataset_preparation (const LoomDataset *self, LoomPreparation *out)
{
  const gint64 n = n_features (self);

  *out = (LoomPreparation){ vector_of (self->feature_fill, n), vector_of (self->feature_shift, n),
                            vector_of (self->feature_scale, n) };
  if (self->augment != NULL)
    loom_augment_preparation (self->augment, &out->shift, &out->scale);
}

void
loom_preparation_clear (LoomPreparation *self)
{
  g_clear_pointer (&self->fill, loom_tensor_unref);
  g_clear_pointer (&self->shift, loom_tensor_unref);
  g_clear_pointer (&self->scale, loom_tensor_unref);
}

/* ---- reading ------------------------------------------------------------ */

static void
restore_names (GKeyFile *file, const char *key, char ***names)
{
  char **saved = g_key_file_get_string_list (file, GROUP, key, NULL, NULL);

  if (saved == NULL)
    return;
  g_strfreev (*names);
  *names = saved;
}

static gboolean
restore_numbers (GKeyFile *file, const char *key, gint64 n, float **numbers)
{
  gsize length;
  g_autofree double *saved = g_key_file_get_double_list (file, GROUP, key, &length, NULL);

  if (!g_key_file_has_key (file, GROUP, key, NULL))
    return TRUE;
  if (saved == NULL || length != (gsize)n)
    return FALSE;
  g_free (*numbers);
  *numbers = g_new (float, n);
  for (gint64 i = 0; i < n; i++)
    (*numbers)[i] = (float)saved[i];
  return TRUE;
}

gboolean
loom_dataset_restore (LoomDataset *self, const char *saved, const char *name, GError **error)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autofree char *source = NULL;
  const gint64 n = n_features (self);

  if (g_key_file_load_from_data (file, saved, (gsize)-1, G_KEY_FILE_NONE, NULL))
    source = g_key_file_get_string (file, GROUP, "source", NULL);
  /* The graph of the run has another data set than the one on which it was trained. */
  if (source != NULL && !g_str_equal (source, self->klass->name))
    return TRUE;
  if (source == NULL || !restore_numbers (file, "fill", n, &self->feature_fill)
      || !restore_numbers (file, "shift", n, &self->feature_shift)
      || !restore_numbers (file, "scale", n, &self->feature_scale))
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” does not hold the data that a run saves of this data set.", name);
  restore_names (file, "classes", &self->class_names);
  restore_names (file, "tokens", &self->token_names);
  restore_names (file, "features", &self->feature_names);
  if (self->klass->restored != NULL)
    self->klass->restored (self);
  return TRUE;
}
