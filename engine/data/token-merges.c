/* Merges pairs of tokens by rank. */
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

/* Merges the pair of a rank wherever it occurs among n tokens, from left to right, until a merge makes a pair of a
 * lower rank, which is possible if two pairs make one token. Returns the number of tokens after merging. */
static gsize
merge_pair (const TokenMerges *self, guint rank, guint32 left, guint32 right, guint32 *token, gsize n)
{
  const guint32 result = g_array_index (self->merged, guint32, rank);
  gboolean goes_on = TRUE;
  gsize kept = 0;

  for (gsize i = 0; i < n; i++)
    if (goes_on && i + 1 < n && token[i] == left && token[i + 1] == right)
      {
        i++;
        goes_on = (kept == 0 || rank_of (self, token[kept - 1], result) >= rank)
                  && (i + 1 == n || rank_of (self, result, token[i + 1]) >= rank);
        token[kept++] = result;
      }
    else
      token[kept++] = token[i];
  return kept;
}

void
token_merges_apply (const TokenMerges *self, GArray *ids)
{
  guint32 *token = (guint32 *)(void *)ids->data;
  gsize n = ids->len;

  for (;;)
    {
      guint best = G_MAXUINT;
      guint32 left = 0, right = 0;

      for (gsize i = 0; i + 1 < n; i++)
        {
          const guint rank = rank_of (self, token[i], token[i + 1]);

          if (rank < best)
            {
              best = rank;
              left = token[i];
              right = token[i + 1];
            }
        }
      if (best == G_MAXUINT)
        break;
      n = merge_pair (self, best, left, right, token, n);
    }
  g_array_set_size (ids, (guint)n);
}
