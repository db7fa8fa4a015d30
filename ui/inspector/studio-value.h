/* Reads values as people type them: a number, a formula, a number with a unit. Plain C, tested without a display.
 *
 *   4*in_features + 1    + - * / // % ^ ( ) min max sqrt floor ceil round
 *   64k 64Ki 3M 2Gi      k, M, G are thousands as everywhere; Ki, Mi, Gi are 1024s
 *   10 %                 0.1
 *   30 s 5 min 2 h       where seconds are asked for
 *   512 MiB 2 GB         where bytes, or megabytes, are asked for
 *
 * The file gets the number, for which no reader needs to know any of this. Only what names an argument of the module is
 * kept as an expression, "{width * 2}", since its value is another in each instance. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

typedef enum
{
  STUDIO_NAME_UNKNOWN,
  STUDIO_NAME_NUMBER,  /* of this node, or of what comes into it: its value is written */
  STUDIO_NAME_ARGUMENT /* of the module: its name is written */
} StudioNameKind;

/* Looks up a name in a formula; *value is NAN where it is not known yet. */
typedef StudioNameKind (*StudioValueLookup) (const char *name, double *value, gpointer data);

typedef struct
{
  char *text;  /* as it is to stand in the file; NULL: it is wrong */
  char *shown; /* "= 1024", of a formula; NULL: the text says it */
  char *wrong; /* a sentence; NULL: nothing */
} StudioValue;

/* lookup may be NULL: no names are known. */
StudioValue studio_value_read (const LoomParamSpec *spec, const char *text, StudioValueLookup lookup, gpointer data);
void studio_value_clear (StudioValue *value);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (StudioValue, studio_value_clear)
/* Says what can be typed into a field of this parameter, for its tooltip; NULL: just a value (transfer full). */
char *studio_value_hint (const LoomParamSpec *spec);

G_END_DECLS
