# Collects the primitives of source files into a header: LOOM_ROWS (X) has X (NAME) for each row, which is a const struct
# that begins a line, or a macro that defines one.
1i\
#define LOOM_ROWS(X) \\
s/^const [A-Za-z]* \(ref\|loom_prim\)_\([a-z0-9_]*\) *\(=.*\)*$/  X (\2) \\/p
s/^const CpuPrimitive ISA (cpu_\([a-z0-9_]*\)).*/  X (\1) \\/p
s/^\(MOVE_PRIMITIVE\|PRIM\|FLAT\) ([A-Za-z0-9_]*, \([a-z0-9_]*\),.*/  X (\2) \\/p
s/^ONNX_PRIM (\([a-z0-9_]*\),.*/  X (\1) \\/p
$a\

