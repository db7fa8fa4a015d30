/* Declares the maker of a graph, which chains nodes one after the other. */
#pragma once

#include "engine/template/loom-template.h"

typedef struct
{
  LoomGraph *graph;
  char *last;          /* the end of the chain: "fc" or "data.x" */
  LoomElement *module; /* the one that is being made, which receives nodes; NULL: the graph does */
  GPtrArray *wires;    /* the module's LoomElement, which come after its nodes */
} LoomTemplateMaker;

/* Adds a node of this operator with this id, or a similar one that is free, with attributes as name, value, …, NULL;
 * returns its id, which the graph owns. */
const char *loom_template_node (LoomTemplateMaker *self, const char *id, const char *op, ...) G_GNUC_NULL_TERMINATED;
/* The same, wired to the end of the chain, and becoming its new end. */
const char *loom_template_chain (LoomTemplateMaker *self, const char *id, const char *op, ...) G_GNUC_NULL_TERMINATED;
void loom_template_wire (LoomTemplateMaker *self, const char *from, const char *to);
void loom_template_set_end (LoomTemplateMaker *self, const char *end);
void loom_template_insert (LoomTemplateMaker *self, LoomElement *element /* transfer full */);
/* Nodes and wires until the end are those of a new module. */
void loom_template_begin_module (LoomTemplateMaker *self, const char *name);
void loom_template_end_module (LoomTemplateMaker *self);
void loom_template_maker_clear (LoomTemplateMaker *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomTemplateMaker, loom_template_maker_clear)

/* The arguments of a kind's builder. */
typedef struct
{
  const LoomDatasetInfo *info; /* with the sizes that are known after opening */
  const LoomType *x;           /* of a batch of inputs */
  const LoomType *y;           /* of the target; NULL: there is none, and the input is the target */
  LoomTask task;
  gint64 n_symbols; /* if the input has integers 0 … n_symbols-1; 0: not known */
  gint64 n_out;     /* the size of a prediction for a sample (or position): classes or elements */
} LoomTemplateShape;

typedef struct
{
  LoomTemplateKind kind;
  gboolean (*suits) (const LoomTemplateShape *shape);
  /* Builds from the input at the end of the chain to outputs [B, n_out], or [B, n_out, T] for positions. */
  void (*build) (LoomTemplateMaker *maker, const LoomTemplateShape *shape);
  double lr;
  gboolean has_loss; /* it builds the node "loss", and outputs that are no prediction of the target */
} LoomTemplateBuilder;

/* Ends with name NULL, in the order of the list. */
extern const LoomTemplateBuilder loom_template_builders[];

/* Two convolutions with batch norm at the end of the chain (template-kinds.c). */
void loom_template_chain_convolutions (LoomTemplateMaker *maker, const char *channels);
/* TRUE for the ports of boxes and their maps (engine/data/loom-boxes.h), which a detector learns (template-detector.c).
 */
gboolean loom_template_has_boxes (const LoomDatasetInfo *info);
gboolean loom_template_suits_detector (const LoomTemplateShape *shape);
void loom_template_build_detector (LoomTemplateMaker *maker, const LoomTemplateShape *shape);
/* The number of elements of a sample of this type; 0 if it is not known. */
gint64 loom_template_count (const LoomType *type);
