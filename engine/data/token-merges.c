/* Merges pairs of tokens by rank, in O(n log n) for n tokens: a text without splitters is one piece. */
#include "engine/data/token-merges.h"

struct _TokenMerges
{
  GHashTable *pairs; /* left << 32 | right → rank + 1 */
  GArray *merged;    /* guint32 by rank: the token of the merged pair */
};

TokenMerges *
token_merges_new (void)
{
  TokenMerges *self = g_new0 (TokenMerges, 1);

  self->pairs = g_hash_table_new (NULL, NULL);
  self->merged = g_array_new (FALSE, FALSE, sizeof (guint32));
  return self;
}

void
token_merges_free (TokenMerges *self)
{
  g_hash_table_unref (self->pairs);
  g_array_unref (self->merged);
  g_free (self);
}

static gpointer
key_of (guint32 left, guint32 right)
{
  return GSIZE_TO_POINTER ((gsize)left << 32 | right);
}

void
token_merges_add (TokenMerges *self, guint32 left, guint32 right, guint32 both)
{
  g_array_append_val (self->merged, both);
  g_hash_table_insert (self->pairs, key_of (left, right), GUINT_TO_POINTER (self->merged->len));
}

/* The rank of a pair; G_MAXUINT: the pair is never merged. */
static guint
rank_of (const TokenMerges *self, guint32 left, guint32 right)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (self->pairs, key_of (left, right))) - 1;
}

/* A pair of adjacent tokens that may be merged: the one at `at` and the one after it. */
typedef struct
{
  guint rank;
  guint32 left, right;
  gsize at;
} Candidate;

static gboolean
is_before (const Candidate *a, const Candidate *b)
{
  return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

/* The candidates are a binary heap: the one of the lowest rank, of these the leftmost, is first. */
static void
push (GArray *heap, Candidate c)
{
  Candidate *all;
  guint i = heap->len;

  g_array_append_val (heap, c);
  all = (Candidate *)(void *)heap->data;
  for (; i > 0 && is_before (&c, &all[(i - 1) / 2]); i = (i - 1) / 2)
    all[i] = all[(i - 1) / 2];
  all[i] = c;
}

static Candidate
pop (GArray *heap)
{
  Candidate *all = (Candidate *)(void *)heap->data;
  const Candidate first = all[0], last = all[heap->len - 1];
  guint i = 0;

  g_array_set_size (heap, heap->len - 1);
  for (guint child = 1; child < heap->len; child = 2 * i + 1)
    {
      if (child + 1 < heap->len && is_before (&all[child + 1], &all[child]))
        child++;
      if (!is_before (&all[child], &last))
        break;
      all[i] = all[child];
      i = child;
    }
  all[i] = last;
  return first;
}

/* A piece: its tokens as a list, of which merges remove elements. */
typedef struct
{
  guint32 *token;
  gsize *before, *after; /* n: none */
  gsize n;
} Piece;

static void
push_pair (const TokenMerges *self, const Piece *piece, gsize at, GArray *heap)
{
  const gsize next = at < piece->n ? piece->after[at] : piece->n;
  Candidate c;

  if (next == piece->n)
    return;
  c = (Candidate){ rank_of (self, piece->token[at], piece->token[next]), piece->token[at], piece->token[next], at };
  if (c.rank != G_MAXUINT)
    push (heap, c);
}

#define REMOVED G_MAXUINT32 /* in place of a token that was merged into the one before it */

void
token_merges_apply (const TokenMerges *self, GArray *ids)
{
  const gsize n = ids->len;
  g_autofree gsize *links = g_new (gsize, 2 * MAX (n, 1));
  g_autoptr (GArray) heap = g_array_new (FALSE, FALSE, sizeof (Candidate));
  const Piece piece = { (guint32 *)(void *)ids->data, links, links + n, n };
  gsize kept = 0;

  for (gsize i = 0; i < n; i++)
    {
      piece.before[i] = i > 0 ? i - 1 : n;
      piece.after[i] = i + 1;
    }
  for (gsize i = 0; i < n; i++)
    push_pair (self, &piece, i, heap);
  while (heap->len > 0)
    {
      const Candidate c = pop (heap);
      const gsize next = piece.after[c.at];

      /* One of the two may have been merged since. */
      if (piece.token[c.at] != c.left || next == n || piece.token[next] != c.right)
        continue;
      piece.token[c.at] = g_array_index (self->merged, guint32, c.rank);
      piece.token[next] = REMOVED;
      piece.after[c.at] = piece.after[next];
      if (piece.after[next] < n)
        piece.before[piece.after[next]] = c.at;
      push_pair (self, &piece, piece.before[c.at], heap);
      push_pair (self, &piece, c.at, heap);
    }
  for (gsize i = 0; i < n; i++)
    if (piece.token[i] != REMOVED)
      piece.token[kept++] = piece.token[i];
  g_array_set_size (ids, (guint)kept);
}
