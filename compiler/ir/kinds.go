package ir

import "fmt"

// Kinds is a set of kinds of type: those that a row of an emitter's table is for.
type Kinds uint32

// KindsOf returns the set of some kinds.
func KindsOf(list ...Kind) Kinds {
	var s Kinds
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

// Has reports whether k is in the set.
func (s Kinds) Has(k Kind) bool { return s>>k&1 != 0 }

// Symbol returns the name under which assemblers know the kernel called name: the name itself, with
// each character that a symbol of PTX or of LLVM's targets cannot have replaced by $ and its code.
func Symbol(name string) string {
	out := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		digit := c >= '0' && c <= '9'
		switch {
		case letter, digit && i > 0, c == '_' && len(name) > 1:
			out = append(out, c)
		default:
			out = fmt.Appendf(out, "$%02x", c)
		}
	}
	return string(out)
}
