/* Declares what the files of engine/pytorch share.
 *
 * Text is made in two steps. Every instance of a module is rendered, with its values between marks; then instances that
 * differ in values alone become one class, and the values that differ become arguments of the class. A mark is
 * \1 prefix \2 name \2 value \2 default \3; nothing else in a line contains such characters, because literals are
 * escaped. A prefix is written only if the value is not the default ("" for no default) in every instance. */
#pragma once

#include "engine/net/loom-net-tree.h"
#include "engine/ops/loom-loop.h"
#include "engine/pytorch/loom-pytorch.h"
#include "engine/recipe/loom-train-spec.h"

typedef struct
{
  char *text; /* without indentation of its block */
  guint indent;
  guint64 serial;
} PyLine;

/* A word of the table: how an operator is written. */
typedef struct
{
  const char *op;
  /* "NAME=VALUE" of a parameter, "?NAME" for one that is set, "#NAME" for one with several numbers, "@PORT" for a wired
   * input, "!PORT" for an output that is read; NULL: always */
  const char *when;
  /* Templates. $NAME is the value of a parameter, $<PORT:AXIS:NAME> a size of an input (of the first of A|B that is
   * wired; with ? before it a keyword, unless it is the size of the last), $! the shape of the output, $* all other
   * parameters that are not at their default, as keywords; @PORT is an input, @|NAME an input or else the parameter, @*
   * all inputs; & is the module. */
  const char *make;   /* the module in __init__; NULL: none */
  const char *call;   /* the expression in forward; NULL: calls the module with its inputs */
  const char *helper; /* the name of a helper; NULL: none */
  const char *why;    /* why it cannot be written, as a clause; NULL: it can */
  gboolean is_one;    /* the call returns the first output alone, not a tuple */
} PyWord;

const PyWord *loom_pytorch_words (void); /* ends with op NULL */

/* A class or function that some words need, written before the classes. */
const char *loom_pytorch_helper (const char *name);

/* ---- a class ---- */
typedef struct
{
  char *name, *skeleton;
  GPtrArray *init, *forward; /* PyLine; resolved once all instances are known */
  GPtrArray *arguments;      /* names */
  GHashTable *values;        /* instance → GPtrArray of its values, in the order of marks */
  GPtrArray *marks;          /* of the first instance, to find those that differ */
  guint64 serial;
} PyClass;

typedef struct
{
  const LoomGraph *graph;
  LoomNet *net;
  LoomTrainSpec *spec; /* NULL: no training */
  LoomFaults *faults;
  const char *samples;
  GHashTable *class_of;   /* instance → PyClass */
  GPtrArray *classes;     /* in the order of the file */
  GPtrArray *names;       /* names of classes so far */
  GPtrArray *helpers;     /* names, in the order of first use */
  GPtrArray *functions;   /* PyLine: classes of custom functions */
  GPtrArray *ports;       /* "data.x": ports of the graph that forward reads, and their names in Python, in turn */
  GPtrArray *scheduled;   /* names of nodes op="scheduled" */
  char *loss_key;         /* the key of the loss in what the graph returns */
  GPtrArray *notes;       /* sentences about what the file does not do */
  char *count;            /* what the loss of `batch` is a mean over, as an expression */
  GPtrArray *metric_keys; /* of each metric's input and target, in turn */
  gboolean has_frozen, has_gradient; /* frozen weights; a node op="gradient" */
  GPtrArray *lines;                  /* PyLine: the file */
} PyWriter;

void loom_pytorch_need (PyWriter *w, const char *helper);
gboolean loom_pytorch_needs (const PyWriter *w, const char *helper);
void loom_pytorch_refuse (PyWriter *w, const LoomNetInstance *instance, const LoomNetLocal *local, const char *format,
                          ...) G_GNUC_PRINTF (4, 5);
PyLine *loom_pytorch_add_line (GPtrArray *lines, guint indent, guint64 serial, char *text /* transfer full */);
GPtrArray *loom_pytorch_lines_new (void);

/* ---- pytorch-literal.c ---- */
/* A string literal, ASCII alone. */
char *loom_pytorch_quote (const char *text);
/* Text of the graph in a comment: in one line, without control characters. */
char *loom_pytorch_comment (const char *text);
char *loom_pytorch_float (double d);
char *loom_pytorch_dtype (LoomDType dtype);
/* TRUE for words that Python, nn.Module or the file's imports have, which are no names for variables or members. */
gboolean loom_pytorch_is_taken (const char *name);
/* An identifier for an id, different from all in `used`, to which it is added. */
char *loom_pytorch_identifier (GHashTable *used, const char *id);
/* "self.conv", or "self._modules['lambda']" for a name that is taken. of: "self" or an expression */
char *loom_pytorch_member (const char *of, const char *id, gboolean is_parameter);
/* "self.block[0].conv.weight" for the path of a weight from a node on. */
char *loom_pytorch_weight (const char *of, const char *path);
char *loom_pytorch_mark (const char *prefix, const char *name, const char *value, const char *def);

/* ---- pytorch-render.c: one instance ---- */
typedef struct
{
  PyWriter *w;
  const LoomNetInstance *instance;
  gboolean is_root;
  GHashTable *used; /* names of variables */
  GPtrArray *init, *forward;
  guint indent;       /* of new lines in forward */
  char ***outputs;    /* by local and output: variables; NULL until computed */
  GHashTable *types;  /* variable → LoomType: values whose sizes are known */
  GPtrArray *typed;   /* their names, in order */
  GHashTable *wanted; /* of the graph: local · LOOM_OP_MAX_OUTPUTS + output that it returns */
  char *symbol[26];   /* variables of sizes */
} PyScope;

/* The variable of an input, or the expression of a weight; NULL if it is not wired. (transfer full) */
char *loom_pytorch_input (PyScope *s, guint local, guint input);
/* A new variable of an output; NULL suffix for the only one. Owned by s. */
const char *loom_pytorch_output (PyScope *s, guint local, guint output, guint n, const char *suffix);
/* The same under another variable. */
void loom_pytorch_set_output (PyScope *s, guint local, guint output, guint n, const char *variable);
void loom_pytorch_render (PyWriter *w, const LoomNetInstance *instance, gboolean is_root, GPtrArray *init,
                          GPtrArray *forward);
void loom_pytorch_forward (PyScope *s, const LoomNetLocal *local, char *text /* transfer full */);
void loom_pytorch_init (PyScope *s, const LoomNetLocal *local, char *text /* transfer full */);
/* A size as an expression; NULL after a fault, if no input of the scope has the symbol. */
char *loom_pytorch_dim (PyScope *s, const LoomNetLocal *local, LoomDim dim);
char *loom_pytorch_shape (PyScope *s, const LoomNetLocal *local, const LoomShape *shape);
/* TRUE for outputs that a later line reads. */
gboolean loom_pytorch_is_read (PyScope *s, guint local, guint output);

/* pytorch-op.c, pytorch-module.c, pytorch-formula.c */
void loom_pytorch_write_op (PyScope *s, guint local);
void loom_pytorch_write_module (PyScope *s, guint local);
void loom_pytorch_write_loop (PyScope *s, guint local);
/* pytorch-function.c: a class of a custom_function with this name, before those of modules. */
void loom_pytorch_write_function (PyScope *s, const LoomNetLocal *local, const LoomNetNode *node,
                                  const LoomInfer *infer, const char *class_name);
/* A formula as a Python expression: names are replaced by those of `names` (name → expression). NULL with a reason. */
char *loom_pytorch_formula (const char *text, GHashTable *names, char **why);

/* pytorch-class.c */
void loom_pytorch_write_classes (PyWriter *w);
/* pytorch-notes.c: the expression of PyWriter.count (transfer full), and the notes. */
char *loom_pytorch_count (PyWriter *w);
void loom_pytorch_collect_notes (PyWriter *w);
/* pytorch-train.c */
void loom_pytorch_write_training (PyWriter *w);
