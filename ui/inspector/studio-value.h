/* Parses values as the user types them: a number, a formula, or a number with a unit. Plain C, tested without a
 * display.
 *
 *     4*in_features + 1    + - * / // % ^ ( ) min max sqrt floor ceil round
 *     64k 64Ki 3M 2Gi      k, M, G are powers of 1000; Ki, Mi, Gi are powers of 1024
 *     10 %                 0.1
 *     30 s 5 min 2 h       for parameters in seconds
 *     512 MiB 2 GB         for parameters in bytes, or megabytes
 *
 * The file gets the number. Only an expression that names an argument of the module is kept, "{width * 2}", because its
 * value differs between instances. */
#pragma once

#include "engine/loom.h"

typedef enum
{
  STUDIO_NAME_UNKNOWN,
  STUDIO_NAME_NUMBER,  /* of this node or its inputs: the value is written */
  STUDIO_NAME_ARGUMENT /* of the module: the name is written */
} StudioNameKind;

/* Looks up a name in a formula; *value is NAN if unknown. */
typedef StudioNameKind (*StudioValueLookup) (const char *name, double *value, gpointer data);

typedef struct
{
  char *text;  /* as written to the file; NULL: invalid */
  char *shown; /* "= 1024", for a formula; NULL: same as the text */
  char *wrong; /* a sentence; NULL: valid */
} StudioValue;

/* lookup may be NULL: no names. */
StudioValue studio_value_read (const LoomParamSpec *spec, const char *text, StudioValueLookup lookup, gpointer data);
void studio_value_clear (StudioValue *value);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (StudioValue, studio_value_clear)
/* For the tooltip: what can be typed into the entry of this parameter; NULL: nothing special (transfer full). */
char *studio_value_hint (const LoomParamSpec *spec);
