/* The grammar of the graph file: the table that reader, writer and schema share. */
#pragma once

#include "engine/graph/loom-graph.h"

typedef struct
{
  const char *name;
  const char *const *required;
  const char *const *optional;
  const char *const
      *identity; /* attributes that identify the element, and so differ without being a change of it; NULL */
  const char *const *booleans; /* those of them that are true or false */
  gboolean any_attribute;      /* other attributes are parameters, checked by the operator table or by their reader */
  gboolean has_text;
  guint32 parents; /* bit per tag */
  int order;       /* among siblings; elements of equal order may mix */
  gboolean once;   /* in a parent of another kind */
} GrammarRule;

const GrammarRule *loom_grammar (LoomTag tag);
/* LOOM_N_TAGS if there is no such element. */
LoomTag loom_grammar_tag (const char *name);
