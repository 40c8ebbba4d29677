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
