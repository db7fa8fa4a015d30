/* The samples of attention and its gradient. */
#include "tests/kernels/kernel-harness.h"

#include "kernels/attention.h"

/* The layout of operands and results. */
typedef enum
{
  LIE_PLAIN,
  LIE_BY_PLACES, /* each as [samples, positions, heads, features] */
  LIE_TOGETHER   /* queries, keys and values adjacent at each position, and their gradients, too */
} Lie;

typedef struct
{
  const char *q, *k, *v, *mask; /* mask: NULL for none */
  gboolean causal, is_bool;
  double scale;
  gboolean with_y; /* also the gradient with y */
  Lie in_place;    /* also with rows in this layout, unless plain */
} Setting;

static const Setting settings[] = {
  { "2,3,5,4", "2,3,7,4", "2,3,7,6", NULL, FALSE, FALSE, 0.5, TRUE, LIE_BY_PLACES },
  { "1,2,9,8", "1,2,9,8", "1,2,9,8", NULL, TRUE, FALSE, 0.35, TRUE, LIE_TOGETHER },
  { "2,4,6,3", "2,2,5,3", "2,2,5,3", NULL, TRUE, FALSE, 0.6 },            /* heads that share keys, fewer keys */
  { "2,6,3,5", "2,1,9,5", "2,1,9,2", NULL, TRUE, FALSE, 0.4 },            /* fewer queries than keys */
  { "2,3,5,4", "2,3,7,4", "2,3,7,6", "2,1,1,7", FALSE, TRUE, 0.5 },       /* padding; a query may keep no key */
  { "2,3,5,4", "2,3,7,4", "2,3,7,6", "1,1,5,7", TRUE, FALSE, 0.5, TRUE }, /* a bias per position */
  { "2,4,5,4", "2,2,7,4", "2,2,7,4", "2,4,5,7", FALSE, TRUE, 0.5 },       /* one for every head and query */
  { "1,1,1,1", "1,1,1,1", "1,1,1,1", NULL, FALSE, FALSE, 1 },             /* */
  { "0,2,3,4", "0,2,3,4", "0,2,3,4", NULL, FALSE, FALSE, 1 },             /* */
  { "1,2,0,8", "1,2,5,8", "1,2,5,8", NULL, FALSE, FALSE, 0.5, TRUE, LIE_BY_PLACES }, /* keys without queries */
  { "1,2,0,72", "1,1,5,72", "1,1,5,80", "1,1,1,5", TRUE, TRUE, 0.5 },                /* */
  { "1,2,130,64", "1,2,130,64", "1,2,130,64", NULL, TRUE, FALSE, 0.125 },            /* several blocks */
  { "1,2,50,33", "1,1,300,33", "1,1,300,70", "1,1,1,300", FALSE, TRUE, 0.2 },        /* remainders everywhere */
  { "3,4,97,17", "3,4,140,17", "3,4,140,40", NULL, TRUE, FALSE, 0.25 },              /* many threads */
  { "1,4,150,16", "1,2,90,16", "1,2,90,24", NULL, TRUE, FALSE, 0.25 },       /* tiles of queries that see all keys */
  { "1,4,70,8", "1,2,200,8", "1,2,200,8", "1,4,70,200", FALSE, FALSE, 0.3 }, /* a bias of several tiles */
  { "2,2,66,32", "2,1,129,32", "2,1,129,32", "2,1,66,129", TRUE, TRUE, 0.2, FALSE,
    LIE_BY_PLACES },                                                      /* both masks, on edges of tiles */
  { "1,1,80,136", "1,1,72,136", "1,1,72,200", NULL, TRUE, FALSE, 0.08 },  /* the widest heads */
  { "1,1,65,256", "1,1,65,256", "1,1,65,100", NULL, FALSE, FALSE, 0.06 }, /* */
  { "1,2,128,64", "1,2,128,64", "1,2,128,64", NULL, TRUE, FALSE, 0.1, TRUE,
    LIE_TOGETHER }, /* as cuDNN takes them, the gradient, too */
  { "1,4,64,64", "1,2,120,64", "1,2,120,72", NULL, FALSE, FALSE, 0.1, TRUE, LIE_BY_PLACES }, /* */
};

/* q, and k with v and the kept keys with values, after n positions. */
static const struct
{
  const char *q, *k, *v, *keys, *values;
  int place;
} cached[] = {
  { "1,2,1,8", "1,2,1,8", "1,2,1,8", "1,2,9,8", "1,2,9,8", 0 },
  { "1,2,1,8", "1,2,1,8", "1,2,1,8", "1,2,9,8", "1,2,9,8", 8 },
  { "2,4,3,5", "2,2,3,5", "2,2,3,7", "2,2,9,5", "2,2,9,7", 4 },
  { "3,6,5,33", "3,1,5,33", "3,1,5,70", "3,1,40,33", "3,1,40,70", 31 },
  { "1,6,1,64", "1,6,1,64", "1,6,1,64", "1,6,256,64", "1,6,256,64", 200 },
  { "2,8,90,64", "2,8,90,64", "2,8,90,64", "2,8,128,64", "2,8,128,64", 20 },
  { "0,2,1,4", "0,2,1,4", "0,2,1,4", "0,2,3,4", "0,2,3,4", 1 },
};

static void
add_cached (GPtrArray *all)
{
  for (int i = 0; i < (int)G_N_ELEMENTS (cached); i++)
    {
      LoomTensorDesc q = desc (F, cached[i].q), y = q, values = desc (F, cached[i].values);
      Sample *s
          = sample_add (all, "attention_cached", 1e-5, "%s of %s at %d", cached[i].q, cached[i].keys, cached[i].place);

      y.dim[3] = values.dim[3];
      sample_in (s, q, FILL_NORMAL, 0);
      sample_in (s, desc (F, cached[i].k), FILL_NORMAL, 0);
      sample_in (s, desc (F, cached[i].v), FILL_NORMAL, 0);
      sample_in (s, desc (F, cached[i].keys), FILL_NORMAL, 0);
      sample_in (s, values, FILL_NORMAL, 0);
      sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, cached[i].place);
      for (int o = 0; o < 2; o++)
        {
          s->alias[s->n_out] = 3 + o;
          sample_out (s, s->in[3 + o]);
        }
      s->in_place = 2;
      sample_out (s, y);
      SAMPLE_ATTRS (s, LoomAttentionCachedAttrs) = (LoomAttentionCachedAttrs){ 0.3 };
    }
}

/* A tensor [N,heads,rows,features] by position, from `start` on in rows of `length` elements. */
static LoomTensorDesc
by_places (LoomTensorDesc plain, gint64 start, gint64 length, LoomAttentionRows *rows)
{
  *rows = (LoomAttentionRows){ start, plain.dim[2] * length, plain.dim[3], length };
  return (LoomTensorDesc){ .dtype = plain.dtype, .rank = 3, .dim = { plain.dim[0], plain.dim[2], length } };
}

/* Sets the shapes of q, k, v and y in this layout. */
static void
lie (Lie how, LoomTensorDesc *q, LoomTensorDesc *k, LoomTensorDesc *v, LoomTensorDesc *y, LoomAttentionAttrs *a)
{
  const gint64 of_q = q->dim[1] * q->dim[3], of_k = k->dim[1] * k->dim[3], of_v = v->dim[1] * v->dim[3];
  const gint64 all = of_q + of_k + of_v;
  LoomTensorDesc in[3] = { *q, *k, *v };

  if (how == LIE_PLAIN)
    return;
  a->sizes = loom_attention_strides (a, in, 0, a->rows);
  a->in_place = true;
  *y = by_places (*y, 0, y->dim[1] * y->dim[3], &a->rows[LOOM_ATTENTION_Y]);
  *q = by_places (*q, 0, how == LIE_TOGETHER ? all : of_q, &a->rows[LOOM_ATTENTION_Q]);
  *k = by_places (*k, how == LIE_TOGETHER ? of_q : 0, how == LIE_TOGETHER ? all : of_k, &a->rows[LOOM_ATTENTION_K]);
  *v = by_places (*v, how == LIE_TOGETHER ? of_q + of_k : 0, how == LIE_TOGETHER ? all : of_v,
                  &a->rows[LOOM_ATTENTION_V]);
  a->rows[LOOM_ATTENTION_G] = a->rows[LOOM_ATTENTION_Y];
  for (int i = 0; i < 3; i++)
    a->rows[LOOM_ATTENTION_DQ + i] = a->rows[LOOM_ATTENTION_Q + i];
}

/* form: attention, its gradient, and its gradient with y. dropout: with seed, step and head indices. */
static void
add_sample (GPtrArray *all, const Setting *set, int form, double dropout, Lie how)
{
  const LoomTensorDesc absent = { .dtype = LOOM_N_DTYPES, .rank = 1 };
  LoomTensorDesc q = desc (F, set->q), k = desc (F, set->k), v = desc (F, set->v), y = q, rows = q, heads = q;
  LoomAttentionAttrs attrs = { .scale = set->scale,
                               .causal = set->causal,
                               .has_mask = set->mask != NULL,
                               .dropout = dropout,
                               .stream = G_GUINT64_CONSTANT (0x123456789abcdef0) };
  Sample *s = sample_add (all, form ? "attention_grad" : "attention", form ? 2e-5 : 1e-5, "%s of %s%s%s%s%s%s", set->q,
                          set->k, set->causal ? " causal" : "",
                          set->mask == NULL ? ""
                          : set->is_bool    ? " mask"
                                            : " bias",
                          form == 2 ? " with y" : "", dropout > 0 ? " dropout" : "",
                          how == LIE_TOGETHER    ? " together"
                          : how == LIE_BY_PLACES ? " by places"
                                                 : "");

  y.dim[3] = v.dim[3];
  rows.rank = 3;
  heads.rank = 2;
  heads.dtype = LOOM_I64;
  lie (how, &q, &k, &v, &y, &attrs);
  if (form)
    sample_in (s, y, FILL_NORMAL, 0);
  sample_in (s, q, FILL_NORMAL, 0);
  sample_in (s, k, FILL_NORMAL, 0);
  sample_in (s, v, FILL_NORMAL, 0);
  if (form)
    {
      /* About log Σ exp of the scores, so that the shares are neither tiny nor huge. */
      sample_in (s, rows, FILL_VALUE, 3);
      sample_in (s, form == 2 ? absent : rows, form == 2 ? FILL_VALUE : FILL_NORMAL, 0);
    }
  if (set->mask != NULL)
    sample_in (s, desc (set->is_bool ? LOOM_BOOL : F, set->mask), set->is_bool ? FILL_CLASS : FILL_NORMAL, 2);
  else if (form == 2 || dropout > 0)
    sample_in (s, absent, FILL_VALUE, 0);
  if (form == 2)
    sample_in (s, y, FILL_NORMAL, 0);
  else if (form == 1 && dropout > 0)
    sample_in (s, absent, FILL_VALUE, 0);
  if (dropout > 0)
    {
      sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, 42);
      sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, 7);
      sample_in (s, heads, FILL_CLASS, 100000);
    }
  if (form && how == LIE_TOGETHER)
    sample_out (s, q);
  else if (form)
    {
      sample_out (s, q);
      sample_out (s, k);
      sample_out (s, v);
    }
  else
    {
      sample_out (s, y);
      sample_out (s, rows);
    }
  s->wide = form ? 1u << 4 | 1u << 5 : 1u << (s->n_in + 1); /* sums over keys */
  SAMPLE_ATTRS (s, LoomAttentionAttrs) = attrs;
}

void
samples_attention (GPtrArray *all)
{
  add_cached (all);
  for (int i = 0; i < (int)G_N_ELEMENTS (settings); i++)
    {
      for (int form = 0; form < (settings[i].with_y ? 3 : 2); form++)
        add_sample (all, &settings[i], form, 0, LIE_PLAIN);
      for (int form = 0; form < 2; form++)
        add_sample (all, &settings[i], form, i % 2 == 0 ? 0.25 : 0.6, LIE_PLAIN);
      if (settings[i].in_place == LIE_PLAIN)
        continue;
      for (int form = 0; form < 3; form++)
        add_sample (all, &settings[i], form, form == 1 ? 0.25 : 0, settings[i].in_place);
    }
}
