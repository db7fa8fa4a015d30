/* Handles SIGINT, SIGTERM and SIGUSR1 during `gradloom train`.
 *
 * A separate thread waits for them, so that no step is interrupted. The first signal makes the trainer finish its step
 * and write a checkpoint. A terminal, a shell and a wrapper such as timeout(1) may each send the same signal, so
 * signals within a second count as one; a later one ends the process at once. */
#include "app/shared/train-signals.h"

#include <stdio.h>
#include <unistd.h>

#define SAME_REQUEST_US G_USEC_PER_SEC

const char *
train_signals_name (int number)
{
  return number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : "SIGUSR1";
}

void
train_signals_block (TrainSignals *signals)
{
  sigemptyset (&signals->set);
  sigaddset (&signals->set, SIGINT);
  sigaddset (&signals->set, SIGTERM);
  sigaddset (&signals->set, SIGUSR1); /* the warning of launchers and batch queues */
  pthread_sigmask (SIG_BLOCK, &signals->set, NULL);
}

/* Not through stdio, whose lock the training thread holds while a terminal is stopped. */
static void
end_at_once (TrainSignals *signals, int number)
{
  const char *name = train_signals_name (number);
  const char *bar_end = isatty (STDERR_FILENO) ? "\r\033[K" : "";
  g_autofree char *weights
      = signals->folder != NULL ? g_build_filename (signals->folder, "weights.safetensors", NULL) : NULL;

  g_autofree char *word = signals->folder != NULL ? loom_text_shell_word (signals->folder) : NULL;

  if (!signals->speaks)
    _exit (128 + number);
  if (weights == NULL)
    dprintf (STDERR_FILENO,
             "%sgradloom train: Ended at once by a second %s. Nothing was saved, because the run has no --out.\n",
             bar_end, name);
  else if (loom_path_exists (weights))
    dprintf (STDERR_FILENO,
             "%sgradloom train: Ended at once by a second %s: steps since the newest checkpoint are lost. Continue "
             "with: gradloom train --resume %s\n",
             bar_end, name, word);
  else
    dprintf (STDERR_FILENO,
             "%sgradloom train: Ended at once by a second %s: the run has no checkpoint yet, so all its steps are "
             "lost. Begin again with: gradloom train --resume %s\n",
             bar_end, name, word);
  _exit (128 + number);
}

static void *
wait_for_signals (void *data)
{
  TrainSignals *signals = data;
  gint64 first = 0;
  int number;

  for (;;)
    {
      if (sigwait (&signals->set, &number) != 0)
        continue;
      if (g_atomic_int_get (&signals->number) == 0)
        {
          first = loom_monotonic ();
          g_atomic_int_set (&signals->number, number);
          loom_trainer_post (signals->trainer, LOOM_COMMAND_INTERRUPT, NULL, 0);
        }
      else if (loom_monotonic () - first >= SAME_REQUEST_US)
        end_at_once (signals, number);
    }
  return NULL;
}

void
train_signals_begin (TrainSignals *signals, LoomTrainer *trainer, const char *folder, gboolean speaks)
{
  signals->trainer = trainer;
  signals->folder = folder;
  signals->speaks = speaks;
  signals->waits = pthread_create (&signals->thread, NULL, wait_for_signals, signals) == 0;
  if (!signals->waits)
    pthread_sigmask (SIG_UNBLOCK, &signals->set, NULL);
}

int
train_signals_end (TrainSignals *signals)
{
  if (signals->waits)
    {
      pthread_cancel (signals->thread);
      pthread_join (signals->thread, NULL);
    }
  return g_atomic_int_get (&signals->number);
}
