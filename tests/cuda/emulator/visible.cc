/* The emulated GPUs that a process sees.
 *
 * GRADLOOM_EMULATED_GPUS=N is their number (1 without it); they share one memory. CUDA_VISIBLE_DEVICES is read as in
 * CUDA and PyTorch (torch.cuda._parse_visible_devices): numbers with commas, each parsed like strtoul(); the list ends
 * at the first that is negative, no number, or of no GPU, and a repeated number leaves none. */
#include <algorithm>
#include <limits.h>
#include <sstream>
#include <stdlib.h>

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/stream.h"

#define MOST_GPUS 16

namespace emulated
{
namespace
{
long
how_many (void)
{
  const char *text = getenv ("GRADLOOM_EMULATED_GPUS");
  char *end = NULL;
  long n = text != NULL ? strtol (text, &end, 10) : 1;

  if (text != NULL && (end == text || *end != '\0' || n < 1 || n > MOST_GPUS))
    found ("GRADLOOM_EMULATED_GPUS is “%s”; it takes a number from 1 to %d", text, MOST_GPUS);
  return n;
}

std::vector<int>
read_visible (void)
{
  const char *text = getenv ("CUDA_VISIBLE_DEVICES");
  const long n = how_many ();
  std::vector<int> list;
  std::string word;

  if (text == NULL)
    {
      for (int i = 0; i < n; i++)
        list.push_back (i);
      return list;
    }
  for (std::stringstream words (text); std::getline (words, word, ',');)
    {
      char *end = NULL;
      const long index = strtol (word.c_str (), &end, 10);

      if (end == word.c_str () || index < 0 || index > INT_MAX)
        break;
      if (std::find (list.begin (), list.end (), (int)index) != list.end ())
        return {};
      list.push_back ((int)index);
    }
  list.erase (std::find_if (list.begin (), list.end (), [n] (int index) { return index >= n; }), list.end ());
  return list;
}
}

/* Read once, as CUDA does at its start. */
const std::vector<int> &
visible (void)
{
  static const std::vector<int> list = read_visible ();

  return list;
}
}
