/* Shared by the parts of the maker of random models: its state, and how it adds nodes. */
#pragma once

#include "engine/ops/loom-op.h"
#include "tests/check/random-model.h"

typedef struct
{
  char *end; /* "n3.out" */
  LoomType type;
  gboolean is_used;
} ModelValue;

/* The graph's root, or a module that is being made. */
typedef struct _ModelScope ModelScope;
struct _ModelScope
{
  GString *nodes, *wires;
  GArray *values;    /* ModelValue */
  gboolean is_body;  /* of a loop: no state, no devices of nodes */
  gboolean is_rows;  /* its first dimension is not B, and its rows are computed independently */
  ModelScope *outer; /* NULL: this is the root */
};

typedef struct
{
  GRand *rand;
  guint32 seed;
  const char *precision, *device; /* of <train>: those that work together */
  gboolean trains;                /* it has a <train> */
  gboolean places;                /* nodes are placed on several devices */
  gboolean splits;                /* weights are split over ranks */
  gboolean types;                 /* nodes have types of their own */
  GString *modules;
  ModelScope *scope;
  guint next;        /* for ids */
  char *loss;        /* the node that is the loss */
  char *metric;      /* an element of <train>; NULL: none */
  GPtrArray *layers; /* ids of the root's nodes that have weights */
} Maker;

/* random-model-fit.c: chance, types, nodes, and values that fit */
gboolean maker_chance (Maker *self, double p);
guint maker_below (Maker *self, guint n);
/* One of several texts. */
const char *maker_one_of (Maker *self, guint n, const char *const *texts);
ModelValue *maker_value (Maker *self, guint v);
char *maker_shape_text (const LoomShape *shape);
/* The elements of a value with B = 4; -1: unknown. */
gint64 maker_count (const LoomShape *shape);
/* TRUE if all dimensions are plain numbers but at most one, which is B: *at is its position or -1. */
gboolean maker_batch_axis (const LoomShape *shape, int *at);

/* Appends <node id="PREFIXk" op=… attributes/> and returns the id, which belongs to the scope's values. */
char *maker_add_node (Maker *self, const char *element, const char *attributes);
void maker_add_wire (Maker *self, guint from, const char *id, const char *port);
guint maker_add_value (Maker *self, const char *id, const char *port, const LoomType *type);
/* A node with one input and one output of this type; its value. */
guint maker_pass (Maker *self, guint v, const char *op, const char *port, const char *attributes, const LoomType *type);
/* A node of any operator: its outputs' types are inferred from those of the values. FALSE, and nothing is added, if the
 * operator refuses them. */
gboolean
maker_add (Maker *self, const char *op, const char *attributes, guint n, const guint *from, const char *const *ports);

/* A value of this type, made from v; -1: it cannot be. */
int maker_fit (Maker *self, guint v, const LoomType *to);
/* A value of this type from nothing; -1: likewise. */
int maker_leaf (Maker *self, const LoomType *type);
/* A value of this type from any value or from nothing; -1: there is none in this scope. */
int maker_input (Maker *self, const LoomType *type);
/* A late value of a float type with B in front (with_batch) or any; -1: there is none. */
int maker_pick (Maker *self, LoomDType dtype, gboolean with_batch);
/* A value that no node reads yet, of any type; -1: there is none. */
int maker_unread (Maker *self);

/* random-model.c: a node of an operator in a random configuration. */
void maker_operator (Maker *self, const LoomOp *op);
/* Any operator, or any block. */
void maker_grow (Maker *self);

/* random-model-blocks.c */
void maker_block (Maker *self);
void maker_gradient (Maker *self);
void maker_assign (Maker *self);

/* random-model-train.c: the loss, and <train> as text (transfer full) */
void maker_loss (Maker *self);
char *maker_train (Maker *self);
