#include "ui/pins/health-history.h"

/* A change shows its effect within as many reports. */
#define REPORTS 3

typedef struct
{
  gint64 well[REPORTS]; /* the last steps at which the node was well, the newest first; -1: none */
  gint64 since;         /* the first step at which it was not, after those; -1: it is well */
} Course;

typedef struct
{
  gint64 step;
  char *name;
  double value;
} Change;

struct _HealthHistory
{
  GHashTable *courses; /* path → Course */
  GArray *changes;     /* Change */
  gint64 step;         /* of the last report */
};

static void
clear_change (gpointer data)
{
  g_free (((Change *)data)->name);
}

HealthHistory *
health_history_new (void)
{
  HealthHistory *self = g_new0 (HealthHistory, 1);

  self->courses = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->changes = g_array_new (FALSE, FALSE, sizeof (Change));
  g_array_set_clear_func (self->changes, clear_change);
  return self;
}

void
health_history_free (HealthHistory *self)
{
  g_hash_table_unref (self->courses);
  g_array_unref (self->changes);
  g_free (self);
}

void
health_history_clear (HealthHistory *self)
{
  g_hash_table_remove_all (self->courses);
  health_history_clear_changes (self);
  self->step = 0;
}

void
health_history_clear_changes (HealthHistory *self)
{
  g_array_set_size (self->changes, 0);
}

void
health_history_add_change (HealthHistory *self, gint64 step, const char *name, double value)
{
  const Change change = { step, g_strdup (name), value };

  g_array_append_val (self->changes, change);
}

static Course *
course_of (HealthHistory *self, const char *path)
{
  Course *course = g_hash_table_lookup (self->courses, path);

  if (course == NULL)
    {
      course = g_new (Course, 1);
      for (guint i = 0; i < REPORTS; i++)
        course->well[i] = -1;
      course->since = -1;
      g_hash_table_insert (self->courses, g_strdup (path), course);
    }
  return course;
}

static void
note_well (Course *course, gint64 step)
{
  course->since = -1;
  if (course->well[0] == step)
    return;
  for (guint i = REPORTS - 1; i > 0; i--)
    course->well[i] = course->well[i - 1];
  course->well[0] = step;
}

/* The run has gone back to this step. */
static void
rewind_to (HealthHistory *self, gint64 step)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->courses);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Course *course = value;
      guint kept = 0;

      for (guint i = 0; i < REPORTS; i++)
        if (course->well[i] <= step)
          course->well[kept++] = course->well[i];
      while (kept < REPORTS)
        course->well[kept++] = -1;
      if (course->since > step)
        course->since = -1;
    }
}

void
health_history_add (HealthHistory *self, gint64 step, const GPtrArray *nodes)
{
  if (step < self->step)
    rewind_to (self, step);
  self->step = step;
  for (guint i = 0; i < nodes->len; i++)
    {
      const LoomHealthNode *node = nodes->pdata[i];
      Course *course = course_of (self, node->node);

      if (node->verdict == LOOM_HEALTH_WELL)
        note_well (course, step);
      else if (course->since < 0)
        course->since = step;
    }
}

/* The gravest verdict first, and the first node in the net's order. */
static const LoomHealthNode *
sickest_of (const GPtrArray *nodes)
{
  const LoomHealthNode *sickest = NULL;

  for (guint i = 0; i < nodes->len; i++)
    {
      const LoomHealthNode *node = nodes->pdata[i];

      if (node->verdict != LOOM_HEALTH_WELL && (sickest == NULL || node->verdict < sickest->verdict))
        sickest = node;
    }
  return sickest;
}

HealthDiagnosis
health_history_diagnose (const HealthHistory *self, const GPtrArray *nodes)
{
  HealthDiagnosis diagnosis = { .node = sickest_of (nodes), .well = -1, .since = -1, .change = -1 };
  const Course *course = diagnosis.node != NULL ? g_hash_table_lookup (self->courses, diagnosis.node->node) : NULL;

  if (course == NULL || course->well[0] < 0)
    return diagnosis;
  diagnosis.well = course->well[0];
  diagnosis.since = course->since;
  for (guint i = 0; i < self->changes->len; i++)
    {
      const Change *change = &g_array_index (self->changes, Change, i);

      if (change->step > course->since || change->step < course->well[REPORTS - 1])
        continue;
      diagnosis.changed = change->name;
      diagnosis.value = change->value;
      diagnosis.change = change->step;
    }
  return diagnosis;
}
