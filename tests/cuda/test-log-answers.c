/* Tests log-answers: preloaded, it logs the statuses of the real libraries for a module that is opened like the back
 * end: each question once, in the words that README.md describes. Without a GPU every call is refused. */
#include <glib/gstdio.h>
#include <gmodule.h>

static void
log_test (void)
{
  g_autofree char *folder = g_dir_make_tmp (NULL, NULL), *path = g_build_filename (folder, "answers.txt", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  GModule *module = g_module_open (ASK_MODULE, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  g_autoptr (GError) error = NULL;
  gpointer ask = NULL;

  g_assert_nonnull (module);
  g_assert_true (g_module_symbol (module, "ask_libraries", &ask));
  g_setenv ("LOOM_CUDA_ANSWERS", path, TRUE);
  for (int i = 0; i < 2; i++)
    ((void (*) (void))ask) ();
  g_assert_true (g_file_get_contents (path, &text, NULL, &error));
  lines = g_strsplit (text, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 5); /* the last is empty */
  g_assert_true (g_str_has_prefix (lines[0],
                                   "cublaslt matmul compute=68 scale=0 trans=NN epilogue=1 a=0:16x8/16 b=0:8x4/8 "
                                   "c=0:16x4/16 d=0:16x4/16 align=256,256,256,256 workspace=0 -> "));
  g_assert_true (g_str_has_prefix (lines[1], "cudnn forward algorithm=1 x=0:1x3x8x8/192,64,8,1 w=0:4x3x3x3/format0 "
                                             "y=0:1x4x8x8/256,64,8,1 pad=1,1 stride=1,1 dilation=1,1 groups=1 mode=1 "
                                             "compute=0 math=0 -> "));
  g_assert_true (g_str_has_prefix (lines[2], "cudnn input_gradient algorithm=1 "));
  g_assert_true (g_str_has_prefix (lines[3], "cudnn weight_gradient algorithm=1 "));
  for (int i = 0; i < 4; i++)
    g_assert_cmpint (g_ascii_strtoll (strstr (lines[i], " -> ") + 4, NULL, 10), !=, 0);
  g_remove (path);
  g_rmdir (folder);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda/log-answers", log_test);
  return g_test_run ();
}
