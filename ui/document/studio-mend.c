/* Quick fixes for faults. Each is tried on the faulty node alone, with the types of its inputs (see studio-fit.h), so
 * that a fault costs the same in a graph of ten nodes and of ten thousand. */
#include "ui/document/studio-mend.h"

#include <glib/gi18n.h>
#include <stdlib.h>
#include <string.h>

#include "ui/document/document-edit.h"

#include "ui/document/mend-private.h"
#include "ui/document/studio-document-add.h"
#include "ui/scene/studio-routes.h"

void
studio_mend_free (StudioMend *mend)
{
  g_free (mend->label);
  g_free (mend->preview);
  g_free (mend->port);
  g_free (mend->value);
  g_free (mend->op);
  g_free (mend->output);
  g_free (mend);
}

StudioMend *
mend_add (const MendPatient *patient, StudioMendKind kind, const char *port)
{
  StudioMend *mend = g_new0 (StudioMend, 1);

  mend->kind = kind;
  mend->node = patient->serial;
  mend->port = g_strdup (port);
  g_ptr_array_add (patient->mends, mend);
  return mend;
}

static const LoomType *
source_type (const LoomNet *net, const LoomNetSource *source)
{
  const LoomNetNode *from = source->node != G_MAXUINT ? loom_net_node (net, source->node) : NULL;

  return from != NULL && from->typed && source->output < from->n_outputs ? &from->output[source->output] : NULL;
}

static const char *
input_name (const LoomNetNode *node, guint i, char number[12])
{
  if ((node->input_spec[0].flags & LOOM_PORT_VARIADIC) == 0)
    return node->input_spec[i].name;
  g_snprintf (number, 12, "%u", i);
  return number;
}

/* ---- a node on the wire ------------------------------------------------------- */

static LoomElement *
node_of (const LoomOp *op, const char *attributes)
{
  LoomElement *node = loom_element_new (LOOM_TAG_NODE, "id", "n", "op", op->name, NULL);
  g_auto (GStrv) parts = g_strsplit (attributes, " ", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      char *equals = strchr (parts[i], '=');

      if (equals == NULL)
        continue;
      *equals = '\0';
      loom_element_set_detached (node, parts[i], equals + 1);
    }
  return node;
}

/* TRUE if the faulty node accepts the output of this one. */
static gboolean
try_adapter (const MendPatient *patient, const LoomOp *op, const char *attributes, guint at, char **preview)
{
  g_autoptr (LoomElement) node = node_of (op, attributes);
  const LoomType *type[MEND_MOST_INPUTS];
  StudioFitAnswer made, taken = { .fit = STUDIO_FIT_NOT };

  memcpy (type, patient->type, sizeof type);
  studio_fit_infer (node, &type[at], 1, &made);
  if (made.fit == STUDIO_FIT_WELL && made.n_outputs > 0)
    {
      type[at] = &made.output[0];
      studio_fit_infer (patient->node->element, type, patient->n, &taken);
    }
  if (taken.fit == STUDIO_FIT_WELL)
    {
      g_autofree char *before = loom_shape_to_string (&patient->type[at]->shape);
      g_autofree char *after = loom_shape_to_string (&made.output[0].shape);
      const char *from = loom_dtype_name (patient->type[at]->dtype), *to = loom_dtype_name (made.output[0].dtype);

      *preview = strcmp (from, to) != 0 ? g_strdup_printf ("%s %s → %s → %s %s", from, before, op->name, to, after)
                                        : g_strdup_printf ("%s → %s → %s", before, op->name, after);
    }
  studio_fit_answer_clear (&made);
  studio_fit_answer_clear (&taken);
  return taken.fit == STUDIO_FIT_WELL;
}

static gboolean
learns (const LoomOp *op)
{
  return loom_op_count_weights (op) > 0;
}

static void
try_op (const MendPatient *patient, const LoomOp *op, guint at)
{
  const LoomType *beside[MEND_MOST_INPUTS];
  g_auto (GStrv) attributes = NULL;
  char number[12];
  guint n = 0;

  for (guint i = 0; i < patient->n; i++)
    if (i != at && patient->type[i] != NULL)
      beside[n++] = patient->type[i];
  attributes = op->adapt (patient->type[at], beside, n);
  for (guint i = 0; attributes[i] != NULL && patient->mends->len < MEND_MOST; i++)
    {
      g_autofree char *preview = NULL;
      StudioMend *mend;

      if (!try_adapter (patient, op, attributes[i], at, &preview))
        continue;
      mend = mend_add (patient, STUDIO_MEND_INSERT, input_name (patient->node, at, number));
      mend->op = g_strdup (op->name);
      mend->value = g_strdup (attributes[i]);
      mend->label = g_strdup_printf (_ ("Insert %s"), op->name);
      mend->preview = g_steal_pointer (&preview);
      /* One fix of each kind: buttons that differ only in a number are not useful. */
      return;
    }
}

/* Operators that only move numbers come before those with new weights. */
static void
try_adapters (const MendPatient *patient)
{
  for (guint round = 0; round < 2; round++)
    for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
      {
        guint before = patient->mends->len;

        if ((*op)->adapt == NULL || learns (*op) != (round == 1))
          continue;
        for (guint i = 0; i < patient->n && patient->mends->len == before && before < MEND_MOST; i++)
          if (patient->type[i] != NULL)
            try_op (patient, *op, i);
      }
}

/* ---- another value ---------------------------------------------------------------- */

/* The node with its expressions evaluated, because alone it does not have its module's arguments. */
static LoomElement *
copy_plain (const MendPatient *patient)
{
  LoomElement *copy = loom_element_copy (patient->node->element);
  int at = loom_net_find (patient->net, patient->node->path);

  for (guint i = 0; at >= 0 && i < loom_element_n_attributes (patient->node->element); i++)
    {
      const char *name, *text, *value;

      loom_element_attribute (patient->node->element, i, &name, &text);
      value = loom_expr_is (text) ? loom_infer_attribute (loom_net_infer (patient->net, (guint)at), name) : NULL;
      if (value != NULL)
        loom_element_set_detached (copy, name, value);
    }
  return copy;
}

static gboolean
try_value (const MendPatient *patient, const LoomParamSpec *param, int value)
{
  g_autoptr (LoomElement) node = copy_plain (patient);
  g_autofree char *text = g_strdup_printf ("%d", value), *shape = NULL;
  const char *now = loom_element_get (patient->node->element, param->name);
  StudioFitAnswer answer;
  StudioMend *mend;

  loom_element_set_detached (node, param->name, text);
  studio_fit_infer (node, patient->type, patient->n, &answer);
  studio_fit_answer_clear (&answer);
  if (answer.fit != STUDIO_FIT_WELL || answer.n_outputs == 0)
    return FALSE;
  shape = loom_shape_to_string (&answer.output[0].shape);
  mend = mend_add (patient, STUDIO_MEND_SET, param->name);
  mend->node = patient->node->serial;
  mend->value = g_strdup (text);
  mend->label = g_strdup_printf (_ ("Set %s to %s"), param->name, text);
  mend->preview = g_strdup_printf (_ ("%s %s → %s results in %s"), param->name,
                                   now != NULL          ? now
                                   : param->def != NULL ? param->def
                                                        : "",
                                   text, shape);
  return TRUE;
}

/* If a window is too large, it can be made smaller, or the padding larger. */
static void
try_values (const MendPatient *patient)
{
  const LoomParamSpec *params = loom_op_params (patient->node->op, patient->node->element);

  for (const LoomParamSpec *p = params; p != NULL && p->name != NULL && patient->mends->len < MEND_MOST; p++)
    {
      const char *text = loom_element_get (patient->node->element, p->name);
      int now = text != NULL ? atoi (text) : 0;

      if (loom_expr_is (text != NULL ? text : ""))
        continue;
      gboolean whole = p->type == LOOM_PARAM_INT || p->type == LOOM_PARAM_INTS;

      if (whole && g_strcmp0 (p->name, patient->fault->port) == 0)
        for (int value = MIN (now, 1024) - 1; value >= MAX (1, (int)p->minimum) && !try_value (patient, p, value);
             value--)
          ;
      /* Padding is a number, or a word for one. */
      else if (g_strcmp0 (p->def, "0") == 0 && p->choices == NULL
               && (whole ? p->minimum == 0 && p->maximum > 0 : p->type == LOOM_PARAM_STRING))
        for (int value = now + 1; value <= now + 8 && !try_value (patient, p, value); value++)
          ;
    }
}

/* ---- a wire ------------------------------------------------------------------------- */

/* TRUE if two nodes are in the same scope, so that a wire can connect them. */
static gboolean
same_scope (const LoomNetNode *a, const LoomNetNode *b)
{
  const char *p = strrchr (a->path, '.'), *q = strrchr (b->path, '.');
  gsize n = p != NULL ? (gsize)(p - a->path) : 0, m = q != NULL ? (gsize)(q - b->path) : 0;

  return n == m && strncmp (a->path, b->path, n) == 0
         && loom_element_parent (a->element) == loom_element_parent (b->element);
}

gboolean
mend_depends (const MendPatient *patient, guint on)
{
  LoomNetSource source = { .node = on };
  g_autofree gboolean *needed = loom_net_needed_for (patient->net, &source);
  int self = loom_net_find (patient->net, patient->node->path);

  return self < 0 || needed[self];
}

/* The operator's input of this name, or the variadic one of this number. */
static guint
find_input (const LoomNetNode *node, const char *port)
{
  guint n = loom_op_count_ports (node->input_spec);

  if (n > 0 && (node->input_spec[0].flags & LOOM_PORT_VARIADIC))
    return (guint)atoi (port);
  for (guint i = 0; i < n; i++)
    if (strcmp (node->input_spec[i].name, port) == 0)
      return i;
  return MEND_MOST_INPUTS;
}

static void
try_source (const MendPatient *patient, guint at, guint k, guint output)
{
  const LoomNetNode *from = loom_net_node (patient->net, k);
  const LoomType *type[MEND_MOST_INPUTS];
  g_autofree char *name = loom_net_port_name (patient->net, k, output), *shape = NULL;
  StudioFitAnswer answer;
  StudioMend *mend;

  memcpy (type, patient->type, sizeof type);
  type[at] = &from->output[output];
  studio_fit_infer (patient->node->element, type, MAX (patient->n, at + 1), &answer);
  studio_fit_answer_clear (&answer);
  if (answer.fit < STUDIO_FIT_UNKNOWN || (answer.fit == STUDIO_FIT_HINT) || mend_depends (patient, k))
    return;
  shape = loom_shape_to_string (&from->output[output].shape);
  mend = mend_add (patient, STUDIO_MEND_CONNECT, patient->fault->port);
  mend->from = from->serial;
  mend->output = g_strdup (from->output_spec[output].name);
  mend->label = g_strdup_printf (_ ("Connect to %s"), name);
  mend->preview = g_strdup_printf ("%s %s → %s", name, shape, patient->fault->port);
}

/* Outputs without a reader, the last in topological order first; for a target those of the data set. */
static void
try_sources (const MendPatient *patient)
{
  guint n = loom_net_n_nodes (patient->net), at = find_input (patient->node, patient->fault->port);
  g_autoptr (GHashTable) read = g_hash_table_new (NULL, NULL);
  gboolean target;

  if (at >= MEND_MOST_INPUTS || patient->node->input_spec == NULL)
    return;
  target = (patient->node->input_spec[0].flags & LOOM_PORT_VARIADIC) == 0
           && (patient->node->input_spec[at].flags & LOOM_PORT_TARGET);
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < loom_net_node (patient->net, i)->n_inputs; k++)
      {
        const LoomNetSource *source = &loom_net_node (patient->net, i)->input[k];

        if (source->node != G_MAXUINT && source->output < 8)
          g_hash_table_add (read, GUINT_TO_POINTER (8 * source->node + source->output + 1));
      }
  for (guint round = 0; round < 2; round++)
    for (guint i = n; i-- > 0 && patient->mends->len < MEND_MOST;)
      {
        const LoomNetNode *from = loom_net_node (patient->net, i);
        gboolean is_data = from->op != NULL && from->op->role == LOOM_ROLE_DATASET;

        if (from == patient->node || !from->typed || is_data != (target ? round == 0 : round == 1)
            || !same_scope (from, patient->node))
          continue;
        for (guint o = 0; o < MIN (from->n_outputs, 8) && patient->mends->len < MEND_MOST; o++)
          if (!g_hash_table_contains (read, GUINT_TO_POINTER (8 * i + o + 1)))
            try_source (patient, at, i, o);
      }
  if (!target)
    mend_try_modules (patient, at, read);
}

/* ---- all ------------------------------------------------------------------------------ */

static void
try_value_asked (const MendPatient *patient)
{
  const LoomParamSpec *params = loom_op_params (patient->node->op, patient->node->element);

  for (const LoomParamSpec *p = params; p != NULL && p->name != NULL; p++)
    if (g_strcmp0 (p->name, patient->fault->port) == 0)
      {
        StudioMend *mend = mend_add (patient, STUDIO_MEND_ASK, p->name);
        g_autofree char *words = g_strdelimit (g_strdup (p->name), "_", ' ');

        mend->label = patient->node->op->role == LOOM_ROLE_DATASET && p == params
                          ? g_strdup (_ ("Choose data"))
                          : g_strdup_printf (_ ("Choose %s"), words);
        mend->preview = g_strdup (p->doc);
      }
}

static gboolean
meet (MendPatient *patient)
{
  int at = studio_document_has_net (patient->document) && patient->fault->node != NULL
               ? loom_net_find (patient->net, patient->fault->node)
               : -1;

  patient->node = at >= 0 ? loom_net_node (patient->net, (guint)at) : NULL;
  if (patient->node == NULL || patient->node->op == NULL)
    return FALSE;
  patient->n = MIN (patient->node->n_inputs, MEND_MOST_INPUTS);
  for (guint i = 0; i < patient->n; i++)
    patient->type[i] = source_type (patient->net, &patient->node->input[i]);
  return TRUE;
}

/* For a fault within a module: a value that can be set outside, else showing the module. */
static void
try_within (const MendPatient *patient)
{
  LoomElement *card = studio_document_node (patient->document, patient->serial);
  const char *id = card != NULL ? loom_element_get (card, "id") : NULL;
  StudioMend *mend;

  if (patient->fault->code == LOOM_ERROR_SHAPE)
    try_values (patient);
  if (id == NULL || patient->mends->len > 0)
    return;
  mend = mend_add (patient, STUDIO_MEND_OPEN, NULL);
  mend->value = g_strdup (patient->fault->node);
  mend->label = g_strdup_printf (_ ("Open %s"), id);
  mend->preview = g_strdup_printf (_ ("Shows %s, which is inside."), patient->fault->node);
}

GPtrArray *
studio_document_mends (StudioDocument *self, const LoomFault *fault, guint64 serial)
{
  g_autofree char *own = studio_document_own_fix (fault, serial, self);
  MendPatient patient = { .document = self, .net = studio_document_peek_net (self), .fault = fault, .serial = serial };

  patient.mends = g_ptr_array_new_with_free_func ((GDestroyNotify)studio_mend_free);
  if (own != NULL)
    {
      StudioMend *mend = mend_add (&patient, STUDIO_MEND_FIX, fault->port);

      mend->label = g_steal_pointer (&own);
      mend->preview = g_strdup (fault->fix);
    }
  if (!meet (&patient))
    return patient.mends;
  if (patient.node->serial != serial)
    {
      try_within (&patient);
      return patient.mends;
    }
  if (fault->code == LOOM_ERROR_SHAPE || fault->code == LOOM_ERROR_DTYPE)
    {
      mend_try_swap (&patient);
      try_values (&patient);
      try_adapters (&patient);
    }
  else if (fault->code == LOOM_ERROR_CYCLE
           || (fault->code == LOOM_ERROR_PORT && !fault->is_todo && patient.mends->len == 0))
    mend_try_cuts (&patient);
  else if (fault->is_todo && fault->code == LOOM_ERROR_PORT && fault->port != NULL)
    try_sources (&patient);
  else if (fault->is_todo && fault->port != NULL)
    try_value_asked (&patient);
  return patient.mends;
}

/* ---- applying ---------------------------------------------------------------------------- */

gboolean
studio_document_mend_place (StudioDocument *self, const StudioMend *mend, StudioAddPlace *place)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint item = studio_scene_find (scene, mend->node);
  guint port = item != STUDIO_NO_ITEM ? studio_item_find_port (&scene->item[item], FALSE, mend->port) : STUDIO_NO_ITEM;
  guint link;

  if (mend->kind != STUDIO_MEND_INSERT || port == STUDIO_NO_ITEM || scene->item[item].input[port].n_links == 0)
    return FALSE;
  link = scene->item[item].input[port].link;
  *place = (StudioAddPlace){ .kind = STUDIO_ADD_ON_WIRE, .serial = scene->link[link].serial };
  studio_route_at (&studio_scene_routes (scene)[link], 0.5, &place->x, &place->y);
  return TRUE;
}

gboolean
studio_document_apply_mend (StudioDocument *self, const StudioMend *mend)
{
  StudioAddPlace place;
  gboolean done;

  switch (mend->kind)
    {
    case STUDIO_MEND_INSERT:
      done = studio_document_mend_place (self, mend, &place)
             && studio_document_add_with (self, mend->op, mend->value, &place) != 0;
      studio_document_select_only (self, mend->node);
      return done;
    case STUDIO_MEND_SET:
      studio_document_set_attribute (self, mend->node, mend->port, mend->value);
      return TRUE;
    case STUDIO_MEND_CONNECT:
      return studio_document_connect (self, mend->from, mend->output, mend->node, mend->port, NULL) != 0;
    case STUDIO_MEND_CUT:
      return mend_cut (self, mend);
    case STUDIO_MEND_SWAP:
      return mend_swap (self, mend);
    case STUDIO_MEND_OPEN:
      return studio_document_reveal (self, mend->value);
    case STUDIO_MEND_FIX:
    case STUDIO_MEND_ASK:
      break;
    }
  return FALSE;
}
