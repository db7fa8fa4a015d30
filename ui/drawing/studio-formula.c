/* Operator descriptors write "yᵢ = xᵢ²", so that terminals and files can show it. Many fonts lack some of these
 * letters; Pango can raise and lower any letter instead. */
#include "ui/drawing/studio-formula.h"

#include <string.h>

typedef struct
{
  const char *small, *usual; /* corresponding letters */
} Script;

static const Script superscript = {
  "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵅᵝᵞᵟᵋᶿᵠᵡ",
  "0123456789+−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWαβγδεθφχ",
};
static const Script subscript = {
  "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ꜀",
  "0123456789+−=()aehijklmnoprstuvxβγρφχc",
};

/* The ordinary letter; 0 if c is no letter of this script. */
static gunichar
find (const Script *script, gunichar c)
{
  const char *usual = script->usual;

  for (const char *p = script->small; *p != '\0'; p = g_utf8_next_char (p), usual = g_utf8_next_char (usual))
    if (g_utf8_get_char (p) == c)
      return g_utf8_get_char (usual);
  return 0;
}

char *
studio_formula_markup (const char *formula)
{
  static const char *const open[] = { "", "<sup>", "<sub>" }, *const close[] = { "", "</sup>", "</sub>" };
  GString *markup = g_string_new (NULL);
  gboolean is_variable = FALSE, index = FALSE; /* whether the last letter is a variable, and this one its index */
  int state = 0;

  for (const char *p = formula; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p), raised = find (&superscript, c), lowered = find (&subscript, c);
      int next = raised != 0 ? 1 : lowered != 0 ? 2 : 0;
      char letter[7] = "";
      g_autofree char *escaped = NULL;

      if (next != state)
        {
          g_string_append (markup, close[state]);
          g_string_append (markup, open[next]);
          state = next;
        }
      index = next == 1 && is_variable && strchr ("ijk", (int)MIN (raised, 127)) != NULL;
      is_variable = next == 1 && (raised == 'x' || raised == 'y' || raised == 'z');
      letter[g_unichar_to_utf8 (raised != 0 ? raised : lowered != 0 ? lowered : c, letter)] = '\0';
      escaped = g_markup_escape_text (letter, -1);
      /* Unicode has no subscripts of superscripts, so the index of an exponent is written as a subscript. */
      g_string_append_printf (markup, index ? "<sub>%s</sub>" : "%s", escaped);
    }
  g_string_append (markup, close[state]);
  return g_string_free (markup, FALSE);
}
