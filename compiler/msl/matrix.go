package msl

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/cfamily"
)

// units are the functions that multiply matrices of a simdgroup, of the names in package matrix. A
// lane has two elements of each, and they are written and read one by one: Metal has no load of a
// matrix from the swizzled rows that package tile has in threadgroup memory.
func units() (out []cfamily.Helper) {
	for _, u := range []struct{ memory, elem, as string }{
		{"u16", "half", "as_type<half>"}, {"u16", "bfloat", "as_type<bfloat>"}, {"f32", "float", ""},
	} {
		name := fmt.Sprintf("multiply_simdgroup_%s8x8", u.elem)
		out = append(out, cfamily.Helper{Name: name, Text: fmt.Sprintf(`FN void %[1]s(thread f32* sums, const thread %[2]s* a, const thread %[2]s* b) {
	metal::simdgroup_matrix<%[3]s, 8, 8> x, y;
	metal::simdgroup_matrix<float, 8, 8> z;
	for (u32 i = 0; i < 2; i++) {
		x.thread_elements()[i] = %[4]s(a[i]);
		y.thread_elements()[i] = %[4]s(b[i]);
		z.thread_elements()[i] = sums[i];
	}
	metal::simdgroup_multiply_accumulate(z, x, y, z);
	for (u32 i = 0; i < 2; i++) sums[i] = z.thread_elements()[i];
}`, name, u.memory, u.elem, u.as)})
	}
	return out
}
