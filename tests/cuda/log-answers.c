/* Logs the statuses of a GPU's libraries: LD_PRELOAD=log-answers.so LOOM_CUDA_ANSWERS=FILE PROGRAM….
 *
 * Each call below is passed to the library; its question and the status become one line of FILE (README.md has the
 * format), each question once. The emulated GPU then refuses what the GPU refused. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/question.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The library's own function, which this file's hides. */
static void *
real (const char *name)
{
  void *function = dlsym (RTLD_NEXT, name);

  if (function == NULL)
    {
      fprintf (stderr, "log-answers: no library of this program has %s\n", name);
      exit (1);
    }
  return function;
}

static void
keep (const char *question, int status, const char *name)
{
  static char **known;
  static size_t n_known;
  const char *path = getenv ("LOOM_CUDA_ANSWERS");
  char **more;
  FILE *file;

  if (path == NULL)
    return;
  pthread_mutex_lock (&lock);
  for (size_t i = 0; i < n_known; i++)
    if (strcmp (known[i], question) == 0)
      {
        pthread_mutex_unlock (&lock);
        return;
      }
  more = realloc (known, (n_known + 1) * sizeof *known);
  if (more != NULL)
    {
      known = more;
      known[n_known++] = strdup (question);
    }
  file = fopen (path, "a");
  if (file != NULL)
    {
      fprintf (file, "%s -> %d %s\n", question, status, name);
      fclose (file);
    }
  pthread_mutex_unlock (&lock);
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                cublasLtMatmulPreference_t preference, int asked,
                                cublasLtMatmulHeuristicResult_t results[], int *n)
{
  __typeof__ (&cublasLtMatmulAlgoGetHeuristic) call = real ("cublasLtMatmulAlgoGetHeuristic");
  cublasStatus_t status = call (handle, desc, a, b, c, d, preference, asked, results, n);
  cublasStatus_t reported = status != CUBLAS_STATUS_SUCCESS ? status
                            : *n == 0                       ? CUBLAS_STATUS_NOT_SUPPORTED
                                                            : results[0].state;
  char text[QUESTION_BYTES];

  question_matmul (text, desc, a, b, c, d, preference);
  keep (text, (int)reported, cublasLtGetStatusString (reported));
  return status;
}

/* cuDNN's three calls differ in their names and in the order of their descriptors: x, w, the convolution and y. */
#define LOG_WORKSPACE(function, question, parameters, arguments)                                       \
  cudnnStatus_t function parameters                                                                                    \
  {                                                                                                                    \
    cudnnStatus_t status = ((__typeof__ (&function))real (#function)) arguments;                                       \
    char text[QUESTION_BYTES];                                                                                         \
                                                                                                                       \
    question_convolution (text, question, (int)algorithm, x, w, of, y);                                                \
    keep (text, (int)status, cudnnGetErrorString (status));                                                            \
    return status;                                                                                                     \
  }

LOG_WORKSPACE (cudnnGetConvolutionForwardWorkspaceSize, "forward",
               (cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
                const cudnnConvolutionDescriptor_t of, const cudnnTensorDescriptor_t y,
                cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes),
               (handle, x, w, of, y, algorithm, bytes))
LOG_WORKSPACE (cudnnGetConvolutionBackwardDataWorkspaceSize, "input_gradient",
               (cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t y,
                const cudnnConvolutionDescriptor_t of, const cudnnTensorDescriptor_t x,
                cudnnConvolutionBwdDataAlgo_t algorithm, size_t *bytes),
               (handle, w, y, of, x, algorithm, bytes))
LOG_WORKSPACE (cudnnGetConvolutionBackwardFilterWorkspaceSize, "weight_gradient",
               (cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
                const cudnnConvolutionDescriptor_t of, const cudnnFilterDescriptor_t w,
                cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *bytes),
               (handle, x, y, of, w, algorithm, bytes))
