/* Adds time-outs to MPI's calls, which have none.
 *
 * Before a call every rank reports its arrival to rank 0, and continues once rank 0 replies. So rank 0 knows which
 * ranks have not arrived in time. During a call ranks poll for completion instead of waiting in it. If it does not
 * complete in time they answer the next roll call, which rank 0 then starts from within the call: a rank that does not
 * answer hangs. If rank 0 itself hangs, the others receive no reply.
 *
 * A rank that has not arrived may itself wait for the hanging one, in another call. So no rank is named before it was
 * queried: waiting ranks answer, in any call, and the wait continues. The rank that finds the hanging one notifies all
 * others; rank 0 reports it if it is among those that answer, so that there is one sentence. */
#include "kernels/comm/comm-mpi.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum
{
  TAG_ARRIVED, /* to rank 0: this rank has arrived */
  TAG_GO,      /* from rank 0: all have arrived */
  TAG_ASK,     /* to a rank that has not arrived, numbered among all ranks as in the following: is it waiting? */
  TAG_ANSWER,  /* it is */
  TAG_END      /* from the rank that has found the hanging one: the sentence */
};

#define LATER      1.0 /* seconds that others wait longer than rank 0, which has more information */
#define ANSWER     1.0 /* seconds for rank 0's reply after that */
#define ROUNDS     3   /* of waiting for ranks that wait themselves: the hanging one is found by then */
#define LISTEN     .02 /* seconds between checks for queries of others */
#define LEFT_ALONE 5.0 /* seconds at most for a rank 0 that has left a call and computes */

static const char go_payload[1] = { 0 }; /* payload of TAG_GO */

static double
now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Time in which this process itself was stopped does not count. */
static void
count_time (double *last, double *waited)
{
  double time = now ();

  *waited += time - *last < 1 ? time - *last : 1;
  *last = time;
}

static Mpi *
first_of (Mpi *m)
{
  return m->first != NULL ? m->first : m;
}

static void
post (Mpi *m, int to, int tag, const void *data, int bytes)
{
  MPI_Request request;

  if (MPI_Isend (data, bytes, MPI_BYTE, to, tag, m->roll, &request) == MPI_SUCCESS)
    MPI_Request_free (&request);
}

/* Receives the queries of other ranks, and their results. */
static void
poll_queries (Mpi *m)
{
  Mpi *first = first_of (m);
  MPI_Status status;
  int there = 0;

  while (MPI_Iprobe (MPI_ANY_SOURCE, TAG_ASK, first->roll, &there, &status) == MPI_SUCCESS && there)
    {
      if (MPI_Recv (NULL, 0, MPI_BYTE, status.MPI_SOURCE, TAG_ASK, first->roll, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return;
      post (first, status.MPI_SOURCE, TAG_ANSWER, NULL, 0);
    }
  if (!first->ended && MPI_Iprobe (MPI_ANY_SOURCE, TAG_END, first->roll, &there, &status) == MPI_SUCCESS && there)
    first->ended = MPI_Recv (first->why.text, sizeof first->why.text, MPI_BYTE, status.MPI_SOURCE, TAG_END, first->roll,
                             MPI_STATUS_IGNORE)
                   == MPI_SUCCESS;
}

/* TRUE once all requests are complete, FALSE after `seconds` or if the run has ended. Without requests it only listens
 * for that time. */
static bool
complete (Mpi *m, int n, MPI_Request *request, double seconds, int *code)
{
  double last = now (), waited = 0, listened = 0;
  int done = 0;

  for (;;)
    {
      *code = n > 0 ? MPI_Testall (n, request, &done, MPI_STATUSES_IGNORE) : MPI_SUCCESS;
      if (done || *code != MPI_SUCCESS)
        return true;
      count_time (&last, &waited);
      if (waited - listened > LISTEN)
        {
          listened = waited;
          poll_queries (m);
        }
      if (waited > seconds || mpi_has_ended (m))
        return false;
    }
}

/* The end of one communicator ends the run. In a communicator without rank 0 the first of the ranks that know reports
 * it. */
static LoomStatus
end (Mpi *m, LoomMessage *message)
{
  Mpi *first = m->first;

  m->ended = true;
  *message = m->why;
  if (first != NULL && !first->ended)
    {
      first->ended = true;
      first->why = m->why;
      first->base.timed_out = m->base.timed_out;
    }
  return LOOM_STATUS_DEVICE;
}

bool
mpi_has_ended (const Mpi *m)
{
  return m->ended || (m->first != NULL && m->first->ended);
}

/* Whether the run has ended; takes the reason from the first communicator. */
static bool
is_over (Mpi *m)
{
  if (!m->ended && mpi_has_ended (m))
    {
      m->ended = true;
      m->why = m->first->why;
      m->base.timed_out = m->first->base.timed_out;
    }
  return m->ended;
}

/* Writes the sentence about the missing ranks, by their numbers among all. */
static void
say_missing (Mpi *m, const char *call, const bool *arrived)
{
  int size = m->base.size;

  if (m->first != NULL)
    {
      size = m->first->base.size;
      memset (m->all, true, (size_t)size * sizeof *m->all);
      for (int k = 0; k < m->base.size; k++)
        m->all[m->number[k]] = arrived[k];
      arrived = m->all;
    }
  loom_comm_set_missing (&m->why, call, arrived, size, m->base.timeout);
}

/* Queries the missing ranks whether they wait: arrived[k] is then TRUE for them as well. TRUE: one of them does not. */
static bool
query_others (Mpi *m, bool *arrived)
{
  Mpi *first = first_of (m);
  MPI_Request *answer = m->request + m->base.size;
  bool all;
  int code;

  for (int k = 0; k < m->base.size; k++)
    {
      const int number = m->first != NULL ? m->number[k] : k;

      answer[k] = MPI_REQUEST_NULL;
      if (arrived[k] || k == m->base.rank)
        continue;
      if (MPI_Irecv (NULL, 0, MPI_BYTE, number, TAG_ANSWER, first->roll, &answer[k]) == MPI_SUCCESS)
        post (first, number, TAG_ASK, NULL, 0);
    }
  all = complete (m, m->base.size, answer, ANSWER, &code);
  for (int k = 0; k < m->base.size; k++)
    {
      int done = all;

      if (!all)
        MPI_Test (&answer[k], &done, MPI_STATUS_IGNORE);
      arrived[k] = arrived[k] || k == m->base.rank || done;
    }
  return !all;
}

/* TRUE if rank 0 of all ranks waits as well, and so receives the end, which it then reports. */
static bool
first_answers (Mpi *first)
{
  MPI_Request answer;
  int code;

  if (MPI_Irecv (NULL, 0, MPI_BYTE, 0, TAG_ANSWER, first->roll, &answer) != MPI_SUCCESS)
    return false;
  post (first, 0, TAG_ASK, NULL, 0);
  return complete (first, 1, &answer, ANSWER, &code) && code == MPI_SUCCESS;
}

/* This rank has found the hanging one and notifies all. Several ranks may find it at once; if rank 0 does not answer
 * they report it one after another. */
static LoomStatus
end_all (Mpi *m, LoomMessage *message)
{
  Mpi *first = first_of (m);
  const int rank = first->base.rank;
  int code;

  const bool alone = rank != 0 && !first_answers (first);
  if (alone && rank > 1)
    complete (first, 0, NULL, LATER * (rank < 4 ? rank - 1 : 3), &code);
  /* Another rank may have reported it meanwhile, or rank 0 after all. */
  if (is_over (m))
    return end (m, message);
  m->base.timed_out = alone;
  /* A rank 0 that hung continues when it is ended, and would report it once more. */
  for (int k = alone ? 1 : 0; k < first->base.size; k++)
    if (k != rank)
      post (first, k, TAG_END, m->why.text, (int)strlen (m->why.text) + 1);
  return end (m, message);
}

/* On rank 0: waits `seconds` for the others to arrive; TRUE: all have. Ranks that wait elsewhere are waited for in
 * several rounds, and count as arrived if one does not wait. */
static bool
roll_call (Mpi *m, double seconds, int rounds, int *code)
{
  bool all;

  m->request[0] = MPI_REQUEST_NULL;
  m->arrived[0] = true;
  for (int k = 1; k < m->base.size; k++)
    {
      m->arrived[k] = false;
      *code = MPI_Irecv (NULL, 0, MPI_BYTE, k, TAG_ARRIVED, m->roll, &m->request[k]);
      if (*code != MPI_SUCCESS)
        return true;
    }
  do
    {
      all = complete (m, m->base.size, m->request, seconds, code);
      for (int k = 1; k < m->base.size; k++)
        {
          int done = all;

          if (!all)
            MPI_Test (&m->request[k], &done, MPI_STATUS_IGNORE);
          m->arrived[k] = done;
        }
    }
  while (!all && !mpi_has_ended (m) && !query_others (m, m->arrived) && --rounds > 0);
  return all;
}

/* On rank 0: sends the sentence to all others. MPI may read it later from m->why, which is not freed. */
static LoomStatus
report_missing (Mpi *m, LoomMessage *message)
{
  if (is_over (m))
    return end (m, message);
  say_missing (m, m->call, m->arrived);
  return end_all (m, message);
}

/* On another rank: waits for rank 0's reply that all have arrived. */
static LoomStatus
await_go (Mpi *m, double seconds, LoomMessage *message)
{
  static char go; /* an incomplete request outlives the call */
  MPI_Request request;
  bool is_answered = false, hangs = false;
  int code;

  code = MPI_Irecv (&go, sizeof go, MPI_BYTE, 0, TAG_GO, m->roll, &request);
  if (code != MPI_SUCCESS)
    return mpi_failed (code, message);
  for (int i = 0; !hangs && i <= ROUNDS && !(is_answered = complete (m, 1, &request, seconds, &code)); i++)
    {
      if (is_over (m))
        return end (m, message);
      memset (m->arrived, true, (size_t)m->base.size * sizeof *m->arrived);
      m->arrived[0] = false;
      hangs = query_others (m, m->arrived);
    }
  if (is_over (m))
    return end (m, message);
  if (is_answered)
    return code == MPI_SUCCESS ? LOOM_STATUS_OK : mpi_failed (code, message);
  m->arrived[0] = false;
  say_missing (m, m->call, m->arrived);
  return end_all (m, message);
}

/* Seconds that rank 0 has for an answer. Ranks give up one after another, so that only one reports it. */
static double
reply_timeout (const Mpi *m)
{
  return LATER + ANSWER + (m->base.rank == 1 ? 0 : LATER);
}

LoomStatus
mpi_roll_call (Mpi *m, const char *call, LoomMessage *message)
{
  int code = MPI_SUCCESS;

  if (is_over (m))
    return end (m, message);
  m->call = call;
  if (m->base.timeout == 0 || m->base.size == 1)
    return LOOM_STATUS_OK;
  if (m->base.rank != 0)
    {
      bool answered = m->answered;

      m->answered = false;
      if (answered)
        return LOOM_STATUS_OK;
      post (m, 0, TAG_ARRIVED, NULL, 0);
      return await_go (m, m->base.timeout + reply_timeout (m), message);
    }
  if (!roll_call (m, m->base.timeout, ROUNDS, &code))
    return report_missing (m, message);
  if (code != MPI_SUCCESS)
    return mpi_failed (code, message);
  for (int k = 1; k < m->base.size; k++)
    post (m, k, TAG_GO, go_payload, 1);
  return LOOM_STATUS_OK;
}

LoomStatus
mpi_wait (Mpi *m, MPI_Request *request, LoomMessage *message)
{
  bool is_first = m->base.rank == 0;
  LoomStatus status;
  int code;

  if (complete (m, 1, request, m->base.timeout + (is_first ? 0 : LATER / 2), &code))
    return code == MPI_SUCCESS ? LOOM_STATUS_OK : mpi_failed (code, message);
  if (is_over (m))
    return end (m, message);
  if (is_first)
    {
      roll_call (m, LATER, 1, &code);
      return report_missing (m, message);
    }
  if (!m->answered)
    {
      double more = m->base.timeout < LEFT_ALONE ? m->base.timeout : LEFT_ALONE;

      post (m, 0, TAG_ARRIVED, NULL, 0);
      status = await_go (m, more + reply_timeout (m), message);
      if (status != LOOM_STATUS_OK)
        return status;
      /* Rank 0 has completed this call and has started the roll call of the next one, so it is alive. */
      m->answered = true;
    }
  return mpi_wait (m, request, message);
}

/* Stops waiting without a roll call. */
static LoomStatus
give_up (Mpi *m, LoomMessage *message)
{
  if (is_over (m))
    return end (m, message);
  say_missing (m, "send", m->arrived);
  return end_all (m, message);
}

/* Between two ranks there is no roll call: the other rank is missing, unless it waits itself. */
LoomStatus
mpi_wait_for (Mpi *m, MPI_Request *request, int from, LoomMessage *message)
{
  bool hangs = false;
  int code;

  for (int i = 0; i < ROUNDS && !hangs && !is_over (m); i++)
    {
      if (complete (m, 1, request, m->base.timeout, &code))
        return code == MPI_SUCCESS ? LOOM_STATUS_OK : mpi_failed (code, message);
      memset (m->arrived, true, (size_t)m->base.size * sizeof *m->arrived);
      m->arrived[from] = false;
      hangs = query_others (m, m->arrived);
    }
  m->arrived[from] = false;
  return give_up (m, message);
}

LoomStatus
mpi_probe (Mpi *m, int tag, const bool *arrived, int *from, LoomMessage *message)
{
  double last = now (), waited = 0, listened = 0;
  int rounds = ROUNDS;

  for (unsigned i = 0; !is_over (m); i++)
    {
      MPI_Status status;
      int there, code = MPI_Iprobe (MPI_ANY_SOURCE, tag, m->comm, &there, &status);

      if (code != MPI_SUCCESS)
        return mpi_failed (code, message);
      if (there)
        {
          *from = status.MPI_SOURCE;
          return LOOM_STATUS_OK;
        }
      /* The other ranks compute meanwhile, perhaps on this processor. */
      if (i > 1000)
        usleep (50);
      if (m->base.timeout == 0)
        continue;
      count_time (&last, &waited);
      if (waited - listened > LISTEN)
        {
          listened = waited;
          poll_queries (m);
        }
      if (waited <= m->base.timeout)
        continue;
      memcpy (m->arrived, arrived, (size_t)m->base.size * sizeof *m->arrived);
      if (query_others (m, m->arrived) || --rounds == 0)
        return give_up (m, message);
      last = now ();
      waited = listened = 0;
    }
  return end (m, message);
}

/* MPI_Finalize() would wait for the hanging rank. Rank 0 may be writing a checkpoint, and ends the others when it is
 * done. */
void
mpi_leave (Mpi *m)
{
  fflush (NULL);
  if (m->base.rank != 0 && !m->base.timed_out)
    sleep (30);
  /* Above 128, like the status of a killed rank. */
  MPI_Abort (m->comm, 128 + 3);
}
