package hip

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
)

// units are the functions that call matrix instructions, of the names in package matrix, which are
// those of clang's builtin functions. Fragments are parts of local arrays, which clang keeps in
// registers once these functions are inlined.
func units() (out []cfamily.Helper) {
	for _, u := range matrix.Units {
		if !u.Swapped {
			continue // of another vendor
		}
		args, name := "y, x, z", u.Name
		switch {
		case u.C.Lanes() == 64:
			args += ", 0, 0, 0" // no broadcast among blocks, of which there is one
		case u.Kind == ir.MatrixI8:
			args = "true, y, true, x, z, false" // both have signs, and sums wrap
		case u.Kind == ir.MatrixU8:
			args, name = "false, y, false, x, z, false", name+"_unsigned"
		}
		elem, sum := u.Kind.Types()
		out = append(out, cfamily.Helper{Name: name, Text: fmt.Sprintf(`FN void %[7]s(%[2]s* sums, const %[3]s* a, const %[3]s* b) {
	typedef %[8]s sum __attribute__((ext_vector_type(%[4]d)));
	typedef %[5]s;
	elem x, y;
	sum z;
	__builtin_memcpy(&x, a, sizeof x);
	__builtin_memcpy(&y, b, sizeof y);
	__builtin_memcpy(&z, sums, sizeof z);
	z = __builtin_amdgcn_%[1]s(%[6]s);
	__builtin_memcpy(sums, &z, sizeof z);
}`, u.Name, sum, memory(elem), u.C.Len(), factor(elem, u.A.Len(), u.C.Lanes() == 64), args, name, signed(sum))})
	}
	return out
}

// unsigned reports whether v multiplies numbers without signs, by an instruction that takes both.
func unsigned(v *ir.Value) bool {
	kind, _ := v.MatrixKind()
	return kind == ir.MatrixU8
}

// signed is the type of sums that builtin functions have for t.
func signed(t *ir.Type) *ir.Type {
	if t == ir.U32 {
		return ir.I32
	}
	return t
}

// memory is how an element is stored: halves as their bits.
func memory(t *ir.Type) string {
	if t.Size() == 2 {
		return "u16"
	}
	return t.String()
}

// factor is the type elem of n elements of a factor, as builtin functions take it: bytes are in words,
// or in a long.
func factor(t *ir.Type, n int, long bool) string {
	name := t.String()
	switch {
	case t == ir.F16:
		name = "_Float16"
	case t == ir.BF16:
		name = "short"
	case t.Size() == 1 && n == 8 && long:
		name, n = "long", 1
	case t.Size() == 1:
		name, n = "int", n/4
	}
	return name + " elem" + ext(n)
}

// ext makes a vector type of so many elements.
func ext(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" __attribute__((ext_vector_type(%d)))", n)
}
