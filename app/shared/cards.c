/* Cards: peak rates and memory from data sheets, the same for all predictions. */
#include "app/shared/cards.h"

#include <stdio.h>

static const Card cards[] = {
  { "k80", "Tesla K80 (one of its two GPUs)", 4.37e12, 0, 0, 0, 240e9, 12e9,
    "NVIDIA, Tesla K80 board specification BD-07317-001, 2015, half a board with boost" },
  { "p100", "Tesla P100 SXM2", 10.6e12, 0, 21.2e12, 0, 732e9, 16e9,
    "NVIDIA, Tesla P100, whitepaper WP-08019-001, 2016, table 1" },
  { "v100", "Tesla V100 SXM2", 15.7e12, 0, 125e12, 0, 900e9, 32e9,
    "NVIDIA, Tesla V100, whitepaper WP-08608-001, 2017, table 1" },
  { "tpuv3", "TPU v3 chip", 0, 0, 0, 123e12, 900e9, 32e9,
    "Google, Cloud TPU v3 documentation; f32 products are computed in passes of bf16" },
  { "rtx3090", "GeForce RTX 3090", 35.6e12, 35.6e12, 71e12, 71e12, 936e9, 24e9,
    "NVIDIA, Ampere GA102 whitepaper, 2021, table 9, without sparsity" },
  { "a100", "A100 SXM4 80GB", 19.5e12, 156e12, 312e12, 312e12, 2039e9, 80e9,
    "NVIDIA, A100 Tensor Core GPU, data sheet, 2021" },
  { "rtx4090", "GeForce RTX 4090", 82.6e12, 82.6e12, 165.2e12, 165.2e12, 1008e9, 24e9,
    "NVIDIA, Ada GPU whitepaper, 2022, table 2, without sparsity" },
  { "h100", "H100 SXM5", 67e12, 494e12, 989e12, 989e12, 3350e9, 80e9,
    "NVIDIA, H100 Tensor Core GPU, data sheet, 2023, without sparsity" },
};

gconstpointer
card_find_entry (gconstpointer table, guint n, gsize size, const char *name, char **names)
{
  GString *list = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    {
      const char *const *entry = (gconstpointer)((const char *)table + i * size);

      if (g_str_equal (*entry, name))
        {
          g_string_free (list, TRUE);
          return entry;
        }
      g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", *entry);
    }
  *names = g_string_free (list, FALSE);
  return NULL;
}

const Card *
card_find (const char *name, char **names)
{
  return card_find_entry (cards, G_N_ELEMENTS (cards), sizeof cards[0], name, names);
}

double
card_peak (const Card *card, LoomDType precision)
{
  return precision == LOOM_F16 ? card->f16 : precision == LOOM_BF16 ? card->bf16 : card->f32;
}

void
card_print_all (void)
{
  printf ("%-7s %8s %8s %8s %8s %8s %7s  %s\n", "card", "f32", "tf32", "f16", "bf16", "GB/s", "GB",
          "peaks in Tflop/s (0: not supported) from");
  for (guint i = 0; i < G_N_ELEMENTS (cards); i++)
    printf ("%-7s %8.1f %8.1f %8.1f %8.1f %8.0f %7.0f  %s\n", cards[i].name, cards[i].f32 * 1e-12,
            cards[i].tf32 * 1e-12, cards[i].f16 * 1e-12, cards[i].bf16 * 1e-12, cards[i].memory_rate * 1e-9,
            cards[i].memory * 1e-9, cards[i].source);
}
