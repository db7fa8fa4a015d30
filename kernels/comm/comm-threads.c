/* The communicator of ranks that are threads of one process: they read one another's memory.
 *
 * Ranks publish the addresses of a call and meet at a barrier; each then reduces its own part over all ranks, they meet
 * again, and each copies the others' parts. A third meeting keeps memory as it is until all have read it. */
#include "kernels/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t turn;
  int size, alive;  /* ranks; those that are not freed */
  int come;         /* ranks at the barrier */
  unsigned meeting; /* how often all have met */
  bool aborted;
  LoomMessage why;
  const void **from; /* by rank, of the call in progress */
  void **to;
} Group;

typedef struct
{
  LoomComm base;
  Group *group;
  const void **part; /* by rank: addresses of one part */
} Rank;

static LoomStatus
meet (Group *g, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  pthread_mutex_lock (&g->lock);
  if (!g->aborted)
    {
      unsigned meeting = g->meeting;

      if (++g->come == g->size)
        {
          g->come = 0;
          g->meeting++;
          pthread_cond_broadcast (&g->turn);
        }
      else
        while (g->meeting == meeting && !g->aborted)
          pthread_cond_wait (&g->turn, &g->lock);
      /* A meeting that took place counts, also where a rank has aborted since. */
      if (g->meeting == meeting && g->aborted)
        status = LOOM_STATUS_DEVICE;
    }
  else
    status = LOOM_STATUS_DEVICE;
  if (status != LOOM_STATUS_OK)
    *message = g->why;
  pthread_mutex_unlock (&g->lock);
  return status;
}

static LoomStatus
publish (Rank *r, const void *from, void *to, LoomMessage *message)
{
  r->group->from[r->base.rank] = from;
  r->group->to[r->base.rank] = to;
  return meet (r->group, message);
}

static LoomStatus
all_reduce (LoomComm *self, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op,
            LoomMessage *message)
{
  Rank *r = (Rank *)self;
  Group *g = r->group;
  size_t element = loom_dtype_size (dtype);
  LoomCommPart own = loom_comm_part (count, self->rank, self->size);
  LoomStatus status = publish (r, from, to, message);

  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->size; k++)
    r->part[k] = (const char *)g->from[k] + (size_t)own.first * element;
  loom_comm_reduce ((char *)to + (size_t)own.first * element, r->part, self->size, own.count, dtype, op);
  status = meet (g, message);
  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->size; k++)
    {
      LoomCommPart other = loom_comm_part (count, k, self->size);

      if (k != self->rank && other.count > 0)
        memcpy ((char *)to + (size_t)other.first * element, (const char *)g->to[k] + (size_t)other.first * element,
                (size_t)other.count * element);
    }
  return meet (g, message);
}

static LoomStatus
reduce_scatter (LoomComm *self, const void *from, void *to, const int64_t *counts, LoomDType dtype, LoomReduceOp op,
                LoomMessage *message)
{
  Rank *r = (Rank *)self;
  Group *g = r->group;
  LoomStatus status = publish (r, from, to, message);
  size_t first = 0;

  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->rank; k++)
    first += (size_t)counts[k] * loom_dtype_size (dtype);
  for (int k = 0; k < self->size; k++)
    r->part[k] = (const char *)g->from[k] + first;
  loom_comm_reduce (to, r->part, self->size, counts[self->rank], dtype, op);
  return meet (g, message);
}

static LoomStatus
all_gather (LoomComm *self, const void *from, void *to, const int64_t *bytes, LoomMessage *message)
{
  Rank *r = (Rank *)self;
  LoomStatus status = publish (r, from, to, message);
  char *at = to;

  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->size; at += bytes[k++])
    if (bytes[k] > 0 && at != r->group->from[k])
      memcpy (at, r->group->from[k], (size_t)bytes[k]);
  return meet (r->group, message);
}

static LoomStatus
broadcast (LoomComm *self, void *data, int64_t bytes, int root, LoomMessage *message)
{
  Rank *r = (Rank *)self;
  LoomStatus status = publish (r, data, data, message);

  if (status != LOOM_STATUS_OK)
    return status;
  if (self->rank != root && bytes > 0)
    memcpy (data, r->group->from[root], (size_t)bytes);
  return meet (r->group, message);
}

static LoomStatus
barrier (LoomComm *self, LoomMessage *message)
{
  return meet (((Rank *)self)->group, message);
}

static void
comm_abort (LoomComm *self, const char *why)
{
  Group *g = ((Rank *)self)->group;

  pthread_mutex_lock (&g->lock);
  if (!g->aborted)
    {
      g->aborted = true;
      strncpy (g->why.text, why, sizeof g->why.text - 1);
      pthread_cond_broadcast (&g->turn);
    }
  pthread_mutex_unlock (&g->lock);
}

static void
group_free (Group *g)
{
  pthread_cond_destroy (&g->turn);
  pthread_mutex_destroy (&g->lock);
  free (g->from);
  free (g->to);
  free (g);
}

static void
comm_free (LoomComm *self)
{
  Rank *r = (Rank *)self;
  Group *g = r->group;
  int alive;

  pthread_mutex_lock (&g->lock);
  alive = --g->alive;
  pthread_mutex_unlock (&g->lock);
  if (alive == 0)
    group_free (g);
  free (r->part);
  free (r);
}

static Rank *
rank_new (Group *g, int rank)
{
  Rank *r = calloc (1, sizeof *r);
  const void **part = calloc ((size_t)g->size, sizeof *part);

  if (r == NULL || part == NULL)
    {
      free (r);
      free (part);
      return NULL;
    }
  r->base = (LoomComm){ .rank = rank,
                        .size = g->size,
                        .local_rank = rank,
                        .local_size = g->size,
                        .name = "threads",
                        .all_reduce = all_reduce,
                        .reduce_scatter = reduce_scatter,
                        .all_gather = all_gather,
                        .broadcast = broadcast,
                        .barrier = barrier,
                        .abort = comm_abort,
                        .free = comm_free };
  r->group = g;
  r->part = part;
  return r;
}

LoomStatus
loom_comm_threads_new (int size, LoomComm **comm, LoomMessage *message)
{
  static const LoomMessage no_memory = { "there is no memory for the ranks" };
  Group *g = calloc (1, sizeof *g);

  if (g == NULL)
    {
      *message = no_memory;
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  g->size = g->alive = size;
  g->from = calloc ((size_t)size, sizeof *g->from);
  g->to = calloc ((size_t)size, sizeof *g->to);
  pthread_mutex_init (&g->lock, NULL);
  pthread_cond_init (&g->turn, NULL);
  for (int k = 0; k < size; k++)
    {
      Rank *r = g->from != NULL && g->to != NULL ? rank_new (g, k) : NULL;

      comm[k] = (LoomComm *)r;
      if (r != NULL)
        continue;
      while (k-- > 0)
        {
          free (((Rank *)comm[k])->part);
          free (comm[k]);
        }
      group_free (g);
      *message = no_memory;
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  return LOOM_STATUS_OK;
}
