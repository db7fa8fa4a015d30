/* Finds the line of standard error that explains why a worker ended.
 *
 * A worker's own sentence is the best explanation. Otherwise it is the last line outside the notices that mpirun prints
 * between two rules: these report only that a process has exited, and with which status. If mpirun prints nothing else,
 * for example when it cannot start a rank, the first line of its first notice has the reason. */
#include "ui/worker/studio-worker-errors.h"

#include <string.h>

#include "engine/loom.h"
#include "engine/dist/loom-dist.h"

void
studio_worker_errors_init (StudioWorkerErrors *self)
{
  *self = (StudioWorkerErrors){ .lost_rank = -1, .lost_signal = -1 };
}

void
studio_worker_errors_clear (StudioWorkerErrors *self)
{
  g_clear_pointer (&self->before, g_free);
  g_clear_pointer (&self->explains, g_free);
}

static void
set_explanation (StudioWorkerErrors *self, const char *line)
{
  g_free (self->explains);
  self->explains = g_utf8_make_valid (line, -1);
}

void
studio_worker_errors_add (StudioWorkerErrors *self, const char *text)
{
  g_autofree char *line = g_strstrip (g_strdup (text));
  gboolean is_rule = line[0] != '\0' && line[strspn (line, "-")] == '\0';

  /* Open MPI 5 breaks the sentence about a lost rank into two lines. */
  g_autofree char *both = g_strconcat (self->before != NULL ? self->before : "", " ", line, NULL);
  loom_dist_parse_lost (both, &self->lost_rank, &self->lost_signal);
  if (is_rule)
    self->in_notice = !self->in_notice;
  else if (g_str_has_prefix (line, "gradloom worker: "))
    {
      self->is_worker = TRUE;
      set_explanation (self, line);
    }
  else if (g_str_has_prefix (line, "gradloom remote: "))
    {
      self->is_worker = TRUE;
      set_explanation (self, line + strlen ("gradloom remote: "));
    }
  else if (line[0] != '\0' && !self->is_worker && (!self->in_notice || self->explains == NULL))
    set_explanation (self, line);
  g_free (self->before);
  self->before = g_steal_pointer (&line);
}

void
studio_worker_errors_explain (StudioWorkerErrors *self, const char *sentence)
{
  if (self->is_worker)
    return;
  set_explanation (self, sentence);
  self->is_worker = TRUE;
}
