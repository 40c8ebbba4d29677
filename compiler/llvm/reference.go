package llvm

import "github.com/gokiln/kiln/compiler/ir"

// Spellings returns how many ways there are to write an operation, over all types
// and instruction sets. Where there is none, why says what becomes of it instead.
func Spellings(op ir.Op) (n int, why string) {
	for _, table := range []map[ir.Op]string{coded, unsupported} {
		if table[op] != "" {
			return 0, table[op]
		}
	}
	for _, r := range tableRows() {
		if r.op == op {
			n++
		}
	}
	return n, ""
}

// Templates returns the ways to write an operation, in the form of this package's
// table; none where [Spellings] has a reason.
func Templates(op ir.Op) (list []string) {
	for _, r := range tableRows() {
		if r.op == op {
			list = append(list, r.asm)
		}
	}
	return list
}
