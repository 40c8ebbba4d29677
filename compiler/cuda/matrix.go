package cuda

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
)

// matrixRows are matrix instructions and asynchronous copies, which CUDA C++ has no words for: they are
// asm of PTX, in helpers.
var matrixRows = []cfamily.Row{
	{Op: ir.OpMMA, Text: "mma_{unit}($a, $b, $c)"},
	{Op: ir.OpLoadMatrix, When: cfamily.Axis(0), Text: "load_matrix($a, $b)"},
	{Op: ir.OpLoadMatrix, When: cfamily.Axis(1), Text: "load_matrix_trans($a, $b)"},

	{Op: ir.OpCopyAsync, Text: "copy_vec($a, $b, 1, true)"},
	{Op: ir.OpCopyVec, Text: "copy_vec($a, $b, {imm}, $c)"},
	{Op: ir.OpCopyCommit, Text: `asm volatile("cp.async.commit_group;" ::: "memory")`},
	{Op: ir.OpCopyWait, Text: `asm volatile("cp.async.wait_all;" ::: "memory")`},
	{Op: ir.OpCopyGroups, Text: `asm volatile("cp.async.wait_group %0;" :: "n"((int)$a) : "memory")`},
}

// Why CUDA C++ has no products of warpgroups and no bulk copies.
const (
	noGroup = "spelled in PTX only: products of CUDA C++ are those of a warp, mma.sync, and package matrix says so to dsl/tile"
	noBulk  = "spelled in PTX only, as are the products of warpgroups that it serves: use dsl.CopyVecAsync, or compile for PTX"
)

// missing is what PTX has and CUDA C++ is not written with.
var missing = map[ir.Op]string{
	ir.OpWarpgroupMMA: noGroup, ir.OpWarpgroupFence: noGroup, ir.OpWarpgroupCommit: noGroup, ir.OpWarpgroupWait: noGroup,
	ir.OpAsyncFence: noGroup, ir.OpWarpgroupRegs: noGroup,
	ir.OpCopyTensor: noBulk, ir.OpCopyPixels: noBulk, ir.OpStoreTensor: noBulk, ir.OpStoreWait: noBulk,
}

// matrixHelpers are the functions of matrixRows. A copy is as wide as both addresses allow, of
// which NVVM knows more than this package; what is no number of words is loaded and stored.
func matrixHelpers() []cfamily.Helper {
	out := []cfamily.Helper{
		loadMatrix("load_matrix", ""), loadMatrix("load_matrix_trans", ".trans"),
		{Name: "copy_vec", Text: `template<class T> FN void copy_vec(T* to, const T* from, int n, bool ok) {
	u32 at = (u32)__cvta_generic_to_shared(to), bytes = n * sizeof(T);
	u64 place = __cvta_generic_to_global(from), every = at | place | bytes;
	if (every % 16 == 0)
		for (u32 i = 0; i < bytes; i += 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at + i), "l"(place + i), "r"(ok ? 16 : 0) : "memory");
	else if (every % 4 == 0)
		for (u32 i = 0; i < bytes; i += 4) asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(at + i), "l"(place + i), "r"(ok ? 4 : 0) : "memory");
	else
		for (int i = 0; i < n; i++) to[i] = ok ? from[i] : (T)0;
}`},
	}
	for i := range matrix.Units {
		if u := &matrix.Units[i]; strings.Contains(u.Name, ".") && u.Warpgroup == 0 { // of NVIDIA
			out = append(out, multiply(u))
		}
	}
	return out
}

// loadMatrix loads the fragments of four matrices.
func loadMatrix(name, mode string) cfamily.Helper {
	return cfamily.Helper{Name: name, Text: fmt.Sprintf(`FN void %s(void* to, const void* from) {
	u32 x[4];
	asm volatile("ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 {%%0, %%1, %%2, %%3}, [%%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"((u32)__cvta_generic_to_shared(from)) : "memory");
	memcpy(to, x, sizeof x);
}`, name, mode)}
}

// multiply is a matrix instruction, mma.sync. Fragments are parts of local arrays, which NVVM keeps
// in registers once the function is inlined.
func multiply(u *matrix.Unit) cfamily.Helper {
	elem, sum := u.Kind.Types()
	held, letter := "u32", "r" // registers of factors
	if elem.Size() == 8 {
		held, letter = "f64", "d"
	}
	shape, types, _ := strings.Cut(u.Name, ".")
	sums, a, b := u.C.Len(), registers(u.A.Len(), elem), registers(u.B.Len(), elem)
	var operands, outs, ins []string
	for i := range sums + a + b {
		operands = append(operands, fmt.Sprintf("%%%d", i))
		switch {
		case i < sums:
			outs = append(outs, fmt.Sprintf(`"+%s"(sums[%d])`, map[ir.Kind]string{ir.KF32: "f", ir.KF64: "d", ir.KI32: "r", ir.KU32: "r"}[sum.Kind], i))
		case i < sums+a:
			ins = append(ins, fmt.Sprintf(`"%s"(x[%d])`, letter, i-sums))
		default:
			ins = append(ins, fmt.Sprintf(`"%s"(y[%d])`, letter, i-sums-a))
		}
	}
	list := func(of []string) string { return strings.Join(of, ", ") }
	name := "mma_" + cfamily.UnitName(u)
	return cfamily.Helper{Name: name, Text: fmt.Sprintf(`FN void %s(%s* sums, const %s* a, const %[3]s* b) {
	%[4]s x[%[5]d], y[%[6]d];
	memcpy(x, a, sizeof x);
	memcpy(y, b, sizeof y);
	asm volatile("mma.sync.aligned.%[7]s.row.col.%[8]s {%[9]s}, {%[10]s}, {%[11]s}, {%[9]s};" : %[12]s : %[13]s);
}`, name, sum, memory(elem), held, a, b, shape, types, list(operands[:sums]), list(operands[sums:sums+a]), list(operands[sums+a:]), list(outs), list(ins))}
}

// registers is how many registers n elements of a factor are in: of 4 bytes, or of 8 for numbers of
// that size.
func registers(n int, elem *ir.Type) int { return max(1, n*elem.Size()/max(4, elem.Size())) }

// memory is how an element is stored: halves as their bits.
func memory(t *ir.Type) string {
	if t.Size() == 2 {
		return "u16"
	}
	return t.String()
}
