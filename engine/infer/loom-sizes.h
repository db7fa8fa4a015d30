/* Sizes that depend on the data: the number of elements that nonzero, unique or masked_select return.
 *
 * Each such node has a symbol of its own. A program that counts the first of them is planned and run, and its symbol
 * bound, and so on to the last; the rest is then planned for numbers, like every other program. Counting programs are
 * cached by the sizes bound before, so a repeated size costs a run and no planning. */
#pragma once

#include "engine/net/loom-net.h"
#include "engine/run/loom-exec.h"

typedef struct _LoomSizes LoomSizes;

/* Sets every input of the program, by name. */
typedef gboolean (*LoomSizesFeed) (LoomProgram *program, LoomExec *exec, gpointer data, GError **error);

/* Copies the lists of requested and given ports; node numbers are those of any net of the graph. */
LoomSizes *loom_sizes_new (const LoomGraph *graph, const LoomLowerOptions *options, const LoomPlanOptions *plan,
                           LoomDevices *devices, LoomState *state);
void loom_sizes_free (LoomSizes *sizes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomSizes, loom_sizes_free)

/* Binds the needed symbols. binding already has B and the other symbols of the inputs. Reads the state and does not
 * change it. */
gboolean loom_sizes_resolve (LoomSizes *sizes, LoomBinding *binding, LoomSizesFeed feed, gpointer data, GError **error);
