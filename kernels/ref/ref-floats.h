/* The loops in the file REF_LOOPS for both floating types: T is the type, and FN (name) is name_f32 or name_f64. Without
 * a guard, because each family includes it for its own loops. */
#define T        float
#define FN(name) name##_f32
#include REF_LOOPS
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include REF_LOOPS
