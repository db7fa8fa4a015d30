/* The communicator of ranks that are threads of one process and read each other's memory.
 *
 * Ranks publish the addresses of a call and wait at a barrier; each then reduces its own shard over all ranks, they
 * wait again, and each copies the others' shards. A third barrier keeps memory unchanged until all have read it. A
 * message to another rank is copied, and waits in a list. Groups that are split off a group use its lock, so all of
 * them are notified if a rank gives up. */
#include "kernels/comm.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A message on its way. */
typedef struct Message Message;
struct Message
{
  Message *next;
  int from, to, tag;
  int64_t bytes;
  char data[];
};

/* State shared by groups that were split off one another. */
typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t turn;
  int groups; /* not freed yet */
  int size;   /* ranks of the first one */
  bool aborted;
  LoomMessage why;
} World;

typedef struct
{
  World *world;
  int size, alive;     /* number of ranks; number of those not freed */
  int *number;         /* by rank: its number in the first group */
  int n_arrived;       /* ranks at the barrier */
  bool *arrived;       /* by rank: it is at the barrier */
  unsigned generation; /* the number of completed barriers */
  const void **from;   /* by rank, of the current call */
  void **to;
  Message *messages; /* not received yet, in the order in which they were sent */
} Group;

typedef struct
{
  LoomComm base;
  Group *group;
  const void **part; /* by rank: addresses of one shard */
  const char *call;  /* the current one, as a sentence names it */
} Rank;

/* With the lock held. */
static void
end_all (Group *g, const LoomMessage *why)
{
  g->world->aborted = true;
  g->world->why = *why;
  pthread_cond_broadcast (&g->world->turn);
}

/* With the lock held: ends the group because ranks have not arrived in time. */
static void
end_for_missing (Group *g, const char *call, const bool *arrived, double timeout)
{
  bool *all = malloc ((size_t)g->world->size * sizeof *all);
  LoomMessage why = { "out of memory while a time-out was reported" };

  if (all != NULL)
    {
      memset (all, true, (size_t)g->world->size * sizeof *all);
      for (int k = 0; k < g->size; k++)
        all[g->number[k]] = arrived[k];
      loom_comm_set_missing (&why, call, all, g->world->size, timeout);
    }
  free (all);
  end_all (g, &why);
}

static struct timespec
seconds_from_now (double seconds)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  t.tv_sec += (time_t)seconds;
  t.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
  if (t.tv_nsec >= 1000000000)
    {
      t.tv_sec++;
      t.tv_nsec -= 1000000000;
    }
  return t;
}

/* Waits until all have arrived or the group ends; a time-out ends it. */
static void
wait_for_others (const Rank *r, unsigned generation)
{
  Group *g = r->group;
  struct timespec end = seconds_from_now (r->base.timeout);

  while (g->generation == generation && !g->world->aborted)
    if (r->base.timeout == 0)
      pthread_cond_wait (&g->world->turn, &g->world->lock);
    else if (pthread_cond_timedwait (&g->world->turn, &g->world->lock, &end) == ETIMEDOUT && g->generation == generation
             && !g->world->aborted)
      end_for_missing (g, r->call, g->arrived, r->base.timeout);
}

static LoomStatus
wait_at_barrier (const Rank *r, LoomMessage *message)
{
  Group *g = r->group;
  LoomStatus status = LOOM_STATUS_OK;

  pthread_mutex_lock (&g->world->lock);
  if (!g->world->aborted)
    {
      unsigned generation = g->generation;

      g->arrived[r->base.rank] = true;
      if (++g->n_arrived == g->size)
        {
          g->n_arrived = 0;
          memset (g->arrived, 0, (size_t)g->size * sizeof *g->arrived);
          g->generation++;
          pthread_cond_broadcast (&g->world->turn);
        }
      else
        wait_for_others (r, generation);
      /* A completed barrier counts, even if a rank has aborted since. */
      if (g->generation == generation && g->world->aborted)
        status = LOOM_STATUS_DEVICE;
    }
  else
    status = LOOM_STATUS_DEVICE;
  if (status != LOOM_STATUS_OK)
    *message = g->world->why;
  pthread_mutex_unlock (&g->world->lock);
  return status;
}

static LoomStatus
publish (Rank *r, const char *call, const void *from, void *to, LoomMessage *message)
{
  r->call = call;
  r->group->from[r->base.rank] = from;
  r->group->to[r->base.rank] = to;
  return wait_at_barrier (r, message);
}

static LoomStatus
all_reduce (LoomComm *self, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op,
            LoomMessage *message)
{
  Rank *r = (Rank *)self;
  Group *g = r->group;
  size_t element = loom_dtype_size (dtype);
  LoomCommShard own = loom_comm_shard (count, self->rank, self->size);
  LoomStatus status = publish (r, "all_reduce", from, to, message);

  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->size; k++)
    r->part[k] = (const char *)g->from[k] + (size_t)own.first * element;
  loom_comm_reduce ((char *)to + (size_t)own.first * element, r->part, self->size, own.count, dtype, op);
  status = wait_at_barrier (r, message);
  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->size; k++)
    {
      LoomCommShard other = loom_comm_shard (count, k, self->size);

      if (k != self->rank && other.count > 0)
        memcpy ((char *)to + (size_t)other.first * element, (const char *)g->to[k] + (size_t)other.first * element,
                (size_t)other.count * element);
    }
  return wait_at_barrier (r, message);
}

static LoomStatus
reduce_scatter (LoomComm *self, const void *from, void *to, const int64_t *counts, LoomDType dtype, LoomReduceOp op,
                LoomMessage *message)
{
  Rank *r = (Rank *)self;
  Group *g = r->group;
  LoomStatus status = publish (r, "reduce_scatter", from, to, message);
  size_t first = 0;

  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->rank; k++)
    first += (size_t)counts[k] * loom_dtype_size (dtype);
  for (int k = 0; k < self->size; k++)
    r->part[k] = (const char *)g->from[k] + first;
  loom_comm_reduce (to, r->part, self->size, counts[self->rank], dtype, op);
  return wait_at_barrier (r, message);
}

static LoomStatus
all_gather (LoomComm *self, const void *from, void *to, const int64_t *bytes, LoomMessage *message)
{
  Rank *r = (Rank *)self;
  LoomStatus status = publish (r, "all_gather", from, to, message);
  char *at = to;

  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->size; at += bytes[k++])
    if (bytes[k] > 0 && at != r->group->from[k])
      memcpy (at, r->group->from[k], (size_t)bytes[k]);
  return wait_at_barrier (r, message);
}

static LoomStatus
broadcast (LoomComm *self, void *data, int64_t bytes, int root, LoomMessage *message)
{
  Rank *r = (Rank *)self;
  LoomStatus status = publish (r, "broadcast", data, data, message);

  if (status != LOOM_STATUS_OK)
    return status;
  if (self->rank != root && bytes > 0)
    memcpy (data, r->group->from[root], (size_t)bytes);
  return wait_at_barrier (r, message);
}

static LoomStatus
comm_send (LoomComm *self, const void *data, int64_t bytes, int to, int tag, LoomMessage *message)
{
  Group *g = ((Rank *)self)->group;
  Message *queued = malloc (sizeof *queued + (size_t)bytes), **end;
  LoomStatus status = LOOM_STATUS_OK;

  if (queued == NULL)
    {
      snprintf (message->text, sizeof message->text, "out of memory: %lld bytes for another rank", (long long)bytes);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  *queued = (Message){ .from = self->rank, .to = to, .tag = tag, .bytes = bytes };
  if (bytes > 0)
    memcpy (queued->data, data, (size_t)bytes);
  pthread_mutex_lock (&g->world->lock);
  if (g->world->aborted)
    {
      status = LOOM_STATUS_DEVICE;
      *message = g->world->why;
      free (queued);
    }
  else
    {
      for (end = &g->messages; *end != NULL; end = &(*end)->next)
        ;
      *end = queued;
      pthread_cond_broadcast (&g->world->turn);
    }
  pthread_mutex_unlock (&g->world->lock);
  return status;
}

/* Takes the first such message out of the list; NULL: there is none yet. */
static Message *
take_message (Group *g, int from, int to, int tag)
{
  for (Message **at = &g->messages; *at != NULL; at = &(*at)->next)
    if ((*at)->from == from && (*at)->to == to && (*at)->tag == tag)
      {
        Message *queued = *at;

        *at = queued->next;
        return queued;
      }
  return NULL;
}

/* With the lock held: ends the group because a rank has sent nothing in time. */
static void
end_for_silent (Group *g, int from, const LoomComm *self)
{
  bool *arrived = malloc ((size_t)g->size * sizeof *arrived);

  for (int k = 0; arrived != NULL && k < g->size; k++)
    arrived[k] = k != from;
  if (arrived != NULL)
    end_for_missing (g, "send", arrived, self->timeout);
  else
    end_all (g, &(LoomMessage){ "out of memory while a time-out was reported" });
  free (arrived);
}

static LoomStatus
comm_receive (LoomComm *self, void *data, int64_t bytes, int from, int tag, LoomMessage *message)
{
  Group *g = ((Rank *)self)->group;
  LoomStatus status = LOOM_STATUS_OK;
  Message *queued;

  struct timespec end = seconds_from_now (self->timeout);

  pthread_mutex_lock (&g->world->lock);
  while ((queued = take_message (g, from, self->rank, tag)) == NULL && !g->world->aborted)
    if (self->timeout == 0)
      pthread_cond_wait (&g->world->turn, &g->world->lock);
    else if (pthread_cond_timedwait (&g->world->turn, &g->world->lock, &end) == ETIMEDOUT && !g->world->aborted)
      {
        queued = take_message (g, from, self->rank, tag);
        if (queued != NULL)
          break;
        end_for_silent (g, from, self);
      }
  if (queued == NULL)
    *message = g->world->why;
  pthread_mutex_unlock (&g->world->lock);
  if (queued == NULL)
    return LOOM_STATUS_DEVICE;
  if (queued->bytes != bytes)
    {
      snprintf (message->text, sizeof message->text, "rank %d has sent %lld bytes instead of %lld", from,
                (long long)queued->bytes, (long long)bytes);
      status = LOOM_STATUS_DEVICE;
    }
  else if (bytes > 0)
    memcpy (data, queued->data, (size_t)bytes);
  free (queued);
  return status;
}

/* The sender of a message with this tag; -1: there is none. */
static int
find_message (const Group *g, int to, int tag)
{
  for (const Message *queued = g->messages; queued != NULL; queued = queued->next)
    if (queued->to == to && queued->tag == tag)
      return queued->from;
  return -1;
}

static LoomStatus
comm_probe (LoomComm *self, int tag, const bool *arrived, int *from, LoomMessage *message)
{
  Group *g = ((Rank *)self)->group;
  struct timespec end = seconds_from_now (self->timeout);
  LoomStatus status = LOOM_STATUS_OK;

  pthread_mutex_lock (&g->world->lock);
  while ((*from = find_message (g, self->rank, tag)) < 0 && !g->world->aborted)
    if (self->timeout == 0)
      pthread_cond_wait (&g->world->turn, &g->world->lock);
    else if (pthread_cond_timedwait (&g->world->turn, &g->world->lock, &end) == ETIMEDOUT && !g->world->aborted
             && find_message (g, self->rank, tag) < 0)
      end_for_missing (g, "send", arrived, self->timeout);
  if (*from < 0)
    {
      status = LOOM_STATUS_DEVICE;
      *message = g->world->why;
    }
  pthread_mutex_unlock (&g->world->lock);
  return status;
}

static LoomStatus
barrier (LoomComm *self, LoomMessage *message)
{
  Rank *r = (Rank *)self;

  r->call = "barrier";
  return wait_at_barrier (r, message);
}

static void
comm_abort (LoomComm *self, const char *why)
{
  Group *g = ((Rank *)self)->group;

  pthread_mutex_lock (&g->world->lock);
  if (!g->world->aborted)
    {
      LoomMessage message = { "" };

      strncpy (message.text, why, sizeof message.text - 1);
      end_all (g, &message);
    }
  pthread_mutex_unlock (&g->world->lock);
}

static bool
has_ended (LoomComm *self)
{
  World *f = ((Rank *)self)->group->world;
  bool ended;

  pthread_mutex_lock (&f->lock);
  ended = f->aborted;
  pthread_mutex_unlock (&f->lock);
  return ended;
}

static void
world_free (World *f)
{
  pthread_cond_destroy (&f->turn);
  pthread_mutex_destroy (&f->lock);
  free (f);
}

/* The last group frees the world. */
static void
group_free (Group *g)
{
  World *f = g->world;
  bool last;

  for (Message *queued = g->messages, *next; queued != NULL; queued = next)
    {
      next = queued->next;
      free (queued);
    }
  pthread_mutex_lock (&f->lock);
  last = --f->groups == 0;
  pthread_mutex_unlock (&f->lock);
  if (last)
    world_free (f);
  free (g->number);
  free (g->arrived);
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

  pthread_mutex_lock (&g->world->lock);
  alive = --g->alive;
  pthread_mutex_unlock (&g->world->lock);
  if (alive == 0)
    group_free (g);
  free (r->part);
  free (r);
}

static LoomStatus split (LoomComm *self, int color, int key, LoomComm **part, LoomMessage *message);

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
                        .cpu_sharers = g->size,
                        .name = "threads",
                        .all_reduce = all_reduce,
                        .reduce_scatter = reduce_scatter,
                        .all_gather = all_gather,
                        .broadcast = broadcast,
                        .send = comm_send,
                        .receive = comm_receive,
                        .probe = comm_probe,
                        .barrier = barrier,
                        .split = split,
                        .abort = comm_abort,
                        .has_ended = has_ended,
                        .free = comm_free };
  r->group = g;
  r->part = part;
  return r;
}

static LoomStatus
no_memory (LoomMessage *message)
{
  *message = (LoomMessage){ "out of memory for the communicator" };
  return LOOM_STATUS_OUT_OF_MEMORY;
}

/* Makes a group of `size` ranks, without the ranks themselves. */
static Group *
group_new (World *f, int size)
{
  Group *g = calloc (1, sizeof *g);

  if (g == NULL)
    return NULL;
  g->world = f;
  g->size = size;
  g->number = calloc ((size_t)size, sizeof *g->number);
  g->from = calloc ((size_t)size, sizeof *g->from);
  g->to = calloc ((size_t)size, sizeof *g->to);
  g->arrived = calloc ((size_t)size, sizeof *g->arrived);
  pthread_mutex_lock (&f->lock);
  f->groups++;
  pthread_mutex_unlock (&f->lock);
  if (g->number == NULL || g->from == NULL || g->to == NULL || g->arrived == NULL)
    {
      group_free (g);
      return NULL;
    }
  return g;
}

/* Makes all ranks of the group, or none. */
static LoomStatus
make_ranks (Group *g, LoomComm **comm, LoomMessage *message)
{
  for (int k = 0; k < g->size; k++)
    {
      comm[k] = (LoomComm *)rank_new (g, k);
      if (comm[k] != NULL)
        continue;
      while (k-- > 0)
        {
          free (((Rank *)comm[k])->part);
          free (comm[k]);
        }
      group_free (g);
      return no_memory (message);
    }
  g->alive = g->size;
  return LOOM_STATUS_OK;
}

/* ---- splitting ------------------------------------------------------------- */

/* The request of a rank of the group that is split, and the address of its result. */
typedef struct
{
  int color, key, rank;
  LoomComm *part;
  LoomStatus status;
} SplitRequest;

static int
compare_requests (const void *a, const void *b)
{
  const SplitRequest *x = *(SplitRequest *const *)a, *y = *(SplitRequest *const *)b;

  return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Makes the group of one colour for all ranks that requested it. */
static void
make_group (const Group *g, int color)
{
  SplitRequest **request = calloc ((size_t)g->size, sizeof *request);
  LoomComm **comm = calloc ((size_t)g->size, sizeof *comm);
  LoomStatus status = LOOM_STATUS_OUT_OF_MEMORY;
  LoomMessage message;
  int n = 0;

  for (int k = 0; k < g->size && request != NULL; k++)
    if (((SplitRequest *)g->to[k])->color == color)
      request[n++] = g->to[k];
  if (request != NULL && comm != NULL)
    {
      Group *own = group_new (g->world, n);

      qsort (request, (size_t)n, sizeof *request, compare_requests);
      for (int k = 0; k < n && own != NULL; k++)
        own->number[k] = g->number[request[k]->rank];
      if (own != NULL)
        status = make_ranks (own, comm, &message);
    }
  for (int k = 0; k < n; k++)
    {
      request[k]->part = comm != NULL ? comm[k] : NULL;
      request[k]->status = status;
    }
  free (request);
  free (comm);
}

/* The first rank of each colour makes the group. */
static LoomStatus
split (LoomComm *self, int color, int key, LoomComm **part, LoomMessage *message)
{
  Rank *r = (Rank *)self;
  SplitRequest request = { .color = color, .key = key, .rank = self->rank, .status = LOOM_STATUS_OUT_OF_MEMORY };
  LoomStatus status = publish (r, "split", NULL, &request, message);
  int first = 0;

  if (status != LOOM_STATUS_OK)
    return status;
  while (((SplitRequest *)r->group->to[first])->color != color)
    first++;
  if (first == self->rank)
    make_group (r->group, color);
  status = wait_at_barrier (r, message);
  if (status != LOOM_STATUS_OK)
    return status;
  if (request.status != LOOM_STATUS_OK)
    return no_memory (message);
  *part = request.part;
  request.part->timeout = self->timeout;
  return LOOM_STATUS_OK;
}

static World *
world_new (int size)
{
  World *f = calloc (1, sizeof *f);
  pthread_condattr_t clock;

  if (f == NULL)
    return NULL;
  f->size = size;
  pthread_mutex_init (&f->lock, NULL);
  pthread_condattr_init (&clock);
  pthread_condattr_setclock (&clock, CLOCK_MONOTONIC);
  pthread_cond_init (&f->turn, &clock);
  pthread_condattr_destroy (&clock);
  return f;
}

LoomStatus
loom_comm_threads_new (int size, LoomComm **comm, LoomMessage *message)
{
  World *f = world_new (size);
  Group *g;

  if (f == NULL)
    return no_memory (message);
  f->groups = 1; /* until the group exists */
  g = group_new (f, size);
  if (g == NULL)
    {
      world_free (f);
      return no_memory (message);
    }
  f->groups = 1;
  for (int k = 0; k < size; k++)
    g->number[k] = k;
  return make_ranks (g, comm, message);
}
