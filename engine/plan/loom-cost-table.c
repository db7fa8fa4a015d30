/* Reads, writes and queries the cost table, a key file (format: data/costs.ini).
 *
 * The shipped file is compiled in. The user's file holds only measurements of `gradloom bench --tune`, with a checksum:
 * a file that was edited or cut short is not used, because it would change the bits of runs. */
#include "engine/plan/loom-cost-table.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "kernels/options.h"

#define HEAD     "gradloom costs"
#define VERSION  1
#define MEASURED "measured on "
#define CHOICES  "choices of "

static const char shipped[] =
#include "loom-costs-shipped.inc"
    ;

typedef struct
{
  double start, flops, bytes; /* seconds; per second */
} Rate;

struct _LoomCostTable
{
  gatomicrefcount refs;
  GMutex lock;
  GKeyFile *file;       /* without the head group */
  GHashTable *rates;    /* group → Rate */
  GHashTable *measured; /* device → GHashTable of call → GHashTable of option → double * */
  GHashTable *shipped;  /* names of the groups of shipped measurements; the user's replace them */
  char *origin;
  const char *hash; /* interned; NULL: not computed yet */
  gboolean is_kept; /* loaded from a run's file */
  GString *note;
  GHashTable *noted; /* texts of all notes so far, each of which is added once */
};

/* ---- reading -------------------------------------------------------------- */

static gboolean
is_choice (const char *group)
{
  return g_str_has_prefix (group, CHOICES);
}

static gboolean fault (GError **error, const char *name, const char *format, ...) G_GNUC_PRINTF (3, 4);

static gboolean
fault (GError **error, const char *name, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  return loom_refuse (error, LOOM_ERROR_DATA, "%s is not a valid cost table: %s.", name, what);
}

static gboolean
read_number (GKeyFile *file, const char *group, const char *key, double least, double *value)
{
  g_autoptr (GError) error = NULL;

  *value = g_key_file_get_double (file, group, key, &error);
  return error == NULL && isfinite (*value) && *value >= least;
}

static gboolean
read_rate (LoomCostTable *table, const char *group, const char *name, GError **error)
{
  Rate r;

  if (!read_number (table->file, group, "start", 0, &r.start) || !read_number (table->file, group, "flops", 1, &r.flops)
      || !read_number (table->file, group, "bytes", 1, &r.bytes))
    return fault (error, name, "[%s] needs start ≥ 0, flops ≥ 1 and bytes ≥ 1", group);
  g_hash_table_insert (table->rates, g_strdup (group), g_memdup2 (&r, sizeof r));
  return TRUE;
}

/* TRUE if the measurements of a device are the shipped ones, so the user has not tuned it. */
static gboolean
is_shipped (LoomCostTable *table, const char *device)
{
  g_autofree char *group = g_strconcat (MEASURED, device, NULL);

  return g_hash_table_contains (table->shipped, group);
}

static void
keep_measured (LoomCostTable *table, const char *device, const char *call, const char *option, double seconds)
{
  GHashTable *calls = g_hash_table_lookup (table->measured, device), *options;

  if (calls == NULL)
    {
      calls = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_hash_table_unref);
      g_hash_table_insert (table->measured, g_strdup (device), calls);
    }
  options = g_hash_table_lookup (calls, call);
  if (options == NULL)
    {
      options = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
      g_hash_table_insert (calls, g_strdup (call), options);
    }
  g_hash_table_insert (options, g_strdup (option), g_memdup2 (&seconds, sizeof seconds));
}

/* Parses "onednn nhwc 1.2e-05": an option's name and, after the last space, seconds. */
static gboolean
read_measured (LoomCostTable *table, const char *group, const char *name, GError **error)
{
  g_auto (GStrv) calls = g_key_file_get_keys (table->file, group, NULL, NULL);

  for (guint i = 0; calls != NULL && calls[i] != NULL; i++)
    {
      g_auto (GStrv) options = g_key_file_get_string_list (table->file, group, calls[i], NULL, NULL);

      for (guint k = 0; options != NULL && options[k] != NULL; k++)
        {
          char *space = strrchr (options[k], ' '), *end = NULL;
          double seconds = space != NULL ? g_ascii_strtod (space + 1, &end) : -1;

          if (space == NULL || end == space + 1 || *end != '\0' || !isfinite (seconds) || seconds < 0)
            return fault (error, name, "[%s] has no seconds in “%s”", group, options[k]);
          *space = '\0';
          keep_measured (table, group + strlen (MEASURED), calls[i], options[k], seconds);
        }
    }
  return TRUE;
}

/* Reads rates, measurements and their checksum, and removes the head from `file`. */
static gboolean
read_groups (LoomCostTable *table, const char *name, GError **error)
{
  g_auto (GStrv) groups = NULL;

  g_key_file_remove_group (table->file, HEAD, NULL);
  groups = g_key_file_get_groups (table->file, NULL);
  for (guint i = 0; groups[i] != NULL; i++)
    if (g_str_has_prefix (groups[i], MEASURED) ? !read_measured (table, groups[i], name, error)
                                               : !is_choice (groups[i]) && !read_rate (table, groups[i], name, error))
      return FALSE;
  return TRUE;
}

/* The text of a key file that is hashed: all groups except the head, without comments and spaces. choices: with the
 * recorded choices. */
static char *
checksum_of (GKeyFile *file, gboolean choices)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  g_auto (GStrv) groups = g_key_file_get_groups (file, NULL);

  for (guint i = 0; groups[i] != NULL; i++)
    {
      g_auto (GStrv) keys = NULL;

      if (strcmp (groups[i], HEAD) == 0 || (is_choice (groups[i]) && !choices))
        continue;
      g_checksum_update (sum, (const guchar *)groups[i], (gssize)strlen (groups[i]) + 1);
      keys = g_key_file_get_keys (file, groups[i], NULL, NULL);
      for (guint k = 0; keys != NULL && keys[k] != NULL; k++)
        {
          g_autofree char *value = g_key_file_get_value (file, groups[i], keys[k], NULL);

          g_checksum_update (sum, (const guchar *)keys[k], (gssize)strlen (keys[k]) + 1);
          g_checksum_update (sum, (const guchar *)value, (gssize)strlen (value) + 1);
        }
    }
  return g_strndup (g_checksum_get_string (sum), 16);
}

static gboolean
load_key_file (GKeyFile *file, const char *text, const char *name, gboolean checked, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autofree char *said = NULL, *sum = NULL;

  if (!g_key_file_load_from_data (file, text, (gsize)-1, G_KEY_FILE_NONE, &local))
    return fault (error, name, "%s", local->message);
  if (g_key_file_get_integer (file, HEAD, "version", NULL) != VERSION)
    return fault (error, name, "it has no [" HEAD "] of version %d", VERSION);
  if (!checked)
    return TRUE;
  said = g_key_file_get_string (file, HEAD, "checksum", NULL);
  sum = checksum_of (file, TRUE);
  if (g_strcmp0 (said, sum) != 0)
    return fault (error, name, "its checksum is wrong");
  return TRUE;
}

static LoomCostTable *
table_new (void)
{
  LoomCostTable *table = g_new0 (LoomCostTable, 1);

  g_atomic_ref_count_init (&table->refs);
  g_mutex_init (&table->lock);
  table->file = g_key_file_new ();
  table->rates = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  table->measured = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_hash_table_unref);
  table->shipped = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  table->note = g_string_new (NULL);
  table->noted = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return table;
}

LoomCostTable *
loom_cost_table_new_from_text (const char *text, const char *name, GError **error)
{
  g_autoptr (LoomCostTable) table = table_new ();

  if (!load_key_file (table->file, text, name, TRUE, error) || !read_groups (table, name, error))
    return NULL;
  table->origin = g_strdup (name);
  table->is_kept = TRUE;
  return g_steal_pointer (&table);
}

LoomCostTable *
loom_cost_table_new (void)
{
  LoomCostTable *table = table_new ();
  g_auto (GStrv) groups = NULL;
  g_autoptr (GError) error = NULL;

  if (!load_key_file (table->file, shipped, "data/costs.ini", FALSE, &error)
      || !read_groups (table, "data/costs.ini", &error))
    g_error ("%s", error->message);
  groups = g_key_file_get_groups (table->file, NULL);
  for (guint i = 0; groups[i] != NULL; i++)
    if (g_str_has_prefix (groups[i], MEASURED))
      g_hash_table_add (table->shipped, g_strdup (groups[i]));
  table->origin = g_strdup ("shipped");
  return table;
}

char *
loom_cost_table_user_file (void)
{
  return g_build_filename (g_get_user_config_dir (), "gradloom", "costs.ini", NULL);
}

static void
copy_group (GKeyFile *to, GKeyFile *from, const char *group)
{
  g_auto (GStrv) keys = g_key_file_get_keys (from, group, NULL, NULL);

  for (guint k = 0; keys != NULL && keys[k] != NULL; k++)
    {
      g_autofree char *value = g_key_file_get_value (from, group, keys[k], NULL);

      g_key_file_set_value (to, group, keys[k], value);
    }
}

/* Replaces measurements by those of another file, call by call. name: the file's name in an error. */
static gboolean
take_measurements (LoomCostTable *table, GKeyFile *from, const char *name, GError **error)
{
  g_auto (GStrv) groups = g_key_file_get_groups (from, NULL);

  for (guint i = 0; groups[i] != NULL; i++)
    if (g_str_has_prefix (groups[i], MEASURED))
      {
        copy_group (table->file, from, groups[i]);
        g_hash_table_remove (table->shipped, groups[i]);
        if (!read_measured (table, groups[i], name, error))
          return FALSE;
      }
  return TRUE;
}

LoomCostTable *
loom_cost_table_new_default (void)
{
  g_autoptr (LoomCostTable) table = loom_cost_table_new ();
  g_autoptr (GKeyFile) user = g_key_file_new ();
  g_autofree char *path = loom_cost_table_user_file (), *text = NULL;
  g_autoptr (GError) error = NULL;

  if (!loom_path_read (path, &text, NULL, &error))
    {
      if (!g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        loom_cost_table_note (table, error->message);
      return g_steal_pointer (&table);
    }
  if (!load_key_file (user, text, path, TRUE, &error) || !take_measurements (table, user, path, &error))
    {
      g_autofree char *sentence = g_strdup_printf (
          "%s Gradloom's own table is used; gradloom bench GRAPH --tune writes a new one.", error->message);

      loom_cost_table_unref (g_steal_pointer (&table));
      table = loom_cost_table_new ();
      loom_cost_table_note (table, sentence);
      return g_steal_pointer (&table);
    }
  g_free (table->origin);
  table->origin = g_strdup_printf ("shipped and %s", path);
  return g_steal_pointer (&table);
}

void
loom_cost_table_add_measured (LoomCostTable *table, LoomCostTable *from)
{
  g_autofree char *text = loom_cost_table_to_text (from, FALSE);
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autoptr (GError) error = NULL;

  g_mutex_lock (&table->lock);
  if (!g_key_file_load_from_data (file, text, (gsize)-1, G_KEY_FILE_NONE, &error)
      || !take_measurements (table, file, from->origin, &error))
    g_error ("%s", error->message); /* loom_cost_table_to_text() wrote the text, so it parses */
  table->hash = NULL;
  g_mutex_unlock (&table->lock);
}

LoomCostTable *
loom_cost_table_ref (LoomCostTable *table)
{
  g_atomic_ref_count_inc (&table->refs);
  return table;
}

void
loom_cost_table_unref (LoomCostTable *table)
{
  if (table == NULL || !g_atomic_ref_count_dec (&table->refs))
    return;
  g_key_file_unref (table->file);
  g_hash_table_unref (table->rates);
  g_hash_table_unref (table->measured);
  g_hash_table_unref (table->shipped);
  g_string_free (table->note, TRUE);
  g_hash_table_unref (table->noted);
  g_free (table->origin);
  g_mutex_clear (&table->lock);
  g_free (table);
}

/* ---- serialisation ----------------------------------------------------------------- */

char *
loom_cost_table_to_text (LoomCostTable *table, gboolean whole)
{
  g_autoptr (GKeyFile) to = g_key_file_new ();
  g_auto (GStrv) groups = NULL;
  g_autofree char *sum = NULL;

  g_key_file_set_integer (to, HEAD, "version", VERSION);
  g_mutex_lock (&table->lock);
  groups = g_key_file_get_groups (table->file, NULL);
  for (guint i = 0; groups[i] != NULL; i++)
    if (whole || (g_str_has_prefix (groups[i], MEASURED) && !g_hash_table_contains (table->shipped, groups[i])))
      copy_group (to, table->file, groups[i]);
  g_mutex_unlock (&table->lock);
  sum = checksum_of (to, TRUE);
  g_key_file_set_string (to, HEAD, "checksum", sum);
  return g_key_file_to_data (to, NULL, NULL);
}

const char *
loom_cost_table_hash (LoomCostTable *table)
{
  const char *hash;

  g_mutex_lock (&table->lock);
  if (table->hash == NULL)
    {
      g_autofree char *sum = checksum_of (table->file, FALSE);

      table->hash = g_intern_string (sum);
    }
  hash = table->hash;
  g_mutex_unlock (&table->lock);
  return hash;
}

const char *
loom_cost_table_origin (LoomCostTable *table)
{
  return table->origin;
}

void
loom_cost_table_note (LoomCostTable *table, const char *sentence)
{
  g_mutex_lock (&table->lock);
  if (g_hash_table_add (table->noted, g_strdup (sentence)))
    g_string_append_printf (table->note, "%s%s", table->note->len > 0 ? " " : "", sentence);
  g_mutex_unlock (&table->lock);
}

char *
loom_cost_table_take_note (LoomCostTable *table)
{
  char *note = NULL;

  g_mutex_lock (&table->lock);
  if (table->note->len > 0)
    {
      note = g_strdup (table->note->str);
      g_string_truncate (table->note, 0);
    }
  g_mutex_unlock (&table->lock);
  return note;
}

/* ---- devices ---------------------------------------------------------------- */

void
loom_cost_table_check_device (LoomCostTable *table, const char *backend, const char *device)
{
  g_autofree char *prefix = g_strconcat (backend, ": ", NULL), *sentence = NULL;
  GHashTableIter iter;
  const char *other;

  if (table->is_kept || loom_cost_table_has_measured (table, device))
    return;
  g_mutex_lock (&table->lock);
  g_hash_table_iter_init (&iter, table->measured);
  while (sentence == NULL && g_hash_table_iter_next (&iter, (gpointer *)&other, NULL))
    if (g_str_has_prefix (other, prefix) && !is_shipped (table, other))
      sentence
          = g_strdup_printf ("The tuned cost table was measured on other devices than this one (%s), so Gradloom's "
                             "own table is used; gradloom bench GRAPH --tune measures this machine.",
                             device);
  g_mutex_unlock (&table->lock);
  if (sentence != NULL)
    loom_cost_table_note (table, sentence);
}

/* ---- numbers ------------------------------------------------------------------ */

/* The type to which a device rounds for speed, or NULL. */
static const char *
precision_of (const LoomKernelSpec *spec)
{
  if (spec->tf32)
    return "tf32";
  return spec->n_in > 0 && (spec->in[0].dtype == LOOM_F16 || spec->in[0].dtype == LOOM_BF16) ? "16-bit" : NULL;
}

double
loom_cost_table_estimate (LoomCostTable *table, const char *backend, const LoomKernelSpec *spec,
                          const LoomKernelOption *option, double flops, double bytes)
{
  const char *layout = loom_cost_layout_name (spec, option->nhwc), *precision = precision_of (spec);
  int name = (int)strcspn (option->algorithm, ":"); /* all configurations of an algorithm have one rate */
  g_autoptr (GString) group = g_string_new (NULL);
  const Rate *r = NULL;

  /* Searches from the most specific group to the back end's own. */
  for (int word = 4; word >= 1 && r == NULL; word--)
    {
      g_string_assign (group, backend);
      if (word > 1)
        g_string_append_printf (group, " %s", spec->primitive);
      if (word > 2)
        g_string_append_printf (group, " %.*s", name, option->algorithm);
      if (word > 3)
        g_string_append_printf (group, " %s", layout);
      r = g_hash_table_lookup (table->rates, group->str);
      if (precision != NULL && word > 1)
        {
          const Rate *special;

          g_string_append_printf (group, " %s", precision);
          special = g_hash_table_lookup (table->rates, group->str);
          r = special != NULL ? special : r;
        }
    }
  if (r == NULL)
    return 1e-6 + bytes / 1e10;
  return r->start + flops / r->flops + bytes / r->bytes;
}

gboolean
loom_cost_table_has_measured (LoomCostTable *table, const char *device)
{
  gboolean has;

  g_mutex_lock (&table->lock);
  has = g_hash_table_contains (table->measured, device);
  g_mutex_unlock (&table->lock);
  return has;
}

double
loom_cost_table_measured (LoomCostTable *table, const char *device, const char *call, const char *option)
{
  GHashTable *calls, *options;
  const double *seconds;

  g_mutex_lock (&table->lock);
  calls = g_hash_table_lookup (table->measured, device);
  options = calls != NULL ? g_hash_table_lookup (calls, call) : NULL;
  seconds = options != NULL ? g_hash_table_lookup (options, option) : NULL;
  g_mutex_unlock (&table->lock);
  return seconds != NULL ? *seconds : -1;
}

void
loom_cost_table_set_measured (LoomCostTable *table, const char *device, const char *call, const char *option,
                              double seconds)
{
  g_autofree char *group = g_strconcat (MEASURED, device, NULL);
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *prefix = g_strconcat (option, " ", NULL);
  g_auto (GStrv) old = NULL;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  g_mutex_lock (&table->lock);
  old = g_key_file_get_string_list (table->file, group, call, NULL, NULL);
  for (guint i = 0; old != NULL && old[i] != NULL; i++)
    if (!g_str_has_prefix (old[i], prefix) || strchr (old[i] + strlen (prefix), ' ') != NULL)
      g_ptr_array_add (list, g_strdup (old[i]));
  g_ptr_array_add (list, g_strconcat (prefix, g_ascii_formatd (number, sizeof number, "%.3e", seconds), NULL));
  g_hash_table_remove (table->shipped, group);
  g_key_file_set_string_list (table->file, group, call, (const char *const *)list->pdata, list->len);
  keep_measured (table, device, call, option, seconds);
  table->hash = NULL;
  g_mutex_unlock (&table->lock);
}

/* ---- choices -------------------------------------------------------------------- */

char *
loom_cost_table_choice (LoomCostTable *table, const char *plan, guint instr)
{
  g_autofree char *group = g_strconcat (CHOICES, plan, NULL), *key = g_strdup_printf ("%u", instr);
  char *option;

  g_mutex_lock (&table->lock);
  option = g_key_file_get_string (table->file, group, key, NULL);
  g_mutex_unlock (&table->lock);
  return option;
}

void
loom_cost_table_choose (LoomCostTable *table, const char *plan, guint instr, const char *option)
{
  g_autofree char *group = g_strconcat (CHOICES, plan, NULL), *key = g_strdup_printf ("%u", instr);

  g_mutex_lock (&table->lock);
  g_key_file_set_string (table->file, group, key, option);
  g_mutex_unlock (&table->lock);
}

void
loom_cost_table_drop_choices (LoomCostTable *table)
{
  g_auto (GStrv) groups = NULL;

  g_mutex_lock (&table->lock);
  groups = g_key_file_get_groups (table->file, NULL);
  for (guint i = 0; groups[i] != NULL; i++)
    if (is_choice (groups[i]))
      g_key_file_remove_group (table->file, groups[i], NULL);
  g_mutex_unlock (&table->lock);
}
