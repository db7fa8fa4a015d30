/* A graph that is being made: nodes are added one behind the other. */
#pragma once

#include "engine/template/loom-template.h"

G_BEGIN_DECLS

typedef struct
{
  LoomGraph *graph;
  char *last; /* the end of what has been chained so far: "fc" or "data.x" */
} LoomTemplateMaker;

/* Adds a node of this operator under this id, or a free one like it, with attributes as name, value, …, NULL; gives its
 * id, which the graph owns. */
const char *loom_template_node (LoomTemplateMaker *self, const char *id, const char *op, ...) G_GNUC_NULL_TERMINATED;
/* The same, wired to the end of the chain, which it then is. */
const char *loom_template_chain (LoomTemplateMaker *self, const char *id, const char *op, ...) G_GNUC_NULL_TERMINATED;
void loom_template_wire (LoomTemplateMaker *self, const char *from, const char *to);
void loom_template_set_end (LoomTemplateMaker *self, const char *end);
void loom_template_insert (LoomTemplateMaker *self, LoomElement *element /* transfer full */);
void loom_template_maker_clear (LoomTemplateMaker *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomTemplateMaker, loom_template_maker_clear)

/* The arguments of a kind's builder. */
typedef struct
{
  const LoomDatasetInfo *info; /* with what is known after opening */
  const LoomType *x;           /* of the input, a batch */
  const LoomType *y;           /* of the target; NULL: there is none, and the input is its own target */
  LoomTask task;
  gint64 n_symbols; /* of an input of whole numbers that lie in 0 … n_symbols-1; 0: not known */
  gint64 n_out;     /* numbers that a sample's (or a position's) prediction has: classes or elements */
} LoomTemplateShape;

typedef struct
{
  LoomTemplateKind kind;
  gboolean (*suits) (const LoomTemplateShape *shape);
  /* From the input at the chain's end to n_out numbers a sample [B, n_out], or for positions to [B, n_out, T]. */
  void (*build) (LoomTemplateMaker *maker, const LoomTemplateShape *shape);
  double lr;
} LoomTemplateBuilder;

/* Ends with name NULL, in the order in which they are offered. */
extern const LoomTemplateBuilder loom_template_builders[];

/* Numbers that one sample of this type has; 0 where it is not known. */
gint64 loom_template_count (const LoomType *type);

G_END_DECLS
