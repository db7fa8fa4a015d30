/* The structs of graphs and elements, for the files of this folder only. Strings are reference counted (GRefString), so
 * that a frozen copy of 5,000 elements costs pointers instead of text, and may be freed on another thread. */
#pragma once

#include "engine/graph/loom-graph.h"

typedef struct
{
  /* GRefStrings. They are not interned: with GLib 2.74 a thread can find an interned string that another one frees. */
  char *name, *value;
} Attribute;

/* Hash tables of a scope (the root or a module) for lookups in O(1). If two nodes share an id, the table has the first
 * one, and after_duplicate makes the next change rebuild the table. */
typedef struct
{
  GHashTable *table; /* name → element; keys belong to the elements */
  gboolean after_duplicate;
} ScopeIndex;

struct _LoomElement
{
  LoomTag tag;
  int line;
  guint64 serial;
  guint index;       /* among the parent's children */
  guint64 changed;   /* the graph's version when this element was inserted, or its attributes or text changed */
  guint64 inside;    /* the version when it or an element inside it changed, was inserted or removed */
  guint64 digest[2]; /* of it and everything inside it (loom-digest.c) */
  guint64 digested;  /* 1 + the version of `inside` for which that is; 0: none */
  guint n_attributes;
  Attribute *attributes;
  LoomElement *parent;
  GPtrArray *children;        /* NULL until there is one */
  LoomElement **first;        /* by tag: the first child; NULL until there is a child */
  char *text;                 /* GRefString or NULL */
  ScopeIndex *nodes, *places; /* of scopes inside a graph */
  ScopeIndex *modules;        /* of a graph's root */
};

struct _LoomGraph
{
  gatomicrefcount refs;
  gboolean frozen;
  LoomElement *root;
  GPtrArray *by_serial; /* serials are small and dense, so an array is sufficient */
  guint64 version;
  char *folder;
  LoomGuard guard;
  char *file;      /* as named by the caller when it was read */
  guint n_dropped; /* parts that the reader skipped */
};

/* ---- elements ---- */
LoomElement *loom_element_create (LoomTag tag);
/* Characters that XML cannot represent (control characters, invalid UTF-8) become U+FFFD here, so that memory and file
 * agree. */
void loom_element_set_value (LoomElement *e, const char *name, const char *value);
void loom_element_set_content (LoomElement *e, const char *text);
void loom_element_attach (LoomElement *parent, guint index, LoomElement *child);
void loom_element_detach (LoomElement *child);
gboolean loom_element_is_scope (const LoomElement *e);
/* TRUE if the element, or the attribute, belongs to the graph's meaning. */
gboolean loom_element_has_meaning (const LoomElement *e);
gboolean loom_attribute_has_meaning (const Attribute *attribute);
LoomElement *loom_element_copy_tree (const LoomElement *e, gboolean keep_identity);

/* ---- graphs ---- */
LoomGraph *loom_graph_create (LoomElement *root); /* takes the tree, assigns serials and makes the indexes */
void loom_graph_register (LoomGraph *graph, LoomElement *tree);
void loom_graph_unregister (LoomGraph *graph, LoomElement *tree);
/* Removes e from its scope's tables, or inserts it: before and after a change of an attribute. */
void loom_graph_index (LoomElement *e, gboolean present);
/* Call after any change below e's scope: rebuilds its tables if two elements shared a name, because a removed entry may
 * have hidden another one. */
void loom_graph_rebuild_duplicates (LoomElement *e);
