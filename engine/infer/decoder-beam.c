/* Beam search: keeps the likeliest prefixes of each sample, extends each by a token, and compares them again.
 *
 * A sequence that has ended leaves the beam. Sequences of different lengths are compared by their log probability over
 * ((5 + length) / 6)^0.6 (Wu et al., "Google's neural machine translation system", 2016, equation 14). With a beam of 1
 * it takes the likeliest token each time. Padding and start tokens are never generated. */
#include "engine/infer/decoder-private.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-vocabulary.h"

/* A prefix, or a sequence that has ended. */
typedef struct
{
  guint n;
  gint64 *token; /* [places] */
  double log_p;
} Beginning;

typedef struct
{
  double log_p;
  guint from;   /* the prefix that it extends */
  gint64 token; /* LOOM_TOKEN_END: the sequence ends */
} Candidate;

typedef struct
{
  guint n_alive, n_ended;
  Beginning *alive, *ended; /* [beam]; ended: sorted, the best first */
} Search;

static double
by_length (const Beginning *b)
{
  return b->log_p / pow ((5.0 + b->n) / 6.0, 0.6);
}

static Beginning *
beginnings_new (const LoomDecoder *self)
{
  Beginning *b = g_new0 (Beginning, self->beam + 1);

  for (guint i = 0; i <= self->beam; i++)
    b[i].token = g_new0 (gint64, self->places + 1);
  return b;
}

static void
beginnings_free (const LoomDecoder *self, Beginning *b)
{
  for (guint i = 0; i <= self->beam; i++)
    g_free (b[i].token);
  g_free (b);
}

static void
copy_beginning (Beginning *to, const Beginning *from)
{
  memcpy (to->token, from->token, from->n * sizeof *to->token);
  to->n = from->n;
  to->log_p = from->log_p;
}

/* Inserts a sequence among those that have ended, and drops the worst if there are too many. */
static void
add_ended (const LoomDecoder *self, Search *s, const Beginning *b)
{
  guint at = s->n_ended;
  Beginning spare = s->ended[self->beam];

  while (at > 0 && by_length (b) > by_length (&s->ended[at - 1]))
    at--;
  if (at >= self->beam)
    return;
  memmove (&s->ended[at + 1], &s->ended[at], (self->beam - at) * sizeof *s->ended);
  s->ended[at] = spare;
  copy_beginning (&s->ended[at], b);
  s->n_ended = MIN (s->n_ended + 1, self->beam);
}

/* Inserts the candidate if it is one of the best so far, which are sorted. */
static void
consider (Candidate *best, guint *n, guint most, const Candidate *candidate)
{
  guint at = *n;

  while (at > 0 && candidate->log_p > best[at - 1].log_p)
    at--;
  if (at >= most)
    return;
  if (*n < most)
    ++*n;
  memmove (best + at + 1, best + at, (*n - at - 1) * sizeof *best);
  best[at] = *candidate;
}

/* Converts the logits of one row at a position to log probabilities: to [classes]. */
static void
log_softmax (const LoomDecoder *self, const LoomTensor *t, guint row, gint64 place, double *to)
{
  LoomOutputKind kind = self->predictor->output_kind;
  double most = -INFINITY, sum = 0;

  for (gint64 c = 0; c < self->classes; c++)
    {
      to[c] = loom_tensor_get (t, ((gint64)row * self->classes + c) * self->places + place);
      most = MAX (most, to[c]);
    }
  for (gint64 c = 0; kind == LOOM_OUTPUT_LOGITS && c < self->classes; c++)
    sum += exp (to[c] - most);
  for (gint64 c = 0; c < self->classes; c++)
    to[c] = kind == LOOM_OUTPUT_LOGITS          ? to[c] - most - log (sum)
            : kind == LOOM_OUTPUT_PROBABILITIES ? log (to[c])
                                                : to[c];
}

/* Extends the prefixes of one sample by a token. FALSE if the net's output is not a number. */
static gboolean
grow (const LoomDecoder *self, Search *s, guint sample, const LoomTensor *t, gint64 place, double *scores)
{
  guint most = 2 * self->beam, n = 0; /* as many candidates may end as continue */
  g_autofree Candidate *best = g_new (Candidate, most + 1);
  Beginning *grown = beginnings_new (self);

  for (guint b = 0; b < s->n_alive; b++)
    {
      log_softmax (self, t, sample * self->beam + b, place, scores);
      for (gint64 c = 0; c < self->classes; c++)
        {
          Candidate candidate = { s->alive[b].log_p + scores[c], b, c };

          if (isnan (scores[c]))
            {
              beginnings_free (self, grown);
              return FALSE;
            }
          if (c != LOOM_TOKEN_PADDING && c != LOOM_TOKEN_START)
            consider (best, &n, most, &candidate);
        }
    }
  guint n_alive = 0;
  for (guint i = 0; i < n; i++)
    {
      Beginning *from = &s->alive[best[i].from];
      double before = from->log_p;

      if (best[i].token == LOOM_TOKEN_END)
        {
          /* A sequence that ends with a lower probability than the prefixes that continue is not kept. */
          if (i < self->beam)
            {
              from->log_p = best[i].log_p;
              add_ended (self, s, from);
              from->log_p = before;
            }
          continue;
        }
      if (n_alive == self->beam)
        continue;
      copy_beginning (&grown[n_alive], from);
      grown[n_alive].token[grown[n_alive].n++] = best[i].token;
      grown[n_alive++].log_p = best[i].log_p;
    }
  beginnings_free (self, s->alive);
  s->alive = grown;
  s->n_alive = n_alive;
  return TRUE;
}

/* Writes the tokens so far, shifted by one position, to the rows of a sample's beams. */
static void
put_beginnings (LoomDecoder *self, const Search *s, guint sample)
{
  gint64 *y_in = self->data[self->shifted]->data;

  for (guint b = 0; b < self->beam; b++)
    {
      gint64 *row = y_in + ((gint64)(sample * self->beam) + b) * self->places;

      for (gint64 t = 0; t < self->places; t++)
        row[t] = LOOM_TOKEN_PADDING;
      row[0] = LOOM_TOKEN_START;
      for (guint t = 0; b < s->n_alive && t < s->alive[b].n && t + 1 < self->places; t++)
        row[t + 1] = s->alive[b].token[t];
    }
}

/* TRUE if no better sequence is possible: as many as the beam have ended, all with better values than the best prefix.
 */
static gboolean
is_over (const LoomDecoder *self, const Search *s)
{
  return s->n_alive == 0 || (self->beam == 1 && s->n_ended > 0)
         || (s->n_ended == self->beam && by_length (&s->ended[self->beam - 1]) >= by_length (&s->alive[0]));
}

static gboolean
search_all (LoomDecoder *self, Search *searches, guint n, GError **error)
{
  g_autofree double *scores = g_new (double, self->classes);
  gboolean over = FALSE;

  for (gint64 place = 0; place < self->places && !over; place++)
    {
      g_autoptr (LoomTensor) t = NULL;

      for (guint i = 0; i < n; i++)
        put_beginnings (self, &searches[i], i);
      t = decoder_step (self, error);
      if (t == NULL)
        return FALSE;
      over = TRUE;
      for (guint i = 0; i < n; i++)
        {
          if (is_over (self, &searches[i]))
            continue;
          if (!grow (self, &searches[i], i, t, place, scores))
            return loom_refuse (error, LOOM_ERROR_NAN, "The output of the net is not a number.");
          over = over && is_over (self, &searches[i]);
        }
    }
  return TRUE;
}

gboolean
decoder_search (LoomDecoder *self, guint n, GPtrArray *answers, GError **error)
{
  g_autofree Search *searches = g_new0 (Search, n + 1);
  gboolean ok;

  for (guint i = 0; i < n; i++)
    {
      searches[i] = (Search){ .n_alive = 1, .alive = beginnings_new (self), .ended = beginnings_new (self) };
    }
  ok = search_all (self, searches, n, error);
  for (guint i = 0; i < n; i++)
    {
      Search *s = &searches[i];

      /* At the last position a prefix counts as a sequence, too. */
      for (guint b = 0; b < s->n_alive && s->n_ended < self->beam; b++)
        add_ended (self, s, &s->alive[b]);
      if (ok)
        {
          LoomWritten *written = g_new0 (LoomWritten, 1);

          written->n = s->ended[0].n;
          written->token = g_memdup2 (s->ended[0].token, s->ended[0].n * sizeof (gint64));
          written->score = by_length (&s->ended[0]);
          g_ptr_array_add (answers, written);
        }
      beginnings_free (self, s->alive);
      beginnings_free (self, s->ended);
    }
  return ok;
}
