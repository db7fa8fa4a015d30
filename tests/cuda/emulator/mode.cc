/* Tells the two modules apart: compiled once for each, and so without the headers of fakes.h. */
namespace emulated
{
extern const bool checked;
const bool checked = EMULATOR_CHECKED;
}
