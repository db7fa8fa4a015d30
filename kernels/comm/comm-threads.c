/* The communicator of ranks that are threads of one process and read each other's memory.
 *
 * Ranks publish the addresses of a call and meet at a barrier; each then reduces its own shard over all ranks, they
 * meet again, and each copies the others' shards. A third barrier keeps memory unchanged until all have read it. A
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
typedef struct Letter Letter;
struct Letter
{
  Letter *next;
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
} Family;

typedef struct
{
  Family *family;
  int size, alive;   /* number of ranks; number of those not freed */
  int *number;       /* by rank: its number in the first group */
  int n_come;        /* ranks at the barrier */
  bool *come;        /* by rank: it is at the barrier */
  unsigned meeting;  /* the number of completed barriers */
  const void **from; /* by rank, of the current call */
  void **to;
  Letter *letters; /* not received yet, in the order in which they were sent */
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
  g->family->aborted = true;
  g->family->why = *why;
  pthread_cond_broadcast (&g->family->turn);
}

/* With the lock held: ends the group because ranks have not arrived in time. */
static void
end_for_missing (Group *g, const char *call, const bool *come, double timeout)
{
  bool *all = malloc ((size_t)g->family->size * sizeof *all);
  LoomMessage why = { "there is no memory to say which rank hangs" };

  if (all != NULL)
    {
      memset (all, true, (size_t)g->family->size * sizeof *all);
      for (int k = 0; k < g->size; k++)
        all[g->number[k]] = come[k];
      loom_comm_say_missing (&why, call, all, g->family->size, timeout);
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
wait_for_others (const Rank *r, unsigned meeting)
{
  Group *g = r->group;
  struct timespec end = seconds_from_now (r->base.timeout);

  while (g->meeting == meeting && !g->family->aborted)
    if (r->base.timeout == 0)
      pthread_cond_wait (&g->family->turn, &g->family->lock);
    else if (pthread_cond_timedwait (&g->family->turn, &g->family->lock, &end) == ETIMEDOUT && g->meeting == meeting
             && !g->family->aborted)
      end_for_missing (g, r->call, g->come, r->base.timeout);
}

static LoomStatus
meet (const Rank *r, LoomMessage *message)
{
  Group *g = r->group;
  LoomStatus status = LOOM_STATUS_OK;

  pthread_mutex_lock (&g->family->lock);
  if (!g->family->aborted)
    {
      unsigned meeting = g->meeting;

      g->come[r->base.rank] = true;
      if (++g->n_come == g->size)
        {
          g->n_come = 0;
          memset (g->come, 0, (size_t)g->size * sizeof *g->come);
          g->meeting++;
          pthread_cond_broadcast (&g->family->turn);
        }
      else
        wait_for_others (r, meeting);
      /* A completed barrier counts, even if a rank has aborted since. */
      if (g->meeting == meeting && g->family->aborted)
        status = LOOM_STATUS_DEVICE;
    }
  else
    status = LOOM_STATUS_DEVICE;
  if (status != LOOM_STATUS_OK)
    *message = g->family->why;
  pthread_mutex_unlock (&g->family->lock);
  return status;
}

static LoomStatus
publish (Rank *r, const char *call, const void *from, void *to, LoomMessage *message)
{
  r->call = call;
  r->group->from[r->base.rank] = from;
  r->group->to[r->base.rank] = to;
  return meet (r, message);
}

static LoomStatus
all_reduce (LoomComm *self, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op,
            LoomMessage *message)
{
  Rank *r = (Rank *)self;
  Group *g = r->group;
  size_t element = loom_dtype_size (dtype);
  LoomCommPart own = loom_comm_part (count, self->rank, self->size);
  LoomStatus status = publish (r, "all_reduce", from, to, message);

  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->size; k++)
    r->part[k] = (const char *)g->from[k] + (size_t)own.first * element;
  loom_comm_reduce ((char *)to + (size_t)own.first * element, r->part, self->size, own.count, dtype, op);
  status = meet (r, message);
  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < self->size; k++)
    {
      LoomCommPart other = loom_comm_part (count, k, self->size);

      if (k != self->rank && other.count > 0)
        memcpy ((char *)to + (size_t)other.first * element, (const char *)g->to[k] + (size_t)other.first * element,
                (size_t)other.count * element);
    }
  return meet (r, message);
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
  return meet (r, message);
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
  return meet (r, message);
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
  return meet (r, message);
}

static LoomStatus
comm_send (LoomComm *self, const void *data, int64_t bytes, int to, int tag, LoomMessage *message)
{
  Group *g = ((Rank *)self)->group;
  Letter *letter = malloc (sizeof *letter + (size_t)bytes), **end;
  LoomStatus status = LOOM_STATUS_OK;

  if (letter == NULL)
    {
      snprintf (message->text, sizeof message->text, "there is no memory for %lld bytes to another rank",
                (long long)bytes);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  *letter = (Letter){ .from = self->rank, .to = to, .tag = tag, .bytes = bytes };
  if (bytes > 0)
    memcpy (letter->data, data, (size_t)bytes);
  pthread_mutex_lock (&g->family->lock);
  if (g->family->aborted)
    {
      status = LOOM_STATUS_DEVICE;
      *message = g->family->why;
      free (letter);
    }
  else
    {
      for (end = &g->letters; *end != NULL; end = &(*end)->next)
        ;
      *end = letter;
      pthread_cond_broadcast (&g->family->turn);
    }
  pthread_mutex_unlock (&g->family->lock);
  return status;
}

/* Takes the first such message out of the list; NULL: there is none yet. */
static Letter *
take_letter (Group *g, int from, int to, int tag)
{
  for (Letter **at = &g->letters; *at != NULL; at = &(*at)->next)
    if ((*at)->from == from && (*at)->to == to && (*at)->tag == tag)
      {
        Letter *letter = *at;

        *at = letter->next;
        return letter;
      }
  return NULL;
}

/* With the lock held: ends the group because a rank has sent nothing in time. */
static void
say_silent (Group *g, int from, const LoomComm *self)
{
  bool *come = malloc ((size_t)g->size * sizeof *come);

  for (int k = 0; come != NULL && k < g->size; k++)
    come[k] = k != from;
  if (come != NULL)
    end_for_missing (g, "send", come, self->timeout);
  else
    end_all (g, &(LoomMessage){ "there is no memory to say which rank hangs" });
  free (come);
}

static LoomStatus
comm_receive (LoomComm *self, void *data, int64_t bytes, int from, int tag, LoomMessage *message)
{
  Group *g = ((Rank *)self)->group;
  LoomStatus status = LOOM_STATUS_OK;
  Letter *letter;

  struct timespec end = seconds_from_now (self->timeout);

  pthread_mutex_lock (&g->family->lock);
  while ((letter = take_letter (g, from, self->rank, tag)) == NULL && !g->family->aborted)
    if (self->timeout == 0)
      pthread_cond_wait (&g->family->turn, &g->family->lock);
    else if (pthread_cond_timedwait (&g->family->turn, &g->family->lock, &end) == ETIMEDOUT && !g->family->aborted)
      {
        letter = take_letter (g, from, self->rank, tag);
        if (letter != NULL)
          break;
        say_silent (g, from, self);
      }
  if (letter == NULL)
    *message = g->family->why;
  pthread_mutex_unlock (&g->family->lock);
  if (letter == NULL)
    return LOOM_STATUS_DEVICE;
  if (letter->bytes != bytes)
    {
      snprintf (message->text, sizeof message->text, "rank %d has sent %lld bytes instead of %lld", from,
                (long long)letter->bytes, (long long)bytes);
      status = LOOM_STATUS_DEVICE;
    }
  else if (bytes > 0)
    memcpy (data, letter->data, (size_t)bytes);
  free (letter);
  return status;
}

/* The sender of a message with this tag; -1: there is none. */
static int
find_letter (const Group *g, int to, int tag)
{
  for (const Letter *letter = g->letters; letter != NULL; letter = letter->next)
    if (letter->to == to && letter->tag == tag)
      return letter->from;
  return -1;
}

static LoomStatus
comm_await (LoomComm *self, int tag, const bool *come, int *from, LoomMessage *message)
{
  Group *g = ((Rank *)self)->group;
  struct timespec end = seconds_from_now (self->timeout);
  LoomStatus status = LOOM_STATUS_OK;

  pthread_mutex_lock (&g->family->lock);
  while ((*from = find_letter (g, self->rank, tag)) < 0 && !g->family->aborted)
    if (self->timeout == 0)
      pthread_cond_wait (&g->family->turn, &g->family->lock);
    else if (pthread_cond_timedwait (&g->family->turn, &g->family->lock, &end) == ETIMEDOUT && !g->family->aborted
             && find_letter (g, self->rank, tag) < 0)
      end_for_missing (g, "send", come, self->timeout);
  if (*from < 0)
    {
      status = LOOM_STATUS_DEVICE;
      *message = g->family->why;
    }
  pthread_mutex_unlock (&g->family->lock);
  return status;
}

static LoomStatus
barrier (LoomComm *self, LoomMessage *message)
{
  Rank *r = (Rank *)self;

  r->call = "barrier";
  return meet (r, message);
}

static void
comm_abort (LoomComm *self, const char *why)
{
  Group *g = ((Rank *)self)->group;

  pthread_mutex_lock (&g->family->lock);
  if (!g->family->aborted)
    {
      LoomMessage message = { "" };

      strncpy (message.text, why, sizeof message.text - 1);
      end_all (g, &message);
    }
  pthread_mutex_unlock (&g->family->lock);
}

static bool
has_ended (LoomComm *self)
{
  Family *f = ((Rank *)self)->group->family;
  bool ended;

  pthread_mutex_lock (&f->lock);
  ended = f->aborted;
  pthread_mutex_unlock (&f->lock);
  return ended;
}

static void
family_free (Family *f)
{
  pthread_cond_destroy (&f->turn);
  pthread_mutex_destroy (&f->lock);
  free (f);
}

/* The last group frees the family. */
static void
group_free (Group *g)
{
  Family *f = g->family;
  bool last;

  for (Letter *letter = g->letters, *next; letter != NULL; letter = next)
    {
      next = letter->next;
      free (letter);
    }
  pthread_mutex_lock (&f->lock);
  last = --f->groups == 0;
  pthread_mutex_unlock (&f->lock);
  if (last)
    family_free (f);
  free (g->number);
  free (g->come);
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

  pthread_mutex_lock (&g->family->lock);
  alive = --g->alive;
  pthread_mutex_unlock (&g->family->lock);
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
                        .sharing = g->size,
                        .name = "threads",
                        .all_reduce = all_reduce,
                        .reduce_scatter = reduce_scatter,
                        .all_gather = all_gather,
                        .broadcast = broadcast,
                        .send = comm_send,
                        .receive = comm_receive,
                        .await = comm_await,
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
  *message = (LoomMessage){ "there is no memory for the ranks" };
  return LOOM_STATUS_OUT_OF_MEMORY;
}

/* Makes a group of `size` ranks, without the ranks themselves. */
static Group *
group_new (Family *f, int size)
{
  Group *g = calloc (1, sizeof *g);

  if (g == NULL)
    return NULL;
  g->family = f;
  g->size = size;
  g->number = calloc ((size_t)size, sizeof *g->number);
  g->from = calloc ((size_t)size, sizeof *g->from);
  g->to = calloc ((size_t)size, sizeof *g->to);
  g->come = calloc ((size_t)size, sizeof *g->come);
  pthread_mutex_lock (&f->lock);
  f->groups++;
  pthread_mutex_unlock (&f->lock);
  if (g->number == NULL || g->from == NULL || g->to == NULL || g->come == NULL)
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

/* The request of a rank of the group that is split, and where it finds its result. */
typedef struct
{
  int color, key, rank;
  LoomComm *part;
  LoomStatus status;
} Wish;

static int
compare_wishes (const void *a, const void *b)
{
  const Wish *x = *(Wish *const *)a, *y = *(Wish *const *)b;

  return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Makes the group of one colour for all ranks that asked for it. */
static void
make_group (const Group *g, int color)
{
  Wish **wish = calloc ((size_t)g->size, sizeof *wish);
  LoomComm **comm = calloc ((size_t)g->size, sizeof *comm);
  LoomStatus status = LOOM_STATUS_OUT_OF_MEMORY;
  LoomMessage message;
  int n = 0;

  for (int k = 0; k < g->size && wish != NULL; k++)
    if (((Wish *)g->to[k])->color == color)
      wish[n++] = g->to[k];
  if (wish != NULL && comm != NULL)
    {
      Group *own = group_new (g->family, n);

      qsort (wish, (size_t)n, sizeof *wish, compare_wishes);
      for (int k = 0; k < n && own != NULL; k++)
        own->number[k] = g->number[wish[k]->rank];
      if (own != NULL)
        status = make_ranks (own, comm, &message);
    }
  for (int k = 0; k < n; k++)
    {
      wish[k]->part = comm != NULL ? comm[k] : NULL;
      wish[k]->status = status;
    }
  free (wish);
  free (comm);
}

/* The first rank of each colour makes the group. */
static LoomStatus
split (LoomComm *self, int color, int key, LoomComm **part, LoomMessage *message)
{
  Rank *r = (Rank *)self;
  Wish wish = { .color = color, .key = key, .rank = self->rank, .status = LOOM_STATUS_OUT_OF_MEMORY };
  LoomStatus status = publish (r, "split", NULL, &wish, message);
  int first = 0;

  if (status != LOOM_STATUS_OK)
    return status;
  while (((Wish *)r->group->to[first])->color != color)
    first++;
  if (first == self->rank)
    make_group (r->group, color);
  status = meet (r, message);
  if (status != LOOM_STATUS_OK)
    return status;
  if (wish.status != LOOM_STATUS_OK)
    return no_memory (message);
  *part = wish.part;
  wish.part->timeout = self->timeout;
  return LOOM_STATUS_OK;
}

static Family *
family_new (int size)
{
  Family *f = calloc (1, sizeof *f);
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
  Family *f = family_new (size);
  Group *g;

  if (f == NULL)
    return no_memory (message);
  f->groups = 1; /* until the group exists */
  g = group_new (f, size);
  if (g == NULL)
    {
      family_free (f);
      return no_memory (message);
    }
  f->groups = 1;
  for (int k = 0; k < size; k++)
    g->number[k] = k;
  return make_ranks (g, comm, message);
}
