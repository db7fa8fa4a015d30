/* A step allocates nothing, which is counted. This program replaces malloc and related functions of the C library, and
 * counts calls on every thread during a hundred steps between two queries of an observer. A call is attributed to
 * oneDNN or to the OpenMP runtime if one of them is on the stack, because the program cannot influence what a library
 * does inside one execute(); all others are ours. Ours must be 0, and the libraries' are bounded so that a primitive
 * made again in each step would show. */
#include "engine/core/loom-os.h"
#include "engine/loom-lab.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <math.h>
#include <string.h>

extern void *__libc_malloc (size_t n);
extern void *__libc_calloc (size_t n, size_t size);
extern void *__libc_realloc (void *p, size_t n);
extern void *__libc_memalign (size_t alignment, size_t n);
extern void __libc_free (void *p);

/* Of one step. oneDNN 2.6 makes 16 for the convolutional net below (it binds memory objects inside execute()), 80 for
 * the loops, which call it at each of their eight steps, and none for the others; the margin is for its other versions.
 * Making one primitive takes hundreds. */
#define MAX_IN_LIBRARIES 120

static gint counting, ours, theirs; /* atomic */
static _Thread_local gboolean inside;
static void *first_frames[24];
static int n_first_frames;

static void
count (void)
{
  void *frame[24];
  gboolean library = FALSE;

  if (!g_atomic_int_get (&counting) || inside)
    return;
  inside = TRUE;
  int n = backtrace (frame, G_N_ELEMENTS (frame));
  for (int i = 0; i < n && !library; i++)
    {
      Dl_info info;
      library = dladdr (frame[i], &info) && info.dli_fname != NULL
                && (strstr (info.dli_fname, "libdnnl") != NULL || strstr (info.dli_fname, "libgomp") != NULL);
    }
  if (library)
    g_atomic_int_inc (&theirs);
  else if (g_atomic_int_add (&ours, 1) == 0)
    {
      memcpy (first_frames, frame, sizeof frame);
      n_first_frames = n;
    }
  inside = FALSE;
}

void *
malloc (size_t n)
{
  count ();
  return __libc_malloc (n);
}

void *
calloc (size_t n, size_t size)
{
  count ();
  return __libc_calloc (n, size);
}

void *
realloc (void *p, size_t n)
{
  count ();
  return __libc_realloc (p, n);
}

void *memalign (size_t alignment, size_t n);

void *
memalign (size_t alignment, size_t n)
{
  count ();
  return __libc_memalign (alignment, n);
}

void *
aligned_alloc (size_t alignment, size_t n)
{
  return memalign (alignment, n);
}

int
posix_memalign (void **p, size_t alignment, size_t n)
{
  *p = memalign (alignment, n);
  return *p != NULL ? 0 : 12; /* ENOMEM */
}

void
free (void *p)
{
  if (p != NULL)
    count ();
  __libc_free (p);
}

/* ---- the runs --------------------------------------------------------- */

#define WARM_UP 20
#define STEPS   100

/* A schedule, clipping, a metric and dropout, since each adds work to a step. 4096 samples in batches of 32: 128 steps
 * before the first evaluation. */
#define HEAD                                                                                                           \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"4096\"/>"
#define TAIL                                                                                                           \
  "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"                                \
  "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.001\" batch_size=\"32\" epochs=\"1\" seed=\"3\">"                    \
  "<schedule type=\"cosine\" warmup_steps=\"50\"/><clip max_norm=\"1\"/>"                                              \
  "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>"

static const char *const MLP
    = HEAD "<node id=\"hidden\" op=\"linear\" out_features=\"32\"/>"
           "<node id=\"act\" op=\"relu\"/><node id=\"drop\" op=\"dropout\" p=\"0.1\"/>"
           "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
           "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/>"
           "<wire from=\"act\" to=\"drop\"/><wire from=\"drop\" to=\"scores\"/>" TAIL;

static const char *const CONV
    = HEAD "<node id=\"wide\" op=\"linear\" out_features=\"144\"/>"
           "<node id=\"picture\" op=\"reshape\" shape=\"B,1,12,12\"/><node id=\"conv\" op=\"conv2d\" "
           "out_channels=\"8\" kernel_size=\"3\" padding=\"1\"/>"
           "<node id=\"norm\" op=\"batch_norm2d\"/><node id=\"act\" op=\"relu\"/>"
           "<node id=\"pool\" op=\"max_pool2d\" kernel_size=\"2\"/><node id=\"flat\" op=\"flatten\"/>"
           "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
           "<wire from=\"data.x\" to=\"wide\"/><wire from=\"wide\" to=\"picture\"/><wire from=\"picture\" "
           "to=\"conv\"/><wire from=\"conv\" to=\"norm\"/><wire from=\"norm\" to=\"act\"/>"
           "<wire from=\"act\" to=\"pool\"/><wire from=\"pool\" to=\"flat\"/><wire from=\"flat\" to=\"scores\"/>" TAIL;

/* Two batches a step, averages of weights, and metrics that are vectors. */
static const char *const PARTS
    = HEAD "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"drop\" op=\"dropout\" p=\"0.1\"/>"
           "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"drop\"/>"
           "<wire from=\"drop\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"
           "<wire from=\"data.y\" to=\"loss.target\"/>"
           "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.001\" batch_size=\"16\" accumulate=\"2\" epochs=\"1\" "
           "ema=\"0.99\" patience=\"3\"><clip max_norm=\"1\"/>"
           "<metric type=\"confusion_matrix\" input=\"scores\" target=\"data.y\"/>"
           "<metric type=\"f1\" input=\"scores\" target=\"data.y\"/>"
           "<metric type=\"perplexity\" input=\"scores\" target=\"data.y\"/></train></graph>";

/* Loops: a layer, and a cell that draws random numbers at each step. */
static const char *const LOOPS
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><module name=\"cell\"><node id=\"x\" op=\"module_input\"/>"
      "<node id=\"h\" op=\"module_input\" shape=\"B,12\"/><node id=\"w\" op=\"linear\" out_features=\"12\"/>"
      "<node id=\"u\" op=\"linear\" out_features=\"12\"/><node id=\"sum\" op=\"add\"/><node id=\"act\" op=\"tanh\"/>"
      "<node id=\"drop\" op=\"dropout\" p=\"0.1\"/><node id=\"y\" op=\"module_output\"/>"
      "<node id=\"h1\" op=\"module_output\" carry=\"h\"/><wire from=\"x\" to=\"w\"/><wire from=\"h\" to=\"u\"/>"
      "<wire from=\"w\" to=\"sum.input\"/><wire from=\"u\" to=\"sum.other\"/><wire from=\"sum\" to=\"act\"/>"
      "<wire from=\"act\" to=\"drop\"/><wire from=\"drop\" to=\"y\"/><wire from=\"act\" to=\"h1\"/></module>"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"4096\"/>"
      "<node id=\"wide\" op=\"linear\" out_features=\"64\"/><node id=\"rows\" op=\"reshape\" shape=\"B,8,8\"/>"
      "<node id=\"lstm\" op=\"lstm\" hidden_size=\"12\" batch_first=\"true\"/>"
      "<node id=\"loop\" op=\"scan\" body=\"cell\" axis=\"1\"/><node id=\"flat\" op=\"flatten\"/>"
      "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"wide\"/><wire from=\"wide\" to=\"rows\"/><wire from=\"rows\" to=\"lstm.input\"/>"
      "<wire from=\"lstm.output\" to=\"loop.x\"/><wire from=\"loop.y\" to=\"flat\"/>"
      "<wire from=\"flat\" to=\"scores\"/>" TAIL;

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  gint64 *seen = data;

  (*seen)++;
  if (s->step == WARM_UP || s->step == WARM_UP + STEPS)
    g_atomic_int_set (&counting, s->step == WARM_UP);
}

/* What is written now and then, such as the time of a session, is not part of a step: the clock stands still. */
static gint64 time_of_all;

static gint64
stand_still (void)
{
  return time_of_all;
}

static void
test_cost (gconstpointer data)
{
  LoomOs os = *loom_os;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (data, strlen (data), "test", faults, &error);
  g_autofree char *folder = g_dir_make_tmp ("gradloom-cost-XXXXXX", NULL);
  g_autofree char *out = g_build_filename (folder, "run", NULL);
  g_assert_no_error (error);
  /* Checkpoints to go back by are written when there is time for them. */
  LoomTrainerOptions o = { .lr = NAN, .seed = -1, .threads = 1, .out = out, .history = -1 };
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &o, &error);
  LoomTrainerObserver observer = { .step = step_cb };
  gint64 seen = 0;

  g_assert_no_error (error);
  loom_trainer_set_observer (trainer, &observer, &seen);
  ours = theirs = n_first_frames = 0;
  void *frame[4];
  backtrace (frame, 4); /* its first call loads a library */
  time_of_all = os.nanoseconds ();
  os.nanoseconds = stand_still;
  loom_os = &os;
  LoomTrainerEnd end = loom_trainer_run (trainer, &error);
  loom_os = &loom_os_real;
  g_assert_no_error (error);
  g_assert_cmpint (end, ==, LOOM_TRAINER_DONE);
  g_assert_cmpint (seen, ==, 128);

  g_test_message ("%d steps: %d allocations and releases of ours, %d inside libraries", STEPS, ours, theirs);
  if (ours > 0)
    {
      char **name = backtrace_symbols (first_frames, n_first_frames);
      for (int i = 0; i < n_first_frames; i++)
        g_test_message ("%s", name[i]);
      __libc_free (name);
    }
  g_assert_cmpint (ours, ==, 0);
  g_assert_cmpint (theirs, <=, MAX_IN_LIBRARIES * STEPS);

  const char *argv[] = { "rm", "-r", folder, NULL };
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* The counter itself: without this a counter that never counts would pass. */
static void
test_counter (void)
{
  ours = 0;
  void *frame[4];
  backtrace (frame, 4);
  g_atomic_int_set (&counting, TRUE);
  char *volatile p = g_strdup ("x");
  g_free (p);
  g_atomic_int_set (&counting, FALSE);
  g_assert_cmpint (ours, ==, 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/step-cost/counter", test_counter);
  g_test_add_data_func ("/step-cost/mlp", MLP, test_cost);
  g_test_add_data_func ("/step-cost/conv", CONV, test_cost);
  g_test_add_data_func ("/step-cost/parts", PARTS, test_cost);
  g_test_add_data_func ("/step-cost/loops", LOOPS, test_cost);
  return g_test_run ();
}
