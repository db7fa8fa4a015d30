/* Sizes that only the data decide: how many elements nonzero, unique or masked_select find.
 *
 * Each such node has a symbol of its own. A program that counts the first of them is planned and run, its symbol bound,
 * and so on to the last; what needs them is then planned for numbers, like everything else. Counting programs are kept
 * by what was bound before them, so a size that was met before costs a run and no planning. */
#pragma once

#include "engine/net/loom-net.h"
#include "engine/run/loom-exec.h"

G_BEGIN_DECLS

typedef struct _LoomSizes LoomSizes;

/* Feeds every input of the program, by name. */
typedef gboolean (*LoomSizesFeed) (LoomProgram *program, LoomExec *exec, gpointer data, GError **error);

/* The lists of wanted and given ports are copied; node numbers are those of any net of the graph. */
LoomSizes *loom_sizes_new (const LoomGraph *graph, const LoomLowerOptions *options, const LoomPlanOptions *plan,
                           LoomDevices *devices, LoomState *state);
void loom_sizes_free (LoomSizes *sizes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomSizes, loom_sizes_free)

/* Binds the dynamic ones among those that are needed. The binding holds what is known before: B and the other symbols
 * of the inputs. State is read and not changed. */
gboolean loom_sizes_resolve (LoomSizes *sizes, LoomBinding *binding, LoomSizesFeed feed, gpointer data, GError **error);

G_END_DECLS
