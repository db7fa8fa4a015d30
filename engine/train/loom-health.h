/* The health of a network in training: norms and counts by node, the rules for them, and their JSON lines.
 *
 * The engine measures (health-report) and programs show. Everything here is plain numbers, so a program that has only
 * the lines finds the same verdicts as the engine. */
#pragma once

#include "engine/core/loom-json.h"

/* In the order in which they are reported: each may be the cause of those after it. */
typedef enum
{
  LOOM_HEALTH_WELL,
  LOOM_HEALTH_NOT_FINITE,
  LOOM_HEALTH_DEAD,
  LOOM_HEALTH_SATURATED,
  LOOM_HEALTH_EXPLODING,
  LOOM_HEALTH_VANISHING,
  LOOM_HEALTH_HASTY,
  LOOM_N_HEALTH
} LoomHealthVerdict;

/* A node is sick if the number that the rule is about is beyond its limit. */
typedef struct
{
  const char *name; /* in JSON: "dead" */
  double limit;
  const char *what;   /* the number that is compared with the limit, as a clause */
  const char *source; /* of the limit: paper or reason */
} LoomHealthRule;

const LoomHealthRule *loom_health_rule (LoomHealthVerdict verdict);
/* A gradient vanishes only if it is also below this fraction of the largest gradient of the net: at the end of a
 * training all gradients are small. */
#define LOOM_HEALTH_VANISHING_SHARE 1e-3
/* An output is at a limit of its function if it is closer to it than this fraction of the distance of both limits. */
#define LOOM_HEALTH_SATURATED_WITHIN 1e-3

typedef struct
{
  char *port;      /* a port of the net: "fc", "rnn.h" */
  double gradient; /* the norm of the loss's gradient with respect to it; NaN: unknown */
} LoomHealthWire;

typedef struct
{
  char *node; /* its path */
  /* Norms over all trained weights of the node: of the weights, of their gradient, and of the change that the next
   * update would make with this gradient. NaN: it has no weights, or the optimizer is not part of the step. */
  double weight, gradient, update;
  gint64 units, dead; /* of an activation: its units, and those that are 0 for every sample; units 0: not counted */
  double saturated;   /* of an activation: the share of outputs at a limit; NaN: it has no two limits */
  GArray *wires;      /* LoomHealthWire: its outputs */
  LoomHealthVerdict verdict;
} LoomHealthNode;

LoomHealthNode *loom_health_node_new (const char *path);
void loom_health_node_free (LoomHealthNode *node);
/* |gradient| / |weight|, |update| / |weight|, dead / units; NaN: unknown. */
double loom_health_gradient_ratio (const LoomHealthNode *node);
double loom_health_update_ratio (const LoomHealthNode *node);
double loom_health_dead_share (const LoomHealthNode *node);

/* Sets the verdict of each LoomHealthNode. */
void loom_health_apply_rules (GPtrArray *nodes);
/* Adds the members of a line of loom_health_to_text(). */
void loom_health_node_add_json (const LoomHealthNode *node, LoomJson *line);
/* A line of JSON for each node: {"node":s,"verdict":s,"weight":x,"gradient":x,"update":x,"units":n,"dead":n,
 * "saturated":x,"wires":{PORT:x,…}}; numbers that are unknown are left out, those that are not finite are null.
 * (transfer full) */
char *loom_health_to_text (const GPtrArray *nodes);
/* The nodes of such a text, with verdicts; NULL if it is another text. (transfer full) */
GPtrArray *loom_health_from_text (const char *text, gsize length);
