/* Implements studio-runs.h.
 *
 * A reading gets the summaries of the one before, with the times and sizes of their files, and returns all of them. The
 * list is then changed only where it differs, so that rows keep selection and focus. */
#include "ui/runs/studio-runs.h"

#include <string.h>
#include <sys/stat.h>

#include "ui/charts/studio-type.h"

#define MOST_CHANGES 3 /* of a row */
/* The rows of a first reading are added in several turns of the main loop: a list makes 200 widgets at once otherwise.
 */
#define ROWS_PER_TURN 24

struct _StudioRuns
{
  GObject parent_instance;
  char *kept, *folder, *title, *only, *problem, *paused;
  GPtrArray *entries;    /* StudioRunEntry */
  GHashTable *known;     /* folder → Known */
  GHashTable *hidden;    /* folders */
  GCancellable *reading; /* NULL: no reading */
  gboolean is_stale;     /* something changed during the reading */
  GPtrArray *all;        /* StudioRunEntry, while the list grows to them; NULL */
  guint growing;         /* idle source; 0: the list is complete */
  GPtrArray *charted;    /* StudioRunEntry that "chosen-changed" was emitted for */
  gboolean no_validation;
};

static void list_model_init (GListModelInterface *interface);
G_DEFINE_FINAL_TYPE_WITH_CODE (StudioRuns, studio_runs, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, list_model_init))

enum
{
  READ,
  CHOSEN_CHANGED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* ---- reading, in a thread ----------------------------------------------------------------- */

/* A summary and the state of the files that it was read from. */
typedef struct
{
  gint64 stamp[8];
  LoomRunSummary *summary;
} Known;

static void
known_free (gpointer data)
{
  Known *known = data;

  loom_run_summary_unref (known->summary);
  g_free (known);
}

typedef struct
{
  char *kept, *folder, *title, *only, *problem;
  GHashTable *known;  /* of the reading before; then of this one */
  GPtrArray *runs;    /* LoomRunSummary, in the order of begin */
  GPtrArray *changes; /* char* or NULL for each */
} Reading;

static void
reading_free (gpointer data)
{
  Reading *r = data;

  g_free (r->kept);
  g_free (r->folder);
  g_free (r->title);
  g_free (r->only);
  g_free (r->problem);
  g_hash_table_unref (r->known);
  g_ptr_array_unref (r->runs);
  g_ptr_array_unref (r->changes);
  g_free (r);
}

static void
get_stamp (const char *folder, gint64 stamp[8])
{
  static const char *const names[] = { LOOM_RUN_EVENTS, LOOM_RUN_NOTES, LOOM_RUN_GRAPH, LOOM_RUN_WEIGHTS };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (folder, names[i], NULL);
      struct stat info = { 0 };
      const gboolean is_there = lstat (path, &info) == 0;

      stamp[2 * i] = is_there ? info.st_mtim.tv_sec * G_GINT64_CONSTANT (1000000000) + info.st_mtim.tv_nsec : -1;
      stamp[2 * i + 1] = is_there ? info.st_size : -1;
    }
}

/* A run that trains is read again, because it may have ended without writing. */
static void
read_folder (Reading *r, GHashTable *known, const char *folder, gboolean only_title)
{
  Known *before = g_hash_table_lookup (r->known, folder), *now = g_new0 (Known, 1);

  get_stamp (folder, now->stamp);
  if (before != NULL && !before->summary->log.is_training && memcmp (before->stamp, now->stamp, sizeof now->stamp) == 0)
    now->summary = loom_run_summary_ref (before->summary);
  else
    now->summary = loom_run_summary_new (folder, STUDIO_RUNS_POINTS);
  if (!g_hash_table_contains (known, folder) && !(only_title && g_strcmp0 (now->summary->title, r->title) != 0))
    g_ptr_array_add (r->runs, loom_run_summary_ref (now->summary));
  g_hash_table_replace (known, g_strdup (folder), now);
}

static void
read_folders (Reading *r, GHashTable *known, const char *in, gboolean only_title, GCancellable *cancellable,
              GError **error)
{
  g_auto (GStrv) folders = loom_run_list (in, error);

  for (guint i = 0; folders != NULL && folders[i] != NULL && !g_cancellable_is_cancelled (cancellable); i++)
    read_folder (r, known, folders[i], only_title);
}

/* A sweep puts its runs one level deeper. */
static void
read_below (Reading *r, GHashTable *known, GCancellable *cancellable)
{
  g_autoptr (GDir) dir = g_dir_open (r->folder, 0, NULL);
  const char *name;

  read_folders (r, known, r->folder, FALSE, cancellable, NULL);
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL && !g_cancellable_is_cancelled (cancellable))
    {
      g_autofree char *path = g_build_filename (r->folder, name, NULL);
      struct stat info;

      if (name[0] != '.' && lstat (path, &info) == 0 && S_ISDIR (info.st_mode) && !g_hash_table_contains (known, path))
        read_folders (r, known, path, FALSE, cancellable, NULL);
    }
}

static void
read_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Reading *r = data;
  g_autoptr (GHashTable) known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, known_free);
  g_autoptr (GError) error = NULL;

  if (r->only != NULL)
    {
      read_folders (r, known, r->only, FALSE, cancellable, &error);
      r->problem = error != NULL ? g_strdup (error->message) : NULL;
    }
  else
    {
      if (r->folder != NULL)
        read_below (r, known, cancellable);
      /* Before the first run Studio has no folder for them. */
      if (r->kept != NULL)
        read_folders (r, known, r->kept, TRUE, cancellable, NULL);
    }
  g_hash_table_unref (r->known);
  r->known = g_steal_pointer (&known);
  g_ptr_array_sort (r->runs, loom_run_summary_compare);
  for (guint i = 0; i < r->runs->len; i++)
    {
      const LoomRunSummary *before = loom_run_before (r->runs, i);

      g_ptr_array_add (r->changes,
                       before != NULL ? loom_run_change (before, r->runs->pdata[i], MOST_CHANGES, NULL) : NULL);
    }
  g_task_return_boolean (task, TRUE);
}

/* ---- the list -------------------------------------------------------------------------------- */

StudioRunEntry *
studio_runs_find (StudioRuns *self, const char *folder)
{
  for (guint i = 0; i < self->entries->len; i++)
    if (g_str_equal (studio_run_entry_get (self->entries->pdata[i])->folder, folder))
      return self->entries->pdata[i];
  return NULL;
}

/* Replaces the entries, and announces only the part between the first and the last difference. */
static void
replace (StudioRuns *self, GPtrArray *entries)
{
  g_autoptr (GPtrArray) old = g_steal_pointer (&self->entries);
  guint first = 0, last = 0;

  self->entries = entries;
  while (first < MIN (old->len, entries->len) && old->pdata[first] == entries->pdata[first])
    first++;
  while (last < MIN (old->len, entries->len) - first
         && old->pdata[old->len - 1 - last] == entries->pdata[entries->len - 1 - last])
    last++;
  if (old->len != entries->len || first < entries->len)
    g_list_model_items_changed (G_LIST_MODEL (self), first, old->len - first - last, entries->len - first - last);
}

/* Emits "chosen-changed" if the charts have other runs than before. has_values: one of them has new values. */
static void
update_charts (StudioRuns *self, gboolean has_values)
{
  GPtrArray *charted = studio_runs_dup_chosen (self, TRUE);
  gboolean same = charted->len == self->charted->len;

  for (guint i = 0; i < charted->len; i++)
    {
      same = same && charted->pdata[i] == self->charted->pdata[i];
      g_object_ref (charted->pdata[i]);
    }
  g_ptr_array_set_free_func (charted, g_object_unref);
  g_ptr_array_unref (self->charted);
  self->charted = charted;
  if (!same || has_values)
    g_signal_emit (self, signals[CHOSEN_CHANGED], 0);
}

static gboolean
grow_cb (gpointer data)
{
  StudioRuns *self = data;
  GPtrArray *entries = g_ptr_array_new_with_free_func (g_object_unref);
  const guint n = MIN (self->entries->len + ROWS_PER_TURN, self->all->len);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (entries, g_object_ref (self->all->pdata[i]));
  replace (self, entries);
  if (n < self->all->len)
    return G_SOURCE_CONTINUE;
  g_clear_pointer (&self->all, g_ptr_array_unref);
  self->growing = 0;
  update_charts (self, FALSE);
  g_signal_emit (self, signals[READ], 0);
  return G_SOURCE_REMOVE;
}

/* Ends a growth whose entries are not the newest any more. */
static void
stop_growing (StudioRuns *self)
{
  g_clear_handle_id (&self->growing, g_source_remove);
  g_clear_pointer (&self->all, g_ptr_array_unref);
}

/* TRUE if a run in the charts has new values. */
static gboolean
show (StudioRuns *self, const Reading *r)
{
  gboolean has_values = FALSE;
  GPtrArray *entries = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = r->runs->len; i-- > 0;)
    {
      LoomRunSummary *run = r->runs->pdata[i];
      StudioRunEntry *have = studio_runs_find (self, run->folder);

      if (g_hash_table_contains (self->hidden, run->folder))
        continue;
      if (have != NULL && studio_run_entry_set (have, run, r->changes->pdata[i]))
        has_values = has_values || g_ptr_array_find (self->charted, have, NULL);
      have = have != NULL ? g_object_ref (have) : studio_run_entry_new (run, r->changes->pdata[i]);
      studio_run_entry_set_paused (have, g_strcmp0 (run->folder, self->paused) == 0);
      g_ptr_array_add (entries, have);
    }
  stop_growing (self);
  if (self->entries->len > 0 || entries->len <= ROWS_PER_TURN)
    {
      replace (self, entries);
      return has_values;
    }
  self->all = entries;
  self->growing = g_idle_add (grow_cb, self);
  return has_values;
}

static void
read_cb (GObject *object, GAsyncResult *result, gpointer data)
{
  StudioRuns *self = STUDIO_RUNS (object);
  Reading *r = g_task_get_task_data (G_TASK (result));
  const gboolean is_current = self->reading == g_task_get_cancellable (G_TASK (result));

  if (!is_current || !g_task_propagate_boolean (G_TASK (result), NULL))
    return;
  g_clear_object (&self->reading);
  g_hash_table_unref (self->known);
  self->known = g_hash_table_ref (r->known);
  g_free (self->problem);
  self->problem = g_strdup (r->problem);
  update_charts (self, show (self, r));
  if (self->growing == 0)
    g_signal_emit (self, signals[READ], 0);
  if (self->is_stale)
    studio_runs_refresh (self);
}

void
studio_runs_refresh (StudioRuns *self)
{
  g_autoptr (GTask) task = NULL;
  Reading *r;

  self->is_stale = self->reading != NULL;
  if (self->reading != NULL)
    return;
  r = g_new0 (Reading, 1);
  r->kept = g_strdup (self->kept);
  r->folder = g_strdup (self->folder);
  r->title = g_strdup (self->title);
  r->only = g_strdup (self->only);
  r->known = g_hash_table_ref (self->known);
  r->runs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_run_summary_unref);
  r->changes = g_ptr_array_new_with_free_func (g_free);
  self->reading = g_cancellable_new ();
  task = g_task_new (self, self->reading, read_cb, NULL);
  g_task_set_task_data (task, r, reading_free);
  g_task_run_in_thread (task, read_thread);
}

/* The reading of other folders is of no use. */
static void
read_again (StudioRuns *self)
{
  if (self->reading != NULL)
    g_cancellable_cancel (self->reading);
  g_clear_object (&self->reading);
  studio_runs_refresh (self);
}

/* ---- object -------------------------------------------------------------------------------------- */

static GType
get_item_type (GListModel *model)
{
  return STUDIO_TYPE_RUN_ENTRY;
}

static guint
get_n_items (GListModel *model)
{
  return STUDIO_RUNS (model)->entries->len;
}

static gpointer
get_item (GListModel *model, guint position)
{
  StudioRuns *self = STUDIO_RUNS (model);

  return position < self->entries->len ? g_object_ref (self->entries->pdata[position]) : NULL;
}

static void
list_model_init (GListModelInterface *interface)
{
  interface->get_item_type = get_item_type;
  interface->get_n_items = get_n_items;
  interface->get_item = get_item;
}

static void
runs_finalize (GObject *object)
{
  StudioRuns *self = STUDIO_RUNS (object);

  stop_growing (self);
  g_free (self->kept);
  g_free (self->folder);
  g_free (self->title);
  g_free (self->only);
  g_free (self->paused);
  g_free (self->problem);
  g_ptr_array_unref (self->entries);
  g_ptr_array_unref (self->charted);
  g_hash_table_unref (self->known);
  g_hash_table_unref (self->hidden);
  G_OBJECT_CLASS (studio_runs_parent_class)->finalize (object);
}

static void
studio_runs_class_init (StudioRunsClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = runs_finalize;
  signals[READ] = studio_signal_new ("read", STUDIO_TYPE_RUNS, 0);
  signals[CHOSEN_CHANGED] = studio_signal_new ("chosen-changed", STUDIO_TYPE_RUNS, 0);
}

static void
studio_runs_init (StudioRuns *self)
{
  self->entries = g_ptr_array_new_with_free_func (g_object_unref);
  self->charted = g_ptr_array_new_with_free_func (g_object_unref);
  self->known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, known_free);
  self->hidden = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

StudioRuns *
studio_runs_new (void)
{
  return g_object_new (STUDIO_TYPE_RUNS, NULL);
}

static gboolean
set_text (char **text, const char *value)
{
  if (g_strcmp0 (*text, value) == 0)
    return FALSE;
  g_free (*text);
  *text = g_strdup (value);
  return TRUE;
}

void
studio_runs_set_graph (StudioRuns *self, const char *kept, const char *folder, const char *title)
{
  const gboolean kept_differs = set_text (&self->kept, kept), folder_differs = set_text (&self->folder, folder),
                 title_differs = set_text (&self->title, title);

  if (kept_differs || folder_differs || title_differs)
    read_again (self);
  else
    studio_runs_refresh (self);
}

void
studio_runs_set_only (StudioRuns *self, const char *folder)
{
  if (set_text (&self->only, folder))
    read_again (self);
}

const char *
studio_runs_get_only (StudioRuns *self)
{
  return self->only;
}

gboolean
studio_runs_is_reading (StudioRuns *self)
{
  return self->reading != NULL || self->growing != 0;
}

const char *
studio_runs_get_problem (StudioRuns *self)
{
  return self->problem;
}

/* ---- charts --------------------------------------------------------------------------------------- */

static int
free_colour (StudioRuns *self)
{
  for (int colour = 1;; colour++)
    {
      gboolean is_taken = FALSE;

      for (guint i = 0; i < self->entries->len; i++)
        is_taken = is_taken || studio_run_entry_get_colour (self->entries->pdata[i]) == colour;
      if (!is_taken)
        return colour;
    }
}

void
studio_runs_choose (StudioRuns *self, StudioRunEntry *entry, gboolean chosen)
{
  if (chosen == (studio_run_entry_get_colour (entry) >= 0) || studio_run_entry_get (entry)->error != NULL)
    return;
  studio_run_entry_set_colour (entry, chosen ? free_colour (self) : -1);
  update_charts (self, TRUE);
}

void
studio_runs_set_validation (StudioRuns *self, gboolean shown)
{
  if (self->no_validation == !shown)
    return;
  self->no_validation = !shown;
  g_signal_emit (self, signals[CHOSEN_CHANGED], 0);
}

gboolean
studio_runs_get_validation (StudioRuns *self)
{
  return !self->no_validation;
}

GPtrArray *
studio_runs_dup_chosen (StudioRuns *self, gboolean all)
{
  GPtrArray *chosen = g_ptr_array_new ();

  for (guint i = 0; i < self->entries->len; i++)
    if (studio_run_entry_get_colour (self->entries->pdata[i]) >= 0)
      g_ptr_array_add (chosen, self->entries->pdata[i]);
  for (guint i = 0, none = chosen->len == 0; all && none && i < self->entries->len; i++)
    if (studio_run_entry_get (self->entries->pdata[i])->error == NULL)
      g_ptr_array_add (chosen, self->entries->pdata[i]);
  return chosen;
}

void
studio_runs_set_paused (StudioRuns *self, const char *folder)
{
  StudioRunEntry *before = self->paused != NULL ? studio_runs_find (self, self->paused) : NULL;
  StudioRunEntry *now = folder != NULL ? studio_runs_find (self, folder) : NULL;

  if (before != NULL && before != now)
    studio_run_entry_set_paused (before, FALSE);
  if (now != NULL)
    studio_run_entry_set_paused (now, TRUE);
  g_free (self->paused);
  self->paused = g_strdup (folder);
}

/* ---- changes by the user ------------------------------------------------------------------------------ */

gboolean
studio_runs_write_notes (StudioRuns *self, StudioRunEntry *entry, const LoomRunNotes *notes, GError **error)
{
  const char *folder = studio_run_entry_get (entry)->folder;

  if (!loom_run_notes_write (folder, notes, error))
    return FALSE;
  /* Only this folder is read now; the others follow in the thread. */
  g_autoptr (LoomRunSummary) again = loom_run_summary_new (folder, STUDIO_RUNS_POINTS);
  studio_run_entry_set (entry, again, studio_run_entry_get_change (entry));
  update_charts (self, g_ptr_array_find (self->charted, entry, NULL));
  studio_runs_refresh (self);
  return TRUE;
}

void
studio_runs_hide (StudioRuns *self, const char *folder, gboolean hidden)
{
  StudioRunEntry *entry = studio_runs_find (self, folder);

  if (!hidden)
    {
      g_hash_table_remove (self->hidden, folder);
      studio_runs_refresh (self);
      return;
    }
  g_hash_table_add (self->hidden, g_strdup (folder));
  if (self->growing != 0)
    {
      stop_growing (self);
      studio_runs_refresh (self);
    }
  if (entry == NULL)
    return;
  g_autoptr (StudioRunEntry) gone = g_object_ref (entry);
  GPtrArray *entries = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = 0; i < self->entries->len; i++)
    if (self->entries->pdata[i] != gone)
      g_ptr_array_add (entries, g_object_ref (self->entries->pdata[i]));
  replace (self, entries);
  studio_run_entry_set_colour (gone, -1);
  update_charts (self, FALSE);
}
