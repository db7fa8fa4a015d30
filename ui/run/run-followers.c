/* Implements run-followers.h. */
#include "ui/run/run-followers.h"

#include <signal.h>

#include "ui/worker/studio-worker.h"

#define PAUSE_US (10 * G_USEC_PER_SEC) /* between two processes of a mirror */

typedef struct
{
  GSubprocess *process; /* NULL: it could not be started */
  gint64 begun;         /* monotonic */
} Follower;

struct _RunFollowers
{
  GHashTable *followers; /* folder → Follower */
};

static void
follower_free (gpointer data)
{
  Follower *follower = data;

  if (follower->process != NULL)
    g_subprocess_send_signal (follower->process, SIGTERM);
  g_clear_object (&follower->process);
  g_free (follower);
}

RunFollowers *
run_followers_new (void)
{
  RunFollowers *self = g_new0 (RunFollowers, 1);

  self->followers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, follower_free);
  return self;
}

void
run_followers_free (RunFollowers *self)
{
  g_hash_table_unref (self->followers);
  g_free (self);
}

/* TRUE: its process has ended, and another one may be started. */
static gboolean
is_over (const Follower *follower)
{
  return (follower->process == NULL || g_subprocess_get_identifier (follower->process) == NULL)
         && g_get_monotonic_time () - follower->begun > PAUSE_US;
}

static void
follow (RunFollowers *self, const char *folder)
{
  const Follower *before = g_hash_table_lookup (self->followers, folder);
  g_autofree char *program = NULL;
  Follower *follower;

  if (before != NULL && !is_over (before))
    return;
  program = studio_worker_find_program (NULL);
  follower = g_new0 (Follower, 1);
  follower->begun = g_get_monotonic_time ();
  if (program != NULL)
    follower->process = g_subprocess_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_SILENCE
                                              | G_SUBPROCESS_FLAGS_STDERR_SILENCE,
                                          NULL, program, "remote", "follow", folder, NULL);
  g_hash_table_replace (self->followers, g_strdup (folder), follower);
}

void
run_followers_set (RunFollowers *self, const char *const *folders)
{
  GHashTableIter iter;
  gpointer folder;

  g_hash_table_iter_init (&iter, self->followers);
  while (g_hash_table_iter_next (&iter, &folder, NULL))
    if (!g_strv_contains (folders, folder))
      g_hash_table_iter_remove (&iter);
  for (guint i = 0; folders[i] != NULL; i++)
    follow (self, folders[i]);
}
