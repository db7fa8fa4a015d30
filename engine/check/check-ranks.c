/* The exchanges of several ranks: runs the ranks' lists against each other, without data, until all have ended or none
 * can go on. So a schedule that could hang is found, and so are exchanges of different kinds or sizes that would meet.
 *
 * The ranks of a line of the mesh make each collective together. On the host a send never waits (kernels/comm.h); on a
 * device it waits for its receive, except within a group, whose transfers wait for each other together. Exchanges of a
 * rank that run in a lane keep their order: the host has one lane, a device one for each axis. */
#include "engine/check/check-private.h"

#include <string.h>

/* An exchange of a rank. */
typedef struct
{
  guint instr;     /* of the outermost plan */
  char *signature; /* what has to be equal on all ranks */
  const char *primitive;
  LoomMeshAxis along;
  int peer, tag, group; /* of a transfer; group 0: none */
  gint64 bytes;
  gboolean blocks; /* the rank goes on when it is over */
  gboolean done;
} Exchange;

typedef struct
{
  const LoomPlan *plan;
  LoomMesh mesh;
  GArray *exchanges; /* Exchange, in the order of the list */
  GArray *lists;     /* guint: for each instruction of the outermost plan the first of its exchanges */
  guint at, posted;  /* the instruction that comes next, and the exchanges that were started */
  guint open;        /* the first exchange that is not over */
  gboolean on_host;
} Rank;

typedef struct
{
  Rank *rank;
  guint n;
  GHashTable *mail; /* "from to tag": GQueue of sizes */
  LoomCheckReport *report;
  gboolean failed;
} Ranks;

/* ---- exchanges --------------------------------------------------------------------- */

static void
clear_exchange (gpointer exchange)
{
  g_free (((Exchange *)exchange)->signature);
}

static void
append_counts (GString *s, guint n, const LoomTensorDesc *desc)
{
  for (guint k = 0; k < n; k++)
    if (desc[k].dtype != LOOM_N_DTYPES)
      g_string_append_printf (s, " %s·%" G_GINT64_FORMAT, loom_dtype_name (desc[k].dtype),
                              (gint64)loom_desc_count (&desc[k]));
}

/* What all ranks of a collective have to agree on: its whole values, on the side where they are whole. */
static char *
describe (const LoomPlanInstr *instr, gint64 times)
{
  const LoomKernelSpec *spec = instr->spec;
  GString *s = g_string_new (instr->primitive);

  if (check_is (instr, "all_reduce") || check_is (instr, "stage_reduce"))
    g_string_append_printf (s, " op %d", (int)((const LoomAllReduceAttrs *)spec->attrs)->op);
  else if (check_is (instr, "reduce_scatter"))
    g_string_append_printf (s, " op %d", (int)((const LoomReduceScatterAttrs *)spec->attrs)->op);
  else if (check_is (instr, "broadcast"))
    g_string_append_printf (s, " from %d", ((const LoomTransferAttrs *)spec->attrs)->rank);
  if (check_is (instr, "all_reduce") || check_is (instr, "stage_reduce") || check_is (instr, "reduce_scatter"))
    append_counts (s, (guint)spec->n_in, spec->in);
  else
    append_counts (s, (guint)spec->n_out, spec->out);
  if (times != 1)
    g_string_append_printf (s, " %" G_GINT64_FORMAT " times", times);
  return g_string_free (s, FALSE);
}

/* A rank keeps the shard that has its own coordinate. */
static void
check_shard (Ranks *self, const Rank *rank, const LoomPlanInstr *instr, guint outer)
{
  const LoomReduceScatterAttrs *a = check_is (instr, "reduce_scatter") ? instr->spec->attrs : NULL;
  g_autofree char *name = NULL;

  if (a == NULL || (a->rank == rank->mesh.at[a->along] && a->ranks == rank->mesh.size[a->along]))
    return;
  name = check_name_instr (rank->plan, outer);
  check_fault (self->report, LOOM_CHECK_ORDER, outer, G_MAXUINT,
               "rank %u, %s: it keeps shard %d of %d, and the rank is number %d of %d", (guint)(rank - self->rank),
               name, a->rank, a->ranks, rank->mesh.at[a->along], rank->mesh.size[a->along]);
}

static void
add_exchanges (Ranks *self, Rank *rank, const LoomPlan *plan, guint outer, gint64 times)
{
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);
      const LoomPrim *prim = check_prim (instr);
      const guint before = rank->exchanges->len;

      if (plan == rank->plan)
        g_array_append_val (rank->lists, before);
      for (guint k = 0; k < instr->n_bodies; k++)
        add_exchanges (self, rank, instr->body[k], plan == rank->plan ? i : outer,
                       prim != NULL && (prim->flags & LOOM_PRIM_LOOP) != 0 && instr->spec != NULL
                           ? times * ((const LoomScanAttrs *)instr->spec->attrs)->length
                           : times);
      if (instr->n_bodies > 0 && rank->exchanges->len > before && (prim->flags & LOOM_PRIM_LOOP) == 0)
        {
          g_autofree char *name = check_name_instr (plan, i);

          check_fault (self->report, LOOM_CHECK_ORDER, i, G_MAXUINT,
                       "the data decides whether ranks make the exchanges in %s", name);
        }
      if (prim == NULL || (prim->flags & LOOM_PRIM_COLLECTIVE) == 0)
        continue;
      check_shard (self, rank, instr, plan == rank->plan ? i : outer);
      Exchange exchange = { .instr = plan == rank->plan ? i : outer,
                            .signature = describe (instr, times),
                            .primitive = instr->primitive,
                            .along = instr->along,
                            .blocks = !instr->is_async };

      if (check_is (instr, "send") || check_is (instr, "receive"))
        {
          const LoomTransferAttrs *attrs = instr->spec->attrs;
          const LoomTensorDesc *desc = check_is (instr, "send") ? &instr->spec->in[0] : &instr->spec->out[0];

          exchange.peer = attrs->rank;
          exchange.tag = attrs->tag;
          exchange.group = rank->on_host ? 0 : attrs->exchange_slot;
          exchange.bytes = (gint64)loom_desc_bytes (desc);
        }
      g_array_append_val (rank->exchanges, exchange);
    }
}

static Exchange *
exchange_at (const Rank *rank, guint i)
{
  return i < rank->exchanges->len ? &g_array_index (rank->exchanges, Exchange, i) : NULL;
}

static void
settle (Rank *rank)
{
  while (rank->open < rank->posted && exchange_at (rank, rank->open)->done)
    rank->open++;
}

static gboolean
is_transfer (const Exchange *exchange)
{
  return strcmp (exchange->primitive, "send") == 0 || strcmp (exchange->primitive, "receive") == 0;
}

/* The number of the rank at another place along an axis. */
static guint
neighbour (const Rank *rank, LoomMeshAxis along, int at)
{
  LoomMesh mesh = rank->mesh;

  mesh.at[along] = at;
  return (guint)((mesh.at[LOOM_MESH_DATA] * mesh.size[LOOM_MESH_PIPELINE] + mesh.at[LOOM_MESH_PIPELINE])
                     * mesh.size[LOOM_MESH_TENSOR]
                 + mesh.at[LOOM_MESH_TENSOR]);
}

/* ---- progress ----------------------------------------------------------------------- */

/* TRUE if exchange i is the first of its lane that is not over, or in the group of that one. */
static gboolean
is_head (const Rank *rank, guint i)
{
  const Exchange *exchange = exchange_at (rank, i);

  for (guint k = rank->open; k < i; k++)
    {
      const Exchange *before = exchange_at (rank, k);

      if (!before->done && (rank->on_host || before->along == exchange->along)
          && (exchange->group == 0 || before->group != exchange->group))
        return FALSE;
    }
  return i < rank->posted && !exchange->done;
}

/* The head of a lane for an axis; NULL: none, or it exchanges along another axis. */
static Exchange *
head_along (const Rank *rank, LoomMeshAxis along)
{
  for (guint i = rank->open; i < rank->posted; i++)
    {
      Exchange *exchange = exchange_at (rank, i);

      if (exchange->done || (!rank->on_host && exchange->along != along))
        continue;
      return exchange->along == along ? exchange : NULL;
    }
  return NULL;
}

static void fail (Ranks *self, guint r, const Exchange *exchange, const char *format, ...) G_GNUC_PRINTF (4, 5);

static void
fail (Ranks *self, guint r, const Exchange *exchange, const char *format, ...)
{
  g_autofree char *name = check_name_instr (self->rank[r].plan, exchange->instr), *why = NULL;
  va_list args;

  va_start (args, format);
  why = g_strdup_vprintf (format, args);
  va_end (args);
  check_fault (self->report, LOOM_CHECK_ORDER, exchange->instr, G_MAXUINT, "rank %u, %s: %s", r, name, why);
  self->failed = TRUE;
}

/* Makes a collective if all ranks of the line are there. */
static gboolean
try_collective (Ranks *self, guint r, Exchange *exchange)
{
  const Rank *rank = &self->rank[r];
  const int size = rank->mesh.size[exchange->along];

  for (int at = 0; at < size; at++)
    {
      const guint other = neighbour (rank, exchange->along, at);
      const Exchange *his = other < self->n ? head_along (&self->rank[other], exchange->along) : NULL;

      if (his == NULL || is_transfer (his))
        return FALSE;
      if (strcmp (his->signature, exchange->signature) != 0)
        {
          fail (self, r, exchange, "it makes “%s”, and rank %u “%s”", exchange->signature, other, his->signature);
          return FALSE;
        }
    }
  for (int at = 0; at < size; at++)
    head_along (&self->rank[neighbour (rank, exchange->along, at)], exchange->along)->done = TRUE;
  return TRUE;
}

static gboolean
try_receive (Ranks *self, guint r, Exchange *exchange)
{
  const guint from = neighbour (&self->rank[r], exchange->along, exchange->peer);
  g_autofree char *key = g_strdup_printf ("%u %u %d", from, r, exchange->tag);
  GQueue *mail = g_hash_table_lookup (self->mail, key);
  gint64 bytes;

  if (mail == NULL || g_queue_is_empty (mail))
    return FALSE;
  bytes = *(gint64 *)g_queue_peek_head (mail);
  g_free (g_queue_pop_head (mail));
  if (bytes != exchange->bytes)
    fail (self, r, exchange, "it receives %" G_GINT64_FORMAT " bytes, and rank %u sends %" G_GINT64_FORMAT,
          exchange->bytes, from, bytes);
  exchange->done = TRUE;
  return TRUE;
}

/* On a device both sides must be at it; then the sizes must agree. */
static gboolean
try_meeting (Ranks *self, guint r, Exchange *send)
{
  const guint to = neighbour (&self->rank[r], send->along, send->peer);
  const Rank *other = to < self->n ? &self->rank[to] : NULL;

  for (guint i = other != NULL ? other->open : 0; other != NULL && i < other->posted; i++)
    {
      Exchange *receive = exchange_at (other, i);

      if (receive->done || strcmp (receive->primitive, "receive") != 0 || receive->along != send->along
          || neighbour (other, receive->along, receive->peer) != r || !is_head (other, i))
        continue;
      if (receive->bytes != send->bytes || receive->tag != send->tag)
        fail (self, r, send,
              "it sends %" G_GINT64_FORMAT " bytes with tag %d, and rank %u receives %" G_GINT64_FORMAT " with tag %d",
              send->bytes, send->tag, to, receive->bytes, receive->tag);
      send->done = receive->done = TRUE;
      return TRUE;
    }
  return FALSE;
}

static gboolean
try_send (Ranks *self, guint r, Exchange *exchange)
{
  const guint to = neighbour (&self->rank[r], exchange->along, exchange->peer);
  g_autofree char *key = g_strdup_printf ("%u %u %d", r, to, exchange->tag);
  GQueue *mail;

  if (!self->rank[r].on_host)
    return try_meeting (self, r, exchange);
  mail = g_hash_table_lookup (self->mail, key);
  if (mail == NULL)
    {
      mail = g_queue_new ();
      g_hash_table_insert (self->mail, g_steal_pointer (&key), mail);
    }
  g_queue_push_tail (mail, g_memdup2 (&exchange->bytes, sizeof exchange->bytes));
  exchange->done = TRUE;
  return TRUE;
}

static gboolean
try_exchange (Ranks *self, guint r, guint i)
{
  Exchange *exchange = exchange_at (&self->rank[r], i);

  if (!is_head (&self->rank[r], i))
    return FALSE;
  if (strcmp (exchange->primitive, "send") == 0)
    return try_send (self, r, exchange);
  if (strcmp (exchange->primitive, "receive") == 0)
    return !self->rank[r].on_host ? FALSE : try_receive (self, r, exchange);
  return try_collective (self, r, exchange);
}

/* TRUE if the rank waits for an exchange before the instruction that comes next. */
static gboolean
is_blocked (const Rank *rank)
{
  const LoomPlanInstr *next
      = rank->at < loom_plan_n_instrs (rank->plan) ? loom_plan_instr (rank->plan, rank->at) : NULL;

  for (guint i = rank->open; i < rank->posted; i++)
    {
      const Exchange *exchange = exchange_at (rank, i), *after = exchange_at (rank, i + 1);
      const gboolean is_inner = exchange->group != 0 && after != NULL && after->group == exchange->group;

      if (exchange->done)
        continue;
      if (exchange->blocks && !is_inner)
        return TRUE;
      if (next != NULL && next->is_wait && loom_plan_instr (rank->plan, exchange->instr)->until == rank->at)
        return TRUE;
    }
  return FALSE;
}

/* Starts exchanges until the rank has to wait. */
static gboolean
advance (Rank *rank)
{
  const guint n = loom_plan_n_instrs (rank->plan);
  gboolean moved = FALSE;

  while (!is_blocked (rank))
    {
      const guint end = rank->at + 1 < n ? g_array_index (rank->lists, guint, rank->at + 1) : rank->exchanges->len;

      if (rank->at >= n)
        break;
      moved = TRUE;
      if (rank->posted < end)
        rank->posted++;
      if (rank->posted >= end)
        rank->at++;
    }
  return moved;
}

static gboolean
is_over (const Rank *rank)
{
  for (guint i = 0; i < rank->exchanges->len; i++)
    if (!exchange_at (rank, i)->done)
      return FALSE;
  return rank->at >= loom_plan_n_instrs (rank->plan);
}

static void
report_hang (Ranks *self)
{
  for (guint r = 0; r < self->n; r++)
    for (guint i = 0; i < self->rank[r].exchanges->len; i++)
      if (!exchange_at (&self->rank[r], i)->done)
        {
          fail (self, r, exchange_at (&self->rank[r], i), "it waits forever for the other ranks of its group");
          break;
        }
}

static void
free_mail (gpointer mail)
{
  g_queue_free_full (mail, g_free);
}

/* What was sent was received. */
static void
check_mail (Ranks *self)
{
  GHashTableIter iter;
  gpointer key, mail;

  g_hash_table_iter_init (&iter, self->mail);
  while (g_hash_table_iter_next (&iter, &key, &mail))
    if (!g_queue_is_empty (mail))
      {
        g_auto (GStrv) words = g_strsplit (key, " ", 3);

        check_fault (self->report, LOOM_CHECK_ORDER, G_MAXUINT, G_MAXUINT,
                     "rank %s receives %u fewer messages with tag %s than rank %s sends", words[1],
                     g_queue_get_length (mail), words[2], words[0]);
      }
}

static void
run (Ranks *self)
{
  gboolean moved = TRUE;
  gboolean all_over = TRUE;

  while (moved && !self->failed)
    {
      moved = FALSE;
      for (guint r = 0; r < self->n; r++)
        {
          settle (&self->rank[r]);
          moved |= advance (&self->rank[r]);
          for (guint i = self->rank[r].open; i < self->rank[r].posted && !self->failed; i++)
            if (!exchange_at (&self->rank[r], i)->done)
              moved |= try_exchange (self, r, i);
        }
    }
  for (guint r = 0; r < self->n; r++)
    all_over &= is_over (&self->rank[r]);
  if (!all_over && !self->failed)
    report_hang (self);
  if (!self->failed)
    check_mail (self);
}

gboolean
loom_check_ranks (const LoomPlan *const *plan, guint n, LoomCheckReport *report)
{
  g_autofree Rank *rank = g_new0 (Rank, n + 1);
  g_autoptr (GHashTable) mail = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_mail);
  Ranks self = { rank, n, mail, report, FALSE };
  const guint before = report->faults->len;
  gboolean placed = TRUE;

  for (guint r = 0; r < n; r++)
    {
      const LoomMesh *mesh = loom_plan_mesh (plan[r]);

      rank[r].plan = plan[r];
      rank[r].on_host = loom_plan_device (plan[r], 0)->info.host_memory;
      rank[r].exchanges = g_array_new (FALSE, FALSE, sizeof (Exchange));
      g_array_set_clear_func (rank[r].exchanges, clear_exchange);
      rank[r].lists = g_array_new (FALSE, FALSE, sizeof (guint));
      if (mesh != NULL)
        rank[r].mesh = *mesh;
      placed &= mesh != NULL && neighbour (&rank[r], LOOM_MESH_DATA, mesh->at[LOOM_MESH_DATA]) == r;
      if (mesh != NULL)
        add_exchanges (&self, &rank[r], plan[r], G_MAXUINT, 1);
    }
  if (!placed)
    check_fault (report, LOOM_CHECK_ORDER, G_MAXUINT, G_MAXUINT, "the plans are not those of ranks 0 … %u of one mesh",
                 n - 1);
  else
    run (&self);
  for (guint r = 0; r < n; r++)
    {
      g_array_unref (rank[r].exchanges);
      g_array_unref (rank[r].lists);
    }
  return report->faults->len == before;
}
