/* The cost table: estimated times of kernels, and the kernels that runs have chosen.
 *
 * A plan chooses algorithms and layouts by this table and never by a clock, so that two runs over the same table choose
 * alike. The table is a readable file (data/costs.ini says how it is written): rates by back end, primitive, algorithm
 * and layout, which ship with the program; times that `gradloom bench --tune` measured on one device; and the choices
 * of plans that a run made, which its checkpoints keep. */
#pragma once

#include <glib.h>

#include "engine/core/loom-error.h"
#include "kernels/backend.h"

G_BEGIN_DECLS

typedef struct _LoomCostTable LoomCostTable;

/* The table that ships with the program. */
LoomCostTable *loom_cost_table_new (void);
/* The shipped one and, where the user has tuned, the measurements of loom_cost_table_user_file(). What is wrong with
 * that file is a note, and the shipped table is used alone. */
LoomCostTable *loom_cost_table_new_default (void);
/* The whole of a table from text that loom_cost_table_to_text() made, as a run keeps it. name: what to call it in an
 * error. */
LoomCostTable *loom_cost_table_new_from_text (const char *text, const char *name, GError **error);
LoomCostTable *loom_cost_table_ref (LoomCostTable *table);
void loom_cost_table_unref (LoomCostTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomCostTable, loom_cost_table_unref)

/* $XDG_CONFIG_HOME/gradloom/costs.ini; (transfer full) */
char *loom_cost_table_user_file (void);
/* All of it, choices included; FALSE in the latter: only what was measured, as the user's file has it. (transfer full)
 */
char *loom_cost_table_to_text (LoomCostTable *table, gboolean whole);
/* Adds what `from` has measured: a call that both have is taken from there. */
void loom_cost_table_add_measured (LoomCostTable *table, LoomCostTable *from);
/* Adds that to the user's file, which several programs may do at a time. Returns the table that new runs have from now
 * on; NULL with an IO error where nothing could be written. */
LoomCostTable *loom_cost_table_save_measured (LoomCostTable *from, GError **error);
/* 16 hexadecimal digits over rates and measurements, not over choices; an interned string. */
const char *loom_cost_table_hash (LoomCostTable *table);
/* Where it is from: "shipped", "shipped and /home/ada/.config/gradloom/costs.ini". */
const char *loom_cost_table_origin (LoomCostTable *table);
/* Notes for the user since the last call, as sentences; NULL: none. (transfer full) */
char *loom_cost_table_take_note (LoomCostTable *table);

/* A device, as measurements are kept for it: model, threads and library versions. (transfer full) */
char *loom_cost_device_key (const char *backend, const LoomDeviceInfo *info);
/* Notes once where the user's measurements are there for another device of this back end, but none for this one. A
 * table that a run has kept gets no such note: the measurements of a resumed run stay as they are. */
void loom_cost_table_check_device (LoomCostTable *table, const char *backend, const char *device);

/* A call and an option of it, as the table names them: "conv2d f32 64x1x28x28, … ", "onednn nhwc". operands: the names
 * of attributes, may be NULL. (transfer full) */
char *loom_cost_call_key (const LoomKernelSpec *spec, const char *attributes);
char *loom_cost_option_key (const LoomKernelSpec *spec, const LoomKernelOption *option);
/* "plain" and "nhwc"; where operands and results differ, those of the operands come first. */
const char *loom_cost_layout_name (const LoomKernelSpec *spec, guint64 nhwc);

/* The estimate from rates alone, as LoomCosts.seconds of a back end. */
double loom_cost_table_estimate (LoomCostTable *table, const char *backend, const LoomKernelSpec *spec,
                                 const LoomKernelOption *option, double flops, double bytes);
gboolean loom_cost_table_has_measured (LoomCostTable *table, const char *device);
/* Seconds measured on that very device, or a negative number. */
double loom_cost_table_measured (LoomCostTable *table, const char *device, const char *call, const char *option);
void loom_cost_table_set_measured (LoomCostTable *table, const char *device, const char *call, const char *option,
                                   double seconds);

/* The option that a plan chose for its instruction number `instr`; NULL: none yet. */
char *loom_cost_table_choice (LoomCostTable *table, const char *plan, guint instr);
void loom_cost_table_choose (LoomCostTable *table, const char *plan, guint instr, const char *option);
/* Plans are made anew by what the table says now. */
void loom_cost_table_forget_choices (LoomCostTable *table);
/* Adds a sentence, once for all, to what loom_cost_table_take_note() gives. */
void loom_cost_table_note (LoomCostTable *table, const char *sentence);

G_END_DECLS
